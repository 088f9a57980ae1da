//! Ratings of units by several raters, and their agreement coefficients.

use std::collections::BTreeSet;

use serde::Serialize;

use scholareval_stats::{Coefficient, Interval};

/// Fewest units (answers, items, pairs; for orders of systems, questions) for an interval.
pub(crate) const FEWEST_FOR_INTERVAL: usize = 10;
/// Range of a share.
pub(crate) const SHARE: Interval = Interval::new(0.0, 1.0);

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
    /// The units that it rests on: answers, items, pairs or, of orders, systems; of a mean over raters the fewest of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n: Option<usize>,
}

impl Estimate {
    /// A finite value with its interval; otherwise the reason.
    pub fn new(
        estimate: Option<f64>,
        interval: impl FnOnce() -> Option<Interval>,
        reason: impl Into<String>,
    ) -> Self {
        let Some(value) = estimate.filter(|value| value.is_finite()) else {
            return Self::undefined(reason);
        };
        let ends = interval().map(|interval| (interval.low, interval.high));
        let (low, high) = ends
            .filter(|(low, high)| low.is_finite() && high.is_finite())
            .unzip();
        Self {
            estimate: Some(value),
            low,
            high,
            ..Self::default()
        }
    }

    /// An undefined value.
    pub fn undefined(reason: impl Into<String>) -> Self {
        Self {
            undefined: Some(reason.into()),
            ..Self::default()
        }
    }

    /// Undefined for the given reason, if any, else the estimate.
    pub fn unless(reason: Option<&String>, estimate: impl FnOnce() -> Self) -> Self {
        reason.map_or_else(estimate, Self::undefined)
    }

    /// The interval of the value.
    pub fn interval(&self) -> Option<Interval> {
        let ends = self.low.zip(self.high);
        ends.map(|(low, high)| Interval { low, high })
    }

    /// Drops an interval from fewer than [`FEWEST_FOR_INTERVAL`] units, and one of zero width, which only shows that all
    /// resamples are equal.
    pub(crate) fn with_units(mut self, n: usize) -> Self {
        self.n = Some(n);
        // A single point comes from units that never disagree, of which there are too few to prove
        // it: not an interval.
        if n < FEWEST_FOR_INTERVAL || self.low >= self.high {
            (self.low, self.high) = (None, None);
        }
        self
    }
}

/// Ratings of units by raters.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ratings {
    /// One row per rater, one column per unit; `None` for a missing rating.
    pub rows: Vec<Vec<Option<f64>>>,
    /// The question of each unit. Intervals take questions with all their units.
    pub questions: Vec<usize>,
}

impl Ratings {
    /// Ratings of two raters who rated every unit.
    pub(crate) fn of_two(x: &[f64], y: &[f64], questions: &[usize]) -> Self {
        let x = x.iter().copied().map(Some).collect();
        let y = y.iter().copied().map(Some).collect();
        Self {
            rows: vec![x, y],
            questions: questions.to_vec(),
        }
    }

    /// Outcomes of pairs (1, 0 or -1) with each pair in both orders, so that nothing depends on which system is first.
    pub(crate) fn in_both_orders(mut self) -> Self {
        for row in &mut self.rows {
            // `0.0 -` and not a minus sign, which makes a tie -0.0, another category.
            let other_order = row.clone().into_iter();
            row.extend(other_order.map(|outcome| outcome.map(|outcome| 0.0 - outcome)));
        }
        self.questions.extend_from_within(..);
        self
    }

    /// Indices of the units with at least this many ratings.
    pub(crate) fn rated_by(&self, raters: usize) -> Vec<usize> {
        let mut units = Vec::new();
        for unit in 0..self.questions.len() {
            let rated = self.rows.iter().filter(|row| row[unit].is_some());
            if rated.count() >= raters {
                units.push(unit);
            }
        }
        units
    }

    /// Number of distinct values.
    pub(crate) fn distinct_values(&self) -> usize {
        let values = self.rows.iter().flatten().flatten();
        let distinct: BTreeSet<u64> = values.map(|value| value.to_bits()).collect();
        distinct.len()
    }

    /// The coefficient, or why it is undefined.
    pub(crate) fn estimate(&self, coefficient: Coefficient, confidence: f64) -> Estimate {
        let rows: Vec<&[Option<f64>]> = self.rows.iter().map(Vec::as_slice).collect();
        let reason = match coefficient {
            Coefficient::Icc => "fewer than two units rated by all, or all ratings are one value",
            _ if self.rated_by(2).is_empty() => "no unit has two ratings",
            _ => "all ratings are one value",
        };
        let interval = || coefficient.interval(&rows, &self.questions, confidence);
        Estimate::new(coefficient.of(&rows), interval, reason)
    }
}

/// Number of distinct questions.
pub(crate) fn distinct<'a>(questions: impl IntoIterator<Item = &'a usize>) -> usize {
    questions.into_iter().collect::<BTreeSet<_>>().len()
}
