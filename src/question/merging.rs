//! Merging the samples of a question into one reading.

use std::cmp::Ordering;

use crate::domain::{GradeMerge, Judgment, Reading, UnscoredKind, UnscoredReason, Verdict};

/// One sample of a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// What it says.
    pub judgment: Judgment,
    /// The text of its reply, for kinds whose reference merges texts (see
    /// [`Question::merges_texts`](super::Question::merges_texts)).
    pub text: Option<String>,
}

impl From<Judgment> for Sample {
    fn from(judgment: Judgment) -> Self {
        Self {
            judgment,
            text: None,
        }
    }
}

/// Merges the readable samples by `merged`, which is given two or more verdicts; a single one counts as it is. Keeps the
/// first feedback. Without a readable sample the first reason counts.
pub fn merge_readable(
    samples: &[Sample],
    merged: impl FnOnce(&[&Verdict]) -> Option<Verdict>,
) -> Judgment {
    let mut verdicts: Vec<&Verdict> = Vec::new();
    let mut feedback: Option<&String> = None;
    let mut reason: Option<&UnscoredReason> = None;
    for sample in samples {
        match &sample.judgment {
            Ok(reading) => {
                verdicts.push(&reading.verdict);
                feedback = feedback.or(reading.feedback.as_ref());
            }
            Err(why) => reason = reason.or(Some(why)),
        }
    }
    let verdict = match verdicts.as_slice() {
        [] => None,
        [only] => Some((*only).clone()),
        several => merged(several),
    };
    match verdict {
        Some(verdict) => Ok(Reading::new(verdict).with_feedback(feedback.cloned())),
        None => Err(reason.cloned().unwrap_or_else(no_sample)),
    }
}

/// Merges points, counts or grades by the rule; `verdict` makes the merged one of its number.
pub fn merge_numbers(
    samples: &[Sample],
    rule: GradeMerge,
    verdict: fn(f64) -> Verdict,
) -> Judgment {
    merge_readable(samples, |verdicts| {
        let numbers: Vec<f64> = verdicts.iter().filter_map(|one| one.number()).collect();
        rule.of(&numbers).map(verdict)
    })
}

/// The sample with the median number as a whole, of two the one with the lower number: lists cannot be averaged.
pub(super) fn merge_lists(samples: &[Sample]) -> Judgment {
    merge_readable(samples, |verdicts| {
        let mut sorted = verdicts.to_vec();
        sorted.sort_by(|a, b| by_number(a, b));
        // The lower of two middle ones, whatever the order of the samples.
        let median = sorted.get((sorted.len() - 1) / 2)?;
        Some((*median).clone())
    })
}

fn by_number(a: &Verdict, b: &Verdict) -> Ordering {
    a.number()
        .partial_cmp(&b.number())
        .unwrap_or(Ordering::Equal)
}

fn no_sample() -> UnscoredReason {
    UnscoredReason::new(UnscoredKind::NotAsked, "no sample was taken")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unreadable() -> UnscoredReason {
        UnscoredReason::new(UnscoredKind::Unreadable, "no JSON object")
    }

    fn points(value: f64) -> Reading {
        Reading::new(Verdict::Points(value))
    }

    #[test]
    fn readable_samples_are_averaged_and_unreadable_ones_left_out() {
        let brief = points(4.0).with_feedback(Some("brief".to_owned()));
        let samples = [Ok(points(7.0)), Err(unreadable()), Ok(brief)].map(Sample::from);
        // (7 + 4) / 2
        let expected = points(5.5).with_feedback(Some("brief".to_owned()));
        let merged = merge_numbers(&samples, GradeMerge::Mean, Verdict::Points);
        assert_eq!(merged, Ok(expected));
    }

    #[test]
    fn without_a_readable_sample_the_first_reason_is_kept() {
        let samples = [Sample::from(Err(unreadable()))];
        let merged = merge_numbers(&samples, GradeMerge::Median, Verdict::Points);
        assert_eq!(merged, Err(unreadable()));
    }
}
