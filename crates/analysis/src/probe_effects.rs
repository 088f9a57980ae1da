//! The effects of a probe as numbers: what each perturbation changes in each headline metric.

use serde::Serialize;

use super::comparison::{MetricComparison, PairComparison, SystemMean};
use super::probe::{Probe, Probed, UNCHANGED};
use scholareval_core::domain::Unit;
use scholareval_core::text::perturbation::Perturbation;
use scholareval_stats::Interval;

/// What a perturbation changes in a metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProbeEffect {
    /// The perturbation.
    pub perturbation: Perturbation,
    /// The metric.
    pub metric: String,
    /// Its unit.
    pub unit: Unit,
    /// Answers that it changes.
    pub answers: usize,
    /// The mean of the answers before; `None` without a value.
    pub before: Option<f64>,
    /// Their mean after it.
    pub after: Option<f64>,
    /// After less before.
    pub difference: Option<f64>,
    /// Its interval, adjusted for all perturbations of the probe.
    pub interval: Option<Interval>,
    /// Two-sided p of no difference, adjusted alike; `None` for a single question.
    pub p: Option<f64>,
    /// Verdicts that differ, of `verdicts`.
    pub changed_verdicts: usize,
    /// Verdicts that were given before and after.
    pub verdicts: usize,
}

impl Probe {
    /// The effects on the headline metrics, perturbation by perturbation.
    pub fn effects(&self) -> Vec<ProbeEffect> {
        let mut effects = Vec::new();
        for probed in &self.perturbations {
            for id in &self.headline {
                let mut metrics = probed.comparison.metrics.iter();
                let metric = metrics.find(|metric| metric.metric == *id);
                effects.extend(metric.map(|metric| probed.effect(metric)));
            }
        }
        effects
    }
}

impl Probed {
    fn effect(&self, metric: &MetricComparison) -> ProbeEffect {
        let mean = |is_before: bool| probed_system(metric, is_before)?.mean;
        let pair = after_minus_before(metric);
        let mut verdicts = self.verdicts.iter();
        let verdicts = verdicts.find(|verdicts| verdicts.scorer == metric.metric.scorer);
        ProbeEffect {
            perturbation: self.perturbation,
            metric: metric.metric.name.clone(),
            unit: metric.metric.unit,
            answers: metric.cases.len(),
            before: mean(true),
            after: mean(false),
            difference: pair.as_ref().map(|pair| pair.difference),
            interval: pair.as_ref().and_then(|pair| pair.interval),
            p: pair.and_then(|pair| pair.p),
            changed_verdicts: verdicts.map_or(0, |verdicts| verdicts.changed),
            verdicts: verdicts.map_or(0, |verdicts| verdicts.total),
        }
    }
}

/// The mean of the unchanged (`is_before`) or of the perturbed answers.
pub fn probed_system(metric: &MetricComparison, is_before: bool) -> Option<&SystemMean> {
    let mut systems = metric.systems.iter();
    systems.find(|system| (system.label == UNCHANGED) == is_before)
}

/// The only pair of the metric. A comparison subtracts the lower from the higher mean, a probe what was before from what is after.
pub fn after_minus_before(metric: &MetricComparison) -> Option<PairComparison> {
    let pair = metric.pairs.first();
    let mut pair = pair.filter(|pair| pair.p.is_some())?.clone();
    if metric.systems[pair.first].label == UNCHANGED {
        // Not its negative: a difference of 0 stays without a sign.
        pair.difference = 0.0 - pair.difference;
        pair.interval = pair.interval.map(Interval::negated);
    }
    Some(pair)
}
