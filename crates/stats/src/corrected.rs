//! Values of answers that are weighted sums of verdicts by a cheap judge, corrected by a dear judge's verdicts on a few of them.
//!
//! Verdict j of answer i has the weight w and the cheap credit c. It was drawn (D = 1) or not (D = 0) with a known probability p,
//! and the drawn ones have the dear credit y:
//!
//! - z_i = sum over j of w (c + D (y - c) / p),
//! - estimate = the mean of z, standard error = that of any mean of independent answers, sd(z) / sqrt(n).
//!
//! The estimate is unbiased whatever c is, since D / p is 1 on average (difference estimator with the weights of D. G. Horvitz and
//! D. J. Thompson, JASA 47, 1952; C.-E. Sarndal, B. Swensson and J. Wretman, Model Assisted Survey Sampling, 1992, 6.3).
//!
//! Its interval is Student's. The standard error comes from n questions, but the part of it that the draw adds only from the m drawn
//! verdicts, so that t has min(n, m) - 1 degrees of freedom: no fewer are right for a variance of two parts (F. E. Satterthwaite,
//! "An approximate distribution of estimates of variance components", Biometrics Bulletin 2, 1946). A bootstrap holds the mean too
//! rarely, since it repeats or leaves out the few large corrections by which the error is known. Differences of systems have the
//! same interval of their values by question, with the verdicts of both; several pairs are adjusted by Bonferroni.
//!
//! For the mean of exactly these answers only the draw varies. With the m drawn ones, r = w (y - c) and A the mean of r / p weighted
//! by 1 - p, its variance is m / (m - 1) sum (1 - p) (r / p - A)^2 / n^2 (J.-C. Deville, "Variance estimation for complex statistics
//! and estimators", Survey Methodology 25, 1999).

use super::bootstrap::{BootstrapOptions, Interval};
use super::distributions::{t_quantile, t_two_sided};
use super::paired_test::{PairedFamily, PairedMethod, PairedTest};
use super::studentized::{ClusteredSample, student};

/// A verdict of a cheap judge, and if it was drawn also of a dear one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DrawnVerdict {
    /// The answer, as an index.
    pub answer: usize,
    /// Its weight in the value of its answer.
    pub weight: f64,
    /// The cheap judge's credit.
    pub cheap: f64,
    /// The dear judge's credit; `None` if it was not drawn, or if the dear judge gives none.
    pub dear: Option<f64>,
    /// The probability with which it was drawn, above 0, at most 1.
    pub probability: f64,
}

impl DrawnVerdict {
    /// By how much the dear judge moves the value of the answer, as far as this verdict shows; 0 without one by the dear judge.
    fn correction(&self) -> f64 {
        let dear = self.dear.unwrap_or(self.cheap);
        self.weight * (dear - self.cheap) / self.probability
    }
}

/// The corrected value of each of so many answers.
///
/// ```
/// use scholareval_stats::{DrawnVerdict, corrected_values};
///
/// let verdict = |answer, dear| DrawnVerdict { answer, weight: 0.5, cheap: 0.8, dear, probability: 0.25 };
/// // 0.5 (0.8 + 0.8) and, with a dear 1 for one of two: 0.8 + 0.5 (1 - 0.8) / 0.25
/// let values = corrected_values(&[verdict(0, None), verdict(0, None), verdict(1, Some(1.0)), verdict(1, None)], 2);
/// assert!((values[0] - 0.8).abs() < 1e-12 && (values[1] - 1.2).abs() < 1e-12);
/// ```
pub fn corrected_values(verdicts: &[DrawnVerdict], answers: usize) -> Vec<f64> {
    let mut values = vec![0.0; answers];
    for verdict in verdicts {
        values[verdict.answer] += verdict.weight * verdict.cheap + verdict.correction();
    }
    values
}

/// The interval of the mean of corrected values, to which so many drawn verdicts were given; `clusters` gives the question of each.
/// `None` for fewer than two questions, equal values, values that are not finite and a level outside 0..1.
///
/// ```
/// use scholareval_stats::{corrected_interval, t_quantile};
///
/// // Mean 0.7, sd 0.2, error 0.1; 3 verdicts for 4 answers: t(2) = 4.303.
/// let interval = corrected_interval(&[0.4, 0.8, 0.8, 0.8], None, 3, 0.95);
/// assert!(interval.is_some_and(|found| (found.high - 0.7 - 0.4303).abs() < 1e-4));
/// ```
pub fn corrected_interval(
    values: &[f64],
    clusters: Option<&[usize]>,
    drawn: usize,
    level: f64,
) -> Option<Interval> {
    let sample = ClusteredSample::new(&[values], clusters)?;
    let degrees = degrees_of_freedom(&sample, drawn);
    student(sample.means[0], sample.errors[0], degrees, level)
}

