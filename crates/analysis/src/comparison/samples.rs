//! Samples of judges: the values of a metric in each, and what other numbers of samples would change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::shared::SharedCases;
use crate::quantity::{Quantity, finite};
use scholareval_core::domain::{Component, ComponentKind, Score, ScoredAnswer};
use scholareval_stats::{Judged, VarianceComponents, mean, variance_components};

/// Maximum points of a judge.
const MAX_POINTS: f64 = 10.0;

/// Numbers of samples, that of the run among them, with the factor by which each changes the variance of a question's difference
/// between two systems (the mean over pairs). `None` without repeated samples, and where verdicts are votes of their samples: the
/// noise of a vote is not that of a mean.
pub(super) fn sample_factors(shared: &SharedCases<'_>) -> Option<Vec<(Option<usize>, f64)>> {
    if shared.table.votes {
        return None;
    }
    let samples = Samples {
        shared,
        by_system: shared.table.samples.as_ref()?,
    };
    let (judges, samples_now) = samples.judges_and_samples();
    // One sample does not show how much another one would differ.
    if samples_now < 2 {
        return None;
    }
    let pairs = shared.pairs().into_iter();
    let components = pairs.filter_map(|pair| samples.variance_of_difference(pair));
    let components: Vec<VarianceComponents> = components.collect();
    let today = mean_variance(&components, judges, samples_now);
    let mut factors = Vec::new();
    for count in BTreeSet::from([1, 2, 5, samples_now]) {
        let factor = mean_variance(&components, judges, count)? / today?;
        if !factor.is_finite() {
            return None;
        }
        factors.push((Some(count), factor));
    }
    Some(factors)
}

/// The variance of a question's difference with so many samples of each judge, as the mean over the pairs of systems.
fn mean_variance(components: &[VarianceComponents], judges: usize, samples: usize) -> Option<f64> {
    let pairs = components.iter();
    let variances = pairs.map(|component| component.of_question(judges, samples));
    mean(&variances.collect::<Vec<_>>())
}

/// The samples of a metric by system, case and judge.
struct Samples<'a> {
    shared: &'a SharedCases<'a>,
    by_system: &'a [Vec<Vec<Vec<f64>>>],
}

impl Samples<'_> {
    /// The samples of the answer of the system at this rank, by judge.
    fn of_answer(&self, rank: usize, case: usize) -> &[Vec<f64>] {
        &self.by_system[self.shared.order[rank]][case]
    }

    /// The number of judges with samples, and the most samples of an answer by one of them.
    fn judges_and_samples(&self) -> (usize, usize) {
        let mut judges = BTreeSet::new();
        let mut most = 0;
        for rank in 0..self.shared.participants {
            for case in &self.shared.by_id {
                for (judge, samples) in self.of_answer(rank, *case).iter().enumerate() {
                    if !samples.is_empty() {
                        judges.insert(judge);
                        most = most.max(samples.len());
                    }
                }
            }
        }
        (judges.len(), most)
    }

    /// The components of the variance between two systems, from sample k of one minus sample k of the other, by judge and
    /// question (the mean over its cases).
    fn variance_of_difference(
        &self,
        (first, second): (usize, usize),
    ) -> Option<VarianceComponents> {
        let mut by_sample: BTreeMap<(usize, usize, usize), Vec<f64>> = BTreeMap::new();
        for (case, question) in self.shared.cases.iter().zip(&self.shared.questions) {
            let [own, other] = [first, second].map(|rank| self.of_answer(rank, *case));
            for (judge, (own_samples, other_samples)) in own.iter().zip(other).enumerate() {
                for (sample, (a, b)) in own_samples.iter().zip(other_samples).enumerate() {
                    let differences = by_sample.entry((*question, judge, sample)).or_default();
                    differences.push(a - b);
                }
            }
        }
        let mut judged = Vec::new();
        for ((question, judge, _), differences) in by_sample {
            if let Some(value) = mean(&differences) {
                judged.push(Judged {
                    question,
                    judge,
                    value,
                });
            }
        }
        variance_components(&judged)
    }
}

