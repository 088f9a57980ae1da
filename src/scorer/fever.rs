//! The five numbers of FEVER: strict score, label accuracy, and macro precision, recall and F1 of the evidence.
//!
//! All are 0..=1. Source: `fever-scorer`, `src/fever/scorer.py`, commit 4801615; J. Thorne et al., "The Fact
//! Extraction and VERification (FEVER) Shared Task", 2018. Only the first `max_evidence` predicted sentences count
//! (the shared task: 5); `None` means all.
//!
//! The worked example of the reference's README, with the gold apart as in a blind test set:
//!
//! ```
//! use scholareval::domain::Mode;
//! use scholareval::domain::fever::{Gold, Label, Prediction, Sentence};
//! use scholareval::scorer::fever::fever_score;
//!
//! # fn main() -> Result<(), scholareval::domain::fever::Raised> {
//! let gold = Gold::new(Label::Refutes, [vec![Sentence::new("page1", 1), Sentence::new("page2", 2)]]);
//! let first = Prediction::new(Label::Refutes, [("page1", 1)]); // lacks page2:2
//! let second = Prediction::new(Label::Refutes, [("page1", 1), ("page2", 2), ("page3", 3)]);
//!
//! let scores = fever_score([(&gold, &first), (&gold, &second)], Some(5), Mode::Default)?;
//! assert_eq!(scores.strict_score, 0.5);
//! assert_eq!(scores.label_accuracy, 1.0);
//! assert!((scores.precision - 0.833).abs() < 0.001); // (1 + 2/3) / 2
//! assert_eq!(scores.recall, 0.5); // (0 + 1) / 2
//! assert_eq!(scores.f1, 0.625); // 2 * 5/6 * 1/2 / (5/6 + 1/2)
//! # Ok(())
//! # }
//! ```

mod explain;
mod tally;

pub use explain::{Explanation, GroupExplained, SentenceExplained, explain};
pub use tally::{FeverScores, Tally};

use crate::domain::Mode;
use crate::domain::fever::{Form, Gold, PredictedSentence, Prediction, Raised, Sentence};

/// `max_evidence` of the shared task.
pub const SHARED_TASK_MAX_EVIDENCE: usize = 5;

/// How many predicted sentences of a claim stand in some evidence group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Share {
    /// Predicted sentences that stand in a group.
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
    /// The label is right and, for a verifiable claim, a whole group is predicted.
    pub strictly_correct: bool,
    /// Evidence precision; `None` for a claim that is not verifiable.
    pub precision: Option<Share>,
    /// Evidence recall, all or nothing; `None` for a claim that is not verifiable.
    pub recalled: Option<bool>,
}

/// True if the predicted label is the gold one, without case.
///
/// # Errors
/// [`Raised::Key`] or [`Raised::Attribute`] where there is no label.
pub fn is_correct_label(gold: &Gold<'_>, prediction: &Prediction<'_>) -> Result<bool, Raised> {
    prediction.label.as_ref().map(|label| *label == gold.label).map_err(|raised| *raised)
}

/// True if the label is right and, unless it is NOT ENOUGH INFO, one whole evidence group is predicted. Gold without
/// any group cannot be met; an empty group always is.
///
/// # Errors
/// [`Raised::Assertion`] for a predicted sentence that is not `[page, line]` (whether it counts or not), or for a
/// right label without `predicted_evidence`; otherwise as [`is_correct_label`].
pub fn is_strictly_correct(
    gold: &Gold<'_>,
    prediction: &Prediction<'_>,
    max_evidence: Option<usize>,
) -> Result<bool, Raised> {
    if prediction.evidence.iter().flatten().any(|predicted| predicted.form == Form::Bad) {
        return Err(Raised::Assertion);
    }
    if !is_correct_label(gold, prediction)? {
        return Ok(false);
    }
    if !gold.label.is_verifiable() {
        return Ok(true);
    }
    let counted = counted(prediction, max_evidence).ok_or(Raised::Assertion)?;
    Ok(gold.groups().any(|group| is_whole(group.0, counted)))
}

