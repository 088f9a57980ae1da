//! What one claim contributes, and the measures of the sums.

use std::collections::HashSet;

use serde::Serialize;

use crate::domain::scifact::{Claim, EvidenceGroup, PredictedAbstract, Prediction};

/// How many predicted sentences of an abstract count towards *rationalized*.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SentenceCap {
    /// The first 3, as in the paper's scripts.
    #[default]
    Three,
    /// The first max(3, length of the abstract's shortest rationale), as on the leaderboard.
    ShortestRationale,
}

impl SentenceCap {
    /// How many sentences count for this abstract, at least 3.
    pub fn sentences(self, group: &EvidenceGroup) -> usize {
        let shortest = || group.rationales.iter().map(|r| r.0.iter().collect::<HashSet<_>>().len()).min();
        match self {
            Self::Three => 3,
            Self::ShortestRationale => shortest().unwrap_or(0).max(3),
        }
    }
}

/// Counts of one claim, or summed over claims.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Abstracts with gold evidence.
    pub abstracts_relevant: u64,
    /// Abstracts predicted.
    pub abstracts_retrieved: u64,
    /// Predicted abstracts that are relevant and have the right label.
    pub abstracts_label_only: u64,
    /// Of these, those whose first sentences hold a whole gold rationale.
    pub abstracts_rationalized: u64,
    /// Sentences of gold rationales; one that stands twice counts twice, as in the reference.
    pub sentences_relevant: u64,
    /// Sentences predicted, repetitions included.
    pub sentences_retrieved: u64,
    /// Predicted sentences (each once) of a gold rationale that is predicted whole.
    pub sentences_selection: u64,
    /// Of these, those in abstracts with the right label.
    pub sentences_label: u64,
}

impl Counts {
    /// The counts in the order of the fields.
    pub fn as_row(&self) -> [f64; 8] {
        [
            self.abstracts_relevant,
            self.abstracts_retrieved,
            self.abstracts_label_only,
            self.abstracts_rationalized,
            self.sentences_relevant,
            self.sentences_retrieved,
            self.sentences_selection,
            self.sentences_label,
        ]
        .map(|count| count as f64)
    }
}

impl std::iter::Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), |mut sum, one| {
            sum.abstracts_relevant += one.abstracts_relevant;
            sum.abstracts_retrieved += one.abstracts_retrieved;
            sum.abstracts_label_only += one.abstracts_label_only;
            sum.abstracts_rationalized += one.abstracts_rationalized;
            sum.sentences_relevant += one.sentences_relevant;
            sum.sentences_retrieved += one.sentences_retrieved;
            sum.sentences_selection += one.sentences_selection;
            sum.sentences_label += one.sentences_label;
            sum
        })
    }
}

/// Precision, recall and F1, each 0..=1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Prf {
    /// correct / retrieved; 0 where nothing was retrieved.
    pub precision: f64,
    /// correct / relevant; 0 where nothing is relevant.
    pub recall: f64,
    /// 2 P R / (P + R); 0 where both are 0.
    pub f1: f64,
}

impl Prf {
    /// The measures of `correct` ones among `retrieved` and `relevant` ones.
    pub fn of(correct: f64, retrieved: f64, relevant: f64) -> Self {
        let safe = |part: f64, whole: f64| if whole == 0.0 { 0.0 } else { part / whole };
        let (precision, recall) = (safe(correct, retrieved), safe(correct, relevant));
        Self { precision, recall, f1: safe(2.0 * precision * recall, precision + recall) }
    }
}

/// The four measures of a submission.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Measures {
    /// Relevant abstracts with the right label.
    pub abstract_label_only: Prf,
    /// Moreover with a whole gold rationale among the first sentences.
    pub abstract_rationalized: Prf,
    /// Sentences of gold rationales that are predicted whole, whatever the label.
    pub sentence_selection: Prf,
    /// Moreover in an abstract with the right label.
    pub sentence_label: Prf,
}

impl Measures {
    /// Names of the measures, in their order everywhere.
    pub const NAMES: [&'static str; 4] =
        ["abstract_label_only", "abstract_rationalized", "sentence_selection", "sentence_label"];

    /// The measures of summed counts in the order of [`Counts::as_row`].
    pub fn of_row(row: &[f64; 8]) -> Self {
        Self {
            abstract_label_only: Prf::of(row[2], row[1], row[0]),
            abstract_rationalized: Prf::of(row[3], row[1], row[0]),
            sentence_selection: Prf::of(row[6], row[5], row[4]),
            sentence_label: Prf::of(row[7], row[5], row[4]),
        }
    }

    /// The measures in the order of [`NAMES`](Self::NAMES).
    pub fn all(&self) -> [Prf; 4] {
        [self.abstract_label_only, self.abstract_rationalized, self.sentence_selection, self.sentence_label]
    }

    /// Precision, recall and F1 of each measure: 12 numbers.
    pub fn flat(&self) -> [f64; 12] {
        let all = self.all();
        std::array::from_fn(|i| match (all[i / 3], i % 3) {
            (prf, 0) => prf.precision,
            (prf, 1) => prf.recall,
            (prf, _) => prf.f1,
        })
    }
}

/// What a claim contributes. A claim without a prediction contributes what is relevant: it counts in recall.
pub fn count_claim(claim: &Claim, prediction: Option<&Prediction>, cap: SentenceCap) -> Counts {
    let mut counts = Counts::default();
    for group in claim.groups() {
        counts.abstracts_relevant += 1;
        counts.sentences_relevant += group.rationales.iter().map(|rationale| rationale.0.len() as u64).sum::<u64>();
    }
    for predicted in prediction.into_iter().flat_map(|prediction| &prediction.evidence) {
        counts.abstracts_retrieved += 1;
        counts.sentences_retrieved += predicted.sentences.len() as u64;
        let Some(group) = claim.groups().iter().find(|group| group.doc_id == predicted.doc_id) else { continue };
        let label_is_right = predicted.label == group.label;
        let credited = credited_sentences(group, predicted).len() as u64;
        counts.sentences_selection += credited;
        if label_is_right {
            counts.sentences_label += credited;
            counts.abstracts_label_only += 1;
            counts.abstracts_rationalized += u64::from(matched_rationale(group, predicted, cap).is_some());
        }
    }
    counts
}

/// The first gold rationale that is among the abstract's first predicted sentences.
pub(super) fn matched_rationale(
    group: &EvidenceGroup,
    predicted: &PredictedAbstract,
    cap: SentenceCap,
) -> Option<usize> {
    let first: HashSet<u32> = predicted.sentences.iter().take(cap.sentences(group)).copied().collect();
    group.rationales.iter().position(|rationale| rationale.0.iter().all(|sentence| first.contains(sentence)))
}

/// The predicted sentences that are in a gold rationale whose sentences are all predicted.
pub(super) fn credited_sentences(group: &EvidenceGroup, predicted: &PredictedAbstract) -> HashSet<u32> {
    let all: HashSet<u32> = predicted.sentences.iter().copied().collect();
    let whole = group.rationales.iter().filter(|rationale| rationale.0.iter().all(|sentence| all.contains(sentence)));
    whole.flat_map(|rationale| rationale.0.iter().copied()).collect()
}
