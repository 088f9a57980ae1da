//! Scores SciFact's three modules from one file each: retrieved abstracts, selected sentences, predicted labels.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::claims::{ByAbstract, ByDocument, ClaimFile, ClaimLine, EntryId, FromLine, LineFault};
use super::scifact::{DocId, EvidenceLabel, GoldClaim, is_whole, of_document, refused};
use scholareval_core::domain::Mode;
use scholareval_core::error::{InputFault, Result};
use scholareval_stats::{Prf, ratio};

/// Retrieved abstracts of a claim. An id in quotes matches nothing, as in the reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retrieved(pub Vec<EntryId>);

/// Selected rationale sentences of a claim, by abstract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rationales(pub BTreeMap<DocId, Vec<u32>>);

/// Predicted labels of a claim, by abstract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PredictedLabels(pub BTreeMap<DocId, EvidenceLabel>);

impl FromLine for Retrieved {
    type Line = ByAbstract<Vec<EntryId>>;
    const EXAMPLE: &str = "{\"claim_id\": 52, \"doc_ids\": [11, 15]}";

    fn from_line(line: Self::Line, _: Mode) -> (EntryId, Result<Self, Vec<LineFault>>) {
        (line.id, Ok(Self(line.evidence)))
    }
}

impl FromLine for Rationales {
    type Line = ByAbstract<ByDocument<Vec<u32>>>;
    const EXAMPLE: &str = "{\"claim_id\": 52, \"evidence\": {\"11\": [1, 11]}}";

    fn from_line(line: Self::Line, _: Mode) -> (EntryId, Result<Self, Vec<LineFault>>) {
        (line.id, Ok(Self(line.evidence.0)))
    }
}

/// A predicted label; the confidence is ignored.
#[derive(Debug, Deserialize)]
pub struct RawLabel {
    label: String,
}

impl FromLine for PredictedLabels {
    type Line = ByAbstract<ByDocument<RawLabel>>;
    const EXAMPLE: &str = "{\"claim_id\": 52, \"labels\": {\"11\": {\"label\": \"SUPPORT\"}}}";

    fn from_line(line: Self::Line, mode: Mode) -> (EntryId, Result<Self, Vec<LineFault>>) {
        let read = |(doc_id, raw): (DocId, RawLabel)| {
            let label = EvidenceLabel::read(&doc_id, &raw.label, mode)?;
            Ok((doc_id, label))
        };
        let labels: Result<_, LineFault> = line.evidence.0.into_iter().map(read).collect();
        (line.id, labels.map(Self).map_err(|fault| vec![fault]))
    }
}

/// Every gold claim, with its line if it has one. In compat line by line until the shorter file ends, as in
/// `rationale_selection.py` and `label_prediction.py`.
fn paired<'a, T>(
    claims: &'a ClaimFile<GoldClaim>,
    predictions: &'a ClaimFile<T>,
    mode: Mode,
) -> Result<Vec<(&'a GoldClaim, Option<&'a T>)>> {
    let by_claim = predictions.by_claim();
    let pair =
        |(at, claim): (usize, &'a ClaimLine<GoldClaim>)| match (mode, predictions.lines.get(at)) {
            (Mode::Default, _) => Ok((
                &claim.value,
                by_claim.get(&claim.id).map(|line| &line.value),
            )),
            (Mode::Compat, Some(line)) if line.id != claim.id => Err(refused(predictions.fault(
                line,
                format!("the gold has claim {} in its place", claim.id),
            ))),
            (Mode::Compat, line) => Ok((&claim.value, line.map(|line| &line.value))),
        };
    let claims = claims.lines.iter().enumerate();
    claims
        .take_while(|(at, _)| mode == Mode::Default || *at < predictions.lines.len())
        .map(pair)
        .collect()
}

/// `[hit one, hit all, 1]` of each claim: whether at least one of its abstracts is retrieved (or it has none), and
/// whether all are (`verisci/evaluate/abstract_retrieval.py`). The reference counts predictions, not gold claims.
///
/// # Errors
/// Only in compat, where the reference fails: an unknown claim, an empty file.
pub fn score_retrieval(
    claims: &ClaimFile<GoldClaim>,
    predictions: &ClaimFile<Retrieved>,
    mode: Mode,
) -> Result<Vec<[f64; 3]>> {
    if mode == Mode::Default {
        let pairs = paired(claims, predictions, mode)?;
        return Ok(pairs
            .into_iter()
            .map(|(claim, line)| hits(claim, line, mode))
            .collect());
    }
    if predictions.lines.is_empty() {
        return Err(refused(InputFault::new(
            &predictions.path,
            "there are no predictions",
        )));
    }
    let by_claim = claims.by_claim();
    let mut hits_of_lines = Vec::new();
    for line in &predictions.lines {
        let Some(claim) = by_claim.get(&line.id) else {
            let what = "there is no such claim in the gold";
            return Err(refused(predictions.fault(line, what)));
        };
        hits_of_lines.push(hits(&claim.value, Some(&line.value), mode));
    }
    Ok(hits_of_lines)
}

