//! SciFact: abstract-level and sentence-level scores of a submission, and why a claim scored as it did.
//!
//! Formulas: D. Wadden et al., "Fact or Fiction: Verifying Scientific Claims", EMNLP 2020, section 4, and
//! `doc/evaluation.md` of `allenai/scifact`. Compat gives the numbers of `verisci/evaluate` at commit 68b98a5 and, with
//! [`SentenceCap::ShortestRationale`], of the leaderboard's `allenai/scifact-evaluator`; what those scripts die of is an
//! input error.
//!
//! The worked example of the guidelines. The gold has the rationales {0, 1} and {11} in abstract 11 and {4} in abstract
//! 15; predicted are sentences 1, 11, 13 of abstract 11 and 18, 20 of abstract 16:
//!
//! ```
//! use scholareval::domain::Mode;
//! use scholareval::facts::claims::ClaimFile;
//! use scholareval::facts::scifact::{Claim, Prediction, SentenceCap, score};
//!
//! # fn main() -> scholareval::Result<()> {
//! let gold = concat!(
//!     r#"{"id": 52, "claim": "c", "evidence": {"15": [{"sentences": [4], "label": "SUPPORT"}], "11": ["#,
//!     r#"{"sentences": [0, 1], "label": "SUPPORT"}, {"sentences": [11], "label": "SUPPORT"}]}}"#
//! );
//! let predicted = concat!(
//!     r#"{"id": 52, "evidence": {"11": {"sentences": [1, 11, 13], "label": "SUPPORT"}, "#,
//!     r#""16": {"sentences": [18, 20], "label": "REFUTES"}}}"#
//! );
//! let claims = ClaimFile::<Claim>::parse(gold.as_bytes(), "gold.jsonl".as_ref(), Mode::Default)?;
//! let predictions = ClaimFile::<Prediction>::parse(predicted.as_bytes(), "mine.jsonl".as_ref(), Mode::Default)?;
//!
//! let measures = score(&claims, &predictions, SentenceCap::Three, Mode::Default)?.measures();
//! let [_, rationalized, _, label] = measures;
//! assert_eq!((rationalized.precision, rationalized.recall, rationalized.f1), (1.0 / 2.0, 1.0 / 2.0, 1.0 / 2.0));
//! assert_eq!((label.precision, label.recall), (1.0 / 5.0, 1.0 / 4.0));
//! assert!((label.f1 - 2.0 / 9.0).abs() < 1e-15);
//! # Ok(())
//! # }
//! ```

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use clap::ValueEnum;
use rayon::prelude::*;
use serde::Serialize;

use super::claims::{ClaimFile, ClaimLine, Id, LineFault};
use crate::dataset::suggest;
use crate::domain::Mode;
use crate::error::{InputFault, Result};

/// The S2ORC identifier of an abstract.
pub type DocId = i64;

/// What an abstract says about a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Label {
    /// The abstract contradicts it.
    Contradict,
    /// The abstract does not decide it.
    NotEnoughInfo,
    /// The abstract supports it.
    Support,
}

impl Label {
    /// All labels, in the order of the reference's confusion matrix.
    pub const ALL: [Self; 3] = [Self::Contradict, Self::NotEnoughInfo, Self::Support];

    /// The label as the files write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Contradict => "CONTRADICT",
            Self::NotEnoughInfo => "NOT_ENOUGH_INFO",
            Self::Support => "SUPPORT",
        }
    }

    /// The label of that name. FEVER's `SUPPORTS` and `REFUTES` are other names of two, which compat does not accept.
    pub(super) fn read(doc_id: DocId, name: &str, mode: Mode) -> Result<Self, LineFault> {
        let found = match (name, mode) {
            ("SUPPORTS", Mode::Default) => Some(Self::Support),
            ("REFUTES", Mode::Default) => Some(Self::Contradict),
            _ => Self::ALL.into_iter().find(|label| label.as_str() == name),
        };
        let fault =
            || (format!("abstract {doc_id}: unknown label {name:?}"), suggest(name, Self::ALL.map(Self::as_str)));
        found.ok_or_else(fault)
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What the gold says of one abstract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// What the abstract says about the claim.
    pub label: Label,
    /// Sets of sentences (0-based positions), each of which verifies the claim on its own.
    pub rationales: Vec<Vec<u32>>,
}

/// A claim of the gold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The sentence; empty where the file has none.
    pub text: String,
    /// By abstract; empty if none decides the claim.
    pub evidence: BTreeMap<DocId, Evidence>,
}

/// One abstract of a submission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PredictedAbstract {
    /// The predicted label.
    pub label: Label,
    /// The predicted rationale sentences, best first.
    pub sentences: Vec<u32>,
}

