//! FEVER: strict score, label accuracy, and macro precision, recall and F1 of the evidence.
//!
//! All are 0..=1. Source: `fever-scorer`, `src/fever/scorer.py`, commit 4801615; J. Thorne et al., "The Fact
//! Extraction and VERification (FEVER) Shared Task", 2018. Only the first `max_evidence` predicted sentences count
//! (the shared task: 5); `None` means all.
//!
//! The worked example of the reference's README:
//!
//! ```
//! use scholareval::domain::Mode;
//! use scholareval::facts::fever::{Gold, Prediction, Sentence, Tally, score_instance};
//!
//! # fn main() {
//! let gold = Gold::new("REFUTES", vec![vec![Sentence::new("page1", 1), Sentence::new("page2", 2)]]);
//! let first = Prediction::new("REFUTES", &[("page1", 1)]); // page2:2 is missing
//! let second = Prediction::new("REFUTES", &[("page1", 1), ("page2", 2), ("page3", 3)]);
//!
//! let mut tally = Tally::default();
//! tally.add(score_instance(&gold, &first, Some(5)));
//! tally.add(score_instance(&gold, &second, Some(5)));
//! let scores = tally.scores(Mode::Default);
//! assert_eq!(scores.strict_score, 0.5);
//! assert_eq!(scores.label_accuracy, 1.0);
//! assert!((scores.precision - 0.833).abs() < 0.001); // (1 + 2/3) / 2
//! assert_eq!(scores.recall, 0.5); // (0 + 1) / 2
//! assert_eq!(scores.f1, 0.625); // 2 * 5/6 * 1/2 / (5/6 + 1/2)
//! # }
//! ```

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::domain::Mode;

/// The labels of the task, as files write them; labels are compared without case.
pub const LABELS: [&str; 3] = ["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"];

/// A sentence of Wikipedia: page name and 0-based line. Gold of claims that are not verifiable has nulls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// The page's name in the corpus, such as `Oliver_Reed`.
    pub page: Option<String>,
    /// The line on the page.
    pub line: Option<i64>,
}

impl Sentence {
    /// The sentence on that line of that page.
    pub fn new(page: &str, line: i64) -> Self {
        Self { page: Some(page.to_owned()), line: Some(line) }
    }
}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.line.map_or_else(|| "null".to_owned(), |line| line.to_string());
        write!(f, "{}:{line}", self.page.as_deref().unwrap_or("null"))
    }
}

/// The gold of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gold {
    /// The label, in capitals.
    pub label: String,
    /// Groups of sentences, each of which is sufficient: it counts if all of it is predicted. An empty one always counts.
    pub groups: Vec<Vec<Sentence>>,
}

impl Gold {
    /// A claim with this label, in any case.
    pub fn new(label: &str, groups: Vec<Vec<Sentence>>) -> Self {
        Self { label: label.to_uppercase(), groups }
    }

    /// True if evidence counts for the claim.
    pub fn is_verifiable(&self) -> bool {
        self.label != LABELS[2]
    }

    /// True if the sentence is in any group. Gold without a line is no evidence.
    fn has(&self, sentence: &Sentence) -> bool {
        sentence.line.is_some() && self.groups.iter().flatten().any(|gold| gold == sentence)
    }
}

/// What a system predicts for a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prediction {
    /// The label, in capitals.
    pub label: String,
    /// The sentences, best first. `None` equals no gold sentence (only compat reads one).
    pub evidence: Vec<Option<Sentence>>,
}

impl Prediction {
    /// A prediction with this label, in any case.
    pub fn new(label: &str, evidence: &[(&str, i64)]) -> Self {
        let evidence = evidence.iter().map(|(page, line)| Some(Sentence::new(page, *line))).collect();
        Self { label: label.to_uppercase(), evidence }
    }

    /// The sentences that count.
    fn counted(&self, max_evidence: Option<usize>) -> &[Option<Sentence>] {
        let all = self.evidence.len();
        &self.evidence[..max_evidence.unwrap_or(all).min(all)]
    }
}

/// How many predicted sentences of a claim are in some evidence group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share {
    /// Predicted sentences that are in a group.
    pub hits: u32,
    /// Predicted sentences that count.
    pub predicted: u32,
}

impl Share {
    /// hits / predicted, 0..=1; 1 where nothing is predicted.
    pub fn value(self) -> f64 {
        if self.predicted == 0 { 1.0 } else { f64::from(self.hits) / f64::from(self.predicted) }
    }
}

/// What one claim adds to the five numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstanceScore {
    /// The label is right.
    pub label_correct: bool,
    /// The label is right and, for a verifiable claim, a whole group is predicted. Gold without any group cannot be met.
    pub strictly_correct: bool,
    /// Evidence precision; `None` for a claim that is not verifiable. A sentence predicted twice counts twice.
    pub precision: Option<Share>,
    /// Evidence recall, all or nothing: a whole group is predicted, or the gold has none; `None` for a claim that is not
    /// verifiable.
    pub recalled: Option<bool>,
}

