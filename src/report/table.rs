//! One table for every command: columns, rows, notes; [`terminal`](Table::terminal), [`csv`](Table::csv),
//! [`markdown`](Table::markdown) and [`latex`](Table::latex) render it.
//!
//! Values stay in natural units (a share is 0..=1). People see percent with one decimal and an interval as
//! `51.1 [49.1, 53.2]`; CSV has full precision.

use super::layout::counted;
use super::visible;
use super::visible::without_middle;
use crate::analysis::Estimate;
use crate::domain::{Note, Severity, SystemName, Unit};
use crate::stats::Interval;
use crate::text::names::grouped;

/// Maximum length of a name in a table, in characters; longer ones are shortened in the middle.
// Leaves room for three metrics with intervals in 80 columns.
pub const NAME_WIDTH: usize = 24;

/// Maximum number of notes below a table by default.
// What a reader takes in; more would be skipped as a whole.
const WARNINGS: usize = 5;

/// A result as rows and columns.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// The caption, without a full stop; may be empty.
    pub title: String,
    /// The first column has the row's name.
    pub columns: Vec<Column>,
    /// One cell per column.
    pub rows: Vec<Vec<Cell>>,
    /// Notes for the reader.
    pub notes: Vec<Note>,
}

/// A column.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Name in CSV.
    pub key: String,
    /// Heading for people.
    pub heading: String,
    /// What it shows, where the heading does not say it; may be empty. A tooltip on the page.
    pub meaning: &'static str,
    /// Format of its values.
    pub format: Format,
    /// Whether CSV always has interval columns, even if no row has an interval.
    pub has_interval: bool,
    /// Whether CSV always has a column of flags, even if no row has one.
    pub has_flag: bool,
    /// Whether the highest value is highlighted: the best one.
    pub highest_is_best: bool,
    /// Whether people see half the width of an interval (`51.1 ± 2.0`) instead of its ends.
    pub half_widths: bool,
    /// Whether a narrow terminal shows it without intervals before it leaves it out: a ranking column, or one that a sentence
    /// is about.
    pub is_kept: bool,
    /// Heading of the group of adjacent columns that this one belongs to; empty without one. Not in CSV.
    pub group: String,
}

/// Format of a column's values for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Text, left-aligned.
    Text,
    /// A share as percent, one decimal.
    Percent,
    /// A share as percent with this many decimals.
    PercentTo(usize),
    /// A difference of shares in percentage points, with its sign.
    PercentDifference,
    /// A number with this many decimals.
    Number(usize),
    /// A difference with this many decimals and its sign.
    Difference(usize),
    /// A whole number, thousands separated by commas.
    Count,
    /// A p-value: three decimals, never 0 and never 1.
    PValue,
}

impl Format {
    /// The format of means of that unit.
    pub fn of_mean(unit: Unit) -> Self {
        match unit {
            Unit::Share | Unit::Net => Self::Percent,
            Unit::Grade => Self::Number(2),
            Unit::Count => Self::Number(1),
        }
    }

    /// The format of means of that unit with this many decimals.
    pub fn of_mean_to(unit: Unit, decimals: usize) -> Self {
        if matches!(unit, Unit::Share | Unit::Net) {
            Self::PercentTo(decimals)
        } else {
            Self::Number(decimals)
        }
    }

    /// The format of differences of that unit.
    pub fn of_difference(unit: Unit) -> Self {
        match unit {
            Unit::Share | Unit::Net => Self::PercentDifference,
            Unit::Grade => Self::Difference(2),
            Unit::Count => Self::Difference(1),
        }
    }

    /// The formatted value. What rounds to 0 has no sign.
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Text => value.to_string(),
            Self::Percent => Self::PercentTo(1).show(value),
            Self::PercentTo(decimals) => unsigned_zero(format!("{:.decimals$}", 100.0 * value)),
            Self::PercentDifference => unsigned_zero(format!("{:+.1}", 100.0 * value)),
            Self::Number(decimals) => unsigned_zero(format!("{value:.decimals$}")),
            Self::Difference(decimals) => unsigned_zero(format!("{value:+.decimals$}")),
            Self::Count if value < 0.0 => format!("-{}", grouped(value.abs().round() as u64)),
            Self::Count => grouped(value.round() as u64),
            // Resamples cannot show that a p is 0 or 1.
            Self::PValue if value < 0.0005 => "<0.001".to_owned(),
            Self::PValue if value > 0.9995 => ">0.999".to_owned(),
            Self::PValue => format!("{value:.3}"),
        }
    }

    /// `51.1 [49.1, 53.2]`.
    pub fn show_estimate(self, value: f64, interval: Option<Interval>) -> String {
        match interval {
            Some(interval) => format!("{} {}", self.show(value), self.show_interval(interval)),
            None => self.show(value),
        }
    }

    /// `[49.1, 53.2]`.
    pub fn show_interval(self, interval: Interval) -> String {
        format!(
            "[{}, {}]",
            self.show(interval.low),
            self.show(interval.high)
        )
    }
}