/// The values by judge: the quantity with sample k of that judge in every judged component. Samples that do not give
/// the whole quantity are dropped. Adds new judges to `judges`, in the order of the result.
pub(crate) fn sample_values(
    quantity: &Quantity,
    answer: &ScoredAnswer,
    judges: &mut Vec<Arc<str>>,
) -> Vec<Vec<f64>> {
    let components: Vec<&Component> = quantity.components(answer).collect();
    // The number of samples by judge: of the component with the most.
    let mut samples: Vec<usize> = vec![0; judges.len()];
    let parts = components.iter();
    let members = parts.filter_map(|part| answer.members.get(&*part.name));
    for member in members.flatten() {
        let known = judges.iter().position(|judge| *judge == member.judge);
        let at = known.unwrap_or_else(|| {
            judges.push(Arc::clone(&member.judge));
            samples.push(0);
            judges.len() - 1
        });
        samples[at] = samples[at].max(member.fair_samples().len());
    }
    let mut by_judge = Vec::new();
    for (judge, count) in judges.iter().zip(samples) {
        let value = |sample| sample_value(quantity, &components, answer, judge, sample);
        by_judge.push((0..count).filter_map(value).collect());
    }
    by_judge
}

/// The quantity with one sample of a judge in every judged component; `None` if that sample of a component is missing.
fn sample_value(
    quantity: &Quantity,
    components: &[&Component],
    answer: &ScoredAnswer,
    judge: &Arc<str>,
    sample: usize,
) -> Option<f64> {
    let mut values = Vec::new();
    for component in components {
        values.push(component_value(component, answer, judge, sample)?);
    }
    fold(quantity, components, &values, &answer.score)
}

/// The quantity with these values of its components.
fn fold(
    quantity: &Quantity,
    components: &[&Component],
    values: &[f64],
    score: &Score,
) -> Option<f64> {
    let parts = components.iter().zip(values);
    let weighted: f64 = parts.map(|(part, value)| part.weight * value).sum();
    finite(match quantity {
        Quantity::Score => Some(score.cut(weighted)),
        Quantity::AnnScore => (score.ann_divisor > 0.0).then_some(weighted / score.ann_divisor),
        Quantity::Tag(_) => {
            let positive: f64 = components.iter().map(|part| part.weight.max(0.0)).sum();
            (positive > 0.0).then(|| score.cut(weighted / positive))
        }
        // A sample is a level; what its probabilities say is not kept.
        Quantity::Expected | Quantity::ExpectedComponent(_) => None,
        Quantity::Component(_) => values.first().copied(),
        Quantity::Mean(names) => mean(values).filter(|_| values.len() == names.len()),
    })
}

/// The component's value in that sample; components without samples (counted, or behind a closed gate) keep their
/// value.
fn component_value(
    component: &Component,
    answer: &ScoredAnswer,
    judge: &Arc<str>,
    sample: usize,
) -> Option<f64> {
    let Some(members) = answer.members.get(&*component.name) else {
        return finite(component.value);
    };
    let member = members.iter().find(|member| member.judge == *judge)?;
    let number = (*member.fair_samples().get(sample)?)?;
    match component.kind {
        ComponentKind::Property | ComponentKind::Expertise => Some(number / MAX_POINTS),
        ComponentKind::Evidence => {
            snippets(component, answer).map(|snippets| (number / snippets).min(1.0))
        }
        ComponentKind::Citations | ComponentKind::Aspect | ComponentKind::Criterion => Some(number),
        // A custom scorer's conversion of verdicts to values is unknown here.
        ComponentKind::Length
        | ComponentKind::Excerpts
        | ComponentKind::Share
        | ComponentKind::Net
        | ComponentKind::Count => None,
    }
}

/// Number of a criterion's snippets: from the rubric, or from the component's text if the run has no inputs.
fn snippets(component: &Component, answer: &ScoredAnswer) -> Option<f64> {
    let of_criterion = component.name.strip_suffix("_evidence");
    let mut criteria = answer.case.rubric.criteria.iter().rev();
    let by_rubric = criteria.find(|criterion| Some(criterion.name.as_str()) == of_criterion);
    let count = match by_rubric {
        Some(criterion) => criterion.snippets.len(),
        None => component.text.split_whitespace().next()?.parse().ok()?,
    };
    (count > 0).then_some(count as f64)
}
