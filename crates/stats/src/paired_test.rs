//! What the tests of pairs of systems give.

use serde::Serialize;

use super::bootstrap::Interval;

/// How p values and intervals were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PairedMethod {
    /// Bootstrap-t over questions.
    BootstrapT,
    /// Sign flips of the questions' differences.
    SignFlip,
    /// Wilson's interval, for differences of a metric with a range.
    Wilson,
    /// Student's t, for differences of corrected values.
    Student,
}

/// What the values of a metric can be.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub enum MetricValues {
    /// Any numbers.
    #[default]
    Any,
    /// Numbers within a range of this width, so that a difference lies between minus this number and this number.
    Within(f64),
    /// 0 or this number, so that a difference is minus this number, 0, or this number.
    ZeroOr(f64),
    /// Any numbers, corrected by so many verdicts of a dear judge ([`corrected_values`](super::corrected_values)).
    Corrected(usize),
}

impl MetricValues {
    /// What linear combinations of such values can be: the positive weights add to `weight`, the negative ones to as much. Of a
    /// difference of means over several systems it is 1.
    #[must_use]
    pub fn combined(self, weight: f64) -> Self {
        match self {
            Self::ZeroOr(width) | Self::Within(width) => Self::Within(weight * width),
            other => other,
        }
    }
}

/// The pairs of a metric.
#[derive(Debug, Clone, PartialEq)]
pub struct PairedFamily {
    /// The method of all pairs.
    pub method: PairedMethod,
    /// The pairs, in the given order.
    pub pairs: Vec<PairedTest>,
    /// The |t| above which a difference is significant at 1 - level. `None` where no difference can be significant.
    pub critical: Option<f64>,
    /// The smallest adjusted p that these differences can give; of a bootstrap of several pairs 1 / (resamples + 1).
    pub smallest_p: f64,
}

/// A pair of systems.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairedTest {
    /// How p and intervals were made.
    pub method: PairedMethod,
    /// Mean difference over the cases.
    pub difference: f64,
    /// Its standard error over questions (CR2); 0 if all differences are equal.
    pub standard_error: f64,
    /// Two-sided p, adjusted for all pairs.
    pub p: f64,
    /// Two-sided p of this pair alone.
    pub pointwise_p: f64,
    /// Simultaneous interval: with probability `level` those of all pairs hold their differences. It excludes 0 exactly if
    /// `p` is below 1 - level. `None` if it is unbounded, or without a standard error.
    pub interval: Option<Interval>,
    /// The interval of this pair alone.
    pub pointwise: Option<Interval>,
}
