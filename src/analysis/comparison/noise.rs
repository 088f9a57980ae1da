//! How noisy the judge is, and what it takes to find a difference nevertheless.

use std::collections::{BTreeMap, BTreeSet};

use super::shared::{SAME, Shared};
use super::{JudgeNoise, SamplesNeeded};
use crate::stats::{
    Judged, JudgingPlan, VarianceComponents, WantedDifference, cases_needed, detectable_difference, mean,
    variance_components,
};

/// `None` without repeated samples or a second judge, and where they leave the components undetermined.
pub(super) fn judge_noise(shared: &Shared<'_>) -> Option<JudgeNoise> {
    let samples = Samples { shared, by_system: shared.table.samples.as_ref()? };
    let of_systems = (0..shared.participants).filter_map(|rank| variance_components(&samples.of_system(rank)));
    let components = pooled(&of_systems.collect::<Vec<_>>())?;
    let plan = samples.plan();
    let of_pairs = shared.pairs().into_iter().filter_map(|pair| variance_components(&samples.of_pair(pair)));
    // The same judges judge both systems: how much they differ overall is no noise of the comparison.
    let between =
        pooled(&of_pairs.collect::<Vec<_>>()).map(|components| VarianceComponents { judge: None, ..components });
    let spread = between.and_then(|parts| parts.of_a_question(plan)).map(f64::sqrt).filter(|spread| *spread > 0.0);
    Some(JudgeNoise {
        judges: plan.judges,
        samples: plan.draws,
        standard_error: samples.standard_error(components.draw),
        detectable: spread.and_then(|spread| detectable_difference(spread, plan.questions, shared.power())),
        needed: between.and_then(|parts| needed(shared, &parts, plan)),
        components,
    })
}

/// The samples of the participants.
struct Samples<'a> {
    shared: &'a Shared<'a>,
    by_system: &'a [Vec<Vec<Vec<f64>>>],
}

impl Samples<'_> {
    /// The samples of an answer by judge.
    fn of_answer(&self, rank: usize, case: usize) -> &[Vec<f64>] {
        &self.by_system[self.shared.order[rank]][case]
    }

    /// How much was asked: questions of the shared cases, judges with a sample, the most samples by one judge of an answer.
    fn plan(&self) -> JudgingPlan {
        let has_any = |case: usize| {
            (0..self.shared.participants).any(|rank| self.of_answer(rank, case).iter().any(|own| !own.is_empty()))
        };
        let seen = self.shared.cases.iter().zip(&self.shared.questions).filter(|(case, _)| has_any(**case));
        let questions: BTreeSet<&usize> = seen.map(|(_, question)| question).collect();
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
        JudgingPlan { questions: questions.len(), judges: judges.len(), draws }
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
        let mut cells: BTreeMap<(usize, usize), Vec<Vec<f64>>> = BTreeMap::new();
        for (case, question) in self.shared.cases.iter().zip(&self.shared.questions) {
            let judges = self.of_answer(first, *case).iter().zip(self.of_answer(second, *case)).enumerate();
            for (judge, (own, other)) in judges {
                let differences: Vec<f64> = own.iter().zip(other).map(|(a, b)| a - b).collect();
                if !differences.is_empty() {
                    cells.entry((*question, judge)).or_default().push(differences);
                }
            }
        }
        let mut values = Vec::new();
        for ((question, judge), cases) in cells {
            let samples = cases.iter().map(Vec::len).min().unwrap_or(0);
            let over_cases = |sample: usize| mean(&cases.iter().map(|own| own[sample]).collect::<Vec<_>>());
            values.extend((0..samples).filter_map(over_cases).map(|value| Judged { question, judge, value }));
        }
        values
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

/// The mean of each component over those that have it.
fn pooled(all: &[VarianceComponents]) -> Option<VarianceComponents> {
    let over = |of: fn(&VarianceComponents) -> Option<f64>| mean(&all.iter().filter_map(of).collect::<Vec<_>>());
    Some(VarianceComponents {
        question: over(|parts| Some(parts.question))?,
        judge: over(|parts| parts.judge),
        question_judge: over(|parts| parts.question_judge),
        draw: over(|parts| Some(parts.draw))?,
        balanced: all.iter().all(|parts| parts.balanced),
        questions: all.iter().map(|parts| parts.questions).max()?,
        judges: all.iter().map(|parts| parts.judges).max()?,
    })
}

/// What the wanted difference needs, else that of the best pair: samples on these questions, questions with these samples.
/// Both by the t test, so that they agree with the smallest detectable difference.
fn needed(shared: &Shared<'_>, parts: &VarianceComponents, plan: JudgingPlan) -> Option<SamplesNeeded> {
    // The two best or, with a baseline, it and the best other one.
    let best = shared.pairs().first().copied()?;
    let of_best = || Some(mean(&shared.values[best.0])? - mean(&shared.values[best.1])?);
    let difference = shared.options.wanted_difference.or_else(of_best)?.abs();
    if difference <= SAME || !difference.is_finite() {
        return None;
    }
    // As the standard error of a mean with which these questions find the difference.
    let in_units = detectable_difference(1.0, plan.questions, shared.power());
    let wanted = in_units.map(|unit| difference / unit / (plan.questions as f64).sqrt());
    let spread = parts.of_a_question(plan).map(f64::sqrt);
    Some(SamplesNeeded {
        difference,
        pair: shared.options.wanted_difference.is_none().then_some(best),
        samples: wanted.and_then(|wanted| parts.draws_needed(plan, wanted)),
        questions: spread.and_then(|sd| cases_needed(WantedDifference { difference, sd }, shared.power())),
    })
}