/// The share of predicted sentences that stand in any evidence group; `None` for a claim that is not verifiable. A
/// sentence predicted twice counts twice. Gold sentences without a line are no evidence.
///
/// # Errors
/// [`Raised::Key`] where a verifiable claim's prediction has no `predicted_evidence`.
pub fn macro_precision(
    gold: &Gold<'_>,
    prediction: &Prediction<'_>,
    max_evidence: Option<usize>,
) -> Result<Option<Share>, Raised> {
    if !gold.label.is_verifiable() {
        return Ok(None);
    }
    let counted = counted(prediction, max_evidence).ok_or(Raised::Key)?;
    let is_hit = |predicted: &&PredictedSentence<'_>| {
        let wanted = |sentence: &Sentence<'_>| sentence.line.is_some() && is_same(predicted, sentence);
        gold.sentences().iter().any(wanted)
    };
    let hits = counted.iter().filter(is_hit).count();
    Ok(Some(Share { hits: number(hits), predicted: number(counted.len()) }))
}

/// True if one whole evidence group is predicted, or if the gold has none; `None` for a claim that is not verifiable.
///
/// # Errors
/// As [`macro_precision`].
pub fn macro_recall(
    gold: &Gold<'_>,
    prediction: &Prediction<'_>,
    max_evidence: Option<usize>,
) -> Result<Option<bool>, Raised> {
    if !gold.label.is_verifiable() {
        return Ok(None);
    }
    if gold.groups().len() == 0 {
        return Ok(Some(true));
    }
    let counted = counted(prediction, max_evidence).ok_or(Raised::Key)?;
    Ok(Some(gold.groups().any(|group| is_whole(group.0, counted))))
}

/// All that one claim adds, in the order in which the reference looks at it.
///
/// # Errors
/// The exception that would end the reference: [`Raised::Assertion`] without `predicted_evidence`, and for a malformed
/// sentence where the label is right; otherwise as [`is_correct_label`].
pub fn score_instance(
    gold: &Gold<'_>,
    prediction: &Prediction<'_>,
    max_evidence: Option<usize>,
) -> Result<InstanceScore, Raised> {
    if prediction.evidence.is_none() {
        return Err(Raised::Assertion);
    }
    let label_correct = is_correct_label(gold, prediction)?;
    Ok(InstanceScore {
        label_correct,
        strictly_correct: label_correct && is_strictly_correct(gold, prediction, max_evidence)?,
        precision: macro_precision(gold, prediction, max_evidence)?,
        recalled: macro_recall(gold, prediction, max_evidence)?,
    })
}

/// The five numbers over all claims.
///
/// # Errors
/// As [`score_instance`] and [`Tally::scores`].
pub fn fever_score<'i>(
    instances: impl IntoIterator<Item = (&'i Gold<'i>, &'i Prediction<'i>)>,
    max_evidence: Option<usize>,
    mode: Mode,
) -> Result<FeverScores, Raised> {
    let mut tally = Tally::default();
    for (gold, prediction) in instances {
        tally.add(score_instance(gold, prediction, max_evidence)?);
    }
    tally.scores(mode)
}

/// The predicted sentences that count; `None` where the field is missing.
fn counted<'p, 'a>(prediction: &'p Prediction<'a>, max_evidence: Option<usize>) -> Option<&'p [PredictedSentence<'a>]> {
    let all = prediction.evidence.as_deref()?;
    Some(&all[..max_evidence.map_or(all.len(), |most| most.min(all.len()))])
}

fn is_whole(group: &[Sentence<'_>], counted: &[PredictedSentence<'_>]) -> bool {
    group.iter().all(|wanted| counted.iter().any(|predicted| is_same(predicted, wanted)))
}

fn is_same(predicted: &PredictedSentence<'_>, wanted: &Sentence<'_>) -> bool {
    // Lines differ more often than pages, and are compared faster.
    predicted.sentence.as_ref().is_some_and(|sentence| sentence.line == wanted.line && sentence.page == wanted.page)
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
