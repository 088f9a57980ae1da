//! What the columns of tables mean: one text for `--help`, `--notes` and the page's tooltips.

use textwrap::WordSplitter;

use super::table::{Column, Format, Table};
use crate::domain::Note;

/// The columns of a comparison, but for those that a reader knows without help.
pub(crate) const COMPARISON_LEGEND: Legend = Legend(include_str!("legends/compare.txt"));
/// The columns of the statistics of criteria.
pub(crate) const CRITERIA_LEGEND: Legend = Legend(include_str!("legends/criteria.txt"));
/// The columns of a scorecard.
pub(crate) const SCORECARD_LEGEND: Legend = Legend(include_str!("legends/score.txt"));
/// The columns of cited works.
pub(super) const WORKS_LEGEND: Legend = Legend(include_str!("legends/works.txt"));

/// Columns, one a line: `KEY | HEADING | MEANING`. The meaning is empty where the heading says it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Legend(&'static str);

/// The name of a column in CSV, its heading for people, and what it shows.
type LegendEntry = [&'static str; 3];

impl Legend {
    fn entries(self) -> impl Iterator<Item = LegendEntry> {
        self.0.lines().map(|line| {
            let mut parts = line.splitn(3, '|').map(str::trim);
            [(); 3].map(|()| parts.next().unwrap_or_default())
        })
    }

    /// The column of this key, with its heading and meaning.
    pub(super) fn column(self, key: &str, format: Format) -> Column {
        let entry = self.entries().find(|[entry_key, ..]| *entry_key == key);
        let [_, heading, meaning] = entry.unwrap_or_default();
        let heading = if heading.is_empty() { key } else { heading };
        Column {
            meaning,
            ..Column::headed(key, heading, format)
        }
    }

    /// The end of a help text: `Columns:`, then an entry per line, at most 80 characters wide, then the text `below`.
    pub(crate) fn help(self, below: &str) -> String {
        let entries = || self.entries().filter(|[.., meaning]| !meaning.is_empty());
        let widths = entries().map(|[_, heading, _]| heading.chars().count());
        let widest = widths.max().unwrap_or(0);
        let indent = " ".repeat(widest + 4);
        let mut text = "Columns:".to_owned();
        for [_, heading, meaning] in entries() {
            let first = format!("  {heading:<widest$}  ");
            let options = textwrap::Options::new(80)
                .initial_indent(&first)
                .subsequent_indent(&indent)
                .word_splitter(WordSplitter::NoHyphenation);
            text.push('\n');
            text.push_str(&textwrap::fill(meaning, options));
        }
        text + "\n" + below
    }
}

/// The meanings of the columns of these tables as notes, each heading once.
pub(super) fn legend_notes(tables: &[Table]) -> Vec<Note> {
    let mut lines: Vec<String> = Vec::new();
    for column in tables.iter().flat_map(|table| &table.columns) {
        let line = format!("{}: {}.", column.heading, column.meaning);
        if !column.meaning.is_empty() && !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.into_iter().map(Note::info).collect()
}
