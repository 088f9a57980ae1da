//! The value of a metric in each sample of a judge.

use std::sync::Arc;

use crate::analysis::quantity::{Quantity, finite};
use crate::domain::{Component, ComponentKind, ScoredAnswer};
use crate::stats::mean;

/// Judges give points from 0 to this.
const MAX_POINTS: f64 = 10.0;

/// The values by judge: the quantity with sample k of that judge in every judged component. Samples that do not give the
/// whole quantity are left out. Adds new judges to `judges`, whose order the result has.
pub(super) fn sample_values(quantity: &Quantity, answer: &ScoredAnswer, judges: &mut Vec<Arc<str>>) -> Vec<Vec<f64>> {
    let components: Vec<&Component> = quantity.components(answer).collect();
    let members = || components.iter().filter_map(|part| answer.members.get(part.name.as_str())).flatten();
    for member in members() {
        if !judges.contains(&member.judge) {
            judges.push(Arc::clone(&member.judge));
        }
    }
    let of_judge = |judge: &Arc<str>| {
        let samples = members().filter(|member| member.judge == *judge).map(|member| member.draws.len()).max();
        let value = |sample: usize| {
            let values = components.iter().map(|part| component_value(part, answer, judge, sample));
            fold(quantity, &components, &values.collect::<Option<Vec<f64>>>()?, answer.score.ann_divisor)
        };
        (0..samples.unwrap_or(0)).filter_map(value).collect()
    };
    judges.iter().map(of_judge).collect()
}

fn fold(quantity: &Quantity, components: &[&Component], values: &[f64], ann_divisor: f64) -> Option<f64> {
    let weighted = || components.iter().zip(values).map(|(part, value)| part.weight * value).sum::<f64>();
    finite(match quantity {
        Quantity::Score => Some(weighted()),
        Quantity::AnnScore => (ann_divisor > 0.0).then(|| weighted() / ann_divisor),
        Quantity::Component(_) => values.first().copied(),
        Quantity::Mean(names) => mean(values).filter(|_| values.len() == names.len()),
    })
}

/// The component's value in that sample; what was not sampled (counted, or behind a closed gate) keeps its value.
fn component_value(component: &Component, answer: &ScoredAnswer, judge: &Arc<str>, sample: usize) -> Option<f64> {
    let Some(members) = answer.members.get(component.name.as_str()) else { return finite(component.value) };
    let number = (*members.iter().find(|member| member.judge == *judge)?.draws.get(sample)?)?;
    match component.kind {
        ComponentKind::Property | ComponentKind::Expertise => Some(number / MAX_POINTS),
        ComponentKind::Evidence => snippets(component, answer).map(|snippets| (number / snippets).min(1.0)),
        ComponentKind::Citations | ComponentKind::Aspect => Some(number),
        // How a custom scorer turns a verdict into a value is unknown here.
        ComponentKind::Length | ComponentKind::Excerpts | ComponentKind::Share | ComponentKind::Count => None,
    }
}

/// How many snippets a criterion has: by the rubric, or by the component's text if the run has no inputs.
fn snippets(component: &Component, answer: &ScoredAnswer) -> Option<f64> {
    let of_criterion = component.name.strip_suffix("_evidence");
    let criteria = &answer.case.rubric.criteria;
    let by_rubric = criteria.iter().rev().find(|criterion| Some(criterion.name.as_str()) == of_criterion);
    let by_text = || component.text.split_whitespace().next()?.parse::<usize>().ok();
    let count = by_rubric.map(|criterion| criterion.snippets.len()).or_else(by_text)?;
    (count > 0).then_some(count as f64)
}
