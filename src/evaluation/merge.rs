//! Merges the samples of a call into one verdict, and the verdicts of several judges into the panel's.

use std::cmp::Ordering;

use crate::domain::{
    Attribution, ClaimShares, CriterionVerdict, GradeMerge, Judgment, MemberValues, Reading,
    UnscoredKind, UnscoredReason, Verdict, merge_as_reference,
};
use crate::stats::sd;

/// Merges the readable samples; the first reason if none is readable. Keeps the feedback of the first readable sample.
///
/// Points, counts and grades follow `merge`; so do the two shares of claims (their counts are summed). Labels merge to
/// the most common one; on a tie, to one that is not support. Lists (irrelevant texts, cited claims) cannot be averaged: the
/// sample with the median number counts as a whole, of two the one with the lower number.
pub(super) fn merge_samples(samples: Vec<Judgment>, merge: GradeMerge) -> Judgment {
    let mut verdicts: Vec<Verdict> = Vec::new();
    let mut feedback: Option<String> = None;
    let mut reason: Option<UnscoredReason> = None;
    for sample in samples {
        match sample {
            Ok(reading) => {
                verdicts.push(reading.verdict);
                feedback = feedback.or(reading.feedback);
            }
            Err(why) => reason = reason.or(Some(why)),
        }
    }
    match merged(&verdicts, merge) {
        Some(verdict) => Ok(Reading { verdict, feedback }),
        None => Err(reason
            .unwrap_or_else(|| UnscoredReason::new(UnscoredKind::NotAsked, "no sample was taken"))),
    }
}

/// The grade that the reference computes from several replies to one question (its self-consistency).
pub(super) fn merge_texts(replies: &[String], merge: GradeMerge) -> Judgment {
    let texts: Vec<&str> = replies.iter().map(String::as_str).collect();
    if merge != GradeMerge::MostCommon {
        let what = "the reference script merges samples by the most common text only";
        return Err(UnscoredReason::new(UnscoredKind::Exception, what));
    }
    match merge_as_reference(&texts) {
        Some(grade) => Ok(Reading::new(Verdict::Grade(grade))),
        None => Err(UnscoredReason::new(
            UnscoredKind::Unreadable,
            "no grade of 1 to 5",
        )),
    }
}

/// The panel's verdict, from all its judges or none: a missing judge would silently shift the score by how strict the
/// others are.
pub(super) fn merge_members(
    members: Vec<Judgment>,
    judges: &[&str],
    merge: GradeMerge,
) -> Judgment {
    if members.len() <= 1 {
        let no_judge = || {
            Err(UnscoredReason::new(
                UnscoredKind::NotAsked,
                "no judge was asked",
            ))
        };
        return members.into_iter().next().unwrap_or_else(no_judge);
    }
    let mut samples = Vec::with_capacity(members.len());
    for (member, judge) in members.into_iter().zip(judges) {
        match member {
            Ok(reading) => samples.push(Ok(reading)),
            Err(reason) => {
                return Err(UnscoredReason::new(
                    reason.kind,
                    format!("{judge}: {}", reason.message),
                ));
            }
        }
    }
    merge_samples(samples, merge)
}

/// The verdict of one judge: its merged value, its samples and their spread.
pub(super) fn member_values(
    judge: &std::sync::Arc<str>,
    merged: &Judgment,
    samples: &[Judgment],
) -> MemberValues {
    let samples: Vec<Option<f64>> = samples.iter().map(number_of).collect();
    let readable: Vec<f64> = samples.iter().flatten().copied().collect();
    MemberValues {
        judge: std::sync::Arc::clone(judge),
        value: number_of(merged),
        samples,
        spread: sd(&readable),
    }
}

/// The number of a readable verdict.
fn number_of(judgment: &Judgment) -> Option<f64> {
    number(&judgment.as_ref().ok()?.verdict)
}

