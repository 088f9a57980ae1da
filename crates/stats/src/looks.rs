//! Looks at a study before its end: critical values that keep the level over all of them.
//!
//! K. K. G. Lan and D. L. DeMets (Biometrika 70, 1983): after the share t of the information a two-sided test may have spent
//! 4 (1 - Phi(z(1 - alpha / 4) / sqrt t)) of its level, almost nothing early (the shape of P. C. O'Brien and T. R. Fleming). The
//! critical value of each look spends what is new, given that no look before it decided.
//!
//! A mean difference at a look has a repeated interval: the estimate and as many errors on either side as the critical value
//! says (C. Jennison and B. W. Turnbull, Journal of the Royal Statistical Society B 51, 1989). It holds whenever the study
//! stops, and for whatever reason.

use statrs::distribution::{ContinuousCDF, Normal};

use super::bootstrap::Interval;
use super::distributions::{normal_quantile, t_quantile, t_two_sided};
use super::paired_difference::PairedDifference;
use super::paired_test::MetricValues;
use super::studentized::ClusteredSample;

/// Points of the grid over which the statistic's density is integrated (Simpson's rule): critical values to 1e-8.
const POINTS: usize = 201;
/// No critical value lies beyond it: two-sided probability 1e-18.
const FARTHEST: f64 = 9.0;

/// The critical values of a two-sided test at level `alpha`, one for each look; `fractions` are the shares of the information at the
/// looks, ascending, the last one 1.
///
/// `None` for no looks, fractions that do not ascend or do not lie in 0..=1, and an alpha outside 0..1.
///
/// ```
/// use scholareval_stats::critical_values;
///
/// // The published values for five equal steps: 4.877, 3.357, 2.680, 2.290, 2.031.
/// let values = critical_values(&[0.2, 0.4, 0.6, 0.8, 1.0], 0.05).expect("five looks");
/// assert!((values[0] - 4.877).abs() < 0.001 && (values[4] - 2.031).abs() < 0.001);
/// ```
pub fn critical_values(fractions: &[f64], alpha: f64) -> Option<Vec<f64>> {
    let ascends = fractions.windows(2).all(|pair| pair[0] < pair[1]);
    let is_within = fractions.first()? > &0.0 && fractions.last()? <= &1.0;
    let is_level = alpha > 0.0 && alpha < 1.0;
    if !ascends || !is_within || !is_level {
        return None;
    }
    let z = normal_quantile(1.0 - alpha / 4.0)?;
    let normal = Normal::standard();
    let mut density = Density::start();
    let mut spent = 0.0;
    let mut values = Vec::new();
    for fraction in fractions {
        let allowed = 4.0 * normal.sf(z / fraction.sqrt());
        let critical = density.critical(*fraction, allowed - spent);
        density = density.after(*fraction, critical);
        spent = allowed;
        values.push(critical);
    }
    Some(values)
}

/// The probability that a study whose statistic is `z` at this share of the information decides at its end, where the critical
/// value is `last`, if the difference is the one that is seen now (predictive probability).
pub fn predictive_probability(z: f64, fraction: f64, last: f64) -> f64 {
    if fraction >= 1.0 {
        return f64::from(u8::from(z.abs() >= last));
    }
    let shift = z.abs() / fraction.sqrt() - last;
    Normal::standard().cdf(shift / ((1.0 - fraction) / fraction).sqrt())
}

/// A mean difference between two systems at a look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LookEstimate {
    /// The difference.
    pub difference: f64,
    /// Its standard error over questions; 0 if all differences are equal.
    pub standard_error: f64,
    form: IntervalForm,
}

/// How the repeated interval is made.
#[derive(Debug, Clone, Copy, PartialEq)]
enum IntervalForm {
    /// Student's, with so many degrees of freedom.
    Student(f64),
    /// Wilson's, of differences of -width, 0 and width.
    Binary(PairedDifference),
    /// The only look, with the interval of its test.
    Only(Option<Interval>),
}

