//! Merging the samples of a question into one reading.

use std::cmp::Ordering;

use crate::domain::{Belief, GradeMerge, Judgment, Reading, UnscoredKind, UnscoredReason, Verdict};

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
    let mut beliefs: Vec<Belief> = Vec::new();
    for sample in samples {
        match &sample.judgment {
            Ok(reading) => {
                verdicts.push(&reading.verdict);
                beliefs.extend(reading.belief);
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
    let is_believed = beliefs.len() == verdicts.len();
    match verdict {
        Some(verdict) => Ok(Reading {
            verdict,
            feedback: feedback.cloned(),
            belief: Belief::merged(&beliefs).filter(|_| is_believed),
        }),
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
        let numbers: Vec<f64> = verdicts
            .iter()
            .filter_map(|readable| readable.number())
            .collect();
        rule.of(&numbers).map(verdict)
    })
}

/// As [`Question::samples_needed`](super::Question::samples_needed), of numbers that are merged by [`merge_numbers`].
pub fn numbers_needed(samples: &[Sample], left: usize, rule: GradeMerge) -> usize {
    let verdicts = readable_verdicts(samples);
    let numbers: Vec<f64> = verdicts.into_iter().filter_map(Verdict::number).collect();
    votes_needed(&numbers, left, rule)
}

/// The verdicts of the samples that have one.
pub(super) fn readable_verdicts(samples: &[Sample]) -> Vec<&Verdict> {
    let readable = samples
        .iter()
        .filter_map(|sample| sample.judgment.as_ref().ok());
    readable.map(|reading| &reading.verdict).collect()
}

/// The fewest further votes, of `left`, after which the rest cannot change the most common number; all for other rules.
pub(super) fn votes_needed(numbers: &[f64], left: usize, rule: GradeMerge) -> usize {
    if rule != GradeMerge::MostCommon {
        return left;
    }
    // By bits, as the vote compares: NaN, which compat reads, equals itself.
    let votes: Vec<u64> = numbers.iter().map(|number| number.to_bits()).collect();
    values_needed(&votes, left)
}

/// As [`votes_needed`], for any values; of equally common ones the first seen wins.
pub(super) fn values_needed<T: PartialEq>(votes: &[T], left: usize) -> usize {
    let mut seen: Vec<&T> = Vec::new();
    let mut counts: Vec<usize> = Vec::new();
    for vote in votes {
        match seen.iter().position(|other| *other == vote) {
            Some(at) => counts[at] += 1,
            None => {
                seen.push(vote);
                counts.push(1);
            }
        }
    }
    // Two values that nobody has named yet may still come, and share what is left.
    counts.extend([0, 0]);
    counts_needed(&counts, left)
}

/// As [`votes_needed`], for options with so many votes each; of equally common ones the first in this order wins.
pub(super) fn counts_needed(counts: &[usize], left: usize) -> usize {
    let most = counts.iter().copied().max().unwrap_or_default();
    let leader = counts.iter().position(|count| *count == most);
    // The leader is settled first, whoever gets the votes.
    for further in 0..left {
        let rest = left - further;
        let is_settled = counts.iter().enumerate().all(|(option, count)| {
            let is_before = leader.is_some_and(|leader| option < leader);
            let could_reach = count + rest + usize::from(is_before);
            Some(option) == leader || could_reach <= most + further
        });
        // A vote without a voter is no verdict: the first one decides what it is.
        if is_settled && most + further > 0 {
            return further;
        }
    }
    left
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

    /// The number of samples that are taken of these verdicts, if each is taken only while it can change the vote.
    fn taken(verdicts: &[f64]) -> usize {
        for taken in 0..verdicts.len() {
            let left = verdicts.len() - taken;
            if votes_needed(&verdicts[..taken], left, GradeMerge::MostCommon) == 0 {
                return taken;
            }
        }
        verdicts.len()
    }

    #[test]
    fn a_vote_is_settled_when_the_rest_cannot_change_it() {
        assert_eq!(taken(&[1.0, 1.0, 0.0]), 2);
        assert_eq!(taken(&[1.0, 0.0, 1.0]), 3);
        // 2 of 4: two zeros would only tie, and the first seen wins.
        assert_eq!(taken(&[1.0, 1.0, 0.0, 0.0]), 2);
        assert_eq!(taken(&[1.0, 0.0, 1.0, 0.0, 0.0]), 5);
        // Nothing is said yet: two more equal votes of three would settle it.
        assert_eq!(votes_needed(&[], 3, GradeMerge::MostCommon), 2);
        // The mean depends on each of them.
        assert_eq!(votes_needed(&[1.0, 1.0], 1, GradeMerge::Mean), 1);
    }

    #[test]
    fn a_settled_vote_is_that_of_all_samples() {
        for code in 0..3_usize.pow(7) {
            let digits = (0..7).map(|place| (code / 3_usize.pow(place) % 3) as f64);
            let all: Vec<f64> = digits.collect();
            for samples in 1..=7 {
                let full = &all[..samples];
                let fewer = &full[..taken(full)];
                let rule = GradeMerge::MostCommon;
                assert_eq!(rule.of(fewer), rule.of(full), "{full:?}");
            }
        }
    }

    #[test]
    fn without_a_readable_sample_the_first_reason_is_kept() {
        let samples = [Sample::from(Err(unreadable()))];
        let merged = merge_numbers(&samples, GradeMerge::Median, Verdict::Points);
        assert_eq!(merged, Err(unreadable()));
    }
}
