//! Number of questions that a paired comparison needs, from the spread of the differences in a pilot study.

use statrs::distribution::{ChiSquared, ContinuousCDF, Normal};

use super::bootstrap::{BootstrapOptions, Interval};
use super::distributions::t_quantile;
use super::paired::FEWEST_QUESTIONS;
use super::paired_test::MetricValues;
use super::studentized::ClusteredSample;

/// Power of a planned study.
// The convention of study planning since Cohen; `what a set can resolve` uses the same.
const POWER: f64 = 0.8;

/// The probability with which the true variance is below the limit that studies are planned by (R. H. Browne, "On the use of a
/// pilot sample for sample size determination", Statistics in Medicine 14, 1995).
// A pilot's variance is below the true one more often than not, and a study planned by it falls short of its power. In simulations
// (docs/metrics.md) this limit makes studies reach it on average; 80%, which Browne asks for, would add a tenth of the questions.
const ASSURANCE: f64 = 0.6;

/// How much the differences of pairs vary between questions, measured by a pilot study. The observed differences themselves
/// have no part in it.
#[derive(Debug, Clone, PartialEq)]
pub struct PilotSpread {
    /// Variance of the difference in one question, by pair; 0 if all differences are equal.
    pub variances: Vec<f64>,
    /// The factors of a variance within which its true value lies with probability `level`, if differences are normal.
    pub range: Interval,
    /// The factor of the largest variance that studies are planned by: of a single pair the one below which its true value lies
    /// with probability 60%, if differences are normal; of several pairs 1.
    pub upper: f64,
    /// The probability of a single pair beyond the critical value, on one side: Bonferroni's share of the level.
    tail: f64,
    /// What the values of the metric can be, which decides how pairs are tested.
    values: MetricValues,
}

impl PilotSpread {
    /// The pairs' differences over the same cases, `clusters` their questions, as in [`paired_family`](super::paired_family).
    ///
    /// Pairs share the level as Bonferroni says. The critical value of the largest |t| of counts is a little smaller than that.
    ///
    /// `None` where `paired_family` is, and if all differences of every pair are equal.
    ///
    /// ```
    /// use scholareval_stats::{BootstrapOptions, MetricValues, PilotSpread};
    ///
    /// let differences = [0.3, -0.1, 0.2, -0.2, 0.1, 0.0];
    /// let pilot = PilotSpread::new(&[&differences], None, MetricValues::Any, BootstrapOptions::seeded(1));
    /// let pilot = pilot.expect("six questions");
    /// // Half of the difference takes four times the questions.
    /// let [one, half] = [0.05, 0.025].map(|difference| pilot.questions_for(difference, pilot.variances[0]));
    /// assert!((3.9..4.1).contains(&(half as f64 / one as f64)));
    /// ```
    pub fn new(
        differences: &[&[f64]],
        clusters: Option<&[usize]>,
        values: MetricValues,
        options: BootstrapOptions,
    ) -> Option<Self> {
        let sample = ClusteredSample::new(differences, clusters).filter(|_| options.is_usable())?;
        if sample.errors.iter().all(|error| *error == 0.0) {
            return None;
        }
        let n = sample.clusters() as f64;
        let spread = ChiSquared::new(n - 1.0).ok()?;
        let [low, high] = [1.0, -1.0]
            .map(|side| (n - 1.0) / spread.inverse_cdf(0.5 + side * options.level / 2.0));
        let variances = sample
            .errors
            .iter()
            // From the error over questions and not from the values: several cases of one question
            // count as the one question that they are.
            .map(|error| n * error * error)
            .collect();
        Some(Self {
            variances,
            range: Interval { low, high },
            // The largest of several is above the true value more often than not.
            upper: if differences.len() > 1 {
                1.0
            } else {
                (n - 1.0) / spread.inverse_cdf(1.0 - ASSURANCE)
            },
            tail: options.alpha() / 2.0 / differences.len() as f64,
            values,
        })
    }

    /// Questions with which a difference in mean is significant with 80% power: at least 20, and as [`questions_for`] says.
    pub fn questions_for(&self, difference: f64, variance: f64) -> usize {
        let sd = (variance * self.inflation(difference)).sqrt();
        questions_for(difference, [sd, sd], self.tail).max(FEWEST_QUESTIONS)
    }

    /// The test of metrics with a range of width w multiplies t by sqrt(1 - (difference / w)^2).
    fn inflation(&self, difference: f64) -> f64 {
        match self.values {
            MetricValues::Within(width) | MetricValues::ZeroOr(width) if difference < width => {
                1.0 / (1.0 - (difference / width).powi(2))
            }
            _ => 1.0,
        }
    }
}

