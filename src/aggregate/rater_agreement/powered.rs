//! Means of systems on the human scale, from few labels and many verdicts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::result::{AgreementLevel, Estimate, PoweredMean};
use super::view::{Frame, Unit, View};
use crate::domain::{RaterKind, SystemName};
use crate::stats::{Interval, PredictionPowered, clustered_mean_intervals, mean};

/// One row a judge and system with labels; none at the level of items. `human` are the people's labels (their mean, or
/// the only person's).
pub(super) fn powered(judges: &[&View], human: Option<&View>, frame: &Frame<'_>) -> Vec<PoweredMean> {
    let Some(human) = human.filter(|_| frame.options.level != AgreementLevel::Item) else { return Vec::new() };
    let of_judge = |judge: &&View| {
        let systems: BTreeSet<&SystemName> = human.values.keys().map(|unit| &unit.system).collect();
        systems.into_iter().filter_map(|system| of_system(judge, human, system, frame)).collect::<Vec<_>>()
    };
    judges.iter().filter(|judge| judge.kind == RaterKind::Judge).flat_map(of_judge).collect()
}

fn of_system(judge: &View, human: &View, system: &SystemName, frame: &Frame<'_>) -> Option<PoweredMean> {
    let own = |view: &View| -> BTreeMap<Unit, f64> {
        let of = view.values.iter().filter(|(unit, _)| unit.system == *system);
        of.map(|(unit, value)| (unit.clone(), *value)).collect()
    };
    let (labels, verdicts) = (own(human), own(judge));
    let labelled: Vec<(&Unit, f64, f64)> =
        labels.iter().filter_map(|(unit, label)| Some((unit, *label, *verdicts.get(unit)?))).collect();
    if labelled.is_empty() {
        return None;
    }
    let unlabelled: Vec<f64> =
        verdicts.iter().filter(|(unit, _)| !labels.contains_key(unit)).map(|(_, verdict)| *verdict).collect();
    let people: Vec<f64> = labelled.iter().map(|(_, label, _)| *label).collect();
    let judged: Vec<f64> = labelled.iter().map(|(.., verdict)| *verdict).collect();
    let questions: Vec<usize> = labelled.iter().map(|(unit, ..)| frame.question(&unit.case_id)).collect();
    let interval = || clustered_mean_intervals(&[&people], Some(&questions), frame.bca()).pop().flatten();
    let mean_of = PredictionPowered { human: &people, judge: &judged, unlabelled: &unlabelled };
    let powered = mean_of.mean(frame.options.confidence);
    let why = match (people.len(), unlabelled.len()) {
        (_, 0) => "every answer that was judged has a label",
        (_, 1) => "one answer without a label is too few",
        _ => "fewer than two labels",
    };
    Some(PoweredMean {
        judge: Arc::clone(&judge.name),
        human: Arc::clone(&human.name),
        system: system.clone(),
        labelled: people.len(),
        unlabelled: unlabelled.len(),
        labels_only: Estimate::new(mean(&people), interval, "no labels"),
        powered: Estimate::new(
            powered.map(|mean| mean.estimate),
            || powered.map(|mean| Interval { low: mean.interval.low, high: mean.interval.high }),
            why,
        ),
        lambda: powered.map(|mean| mean.lambda),
    })
}