/// What one claim adds.
pub fn score_instance(gold: &Gold, prediction: &Prediction, max_evidence: Option<usize>) -> InstanceScore {
    let label_correct = prediction.label == gold.label;
    if !gold.is_verifiable() {
        return InstanceScore { label_correct, strictly_correct: label_correct, precision: None, recalled: None };
    }
    let counted = prediction.counted(max_evidence);
    let is_predicted = |wanted: &Sentence| counted.iter().flatten().any(|sentence| sentence == wanted);
    let has_whole_group = gold.groups.iter().any(|group| group.iter().all(is_predicted));
    let hits = counted.iter().flatten().filter(|sentence| gold.has(sentence)).count();
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    InstanceScore {
        label_correct,
        strictly_correct: label_correct && has_whole_group,
        precision: Some(Share { hits: number(hits), predicted: number(counted.len()) }),
        recalled: Some(has_whole_group || gold.groups.is_empty()),
    }
}

/// The five numbers of a system, each 0..=1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FeverScores {
    /// Claims with the right label and, where verifiable, a whole evidence group, over all claims. The FEVER score.
    pub strict_score: f64,
    /// Claims with the right label over all claims.
    pub label_accuracy: f64,
    /// Mean evidence precision over verifiable claims; 1 if there are none.
    pub precision: f64,
    /// Share of verifiable claims of which a whole group is predicted; 0 if there are none.
    pub recall: f64,
    /// 2 precision recall / (precision + recall); 0 where both are 0 (the reference divides by zero).
    pub f1: f64,
}

/// Sums over claims. Equal precisions are counted, so that the order of claims does not show in the last digit; compat
/// adds them up in file order, as the reference does.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    /// Claims.
    pub claims: u64,
    /// Claims with the right label.
    pub labels_correct: u64,
    /// Claims that are strictly correct.
    pub strictly_correct: u64,
    /// Claims that ask for evidence.
    pub verifiable: u64,
    /// Verifiable claims of which a whole group is predicted.
    pub recalled: u64,
    shares: BTreeMap<Share, u64>,
    precision_in_order: f64,
}

impl Tally {
    /// Adds a claim.
    pub fn add(&mut self, score: InstanceScore) {
        self.claims += 1;
        self.labels_correct += u64::from(score.label_correct);
        self.strictly_correct += u64::from(score.strictly_correct);
        if let Some(share) = score.precision {
            self.verifiable += 1;
            *self.shares.entry(share).or_default() += 1;
            self.precision_in_order += share.value();
        }
        self.recalled += u64::from(score.recalled == Some(true));
    }

    /// The five numbers; without any claim as if one were wrong.
    pub fn scores(&self, mode: Mode) -> FeverScores {
        let sum = match mode {
            Mode::Compat => self.precision_in_order,
            Mode::Default => self.shares.iter().map(|(share, count)| share.value() * *count as f64).sum(),
        };
        let verifiable = self.verifiable as f64;
        let precision = if self.verifiable == 0 { 1.0 } else { sum / verifiable };
        let recall = if self.verifiable == 0 { 0.0 } else { self.recalled as f64 / verifiable };
        let claims = self.claims.max(1) as f64;
        FeverScores {
            strict_score: self.strictly_correct as f64 / claims,
            label_accuracy: self.labels_correct as f64 / claims,
            precision,
            recall,
            f1: if precision + recall == 0.0 { 0.0 } else { 2.0 * precision * recall / (precision + recall) },
        }
    }
}

/// Why a claim scored as it did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// The gold label.
    pub gold_label: String,
    /// The predicted label.
    pub predicted_label: String,
    /// The label is right.
    pub label_correct: bool,
    /// See [`InstanceScore::strictly_correct`].
    pub strictly_correct: bool,
    /// Evidence precision, 0..=1; `None` for a claim that is not verifiable.
    pub precision: Option<f64>,
    /// Evidence recall; `None` for a claim that is not verifiable.
    pub recalled: Option<bool>,
    /// The gold groups, in file order: each sentence and whether it is among the predicted ones that count.
    pub groups: Vec<Vec<(String, bool)>>,
    /// The predicted sentences, in file order.
    pub predicted: Vec<SentenceExplanation>,
}

/// A predicted sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SentenceExplanation {
    /// `page:line`; `?` where it is not `[page, line]`.
    pub sentence: String,
    /// True if it is in a gold group.
    pub in_a_group: bool,
    /// True if it is within the first `max_evidence`.
    pub counts: bool,
}

/// Why this claim scored as it did; a claim that is not verifiable has no evidence score.
pub fn explain(gold: &Gold, prediction: &Prediction, max_evidence: Option<usize>) -> Explanation {
    let score = score_instance(gold, prediction, max_evidence);
    let counted = prediction.counted(max_evidence);
    let is_predicted = |wanted: &Sentence| counted.iter().flatten().any(|sentence| sentence == wanted);
    let groups = gold.groups.iter().map(|group| group.iter().map(|s| (s.to_string(), is_predicted(s))).collect());
    let predicted = prediction.evidence.iter().enumerate().map(|(at, sentence)| SentenceExplanation {
        sentence: sentence.as_ref().map_or_else(|| "?".to_owned(), ToString::to_string),
        in_a_group: sentence.as_ref().is_some_and(|sentence| gold.has(sentence)),
        counts: at < counted.len(),
    });
    Explanation {
        gold_label: gold.label.clone(),
        predicted_label: prediction.label.clone(),
        label_correct: score.label_correct,
        strictly_correct: score.strictly_correct,
        precision: score.precision.map(Share::value),
        recalled: score.recalled,
        groups: groups.collect(),
        predicted: predicted.collect(),
    }
}

#[cfg(test)]
mod tests;
