//! Judge noise.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::JudgeNoise;
use super::shared::SharedCases;
use crate::analysis::quantity::{Quantity, finite};
use crate::domain::{Component, ComponentKind, ScoredAnswer};
use crate::stats::{Judged, VarianceComponents, mean, variance_components};

/// Maximum points of a judge.
const MAX_POINTS: f64 = 10.0;

/// `None` without repeated samples or a second judge, and where they leave the components undetermined.
pub(super) fn judge_noise(shared: &SharedCases<'_>) -> Option<JudgeNoise> {
    let samples = Samples { shared, by_system: shared.table.samples.as_ref()? };
    let components = pooled((0..shared.participants).map(|rank| samples.of_system(rank)))?;
    let (judges, most) = samples.design();
    Some(JudgeNoise { judges, samples: most, standard_error: samples.standard_error(components.draw), components })
}

/// Numbers of samples, the own one among them, with the factor by which each changes the variance of a question's difference
/// between two systems (typical of the pairs). `None` without repeated samples.
pub(super) fn sample_factors(shared: &SharedCases<'_>) -> Option<Vec<(Option<usize>, f64)>> {
    let samples = Samples { shared, by_system: shared.table.samples.as_ref()? };
    let (judges, own) = samples.design();
    let between = pooled(shared.pairs().into_iter().map(|pair| samples.of_pair(pair)))?;
    let factor = |count: usize| between.of_question(judges, count) / between.of_question(judges, own);
    let counts = BTreeSet::from([1, 2, 5, own]);
    let factors: Vec<_> = counts.into_iter().map(|count| (Some(count), factor(count))).collect();
    (own > 1 && factors.iter().all(|(_, factor)| factor.is_finite())).then_some(factors)
}

/// The samples of the participants.
struct Samples<'a> {
    shared: &'a SharedCases<'a>,
    by_system: &'a [Vec<Vec<Vec<f64>>>],
}

impl Samples<'_> {
    /// The samples of an answer by judge.
    fn of_answer(&self, rank: usize, case: usize) -> &[Vec<f64>] {
        &self.by_system[self.shared.order[rank]][case]
    }

    /// The number of judges with a sample, and the most samples of one judge on an answer.
    fn design(&self) -> (usize, usize) {
        let (mut judges, mut draws) = (BTreeSet::new(), 0);
        for rank in 0..self.shared.participants {
            for case in &self.shared.by_id {
                let sampled = self.of_answer(rank, *case).iter().enumerate().filter(|(_, own)| !own.is_empty());
                for (judge, own) in sampled {
                    judges.insert(judge);
                    draws = draws.max(own.len());
                }
            }
        }
        (judges.len(), draws)
    }

    /// Every sample of a system, cases as questions.
    fn of_system(&self, rank: usize) -> Vec<Judged> {
        let mut values = Vec::new();
        for case in &self.shared.by_id {
            for (judge, samples) in self.of_answer(rank, *case).iter().enumerate() {
                values.extend(samples.iter().map(|value| Judged { question: *case, judge, value: *value }));
            }
        }
        values
    }

    /// Sample k of one system minus sample k of the other, by judge and question (the mean over its cases).
    fn of_pair(&self, (first, second): (usize, usize)) -> Vec<Judged> {
        let mut by_sample: BTreeMap<(usize, usize, usize), Vec<f64>> = BTreeMap::new();
        for (case, question) in self.shared.cases.iter().zip(&self.shared.questions) {
            let judges = self.of_answer(first, *case).iter().zip(self.of_answer(second, *case)).enumerate();
            for (judge, (own, other)) in judges {
                for (sample, (a, b)) in own.iter().zip(other).enumerate() {
                    by_sample.entry((*question, judge, sample)).or_default().push(a - b);
                }
            }
        }
        let value = |((question, judge, _), differences): ((usize, usize, usize), Vec<f64>)| {
            Some(Judged { question, judge, value: mean(&differences)? })
        };
        by_sample.into_iter().filter_map(value).collect()
    }

    /// The standard error of a system's mean from resampling the judge, averaged over systems (as a variance): variance / n
    /// times the mean over its n answers of 1 / samples.
    fn standard_error(&self, variance: f64) -> Option<f64> {
        let of_system = |rank: usize| {
            let counts = self.shared.by_id.iter().map(|case| self.of_answer(rank, *case).iter().map(Vec::len).sum());
            let shares: Vec<f64> = counts.filter(|count: &usize| *count > 0).map(|count| 1.0 / count as f64).collect();
            Some(variance * mean(&shares)? / shares.len() as f64)
        };
        let all: Vec<f64> = (0..self.shared.participants).filter_map(of_system).collect();
        mean(&all).map(f64::sqrt)
    }
}

/// The mean of each component over the samples that have it.
fn pooled(samples: impl Iterator<Item = Vec<Judged>>) -> Option<VarianceComponents> {
    let all: Vec<VarianceComponents> = samples.filter_map(|own| variance_components(&own)).collect();
    let over = |of: fn(&VarianceComponents) -> Option<f64>| mean(&all.iter().filter_map(of).collect::<Vec<_>>());
    Some(VarianceComponents {
        question: over(|parts| Some(parts.question))?,
        judge: over(|parts| parts.judge),
        question_judge: over(|parts| parts.question_judge),
        draw: over(|parts| Some(parts.draw))?,
    })
}

/// The values by judge: the quantity with sample k of that judge in every judged component. Samples that do not give
/// the whole quantity are dropped. Adds new judges to `judges`, in the order of the result.
pub(in crate::analysis) fn sample_values(
    quantity: &Quantity,
    answer: &ScoredAnswer,
    judges: &mut Vec<Arc<str>>,
) -> Vec<Vec<f64>> {
    let components: Vec<&Component> = quantity.components(answer).collect();
    let members = || components.iter().filter_map(|part| answer.members.get(&*part.name)).flatten();
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
fn component_value(component: &Component, answer: &ScoredAnswer, judge: &Arc<str>, sample: usize) -> Option<f64> {
    let Some(members) = answer.members.get(&*component.name) else { return finite(component.value) };
    let number = (*members.iter().find(|member| member.judge == *judge)?.draws.get(sample)?)?;
    match component.kind {
        ComponentKind::Property | ComponentKind::Expertise => Some(number / MAX_POINTS),
        ComponentKind::Evidence => snippets(component, answer).map(|snippets| (number / snippets).min(1.0)),
        ComponentKind::Citations | ComponentKind::Aspect | ComponentKind::Criterion => Some(number),
        // A custom scorer's conversion of verdicts to values is unknown here.
        ComponentKind::Length | ComponentKind::Excerpts | ComponentKind::Share | ComponentKind::Count => None,
    }
}

/// Number of a criterion's snippets: from the rubric, or from the component's text if the run has no inputs.
fn snippets(component: &Component, answer: &ScoredAnswer) -> Option<f64> {
    let of_criterion = component.name.strip_suffix("_evidence");
    let criteria = &answer.case.rubric.criteria;
    let by_rubric = criteria.iter().rev().find(|criterion| Some(criterion.name.as_str()) == of_criterion);
    let by_text = || component.text.split_whitespace().next()?.parse::<usize>().ok();
    let count = by_rubric.map(|criterion| criterion.snippets.len()).or_else(by_text)?;
    (count > 0).then_some(count as f64)
}
