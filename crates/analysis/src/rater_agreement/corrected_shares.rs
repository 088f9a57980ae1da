//! Shares of met criteria of systems without labels, by the sensitivity and specificity that the judge has on labels of others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::confusion::ItemScale;
use super::result::{Confusion, LevelAccuracy, RoganGladenShare};
use super::units::Context;
use crate::ratings::{Estimate, distinct};
use scholareval_core::domain::{CaseId, Rater, RaterKind, SystemName};
use scholareval_stats::{CorrectedShare, RecognizedShare, rogan_gladen};

/// The verdicts of a run on criteria that are met or not.
#[derive(Debug, Clone, PartialEq)]
pub struct RunVerdicts {
    /// The rater that the run is.
    pub judge: Arc<str>,
    /// The raters of the same judge, prompts and settings, this one first.
    pub same_judge: Vec<Arc<str>>,
    /// By system: the case of each verdict, and whether the criterion is met; `None` where samples or a panel are split evenly.
    pub verdicts: BTreeMap<SystemName, Vec<(CaseId, Option<bool>)>>,
}

/// The corrected shares of all systems of these runs of which people labeled no answer.
pub(super) fn corrected_shares(
    runs: &[RunVerdicts],
    raters: &[Rater],
    scales: &[ItemScale],
    confusions: &[Confusion],
    context: &Context<'_>,
) -> Vec<RoganGladenShare> {
    let people = raters.iter().filter(|rater| rater.kind == RaterKind::Human);
    let ratings = people.flat_map(|rater| &rater.ratings);
    let with_labels: BTreeSet<&SystemName> = ratings.map(|rating| &rating.system).collect();
    let mut shares = Vec::new();
    for run in runs {
        let mut judges = run.same_judge.iter();
        let known = judges.find_map(|judge| met_or_not(judge, scales, confusions));
        let Some((labels_of, accuracy)) = known else {
            continue;
        };
        for (system, verdicts) in &run.verdicts {
            if with_labels.contains(system) {
                continue;
            }
            let mut by_question = Vec::new();
            for (case, is_met) in verdicts {
                if let Some(is_met) = is_met {
                    by_question.push((*is_met, context.questions.number(case)));
                }
            }
            if by_question.is_empty() {
                continue;
            }
            let share = corrected_share(
                [&run.judge, labels_of],
                system,
                &by_question,
                accuracy,
                context.options.confidence,
            );
            shares.push(RoganGladenShare {
                split: verdicts.len() - by_question.len(),
                ..share
            });
        }
    }
    shares
}

/// How a judge recognizes met criteria by labels, if it was labeled on a scale of 0 and 1.
fn met_or_not<'a>(
    judge: &str,
    scales: &[ItemScale],
    confusions: &'a [Confusion],
) -> Option<(&'a Arc<str>, &'a LevelAccuracy)> {
    let confusions = confusions.iter();
    for confusion in confusions.filter(|confusion| *confusion.judge == *judge) {
        let is_met_or_not = scales.iter().any(|scale| {
            let (names, values): (Vec<&String>, Vec<f64>) = scale
                .levels
                .iter()
                .map(|(name, value)| (name, *value))
                .unzip();
            values == [0.0, 1.0] && names.into_iter().eq(&confusion.levels)
        });
        if is_met_or_not {
            return confusion
                .accuracy
                .first()
                .map(|accuracy| (&confusion.judge, accuracy));
        }
    }
    None
}