/// What a submission predicts for one claim.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prediction {
    /// By abstract; may be empty.
    pub evidence: BTreeMap<DocId, PredictedAbstract>,
    /// How many abstracts were left out because their label is `NOT_ENOUGH_INFO`.
    pub undecided: usize,
}

/// How many predicted sentences of an abstract count towards *rationalized*.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum SentenceCap {
    /// The first 3, as in the paper's scripts
    #[default]
    #[value(name = "3")]
    Three,
    /// The first max(3, length of the abstract's shortest rationale), as on the leaderboard
    ShortestRationale,
}

impl SentenceCap {
    /// How many sentences count for this abstract, at least 3.
    pub fn sentences(self, gold: &Evidence) -> usize {
        let lengths = gold.rationales.iter().map(|rationale| rationale.iter().collect::<HashSet<_>>().len());
        match self {
            Self::Three => 3,
            Self::ShortestRationale => lengths.min().unwrap_or(0).max(3),
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
    /// Sentences of gold rationales; one in two rationales counts twice, as in the reference.
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
    pub fn row(&self) -> [f64; 8] {
        let abstracts = [self.abstracts_relevant, self.abstracts_retrieved, self.abstracts_label_only];
        let sentences = [self.sentences_relevant, self.sentences_retrieved, self.sentences_selection];
        let [relevant, retrieved, label_only] = abstracts.map(|count| count as f64);
        let [in_gold, predicted, selection] = sentences.map(|count| count as f64);
        let (rationalized, label) = (self.abstracts_rationalized as f64, self.sentences_label as f64);
        [relevant, retrieved, label_only, rationalized, in_gold, predicted, selection, label]
    }
}

impl std::iter::Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), |sum, one| Self {
            abstracts_relevant: sum.abstracts_relevant + one.abstracts_relevant,
            abstracts_retrieved: sum.abstracts_retrieved + one.abstracts_retrieved,
            abstracts_label_only: sum.abstracts_label_only + one.abstracts_label_only,
            abstracts_rationalized: sum.abstracts_rationalized + one.abstracts_rationalized,
            sentences_relevant: sum.sentences_relevant + one.sentences_relevant,
            sentences_retrieved: sum.sentences_retrieved + one.sentences_retrieved,
            sentences_selection: sum.sentences_selection + one.sentences_selection,
            sentences_label: sum.sentences_label + one.sentences_label,
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
        let (precision, recall) = (ratio(correct, retrieved), ratio(correct, relevant));
        Self { precision, recall, f1: ratio(2.0 * precision * recall, precision + recall) }
    }

    /// Precision, recall, F1.
    pub fn values(self) -> [f64; 3] {
        [self.precision, self.recall, self.f1]
    }
}

/// `part / whole`; 0 where the whole is 0.
pub(super) fn ratio(part: f64, whole: f64) -> f64 {
    if whole == 0.0 { 0.0 } else { part / whole }
}

/// Names of the four measures of a submission: relevant abstracts with the right label; moreover with a whole gold
/// rationale among the first sentences; sentences of gold rationales that are predicted whole, whatever the label;
/// moreover in an abstract with the right label.
pub const MEASURES: [&str; 4] =
    ["abstract_label_only", "abstract_rationalized", "sentence_selection", "sentence_label"];

/// The four [`MEASURES`] of summed counts, in the order of [`Counts::row`].
pub fn measures(row: &[f64; 8]) -> [Prf; 4] {
    let [relevant, retrieved, label_only, rationalized, in_gold, predicted, selection, label] = *row;
    [
        Prf::of(label_only, retrieved, relevant),
        Prf::of(rationalized, retrieved, relevant),
        Prf::of(selection, predicted, in_gold),
        Prf::of(label, predicted, in_gold),
    ]
}

/// What a claim contributes. A claim without a prediction contributes what is relevant: it counts in recall.
pub fn count_claim(claim: &Claim, prediction: Option<&Prediction>, cap: SentenceCap) -> Counts {
    let mut counts = Counts::default();
    for gold in claim.evidence.values() {
        counts.abstracts_relevant += 1;
        counts.sentences_relevant += gold.rationales.iter().map(|rationale| rationale.len() as u64).sum::<u64>();
    }
    for (doc_id, predicted) in prediction.into_iter().flat_map(|prediction| &prediction.evidence) {
        counts.abstracts_retrieved += 1;
        counts.sentences_retrieved += predicted.sentences.len() as u64;
        let Some(gold) = claim.evidence.get(doc_id) else { continue };
        let credited = credited_sentences(gold, predicted).len() as u64;
        counts.sentences_selection += credited;
        if predicted.label == gold.label {
            counts.sentences_label += credited;
            counts.abstracts_label_only += 1;
            counts.abstracts_rationalized += u64::from(matched_rationale(gold, predicted, cap).is_some());
        }
    }
    counts
}

