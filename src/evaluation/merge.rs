//! Merges the verdicts of several judges into the panel's.

use std::sync::Arc;

use crate::domain::{GradeMerge, Judgment, MemberValues, Mode, UnscoredKind, UnscoredReason};
use crate::question::{Question, Sample};
use crate::stats::sd;

/// The panel's verdict, from all its judges or none: a missing judge would silently shift the score by how strict the
/// others are.
pub(super) fn merge_members(
    question: &dyn Question,
    members: Vec<Judgment>,
    judges: &[&str],
    merge: GradeMerge,
) -> Judgment {
    if members.len() <= 1 {
        let only = members.into_iter().next();
        return only.unwrap_or_else(no_judge);
    }
    let mut samples: Vec<Sample> = Vec::with_capacity(members.len());
    for (member, judge) in members.into_iter().zip(judges) {
        match member {
            Ok(reading) => samples.push(Ok(reading).into()),
            Err(reason) => {
                let message = format!("{judge}: {}", reason.message);
                return Err(UnscoredReason::new(reason.kind, message));
            }
        }
    }
    // The references have no panels, so that there is nothing to reproduce.
    question.merge(&samples, merge, Mode::Default)
}

/// A role without a judge.
pub(super) fn no_judge() -> Judgment {
    Err(UnscoredReason::new(
        UnscoredKind::NotAsked,
        "no judge was asked",
    ))
}

/// The verdict of one judge: its merged value, its samples and their spread.
pub(super) fn member_values(
    judge: &Arc<str>,
    merged: &Judgment,
    samples: &[Sample],
    stops_early: bool,
) -> MemberValues {
    let samples = samples.iter();
    let samples: Vec<Option<f64>> = samples.map(|sample| number_of(&sample.judgment)).collect();
    let mut values = MemberValues {
        judge: Arc::clone(judge),
        value: number_of(merged),
        samples,
        stops_early,
        spread: None,
    };
    // Over the readable samples only; an unreadable one is not a disagreement.
    let readable: Vec<f64> = values.fair_samples().iter().flatten().copied().collect();
    values.spread = sd(&readable);
    values
}

/// The number of a readable verdict.
fn number_of(judgment: &Judgment) -> Option<f64> {
    judgment.as_ref().ok()?.verdict.number()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Reading, Verdict};
    use crate::question::Property;

    fn unreadable() -> UnscoredReason {
        UnscoredReason::new(UnscoredKind::Unreadable, "no JSON object")
    }

    fn points(points: f64) -> Judgment {
        Ok(Reading::new(Verdict::Points(points)))
    }

    fn question() -> Property {
        Property {
            question: "q".into(),
            answer: "a".into(),
            criterion: "c".into(),
        }
    }

    #[test]
    fn a_judge_has_its_merged_value_its_samples_and_their_spread() {
        let samples = [points(7.0), Err(unreadable()), points(4.0)].map(Sample::from);
        let merged = question().merge(&samples, GradeMerge::Mean, Mode::Default);
        let values = member_values(&"j".into(), &merged, &samples, false);
        assert_eq!(values.value, Some(5.5));
        assert_eq!(values.samples, [Some(7.0), None, Some(4.0)]);
        // deviations 1.5 and -1.5: the square root of (2.25 + 2.25) / 1
        assert!((values.spread.unwrap() - 4.5_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn a_panel_with_a_missing_judge_has_no_verdict() {
        let merged = |members: Vec<Judgment>| {
            merge_members(&question(), members, &["strict", "kind"], GradeMerge::Mean)
        };
        // (2 + 5) / 2
        assert_eq!(merged(vec![points(2.0), points(5.0)]), points(3.5));
        let reason = merged(vec![points(2.0), Err(unreadable())]).unwrap_err();
        assert_eq!(reason.message, "kind: no JSON object");
    }
}
