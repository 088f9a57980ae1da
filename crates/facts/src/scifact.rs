//! SciFact: abstract-level and sentence-level scores of a submission, with explanations.
//!
//! Formulas: D. Wadden et al., "Fact or Fiction: Verifying Scientific Claims", EMNLP 2020, section 4, and
//! `doc/evaluation.md` of `allenai/scifact`. Compat gives the numbers of `verisci/evaluate` at commit 68b98a5 and, with
//! [`SentenceCap::ShortestRationale`], of the leaderboard's `allenai/scifact-evaluator`; where those scripts fail, it
//! is an input error.
//!
//! The worked example of the guidelines. The gold has the rationales {0, 1} and {11} in abstract 11 and {4} in abstract
//! 15; predicted are sentences 1, 11, 13 of abstract 11 and 18, 20 of abstract 16:
//!
//! ```
//! use scholareval_core::domain::Mode;
//! use scholareval_facts::claims::ClaimFile;
//! use scholareval_facts::scifact::{ClaimPrediction, GoldClaim, SentenceCap, measures, score, sums};
//!
//! # fn main() -> scholareval_core::Result<()> {
//! let gold = concat!(
//!     r#"{"id": 52, "claim": "c", "evidence": {"15": [{"sentences": [4], "label": "SUPPORT"}], "11": ["#,
//!     r#"{"sentences": [0, 1], "label": "SUPPORT"}, {"sentences": [11], "label": "SUPPORT"}]}}"#
//! );
//! let predicted = concat!(
//!     r#"{"id": 52, "evidence": {"11": {"sentences": [1, 11, 13], "label": "SUPPORT"}, "#,
//!     r#""16": {"sentences": [18, 20], "label": "REFUTES"}}}"#
//! );
//! let claims = ClaimFile::<GoldClaim>::parse(gold.as_bytes(), "gold.jsonl".as_ref(), Mode::Default)?;
//! let predictions = ClaimFile::<ClaimPrediction>::parse(predicted.as_bytes(), "mine.jsonl".as_ref(), Mode::Default)?;
//!
//! let counts = score(&claims, &predictions, SentenceCap::Three, Mode::Default)?;
//! let [_, rationalized, _, label] = measures(&sums(&counts));
//! assert_eq!((rationalized.precision, rationalized.recall, rationalized.f1), (1.0 / 2.0, 1.0 / 2.0, 1.0 / 2.0));
//! assert_eq!((label.precision, label.recall), (1.0 / 5.0, 1.0 / 4.0));
//! assert!((label.f1 - 2.0 / 9.0).abs() < 1e-15);
//! # Ok(())
//! # }
//! ```

use std::collections::{BTreeMap, HashSet};

use rayon::prelude::*;

pub use super::claims::DocId;
use super::claims::{ClaimFile, LineFault};
use super::leaderboard::CountedPart;
use scholareval_core::domain::Mode;
use scholareval_core::error::{Error, InputFault, Result};
use scholareval_core::named_enum;
use scholareval_core::text::names::suggest;
use scholareval_stats::Prf;

/// The value of an abstract; with `by_number`, `03` and `3` are the same one.
pub(super) fn of_document<'a, V>(
    values: &'a BTreeMap<DocId, V>,
    doc_id: &DocId,
    by_number: bool,
) -> Option<&'a V> {
    let mut all = values.iter();
    let entry =
        all.find(|(id, _)| *id == doc_id || by_number && id.python_int() == doc_id.python_int());
    entry.map(|(_, value)| value)
}

/// An abstract that occurs twice if identifiers are compared as numbers.
fn repeated_number<V>(values: &BTreeMap<DocId, V>) -> Option<&DocId> {
    let mut seen = HashSet::new();
    values
        .keys()
        .find(|doc_id| !seen.insert(doc_id.python_int()))
}

named_enum! {
    /// Relation of an abstract to a claim, in the order of the reference's confusion matrix.
    pub enum EvidenceLabel {
        /// The abstract contradicts it.
        Contradict = "CONTRADICT",
        /// The abstract does not decide it.
        NotEnoughInfo = "NOT_ENOUGH_INFO",
        /// The abstract supports it.
        Support = "SUPPORT",
    }
}

impl EvidenceLabel {
    /// Parses a label. FEVER's `SUPPORTS` and `REFUTES` are aliases, which compat does not accept.
    pub(super) fn read(doc_id: &DocId, name: &str, mode: Mode) -> Result<Self, LineFault> {
        let label = match (name, mode) {
            // Many systems are trained on FEVER and write its labels.
            ("SUPPORTS", Mode::Default) => Some(Self::Support),
            ("REFUTES", Mode::Default) => Some(Self::Contradict),
            _ => Self::from_name(name),
        };
        label.ok_or_else(|| {
            let what = format!("abstract {doc_id}: unknown label {name:?}");
            (what, suggest(name, Self::ALL.map(Self::name)))
        })
    }
}

