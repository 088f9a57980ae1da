//! Samples of judges: the values of a metric in each, and what other numbers of samples would change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::shared::SharedCases;
use crate::analysis::quantity::{Quantity, finite};
use crate::domain::{Component, ComponentKind, ScoredAnswer};
use crate::stats::{Judged, VarianceComponents, mean, variance_components};

/// Maximum points of a judge.
const MAX_POINTS: f64 = 10.0;

/// Numbers of samples, the own one among them, with the factor by which each changes the variance of a question's difference
/// between two systems (the mean over pairs). `None` without repeated samples.
pub(super) fn sample_factors(shared: &SharedCases<'_>) -> Option<Vec<(Option<usize>, f64)>> {
    let by_system = shared.table.samples.as_ref()?;
    let of_answer =
        |rank: usize, case: &usize| by_system[shared.order[rank]][*case].iter().enumerate();
    let answers =
        (0..shared.participants).flat_map(|rank| shared.by_id.iter().map(move |case| (rank, case)));
    let counts = answers
        .flat_map(|(rank, case)| of_answer(rank, case).map(|(judge, own)| (judge, own.len())));
    let counts: Vec<(usize, usize)> = counts.filter(|(_, count)| *count > 0).collect();
    let judges = counts
        .iter()
        .map(|(judge, _)| judge)
        .collect::<BTreeSet<_>>()
        .len();
    let own = counts
        .iter()
        .map(|(_, count)| *count)
        .max()
        .filter(|most| *most > 1)?;
    // Sample k of one system minus sample k of the other, by judge and question (the mean over its cases).
    let of_pair = |(first, second): (usize, usize)| {
        let mut by_sample: BTreeMap<(usize, usize, usize), Vec<f64>> = BTreeMap::new();
        for (case, question) in shared.cases.iter().zip(&shared.questions) {
            for ((judge, own), (_, other)) in of_answer(first, case).zip(of_answer(second, case)) {
                for (sample, (a, b)) in own.iter().zip(other).enumerate() {
                    by_sample
                        .entry((*question, judge, sample))
                        .or_default()
                        .push(a - b);
                }
            }
        }
        let value = |((question, judge, _), differences): ((usize, usize, usize), Vec<f64>)| {
            Some(Judged {
                question,
                judge,
                value: mean(&differences)?,
            })
        };
        variance_components(&by_sample.into_iter().filter_map(value).collect::<Vec<_>>())
    };
    let components: Vec<VarianceComponents> =
        shared.pairs().into_iter().filter_map(of_pair).collect();
    let variance = |count: usize| {
        mean(
            &components
                .iter()
                .map(|own| own.of_question(judges, count))
                .collect::<Vec<_>>(),
        )
    };
    let factor = |count: usize| Some((Some(count), variance(count)? / variance(own)?));
    let factors = BTreeSet::from([1, 2, 5, own])
        .into_iter()
        .map(factor)
        .collect::<Option<Vec<_>>>()?;
    factors
        .iter()
        .all(|(_, factor)| factor.is_finite())
        .then_some(factors)
}

/// The values by judge: the quantity with sample k of that judge in every judged component. Samples that do not give
/// the whole quantity are dropped. Adds new judges to `judges`, in the order of the result.
pub(in crate::analysis) fn sample_values(
    quantity: &Quantity,
    answer: &ScoredAnswer,
    judges: &mut Vec<Arc<str>>,
) -> Vec<Vec<f64>> {
    let components: Vec<&Component> = quantity.components(answer).collect();
    let members = || {
        components
            .iter()
            .filter_map(|part| answer.members.get(&*part.name))
            .flatten()
    };
    for member in members() {
        if !judges.contains(&member.judge) {
            judges.push(Arc::clone(&member.judge));
        }
    }
    let of_judge = |judge: &Arc<str>| {
        let samples = members()
            .filter(|member| member.judge == *judge)
            .map(|member| member.samples.len())
            .max();
        let value = |sample: usize| {
            let values = components
                .iter()
                .map(|part| component_value(part, answer, judge, sample));
            fold(
                quantity,
                &components,
                &values.collect::<Option<Vec<f64>>>()?,
                answer.score.ann_divisor,
            )
        };
        (0..samples.unwrap_or(0)).filter_map(value).collect()
    };
    judges.iter().map(of_judge).collect()
}

fn fold(
    quantity: &Quantity,
    components: &[&Component],
    values: &[f64],
    ann_divisor: f64,
) -> Option<f64> {
    let weighted = || {
        components
            .iter()
            .zip(values)
            .map(|(part, value)| part.weight * value)
            .sum::<f64>()
    };
    finite(match quantity {
        Quantity::Score => Some(weighted()),
        Quantity::AnnScore => (ann_divisor > 0.0).then(|| weighted() / ann_divisor),
        Quantity::Tag(_) => {
            let positive: f64 = components.iter().map(|part| part.weight.max(0.0)).sum();
            (positive > 0.0).then(|| weighted() / positive)
        }
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
    let number = (*members
        .iter()
        .find(|member| member.judge == *judge)?
        .samples
        .get(sample)?)?;
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
        | ComponentKind::Count => None,
    }
}

/// Number of a criterion's snippets: from the rubric, or from the component's text if the run has no inputs.
fn snippets(component: &Component, answer: &ScoredAnswer) -> Option<f64> {
    let of_criterion = component.name.strip_suffix("_evidence");
    let criteria = &answer.case.rubric.criteria;
    let by_rubric = criteria
        .iter()
        .rev()
        .find(|criterion| Some(criterion.name.as_str()) == of_criterion);
    let by_text = || {
        component
            .text
            .split_whitespace()
            .next()?
            .parse::<usize>()
            .ok()
    };
    let count = by_rubric
        .map(|criterion| criterion.snippets.len())
        .or_else(by_text)?;
    (count > 0).then_some(count as f64)
}