fn unsigned_zero(text: String) -> String {
    let is_zero = text.chars().all(|c| matches!(c, '+' | '-' | '0' | '.'));
    if is_zero {
        text.trim_start_matches(['+', '-']).to_owned()
    } else {
        text
    }
}

/// A value in a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Text; escaped by the renderers.
    Text(String),
    /// A number.
    Value {
        /// In natural units.
        value: f64,
        /// Its confidence interval.
        interval: Option<Interval>,
        /// A flag after the number, such as `*` or group letters; may be empty. A note explains it.
        flag: String,
    },
    /// Missing: `-`, empty in CSV.
    Missing,
}

/// A cell as people read it.
#[derive(Default)]
pub(super) struct ShownCell {
    /// The text or the number.
    pub(super) text: String,
    /// What flags the number; may be empty.
    pub(super) flag: String,
    /// The interval of the number.
    pub(super) interval: Option<String>,
}

impl Cell {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A count.
    pub fn count(count: usize) -> Self {
        Self::number(count as f64)
    }

    /// A number without an interval.
    pub fn number(value: f64) -> Self {
        Self::estimate(Some(value), None)
    }

    /// A number, if there is one.
    pub fn maybe(value: Option<f64>) -> Self {
        value.map_or(Self::Missing, Self::number)
    }

    /// An estimate with its interval, if there is one.
    pub fn estimate(value: Option<f64>, interval: Option<Interval>) -> Self {
        let flag = String::new();
        value.map_or(Self::Missing, |value| Self::Value {
            value,
            interval,
            flag,
        })
    }

    /// Its number with interval and flag, if it is one.
    pub(super) fn parts(&self) -> Option<(f64, Option<Interval>, &str)> {
        match self {
            Self::Value {
                value,
                interval,
                flag,
            } => Some((*value, *interval, flag)),
            Self::Text(_) | Self::Missing => None,
        }
    }

