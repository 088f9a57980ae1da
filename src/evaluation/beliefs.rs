//! What the probabilities of decision models say of a score: its expected value, and the doubt about each component.
//!
//! The scorer itself folds the expected verdicts, as it folds the most probable ones: no scorer knows of probabilities.

use super::answer::AnswerRun;
use crate::domain::{Belief, Reading, Score};
use crate::scorer::{Step, Subject, Verdicts};

/// By how much a verdict is moved to see how its component follows.
const STEP: f64 = 1e-3;

impl AnswerRun<'_> {
    /// Adds the expected score and the beliefs about the components, where these verdicts have probabilities.
    pub(super) fn believe(&self, score: &mut Score, verdicts: &Verdicts) {
        let Some(expected) = self.score_of(&moved(verdicts, |belief| belief.expected)) else {
            return;
        };
        let Some(beyond) = self.score_of(&moved(verdicts, |belief| belief.expected + STEP)) else {
            return;
        };
        let is_whole = verdicts.values().all(|judgment| {
            judgment
                .as_ref()
                .is_ok_and(|reading| reading.belief.is_some() || reading.verdict.number().is_none())
        });
        score.expected = expected.value.filter(|_| is_whole);
        for component in &mut score.components {
            let Some(Ok(Reading {
                belief: Some(belief),
                ..
            })) = verdicts.get(component.name.as_str())
            else {
                continue;
            };
            let value = |score: &Score| score.component(&component.name)?.value;
            let (Some(at), Some(after)) = (value(&expected), value(&beyond)) else {
                continue;
            };
            // A component grows with its verdict on a straight line: points are tenths, counts shares.
            let slope = (after - at) / STEP;
            component.belief = Some(Box::new(Belief {
                expected: at,
                doubt: belief.doubt.map(|doubt| doubt * slope * slope),
                is_tie: belief.is_tie,
            }));
        }
    }

    /// The score of these verdicts; `None` if more is asked before there is one.
    fn score_of(&self, verdicts: &Option<Verdicts>) -> Option<Score> {
        let verdicts = verdicts.as_ref()?;
        match self.job.scorer.step(&Subject::of(self.item), verdicts) {
            Step::Done(score) => Some(score),
            Step::Ask(_) => None,
        }
    }
}

/// The verdicts with other numbers in place of those that have a belief; `None` without any.
fn moved(verdicts: &Verdicts, number: impl Fn(&Belief) -> f64) -> Option<Verdicts> {
    let mut moved = verdicts.clone();
    let mut is_moved = false;
    for judgment in moved.values_mut() {
        if let Ok(reading) = judgment
            && let Some(belief) = &reading.belief
        {
            let number = number(belief);
            reading.verdict = reading.verdict.clone().with_number(number);
            is_moved = true;
        }
    }
    is_moved.then_some(moved)
}
