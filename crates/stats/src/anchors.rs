//! Means on the scale of a judge that scored only some answers, from another judge's values of all.
//!
//! With n answers, of which m drawn at random have values O by the old judge and N by the new one, and D = O - N:
//! estimate = mean_n(N) + mean_m(D) (difference estimator; W. G. Cochran, Sampling Techniques, 3rd ed., 7.10),
//! half-width t(m - 1) s_D sqrt((1 - m / n) / m) for these n answers: these are the corrected values of whole answers (`corrected`),
//! all drawn with the probability m / n. For the population of their questions it is the
//! prediction-powered mean with lambda = (n - m) / n. Its weight is fixed, since one that is estimated from few anchors covers
//! too little on lumpy scores.
//!
//! Where the old judge is gone, systems that both judged are the units: with their K shifts d, each a mean of O - N,
//! estimate = mean(N) + mean(d), half-width t(K - 1) s_d sqrt(1 + 1 / K) (prediction of a further shift). An interval from the
//! anchors of other systems would hold the truth in a third of the cases, because judges favor systems by more than their
//! answers differ.

use super::bootstrap::{BootstrapOptions, Interval};
use super::corrected::{DrawnVerdict, corrected_values, variance_of_draw};
use super::distributions::t_quantile;
use super::ppi::{Estimand, JudgedAnswer, prediction_powered_mean};
use super::{mean, sd};

/// How many of so many anchors must have another difference than the most common one, so that their spread says something
/// of the other answers: three, and 8% of many. With fewer, intervals for the answers at hand hold the mean too rarely,
/// measured with the bench `coverage -- old-scale`.
pub fn fewest_differing(anchors: usize) -> usize {
    (anchors * 8).div_ceil(100).max(3)
}

/// Systems that both judges scored, below which a further one is not predicted.
pub const FEWEST_ANCHOR_SYSTEMS: usize = 5;

/// An answer by the new judge, and if it is an anchor also by the old one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AnchoredAnswer {
    /// The new judge's value.
    pub new: f64,
    /// The old judge's value.
    pub old: Option<f64>,
    /// The question. Questions are independent of each other, answers to one question are not.
    pub question: usize,
}

/// A mean on the scale of the old judge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AnchoredMean {
    /// The mean that the old judge is estimated to give these answers.
    pub estimate: f64,
    /// Its interval for these answers; `None` for fewer than [`fewest_differing`] differing anchors, unless all are anchors.
    pub interval: Option<Interval>,
    /// Its interval for the questions that these are a sample of.
    pub of_questions: Option<Interval>,
    /// The mean of the anchors alone, by the old judge.
    pub alone: f64,
    /// Its interval for these answers.
    pub alone_interval: Option<Interval>,
    /// Number of anchors.
    pub anchors: usize,
}

/// The mean of these answers on the scale of the old judge, whose anchors were drawn at random. `range` is that of both
/// judges' values. `None` without an anchor, and for values that are not finite.
///
/// ```
/// use scholareval_stats::{AnchoredAnswer, BootstrapOptions, anchored_mean};
///
/// // The old judge gives 0.1 less, and a little more or less than that.
/// let answers: Vec<AnchoredAnswer> = (0..20_usize)
///     .map(|question| {
///         let new = 0.4 + 0.02 * question as f64;
///         let old = (question % 2 == 0).then(|| new - 0.1 + 0.01 * (question % 3) as f64);
///         AnchoredAnswer { new, old, question }
///     })
///     .collect();
/// let mean = anchored_mean(&answers, None, BootstrapOptions::seeded(1)).ok_or("no anchor")?;
/// assert!((mean.estimate - 0.5).abs() < 0.011 && mean.anchors == 10);
/// # Ok::<(), &str>(())
/// ```
pub fn anchored_mean(
    answers: &[AnchoredAnswer],
    range: Option<Interval>,
    options: BootstrapOptions,
) -> Option<AnchoredMean> {
    let anchors = answers.iter().filter(|answer| answer.old.is_some()).count();
    let mean_by = |new: fn(&AnchoredAnswer) -> f64| {
        let verdicts = whole_answers(answers, anchors, new);
        let estimate = mean(&corrected_values(&verdicts, answers.len()))?;
        Some((estimate, of_these(&verdicts, anchors, options.level)))
    };
    if anchors == 0 {
        return None;
    }
    let (estimate, half) = mean_by(|answer| answer.new)?;
    // Without the new judge nothing is known of an answer that is not an anchor.
    let (alone, half_alone) = mean_by(|_| 0.0)?;
    if !estimate.is_finite() {
        return None;
    }
    Some(AnchoredMean {
        estimate: clamped(range, estimate),
        interval: half.map(|half| within(range, Interval::around(estimate, half))),
        of_questions: of_questions(answers, anchors, range, options),
        alone,
        alone_interval: half_alone.map(|half| within(range, Interval::around(alone, half))),
        anchors,
    })
}