fn merged(verdicts: &[Verdict], merge: GradeMerge) -> Option<Verdict> {
    let of = |value: fn(&Verdict) -> Option<f64>| {
        merge.of(&verdicts.iter().filter_map(value).collect::<Vec<_>>())
    };
    match verdicts {
        [] => None,
        [only] => Some(only.clone()),
        [Verdict::Points(_), ..] => of(number).map(Verdict::Points),
        [Verdict::Count(_), ..] => of(number).map(Verdict::Count),
        [Verdict::Grade(_), ..] => of(number).map(Verdict::Grade),
        [Verdict::Criteria(_), ..] => {
            let second = |own: &Verdict| {
                let Verdict::Criteria(of_one) = own else {
                    return None;
                };
                of_one.first().filter(|own| own.credit.is_some())?.second
            };
            let verdict = CriterionVerdict {
                credit: of(number),
                second: of(second),
                feedback: None,
            };
            Some(Verdict::Criteria([verdict].into()))
        }
        [Verdict::Irrelevant(_) | Verdict::CitedClaims(_), ..] => {
            let mut sorted: Vec<&Verdict> = verdicts.iter().collect();
            sorted.sort_by(|a, b| number(a).partial_cmp(&number(b)).unwrap_or(Ordering::Equal));
            sorted
                .get((sorted.len() - 1) / 2)
                .map(|median| (*median).clone())
        }
        [Verdict::Attribution(_), ..] => most_common_label(verdicts).map(Verdict::Attribution),
        [Verdict::Claims(_), ..] => {
            let sum = |value: fn(&ClaimShares) -> u64| {
                verdicts.iter().filter_map(claims).map(value).sum()
            };
            Some(Verdict::Claims(ClaimShares {
                citations: of(number)?,
                excerpts: of(|verdict| claims(verdict).map(|shares| shares.excerpts))?,
                claim_count: sum(|shares| shares.claim_count),
                citation_count: sum(|shares| shares.citation_count),
            }))
        }
    }
}

/// Samples of a call about several criteria as samples of each: one list for each criterion.
pub(super) fn by_criterion(samples: &[Judgment], count: usize) -> Vec<Vec<Judgment>> {
    let of = |place: usize, sample: &Judgment| match sample {
        Ok(Reading {
            verdict: Verdict::Criteria(all),
            ..
        }) => {
            let own = all
                .get(place)
                .cloned()
                .ok_or_else(UnscoredReason::other_kind)?;
            let feedback = own.feedback.clone();
            Ok(Reading::new(Verdict::Criteria([own].into())).with_feedback(feedback))
        }
        other => other.clone(),
    };
    (0..count)
        .map(|place| samples.iter().map(|sample| of(place, sample)).collect())
        .collect()
}

fn claims(verdict: &Verdict) -> Option<&ClaimShares> {
    match verdict {
        Verdict::Claims(shares) => Some(shares),
        _ => None,
    }
}

fn most_common_label(verdicts: &[Verdict]) -> Option<Attribution> {
    let count = |label: Attribution| {
        verdicts
            .iter()
            .filter(|v| **v == Verdict::Attribution(label))
            .count()
    };
    [
        Attribution::Extrapolatory,
        Attribution::Contradictory,
        Attribution::Attributable,
    ]
    .into_iter()
    .rev()
    .max_by_key(|label| (count(*label), !label.is_support()))
}