impl LookEstimate {
    /// A difference with its standard error, whose degrees of freedom are known.
    pub fn student(difference: f64, standard_error: f64, degrees: f64) -> Self {
        Self {
            difference,
            standard_error,
            form: IntervalForm::Student(degrees),
        }
    }

    /// A difference at the only look of a study: with the interval of its test.
    pub fn only(difference: f64, standard_error: f64, interval: Option<Interval>) -> Self {
        Self {
            difference,
            standard_error,
            form: IntervalForm::Only(interval),
        }
    }

    /// The mean of these differences; `clusters` gives the question of each. `None` for fewer than two questions.
    pub fn of(
        differences: &[f64],
        clusters: Option<&[usize]>,
        values: MetricValues,
    ) -> Option<Self> {
        let sample = ClusteredSample::new(&[differences], clusters)?;
        let form = match values {
            // The critical values were found to hold without pseudo-questions.
            MetricValues::ZeroOr(width) => {
                IntervalForm::Binary(PairedDifference::of(&sample, 0, width, 0.0))
            }
            MetricValues::Any | MetricValues::Within(_) | MetricValues::Corrected(_) => {
                IntervalForm::Student((sample.effective_clusters() - 1.0).max(1.0))
            }
        };
        Some(Self {
            difference: sample.means[0],
            standard_error: sample.errors[0],
            form,
        })
    }

    /// The same for a mean of two means, as one order of pairs has for its two places: each takes a degree of freedom.
    #[must_use]
    pub fn of_two_means(mut self) -> Self {
        if let IntervalForm::Student(degrees) = &mut self.form {
            *degrees = (*degrees - 1.0).max(1.0);
        }
        self
    }

    /// The repeated interval at a look with this critical value. `None` where equal differences give none.
    pub fn interval(&self, critical: f64) -> Option<Interval> {
        let side = Normal::standard().cdf(critical);
        match self.form {
            IntervalForm::Only(interval) => interval,
            IntervalForm::Binary(pair) => pair.interval(2.0 * side - 1.0),
            IntervalForm::Student(degrees) => {
                let t = t_quantile(side, degrees).filter(|_| self.standard_error > 0.0)?;
                Some(Interval::around(self.difference, t * self.standard_error))
            }
        }
    }

    /// The normal statistic of this difference from -`margin`, without its sign.
    pub fn z(&self, margin: f64) -> f64 {
        let distance = (self.difference + margin).abs();
        if distance == 0.0 {
            return 0.0;
        }
        if self.standard_error == 0.0 {
            return f64::INFINITY;
        }
        let t = distance / self.standard_error;
        let p = match self.form {
            IntervalForm::Student(degrees) => t_two_sided(t, degrees),
            IntervalForm::Binary(pair) => t_two_sided(t, pair.degrees()),
            IntervalForm::Only(_) => return t,
        };
        normal_quantile(1.0 - p / 2.0).unwrap_or(FARTHEST)
    }
}

/// The density of the score S = Z sqrt t at a look, where no look has decided: a grid of points with their weights.
struct Density {
    fraction: f64,
    /// The score and the probability that it stands for.
    points: Vec<(f64, f64)>,
}

impl Density {
    /// Before the first look the score is 0.
    fn start() -> Self {
        Self {
            fraction: 0.0,
            points: vec![(0.0, 1.0)],
        }
    }

    /// The probability that |Z| reaches `critical` at a later look.
    fn beyond(&self, fraction: f64, critical: f64) -> f64 {
        let normal = Normal::standard();
        let step = (fraction - self.fraction).sqrt();
        let end = critical * fraction.sqrt();
        let mut sum = 0.0;
        for (score, probability) in &self.points {
            let above = normal.sf((end - score) / step);
            let below = normal.cdf((-end - score) / step);
            sum += probability * (above + below);
        }
        sum
    }

