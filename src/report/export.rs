//! What the forms of `export` have in common: each writes a run into a directory as another program reads it.

use std::path::Path;

use super::CsvText;
use super::rows::component_rows;
use crate::domain::{Answer, ScoredAnswer};
use crate::error::Result;
use crate::record::RecordedRun;

/// Maximum length of a name in a file name.
const KEPT_OF_A_NAME: usize = 40;

/// A form in which a run is written for another program.
pub trait RunExport {
    /// Writes the run into a directory that exists. Files of the same name are replaced.
    ///
    /// # Errors
    /// When a file cannot be written, and for options that do not fit the run.
    fn write(&self, run: &RecordedRun, out: &Path) -> Result<WrittenExport>;
}

/// What an export has written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenExport {
    /// Its files or rows with their number, such as `2 logs`.
    pub contents: String,
    /// What a reader of the files must know.
    pub note: Option<String>,
}

impl WrittenExport {
    /// Without a note.
    pub fn new(contents: impl Into<String>) -> Self {
        Self {
            contents: contents.into(),
            note: None,
        }
    }
}

/// The numbers that a scorer gave an answer, by name, as in `items.csv`.
pub(super) struct ScorerNumbers<'a> {
    pub(super) scorer: &'a str,
    pub(super) numbers: Vec<(String, Option<f64>)>,
}

impl ScorerNumbers<'_> {
    pub(super) fn value(&self, name: &str) -> Option<f64> {
        self.numbers.iter().find(|(number, _)| number == name)?.1
    }
}

/// The numbers of an answer by its scorer; of a rubric the sums only.
pub(super) fn numbers_of(scored: &ScoredAnswer) -> ScorerNumbers<'_> {
    let score = &scored.score;
    let mut numbers = Vec::new();
    for row in component_rows("", scored, CsvText::Unchanged) {
        // The criteria of a rubric differ from case to case: as metrics, each would have a mean
        // over a single case.
        if !score.is_weighted_sum() || matches!(row.kind, "score" | "ann_score") {
            numbers.push((row.component.into_owned(), row.value));
        }
    }
    ScorerNumbers {
        scorer: score.scorer.as_str(),
        numbers,
    }
}

/// What the answer should be: its gold answer, else its reference answer.
pub(super) fn gold_answer(answer: &Answer) -> Option<&str> {
    let gold = answer
        .prediction
        .as_ref()
        .and_then(|prediction| prediction.gold.answer.as_deref());
    gold.or(answer.reference_answer.as_deref())
}

/// The name without path separators and other unsafe characters.
pub(super) fn harmless(name: &str) -> String {
    name.chars()
        .take(KEPT_OF_A_NAME)
        .map(|c| match c {
            c if c.is_ascii_alphanumeric() => c,
            _ => '-',
        })
        .collect()
}
