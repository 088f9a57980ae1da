//! Shares from the verdicts of an imperfect judge whose sensitivity and specificity are known from labels of other answers.
//!
//! With q the share of positive verdicts, Se and Sp the judge's sensitivity and specificity by m1 and m0 labels, the share is
//! (q + Sp - 1) / (Se + Sp - 1) (W. J. Rogan and B. Gladen, "Estimating prevalence from the results of a screening test", American
//! Journal of Epidemiology 107, 1978). Its interval is that of Z. Lang and J. Reiczigel ("Confidence limits for prevalence of disease
//! adjusted for estimated sensitivity and specificity", Preventive Veterinary Medicine 113, 2014). With z the normal quantile and n
//! verdicts it takes n + z^2 verdicts, q n + z^2 / 2 of them positive, and m + 2 labels, one more of them right and one wrong. By these:
//!
//! - variance = (q (1 - q) / n + p^2 Se (1 - Se) / m1 + (1 - p)^2 Sp (1 - Sp) / m0) / (Se + Sp - 1)^2,
//! - center = p + 2 z^2 (p Se (1 - Se) / m1 - (1 - p) Sp (1 - Sp) / m0).
//!
//! Verdicts of one question are not independent. With e the standard error of q over questions, n is the number of independent
//! verdicts with this error, q (1 - q) / e^2, but not more than there are; and t with the number of equally large questions that they are
//! worth (Kish) less 1 takes the place of z. Where all verdicts are positive, or none, there is no such error: then n is the number of
//! questions.

use super::bootstrap::{Clusters, Interval};
use super::distributions::{normal_quantile, t_quantile};

/// How well a judge recognizes what is, or what is not, by labels of people.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RecognizedShare {
    /// Right verdicts as a share of the labels, 0..=1.
    pub share: f64,
    /// The labels.
    pub labels: usize,
}

/// A share by verdicts that are corrected for the judge's errors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CorrectedShare {
    /// The share of positive verdicts, 0..=1.
    pub positive: f64,
    /// The share of what is positive, 0..=1.
    pub share: f64,
    /// Its interval, within 0..=1; it holds the share. Of one point where the verdicts contradict sensitivity or specificity.
    pub interval: Interval,
}

/// The share that is positive, by a judge's verdicts (whether each is positive, with its question) and its sensitivity and specificity.
///
/// `None` without verdicts or labels, for verdicts of one question of several, for a level outside 0..1, and where sensitivity and
/// specificity add to 1 or less, as those of a judge that guesses do.
///
/// ```
/// use scholareval_stats::{RecognizedShare, rogan_gladen};
///
/// // 60 of 100 verdicts are positive: (0.6 + 0.8 - 1) / (0.9 + 0.8 - 1) = 4 / 7.
/// let verdicts: Vec<(bool, usize)> = (0..100).map(|at| (at < 60, at)).collect();
/// let [sensitivity, specificity] = [0.9, 0.8].map(|share| RecognizedShare { share, labels: 50 });
/// let corrected = rogan_gladen(&verdicts, sensitivity, specificity, 0.95).ok_or("a judge that guesses")?;
/// assert!((corrected.share - 4.0 / 7.0).abs() < 1e-12 && corrected.interval.holds(corrected.share));
/// # Ok::<(), &str>(())
/// ```
pub fn rogan_gladen(
    verdicts: &[(bool, usize)],
    sensitivity: RecognizedShare,
    specificity: RecognizedShare,
    level: f64,
) -> Option<CorrectedShare> {
    let sample = VerdictSample::of(verdicts)?;
    if sensitivity.labels == 0 || specificity.labels == 0 || !(level > 0.0 && level < 1.0) {
        return None;
    }
    let [se, sp] = [sensitivity.share, specificity.share];
    let share = (sample.positive + sp - 1.0) / (se + sp - 1.0);
    if se + sp <= 1.0 || !share.is_finite() {
        return None;
    }
    let share = share.clamp(0.0, 1.0);
    let z = sample.quantile(f64::midpoint(1.0, level))?;
    let n = sample.independent + z * z;
    let positive = (sample.positive * sample.independent + z * z / 2.0) / n;
    let [se, m1] = with_two_labels(sensitivity);
    let [sp, m0] = with_two_labels(specificity);
    let slope = se + sp - 1.0;
    if slope <= 0.0 {
        return None;
    }
    let p = (positive + sp - 1.0) / slope;
    let error_of_se = se * (1.0 - se) / m1;
    let error_of_sp = sp * (1.0 - sp) / m0;
    let squares =
        positive * (1.0 - positive) / n + p * p * error_of_se + (1.0 - p) * (1.0 - p) * error_of_sp;
    let center = p + 2.0 * z * z * (p * error_of_se - (1.0 - p) * error_of_sp);
    let half = z * squares.sqrt() / slope;
    Some(CorrectedShare {
        positive: sample.positive,
        share,
        interval: Interval::new(
            (center - half).clamp(0.0, 1.0).min(share),
            (center + half).clamp(0.0, 1.0).max(share),
        ),
    })
}