/// The first gold rationale that is among the abstract's first predicted sentences.
fn matched_rationale(gold: &Evidence, predicted: &PredictedAbstract, cap: SentenceCap) -> Option<usize> {
    let first = &predicted.sentences[..cap.sentences(gold).min(predicted.sentences.len())];
    gold.rationales.iter().position(|rationale| is_whole(rationale, first))
}

/// The predicted sentences that are in a gold rationale whose sentences are all predicted.
fn credited_sentences(gold: &Evidence, predicted: &PredictedAbstract) -> HashSet<u32> {
    let whole = gold.rationales.iter().filter(|rationale| is_whole(rationale, &predicted.sentences));
    whole.flatten().copied().collect()
}

/// True if all sentences of the rationale are predicted.
pub(super) fn is_whole(rationale: &[u32], predicted: &[u32]) -> bool {
    rationale.iter().all(|sentence| predicted.contains(sentence))
}

/// A scored submission.
#[derive(Debug, Clone, PartialEq)]
pub struct Submission {
    /// What each claim contributes; in compat only those with a prediction, in the order of the predictions.
    pub claims: Vec<Counts>,
    /// Claims of the gold without a prediction.
    pub claims_unpredicted: usize,
    /// Predictions whose claim is not in the gold; they count nowhere.
    pub predictions_unknown: usize,
    /// Predicted abstracts left out because their label is `NOT_ENOUGH_INFO`.
    pub abstracts_undecided: usize,
    /// Predicted abstracts with more than 3 sentences, of which only the first count towards *rationalized*.
    pub abstracts_long: usize,
}

impl Submission {
    /// The four [`MEASURES`], from summed counts.
    pub fn measures(&self) -> [Prf; 4] {
        measures(&self.sums().row())
    }

    /// The summed counts.
    pub fn sums(&self) -> Counts {
        self.claims.iter().copied().sum()
    }
}

/// Scores a submission against the gold. By default both may be in any order and every claim of the gold counts.
///
/// # Errors
/// Only in compat: the first thing that the reference dies of.
pub fn score(
    claims: &ClaimFile<Claim>,
    predictions: &ClaimFile<Prediction>,
    cap: SentenceCap,
    mode: Mode,
) -> Result<Submission> {
    let (gold, predicted) = (claims.by_claim(), predictions.by_claim());
    let counted = match mode {
        Mode::Default => {
            let one = |claim: &ClaimLine<Claim>| {
                count_claim(&claim.value, predicted.get(&claim.id).map(|line| &line.value), cap)
            };
            claims.lines.par_iter().map(one).collect()
        }
        // The reference walks the predictions: a claim without one is forgotten and a claim with two counts twice.
        Mode::Compat => {
            if let Some(fault) = refused_by_reference(claims, predictions, cap) {
                return Err(fault.into());
            }
            let one = |line: &ClaimLine<Prediction>| {
                gold.get(&line.id).map(|claim| count_claim(&claim.value, Some(&line.value), cap))
            };
            predictions.lines.par_iter().filter_map(one).collect()
        }
    };
    let abstracts = predictions.lines.iter().flat_map(|line| line.value.evidence.values());
    Ok(Submission {
        claims: counted,
        claims_unpredicted: claims.not_in(predictions),
        predictions_unknown: predictions.not_in(claims),
        abstracts_undecided: predictions.lines.iter().map(|line| line.value.undecided).sum(),
        abstracts_long: abstracts.filter(|predicted| predicted.sentences.len() > 3).count(),
    })
}

/// The first prediction that the reference of this cap dies of.
fn refused_by_reference(
    claims: &ClaimFile<Claim>,
    predictions: &ClaimFile<Prediction>,
    cap: SentenceCap,
) -> Option<InputFault> {
    const HINT: &str = "the reference script stops here; correct it, or score without --compat";
    if cap == SentenceCap::ShortestRationale {
        let same = claims.lines.iter().map(|line| &line.id).eq(predictions.lines.iter().map(|line| &line.id));
        if !same {
            let what = "the claims or their order are not those of the gold";
            return Some(InputFault::new(&predictions.path, what).hint(HINT));
        }
    }
    let gold = claims.by_claim();
    predictions.lines.iter().find_map(|line| {
        let what = match gold.get(&line.id) {
            None => "there is no such claim in the gold",
            Some(_) if line.value.undecided > 0 => "an abstract has the label NOT_ENOUGH_INFO",
            Some(claim) if has_shared_sentence(&claim.value, &line.value) => {
                "a predicted sentence is in two gold rationales of its abstract"
            }
            Some(_) => return None,
        };
        Some(predictions.fault(line, what).hint(HINT))
    })
}

