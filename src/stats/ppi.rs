//! Prediction-powered means: a mean on the human scale from few human labels and many judge values.
//!
//! A. N. Angelopoulos, S. Bates, C. Fannjiang, M. I. Jordan and T. Zrnic, "Prediction-powered inference", Science 382
//! (2023); power tuning from A. N. Angelopoulos, J. C. Duchi and T. Zrnic, "PPI++: efficient prediction-powered inference"
//! (2023). With n labeled cases (y human, f judge) and N cases judged only,
//! estimate = lambda mean_N(f) + mean_n(y - lambda f),
//! lambda = cov_n(y, f) / ((1 + n/N) var_{n+N}(f)), kept within 0..=1.
//! The judge may be biased or useless: the labels correct it, and lambda falls to 0 if it carries no information.

use super::bootstrap::Interval;
use super::distributions::t_quantile;
use super::summary::{mean, sd};

/// Cases with a human's and a judge's value, and cases with a judge's only.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PredictionPowered<'a> {
    /// The human values of the labeled cases.
    pub human: &'a [f64],
    /// The judge's values of the same cases, in the same order; on any scale.
    pub judge: &'a [f64],
    /// The judge's values of the cases without a label, from the same distribution.
    pub unlabelled: &'a [f64],
}

/// A mean on the human scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PredictionPoweredMean {
    /// The estimated human mean over all cases.
    pub estimate: f64,
    /// The interval: t with Welch and Satterthwaite's degrees of freedom and divisors n - 1, where the papers use the
    /// normal quantile and n; slightly wider, which suits few labels.
    pub interval: Interval,
    /// Weight of the judge, 0..=1: 0 is the mean of the labels alone.
    pub lambda: f64,
}

