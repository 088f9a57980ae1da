//! Systems by the means of two raters.

use std::collections::BTreeMap;

use super::comparisons::credit;
use super::measures::Between;
use super::result::{Estimate, Measures, PairAgreement, RankedSystem, Ranking};
use super::view::{Shared, distinct};
use crate::domain::{Preferred, SystemName};
use crate::stats::{Correlation, bca_clustered_interval};

/// Shared units by system: each unit's system as a number.
pub(super) struct BySystem<'a> {
    pub(super) systems: Vec<&'a SystemName>,
    of_unit: Vec<usize>,
    shared: &'a [Shared<'a>],
    questions: Vec<usize>,
}

impl<'a> BySystem<'a> {
    pub(super) fn new(shared: &'a [Shared<'a>]) -> Self {
        let mut places: BTreeMap<&SystemName, usize> = shared.iter().map(|both| (&both.unit.system, 0)).collect();
        places.values_mut().enumerate().for_each(|(at, place)| *place = at);
        Self {
            of_unit: shared.iter().map(|both| places[&both.unit.system]).collect(),
            systems: places.into_keys().collect(),
            shared,
            questions: shared.iter().map(|both| both.question).collect(),
        }
    }

    /// Both raters' means of every system with each unit taken as often as its weight says; `None` where a system is
    /// not drawn at all.
    fn means(&self, weights: &[u32]) -> Option<(Vec<f64>, Vec<f64>)> {
        let mut sums = vec![(0.0, 0.0, 0.0); self.systems.len()];
        for ((both, system), weight) in self.shared.iter().zip(&self.of_unit).zip(weights) {
            let (weight, sum) = (f64::from(*weight), &mut sums[*system]);
            *sum = (sum.0 + weight * both.x, sum.1 + weight * both.y, sum.2 + weight);
        }
        if sums.iter().any(|(.., weight)| *weight == 0.0) {
            return None;
        }
        Some(sums.into_iter().map(|(x, y, weight)| (x / weight, y / weight)).unzip())
    }

    pub(super) fn observed(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        self.means(&vec![1; self.shared.len()])
    }

    /// A number made of the means; its interval draws questions, which are its units.
    fn estimate(
        &self,
        between: Between<'_>,
        why: &str,
        statistic: impl Fn(&[f64], &[f64]) -> Option<f64> + Sync,
    ) -> Estimate {
        let of = |weights: &[u32]| self.means(weights).and_then(|(x, y)| statistic(&x, &y));
        let interval = || bca_clustered_interval(&self.questions, of, between.frame.bca());
        Estimate::new(of(&vec![1; self.shared.len()]), distinct(self.questions.iter().copied()), interval, why)
    }

    fn correlation(&self, between: Between<'_>, kind: Correlation) -> Estimate {
        let (x, y) = self.observed().unwrap_or_default();
        self.estimate(between, &between.why_no_correlation(&x, &y), |x, y| kind.of(x, y))
    }

    /// The measures at the level of systems: a unit is a system, its value a mean.
    pub(super) fn measures(&self, between: Between<'_>) -> Measures {
        let no_categories = || Estimate::undefined("means are no categories");
        Measures {
            n: self.systems.len(),
            questions: distinct(self.questions.iter().copied()),
            pearson: self.correlation(between, Correlation::Pearson),
            spearman: self.correlation(between, Correlation::Spearman),
            kendall_tau_b: self.correlation(between, Correlation::KendallTauB),
            kappa: no_categories(),
            quadratic_kappa: no_categories(),
            comparisons: self.comparisons(between),
        }
    }

    /// Agreement on which of two systems has the higher mean.
    fn comparisons(&self, between: Between<'_>) -> Option<PairAgreement> {
        let thresholds = between.given_thresholds();
        let outcomes = |x: &[f64], y: &[f64]| -> Vec<(i8, i8)> {
            let pairs = (0..x.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
            let sign = |list: &[f64], (a, b), threshold| Preferred::of_difference(list[a] - list[b], threshold).sign();
            pairs.map(|pair| (sign(x, pair, thresholds[0]), sign(y, pair, thresholds[1]))).collect()
        };
        let (x, y) = self.observed()?;
        let observed = outcomes(&x, &y);
        if observed.is_empty() {
            return None;
        }
        let rate = |counts: fn(&(i8, i8)) -> bool, credit: fn(&(i8, i8)) -> f64| {
            self.estimate(between, "every pair is a tie for one of the two", move |x, y| {
                let kept: Vec<f64> = outcomes(x, y).iter().filter(|both| counts(both)).map(credit).collect();
                crate::stats::mean(&kept)
            })
        };
        let strict: fn(&(i8, i8)) -> f64 = |both| f64::from(u8::from(both.0 == both.1));
        let decided: fn(&(i8, i8)) -> bool = |both| both.0 != 0 && both.1 != 0;
        Some(PairAgreement {
            n: observed.len(),
            questions: distinct(self.questions.iter().copied()),
            first_ties: observed.iter().filter(|both| both.0 == 0).count(),
            second_ties: observed.iter().filter(|both| both.1 == 0).count(),
            strict: rate(|_| true, strict),
            half_credit: rate(|_| true, |both| credit(both.0, both.1)),
            decided: observed.iter().filter(|both| decided(both)).count(),
            decided_agreement: rate(decided, strict),
            kappa: Estimate::undefined("means are no categories"),
        })
    }

    /// The systems in both orders.
    pub(super) fn ranking(&self, between: Between<'_>) -> Option<Ranking> {
        let (x, y) = self.observed()?;
        if x.len() < 2 {
            return None;
        }
        let rank = |means: &[f64], at: usize| 1 + means.iter().filter(|mean| **mean > means[at]).count();
        let mut systems: Vec<RankedSystem> = (0..x.len())
            .map(|at| RankedSystem {
                system: self.systems[at].clone(),
                n: self.of_unit.iter().filter(|of| **of == at).count(),
                first_mean: x[at],
                second_mean: y[at],
                first_rank: rank(&x, at),
                second_rank: rank(&y, at),
            })
            .collect();
        systems.sort_by_key(|system| (system.second_rank, system.first_rank));
        Some(Ranking { systems, kendall_tau_b: self.correlation(between, Correlation::KendallTauB) })
    }
}
