//! Ratings of units by several raters, and their agreement coefficients.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::stats::{
    BootstrapOptions, Interval, KappaWeights, MeasurementLevel, icc_2_1, krippendorff_alpha,
    krippendorff_alpha_interval, mean_pairwise_kappa, mean_pairwise_kappa_interval,
};

/// A value with its interval, or the reason why it is undefined.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Estimate {
    /// The value; never NaN.
    pub estimate: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// Why it is undefined.
    pub undefined: Option<String>,
}

impl Estimate {
    /// A finite value with its interval; otherwise the reason.
    pub(crate) fn new(
        estimate: Option<f64>,
        interval: impl FnOnce() -> Option<Interval>,
        reason: impl Into<String>,
    ) -> Self {
        let Some(value) = estimate.filter(|value| value.is_finite()) else { return Self::undefined(reason) };
        let interval = interval().filter(|interval| interval.low.is_finite() && interval.high.is_finite());
        let (low, high) = interval.map(|interval| (interval.low, interval.high)).unzip();
        Self { estimate: Some(value), low, high, undefined: None }
    }

    /// An undefined value.
    pub(crate) fn undefined(reason: impl Into<String>) -> Self {
        Self { undefined: Some(reason.into()), ..Self::default() }
    }

    /// Undefined for the given reason, if any, else the estimate.
    pub(crate) fn unless(reason: Option<&String>, estimate: impl FnOnce() -> Self) -> Self {
        reason.map_or_else(estimate, Self::undefined)
    }

    /// The interval of the value.
    pub fn interval(&self) -> Option<Interval> {
        self.low.zip(self.high).map(|(low, high)| Interval { low, high })
    }

    /// Drops a meaningless interval: with fewer than `fewest` units resamples repeat one another, and an interval of
    /// zero width only shows that all resamples were equal.
    pub(crate) fn with_units(self, n: usize, fewest: usize) -> Self {
        if n >= fewest && self.low < self.high { self } else { Self { low: None, high: None, ..self } }
    }
}

/// Ratings of units by raters.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ratings {
    /// One row per rater, one column per unit; `None` for a missing rating.
    pub(crate) rows: Vec<Vec<Option<f64>>>,
    /// The question of each unit. Intervals resample questions, with all their units.
    pub(crate) questions: Vec<usize>,
}

impl Ratings {
    /// Ratings of two raters who rated every unit.
    pub(crate) fn of_two(x: &[f64], y: &[f64], questions: &[usize]) -> Self {
        let row = |values: &[f64]| values.iter().copied().map(Some).collect();
        Self { rows: vec![row(x), row(y)], questions: questions.to_vec() }
    }

    /// Indices of the units with at least this many ratings.
    pub(crate) fn rated_by(&self, raters: usize) -> Vec<usize> {
        let count = |unit: &usize| self.rows.iter().filter(|row| row[*unit].is_some()).count();
        (0..self.questions.len()).filter(|unit| count(unit) >= raters).collect()
    }

    /// Number of distinct values.
    pub(crate) fn distinct_values(&self) -> usize {
        self.rows.iter().flatten().flatten().map(|value| value.to_bits()).collect::<BTreeSet<u64>>().len()
    }

    /// Krippendorff's alpha over the units with at least two ratings.
    pub(crate) fn alpha(&self, level: MeasurementLevel, options: BootstrapOptions) -> Estimate {
        let rows = self.slices();
        let interval = || krippendorff_alpha_interval(&rows, &self.questions, level, options);
        Estimate::new(krippendorff_alpha(&rows, level), interval, self.no_variation())
    }

    /// Mean of Cohen's kappa over pairs of raters, and the number of pairs with a kappa.
    pub(crate) fn kappa(&self, weights: KappaWeights, options: BootstrapOptions) -> (Estimate, usize) {
        let rows = self.slices();
        let kappa = mean_pairwise_kappa(&rows, weights);
        let interval = || mean_pairwise_kappa_interval(&rows, &self.questions, weights, options);
        let estimate = Estimate::new(kappa.map(|kappa| kappa.mean), interval, self.no_variation());
        (estimate, kappa.map_or(0, |kappa| kappa.defined))
    }

    /// ICC(2,1) over the units that all rated, with its interval by the F distribution.
    pub(crate) fn icc(&self, confidence: f64) -> Estimate {
        let icc = icc_2_1(&self.slices(), confidence);
        let reason = "fewer than two units rated by all, or all ratings are one value";
        Estimate::new(icc.map(|icc| icc.value), || icc.and_then(|icc| icc.interval), reason)
    }

    fn no_variation(&self) -> &'static str {
        if self.rated_by(2).is_empty() { "no unit has two ratings" } else { "all ratings are one value" }
    }

    fn slices(&self) -> Vec<&[Option<f64>]> {
        self.rows.iter().map(Vec::as_slice).collect()
    }
}

/// Number of distinct questions.
pub(crate) fn distinct<'a>(questions: impl IntoIterator<Item = &'a usize>) -> usize {
    questions.into_iter().collect::<BTreeSet<_>>().len()
}
