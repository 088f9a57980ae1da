//! The scores of the third module: label prediction.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use super::modules::{nothing_predicted, same_order, unpredicted};
use crate::domain::Mode;
use crate::domain::scifact::{Claim, DocId, Label, LabelPrediction, Oddity, Raised};

/// Precision, recall and F1 of one label, each 0..=1; 0 where the divisor is 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ClassScores {
    /// The label.
    pub label: Label,
    /// Rightly predicted / predicted.
    pub precision: f64,
    /// Rightly predicted / true.
    pub recall: f64,
    /// 2 rightly predicted / (predicted + true).
    pub f1: f64,
}

/// How well labels were predicted. The items are the labelled abstracts of all claims.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelScores {
    /// For each claim with labelled abstracts its confusion counts: `[3 * true + predicted]`, labels in the order of
    /// [`Label::ALL`], and then `[right, all]` of the accuracy with gold inputs.
    pub claims: Vec<[f64; 11]>,
    /// Whether there is an accuracy with gold inputs; in compat not where a claim has gold abstracts with two labels.
    pub gold_input: Result<(), Raised>,
    /// Claims of the gold without a line; they count nowhere.
    pub claims_unpredicted: usize,
    /// Lines whose claim is not in the gold; they count nowhere.
    pub predictions_unknown: usize,
}

impl LabelScores {
    /// Labelled abstracts by true label (first index) and predicted label, in the order of [`Label::ALL`].
    pub fn confusion(&self) -> [[u64; 3]; 3] {
        let sums = self.sums();
        std::array::from_fn(|row| std::array::from_fn(|column| sums[3 * row + column] as u64))
    }

    /// The summed counts of `claims`.
    pub fn sums(&self) -> [f64; 11] {
        self.claims.iter().fold([0.0; 11], |mut sums, counts| {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            sums
        })
    }

    /// Rightly labelled / labelled abstracts, 0..=1; `None` if nothing is labelled.
    pub fn accuracy(&self) -> Option<f64> {
        self.labelled().then(|| Self::summary(&self.sums())[0])
    }

    /// Mean F1 over the labels that occur, true or predicted, 0..=1; `None` if nothing is labelled.
    pub fn macro_f1(&self) -> Option<f64> {
        self.labelled().then(|| Self::summary(&self.sums())[1])
    }

    /// Mean F1 of `CONTRADICT` and `SUPPORT`, 0 for one that does not occur, 0..=1; `None` if nothing is labelled.
    pub fn macro_f1_without_nei(&self) -> Option<f64> {
        self.labelled().then(|| Self::summary(&self.sums())[2])
    }

    /// Share of the labelled abstracts with the claim's one gold label, 0..=1 (`label_accuracy_gold_inputs.py`): what the
    /// classifier reaches where its input is the gold's. `None` if nothing is labelled or the reference raises.
    pub fn gold_input_accuracy(&self) -> Option<f64> {
        let sums = self.sums();
        (self.gold_input.is_ok() && sums[10] > 0.0).then(|| sums[9] / sums[10])
    }

    /// The scores of each label that occurs, in the order of [`Label::ALL`].
    pub fn classes(&self) -> Vec<ClassScores> {
        let sums = self.sums();
        let occurring = Label::ALL.into_iter().enumerate().filter(|(i, _)| occurs(&sums, *i));
        occurring.map(|(i, label)| class_scores(&sums, i, label)).collect()
    }

    /// Accuracy, macro F1, macro F1 without NEI and gold-input accuracy of summed counts; 0 where undefined.
    pub fn summary(sums: &[f64; 11]) -> [f64; 4] {
        let total: f64 = sums[..9].iter().sum();
        let f1: [f64; 3] = std::array::from_fn(|i| class_scores(sums, i, Label::ALL[i]).f1);
        let present = (0..3).filter(|i| occurs(sums, *i)).count() as f64;
        [
            safe(sums[0] + sums[4] + sums[8], total),
            safe(f1.iter().sum(), present),
            (f1[0] + f1[2]) / 2.0,
            safe(sums[9], sums[10]),
        ]
    }

    fn labelled(&self) -> bool {
        self.sums()[..9].iter().sum::<f64>() > 0.0
    }
}

fn safe(part: f64, whole: f64) -> f64 {
    if whole == 0.0 { 0.0 } else { part / whole }
}

