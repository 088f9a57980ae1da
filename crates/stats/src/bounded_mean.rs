//! Means within a range: Wilson's interval around a center that knows the ends of the range.
//!
//! Wilson's interval (E. B. Wilson, JASA 22, 1927) is that of a proportion p over as many 0/1 values as have its standard error,
//! with a t quantile. Values that are nearly all at one end of their range show too little of their spread: questions that would
//! be at the other end are rare, and few samples have one. So k pseudo-questions of mean size at either end enter center and error,
//! in the manner of A. Agresti and B. A. Coull ("Approximate is better than `exact`", The American Statistician 52, 1998). With m
//! the mean over q questions and e its standard error:
//!
//! - center = (q m + k (low + high)) / (q + 2 k),
//! - error^2 = (q^2 e^2 + k ((high - m)^2 + (m - low)^2)) / (q + 2 k)^2.

use super::bootstrap::Interval;
use super::distributions::{t_quantile, t_two_sided};

/// Pseudo-questions at either end of the range of a mean.
// With a tenth means near an end are held by 95% of the intervals and more, and none is wider by more than a sixth
// (docs/metrics.md).
pub(super) const ENDS_OF_MEAN: f64 = 0.1;

/// A mean of values within a range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct BoundedMean {
    estimate: f64,
    range: Interval,
    /// As a share of the range.
    center: f64,
    /// The same of the standard error of the center.
    error: f64,
    degrees: f64,
}

impl BoundedMean {
    /// The mean with its standard error, over so many questions that are worth `effective` equally large ones, with `ends`
    /// pseudo-questions at either end of the range.
    pub(super) fn new(
        [estimate, error]: [f64; 2],
        range: Interval,
        [questions, effective]: [f64; 2],
        ends: f64,
    ) -> Self {
        let width = range.high - range.low;
        let mean = ((estimate - range.low) / width).clamp(0.0, 1.0);
        let to_ends = ends * (mean * mean + (1.0 - mean) * (1.0 - mean));
        let all = questions + 2.0 * ends;
        Self {
            estimate,
            range,
            center: (questions * mean + ends) / all,
            error: ((questions * error / width).powi(2) + to_ends).sqrt() / all,
            // Two clusters of very different size are worth less than two: at least one degree of freedom.
            degrees: (effective - 1.0).max(1.0),
        }
    }

    /// Degrees of freedom of its t.
    pub(super) fn degrees(&self) -> f64 {
        self.degrees
    }

    /// Wilson's interval, which holds the estimate. `None` without an error, for a range of one point, and a level outside 0..1.
    pub(super) fn interval(&self, level: f64) -> Option<Interval> {
        let t = t_quantile(f64::midpoint(1.0, level), self.degrees)?;
        let variance = self.center * (1.0 - self.center);
        let square = (t * self.error).powi(2);
        let sum = variance + square;
        let middle = (self.center * variance + square / 2.0) / sum;
        let half = (square * (variance * variance + square / 4.0)).sqrt() / sum;
        let estimate = self.snapped(self.estimate);
        // The center of equal values lies inside of the range, and their mean at its end.
        let interval = Interval::new(
            self.on_range(middle - half).min(estimate),
            self.on_range(middle + half).max(estimate),
        );
        (self.error > 0.0 && interval.low < interval.high).then_some(interval)
    }

    /// Two-sided p of a mean of `null`: below 1 - level exactly if the interval excludes it.
    pub(super) fn p(&self, null: f64) -> f64 {
        let Interval { low, high } = self.range;
        if (self.estimate - null).abs() <= 1e-12 * (high - low) {
            return 1.0;
        }
        let null = (null - low) / (high - low);
        // The interval ends where the center is t standard errors of a share of `null` from it. At an end of the range and beyond it
        // there is no such error: then any other mean excludes it.
        let variance = self.center * (1.0 - self.center);
        let ratio = variance / (null * (1.0 - null));
        let square = ((self.center - null) / self.error).powi(2) * ratio;
        if square.is_finite() && square >= 0.0 {
            t_two_sided(square.sqrt(), self.degrees)
        } else {
            0.0
        }
    }

    fn on_range(&self, share: f64) -> f64 {
        self.snapped(self.range.low + (self.range.high - self.range.low) * share)
    }

    /// The value; one that differs from an end of the range by rounding is that end, since 1e-17 in a file reads as a number.
    fn snapped(&self, value: f64) -> f64 {
        let Interval { low, high } = self.range;
        let slack = 1e-12 * (high - low);
        if (value - low).abs() <= slack {
            low
        } else if (value - high).abs() <= slack {
            high
        } else {
            value
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARE: Interval = Interval {
        low: 0.0,
        high: 1.0,
    };

    #[test]
    fn equal_values_by_hand() {
        // 20 of 20: center 20.1 / 20.2 = 0.99505, error sqrt(0.1) / 20.2 = 0.015655, t = 2.093: with v = 0.004926 and
        // s = (t error)^2 = 0.0010736 the lower end is (0.99505 v + s / 2 - sqrt(s (v^2 + s / 4))) / (v + s) = 0.8130.
        let mean = BoundedMean::new([1.0, 0.0], SHARE, [20.0, 20.0], ENDS_OF_MEAN);
        let interval = mean.interval(0.95).unwrap();
        assert!((interval.low - 0.8130).abs() < 1e-4, "{interval:?}");
        assert_eq!(interval.high, 1.0);
        let none = BoundedMean::new([0.0, 0.0], SHARE, [20.0, 20.0], ENDS_OF_MEAN);
        let interval = none.interval(0.95).unwrap();
        assert!(interval.low == 0.0 && (interval.high - 0.1870).abs() < 1e-4);
        assert_eq!((none.p(0.0), mean.p(0.0)), (1.0, 0.0));
    }

    #[test]
    fn without_ends_it_is_wilsons() {
        // 15 of 20 as 0/1 values: n = 20 where the error is sqrt(p (1 - p) / 20); (15 + t^2 / 2) / (20 + t^2) is the middle.
        let error = (0.75_f64 * 0.25 / 20.0).sqrt();
        let mean = BoundedMean::new([0.75, error], SHARE, [20.0, 20.0], 0.0);
        let interval = mean.interval(0.95).unwrap();
        let square = t_quantile(0.975, 19.0).unwrap().powi(2);
        let middle = (15.0 + square / 2.0) / (20.0 + square);
        assert!((f64::midpoint(interval.low, interval.high) - middle).abs() < 1e-12);
        // p is 5% at the ends.
        assert!((mean.p(interval.low) - 0.05).abs() < 1e-9);
        assert!((mean.p(interval.high) - 0.05).abs() < 1e-9);
    }

    #[test]
    fn an_end_within_rounding_of_the_range_is_its_end_and_an_estimate_beyond_is_held() {
        let rounded = BoundedMean::new([1.0 + 2e-16, 0.0], SHARE, [9.0, 9.0], ENDS_OF_MEAN);
        assert_eq!(rounded.interval(0.95).unwrap().high, 1.0);
        let tiny = BoundedMean::new([1e-18, 1e-18], SHARE, [9.0, 9.0], ENDS_OF_MEAN);
        assert_eq!(tiny.interval(0.95).unwrap().low, 0.0);
        // A prediction-powered mean is not bounded by the range of the labels.
        let beyond = BoundedMean::new([1.02, 0.01], SHARE, [30.0, 30.0], ENDS_OF_MEAN);
        let interval = beyond.interval(0.95).unwrap();
        assert!(interval.high == 1.02 && interval.low > 0.75, "{interval:?}");
    }
}
