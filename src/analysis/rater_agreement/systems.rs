//! Orders systems by two raters' means and win rates.

use std::collections::BTreeMap;

use super::comparisons::Compared;
use super::result::{FEWEST_SYSTEMS, NO_ORDER, RankedSystem, Ranking, SystemWins, Wins};
use super::units::{Context, RatedByBoth};
use crate::analysis::ratings::{Estimate, distinct};
use crate::domain::SystemName;
use crate::stats::{Correlation, mean};

/// Two raters' values by system: means of ratings, or shares of wins.
pub(super) struct BySystem<'a> {
    /// In the order of their names.
    pub(super) systems: Vec<&'a SystemName>,
    rows: Vec<Row>,
    /// The question of each row.
    questions: Vec<usize>,
}

/// Contribution of one unit or comparison to a system's means.
struct Row {
    system: usize,
    x: f64,
    y: f64,
}

impl<'a> BySystem<'a> {
    fn new(values: impl Iterator<Item = (&'a SystemName, f64, f64, usize)>) -> Self {
        let values: Vec<_> = values.collect();
        let mut places: BTreeMap<&SystemName, usize> = values.iter().map(|(system, ..)| (*system, 0)).collect();
        places.values_mut().enumerate().for_each(|(at, place)| *place = at);
        Self {
            rows: values.iter().map(|(system, x, y, _)| Row { system: places[*system], x: *x, y: *y }).collect(),
            questions: values.iter().map(|(.., question)| *question).collect(),
            systems: places.into_keys().collect(),
        }
    }

    pub(super) fn of_ratings(shared: &RatedByBoth<'a>) -> Self {
        let values = |at: usize| (&shared.units[at].system, shared.x[at], shared.y[at], shared.questions[at]);
        Self::new((0..shared.units.len()).map(values))
    }

    /// Both values of every system, with weighted rows; `None` if a system is not drawn.
    fn means(&self, weights: &[u32]) -> Option<(Vec<f64>, Vec<f64>)> {
        let mut sums = vec![(0.0, 0.0, 0.0); self.systems.len()];
        for (row, weight) in self.rows.iter().zip(weights) {
            let (weight, sum) = (f64::from(*weight), &mut sums[row.system]);
            *sum = (sum.0 + weight * row.x, sum.1 + weight * row.y, sum.2 + weight);
        }
        let is_drawn = sums.iter().all(|(.., weight)| *weight > 0.0);
        is_drawn.then(|| sums.into_iter().map(|(x, y, weight)| (x / weight, y / weight)).unzip())
    }

    fn observed(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        self.means(&vec![1; self.rows.len()])
    }

    fn count(&self, system: usize) -> usize {
        self.rows.iter().filter(|row| row.system == system).count()
    }

    /// Kendall's tau-b of the two values; its interval resamples questions, which are its units.
    fn tau(&self, context: &Context<'_>, reason: &str) -> Estimate {
        if self.systems.len() < FEWEST_SYSTEMS {
            return Estimate::undefined(NO_ORDER);
        }
        let statistic = |weights: &[u32]| self.means(weights).and_then(|(x, y)| Correlation::KendallTauB.of(&x, &y));
        context.estimate(&self.questions, statistic, distinct(&self.questions), reason)
    }

    /// The systems in both orders.
    pub(super) fn ranking(&self, shared: &RatedByBoth<'_>) -> Option<Ranking> {
        let (x, y) = self.observed().filter(|(x, _)| x.len() >= 2)?;
        let rank = |means: &[f64], at: usize| 1 + means.iter().filter(|mean| **mean > means[at]).count();
        let ranked = |at: usize| RankedSystem {
            system: self.systems[at].clone(),
            n: self.count(at),
            first_mean: x[at],
            second_mean: y[at],
            first_rank: rank(&x, at),
            second_rank: rank(&y, at),
        };
        let mut systems: Vec<RankedSystem> = (0..x.len()).map(ranked).collect();
        systems.sort_by_key(|system| (system.second_rank, system.first_rank));
        let reason = shared.no_correlation(&x, &y);
        Some(Ranking { systems, kendall_tau_b: self.tau(shared.context, &reason) })
    }
}

/// The systems by win rate; `None` if neither rater compared answers explicitly.
pub(super) fn wins(shared: &RatedByBoth<'_>, compared: &[Compared<'_>], thresholds: [f64; 2]) -> Option<Wins> {
    if !compared.iter().any(Compared::is_outright) {
        return None;
    }
    // A tie is half a win for both.
    let share = |sign: i8, side: usize| f64::midpoint(1.0, f64::from(if side == 0 { sign } else { -sign }));
    let shares = BySystem::new(compared.iter().flat_map(|pair| {
        let [first, second] = pair.signs(thresholds);
        [0, 1].map(|side| (pair.systems[side], share(first, side), share(second, side), pair.question))
    }));
    let values: Vec<Option<f64>> =
        compared.iter().flat_map(|pair| [0, 1].map(|side| Some(pair.values?[side]))).collect();
    let first_means_second_wins = match values.iter().copied().collect::<Option<Vec<f64>>>() {
        Some(values) => {
            let rows = shares.rows.iter().zip(values).map(|(row, x)| Row { x, ..*row }).collect();
            let means = BySystem { systems: shares.systems.clone(), rows, questions: shares.questions.clone() };
            means.tau(shared.context, "the systems do not differ")
        }
        None => Estimate::undefined(format!("{} did not rate the answers", shared.first.rater.name)),
    };
    let (first, second) = shares.observed()?;
    let own_mean = |at: usize| {
        let own = shares.rows.iter().zip(&values).filter(|(row, _)| row.system == at);
        mean(&own.map(|(_, value)| *value).collect::<Option<Vec<f64>>>()?)
    };
    let system = |at: usize| SystemWins {
        system: shares.systems[at].clone(),
        n: shares.count(at),
        first_rate: first[at],
        second_rate: second[at],
        first_mean: own_mean(at),
    };
    let mut systems: Vec<SystemWins> = (0..first.len()).map(system).collect();
    systems.sort_by(|a, b| b.second_rate.total_cmp(&a.second_rate).then_with(|| a.system.cmp(&b.system)));
    Some(Wins {
        systems,
        kendall_tau_b: shares.tau(shared.context, "the systems do not differ"),
        first_means_second_wins,
    })
}