fn corrected_share(
    [judge, labels_of]: [&Arc<str>; 2],
    system: &SystemName,
    verdicts: &[(bool, usize)],
    accuracy: &LevelAccuracy,
    confidence: f64,
) -> RoganGladenShare {
    let [sensitivity, specificity] = [&accuracy.sensitivity, &accuracy.specificity];
    let [of_met, of_unmet] = accuracy.worth;
    let both = recognized(sensitivity, of_met).zip(recognized(specificity, of_unmet));
    let corrected: Option<CorrectedShare> =
        both.and_then(|(se, sp)| rogan_gladen(verdicts, se, sp, confidence));
    let reason = if both.is_none() {
        "people gave labels of one level only"
    } else {
        "sensitivity and specificity of the judge add to 1 or less, or all verdicts are of one question"
    };
    let interval = corrected.map(|corrected| corrected.interval);
    let share = Estimate::new(
        corrected.map(|corrected| corrected.share),
        || interval,
        reason,
    );
    let met = verdicts.iter().filter(|(is_met, _)| *is_met).count();
    RoganGladenShare {
        judge: Arc::clone(judge),
        labels_of: Arc::clone(labels_of),
        system: system.clone(),
        verdicts: verdicts.len(),
        split: 0,
        questions: distinct(verdicts.iter().map(|(_, question)| question)),
        judged_met: met as f64 / verdicts.len() as f64,
        met_labels: sensitivity.n.unwrap_or(0),
        unmet_labels: specificity.n.unwrap_or(0),
        met: share.with_units(verdicts.len()),
    }
}

fn recognized(share: &Estimate, labels: usize) -> Option<RecognizedShare> {
    let share = share.estimate?;
    Some(RecognizedShare { share, labels })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rater_agreement::{
        AgreementLevel, AgreementOptions, Labeled, LabeledItem, rater_agreement,
    };
    use scholareval_core::domain::{DrawProbabilities, Rating};

    fn level(name: &str, value: f64) -> (String, f64) {
        (name.to_owned(), value)
    }

    #[test]
    fn labels_of_unequal_weights_are_worth_fewer_and_split_verdicts_are_counted() {
        // 8 cases of `a`: met in the first four, and the judge errs in c0 and c4.
        let rater = |name: &str, kind: RaterKind| {
            let mut rater = Rater::new(name, kind);
            for case in 0..8 {
                let is_met = (case < 4) != (kind == RaterKind::Judge && case % 4 == 0);
                rater.ratings.push(Rating {
                    system: "a".into(),
                    case_id: format!("c{case}").into(),
                    item: Some("x".into()),
                    value: f64::from(u8::from(is_met)),
                });
            }
            rater
        };
        let raters = vec![rater("m", RaterKind::Judge), rater("p", RaterKind::Human)];
        let items = raters[1].ratings.iter().map(|rating| LabeledItem {
            system: rating.system.clone(),
            case_id: rating.case_id.clone(),
            item: "x".into(),
        });
        let scales = vec![ItemScale {
            levels: vec![level("unmet", 0.0), level("met", 1.0)],
            items: items.collect(),
        }];
        let verdict = |case: usize| [Some(true), Some(true), Some(false), None][case % 4];
        let of_b = (0..40).map(|case| (format!("c{case}").into(), verdict(case)));
        let mut probabilities = DrawProbabilities::default();
        probabilities.answers.insert(("a".into(), "c1".into()), 0.2);
        let labeled = Labeled {
            raters,
            scales,
            probabilities,
            verdicts: vec![RunVerdicts {
                judge: "m".into(),
                same_judge: vec!["m".into()],
                verdicts: [("b".into(), of_b.collect())].into(),
            }],
            ..Labeled::default()
        };
        let options = AgreementOptions {
            level: AgreementLevel::Item,
            ..AgreementOptions::seeded(1)
        };
        let shares = rater_agreement(&labeled, &options).rogan_gladen;
        assert_eq!((shares[0].verdicts, shares[0].split), (30, 10));
        assert_eq!((shares[0].met_labels, shares[0].unmet_labels), (4, 4));
        // Weights of met labels 1 5 1 1: sensitivity (5 + 1 + 1) / 8, worth (5 + 3)^2 / (25 + 3) = 2.3 labels. Unmet ones have one weight.
        let verdicts: Vec<(bool, usize)> = (0..30).map(|at| (at < 20, at)).collect();
        let recognized = |share, labels| RecognizedShare { share, labels };
        let expected = rogan_gladen(&verdicts, recognized(0.875, 2), recognized(0.75, 4), 0.95);
        let (met, expected) = (&shares[0].met, expected.unwrap());
        assert!((met.estimate.unwrap() - expected.share).abs() < 1e-12);
        assert!((met.low.unwrap() - expected.interval.low).abs() < 1e-12);
        assert!((met.high.unwrap() - expected.interval.high).abs() < 1e-12);
    }
}