fn has_shared_sentence(claim: &Claim, prediction: &Prediction) -> bool {
    prediction.evidence.iter().any(|(doc_id, predicted)| {
        let rationales = claim.evidence.get(doc_id).map_or(&[][..], |gold| &gold.rationales);
        let holding = |sentence: &u32| rationales.iter().filter(|rationale| rationale.contains(sentence)).count();
        predicted.sentences.iter().any(|sentence| holding(sentence) > 1)
    })
}

/// Why one claim scored as it did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// The claim.
    pub id: Id,
    /// Its text.
    pub claim: String,
    /// Whether the submission has a line for it.
    pub predicted: bool,
    /// The predicted abstracts, then the gold ones that were missed.
    pub abstracts: Vec<AbstractExplanation>,
    /// What the claim contributes.
    pub counts: Counts,
}

/// The score of one abstract.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AbstractExplanation {
    /// The abstract.
    pub doc_id: DocId,
    /// The gold label; `None` if the abstract is not relevant.
    pub gold: Option<Label>,
    /// The predicted label; `None` if it was not predicted.
    pub predicted: Option<Label>,
    /// The gold rationales.
    pub rationales: Vec<Vec<u32>>,
    /// How many of the predicted sentences count towards *rationalized*.
    pub sentences_counted: usize,
    /// The first rationale that is among them (position in `rationales`), whatever the label.
    pub matched: Option<usize>,
    /// Whether it counts as *label-only*.
    pub label_only: bool,
    /// Whether it counts as *rationalized*.
    pub rationalized: bool,
    /// The predicted sentences, in their order.
    pub sentences: Vec<SentenceExplanation>,
}

/// The score of one predicted sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SentenceExplanation {
    /// Its position in the abstract.
    pub sentence: u32,
    /// Counts as *selection*.
    pub selection: bool,
    /// Counts as *label*.
    pub label: bool,
    /// Sentences of its rationale that are not predicted (of the rationale that misses fewest); empty where it counts or
    /// is in no rationale.
    pub missing: Vec<u32>,
    /// True if it is in a gold rationale.
    pub in_rationale: bool,
    /// True if it is listed before; only the first one counts.
    pub repeated: bool,
}

/// Why the claim scored as it did with this prediction.
pub fn explain(claim: &ClaimLine<Claim>, prediction: Option<&Prediction>, cap: SentenceCap) -> Explanation {
    let gold = &claim.value.evidence;
    let predicted = prediction.into_iter().flat_map(|prediction| &prediction.evidence);
    let mut abstracts: Vec<_> =
        predicted.map(|(id, found)| explain_abstract(*id, gold.get(id), Some(found), cap)).collect();
    let is_missed = |id: &DocId| prediction.is_none_or(|prediction| !prediction.evidence.contains_key(id));
    let missed = gold.iter().filter(|(id, _)| is_missed(id));
    abstracts.extend(missed.map(|(id, evidence)| explain_abstract(*id, Some(evidence), None, cap)));
    Explanation {
        id: claim.id.clone(),
        claim: claim.value.text.clone(),
        predicted: prediction.is_some(),
        abstracts,
        counts: count_claim(&claim.value, prediction, cap),
    }
}

fn explain_abstract(
    doc_id: DocId,
    gold: Option<&Evidence>,
    predicted: Option<&PredictedAbstract>,
    cap: SentenceCap,
) -> AbstractExplanation {
    let sentences = predicted.map_or(&[][..], |predicted| &predicted.sentences);
    let rationales = gold.map_or(&[][..], |gold| &gold.rationales);
    let label = predicted.map(|predicted| predicted.label);
    let label_only = label.is_some() && label == gold.map(|gold| gold.label);
    let both = gold.zip(predicted);
    let matched = both.and_then(|(gold, predicted)| matched_rationale(gold, predicted, cap));
    let explain_sentence = |(at, sentence): (usize, &u32)| {
        let repeated = sentences[..at].contains(sentence);
        let within = || rationales.iter().filter(|rationale| rationale.contains(sentence));
        let missing = |rationale: &Vec<u32>| -> Vec<u32> {
            rationale.iter().copied().filter(|sentence| !sentences.contains(sentence)).collect()
        };
        let missing = within().map(missing).min_by_key(Vec::len);
        let selection = !repeated && missing.as_ref().is_some_and(Vec::is_empty);
        SentenceExplanation {
            sentence: *sentence,
            selection,
            label: selection && label_only,
            in_rationale: missing.is_some(),
            missing: missing.unwrap_or_default(),
            repeated,
        }
    };
    AbstractExplanation {
        doc_id,
        gold: gold.map(|gold| gold.label),
        predicted: label,
        rationales: rationales.to_vec(),
        sentences_counted: gold.map_or(3, |gold| cap.sentences(gold)).min(sentences.len()),
        matched,
        label_only,
        rationalized: label_only && matched.is_some(),
        sentences: sentences.iter().enumerate().map(explain_sentence).collect(),
    }
}

#[cfg(test)]
mod tests;
