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
    /// By system: the case of each verdict, and whether the criterion is met.
    pub verdicts: BTreeMap<SystemName, Vec<(CaseId, bool)>>,
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
                by_question.push((*is_met, context.questions.number(case)));
            }
            shares.push(corrected_share(
                [&run.judge, labels_of],
                system,
                &by_question,
                accuracy,
                context.options.confidence,
            ));
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
    let both = recognized(sensitivity).zip(recognized(specificity));
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
        questions: distinct(verdicts.iter().map(|(_, question)| question)),
        judged_met: met as f64 / verdicts.len() as f64,
        met_labels: sensitivity.n.unwrap_or(0),
        unmet_labels: specificity.n.unwrap_or(0),
        met: share.with_units(verdicts.len()),
    }
}

fn recognized(share: &Estimate) -> Option<RecognizedShare> {
    Some(RecognizedShare {
        share: share.estimate?,
        labels: share.n?,
    })
}
