//! Correlations and kappas of two raters on what both rated.

use std::collections::BTreeSet;

use super::result::{Estimate, FEWEST_FOR_INTERVAL, Measures};
use super::view::{Frame, Shared, View, distinct};
use crate::stats::{Correlation, Interval, KappaWeights, cohens_kappa, mean_pairwise_kappa_clustered_interval};

/// More distinct values than this are no categories (0 to 10 are eleven).
pub(super) const MOST_CATEGORIES: usize = 11;

impl Estimate {
    /// A number of `n` units with its interval, if they are enough for one; without a number, why.
    pub(super) fn new(estimate: Option<f64>, n: usize, interval: impl FnOnce() -> Option<Interval>, why: &str) -> Self {
        let Some(value) = estimate.filter(|value| value.is_finite()) else { return Self::undefined(why) };
        let interval = if n < FEWEST_FOR_INTERVAL { None } else { interval() };
        // Without a width it says only that no resample differed: every one of few pairs had the same outcome.
        let has_width = |interval: &Interval| interval.low < interval.high;
        let interval =
            interval.filter(|interval| interval.low.is_finite() && interval.high.is_finite()).filter(has_width);
        Self {
            estimate: Some(value),
            low: interval.map(|interval| interval.low),
            high: interval.map(|interval| interval.high),
            undefined: None,
        }
    }

    pub(super) fn undefined(why: &str) -> Self {
        Self { undefined: Some(why.to_owned()), ..Self::default() }
    }
}

/// Two raters whose shared units are measured.
#[derive(Clone, Copy)]
pub(super) struct Between<'a> {
    pub(super) first: &'a View,
    pub(super) second: &'a View,
    pub(super) frame: &'a Frame<'a>,
}

impl Between<'_> {
    /// Everything but the comparisons.
    pub(super) fn measures(self, shared: &[Shared<'_>]) -> Measures {
        let columns = Columns::new(shared);
        let correlation = |kind: Correlation| {
            let interval = || kind.clustered_interval(&columns.x, &columns.y, &columns.questions, self.frame.bca());
            let why = self.why_no_correlation(&columns.x, &columns.y);
            Estimate::new(kind.of(&columns.x, &columns.y), shared.len(), interval, &why)
        };
        let unusable = several_scales(shared);
        let correlated = |kind: Correlation| match &unusable {
            Some(why) => Estimate::undefined(why),
            None => correlation(kind),
        };
        Measures {
            n: shared.len(),
            questions: distinct(columns.questions.iter().copied()),
            pearson: correlated(Correlation::Pearson),
            spearman: correlated(Correlation::Spearman),
            kendall_tau_b: correlated(Correlation::KendallTauB),
            kappa: self.kappa(shared, &columns, KappaWeights::Unweighted),
            quadratic_kappa: self.kappa(shared, &columns, KappaWeights::Quadratic),
            comparisons: None,
        }
    }

    /// Why two lists have no correlation.
    pub(super) fn why_no_correlation(self, x: &[f64], y: &[f64]) -> String {
        let is_constant = |list: &[f64]| list.windows(2).all(|two| two[0] == two[1]);
        if x.len() < 2 {
            "fewer than two units rated by both".to_owned()
        } else if is_constant(x) {
            format!("{} gave all the same value", self.first.name)
        } else if is_constant(y) {
            format!("{} gave all the same value", self.second.name)
        } else {
            "not defined for these values".to_owned()
        }
    }

    fn kappa(self, shared: &[Shared<'_>], columns: &Columns, weights: KappaWeights) -> Estimate {
        if let Some(why) = self.not_one_scale(shared).or_else(|| several_scales(shared)) {
            return Estimate::undefined(&why);
        }
        let categories = distinct_values(columns.x.iter().chain(&columns.y).copied());
        if categories > MOST_CATEGORIES {
            return Estimate::undefined(&format!("{categories} distinct values are no categories"));
        }
        let (x, y) = (some(&columns.x), some(&columns.y));
        let why = if x.is_empty() { "nothing rated by both" } else { "all ratings are one value" };
        let interval =
            || mean_pairwise_kappa_clustered_interval(&[&x, &y], &columns.questions, weights, self.frame.bca());
        Estimate::new(cohens_kappa(&x, &y, weights), x.len(), interval, why)
    }

    /// Why values of the two cannot be compared one to one: a judge and a person, one within 0..=1, the other beyond.
    pub(super) fn not_one_scale(self, shared: &[Shared<'_>]) -> Option<String> {
        if self.first.kind == self.second.kind {
            return None;
        }
        let of = |value: fn(&Shared<'_>) -> f64| shared.iter().map(value).fold(f64::NEG_INFINITY, f64::max);
        scales_differ(&[(&self.first.name, of(|both| both.x)), (&self.second.name, of(|both| both.y))])
    }
}

/// Says who is on which scale where one rater's largest value is at most 1 and another's is above.
pub(super) fn scales_differ(largest: &[(&str, f64)]) -> Option<String> {
    let unit = largest.iter().find(|(_, most)| *most <= 1.0)?;
    let wide = largest.iter().find(|(_, most)| *most > 1.0)?;
    Some(format!("not on one scale: {} within 0..1, {} up to {}", unit.0, wide.0, wide.1))
}

/// Why items cannot be thrown together: one rater has items within 0..=1 and items beyond.
pub(super) fn several_scales(shared: &[Shared<'_>]) -> Option<String> {
    let mut most: std::collections::BTreeMap<&str, [f64; 2]> = std::collections::BTreeMap::new();
    for both in shared {
        let item = both.unit.item.as_deref()?;
        let own = most.entry(item).or_insert([f64::NEG_INFINITY; 2]);
        *own = [own[0].max(both.x), own[1].max(both.y)];
    }
    let mixed = |rater: usize| most.values().any(|own| own[rater] <= 1.0) && most.values().any(|own| own[rater] > 1.0);
    (mixed(0) || mixed(1)).then(|| "items on several scales: see each item".to_owned())
}

/// Shared units as lists.
pub(super) struct Columns {
    pub(super) x: Vec<f64>,
    pub(super) y: Vec<f64>,
    pub(super) questions: Vec<usize>,
}

impl Columns {
    pub(super) fn new(shared: &[Shared<'_>]) -> Self {
        Self {
            x: shared.iter().map(|both| both.x).collect(),
            y: shared.iter().map(|both| both.y).collect(),
            questions: shared.iter().map(|both| both.question).collect(),
        }
    }
}

pub(super) fn some(values: &[f64]) -> Vec<Option<f64>> {
    values.iter().copied().map(Some).collect()
}

pub(super) fn distinct_values(values: impl Iterator<Item = f64>) -> usize {
    values.map(f64::to_bits).collect::<BTreeSet<u64>>().len()
}