/// Questions n with which a mean at this distance from what it is compared with is found to differ with 80% power: distance
/// sqrt(n) is at least c s0 + t s, with c the critical value beyond which a test has the probability `tail`, t the 80% quantile,
/// both of Student's t with n - 1 degrees of freedom, and the standard deviations between questions s0 where the mean is compared
/// with it and s where it is.
///
/// ```
/// use scholareval_stats::questions_for;
///
/// // (1.96 + 0.84)^2 / 0.1^2 = 785 of the normal distribution; of ten tests at once 0.0025 lies beyond the critical value.
/// assert_eq!(questions_for(0.1, [1.0, 1.0], 0.025), 787);
/// assert!(questions_for(0.1, [1.0, 1.0], 0.0025) > 1_300);
/// ```
pub fn questions_for(distance: f64, [null_sd, sd]: [f64; 2], tail: f64) -> usize {
    let normal = Normal::standard();
    let errors = normal.inverse_cdf(1.0 - tail) * null_sd + normal.inverse_cdf(POWER) * sd;
    // Student's quantiles are beyond these by a few questions' worth.
    let least = (errors / distance).powi(2).ceil();
    // Of so many questions they are the same; an infinite number is the largest one.
    if least.is_nan() || least >= 1e6 {
        return least as usize;
    }
    let is_enough = |questions: &usize| {
        let freedom = *questions as f64 - 1.0;
        let critical = t_quantile(1.0 - tail, freedom).unwrap_or(f64::INFINITY);
        let power = t_quantile(POWER, freedom).unwrap_or(f64::INFINITY);
        distance.abs() * (*questions as f64).sqrt() >= critical * null_sd + power * sd
    };
    let mut candidates = (least as usize).max(2)..;
    candidates.find(is_enough).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_needs_what_the_textbook_says() {
        // Alternately -1 and 1: variance 60 / 59 over 60 questions. (1.96 + 0.8416)^2 variance / d^2 for many questions, of d =
        // 0.1 so 785 times 60 / 59; the quantiles of t add one or two.
        let values: Vec<f64> = (0..60)
            .map(|at| if at % 2 == 0 { 1.0 } else { -1.0 })
            .collect();
        let options = BootstrapOptions::seeded(1);
        let pilot = PilotSpread::new(&[&values], None, MetricValues::Any, options).unwrap();
        assert!(
            (pilot.variances[0] - 60.0 / 59.0).abs() < 1e-12,
            "{pilot:?}"
        );
        assert_eq!(pilot.questions_for(0.1, 1.0), 787);
        assert_eq!(pilot.questions_for(10.0, 1.0), FEWEST_QUESTIONS);
        // 59 by the chi-square quantiles of 59 degrees of freedom: 82.117 and 39.662.
        assert!(
            (pilot.range.low - 0.718_5).abs() < 1e-3 && (pilot.range.high - 1.487_6).abs() < 1e-3,
            "{pilot:?}"
        );
        // 59 by the 40% quantile of the same distribution, 55.64.
        assert!((pilot.upper - 59.0 / 55.64).abs() < 1e-3, "{pilot:?}");
    }

    #[test]
    fn a_metric_of_0_and_1_is_planned_for_its_own_test() {
        // Of 40 questions 8 are won and 4 lost.
        let values: Vec<f64> = (0..40)
            .map(|at| match at {
                0..8 => 1.0,
                8..12 => -1.0,
                _ => 0.0,
            })
            .collect();
        let options = BootstrapOptions::seeded(1);
        let lists: [&[f64]; 3] = [&values, &values, &values];
        let pilot = PilotSpread::new(&lists, None, MetricValues::ZeroOr(1.0), options).unwrap();
        // Bonferroni of three pairs.
        assert!((pilot.tail - 0.05 / 6.0).abs() < 1e-12, "{pilot:?}");
        // The variance counts 1 / (1 - 0.6^2) times.
        let any = PilotSpread {
            values: MetricValues::Any,
            ..pilot.clone()
        };
        assert_eq!(pilot.questions_for(0.6, 6.4), any.questions_for(0.6, 10.0));
    }

    #[test]
    fn equal_differences_have_no_spread() {
        let options = BootstrapOptions::seeded(1);
        let equal = PilotSpread::new(&[&[0.5; 9]], None, MetricValues::Any, options);
        assert_eq!(equal, None);
    }
}