    /// The critical value that this much probability lies beyond.
    fn critical(&self, fraction: f64, probability: f64) -> f64 {
        let mut low = 0.0;
        let mut high = FARTHEST;
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if self.beyond(fraction, middle) > probability {
                low = middle;
            } else {
                high = middle;
            }
        }
        f64::midpoint(low, high)
    }

    /// The density at a look that did not decide.
    fn after(&self, fraction: f64, critical: f64) -> Self {
        let step = (fraction - self.fraction).sqrt();
        let end = critical * fraction.sqrt();
        let width = 2.0 * end / (POINTS - 1) as f64;
        let mut points = Vec::with_capacity(POINTS);
        for at in 0..POINTS {
            let score = at as f64 * width - end;
            let mut density = 0.0;
            for (before, probability) in &self.points {
                let z = (score - before) / step;
                density += probability * (-z * z / 2.0).exp();
            }
            density /= step * std::f64::consts::TAU.sqrt();
            points.push((score, density * simpson(at) * width / 3.0));
        }
        Self { fraction, points }
    }
}

/// The weight of a point in Simpson's rule.
fn simpson(at: usize) -> f64 {
    if at == 0 || at == POINTS - 1 {
        1.0
    } else if at % 2 == 1 {
        4.0
    } else {
        2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_look_has_the_usual_critical_value() {
        let values = critical_values(&[1.0], 0.05).unwrap();
        assert!((values[0] - 1.959_964).abs() < 1e-5, "{values:?}");
    }

    #[test]
    fn a_repeated_interval_is_as_wide_as_its_critical_value_says() {
        let differences: Vec<f64> = (0..40).map(|at| f64::from(at % 5) / 10.0 - 0.1).collect();
        let estimate = LookEstimate::of(&differences, None, MetricValues::Any).unwrap();
        // Mean 0.1; deviations -2, -1, 0, 1, 2 tenths: sqrt(8 * 0.1 / 39 / 40).
        assert!((estimate.difference - 0.1).abs() < 1e-12);
        assert!((estimate.standard_error - (0.8_f64 / 39.0 / 40.0).sqrt()).abs() < 1e-12);
        let interval = estimate.interval(1.959_964).unwrap();
        let half = 2.022_691 * estimate.standard_error;
        assert!((interval.low - (0.1 - half)).abs() < 1e-7, "{interval:?}");
        let wide = estimate.interval(3.356_9).unwrap();
        assert!(wide.low < interval.low && wide.high > interval.high);
        // 38 degrees of freedom in place of 39.
        let of_two = estimate.of_two_means().interval(1.959_964).unwrap();
        assert!((of_two.high - (0.1 + 2.024_394 * estimate.standard_error)).abs() < 1e-7);
        // Equal differences have no error, and those of 0 and 1 an interval all the same.
        let equal = LookEstimate::of(&[0.0; 40], None, MetricValues::Any).unwrap();
        assert_eq!((equal.interval(2.0), equal.z(0.0)), (None, 0.0));
        let binary = LookEstimate::of(&[0.0; 40], None, MetricValues::ZeroOr(1.0)).unwrap();
        assert!(binary.interval(2.0).unwrap().high < 0.1);
        assert_eq!(LookEstimate::of(&[0.1], None, MetricValues::Any), None);
    }

    #[test]
    fn what_is_seen_at_a_look_predicts_the_end() {
        // Nothing is seen: 0 / sqrt 0.4 - 2.0311 = -2.0311, / sqrt(0.6 / 0.4) = -1.658: 4.9%.
        assert!((predictive_probability(0.0, 0.4, 2.0311) - 0.0486).abs() < 1e-3);
        // z = 1.2846 is what leads to the critical value exactly: a half.
        let half = predictive_probability(2.0311 * 0.4_f64.sqrt(), 0.4, 2.0311);
        assert!((half - 0.5).abs() < 1e-9);
        assert_eq!(predictive_probability(2.1, 1.0, 2.0311), 1.0);
    }

    #[test]
    fn looks_that_do_not_ascend_to_the_end_have_no_critical_values() {
        assert_eq!(critical_values(&[], 0.05), None);
        assert_eq!(critical_values(&[0.5, 0.5], 0.05), None);
        assert_eq!(critical_values(&[0.5, 1.5], 0.05), None);
        assert_eq!(critical_values(&[1.0], 0.0), None);
    }
}