/// Whole answers as verdicts of the weight 1, all drawn with the same probability.
fn whole_answers(
    answers: &[AnchoredAnswer],
    anchors: usize,
    new: fn(&AnchoredAnswer) -> f64,
) -> Vec<DrawnVerdict> {
    let mut verdicts = Vec::with_capacity(answers.len());
    for (place, answer) in answers.iter().enumerate() {
        verdicts.push(DrawnVerdict {
            answer: place,
            weight: 1.0,
            cheap: new(answer),
            dear: answer.old,
            probability: anchors as f64 / answers.len() as f64,
        });
    }
    verdicts
}

/// The half-width of the interval for these answers. `None` if too few anchors differ to say how far the other answers are from
/// them.
fn of_these(verdicts: &[DrawnVerdict], anchors: usize, level: f64) -> Option<f64> {
    let differences: Vec<f64> = verdicts
        .iter()
        .filter_map(|verdict| Some(verdict.dear? - verdict.cheap))
        .collect();
    if differing(&differences) < fewest_differing(anchors) && anchors < verdicts.len() {
        return None;
    }
    let variance = variance_of_draw(verdicts, verdicts.len())?;
    let t = t_quantile(f64::midpoint(1.0, level), (anchors as f64 - 1.0).max(1.0))?;
    Some(t * variance.sqrt())
}

/// The interval of the estimate for the questions that the answers are a sample of.
fn of_questions(
    answers: &[AnchoredAnswer],
    anchors: usize,
    range: Option<Interval>,
    options: BootstrapOptions,
) -> Option<Interval> {
    let mut judged = Vec::with_capacity(answers.len());
    for answer in answers {
        judged.push(JudgedAnswer {
            judge: answer.new,
            human: answer.old,
            weight: 1.0,
            question: answer.question,
        });
    }
    let lambda = (answers.len() - anchors) as f64 / answers.len() as f64;
    let mean = prediction_powered_mean(&judged, Some(lambda), Estimand::Mean(range), options)?;
    mean.interval
}

/// The half-width of the interval of a mean over `answers` values, of which `anchors` drawn at random are known and have this
/// standard deviation: of the differences of two judges, or of values. `None` for fewer than two anchors.
pub fn sampling_half_width(sd: f64, anchors: usize, answers: usize, level: f64) -> Option<f64> {
    if anchors >= answers {
        return Some(0.0);
    }
    let m = anchors as f64;
    let t = t_quantile(f64::midpoint(1.0, level), m - 1.0)?;
    Some(t * sd * ((1.0 - m / answers as f64) / m).sqrt())
}

/// How many values are other ones than the most common value.
fn differing(values: &[f64]) -> usize {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut most_common = 0;
    // Differences of equal grades may differ by rounding.
    for group in sorted.chunk_by(|last, next| next - last < 1e-9) {
        most_common = most_common.max(group.len());
    }
    values.len() - most_common
}

/// The part of an interval that is within the range.
fn within(range: Option<Interval>, interval: Interval) -> Interval {
    interval.map(|end| clamped(range, end))
}

fn clamped(range: Option<Interval>, value: f64) -> f64 {
    match range {
        Some(range) => value.clamp(range.low, range.high),
        None => value,
    }
}

/// A mean on the scale of a judge that no longer answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CarriedMean {
    /// The new judge's mean and the average shift of the anchor systems.
    pub estimate: f64,
    /// Where the old judge's mean of a system like the anchor systems lies; `None` if their shifts do not differ, which says
    /// nothing of a further one.
    pub interval: Option<Interval>,
}