/// The number of a verdict: for claims the cited or supported share, for irrelevant texts their count, for labels 1 for support, for one criterion its credit;
/// `None` if the judge cannot assess it.
fn number(verdict: &Verdict) -> Option<f64> {
    Some(match verdict {
        Verdict::Criteria(of_one) => of_one.first()?.credit?,
        Verdict::Points(value) | Verdict::Count(value) | Verdict::Grade(value) => *value,
        Verdict::Attribution(label) => f64::from(u8::from(label.is_support())),
        Verdict::Claims(shares) => shares.citations,
        Verdict::Irrelevant(texts) => texts.len() as f64,
        Verdict::CitedClaims(claims) => {
            let supported = claims
                .iter()
                .filter(|claim| claim.is_fully_supported && !claim.supporting.is_empty());
            supported.count() as f64 / claims.len().max(1) as f64
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unreadable() -> UnscoredReason {
        UnscoredReason::new(UnscoredKind::Unreadable, "no JSON object")
    }

    #[test]
    fn readable_samples_are_averaged_and_unreadable_ones_left_out() {
        let samples = vec![
            Ok(Reading::new(Verdict::Points(7.0))),
            Err(unreadable()),
            Ok(Reading {
                verdict: Verdict::Points(4.0),
                feedback: Some("brief".into()),
            }),
        ];
        // (7 + 4) / 2
        let expected = Ok(Reading {
            verdict: Verdict::Points(5.5),
            feedback: Some("brief".into()),
        });
        assert_eq!(merge_samples(samples.clone(), GradeMerge::Mean), expected);
        let judged = merge_samples(samples.clone(), GradeMerge::Mean);
        let values = member_values(&"j".into(), &judged, &samples);
        assert_eq!(
            (values.value, values.samples),
            (Some(5.5), vec![Some(7.0), None, Some(4.0)])
        );
        // deviations 1.5 and -1.5: the square root of (2.25 + 2.25) / 1
        assert!((values.spread.unwrap() - 4.5_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn without_a_readable_sample_the_first_reason_is_kept() {
        assert_eq!(
            merge_samples(vec![Err(unreadable())], GradeMerge::Median),
            Err(unreadable())
        );
    }

    #[test]
    fn one_sample_is_itself() {
        let shares = ClaimShares {
            citations: 1.0 / 3.0,
            excerpts: 0.0,
            claim_count: 3,
            citation_count: 1,
        };
        let merged = merge_samples(
            vec![Ok(Reading::new(Verdict::Claims(shares)))],
            GradeMerge::MostCommon,
        );
        assert_eq!(merged, Ok(Reading::new(Verdict::Claims(shares))));
    }

    #[test]
    fn claims_are_merged_by_their_shares() {
        let sample = |citations, excerpts| {
            Ok(Reading::new(Verdict::Claims(ClaimShares {
                citations,
                excerpts,
                claim_count: 2,
                citation_count: 1,
            })))
        };
        let samples = vec![sample(1.0, 0.0), sample(0.5, 1.0)];
        let Ok(Reading {
            verdict: Verdict::Claims(merged),
            ..
        }) = merge_samples(samples, GradeMerge::Mean)
        else {
            panic!("expected claims")
        };
        // (1 + 0.5) / 2 and (0 + 1) / 2
        assert_eq!((merged.citations, merged.excerpts), (0.75, 0.5));
        assert_eq!((merged.claim_count, merged.citation_count), (4, 2));
    }

    #[test]
    fn labels_are_voted_on_and_a_tie_is_no_support() {
        let vote = |labels: &[Attribution]| {
            let samples = labels
                .iter()
                .map(|label| Ok(Reading::new(Verdict::Attribution(*label))))
                .collect();
            merge_samples(samples, GradeMerge::Mean)
        };
        use Attribution::{Attributable, Contradictory, Extrapolatory};
        let is = |label| Ok(Reading::new(Verdict::Attribution(label)));
        assert_eq!(
            vote(&[Attributable, Extrapolatory, Attributable]),
            is(Attributable)
        );
        assert_eq!(vote(&[Attributable, Contradictory]), is(Contradictory));
        assert_eq!(vote(&[Contradictory, Extrapolatory]), is(Extrapolatory));
    }

    #[test]
    fn several_grades_are_merged_by_text_as_the_reference_does() {
        let replies = [
            "Feedback: a [RESULT] 4 ",
            "Feedback: b [RESULT] 4 ",
            "Feedback: c [RESULT] 2",
        ]
        .map(str::to_owned);
        // "4 " is the most common text and not a valid grade there; ours would be 4
        assert!(matches!(
            merge_texts(&replies, GradeMerge::MostCommon),
            Err(_)
        ));
        let Err(reason) = merge_texts(&replies, GradeMerge::Mean) else {
            panic!("no mean")
        };
        assert_eq!(reason.kind, UnscoredKind::Exception);
        assert_eq!(
            merge_texts(&replies[2..], GradeMerge::MostCommon),
            Ok(Reading::new(Verdict::Grade(2.0)))
        );
    }

    #[test]
    fn a_panel_with_a_missing_judge_has_no_verdict() {
        let grade = |grade| Ok(Reading::new(Verdict::Grade(grade)));
        let judges = ["strict", "kind"];
        assert_eq!(
            merge_members(vec![grade(2.0), grade(5.0)], &judges, GradeMerge::Mean),
            grade(3.5)
        );
        let Err(reason) = merge_members(
            vec![grade(2.0), Err(unreadable())],
            &judges,
            GradeMerge::Mean,
        ) else {
            panic!("expected no verdict")
        };
        assert_eq!(reason.message, "kind: no JSON object");
    }
}