fn hits(claim: &GoldClaim, line: Option<&Retrieved>, mode: Mode) -> [f64; 3] {
    // Also where the claim has no relevant abstract: nothing was submitted for it, not an empty
    // list.
    let Some(Retrieved(ids)) = line else {
        return [0.0, 0.0, 1.0];
    };
    let numbers = ids.iter().filter(|id| id.is_number());
    let retrieved: BTreeMap<DocId, ()> = numbers.map(|id| (id.clone(), ())).collect();
    let by_number = mode == Mode::Compat;
    let relevant_ids = claim.evidence.keys();
    let retrieved_relevant = relevant_ids
        .filter(|doc_id| of_document(&retrieved, doc_id, by_number).is_some())
        .count();
    let relevant = claim.evidence.len();
    // A claim without evidence is hit by any line, as in the reference.
    [
        retrieved_relevant > 0 || relevant == 0,
        retrieved_relevant == relevant,
        true,
    ]
    .map(|hit| f64::from(u8::from(hit)))
}

/// Hit one and hit all of summed counts of [`score_retrieval`], 0..=1.
pub fn retrieval_measures([hit_one, hit_all, claims]: &[f64; 3]) -> [f64; 2] {
    [ratio(*hit_one, *claims), ratio(*hit_all, *claims)]
}

/// `[correct, retrieved, relevant]` sentences of each claim (`verisci/evaluate/rationale_selection.py`): a sentence is
/// correct, each time it is listed, if it is in a gold rationale selected as a whole.
///
/// # Errors
/// Only in compat, if the claims are not in the order of the gold file.
pub fn score_rationales(
    claims: &ClaimFile<GoldClaim>,
    predictions: &ClaimFile<Rationales>,
    mode: Mode,
) -> Result<Vec<[f64; 3]>> {
    let pairs = paired(claims, predictions, mode)?;
    Ok(pairs
        .into_iter()
        .map(|(claim, line)| sentence_counts(claim, line, mode))
        .collect())
}

fn sentence_counts(claim: &GoldClaim, line: Option<&Rationales>, mode: Mode) -> [f64; 3] {
    let relevant = claim.rationale_sentences();
    let (mut correct, mut retrieved) = (0, 0);
    for (doc_id, sentences) in line.into_iter().flat_map(|line| &line.0) {
        let rationales = of_document(&claim.evidence, doc_id, mode == Mode::Compat)
            .map_or(&[][..], |gold| &gold.rationales);
        let is_correct = |sentence: &&u32| {
            let mut within = rationales
                .iter()
                .filter(|rationale| rationale.contains(sentence));
            match mode {
                Mode::Default => within.any(|rationale| is_whole(rationale, sentences)),
                // Of two rationales with the sentence the first decides.
                Mode::Compat => within
                    .next()
                    .is_some_and(|rationale| is_whole(rationale, sentences)),
            }
        };
        retrieved += sentences.len();
        correct += sentences.iter().filter(is_correct).count();
    }
    [correct, retrieved, relevant].map(|count| count as f64)
}

/// Precision, recall and F1 of summed counts of [`score_rationales`].
pub fn rationale_measures([correct, retrieved, relevant]: &[f64; 3]) -> [f64; 3] {
    Prf::of(*correct, *retrieved, *relevant).values()
}

/// Counts of predicted labels: confusion counts at `3 * true + predicted` in the order of [`EvidenceLabel::ALL`], then the
/// number of labels equal to the claim's gold label, and of labels compared with it.
pub type LabelCounts = [f64; 11];

