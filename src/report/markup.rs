//! A [`Table`] as CSV and Markdown.

use super::table::{Cell, Column, Format, Table};
use super::{CsvText, visible};
use crate::error::{Error, Result};

impl Table {
    /// A header, then one line per row, in full precision and natural units. A column with intervals is followed by
    /// `KEY_low` and `KEY_high`, one with flags by `KEY_flag`; missing values are empty. Control characters are
    /// escaped.
    ///
    /// # Errors
    /// [`Error::Internal`] if the table cannot be written.
    pub fn csv(&self, texts: CsvText) -> Result<String> {
        let failed =
            |error: &dyn std::fmt::Display| Error::Internal(format!("table as CSV: {error}"));
        let mut writer = csv::Writer::from_writer(Vec::new());
        let extra: Vec<(bool, bool)> = (0..self.columns.len())
            .map(|at| self.has_intervals_and_flags(at))
            .collect();
        let mut header = Vec::new();
        for (column, (intervals, flags)) in self.columns.iter().zip(&extra) {
            let key = visible(&column.key);
            header.push(key.to_string());
            header.extend(
                intervals
                    .then(|| [format!("{key}_low"), format!("{key}_high")])
                    .into_iter()
                    .flatten(),
            );
            header.extend(flags.then(|| format!("{key}_flag")));
        }
        writer
            .write_record(&header)
            .map_err(|error| failed(&error))?;
        for row in &self.rows {
            let cells = row.iter().zip(&self.columns).zip(&extra);
            let cells = cells
                .flat_map(|((cell, column), extra)| csv_cells(cell, &column.key, texts, *extra));
            writer.write_record(cells).map_err(|error| failed(&error))?;
        }
        let bytes = writer.into_inner().map_err(|error| failed(&error))?;
        String::from_utf8(bytes).map_err(|error| failed(&error))
    }

    fn has_intervals_and_flags(&self, at: usize) -> (bool, bool) {
        let cells = || self.rows.iter().filter_map(|row| row.get(at));
        let has_interval = |cell: &Cell| {
            matches!(
                cell,
                Cell::Value {
                    interval: Some(_),
                    ..
                }
            )
        };
        let has_flag = |cell: &Cell| matches!(cell, Cell::Value { flag, .. } if !flag.is_empty());
        let column = &self.columns[at];
        (
            column.has_interval || cells().any(has_interval),
            column.has_flag || cells().any(has_flag),
        )
    }

    /// A pipe table with its title in bold and its warnings below, a line feed at the end. All text is escaped.
    pub fn markdown(&self) -> String {
        let mut out = String::new();
        if !self.title.is_empty() {
            out.push_str(&format!("**{}**\n\n", markdown_text(&self.title)));
        }
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        out.push_str(&line(
            self.columns
                .iter()
                .map(|column| markdown_text(&column.full_heading()))
                .collect(),
        ));
        let rule = |column: &Column| {
            if column.format == Format::Text {
                ":--"
            } else {
                "--:"
            }
            .to_owned()
        };
        out.push_str(&line(self.columns.iter().map(rule).collect()));
        for (at, row) in self.rows.iter().enumerate() {
            let cells =
                row.iter().zip(&self.columns).enumerate().map(
                    |(place, (cell, column))| match cell {
                        Cell::Text(text) => markdown_text(text),
                        Cell::Value {
                            value,
                            interval,
                            flag,
                        } => {
                            let number = markdown_text(&column.format.show(*value));
                            let number = if self.is_best(at, place) {
                                format!("**{number}**")
                            } else {
                                number
                            };
                            let flag = markdown_text(flag);
                            let flag = if flag.is_empty() {
                                flag
                            } else {
                                format!("<sup>{flag}</sup>")
                            };
                            let interval = interval
                                .map(|interval| format!(" {}", column.show_interval(interval)));
                            number + &flag + &interval.unwrap_or_default()
                        }
                        Cell::Missing => "-".to_owned(),
                    },
                );
            out.push_str(&line(cells.collect()));
        }
        let notes: String = self
            .warnings()
            .map(|note| format!("- {}\n", markdown_text(&note.text)))
            .collect();
        if notes.is_empty() {
            out
        } else {
            format!("{out}\n{notes}")
        }
    }
}

