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
//! For the mean of exactly these answers only the draw varies. With the m drawn ones, r = w (y - c) and A the mean of r / p weighted
//! by 1 - p, its variance is m / (m - 1) sum (1 - p) (r / p - A)^2 / n^2 (J.-C. Deville, "Variance estimation for complex statistics
//! and estimators", Survey Methodology 25, 1999).

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
    use crate::{mean, sd, systematic_sample, weighted_inclusion_probabilities};

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
