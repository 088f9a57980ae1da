//! The comparison in each format: tables, verdicts, notes.

use super::notes::{notes, run_warnings};
use super::tables::{overview, pairs_table, systems_table, tidy};
use super::verdict::verdicts;
use crate::analysis::comparison::Comparison;
use crate::domain::Note;
use crate::error::Result;
use crate::report::markup::markdown_text;
use crate::report::table::{Table, note_lines};
use crate::report::{CsvText, TableStyle, render_json, visible, wrapped};

/// A comparison to render.
#[derive(Debug, Clone, Copy)]
pub struct ComparisonReport<'a> {
    /// The comparison.
    pub comparison: &'a Comparison,
    /// Whether to show pairs and all notes, instead of at most five warnings.
    pub all_notes: bool,
}

impl ComparisonReport<'_> {
    /// For a terminal.
    pub fn terminal(&self, style: &TableStyle) -> String {
        let width = usize::from(style.width.max(80));
        let line = |text: &str| wrapped(&visible(text), width) + "\n";
        self.laid_out(|table| table.terminal(style), |verdict| line(verdict), |note| line(&format!("- {note}")))
    }

    /// GitHub's Markdown.
    pub fn markdown(&self) -> String {
        let line = |text: &str| format!("{}\n", markdown_text(text));
        self.laid_out(Table::markdown, |verdict| line(verdict), |note| format!("- {}", line(note)))
    }

    /// Floats with `booktabs` rules; verdicts and notes are comments, warnings on the runs are in the captions.
    pub fn latex(&self) -> String {
        let mut number = 0;
        let float = |table: &Table| {
            number += 1;
            let label = if number == 1 { "tab:comparison".to_owned() } else { format!("tab:comparison-{number}") };
            Table { notes: run_warnings(self.comparison), ..table.clone() }.latex(&label)
        };
        let comment = |text: &str| format!("% {}\n", visible(text));
        self.laid_out(float, comment, comment)
    }

    /// One tidy CSV with a row for each system and each pair, in full precision.
    ///
    /// # Errors
    /// [`Error::Internal`](crate::error::Error::Internal) if it cannot be written.
    pub fn csv(&self, texts: CsvText) -> Result<String> {
        let warnings: Vec<String> = self.run_warnings().into_iter().map(|note| note.text).collect();
        tidy(self.comparison, &warnings.join(" ")).csv(texts)
    }

    /// The comparison as JSON; shares are 0..=1, missing values are null.
    ///
    /// # Errors
    /// [`Error::Internal`](crate::error::Error::Internal) if it cannot be serialized.
    pub fn json(&self) -> Result<String> {
        render_json(self.comparison)
    }

    /// Warnings on the runs: settings that differ, unfinished runs.
    pub fn run_warnings(&self) -> Vec<Note> {
        run_warnings(self.comparison)
    }

    /// The verdict of each metric, the means, then the notes. Pairs, and the systems of each of several metrics, are shown
    /// with all notes.
    fn laid_out(
        &self,
        table: impl FnMut(&Table) -> String,
        line: impl Fn(&str) -> String,
        item: impl Fn(&str) -> String,
    ) -> String {
        let (comparison, several) = (self.comparison, self.comparison.metrics.len() > 1);
        let metrics: Vec<_> = comparison.metrics.iter().collect();
        let mut tables = if several { vec![overview(comparison, &metrics, false)] } else { Vec::new() };
        for metric in &comparison.metrics {
            tables.extend((self.all_notes || !several).then(|| systems_table(comparison, metric)));
            tables.extend(pairs_table(comparison, metric).filter(|_| self.all_notes));
        }
        let verdicts: String = verdicts(comparison).iter().map(|verdict| line(verdict)).collect();
        let notes: String = note_lines(&notes(comparison), self.all_notes).iter().map(|note| item(note)).collect();
        let blocks = std::iter::once(verdicts).chain(tables.iter().map(table)).chain([notes]);
        blocks.filter(|block| !block.is_empty()).collect::<Vec<_>>().join("\n")
    }
}