fn csv_cells(
    cell: &Cell,
    key: &str,
    texts: CsvText,
    (intervals, flags): (bool, bool),
) -> Vec<String> {
    let (value, interval, flag) = match cell {
        Cell::Text(text) => (texts.cell(key, &visible(text)).into_owned(), None, ""),
        Cell::Value {
            value,
            interval,
            flag,
        } => (value.to_string(), *interval, flag.as_str()),
        Cell::Missing => (String::new(), None, ""),
    };
    let mut cells = vec![value];
    if intervals {
        cells.extend(
            [interval.map(|i| i.low), interval.map(|i| i.high)]
                .map(|end| end.map(|e| e.to_string()).unwrap_or_default()),
        );
    }
    if flags {
        cells.push(visible(flag).into_owned());
    }
    cells
}

/// Escapes text for Markdown and HTML: it makes no cell, link, image, mention or tag.
fn markdown_text(text: &str) -> String {
    visible(text)
        .chars()
        .fold(String::with_capacity(text.len() + 8), |mut out, c| {
            match c {
                '&' => out.push_str("&amp;"),
                '<' => out.push_str("&lt;"),
                '>' => out.push_str("&gt;"),
                '@' => out.push_str("&#64;"),
                // `https:` and `www.` would become links.
                ':' if out.ends_with("http") || out.ends_with("https") || out.ends_with("ftp") => {
                    out.push_str("&#58;")
                }
                '.' if out.ends_with("www") => out.push_str("&#46;"),
                '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '!' | '$' => {
                    out.extend(['\\', c])
                }
                other => out.push(other),
            }
            out
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Note;
    use crate::stats::Interval;

    fn table() -> Table {
        let columns = vec![
            Column::new("system", Format::Text),
            Column::headed("score", "rubric score", Format::Percent),
        ];
        let mut table = Table::new("Means", columns);
        let interval = Some(Interval {
            low: 0.25,
            high: 0.5,
        });
        table.rows.push(vec![
            Cell::text("a|b_c"),
            Cell::estimate(Some(0.375), interval).flagged("ab"),
        ]);
        table
            .rows
            .push(vec![Cell::text("x\u{1b}, \"y\""), Cell::Missing]);
        table.notes.push(Note::warning("50% of it."));
        table
    }

    #[test]
    fn csv_has_full_precision_and_a_column_for_each_end() {
        let expected = "system,score,score_low,score_high,score_flag\na|b_c,0.375,0.25,0.5,ab\n\"x\\u{1b}, \"\"y\"\"\",,,,\n";
        assert_eq!(table().csv(CsvText::Guarded).unwrap(), expected);
    }

    #[test]
    fn csv_guards_texts_and_neither_numbers_nor_systems() {
        let columns = ["system", "team"].map(|key| Column::new(key, Format::Text));
        let mut table = Table::new(
            "",
            columns
                .into_iter()
                .chain([Column::new("difference", Format::Number(1))])
                .collect(),
        );
        table.rows.push(vec![
            Cell::text("=a"),
            Cell::text("@b"),
            Cell::number(-0.5).flagged("*"),
        ]);
        let header = "system,team,difference,difference_flag\n";
        assert_eq!(
            table.csv(CsvText::Guarded).unwrap(),
            format!("{header}=a,'@b,-0.5,*\n")
        );
        assert_eq!(
            table.csv(CsvText::Unchanged).unwrap(),
            format!("{header}=a,@b,-0.5,*\n")
        );
    }

    #[test]
    fn markdown_makes_no_markup_of_text() {
        let expected = "**Means**\n\n| system | rubric score |\n| :-- | --: |\n| a\\|b\\_c | 37.5<sup>ab</sup> [25.0, 50.0] |\n";
        let shown = table().markdown();
        assert!(shown.starts_with(expected), "{shown}");
        assert!(shown.ends_with("\n\n- 50% of it.\n"), "{shown}");
        assert_eq!(
            markdown_text("<img> @me https://x www.y"),
            "&lt;img&gt; &#64;me https&#58;//x www&#46;y"
        );
    }
}