/// The share and the number of labels, with one more right verdict and one more wrong one.
fn with_two_labels(known: RecognizedShare) -> [f64; 2] {
    let labels = known.labels as f64 + 2.0;
    [(known.share * known.labels as f64 + 1.0) / labels, labels]
}

/// What verdicts say, and how much they are worth.
struct VerdictSample {
    /// The share of positive ones.
    positive: f64,
    /// The number of independent verdicts with the same error.
    independent: f64,
    /// The number of equally large questions that they are worth; `None` if each has a separate question.
    questions: Option<f64>,
}

impl VerdictSample {
    fn of(verdicts: &[(bool, usize)]) -> Option<Self> {
        let clusters: Vec<usize> = verdicts.iter().map(|(_, question)| *question).collect();
        let Clusters { of_unit, sizes } = Clusters::new(&clusters);
        let n = verdicts.len() as f64;
        let hits = verdicts.iter().filter(|(is_positive, _)| *is_positive);
        let positive = hits.count() as f64 / n;
        if sizes.len() == verdicts.len() {
            return (n > 0.0).then_some(Self {
                positive,
                independent: n,
                questions: None,
            });
        }
        if sizes.len() < 2 {
            return None;
        }
        let mut deviations = vec![0.0; sizes.len()];
        for ((is_positive, _), question) in verdicts.iter().zip(&of_unit) {
            deviations[*question] += if *is_positive { 1.0 } else { 0.0 } - positive;
        }
        let mut squares = 0.0;
        let mut size_squares = 0.0;
        for (deviation, size) in deviations.iter().zip(&sizes) {
            squares += deviation * deviation / (1.0 - size / n);
            size_squares += size * size;
        }
        let variance = squares / (n * n);
        let independent = if positive > 0.0 && positive < 1.0 {
            (positive * (1.0 - positive) / variance).min(n)
        } else {
            sizes.len() as f64
        };
        Some(Self {
            positive,
            independent,
            questions: Some(n * n / size_squares),
        })
    }

