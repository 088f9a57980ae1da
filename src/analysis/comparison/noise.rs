//! How noisy the judge is, and what it takes to find a difference all the same.

use std::collections::BTreeMap;

use super::compare::Shared;
use super::{DrawsNeeded, JudgeNoise};
use crate::stats::{
    Judged, JudgingPlan, PowerTarget, VarianceComponents, WantedDifference, cases_needed, detectable_difference, mean,
    variance_components,
};

/// `None` without repeated draws or a second judge, and where they leave the components undetermined.
pub(super) fn judge_noise(shared: &Shared<'_>) -> Option<JudgeNoise> {
    let draws = Draws::of(shared)?;
    let of_systems: Vec<VarianceComponents> =
        (0..shared.taking_part).filter_map(|place| variance_components(&draws.values(place))).collect();
    let components = pooled(&of_systems)?;
    let plan = JudgingPlan { questions: draws.questions_seen(), judges: draws.judges(), draws: draws.most() };
    let differences = draws.differences();
    let target = PowerTarget { alpha: shared.options.alpha, ..PowerTarget::default() };
    // The judges there are judge both systems and stay: how they differ on the whole is no noise of the comparison.
    let between = differences.as_ref().map(|parts| VarianceComponents { judge: None, ..*parts });
    let spread = between.and_then(|parts| parts.of_a_question(plan)).map(f64::sqrt).filter(|spread| *spread > 0.0);
    let detectable = spread.and_then(|spread| detectable_difference(spread, plan.questions, target));
    Some(JudgeNoise {
        judges: plan.judges,
        draws: plan.draws,
        draw_standard_error: draws.standard_error(components.draw),
        detectable,
        needed: between.and_then(|parts| needed(shared, &parts, plan, target)),
        components,
    })
}

/// The draws of the systems that take part.
struct Draws<'a> {
    shared: &'a Shared<'a>,
    by_system: &'a [Vec<Vec<Vec<f64>>>],
}

impl<'a> Draws<'a> {
    fn of(shared: &'a Shared<'a>) -> Option<Self> {
        Some(Self { shared, by_system: shared.observed.draws.as_ref()? })
    }

    /// Of a system by its place, of a case by its place in the table: draws by judge.
    fn answer(&self, place: usize, case: usize) -> &[Vec<f64>] {
        &self.by_system[self.shared.order[place]][case]
    }

    fn answers(&self) -> impl Iterator<Item = &[Vec<f64>]> {
        let cases = &self.shared.by_id;
        (0..self.shared.taking_part).flat_map(move |place| cases.iter().map(move |case| self.answer(place, *case)))
    }

    /// Judges with a draw.
    fn judges(&self) -> usize {
        let most = self.answers().map(<[Vec<f64>]>::len).max().unwrap_or(0);
        (0..most).filter(|judge| self.answers().any(|own| own.get(*judge).is_some_and(|d| !d.is_empty()))).count()
    }

    /// The most draws that a judge made of an answer.
    fn most(&self) -> usize {
        self.answers().flatten().map(Vec::len).max().unwrap_or(0)
    }

    /// Every draw of a system, cases as questions.
    fn values(&self, place: usize) -> Vec<Judged> {
        let mut values = Vec::new();
        for case in &self.shared.by_id {
            for (judge, draws) in self.answer(place, *case).iter().enumerate() {
                values.extend(draws.iter().map(|value| Judged { question: *case, judge, value: *value }));
            }
        }
        values
    }

    /// The standard error of a system's mean that drawing anew brings, averaged over systems (as a variance): draw / n
    /// times the mean over its n answers of 1 / draws.
    fn standard_error(&self, variance: f64) -> Option<f64> {
        let of_system = |place: usize| {
            let counts = self.shared.by_id.iter().map(|case| self.answer(place, *case).iter().map(Vec::len).sum());
            let shares: Vec<f64> = counts.filter(|count: &usize| *count > 0).map(|count| 1.0 / count as f64).collect();
            Some(variance * mean(&shares)? / shares.len() as f64)
        };
        let all: Vec<f64> = (0..self.shared.taking_part).filter_map(of_system).collect();
        mean(&all).map(f64::sqrt)
    }