/// Gold evidence of one abstract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// The relation of the abstract to the claim.
    pub label: EvidenceLabel,
    /// Sets of sentences (0-based positions), each of which verifies the claim alone.
    pub rationales: Vec<Vec<u32>>,
}

/// A claim with its gold evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoldClaim {
    /// The sentence; empty if the file has none.
    pub text: String,
    /// By abstract; empty if none decides the claim.
    pub evidence: BTreeMap<DocId, Evidence>,
}

impl GoldClaim {
    /// Number of sentences in its rationales; one in two rationales counts twice.
    pub(super) fn rationale_sentences(&self) -> usize {
        let rationales = self.evidence.values().flat_map(|gold| &gold.rationales);
        rationales.map(Vec::len).sum()
    }
}

/// One abstract of a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PredictedAbstract {
    /// The predicted label.
    pub label: EvidenceLabel,
    /// The predicted rationale sentences, best first.
    pub sentences: Vec<u32>,
}

/// A submission's prediction for one claim.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClaimPrediction {
    /// By abstract; may be empty.
    pub evidence: BTreeMap<DocId, PredictedAbstract>,
    /// Number of abstracts left out because their label is `NOT_ENOUGH_INFO`.
    pub undecided: usize,
}

/// Maximum number of predicted sentences of an abstract that count towards *rationalized*.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum SentenceCap {
    /// The first 3, as in the paper's scripts
    #[default]
    #[value(name = "3")]
    Three,
    /// The first max(3, length of the abstract's shortest rationale), as on the leaderboard
    ShortestRationale,
}

impl SentenceCap {
    /// Whether the reference with this cap compares abstracts by Python's `int` of their identifiers: the leaderboard's
    /// compares texts.
    pub(super) fn compares_numbers(self, mode: Mode) -> bool {
        mode == Mode::Compat && self == Self::Three
    }

    /// Maximum number of sentences for this abstract, at least 3.
    pub fn sentences(self, gold: &Evidence) -> usize {
        let lengths = gold
            .rationales
            .iter()
            .map(|rationale| rationale.iter().collect::<HashSet<_>>().len());
        match self {
            Self::Three => 3,
            // Otherwise an abstract whose shortest rationale has four sentences could never be
            // rationalized.
            Self::ShortestRationale => lengths.min().unwrap_or(0).max(3),
        }
    }
}

/// Counts of one claim, or summed over claims, in the order of [`COUNTS`].
pub type Counts = [f64; 8];

/// Names of the [`Counts`]: abstracts with gold evidence; predicted abstracts; those that are relevant and have the
/// right label; those whose first sentences also contain a whole gold rationale; sentences of gold rationales (one in
/// two rationales counts twice, as in the reference); predicted sentences (with repetitions); distinct predicted
/// sentences of gold rationales predicted as a whole; those in abstracts with the right label.
pub const COUNTS: [&str; 8] = [
    "abstracts_relevant",
    "abstracts_retrieved",
    "abstracts_label_only",
    "abstracts_rationalized",
    "sentences_relevant",
    "sentences_retrieved",
    "sentences_selection",
    "sentences_label",
];

/// Counts summed over claims.
pub fn sums<const C: usize>(counts: &[[f64; C]]) -> [f64; C] {
    std::array::from_fn(|at| counts.iter().map(|counts| counts[at]).sum())
}

/// Names of the four measures of a submission: relevant abstracts with the right label; those with a whole gold
/// rationale among the first sentences; sentences of gold rationales predicted as a whole, whatever the label; those in
/// an abstract with the right label.
pub const MEASURES: [&str; 4] = [
    "abstract_label_only",
    "abstract_rationalized",
    "sentence_selection",
    "sentence_label",
];

/// The four [`MEASURES`] of summed counts.
pub fn measures(counts: &Counts) -> [Prf; 4] {
    let [
        relevant,
        retrieved,
        label_only,
        rationalized,
        in_gold,
        predicted,
        selection,
        label,
    ] = *counts;
    [
        Prf::of(label_only, retrieved, relevant),
        Prf::of(rationalized, retrieved, relevant),
        Prf::of(selection, predicted, in_gold),
        Prf::of(label, predicted, in_gold),
    ]
}