    fn quantile(&self, p: f64) -> Option<f64> {
        match self.questions {
            None => Some(normal_quantile(p)?),
            Some(questions) => t_quantile(p, (questions - 1.0).max(1.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(share: f64, labels: usize) -> RecognizedShare {
        RecognizedShare { share, labels }
    }

    fn singles(positive: usize, n: usize) -> Vec<(bool, usize)> {
        (0..n).map(|at| (at < positive, at)).collect()
    }

    #[test]
    fn the_interval_of_lang_and_reiczigel_by_hand() {
        // q = 60 of 100, Se = 45 of 50, Sp = 24 of 30: p = 0.4 / 0.7.
        let corrected =
            rogan_gladen(&singles(60, 100), known(0.9, 50), known(0.8, 30), 0.95).unwrap();
        assert!((corrected.share - 0.4 / 0.7).abs() < 1e-12);
        // z^2 = 3.8415: n' = 103.8415, q' = 61.9207 / 103.8415 = 0.59630; Se' = 46/52, Sp' = 25/32; slope 0.66587,
        // p' = (0.59630 - 0.21875) / 0.66587 = 0.56701. Se' (1 - Se') / 52 = 0.0019629, Sp' (1 - Sp') / 32 = 0.0053406.
        // Squares 0.0023182 + 0.32150 * 0.0019629 + 0.18748 * 0.0053406 = 0.0039505; half 1.95996 * 0.062853 / 0.66587 = 0.18501.
        // Center 0.56701 + 7.6829 (0.56701 * 0.0019629 - 0.43299 * 0.0053406) = 0.55780.
        assert!(
            (corrected.interval.low - 0.3728).abs() < 2e-4,
            "{corrected:?}"
        );
        assert!(
            (corrected.interval.high - 0.7428).abs() < 2e-4,
            "{corrected:?}"
        );
    }

    #[test]
    fn verdicts_of_one_question_count_less_and_no_more_than_there_are() {
        let [se, sp] = [known(0.9, 50), known(0.8, 30)];
        let alone = rogan_gladen(&singles(60, 100), se, sp, 0.95).unwrap();
        // Four equal verdicts a question: 25 questions, of which 15 are positive.
        let fours: Vec<(bool, usize)> = (0..100).map(|at| (at < 60, at / 4)).collect();
        let sample = VerdictSample::of(&fours).unwrap();
        // e^2 = 25 * 0.24 * 16 / (1 - 0.04) / 100^2 = 0.01: 0.24 / 0.01 verdicts.
        assert!((sample.independent - 24.0).abs() < 1e-9);
        let clustered = rogan_gladen(&fours, se, sp, 0.95).unwrap();
        assert_eq!(clustered.share, alone.share);
        assert!(clustered.interval.half_width() > 1.3 * alone.interval.half_width());
        // Each question half positive: e = 0, but there are only 100 verdicts.
        let even: Vec<(bool, usize)> = (0..100).map(|at| (at % 2 == 0, at / 2)).collect();
        assert_eq!(VerdictSample::of(&even).unwrap().independent, 100.0);
        let all: Vec<(bool, usize)> = (0..100).map(|at| (true, at / 4)).collect();
        assert_eq!(VerdictSample::of(&all).unwrap().independent, 25.0);
    }

    #[test]
    fn shares_stay_within_their_range_and_a_judge_that_guesses_has_none() {
        // No positive verdict, and a specificity of 0.98: (0 + 0.98 - 1) / 0.88 is below 0.
        let none = rogan_gladen(&singles(0, 50), known(0.9, 50), known(0.98, 50), 0.95).unwrap();
        assert_eq!((none.share, none.interval.low), (0.0, 0.0));
        assert!(none.interval.high > 0.0 && none.interval.high < 0.2);
        // A specificity of 0.5 contradicts 50 negative verdicts: nothing remains of the interval but its end.
        let odd = rogan_gladen(&singles(0, 50), known(0.9, 50), known(0.5, 50), 0.95).unwrap();
        assert_eq!((odd.share, odd.interval.high), (0.0, 0.0));
        let all = rogan_gladen(&singles(50, 50), known(0.9, 50), known(0.8, 50), 0.95).unwrap();
        assert_eq!((all.share, all.interval.high), (1.0, 1.0));
        for (se, sp) in [(0.5, 0.5), (0.3, 0.6)] {
            assert_eq!(
                rogan_gladen(&singles(20, 50), known(se, 50), known(sp, 50), 0.95),
                None
            );
        }
        assert_eq!(rogan_gladen(&[], known(0.9, 5), known(0.9, 5), 0.95), None);
        assert_eq!(
            rogan_gladen(&singles(2, 5), known(0.9, 0), known(0.9, 5), 0.95),
            None
        );
        let of_one_question = [(true, 0), (false, 0)];
        assert_eq!(
            rogan_gladen(&of_one_question, known(0.9, 5), known(0.9, 5), 0.95),
            None
        );
    }
}