/// Counts of each claim with a line (`verisci/evaluate/label_prediction.py`, `label_accuracy_gold_inputs.py`). An
/// abstract without gold evidence is `NOT_ENOUGH_INFO`. Abstracts for which `keep` is false are left out of the
/// confusion counts.
///
/// # Errors
/// Only in compat, where the reference fails: claims that are not in the order of the gold file, no label at all.
pub fn score_labels(
    claims: &ClaimFile<GoldClaim>,
    predictions: &ClaimFile<PredictedLabels>,
    keep: impl Fn(&DocId) -> bool,
    mode: Mode,
) -> Result<Vec<LabelCounts>> {
    let pairs = paired(claims, predictions, mode)?;
    // If a claim's abstracts differ in label, the reference has no accuracy with gold inputs at all.
    let has_gold_input =
        mode == Mode::Default || pairs.iter().all(|(claim, _)| claim_label(claim).is_some());
    let lines = pairs
        .into_iter()
        .filter_map(|(claim, line)| Some((claim, line?)));
    let counts: Vec<LabelCounts> = lines
        .map(|(claim, line)| label_counts(claim, line, &keep, has_gold_input, mode))
        .collect();
    if mode == Mode::Compat
        && counts
            .iter()
            .all(|counts| counts[..9].iter().sum::<f64>() == 0.0)
    {
        return Err(refused(InputFault::new(
            &predictions.path,
            "there are no predictions",
        )));
    }
    Ok(counts)
}

/// The one label of all its abstracts, `NOT_ENOUGH_INFO` if it has none; `None` if they differ.
fn claim_label(claim: &GoldClaim) -> Option<EvidenceLabel> {
    let mut labels = claim.evidence.values().map(|gold| gold.label);
    let first = labels.next().unwrap_or(EvidenceLabel::NotEnoughInfo);
    labels.all(|label| label == first).then_some(first)
}

fn label_counts(
    claim: &GoldClaim,
    line: &PredictedLabels,
    keep: impl Fn(&DocId) -> bool,
    has_gold_input: bool,
    mode: Mode,
) -> LabelCounts {
    let mut counts = [0.0; 11];
    for (doc_id, predicted) in &line.0 {
        let gold = of_document(&claim.evidence, doc_id, mode == Mode::Compat);
        let label = gold.map(|gold| gold.label);
        if keep(doc_id) {
            counts[3 * (label.unwrap_or(EvidenceLabel::NotEnoughInfo) as usize)
                + *predicted as usize] += 1.0;
        }
        if let Some(gold) = claim_label(claim).or(label).filter(|_| has_gold_input) {
            counts[9] += f64::from(u8::from(*predicted == gold));
            counts[10] += 1.0;
        }
    }
    counts
}

/// Precision, recall and F1 of one label, each 0..=1; 0 where the divisor is 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LabelScores {
    /// The label.
    pub label: EvidenceLabel,
    /// Correct / predicted.
    pub precision: f64,
    /// Correct / true.
    pub recall: f64,
    /// 2 correct / (predicted + true).
    pub f1: f64,
}

/// The scores of each true or predicted label, in the order of [`EvidenceLabel::ALL`].
pub fn scores_by_label(counts: &LabelCounts) -> Vec<LabelScores> {
    let mut scores = Vec::new();
    for label in EvidenceLabel::ALL {
        let i = label as usize;
        let truly: f64 = (0..3).map(|j| counts[3 * i + j]).sum();
        let predicted: f64 = (0..3).map(|j| counts[3 * j + i]).sum();
        if truly + predicted <= 0.0 {
            continue;
        }
        let right = counts[4 * i];
        scores.push(LabelScores {
            label,
            precision: ratio(right, predicted),
            recall: ratio(right, truly),
            f1: ratio(2.0 * right, truly + predicted),
        });
    }
    scores
}

/// From summed counts: accuracy; macro F1 over the labels that occur; mean F1 of `CONTRADICT` and `SUPPORT`, 0 for one
/// that does not occur; accuracy with gold inputs, the share of labels equal to the claim's gold label (if its
/// abstracts differ, that of the abstract). Each 0..=1; 0 if nothing is labeled.
pub fn label_measures(counts: &LabelCounts) -> [f64; 4] {
    let by_label = scores_by_label(counts);
    let decided = by_label
        .iter()
        .filter(|scores| scores.label != EvidenceLabel::NotEnoughInfo);
    [
        ratio(counts[0] + counts[4] + counts[8], counts[..9].iter().sum()),
        ratio(
            by_label.iter().map(|scores| scores.f1).sum(),
            by_label.len() as f64,
        ),
        decided.map(|scores| scores.f1).sum::<f64>() / 2.0,
        ratio(counts[9], counts[10]),
    ]
}
