//! Values of components from verdicts: what the scorers by rubrics, lists of criteria, reports and aspects share.
//!
//! Such a scorer [makes](ask_or_score) the calls that its verdicts still need. Once it has them all, it takes the
//! [reading] of each item and puts a [`ComponentValue`] into the component. A component without a value has the reason:
//! what the judge could not say never counts as 0 by accident.
//!
//! The rest differs, and is in the file of each scorer: which calls wait for the replies of others, what a verdict is worth, and
//! how values and weights become a score. The scorers add up in the orders of their references, which decide the last
//! digit.

use crate::{Step, Verdicts};
use scholareval_core::domain::{Reading, Score, UnscoredKind, UnscoredReason};
use scholareval_core::question::JudgeCall;

/// A component's value with the judge's feedback, or why it is missing.
pub(super) type ComponentValue = Result<(f64, Option<String>), UnscoredReason>;

/// The step that makes these calls; without any, the one that returns the score.
pub(super) fn ask_or_score(calls: Vec<JudgeCall>, score: impl FnOnce() -> Score) -> Step {
    if calls.is_empty() {
        Step::Done(score())
    } else {
        Step::Ask(calls)
    }
}

/// The calls whose items have no verdict yet.
pub(super) fn without_verdict(mut calls: Vec<JudgeCall>, verdicts: &Verdicts) -> Vec<JudgeCall> {
    calls.retain(|call| !verdicts.contains_key(&call.item));
    calls
}

/// What the judge says about an item, or why there is nothing.
pub(super) fn reading<'a>(
    verdicts: &'a Verdicts,
    item: &str,
) -> Result<&'a Reading, UnscoredReason> {
    match verdicts.get(item) {
        Some(Ok(reading)) => Ok(reading),
        Some(Err(reason)) => Err(reason.clone()),
        None => Err(not_asked()),
    }
}

/// The value that a scorer makes of a reading; `None` if the verdict is of another kind than was asked for.
pub(super) fn value_of(reading: &Reading, value: Option<f64>) -> ComponentValue {
    let value = value.ok_or_else(UnscoredReason::other_kind)?;
    Ok((value, reading.feedback.clone()))
}

/// The reason of a component without a question in this run.
pub(super) fn not_asked() -> UnscoredReason {
    UnscoredReason::new(UnscoredKind::NotAsked, "not asked")
}

/// The reason of every component in the template of a score.
pub(super) fn not_judged() -> UnscoredReason {
    UnscoredReason::new(UnscoredKind::NotAsked, "not judged")
}