impl PredictionPowered<'_> {
    /// The power-tuned mean with an interval at this confidence level.
    ///
    /// `None` for fewer than two labeled or two unlabeled cases, lists that do not match, values that are not finite
    /// and a level outside 0..1.
    ///
    /// ```
    /// use scholareval::stats::PredictionPowered;
    ///
    /// // The judge is 0.2 too mild, always: the labels show it.
    /// let (human, judge) = ([0.1, 0.5, 0.3, 0.7], [0.3, 0.7, 0.5, 0.9]);
    /// let unlabelled = [0.5, 0.6, 0.7, 0.8, 0.4, 0.6, 0.9, 0.3];
    /// let mean = PredictionPowered { human: &human, judge: &judge, unlabelled: &unlabelled }.mean(0.95);
    /// assert!(mean.is_some_and(|mean| (mean.estimate - 0.4).abs() < 0.01));
    /// ```
    pub fn mean(&self, level: f64) -> Option<PredictionPoweredMean> {
        self.mean_with(self.lambda()?, level)
    }

    /// The mean with a given `lambda`: 0 for the labels alone, 1 for the original prediction-powered inference.
    pub fn mean_with(&self, lambda: f64, level: f64) -> Option<PredictionPoweredMean> {
        if !(self.is_usable() && lambda.is_finite() && level > 0.0 && level < 1.0) {
            return None;
        }
        let corrections: Vec<f64> = self.human.iter().zip(self.judge).map(|(y, f)| y - lambda * f).collect();
        let (n, unlabelled) = (self.human.len() as f64, self.unlabelled.len() as f64);
        let estimate = lambda * mean(self.unlabelled)? + mean(&corrections)?;
        let (judged, corrected) = ((lambda * sd(self.unlabelled)?).powi(2) / unlabelled, sd(&corrections)?.powi(2) / n);
        let variance = judged + corrected;
        let half = if variance > 0.0 {
            let df = variance * variance / (judged * judged / (unlabelled - 1.0) + corrected * corrected / (n - 1.0));
            t_quantile(f64::midpoint(1.0, level), df)? * variance.sqrt()
        } else {
            0.0
        };
        Some(PredictionPoweredMean {
            estimate,
            interval: Interval { low: estimate - half, high: estimate + half },
            lambda,
        })
    }

    fn is_usable(&self) -> bool {
        let mut all = self.human.iter().chain(self.judge).chain(self.unlabelled);
        let matched = self.human.len() == self.judge.len();
        matched && self.human.len() >= 2 && self.unlabelled.len() >= 2 && all.all(|value| value.is_finite())
    }

    /// The lambda with the smallest variance; 0 for a constant judge.
    fn lambda(&self) -> Option<f64> {
        if !self.is_usable() {
            return None;
        }
        let (n, unlabelled) = (self.human.len() as f64, self.unlabelled.len() as f64);
        let (mean_y, mean_f) = (mean(self.human)?, mean(self.judge)?);
        let shared: f64 = self.human.iter().zip(self.judge).map(|(y, f)| (y - mean_y) * (f - mean_f)).sum();
        let judged: Vec<f64> = self.judge.iter().chain(self.unlabelled).copied().collect();
        let variance = sd(&judged)?.powi(2);
        if variance <= 0.0 {
            return Some(0.0);
        }
        Some((shared / n / ((1.0 + n / unlabelled) * variance)).clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn estimates_with_a_given_lambda_by_hand() {
        let data = PredictionPowered { human: &[0.0, 1.0], judge: &[1.0, 2.0], unlabelled: &[3.0, 5.0] };
        // lambda 1: 4 + mean(-1, -1) = 3; corrections do not vary, variance 2 / 2 = 1, df = 1: 12.7062 * 1
        let full = data.mean_with(1.0, 0.95).unwrap();
        assert_eq!(full.estimate, 3.0);
        assert!((full.interval.high - 15.706_2).abs() < 1e-4);
        // lambda 0: the labels' mean, 0.5
        assert_eq!(data.mean_with(0.0, 0.95).unwrap().estimate, 0.5);
    }

    #[test]
    fn an_uninformative_judge_has_no_weight() {
        let human = [0.1, 0.9, 0.4, 0.6];
        let silent = PredictionPowered { human: &human, judge: &[0.5; 4], unlabelled: &[0.5; 10] };
        assert_eq!(silent.mean(0.95).unwrap().lambda, 0.0);
        let opposite = PredictionPowered { human: &human, judge: &[0.9, 0.1, 0.6, 0.4], unlabelled: &[0.2, 0.7, 0.4] };
        assert_eq!(opposite.mean(0.95).unwrap().lambda, 0.0);
        assert!((opposite.mean(0.95).unwrap().estimate - 0.5).abs() < 1e-12);
    }

    #[test]
    fn what_has_no_mean_is_none() {
        let data = PredictionPowered { human: &[0.0, 1.0], judge: &[1.0, 2.0], unlabelled: &[3.0, 5.0] };
        assert_eq!(PredictionPowered { human: &[0.0], judge: &[1.0], ..data }.mean(0.95), None);
        assert_eq!(PredictionPowered { judge: &[1.0], ..data }.mean(0.95), None);
        assert_eq!(PredictionPowered { unlabelled: &[1.0], ..data }.mean(0.95), None);
        assert_eq!(PredictionPowered { unlabelled: &[1.0, f64::NAN], ..data }.mean(0.95), None);
        assert_eq!(data.mean(1.0), None);
        assert_eq!(data.mean_with(f64::NAN, 0.9), None);
    }

    #[test]
    fn intervals_hold_the_human_mean_as_often_as_they_say_and_are_narrower_than_without_a_judge() {
        // Humans rate q^2, mean 1/3; the judge sees q through noise, is 0.1 too mild and on another scale.
        let mut rng = ChaCha8Rng::seed_from_u64(2026);
        let mut case = || {
            let quality = rng.random::<f64>();
            (quality * quality, 0.8 * quality + 0.1 + 0.2 * rng.random::<f64>())
        };
        let (mut held, mut width, mut width_alone) = (0, 0.0, 0.0);
        for _ in 0..2_000 {
            let (human, judge): (Vec<f64>, Vec<f64>) = (0..60).map(|_| case()).unzip();
            let unlabelled: Vec<f64> = (0..300).map(|_| case().1).collect();
            let data = PredictionPowered { human: &human, judge: &judge, unlabelled: &unlabelled };
            let (tuned, alone) = (data.mean(0.95).unwrap(), data.mean_with(0.0, 0.95).unwrap());
            held += usize::from(tuned.interval.low <= 1.0 / 3.0 && 1.0 / 3.0 <= tuned.interval.high);
            width += tuned.interval.high - tuned.interval.low;
            width_alone += alone.interval.high - alone.interval.low;
        }
        // The standard error of a 95% share of 2,000 is 0.5%.
        let rate = f64::from(held as u32) / 2_000.0;
        assert!((0.93..=0.97).contains(&rate), "{rate}");
        assert!(width < 0.7 * width_alone, "{width} {width_alone}");
    }
}