    /// Questions of the shared cases with draws of any system.
    fn questions_seen(&self) -> usize {
        let has_draws = |case: &usize| {
            (0..self.shared.taking_part).any(|place| self.answer(place, *case).iter().any(|draws| !draws.is_empty()))
        };
        let cases = self.shared.cases.iter().zip(&self.shared.questions).filter(|(case, _)| has_draws(case));
        let mut questions: Vec<usize> = cases.map(|(_, question)| *question).collect();
        questions.sort_unstable();
        questions.dedup();
        questions.len()
    }

    /// The components of the differences of two systems, averaged over the pairs: draw k of one minus draw k of the other,
    /// by judge and question (the mean over its cases).
    fn differences(&self) -> Option<VarianceComponents> {
        let compared =
            |place: usize| self.shared.options.baseline.as_ref().is_none_or(|l| self.shared.label(place) == l);
        let mut of_pairs = Vec::new();
        for first in 0..self.shared.taking_part {
            for second in first + 1..self.shared.taking_part {
                if compared(first) || compared(second) {
                    of_pairs.extend(variance_components(&self.of_pair(first, second)));
                }
            }
        }
        pooled(&of_pairs)
    }

    fn of_pair(&self, first: usize, second: usize) -> Vec<Judged> {
        let mut cells: BTreeMap<(usize, usize), Vec<Vec<f64>>> = BTreeMap::new();
        for (case, question) in self.shared.cases.iter().zip(&self.shared.questions) {
            let judges = self.answer(first, *case).iter().zip(self.answer(second, *case)).enumerate();
            for (judge, (own, other)) in judges {
                let differences: Vec<f64> = own.iter().zip(other).map(|(a, b)| a - b).collect();
                if !differences.is_empty() {
                    cells.entry((*question, judge)).or_default().push(differences);
                }
            }
        }
        let mut values = Vec::new();
        for ((question, judge), cases) in cells {
            let draws = cases.iter().map(Vec::len).min().unwrap_or(0);
            let over_cases = |draw: usize| mean(&cases.iter().map(|own| own[draw]).collect::<Vec<_>>());
            values.extend((0..draws).filter_map(over_cases).map(|value| Judged { question, judge, value }));
        }
        values
    }
}

/// The mean of each component; of those that not all know, over those that do.
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

/// The two best or, with a baseline, it and the best other one; the better one first.
fn best_pair(shared: &Shared<'_>) -> Option<(usize, usize)> {
    if shared.taking_part < 2 {
        return None;
    }
    let Some(baseline) = &shared.options.baseline else { return Some((0, 1)) };
    let place = (0..shared.taking_part).find(|place| shared.label(*place) == baseline)?;
    Some(if place == 0 { (0, 1) } else { (0, place) })
}

/// For the wanted difference, else for that of the best pair: draws on these questions, questions with these draws. Both by
/// the t test, so that they agree with the smallest difference that is found.
fn needed(
    shared: &Shared<'_>,
    parts: &VarianceComponents,
    plan: JudgingPlan,
    target: PowerTarget,
) -> Option<DrawsNeeded> {
    let (first, second) = best_pair(shared)?;
    let of_best = || Some(mean(shared.values.get(first)?)? - mean(shared.values.get(second)?)?);
    let difference = shared.options.wanted_difference.or_else(of_best)?.abs();
    if difference <= super::compare::SAME || !difference.is_finite() {
        return None;
    }
    // The spread over questions with which n of them find it; as the standard error of a mean.
    let in_units = detectable_difference(1.0, plan.questions, target);
    let wanted = in_units.map(|unit| difference / unit / (plan.questions as f64).sqrt());
    let spread = parts.of_a_question(plan).map(f64::sqrt);
    Some(DrawsNeeded {
        difference,
        pair: shared.options.wanted_difference.is_none().then_some((first, second)),
        draws: wanted.and_then(|wanted| parts.draws_needed(plan, wanted)),
        questions: spread.and_then(|sd| cases_needed(WantedDifference { difference, sd }, target)),
    })
}
