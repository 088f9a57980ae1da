//! Merges the samples of a call into one verdict, and the verdicts of several judges into the panel's.

use std::cmp::Ordering;

use crate::domain::{
    Attribution, ClaimShares, CriterionVerdict, GradeMerge, MemberValues, UnscoredKind,
    UnscoredReason, Verdict, merge_as_reference,
};
use crate::scorer::Judged;
use crate::stats::sd;

/// One sample: the verdict and feedback, or why there is none.
pub(super) type Sample = Result<(Verdict, Option<String>), UnscoredReason>;

/// Merges the readable samples; the first reason if none is readable. Keeps the feedback of the first readable sample.
///
/// Points, counts and grades follow `merge`; so do the two shares of claims (their counts are summed). Labels merge to
/// the most common one; on a tie, to one that is not support. Lists (irrelevant texts, cited claims) cannot be averaged: the
/// sample with the median number counts as a whole, of two the one with the lower number.
pub(super) fn merge_samples(samples: Vec<Sample>, merge: GradeMerge) -> Judged {
    let verdicts: Vec<Verdict> = samples
        .iter()
        .flatten()
        .map(|(verdict, _)| verdict.clone())
        .collect();
    let no_sample = || UnscoredReason::new(UnscoredKind::NotAsked, "no sample was taken");
    match merged(&verdicts, merge) {
        Some(verdict) => Judged::Verdict(
            verdict,
            samples
                .into_iter()
                .flatten()
                .find_map(|(_, feedback)| feedback),
        ),
        None => Judged::Unscored(
            samples
                .into_iter()
                .find_map(Result::err)
                .unwrap_or_else(no_sample),
        ),
    }
}

/// The grade that the reference computes from several replies to one question (its self-consistency).
pub(super) fn merge_texts(replies: &[String], merge: GradeMerge) -> Judged {
    let texts: Vec<&str> = replies.iter().map(String::as_str).collect();
    if merge != GradeMerge::MostCommon {
        let what = "the reference script merges samples by the most common text only";
        return Judged::Unscored(UnscoredReason::new(UnscoredKind::Exception, what));
    }
    match merge_as_reference(&texts) {
        Some(grade) => Judged::Verdict(Verdict::Grade(grade), None),
        None => Judged::Unscored(UnscoredReason::new(
            UnscoredKind::Unreadable,
            "no grade of 1 to 5",
        )),
    }
}

/// The panel's verdict, from all its judges or none: a missing judge would silently shift the score by how strict the
/// others are.
pub(super) fn merge_members(members: Vec<Judged>, judges: &[&str], merge: GradeMerge) -> Judged {
    if members.len() <= 1 {
        let no_judge = || {
            Judged::Unscored(UnscoredReason::new(
                UnscoredKind::NotAsked,
                "no judge was asked",
            ))
        };
        return members.into_iter().next().unwrap_or_else(no_judge);
    }
    let mut samples = Vec::with_capacity(members.len());
    for (member, judge) in members.into_iter().zip(judges) {
        match member {
            Judged::Verdict(verdict, feedback) => samples.push(Ok((verdict, feedback))),
            Judged::Unscored(reason) => {
                return Judged::Unscored(UnscoredReason::new(
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
    merged: &Judged,
    samples: &[Sample],
) -> MemberValues {
    let samples: Vec<Option<f64>> = samples
        .iter()
        .map(|sample| {
            sample
                .as_ref()
                .ok()
                .and_then(|(verdict, _)| number(verdict))
        })
        .collect();
    let readable: Vec<f64> = samples.iter().flatten().copied().collect();
    let value = match merged {
        Judged::Verdict(verdict, _) => number(verdict),
        Judged::Unscored(_) => None,
    };
    MemberValues {
        judge: std::sync::Arc::clone(judge),
        value,
        samples,
        spread: sd(&readable),
    }
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
pub(super) fn by_criterion(samples: &[Sample], count: usize) -> Vec<Vec<Sample>> {
    let of = |place: usize, sample: &Sample| match sample {
        Ok((Verdict::Criteria(all), _)) => {
            let own = all
                .get(place)
                .cloned()
                .ok_or_else(UnscoredReason::other_kind)?;
            let feedback = own.feedback.clone();
            Ok((Verdict::Criteria([own].into()), feedback))
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
            Ok((Verdict::Points(7.0), None)),
            Err(unreadable()),
            Ok((Verdict::Points(4.0), Some("brief".into()))),
        ];
        // (7 + 4) / 2
        let expected = Judged::Verdict(Verdict::Points(5.5), Some("brief".into()));
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
            Judged::Unscored(unreadable())
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
            vec![Ok((Verdict::Claims(shares), None))],
            GradeMerge::MostCommon,
        );
        assert_eq!(merged, Judged::Verdict(Verdict::Claims(shares), None));
    }

    #[test]
    fn claims_are_merged_by_their_shares() {
        let sample = |citations, excerpts| {
            Ok((
                Verdict::Claims(ClaimShares {
                    citations,
                    excerpts,
                    claim_count: 2,
                    citation_count: 1,
                }),
                None,
            ))
        };
        let samples = vec![sample(1.0, 0.0), sample(0.5, 1.0)];
        let Judged::Verdict(Verdict::Claims(merged), _) = merge_samples(samples, GradeMerge::Mean)
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
                .map(|label| Ok((Verdict::Attribution(*label), None)))
                .collect();
            merge_samples(samples, GradeMerge::Mean)
        };
        use Attribution::{Attributable, Contradictory, Extrapolatory};
        let is = |label| Judged::Verdict(Verdict::Attribution(label), None);
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
            Judged::Unscored(_)
        ));
        let Judged::Unscored(reason) = merge_texts(&replies, GradeMerge::Mean) else {
            panic!("no mean")
        };
        assert_eq!(reason.kind, UnscoredKind::Exception);
        assert_eq!(
            merge_texts(&replies[2..], GradeMerge::MostCommon),
            Judged::Verdict(Verdict::Grade(2.0), None)
        );
    }

    #[test]
    fn a_panel_with_a_missing_judge_has_no_verdict() {
        let grade = |grade| Judged::Verdict(Verdict::Grade(grade), None);
        let judges = ["strict", "kind"];
        assert_eq!(
            merge_members(vec![grade(2.0), grade(5.0)], &judges, GradeMerge::Mean),
            grade(3.5)
        );
        let Judged::Unscored(reason) = merge_members(
            vec![grade(2.0), Judged::Unscored(unreadable())],
            &judges,
            GradeMerge::Mean,
        ) else {
            panic!("expected no verdict")
        };
        assert_eq!(reason.message, "kind: no JSON object");
    }
}
