//! A [`Table`] as CSV and Markdown.

use super::table::{Cell, Column, Format, Table};
use super::{CsvText, visible};
use crate::error::{Error, Result};
use crate::stats::Interval;

impl Table {
    /// A header, then one line per row, in full precision and natural units. A column with intervals is followed by
    /// `KEY_low` and `KEY_high`, one with flags by `KEY_flag`; missing values are empty. Control characters are
    /// escaped.
    ///
    /// # Errors
    /// [`Error::Internal`] if the table cannot be written.
    pub fn csv(&self, texts: CsvText) -> Result<String> {
        let mut extras = Vec::new();
        let mut header = Vec::new();
        for (at, column) in self.columns.iter().enumerate() {
            let extra = ExtraColumns {
                interval: column.has_interval || self.has_intervals(at),
                flag: column.has_flag || self.has_flags(at),
            };
            // The names of some columns are tags of files.
            let key = visible(&column.key);
            let key = texts.cell("", &key);
            header.push(key.to_string());
            if extra.interval {
                header.push(format!("{key}_low"));
                header.push(format!("{key}_high"));
            }
            if extra.flag {
                header.push(format!("{key}_flag"));
            }
            extras.push(extra);
        }
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(&header).map_err(not_written)?;
        for row in &self.rows {
            let mut fields = Vec::new();
            for ((cell, column), extra) in row.iter().zip(&self.columns).zip(&extras) {
                push_fields(&mut fields, cell, &column.key, texts, *extra);
            }
            writer.write_record(fields).map_err(not_written)?;
        }
        let bytes = writer.into_inner().map_err(not_written)?;
        String::from_utf8(bytes).map_err(not_written)
    }

    /// A pipe table with its title in bold and its warnings below, a line feed at the end. All text is escaped.
    pub fn markdown(&self) -> String {
        let mut out = String::new();
        if !self.title.is_empty() {
            out.push_str(&format!("**{}**\n\n", markdown_text(&self.title)));
        }
        let columns = self.columns.iter();
        let headings = columns.map(|column| markdown_text(&column.full_heading()));
        push_markdown_row(&mut out, headings.collect());
        let rules = self.columns.iter().map(|column| match column.format {
            Format::Text => ":--".to_owned(),
            _ => "--:".to_owned(),
        });
        push_markdown_row(&mut out, rules.collect());
        for (at, row) in self.rows.iter().enumerate() {
            let mut cells = Vec::new();
            for (place, (cell, column)) in row.iter().zip(&self.columns).enumerate() {
                cells.push(markdown_cell(cell, column, self.is_best(at, place)));
            }
            push_markdown_row(&mut out, cells);
        }
        for (at, note) in self.warnings().enumerate() {
            if at == 0 {
                out.push('\n');
            }
            out.push_str(&format!("- {}\n", markdown_text(&note.text)));
        }
        out
    }
}

fn not_written(error: impl std::fmt::Display) -> Error {
    Error::Internal(format!("table as CSV: {error}"))
}

/// The columns of a CSV file behind that of the value.
#[derive(Clone, Copy)]
struct ExtraColumns {
    interval: bool,
    flag: bool,
}

/// Adds the fields of a cell.
fn push_fields(
    fields: &mut Vec<String>,
    cell: &Cell,
    key: &str,
    texts: CsvText,
    extra: ExtraColumns,
) {
    let parts = cell.parts();
    fields.push(match cell {
        // `visible` first: the guard against formulas looks at the first character that is written.
        Cell::Text(text) => texts.cell(key, &visible(text)).into_owned(),
        _ => parts.map_or_else(String::new, |(value, ..)| value.to_string()),
    });
    if extra.interval {
        let interval = parts.and_then(|(_, interval, _)| interval);
        let ends = interval.map(|Interval { low, high }| [low, high].map(|end| end.to_string()));
        fields.extend(ends.unwrap_or_default());
    }
    if extra.flag {
        let flag = parts.map_or("", |(.., flag)| flag);
        fields.push(visible(flag).into_owned());
    }
}

fn push_markdown_row(out: &mut String, cells: Vec<String>) {
    out.push_str(&format!("| {} |\n", cells.join(" | ")));
}

/// A cell: number, raised flag, interval; the best of a column is bold.
fn markdown_cell(cell: &Cell, column: &Column, is_best: bool) -> String {
    let shown = column.shown(cell);
    let mut text = markdown_text(&shown.text);
    if is_best {
        text = format!("**{text}**");
    }
    if !shown.flag.is_empty() {
        text += &format!("<sup>{}</sup>", markdown_text(&shown.flag));
    }
    if let Some(interval) = shown.interval {
        text.push(' ');
        text += &interval;
    }
    text
}

/// Escapes text for Markdown and HTML: it makes no cell, link, image, mention or tag.
fn markdown_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in visible(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // On GitHub a name such as `@model` would notify the person of that name.
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
    }
    out
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

    #[test]
    fn csv_guards_headings_which_may_be_tags_of_files() {
        let columns = ["system", "=cmd|x", "-1"].map(|key| Column::new(key, Format::Percent));
        let mut table = Table::new("", columns.to_vec());
        table.columns[1].has_interval = true;
        let guarded = table.csv(CsvText::Guarded).unwrap();
        assert_eq!(guarded, "system,'=cmd|x,'=cmd|x_low,'=cmd|x_high,-1\n");
        let unchanged = table.csv(CsvText::Unchanged).unwrap();
        assert!(unchanged.starts_with("system,=cmd|x,"), "{unchanged}");
    }
}