/// Counts of one claim. Without a prediction its relevant items still count in recall.
pub fn count_claim(
    claim: &GoldClaim,
    prediction: Option<&ClaimPrediction>,
    cap: SentenceCap,
    mode: Mode,
) -> Counts {
    let by_number = cap.compares_numbers(mode);
    let relevant = claim.evidence.len();
    // Counted by rationale, as in the reference: a sentence of two rationales counts twice, and
    // recall can stay below 1.
    let in_gold = claim.rationale_sentences();
    let [
        mut retrieved,
        mut label_only,
        mut rationalized,
        mut predicted,
        mut selection,
        mut label,
    ] = [0; 6];
    for (doc_id, predicted_abstract) in prediction
        .into_iter()
        .flat_map(|prediction| &prediction.evidence)
    {
        retrieved += 1;
        // Also those of an abstract without gold evidence: a system that predicts everything must
        // lose precision.
        predicted += predicted_abstract.sentences.len();
        let Some(gold) = of_document(&claim.evidence, doc_id, by_number) else {
            continue;
        };
        // The label does not matter for *selection*, only for the counts in the next block.
        let credited = credited_sentences(gold, predicted_abstract);
        selection += credited;
        if predicted_abstract.label == gold.label {
            label += credited;
            label_only += 1;
            rationalized += usize::from(matched_rationale(gold, predicted_abstract, cap).is_some());
        }
    }
    [
        relevant,
        retrieved,
        label_only,
        rationalized,
        in_gold,
        predicted,
        selection,
        label,
    ]
    .map(|count| count as f64)
}

/// The first gold rationale contained in the abstract's first predicted sentences.
fn matched_rationale<'a>(
    gold: &'a Evidence,
    predicted: &PredictedAbstract,
    cap: SentenceCap,
) -> Option<&'a Vec<u32>> {
    let first = &predicted.sentences[..cap.sentences(gold).min(predicted.sentences.len())];
    gold.rationales
        .iter()
        .find(|rationale| is_whole(rationale, first))
}

/// Number of predicted sentences in a gold rationale that is predicted as a whole.
fn credited_sentences(gold: &Evidence, predicted: &PredictedAbstract) -> usize {
    let whole = gold
        .rationales
        .iter()
        .filter(|rationale| is_whole(rationale, &predicted.sentences));
    whole.flatten().collect::<HashSet<_>>().len()
}

/// Whether all sentences of the rationale are predicted.
pub(super) fn is_whole(rationale: &[u32], predicted: &[u32]) -> bool {
    rationale
        .iter()
        .all(|sentence| predicted.contains(sentence))
}

/// Counts of each claim. By default both files may be in any order and every gold claim counts; in compat only those
/// with a prediction, in the order of the predictions.
///
/// # Errors
/// Only in compat: the first input that the reference rejects.
pub fn score(
    claims: &ClaimFile<GoldClaim>,
    predictions: &ClaimFile<ClaimPrediction>,
    cap: SentenceCap,
    mode: Mode,
) -> Result<Vec<Counts>> {
    if mode == Mode::Default {
        let predicted = predictions.by_claim();
        let counts = claims.lines.par_iter().map(|claim| {
            let line = predicted.get(&claim.id);
            count_claim(&claim.value, line.map(|line| &line.value), cap, mode)
        });
        return Ok(counts.collect());
    }
    // The leaderboard's script walks both files line by line; the paper's looks claims up.
    if let Some(fault) = predictions
        .out_of_order(claims)
        .filter(|_| cap == SentenceCap::ShortestRationale)
    {
        return Err(refused(fault));
    }
    // The reference iterates over predictions: a claim without one is ignored and a claim with two counts twice.
    let gold = claims.by_claim();
    let mut counts = Vec::new();
    for line in &predictions.lines {
        let Some(claim) = gold.get(&line.id) else {
            let what = "there is no such claim in the gold";
            return Err(refused(predictions.fault(line, what)));
        };
        // Its label type has no such member.
        if line.value.undecided > 0 {
            let what = "an abstract has the label NOT_ENOUGH_INFO";
            return Err(refused(predictions.fault(line, what)));
        }
        let by_number = cap.compares_numbers(mode);
        if by_number && let Some(doc_id) = repeated_number(&line.value.evidence) {
            return Err(refused(
                predictions.fault(line, format!("abstract {doc_id} occurs twice")),
            ));
        }
        if has_shared_sentence(&claim.value, &line.value, by_number) {
            let what = "a predicted sentence is in two gold rationales of its abstract";
            return Err(refused(predictions.fault(line, what)));
        }
        counts.push(count_claim(&claim.value, Some(&line.value), cap, mode));
    }
    Ok(counts)
}

/// The error for input at which a reference script fails.
pub(super) fn refused(fault: InputFault) -> Error {
    fault.refuse("the reference script stops here; correct it, or score without --compat")
}