fn true_and_predicted(sums: &[f64; 11], i: usize) -> (f64, f64) {
    ((0..3).map(|j| sums[3 * i + j]).sum(), (0..3).map(|j| sums[3 * j + i]).sum())
}

fn occurs(sums: &[f64; 11], i: usize) -> bool {
    let (truly, predicted) = true_and_predicted(sums, i);
    truly + predicted > 0.0
}

fn class_scores(sums: &[f64; 11], i: usize, label: Label) -> ClassScores {
    let (truly, predicted) = true_and_predicted(sums, i);
    let right = sums[4 * i];
    ClassScores {
        label,
        precision: safe(right, predicted),
        recall: safe(right, truly),
        f1: safe(2.0 * right, truly + predicted),
    }
}

/// Scores predicted labels (`verisci/evaluate/label_prediction.py`): an abstract that is no gold evidence is truly
/// `NOT_ENOUGH_INFO`. Abstracts for which `keep` is false are left out (not of the gold-input accuracy).
///
/// # Errors
/// Only in compat: `AssertionError` where the lines are not in the order of the gold, `KeyError` for an unknown label,
/// `ZeroDivisionError` if nothing is labelled. The reference compares line by line until the shorter file ends.
pub fn score_labels(
    claims: &[Claim],
    predictions: &[LabelPrediction],
    keep: impl Fn(DocId) -> bool,
    mode: Mode,
) -> Result<LabelScores, Raised> {
    let known: HashSet<_> = claims.iter().map(|claim| &claim.id).collect();
    let by_claim: HashMap<_, _> = predictions.iter().map(|line| (&line.claim_id, line)).collect();
    let pairs: Vec<(&Claim, &LabelPrediction)> = match mode {
        Mode::Default => claims.iter().filter_map(|c| by_claim.get(&c.id).map(|line| (c, *line))).collect(),
        Mode::Compat => {
            same_order(claims, predictions.iter().map(|line| &line.claim_id))?;
            claims.iter().zip(predictions).collect()
        }
    };
    if mode == Mode::Compat {
        let unknown = pairs.iter().find(|(_, line)| line.oddity == Some(Oddity::UnknownLabel));
        if let Some((claim, _)) = unknown {
            return Err(Raised { exception: "KeyError", at: format!("prediction {}: unknown label", claim.id) });
        }
        if !pairs.iter().any(|(_, line)| line.labels.iter().any(|(doc_id, _)| keep(*doc_id))) {
            return Err(nothing_predicted());
        }
    }
    Ok(LabelScores {
        claims: pairs.iter().map(|(claim, line)| label_counts(claim, line, &keep)).collect(),
        gold_input: if mode == Mode::Compat { one_label_a_claim(&pairs) } else { Ok(()) },
        claims_unpredicted: unpredicted(claims, predictions.iter().map(|line| &line.claim_id)),
        predictions_unknown: predictions.iter().filter(|line| !known.contains(&line.claim_id)).count(),
    })
}

fn one_label_a_claim(pairs: &[(&Claim, &LabelPrediction)]) -> Result<(), Raised> {
    let two = pairs.iter().find(|(claim, _)| claim_label(claim).is_none());
    two.map_or(Ok(()), |(claim, _)| {
        Err(Raised { exception: "AssertionError", at: format!("gold claim {}: abstracts with two labels", claim.id) })
    })
}

/// The one label of all its abstracts, `NOT_ENOUGH_INFO` if it has none; `None` if they differ.
fn claim_label(claim: &Claim) -> Option<Label> {
    let Some(first) = claim.groups().first() else { return Some(Label::NotEnoughInfo) };
    claim.groups().iter().all(|group| group.label == first.label).then_some(first.label)
}

fn label_counts(claim: &Claim, line: &LabelPrediction, keep: &impl Fn(DocId) -> bool) -> [f64; 11] {
    let mut counts = [0.0; 11];
    let of_claim = claim_label(claim);
    for (doc_id, predicted) in &line.labels {
        let own = claim.groups().iter().find(|group| group.doc_id == *doc_id).map(|group| group.label);
        if keep(*doc_id) {
            counts[3 * (own.unwrap_or(Label::NotEnoughInfo) as usize) + *predicted as usize] += 1.0;
        }
        // A claim with two labels (only in default mode) is asked for the abstract's own label, where it has one.
        if let Some(gold) = of_claim.or(own) {
            counts[9] += f64::from(u8::from(*predicted == gold));
            counts[10] += 1.0;
        }
    }
    counts
}