fn degrees_of_freedom(sample: &ClusteredSample, drawn: usize) -> f64 {
    (sample.effective_clusters().min(drawn as f64) - 1.0).max(1.0)
}

/// The tests of the differences of corrected values, adjusted for all pairs.
pub(super) fn by_student(
    sample: &ClusteredSample,
    drawn: usize,
    options: BootstrapOptions,
) -> PairedFamily {
    let count = sample.means.len() as f64;
    let degrees = degrees_of_freedom(sample, drawn);
    let alpha = options.alpha() / count;
    let mut pairs = Vec::with_capacity(sample.means.len());
    for (difference, standard_error) in sample.means.iter().zip(&sample.errors) {
        let pointwise_p = if *standard_error > 0.0 {
            t_two_sided(difference.abs() / standard_error, degrees)
        } else {
            1.0
        };
        let interval = |level| student(*difference, *standard_error, degrees, level);
        pairs.push(PairedTest {
            method: PairedMethod::Student,
            difference: *difference,
            standard_error: *standard_error,
            p: (count * pointwise_p).min(1.0),
            pointwise_p,
            interval: interval(1.0 - alpha),
            pointwise: interval(options.level),
        });
    }
    let has_error = sample.errors.iter().any(|error| *error > 0.0);
    PairedFamily {
        method: PairedMethod::Student,
        pairs,
        critical: t_quantile(1.0 - alpha / 2.0, degrees),
        smallest_p: if has_error { 0.0 } else { 1.0 },
    }
}

