//! Number of questions that a paired comparison needs, from the spread of the differences in a pilot study.

use statrs::distribution::{ChiSquared, ContinuousCDF, Normal};

use super::bootstrap::{BootstrapOptions, Interval, tail_rank};
use super::distributions::t_quantile;
use super::paired::FEWEST_QUESTIONS;
use super::studentized::ClusteredSample;

/// Power of a planned study.
// The convention of study planning since Cohen; `what a set can resolve` uses the same.
const POWER: f64 = 0.8;

/// How much the differences of pairs vary between questions, measured by a pilot study. The observed differences themselves
/// have no part in it.
#[derive(Debug, Clone, PartialEq)]
pub struct PilotSpread {
    /// Variance of the difference in one question, by pair; 0 if all differences are equal.
    pub variances: Vec<f64>,
    /// The factors of a variance within which its true value lies with probability `level`, if differences are normal.
    pub range: Interval,
    /// The critical value of the largest |t| over all pairs with very many questions.
    pub critical: f64,
}

impl PilotSpread {
    /// The pairs' differences over the same cases, `clusters` their questions, as in [`paired_family`](super::paired_family).
    ///
    /// The critical value is the `level` quantile of the largest |z| of the pairs, z = (resampled mean - mean) / standard
    /// error, so that it respects how the pairs depend on each other.
    ///
    /// `None` where `paired_family` is, if all differences of every pair are equal, and for too few resamples.
    ///
    /// ```
    /// use scholareval::stats::{BootstrapOptions, PilotSpread};
    ///
    /// let pilot = PilotSpread::new(&[&[0.3, -0.1, 0.2, -0.2, 0.1, 0.0]], None, BootstrapOptions::seeded(1));
    /// let pilot = pilot.expect("six questions");
    /// // Half of the difference takes four times the questions.
    /// let [one, half] = [0.05, 0.025].map(|difference| pilot.questions_for(difference, pilot.variances[0]));
    /// assert!((3.9..4.1).contains(&(half as f64 / one as f64)));
    /// ```
    pub fn new(
        differences: &[&[f64]],
        clusters: Option<&[usize]>,
        options: BootstrapOptions,
    ) -> Option<Self> {
        let sample = ClusteredSample::new(differences, clusters).filter(|_| options.is_usable())?;
        let n = sample.clusters() as f64;
        let mut largest: Vec<f64> = sample
            .resampled_means(options)
            .iter()
            .map(|means| largest_z(&sample, means))
            .collect();
        largest.sort_unstable_by(f64::total_cmp);
        let rank = tail_rank(options.alpha(), largest.len())?;
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
        let critical = Some(largest[largest.len() - rank]).filter(|critical| *critical > 0.0)?;
        Some(Self {
            variances,
            range: Interval { low, high },
            critical,
        })
    }

    /// Questions n with which a difference in mean is significant with 80% power: at least 20, and so many that difference /
    /// sqrt(variance / n) is the sum of the critical value and the 80% quantile of Student's t with n - 1 degrees of freedom.
    /// The critical value is the t with the same tail as that of many questions.
    pub fn questions_for(&self, difference: f64, variance: f64) -> usize {
        let tail = Normal::standard().sf(self.critical);
        let mut questions = FEWEST_QUESTIONS;
        // The quantiles change little with the number of questions, so that this converges at once.
        for _ in 0..8 {
            let freedom = questions as f64 - 1.0;
            let critical = t_quantile(1.0 - tail, freedom).unwrap_or(f64::INFINITY);
            let power = t_quantile(POWER, freedom).unwrap_or(f64::INFINITY);
            let errors = critical + power;
            questions = ((errors / difference).powi(2) * variance)
                .ceil()
                .max(FEWEST_QUESTIONS as f64) as usize;
        }
        questions
    }
}

/// The largest |z| over the pairs whose differences vary, of one resample's means.
fn largest_z(sample: &ClusteredSample, resampled: &[f64]) -> f64 {
    let n = sample.clusters() as f64;
    // Resampled means have the variance of the sample divided by n, errors that divided by n - 1.
    let scale = (n / (n - 1.0)).sqrt();
    // z and not t: the spread of a small pilot's own errors would be planned into the study, which
    // will have better ones.
    let mut largest = 0.0;
    for ((resampled, mean), error) in resampled.iter().zip(&sample.means).zip(&sample.errors) {
        if *error > 0.0 {
            largest = f64::max(largest, scale * (resampled - mean).abs() / error);
        }
    }
    largest
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
        let pilot = PilotSpread::new(&[&values], None, BootstrapOptions::seeded(1)).unwrap();
        assert!(
            (pilot.variances[0] - 60.0 / 59.0).abs() < 1e-12
                && (pilot.critical - 1.96).abs() < 0.12,
            "{pilot:?}"
        );
        let pilot = PilotSpread {
            critical: 1.959_964,
            ..pilot
        };
        assert_eq!(pilot.questions_for(0.1, 1.0), 787);
        assert_eq!(pilot.questions_for(10.0, 1.0), FEWEST_QUESTIONS);
        // 59 by the chi-square quantiles of 59 degrees of freedom: 82.117 and 39.662.
        assert!(
            (pilot.range.low - 0.718_5).abs() < 1e-3 && (pilot.range.high - 1.487_6).abs() < 1e-3,
            "{pilot:?}"
        );
    }

    #[test]
    fn more_pairs_have_a_larger_critical_value_unless_they_are_the_same() {
        let list = |step: usize| {
            (0..40)
                .map(|at| (at * step % 17) as f64)
                .collect::<Vec<f64>>()
        };
        let lists = [list(3), list(5), list(7)];
        let critical = |lists: &[&[f64]]| {
            PilotSpread::new(lists, None, BootstrapOptions::seeded(1))
                .unwrap()
                .critical
        };
        let alone = critical(&[&lists[0]]);
        assert!(critical(&[&lists[0], &lists[1], &lists[2]]) > alone + 0.2);
        assert_eq!(critical(&[&lists[0], &lists[0]]), alone);
        assert_eq!(
            PilotSpread::new(&[&[0.5; 9]], None, BootstrapOptions::seeded(1)),
            None
        );
    }
}