/// The mean of a system that only the new judge scored, on the scale of the old judge, by the shifts (old less new) of
/// systems that both scored. `None` for fewer than [`FEWEST_ANCHOR_SYSTEMS`].
///
/// ```
/// use scholareval_stats::carried_mean;
///
/// let carried = carried_mean(0.5, &[-0.1, -0.12, -0.08, -0.11, -0.09], None, 0.95).ok_or("too few systems")?;
/// assert!((carried.estimate - 0.4).abs() < 1e-12);
/// // t(4) = 2.776, s = 0.0158, sqrt(1.2) = 1.095
/// assert!((carried.interval.ok_or("no spread")?.high - 0.448).abs() < 1e-3);
/// # Ok::<(), &str>(())
/// ```
pub fn carried_mean(
    new: f64,
    shifts: &[f64],
    range: Option<Interval>,
    level: f64,
) -> Option<CarriedMean> {
    if shifts.len() < FEWEST_ANCHOR_SYSTEMS {
        return None;
    }
    let systems = shifts.len() as f64;
    let estimate = new + mean(shifts)?;
    let t = t_quantile(f64::midpoint(1.0, level), systems - 1.0)?;
    let half = t * sd(shifts)? * (1.0 + 1.0 / systems).sqrt();
    Some(CarriedMean {
        estimate: clamped(range, estimate),
        interval: (differing(shifts) > 0).then(|| within(range, Interval::around(estimate, half))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(new: &[f64], old: &[f64]) -> Vec<AnchoredAnswer> {
        let answer = |(question, new): (usize, &f64)| AnchoredAnswer {
            new: *new,
            old: old.get(question).copied(),
            question,
        };
        new.iter().enumerate().map(answer).collect()
    }

    #[test]
    fn the_difference_estimator_by_hand() {
        // N: mean of ten is 0.55; D = -0.1, 0, -0.2, 0.1: mean -0.05, s = 0.1291
        let new: Vec<f64> = (1..=10).map(|at| f64::from(at) / 10.0).collect();
        let answers = answers(&new, &[0.0, 0.2, 0.1, 0.5]);
        let range = Some(Interval {
            low: 0.0,
            high: 1.0,
        });
        let mean = anchored_mean(&answers, range, BootstrapOptions::seeded(1)).unwrap();
        assert!((mean.estimate - 0.5).abs() < 1e-12);
        // t(3) = 3.18245; sqrt(0.6 / 4) = 0.38730
        let half = 3.182_446 * 0.129_099_4 * 0.387_298_3;
        let interval = mean.interval.unwrap();
        assert!((interval.high - mean.estimate - half).abs() < 1e-5);
        assert!((mean.alone - 0.2).abs() < 1e-12 && mean.anchors == 4);
        // Questions vary, too.
        let of_questions = mean.of_questions.unwrap();
        assert!(of_questions.half_width() > half, "{of_questions:?}");
    }

    #[test]
    fn few_differing_anchors_have_no_interval() {
        let new = [1.0; 10];
        let two = anchored_mean(
            &answers(&new, &[1.0, 1.0, 1.0, 0.0, 0.0]),
            None,
            BootstrapOptions::seeded(1),
        )
        .unwrap();
        assert_eq!(two.interval, None);
        assert!(two.of_questions.is_some(), "Student's of five anchors");
        // A constant difference says no more than none.
        let constant =
            anchored_mean(&answers(&new, &[0.9; 5]), None, BootstrapOptions::seeded(1)).unwrap();
        assert_eq!(constant.interval, None);
        let three = anchored_mean(
            &answers(&new, &[1.0, 1.0, 1.0, 0.0, 0.0, 0.0]),
            None,
            BootstrapOptions::seeded(1),
        )
        .unwrap();
        assert!(three.interval.is_some());
    }

    #[test]
    fn all_answers_as_anchors_leave_nothing_to_estimate() {
        let mean = anchored_mean(
            &answers(&[0.5, 0.7], &[0.4, 0.5]),
            None,
            BootstrapOptions::seeded(1),
        )
        .unwrap();
        let interval = mean.interval.unwrap();
        assert!((mean.estimate - 0.45).abs() < 1e-12);
        assert!(interval.half_width() < 1e-12);
        assert_eq!(
            anchored_mean(&answers(&[0.5], &[]), None, BootstrapOptions::seeded(1)),
            None
        );
    }

    #[test]
    fn means_stay_within_the_range() {
        let range = Some(Interval {
            low: 0.0,
            high: 1.0,
        });
        let carried = carried_mean(0.95, &[0.1, 0.2, 0.0, 0.15, 0.05], range, 0.95).unwrap();
        assert_eq!(
            (carried.estimate, carried.interval.unwrap().high),
            (1.0, 1.0)
        );
        assert_eq!(carried_mean(0.5, &[0.1; 4], range, 0.95), None);
        // Five shifts by the same say nothing of a sixth.
        let carried = carried_mean(0.5, &[0.25; 5], range, 0.95).unwrap();
        assert_eq!((carried.estimate, carried.interval), (0.75, None));
    }
}
