//! Text in CSV that a spreadsheet could read as a formula: an apostrophe before it prevents that.

use std::borrow::Cow;

/// Columns with names of systems and cases, on which people join tables: always unchanged.
const JOINED: [&str; 3] = ["system", "against", "case_id"];

/// How text is written to CSV.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CsvText {
    /// With an apostrophe before what a spreadsheet could read as a formula.
    #[default]
    Guarded,
    /// Unchanged.
    Unchanged,
}

impl CsvText {
    /// The text for a cell of this column.
    ///
    /// ```
    /// use scholareval_core::text::spreadsheets::CsvText;
    ///
    /// assert_eq!(CsvText::Guarded.cell("feedback", "=1+1"), "'=1+1");
    /// assert_eq!(CsvText::Guarded.cell("feedback", "-1.5"), "-1.5");
    /// assert_eq!(CsvText::Guarded.cell("case_id", "=1+1"), "=1+1");
    /// ```
    pub fn cell<'a>(self, column: &str, text: &'a str) -> Cow<'a, str> {
        match self {
            Self::Guarded if is_formula(text) && !JOINED.contains(&column) => {
                Cow::Owned(format!("'{text}"))
            }
            _ => Cow::Borrowed(text),
        }
    }
}

/// The text of a cell that [`CsvText::Guarded`] may have changed.
pub fn unguarded(cell: &str) -> &str {
    cell.strip_prefix('\'')
        .filter(|text| is_formula(text))
        .unwrap_or(cell)
}

/// Whether the text begins with a character that OWASP names under *CSV injection* and is neither that character alone
/// nor a number. Apostrophes before it do not count: guarded text gets another one, so that all text can be read back.
fn is_formula(text: &str) -> bool {
    let text = text.trim_start_matches('\'');
    text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'])
        // `-` alone stands for "nothing" in many tables and computes nothing.
        && text.chars().nth(1).is_some()
        // -1.5 is a number for a spreadsheet, too; an apostrophe would make it text.
        && text.parse::<f64>().is_err()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cell(text: &str) -> Cow<'_, str> {
        CsvText::Guarded.cell("text", text)
    }

    #[test]
    fn formulas_get_an_apostrophe_and_numbers_do_not() {
        for formula in [
            "=1+1", "+1-1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1+1", "- a list", "'=1",
            "''=1",
        ] {
            assert_eq!(cell(formula), format!("'{formula}"));
            assert_eq!(CsvText::Unchanged.cell("text", formula), formula);
            assert_eq!(CsvText::Guarded.cell("system", formula), formula);
        }
        for text in [
            "-1.5", "+7", "-1e-7", "-", "a=b", "'quoted'", "'-1", "", "'",
        ] {
            assert_eq!(cell(text), text);
        }
    }

    proptest! {
        #[test]
        fn every_text_can_be_read_back(text in "'{0,3}[=+@\t-]{0,2}\\PC{0,5}") {
            let cell = cell(&text);
            prop_assert_eq!(unguarded(&cell), text.as_str());
        }
    }
}