fn has_shared_sentence(claim: &GoldClaim, prediction: &ClaimPrediction, by_number: bool) -> bool {
    for (doc_id, predicted) in &prediction.evidence {
        let Some(gold) = of_document(&claim.evidence, doc_id, by_number) else {
            continue;
        };
        for sentence in &predicted.sentences {
            let mut holding = gold
                .rationales
                .iter()
                .filter(|rationale| rationale.contains(sentence));
            if holding.nth(1).is_some() {
                return true;
            }
        }
    }
    false
}

/// Explains the claim's score with this prediction: the predicted abstracts, the missed gold ones, counts.
pub(super) fn explain(
    claim: &GoldClaim,
    prediction: Option<&ClaimPrediction>,
    cap: SentenceCap,
    mode: Mode,
) -> Vec<CountedPart> {
    let by_number = cap.compares_numbers(mode);
    let mut findings = Vec::new();
    if prediction.is_none() {
        findings.push(CountedPart::new("prediction", "none"));
    }
    let nothing = ClaimPrediction::default();
    let predicted = &prediction.unwrap_or(&nothing).evidence;
    for (doc_id, predicted_abstract) in predicted {
        let gold = of_document(&claim.evidence, doc_id, by_number);
        findings.push(CountedPart::new(
            format!("abstract {doc_id}"),
            explain_abstract(gold, predicted_abstract, cap),
        ));
        let sentences = predicted_abstract.sentences.iter().enumerate();
        findings.extend(sentences.map(|(at, sentence)| {
            CountedPart::new(
                format!("sentence {sentence}"),
                explain_sentence(gold, predicted_abstract, at),
            )
        }));
    }
    for (doc_id, gold) in claim
        .evidence
        .iter()
        .filter(|(doc_id, _)| of_document(predicted, doc_id, by_number).is_none())
    {
        let missed = format!(
            "missed; gold {}, rationales {}",
            gold.label,
            gold.rationale_list()
        );
        findings.push(CountedPart::new(format!("abstract {doc_id}"), missed));
    }
    let [
        relevant,
        retrieved,
        label_only,
        rationalized,
        in_gold,
        sentences,
        selection,
        label,
    ] = count_claim(claim, prediction, cap, mode);
    let abstracts = format!(
        "{relevant} relevant, {retrieved} predicted, {label_only} label-only, {rationalized} rationalized"
    );
    findings.push(CountedPart::new("abstracts", abstracts));
    let sentences =
        format!("{in_gold} relevant, {sentences} predicted, {selection} selection, {label} label");
    findings.push(CountedPart::new("sentences", sentences));
    findings
}

impl Evidence {
    fn rationale_list(&self) -> String {
        self.rationales
            .iter()
            .map(|rationale| format!("{rationale:?}"))
            .collect::<Vec<_>>()
            .join(" ")
    }
}

fn explain_abstract(
    gold: Option<&Evidence>,
    predicted: &PredictedAbstract,
    cap: SentenceCap,
) -> String {
    let label = predicted.label;
    let Some(gold) = gold else {
        return format!("{label} predicted, but it is not evidence for this claim");
    };
    let first = cap.sentences(gold).min(predicted.sentences.len());
    match (label == gold.label, matched_rationale(gold, predicted, cap)) {
        (true, Some(matched)) => {
            format!(
                "{label} is right; rationalized: rationale {matched:?} is within its first {first}"
            )
        }
        (true, None) => {
            let rationales = gold.rationale_list();
            format!(
                "{label} is right; not rationalized: none of the rationales {rationales} is within its first {first}"
            )
        }
        (false, _) => format!("{label} is wrong, gold {}", gold.label),
    }
}

fn explain_sentence(gold: Option<&Evidence>, predicted: &PredictedAbstract, at: usize) -> String {
    let Some(gold) = gold else {
        return "the abstract is not relevant".to_owned();
    };
    let (before, sentence) = (&predicted.sentences[..at], &predicted.sentences[at]);
    let within = gold
        .rationales
        .iter()
        .filter(|rationale| rationale.contains(sentence));
    let missing = within.map(|rationale| {
        let missing = rationale
            .iter()
            .filter(|partner| !predicted.sentences.contains(partner));
        missing.map(ToString::to_string).collect::<Vec<_>>()
    });
    match missing.min_by_key(Vec::len) {
        None => "in no rationale".to_owned(),
        Some(missing) if !missing.is_empty() => {
            format!("missing from its rationale: {}", missing.join(", "))
        }
        Some(_) if before.contains(sentence) => {
            "listed before; counts in precision only".to_owned()
        }
        Some(_) if predicted.label == gold.label => "counts".to_owned(),
        Some(_) => "counts for selection; not for label, which is wrong".to_owned(),
    }
}

#[cfg(test)]
mod tests;