/// The variance of the mean of the corrected values for exactly these answers, over repeated draws; `None` for fewer than two
/// drawn verdicts.
pub fn variance_of_draw(verdicts: &[DrawnVerdict], answers: usize) -> Option<f64> {
    let drawn = || verdicts.iter().filter(|verdict| verdict.dear.is_some());
    let open: f64 = drawn().map(|verdict| 1.0 - verdict.probability).sum();
    if open <= 0.0 {
        return (drawn().count() == verdicts.len()).then_some(0.0);
    }
    let mean_correction = drawn()
        .map(|verdict| (1.0 - verdict.probability) * verdict.correction())
        .sum::<f64>()
        / open;
    let mut squares = 0.0;
    for verdict in drawn() {
        squares += (1.0 - verdict.probability) * (verdict.correction() - mean_correction).powi(2);
    }
    let count = drawn().count() as f64;
    (count > 1.0).then(|| count / (count - 1.0) * squares / (answers as f64).powi(2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        MetricValues, mean, paired_family, sd, systematic_sample, weighted_inclusion_probabilities,
    };

    #[test]
    fn t_has_the_degrees_of_the_fewer_of_questions_and_drawn_verdicts() {
        // Mean 0.5; squares 0.09 + 0.01 + 0.01 + 0.09 = 0.2, error sqrt(0.2 / 3 / 4) = 0.129099.
        let values = [0.2, 0.4, 0.6, 0.8];
        let half = |clusters: Option<&[usize]>, drawn, level| {
            corrected_interval(&values, clusters, drawn, level).map(Interval::half_width)
        };
        // t of 97.5% with 3, 2 and 1 degrees of freedom.
        for (drawn, t) in [
            (40, 3.182_446),
            (4, 3.182_446),
            (3, 4.302_653),
            (1, 12.706_2),
        ] {
            let half = half(None, drawn, 0.95).unwrap();
            assert!((half - t * 0.129_099_4).abs() < 1e-5, "{drawn}: {half}");
        }
        // Two questions with the sums of deviations -0.4 and 0.4: error sqrt(2 * 0.16 / (1 - 1 / 2)) / 4 = 0.2.
        let half = half(Some(&[0, 0, 1, 1]), 40, 0.95).unwrap();
        assert!((half - 12.706_2 * 0.2).abs() < 1e-4, "{half}");
        assert_eq!(corrected_interval(&[0.5; 4], None, 40, 0.95), None);
        assert_eq!(corrected_interval(&[0.5], None, 40, 0.95), None);
    }

    #[test]
    fn differences_have_the_same_interval_adjusted_for_their_number() {
        // The values above less 0.1 and less 0.9: means 0.4 and -0.4.
        let [first, second] = [0.1, 0.9].map(|less| [0.2, 0.4, 0.6, 0.8].map(|value| value - less));
        let options = BootstrapOptions::seeded(1);
        let family = |lists: &[&[f64]], drawn| {
            paired_family(lists, None, MetricValues::Corrected(drawn), options).unwrap()
        };
        let alone = family(&[&first], 9);
        let interval = corrected_interval(&first, None, 9, 0.95);
        assert_eq!(alone.pairs[0].interval, interval);
        // t = 0.4 / 0.129099 = 3.0984 with 3 degrees of freedom: p = 0.0534, so that the interval holds 0.
        assert!((alone.pairs[0].p - 0.0534).abs() < 1e-4, "{alone:?}");
        assert!(interval.unwrap().low < 0.0);
        let both = family(&[&first, &second], 9);
        assert!((both.pairs[1].p - 2.0 * alone.pairs[0].p).abs() < 1e-12);
        assert_eq!(both.pairs[0].pointwise, interval);
        // t of 1 - 0.05 / 4
        let half = both.pairs[1].interval.unwrap().half_width();
        assert!((half - 4.176_535 * 0.129_099_4).abs() < 1e-5, "{half}");
        // With 3 verdicts of both, t has 2.
        let few = family(&[&first], 3).pairs[0];
        assert!((few.p - 0.0903).abs() < 1e-4, "{few:?}");
        let equal = family(&[&[0.25; 4]], 9);
        assert_eq!(
            (equal.pairs[0].p, equal.pairs[0].interval, equal.smallest_p),
            (1.0, None, 1.0)
        );
    }

    #[test]
    fn the_estimate_is_unbiased_for_a_judge_that_is_wrong() {
        // 30 answers of 4 criteria, one of them a fault; the cheap judge says 0.3 of everything, the dear one 1 for every third.
        let mut verdicts = Vec::new();
        for at in 0..120_usize {
            verdicts.push(DrawnVerdict {
                answer: at / 4,
                weight: [0.2, 0.3, 0.5, -0.4][at % 4],
                cheap: 0.3,
                dear: Some(f64::from(u8::from(at % 3 == 0))),
                probability: 1.0,
            });
        }
        let truth = mean(&corrected_values(&verdicts, 30)).unwrap();
        let weights: Vec<f64> = verdicts
            .iter()
            .map(|verdict| verdict.weight.abs())
            .collect();
        let sizes: Vec<f64> = (0..120).map(|at| f64::from(at % 5)).collect();
        let probabilities = weighted_inclusion_probabilities(&weights, &sizes, 24);
        let mut estimates = Vec::new();
        let mut variances = Vec::new();
        for seed in 0..2_000 {
            let mut drawn = verdicts.clone();
            let sample = systematic_sample(&probabilities, seed);
            for (at, verdict) in drawn.iter_mut().enumerate() {
                verdict.probability = probabilities[at];
                verdict.dear = verdict.dear.filter(|_| sample.contains(&at));
            }
            estimates.push(mean(&corrected_values(&drawn, 30)).unwrap());
            variances.push(variance_of_draw(&drawn, 30).unwrap());
        }
        let spread = sd(&estimates).unwrap();
        let error = spread / 2_000_f64.sqrt();
        assert!((mean(&estimates).unwrap() - truth).abs() < 3.0 * error);
        // The variance of the draw is that of its estimates.
        let ratio = mean(&variances).unwrap() / spread.powi(2);
        assert!((0.9..1.1).contains(&ratio), "{ratio}");
    }

    #[test]
    fn a_verdict_without_a_dear_one_changes_nothing_and_all_drawn_leaves_no_doubt() {
        let verdict = |dear, probability| DrawnVerdict {
            answer: 0,
            weight: 1.0,
            cheap: 0.4,
            dear,
            probability,
        };
        assert_eq!(corrected_values(&[verdict(None, 0.1)], 1), [0.4]);
        assert_eq!(variance_of_draw(&[verdict(Some(1.0), 1.0)], 1), Some(0.0));
        assert_eq!(variance_of_draw(&[verdict(Some(1.0), 0.5)], 1), None);
        // Two of four: r / p = 1.2 and -0.8, their mean 0.2; 2 / 1 (0.5 + 0.5) / 4^2
        let two = [
            verdict(Some(1.0), 0.5),
            verdict(Some(0.0), 0.5),
            verdict(None, 0.5),
            verdict(None, 0.5),
        ];
        let variance = variance_of_draw(&two, 4).unwrap();
        assert!((variance - 0.125).abs() < 1e-12, "{variance}");
    }
}
