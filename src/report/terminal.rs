//! A [`Table`] for the terminal and for a pipe.
//!
//! Cells become texts of equal width; columns from the right lose their intervals, then go, until
//! the table fits, and a line below names them.

use comfy_table::{
    Attribute, Cell as DrawnCell, CellAlignment, Color, ContentArrangement, LineStyle,
};
use console::measure_text_width;

use super::table::{Cell, Column, Format, Table, note_lines, short_names};
use super::visible;
use crate::domain::Note;
use crate::report::wrapped;

/// Style of a table. The same table and style give the same bytes everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableStyle {
    /// Width of the terminal; at least 80.
    pub width: u16,
    /// Whether the header is bold, the best of a column green and what is unscored yellow (ANSI escapes).
    pub color: bool,
    /// Whether to show all tables and notes, not just the most important ones.
    pub all_notes: bool,
}

impl Default for TableStyle {
    /// 80 columns, no color, warnings only: for a pipe.
    fn default() -> Self {
        Self {
            width: 80,
            color: false,
            all_notes: false,
        }
    }
}

impl TableStyle {
    pub(crate) fn columns(&self) -> usize {
        // Narrower than 80 columns, no table of means fits; a terminal then wraps the lines itself.
        usize::from(self.width.max(80))
    }

    /// Notes as a list, after an empty line; empty without notes.
    pub(super) fn notes(&self, notes: &[Note]) -> String {
        let mut text = String::new();
        for line in note_lines(notes, self.all_notes) {
            let line = format!("- {}", visible(&line));
            text.push('\n');
            text += &wrapped(&line, self.columns());
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text
    }
}

impl Table {
    /// The table fitted to the width, a line feed at the end. Columns that do not fit are dropped from the right and
    /// named below; the first two and what is unscored always stay. Kept columns first lose their intervals.
    pub fn terminal(&self, style: &TableStyle) -> String {
        let fitted = self.fitted(style);
        let mut out = String::new();
        if !self.title.is_empty() {
            out.push_str(&wrapped(&visible(&self.title), style.columns()));
            out.push_str("\n\n");
        }
        out.push_str(&fitted.drawn);
        out.push('\n');
        let omitted = [
            ("Not shown", fitted.dropped),
            ("Shown without intervals", fitted.without_intervals),
        ];
        for (omission, headings) in omitted {
            if !headings.is_empty() {
                let named = headings.len().min(HEADINGS);
                let names = headings[..named].join(", ");
                let more = match headings.len() - named {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                let line = format!("{omission} at this width (see --format csv): {names}{more}");
                out.push_str(&wrapped(&visible(&line), style.columns()));
                out.push('\n');
            }
        }
        out + &style.notes(&self.notes)
    }

    /// Drops or shortens columns from the right until the table fits. Of the kept columns, all lose their intervals before
    /// the first is dropped.
    fn fitted(&self, style: &TableStyle) -> Fitted {
        let mut kept = Vec::from_iter(0..self.columns.len());
        let mut texts: Vec<Vec<String>> = kept.iter().map(|at| self.column_texts(*at)).collect();
        let mut dropped: Vec<usize> = Vec::new();
        let mut shortened: Vec<usize> = Vec::new();
        let mut drawn = self.drawn_if_short(&texts, &kept, style);
        // The first kept column is the one that ranks the rows: it is never dropped.
        let ranking = self.columns.iter().position(|column| column.is_kept);
        // Twice: all kept columns lose their intervals before any of them goes.
        for is_last_resort in [false, true] {
            // The first two are the name and the main number.
            for at in (2..self.columns.len()).rev() {
                if drawn.as_ref().is_some_and(|drawn| fits(drawn, style)) {
                    break;
                }
                let column = &self.columns[at];
                // Without it, a mean over half of the answers would look like any other.
                if column.key == "unscored" || !kept.contains(&at) {
                    continue;
                }
                if column.is_kept && !is_last_resort {
                    if self.has_intervals(at) {
                        texts[at] = self.texts_without_intervals(at);
                        shortened.push(at);
                    }
                } else if ranking != Some(at) {
                    kept.retain(|index| *index != at);
                    dropped.push(at);
                }
                drawn = self.drawn_if_short(&texts, &kept, style);
            }
        }
        shortened.retain(|at| kept.contains(at));
        Fitted {
            drawn: drawn.unwrap_or_else(|| self.draw(&texts, &kept, style.color)),
            dropped: self.headings(dropped),
            without_intervals: self.headings(shortened),
        }
    }

    /// The headings of these columns, from left to right.
    fn headings(&self, mut places: Vec<usize>) -> Vec<String> {
        places.sort_unstable();
        let columns = places.into_iter().map(|at| &self.columns[at]);
        columns.map(Column::full_heading).collect()
    }

    /// The cells of a column of numbers, without intervals.
    fn texts_without_intervals(&self, at: usize) -> Vec<String> {
        let mut plain = self.clone();
        for cell in plain.rows.iter_mut().filter_map(|row| row.get_mut(at)) {
            if let Cell::Value { interval, .. } = cell {
                *interval = None;
            }
        }
        plain.column_texts(at)
    }

    /// The cells of a column, numbers aligned at the decimal point.
    pub(super) fn column_texts(&self, at: usize) -> Vec<String> {
        let column = &self.columns[at];
        let rows = self.rows.iter();
        let cells = rows.map(|row| row.get(at).unwrap_or(&Cell::Missing));
        if column.format == Format::Text {
            let texts = cells.map(|cell| match cell {
                Cell::Text(text) => text.as_str(),
                _ => "-",
            });
            return match column.key.as_str() {
                // Elsewhere a text is data, such as a reason: shortened in the middle it would mean
                // something else.
                "system" | "against" => short_names(texts),
                _ => texts.map(|text| visible(text).into_owned()).collect(),
            };
        }
        let numbers: Vec<NumberText> = cells.map(|cell| NumberText::of(cell, column)).collect();
        let estimate = widest(numbers.iter().map(|number| &number.estimate));
        let flag = widest(numbers.iter().map(|number| &number.flag));
        let interval = widest(numbers.iter().map(|number| &number.interval));
        let mut lines = Vec::new();
        for number in &numbers {
            lines.push(format!(
                "{:>estimate$}{:<flag$}{:<interval$}",
                number.estimate, number.flag, number.interval
            ));
        }
        lines
    }

    /// Green for the best of a column, yellow for what is missing or unscored.
    fn color(&self, row: usize, at: usize) -> Option<Color> {
        let column = &self.columns[at];
        match &self.rows[row][at] {
            Cell::Value { value, .. } if matches!(column.key.as_str(), "unscored" | "missing") => {
                (*value > 0.0).then_some(Color::Yellow)
            }
            Cell::Missing if column.highest_is_best => Some(Color::Yellow),
            _ => self.is_best(row, at).then_some(Color::Green),
        }
    }

    /// The kept columns, unless there are more than characters in a line: a tree of criteria has thousands, and drawing is slow.
    fn drawn_if_short(
        &self,
        texts: &[Vec<String>],
        kept: &[usize],
        style: &TableStyle,
    ) -> Option<String> {
        (kept.len() <= style.columns()).then(|| self.draw(texts, kept, style.color))
    }

    /// The kept columns with these texts of their cells.
    fn draw(&self, texts: &[Vec<String>], kept: &[usize], color: bool) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(
            comfy_table::TableStyle::new()
                .header_separator(LineStyle::none().fill('─').junction('─')),
        );
        if color {
            // Colors were decided by the caller, who knows about NO_COLOR and pipes.
            table.enforce_styling();
        } else {
            // Else the crate looks at the terminal itself, and a pipe would get other bytes.
            table.force_no_tty();
        }
        table.set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(kept.iter().map(|at| self.drawn_heading(*at, color)));
        // Texts are by column.
        for (row, _) in self.rows.iter().enumerate() {
            table.add_row(kept.iter().map(|at| {
                let color = self.color(row, *at).filter(|_| color);
                drawn_cell(&texts[*at][row], color)
            }));
        }
        for (column, at) in table.column_iter_mut().zip(kept) {
            column.set_padding((0, 1));
            if self.columns[*at].format != Format::Text {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table.trim_fmt()
    }

    fn drawn_heading(&self, at: usize, color: bool) -> DrawnCell {
        let heading = DrawnCell::new(visible(&self.columns[at].full_heading()));
        if !color {
            return heading;
        }
        heading.add_attribute(Attribute::Bold)
    }
}

/// Maximum number of columns to name below a table.
const HEADINGS: usize = 40;

/// A table as it fits a terminal.
struct Fitted {
    drawn: String,
    /// Headings of the columns that are left out.
    dropped: Vec<String>,
    /// Headings of the columns whose intervals are left out.
    without_intervals: Vec<String>,
}

fn fits(drawn: &str, style: &TableStyle) -> bool {
    drawn.lines().map(measure_text_width).max().unwrap_or(0) <= style.columns()
}

/// A number of a column, in parts that are aligned with those of the other rows; empty where it has none.
struct NumberText {
    estimate: String,
    flag: String,
    interval: String,
}

impl NumberText {
    fn of(cell: &Cell, column: &Column) -> Self {
        let shown = column.shown(cell);
        let interval = shown.interval.map(|interval| format!(" {interval}"));
        Self {
            estimate: visible(&shown.text).into_owned(),
            flag: visible(&shown.flag).into_owned(),
            interval: interval.unwrap_or_default(),
        }
    }
}

fn widest<'a>(texts: impl Iterator<Item = &'a String>) -> usize {
    texts
        .map(|text| measure_text_width(text))
        .max()
        .unwrap_or(0)
}

fn drawn_cell(text: &str, color: Option<Color>) -> DrawnCell {
    let cell = DrawnCell::new(text);
    match color {
        Some(color) => cell.fg(color),
        None => cell,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Interval;

    fn table() -> Table {
        let columns = vec![
            Column::new("system", Format::Text),
            Column::new("score", Format::Percent),
            Column::new("cases", Format::Count),
        ];
        let mut table = Table::new("Means in %, 95% intervals", columns);
        let interval = Some(Interval {
            low: 0.0912,
            high: 1.0,
        });
        table.rows.push(vec![
            Cell::text("careful"),
            Cell::estimate(Some(0.352), interval).flagged("*"),
            Cell::count(8),
        ]);
        table
            .rows
            .push(vec![Cell::text("vague"), Cell::number(0.07), Cell::Missing]);
        table.notes.push(Note::warning("* is over fewer cases."));
        table.notes.push(Note::info("Detail."));
        table
    }

    #[test]
    fn decimal_points_are_aligned_and_only_warnings_are_shown() {
        let shown = table().terminal(&TableStyle::default());
        assert!(
            shown.starts_with("Means in %, 95% intervals\n\nsystem "),
            "{shown}"
        );
        assert!(
            shown.contains("\ncareful  35.2* [9.1, 100.0]      8\n"),
            "{shown}"
        );
        assert!(
            shown.contains("\nvague     7.0                    -\n"),
            "{shown}"
        );
        assert!(shown.ends_with("\n- * is over fewer cases.\n"), "{shown}");
        assert!(
            table()
                .terminal(&TableStyle {
                    all_notes: true,
                    ..TableStyle::default()
                })
                .ends_with("- Detail.\n")
        );
    }

    #[test]
    fn columns_that_do_not_fit_are_left_out_from_the_right_and_named() {
        let mut table = table();
        for name in [
            "a_long_heading_of_a_column",
            "another_long_heading_here",
            "unscored",
            "3\u{9b}",
        ] {
            table.columns.push(Column::new(name, Format::Count));
            table
                .rows
                .iter_mut()
                .for_each(|row| row.push(Cell::count(1)));
        }
        let shown = table.terminal(&TableStyle::default());
        assert!(
            shown.contains(
                "Not shown at this width (see --format csv): another_long_heading_here, 3\\u{9b}\n"
            ),
            "{shown}"
        );
        assert!(
            shown.lines().all(|line| measure_text_width(line) <= 80),
            "{shown}"
        );
        assert!(
            shown.contains("a_long_heading_of_a_column  unscored\n"),
            "{shown}"
        );
        assert!(
            table
                .terminal(&TableStyle {
                    width: 120,
                    ..TableStyle::default()
                })
                .contains("another_long_heading_here")
        );
    }

    #[test]
    fn kept_columns_lose_their_intervals_before_they_are_left_out() {
        let interval = Some(Interval {
            low: 0.0912,
            high: 1.0,
        });
        let mut table = Table::new("", vec![Column::new("system", Format::Text)]);
        table.rows.push(vec![Cell::text("careful")]);
        let names = [
            "rank",
            "the_ranking",
            "measured_a",
            "measured_b",
            "detail",
            "measured_c",
        ];
        for name in names {
            let column = Column::new(name, Format::Percent);
            let is_kept = name != "rank" && name != "detail";
            let column = if is_kept { column.kept() } else { column };
            let interval = interval.filter(|_| name != "rank");
            table.push(column, [Cell::estimate(Some(0.352), interval)]);
        }
        let shown = table.terminal(&TableStyle::default());
        assert!(
            shown.contains("Not shown at this width (see --format csv): detail\n"),
            "{shown}"
        );
        let unwrapped = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            unwrapped.contains(
                "Shown without intervals at this width (see --format csv): measured_b, measured_c"
            ),
            "{shown}"
        );
        assert!(
            shown.lines().all(|line| measure_text_width(line) <= 80),
            "{shown}"
        );
        // Names that fill the line leave the ranking column only.
        for column in &mut table.columns[3..] {
            column.heading = "n".repeat(60);
        }
        let shown = table.terminal(&TableStyle::default());
        let header = shown.lines().next().unwrap();
        assert_eq!(
            header.split_whitespace().collect::<Vec<_>>(),
            ["system", "rank", "the_ranking"]
        );
    }

    #[test]
    fn a_bold_header_a_green_best_and_a_yellow_gap_only_in_color() {
        let mut table = table();
        table.columns[1].highest_is_best = true;
        table
            .rows
            .push(vec![Cell::text("silent"), Cell::Missing, Cell::Missing]);
        assert!(!table.terminal(&TableStyle::default()).contains('\u{1b}'));
        let colored = table.terminal(&TableStyle {
            color: true,
            ..TableStyle::default()
        });
        for escape in ["\u{1b}[1m", "\u{1b}[38;5;10m", "\u{1b}[38;5;11m"] {
            assert!(colored.contains(escape), "{colored:?}");
        }
    }
}