    /// The cell with a flag.
    #[must_use]
    pub fn flagged(mut self, text: &str) -> Self {
        if let Self::Value { flag, .. } = &mut self {
            flag.push_str(text);
        }
        self
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<&String> for Cell {
    fn from(text: &String) -> Self {
        Self::text(text)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&SystemName> for Cell {
    fn from(system: &SystemName) -> Self {
        Self::text(system.as_str())
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Self {
        Self::number(number)
    }
}

impl From<usize> for Cell {
    fn from(count: usize) -> Self {
        Self::count(count)
    }
}

/// Missing without a value.
impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Missing, Into::into)
    }
}

/// A value with its interval.
impl From<(f64, Option<Interval>)> for Cell {
    fn from((value, interval): (f64, Option<Interval>)) -> Self {
        Self::estimate(Some(value), interval)
    }
}

impl From<&Estimate> for Cell {
    fn from(estimate: &Estimate) -> Self {
        Self::estimate(estimate.estimate, estimate.interval())
    }
}

impl Column {
    /// A column whose heading is its key.
    pub fn new(key: &str, format: Format) -> Self {
        Self::headed(key, key, format)
    }

    /// A column of texts.
    pub fn text(key: &str) -> Self {
        Self::new(key, Format::Text)
    }

    /// A column of counts.
    pub fn count(key: &str) -> Self {
        Self::new(key, Format::Count)
    }

    /// A column.
    pub fn headed(key: &str, heading: &str, format: Format) -> Self {
        Self {
            key: key.to_owned(),
            heading: heading.to_owned(),
            meaning: "",
            format,
            has_interval: false,
            has_flag: false,
            highest_is_best: false,
            half_widths: false,
            is_kept: false,
            group: String::new(),
        }
    }

    /// Means of a metric.
    pub fn metric(name: &str, unit: Unit) -> Self {
        let column = Self::new(name, Format::of_mean(unit));
        Self {
            highest_is_best: unit != Unit::Count,
            has_interval: true,
            ..column
        }
    }

    /// The column, kept where a terminal is narrow.
    #[must_use]
    pub fn kept(self) -> Self {
        Self {
            is_kept: true,
            ..self
        }
    }

    /// `[49.1, 53.2]`, or `± 2.0`.
    pub(super) fn show_interval(&self, interval: Interval) -> String {
        if self.half_widths {
            return format!("± {}", self.format.show(interval.half_width()));
        }
        self.format.show_interval(interval)
    }

    /// What a cell of this column says, part by part, not yet escaped; what is missing is a dash.
    pub(super) fn shown(&self, cell: &Cell) -> ShownCell {
        let mut shown = ShownCell::default();
        if let Some((value, interval, flag)) = cell.parts() {
            shown.text = self.format.show(value);
            shown.flag = flag.to_owned();
            shown.interval = interval.map(|interval| self.show_interval(interval));
        } else if let Cell::Text(text) = cell {
            shown.text.clone_from(text);
        } else {
            shown.text = "-".to_owned();
        }
        shown
    }

    /// The heading where columns have one row of headings: behind that of the group.
    pub(super) fn full_heading(&self) -> String {
        if self.group.is_empty() {
            self.heading.clone()
        } else {
            format!("{}: {}", self.group, self.heading)
        }
    }
}

impl Table {
    /// An empty table.
    pub fn new(title: impl Into<String>, columns: Vec<Column>) -> Self {
        Self {
            title: title.into(),
            columns,
            rows: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Adds a column with its cells; the first column makes the rows.
    pub fn push(&mut self, column: Column, cells: impl IntoIterator<Item = Cell>) {
        if self.columns.is_empty() {
            self.rows = cells.into_iter().map(|cell| vec![cell]).collect();
        } else {
            for (row, cell) in self.rows.iter_mut().zip(cells) {
                row.push(cell);
            }
        }
        self.columns.push(column);
    }

    /// Adds a column with the value of each of these rows; the first column makes the rows.
    pub(crate) fn column<'a, T, C: Into<Cell>>(
        &mut self,
        column: Column,
        rows: &'a [T],
        cell: impl FnMut(&'a T) -> C,
    ) {
        self.push(column, rows.iter().map(cell).map(Into::into));
    }

    /// Adds the rows of another table, each behind these cells; its columns are found by their keys.
    pub(super) fn append(&mut self, lead: &[Cell], other: &Self) {
        for column in &other.columns {
            let mut known = self.columns.iter();
            if !known.any(|candidate| candidate.key == column.key) {
                self.columns.push(column.clone());
            }
        }
        for row in &other.rows {
            let mut cells = lead.to_vec();
            for column in &self.columns[lead.len()..] {
                cells.push(other.cell(row, &column.key));
            }
            self.rows.push(cells);
        }
        // Rows of earlier tables are missing the columns that this one added.
        for row in &mut self.rows {
            row.resize(self.columns.len(), Cell::Missing);
        }
    }

    /// The cell of a row in the column of this key; missing without such a column.
    fn cell(&self, row: &[Cell], key: &str) -> Cell {
        let at = self.columns.iter().position(|column| column.key == key);
        at.map_or(Cell::Missing, |at| row[at].clone())
    }

    /// Whether any cell has a number.
    pub fn has_values(&self) -> bool {
        let mut cells = self.rows.iter().flatten();
        cells.any(|cell| cell.parts().is_some())
    }

    /// Whether any cell of the column has an interval.
    pub(super) fn has_intervals(&self, at: usize) -> bool {
        let mut values = self.column_cells(at).filter_map(Cell::parts);
        values.any(|(_, interval, _)| interval.is_some())
    }

    /// Whether any cell of the column has a flag.
    pub(super) fn has_flags(&self, at: usize) -> bool {
        let mut values = self.column_cells(at).filter_map(Cell::parts);
        values.any(|(.., flag)| !flag.is_empty())
    }

    fn column_cells(&self, at: usize) -> impl Iterator<Item = &Cell> {
        self.rows.iter().filter_map(move |row| row.get(at))
    }

    /// Whether the cell shows the highest value of a column in which that is the best; none does if all are equal.
    pub(super) fn is_best(&self, row: usize, at: usize) -> bool {
        let column = &self.columns[at];
        if !column.highest_is_best {
            return false;
        }
        let Some(value) = value_at(&self.rows[row], at) else {
            return false;
        };
        let mut highest = value;
        let mut lowest = value;
        for other in self.rows.iter().filter_map(|cells| value_at(cells, at)) {
            highest = highest.max(other);
            lowest = lowest.min(other);
        }
        // Values that look the same are equally good. Only three are formatted: a table of many systems asks for each of its
        // cells.
        let highest = column.format.show(highest);
        column.format.show(value) == highest && column.format.show(lowest) != highest
    }

    /// The warnings among its notes.
    pub(super) fn warnings(&self) -> impl Iterator<Item = &Note> {
        let notes = self.notes.iter();
        notes.filter(|note| note.severity == Severity::Warning)
    }
}

/// The number in this cell of a row, if it is one.
fn value_at(cells: &[Cell], at: usize) -> Option<f64> {
    cells.get(at)?.parts().map(|(value, ..)| value)
}

/// The notes below a result, most important first: at most five, and how to see the others; with `all`, every note.
pub(super) fn note_lines(notes: &[Note], all: bool) -> Vec<String> {
    let shown = shown_notes(notes, all);
    let mut lines: Vec<String> = shown.iter().map(|note| note.text.clone()).collect();
    let notes = notes.iter();
    let warnings = notes.filter(|note| note.severity == Severity::Warning);
    let more = warnings.count().saturating_sub(lines.len());
    if more > 0 {
        lines.push(format!("{}: --notes", counted(more, "more note")));
    }
    lines
}

/// At most five warnings, those without which the numbers would be misused; with `all`, every note, warnings first.
pub fn shown_notes(notes: &[Note], all: bool) -> Vec<&Note> {
    let mut shown: Vec<&Note> = notes.iter().collect();
    shown.retain(|note| all || note.severity == Severity::Warning);
    // Stable: within a severity the order of the writer, most important first.
    shown.sort_by_key(|note| std::cmp::Reverse(note.severity));
    if !all {
        shown.truncate(WARNINGS);
    }
    shown
}

/// Names for people: escaped, long ones shortened in the middle, in full if two would look the same.
pub fn short_names<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let full: Vec<String> = names.map(|name| visible(name).into_owned()).collect();
    let short = full.iter().map(|name| without_middle(name, NAME_WIDTH));
    let short: Vec<String> = short.collect();
    let mut shown = Vec::new();
    for (full_name, short_name) in full.iter().zip(&short) {
        let mut others = full.iter().zip(&short);
        let is_ambiguous =
            others.any(|(other, other_short)| other_short == short_name && other != full_name);
        let name = if is_ambiguous { full_name } else { short_name };
        shown.push(name.clone());
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_look_the_same_everywhere() {
        let interval = Interval {
            low: 0.491,
            high: 0.532,
        };
        assert_eq!(
            Format::Percent.show_estimate(0.5111, Some(interval)),
            "51.1 [49.1, 53.2]"
        );
        let shown = [0.147, -0.02, -0.0001, 0.0].map(|value| Format::PercentDifference.show(value));
        assert_eq!(shown, ["+14.7", "-2.0", "0.0", "0.0"]);
        assert_eq!(
            [0.0004, 0.0005, 0.011, 1.0].map(|p| Format::PValue.show(p)),
            ["<0.001", "0.001", "0.011", ">0.999"]
        );
        assert_eq!(
            [7.0, 999.0, 5205.0, -1234567.0].map(|n| Format::Count.show(n)),
            ["7", "999", "5,205", "-1,234,567"]
        );
    }

    #[test]
    fn long_names_lose_their_middle_unless_two_would_look_the_same() {
        let names = [
            "openscholar_8b_reranked_with_feedback",
            "gpt",
            "openscholar_8b_abc_x_with_feedback",
        ];
        assert_eq!(
            short_names(names[..2].iter().copied()),
            ["openscholar…ith_feedback", "gpt"]
        );
        assert_eq!(short_names(names.into_iter()), names);
        assert_eq!(short_names(["a\u{1b}[2J"].into_iter()), [r"a\u{1b}[2J"]);
    }

    #[test]
    fn at_most_five_warnings_are_shown_without_being_asked_for() {
        let mut table = Table::default();
        table.notes.push(Note::info("detail."));
        table
            .notes
            .extend((0..7).map(|n| Note::warning(format!("w{n}."))));
        assert_eq!(shown_notes(&table.notes, false).len(), 5);
        assert_eq!(
            shown_notes(&table.notes, true)
                .last()
                .map(|note| note.text.as_str()),
            Some("detail.")
        );
        assert_eq!(
            note_lines(&table.notes, false)[4..],
            ["w4.", "2 more notes: --notes"]
        );
    }
}
