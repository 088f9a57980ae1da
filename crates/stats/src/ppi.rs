//! Prediction-powered means: a mean on the human scale from few human labels and many judge values.
//!
//! A. N. Angelopoulos, S. Bates, C. Fannjiang, M. I. Jordan and T. Zrnic, "Prediction-powered inference", Science 382
//! (2023); power tuning from A. N. Angelopoulos, J. C. Duchi and T. Zrnic, "PPI++: efficient prediction-powered inference"
//! (2023). With n labeled answers (y human, f judge) and N judged only,
//! estimate = lambda mean_N(f) + mean_n(y - lambda f),
//! lambda = cov_n(y, f) / ((1 + n/N) var_{n+N}(f)), kept within 0..=1.
//! The judge may be biased or useless: the labels correct it, and lambda falls to 0 if it carries no information.
//!
//! The same estimate is mean_n(y) + b (mean_{n+N}(f) - mean_n(f)) with b = (1 + n/N) lambda. This form also serves labels
//! that were drawn with known, unequal probabilities: mean_n is then weighted by their inverses (J. Hajek, discussion of D.
//! Basu, "An essay on the logical foundations of survey sampling", 1971; T. Zrnic and E. J. Candès, "Active statistical
//! inference", ICML 2024).
//!
//! Means of labels within a known range have Wilson's interval with this estimate's standard error, and t with the number of
//! questions with labels less 1. Without a range, means with labels of fewer than 6 questions have Student's with as many degrees of
//! freedom, as in [`mean_interval`](super::mean_interval). Other intervals are bootstrap-t over whole questions, labeled or not, with lambda estimated
//! again in every resample: of labels at the end of their range, few resamples have the spread of the mean.

use super::bootstrap::{BootstrapOptions, Clusters, Interval, resample};
use super::bounded_mean::{BoundedMean, ENDS_OF_MEAN};
use super::distributions::t_two_sided;
use super::studentized::{FEWEST_FOR_MEANS, equal_tails, student, studentized};

/// An answer that a judge, and perhaps a person, rated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JudgedAnswer {
    /// The judge's value, on any scale.
    pub judge: f64,
    /// The human label.
    pub human: Option<f64>,
    /// 1 / probability of being labeled, up to a common factor; without effect on answers without a label.
    pub weight: f64,
    /// The question. Questions are independent of each other, answers to one question are not.
    pub question: usize,
}

impl JudgedAnswer {
    fn is_usable(&self) -> bool {
        let label = self.human.unwrap_or_default();
        self.judge.is_finite() && label.is_finite() && self.weight.is_finite() && self.weight > 0.0
    }
}

/// What is estimated.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Estimand {
    /// A mean of labels, with Wilson's interval within this range if it is known, as in
    /// [`mean_interval`](super::mean_interval).
    Mean(Option<Interval>),
    /// A mean of differences of two systems' labels and values. Its interval is symmetric around it: the |t| of the resamples
    /// give it and p, since equal tails would miss equal systems with many ties too often.
    Difference,
}

/// A mean on the human scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PredictionPoweredMean {
    /// The estimated human mean over all answers.
    pub estimate: f64,
    /// Its standard error over questions.
    pub standard_error: f64,
    /// Wilson's within the range of the labels; without one bootstrap-t, and of means with labels of fewer than 6 questions Student's.
    /// `None` where that is unbounded, as with few labels that differ.
    pub interval: Option<Interval>,
    /// Two-sided p of a mean of 0: below 1 - level exactly if the interval excludes 0.
    pub p: f64,
    /// Weight of the judge, 0..=1: 0 is the mean of the labels alone.
    pub lambda: f64,
}

/// The power-tuned mean of `answers`, or that with a given `lambda`: 0 for the labels alone, 1 for the original
/// prediction-powered inference.
///
/// `None` for labels of fewer than two questions, for fewer than two answers without a label (unless `lambda` is 0), values that
/// are not finite, weights that are not positive, and a level outside 0..1.
///
/// ```
/// use scholareval_stats::{BootstrapOptions, Estimand, JudgedAnswer, prediction_powered_mean};
///
/// // The judge is 0.2 too mild, always: the labels show it.
/// let judged = [0.3, 0.7, 0.5, 0.9, 0.5, 0.6, 0.7, 0.8, 0.4, 0.6, 0.9, 0.3];
/// let answer = |(question, judge): (usize, &f64)| {
///     let human = (question < 4).then(|| judge - 0.2);
///     JudgedAnswer { judge: *judge, human, weight: 1.0, question }
/// };
/// let answers: Vec<JudgedAnswer> = judged.iter().enumerate().map(answer).collect();
/// let mean = prediction_powered_mean(&answers, None, Estimand::Mean(None), BootstrapOptions::seeded(1));
/// assert!(mean.is_some_and(|mean| (mean.estimate - 0.4).abs() < 0.01));
/// ```
pub fn prediction_powered_mean(
    answers: &[JudgedAnswer],
    lambda: Option<f64>,
    estimand: Estimand,
    options: BootstrapOptions,
) -> Option<PredictionPoweredMean> {
    let sums = QuestionSums::new(answers)?;
    let answers = answers.iter();
    let unlabeled = answers.filter(|answer| answer.human.is_none()).count();
    let is_enough = sums.labeled_questions() >= 2 && (unlabeled >= 2 || lambda == Some(0.0));
    if !(is_enough && options.is_usable() && lambda.is_none_or(f64::is_finite)) {
        return None;
    }
    let fit = sums.fit(&vec![1; sums.rows.len()], lambda)?;
    let estimate = sums.human + fit.shift;
    // Rounding does not count as an error.
    let error = if fit.error > 1e-12 * estimate.abs().max(1e-3) {
        fit.error
    } else {
        0.0
    };
    let (interval, p) = if let Estimand::Mean(Some(range)) = estimand {
        let questions = [sums.labeled_questions() as f64; 2];
        let mean = BoundedMean::new([estimate, error], range, questions, ENDS_OF_MEAN);
        (mean.interval(options.level), mean.p(0.0))
    } else if estimand == Estimand::Mean(None) && sums.labeled_questions() < FEWEST_FOR_MEANS {
        let degrees = sums.labeled_questions() as f64 - 1.0;
        let p = if error > 0.0 {
            t_two_sided(estimate.abs() / error, degrees)
        } else {
            1.0
        };
        (student(estimate, error, degrees, options.level), p)
    } else {
        let mut resampled = resample(
            sums.rows.len(),
            |drawn| match sums.fit(drawn, lambda) {
                Some(resampled_fit) => {
                    studentized(resampled_fit.shift - fit.shift, resampled_fit.error, error)
                }
                // A resample without a standard error is as far from the mean as any.
                None => f64::INFINITY,
            },
            options,
        );
        if estimand == Estimand::Difference {
            // Equal tails of the statistics and their opposites are those of |t|.
            let opposites: Vec<f64> = resampled.iter().map(|t| -t).collect();
            resampled.extend(opposites);
        }
        equal_tails(estimate, error, resampled, options)
    };
    Some(PredictionPoweredMean {
        estimate,
        standard_error: error,
        interval,
        p,
        lambda: fit.lambda,
    })
}

/// Sums over the answers of one question, of values less a common one.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    /// Of labeled answers: their number, weight, and weighted y, f and y f.
    labeled: f64,
    weight: f64,
    human: f64,
    judge: f64,
    product: f64,
    /// Of all answers: their number, f and f^2.
    all: f64,
    judged: f64,
    squares: f64,
}

impl Sums {
    /// Those of one answer, less the mean of the labels and that of the judge's values.
    fn of(answer: &JudgedAnswer, human: f64, judge: f64) -> Self {
        let f = answer.judge - judge;
        let mut row = Self {
            all: 1.0,
            judged: f,
            squares: f * f,
            ..Self::default()
        };
        if let Some(y) = answer.human {
            let weighted = answer.weight * (y - human);
            row.labeled = 1.0;
            row.weight = answer.weight;
            row.human = weighted;
            row.judge = answer.weight * f;
            row.product = weighted * f;
        }
        row
    }

    fn add(&mut self, times: f64, other: &Self) {
        self.labeled += times * other.labeled;
        self.weight += times * other.weight;
        self.human += times * other.human;
        self.judge += times * other.judge;
        self.product += times * other.product;
        self.all += times * other.all;
        self.judged += times * other.judged;
        self.squares += times * other.squares;
    }
}

struct QuestionSums {
    rows: Vec<Sums>,
    /// The mean of the labels, from which their sums are taken.
    human: f64,
    /// The largest judge value, less the mean: smaller spreads than its rounding are none.
    largest: f64,
}

/// The mean of a resample, less that of the labels.
struct Fit {
    shift: f64,
    error: f64,
    lambda: f64,
}

impl QuestionSums {
    fn new(answers: &[JudgedAnswer]) -> Option<Self> {
        if !answers.iter().all(JudgedAnswer::is_usable) {
            return None;
        }
        // Values are taken less their means before they are multiplied and summed; otherwise a scale
        // such as 80 to 100 would cost digits in every resample.
        let mut weights = 0.0;
        let mut weighted = 0.0;
        for answer in answers {
            if let Some(y) = answer.human {
                weights += answer.weight;
                weighted += answer.weight * y;
            }
        }
        // Without labels 0 / 0, which is not finite.
        let human = weighted / weights;
        let judge = answers.iter().map(|answer| answer.judge).sum::<f64>() / answers.len() as f64;
        let clusters = Clusters::new(
            &answers
                .iter()
                .map(|answer| answer.question)
                .collect::<Vec<_>>(),
        );
        let mut rows = vec![Sums::default(); clusters.sizes.len()];
        for (answer, question) in answers.iter().zip(clusters.of_unit) {
            rows[question].add(1.0, &Sums::of(answer, human, judge));
        }
        let answers = answers.iter();
        let largest = answers.fold(1e-3_f64, |most, answer| most.max(answer.judge.abs()));
        (human.is_finite() && judge.is_finite()).then_some(Self {
            rows,
            human,
            largest,
        })
    }

    /// The questions that were drawn, and how often.
    fn drawn<'a>(&'a self, drawn: &'a [u32]) -> impl Iterator<Item = (&'a Sums, f64)> {
        let questions = self.rows.iter().zip(drawn);
        questions
            .filter(|(_, times)| **times > 0)
            .map(|(row, times)| (row, f64::from(*times)))
    }

    fn labeled_questions(&self) -> usize {
        self.rows.iter().filter(|row| row.labeled > 0.0).count()
    }

    /// The mean and its standard error with questions drawn this often; `None` if one question has all labels.
    ///
    /// The standard error is that of the sum over questions of w (y - b f - its mean) / sum(w) + b (f - its mean) / (n + N),
    /// each square divided by 1 less the question's share of the labels' weight (CR2).
    fn fit(&self, drawn: &[u32], lambda: Option<f64>) -> Option<Fit> {
        let mut sums = Sums::default();
        for (row, times) in self.drawn(drawn) {
            sums.add(times, row);
        }
        let human = sums.human / sums.weight;
        let judge = sums.judge / sums.weight;
        let judged = sums.judged / sums.all;
        let covariance = sums.product / sums.weight - human * judge;
        let variance = (sums.squares - sums.all * judged * judged) / (sums.all - 1.0);
        let most = 1.0 + sums.labeled / (sums.all - sums.labeled).max(1.0);
        let lambda = match lambda {
            Some(lambda) => lambda,
            None if variance > (1e-12 * self.largest).powi(2) => {
                // Outside 0..1 lambda would subtract the judge or count it more than the labels,
                // which a covariance from few labels can seem to ask for.
                (covariance / variance / most).clamp(0.0, 1.0)
            }
            None => 0.0,
        };
        let b = most * lambda;
        let mut squares = 0.0;
        for (row, times) in self.drawn(drawn) {
            let labeled = row.human - human * row.weight - b * (row.judge - judge * row.weight);
            let deviation = labeled / sums.weight + b * (row.judged - judged * row.all) / sums.all;
            squares += times * deviation * deviation / (1.0 - row.weight / sums.weight);
        }
        squares.is_finite().then(|| Fit {
            shift: human + b * (judged - judge),
            error: squares.sqrt(),
            lambda,
        })
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn few() -> BootstrapOptions {
        BootstrapOptions {
            resamples: 399,
            ..BootstrapOptions::seeded(1)
        }
    }

    /// Answers with the labels, then those without.
    fn answers(human: &[f64], judge: &[f64], unlabeled: &[f64]) -> Vec<JudgedAnswer> {
        let labels = human
            .iter()
            .copied()
            .map(Some)
            .chain(unlabeled.iter().map(|_| None));
        let judged = labels.zip(judge.iter().chain(unlabeled)).enumerate();
        judged
            .map(|(question, (human, judge))| JudgedAnswer {
                judge: *judge,
                human,
                weight: 1.0,
                question,
            })
            .collect()
    }

    fn mean(answers: &[JudgedAnswer], lambda: Option<f64>) -> Option<PredictionPoweredMean> {
        prediction_powered_mean(answers, lambda, Estimand::Mean(None), few())
    }

    #[test]
    fn few_labels_without_a_range_have_students_interval() {
        // Labels of 3 questions alone: mean 2, error 1 / sqrt(3), t(2) = 4.302653.
        let few_labels = answers(&[1.0, 2.0, 3.0], &[0.0; 3], &[0.5, 0.25]);
        let found = mean(&few_labels, Some(0.0)).unwrap();
        let half = 4.302_653 / 3.0_f64.sqrt();
        assert!((found.interval.unwrap().high - 2.0 - half).abs() < 1e-5);
        // t = 2 sqrt(3) = 3.4641: 0.0742
        assert!((found.p - 0.0742).abs() < 1e-4, "{found:?}");
        let equal = answers(&[1.0; 3], &[0.0; 3], &[0.5, 0.25]);
        let equal = mean(&equal, Some(0.0)).unwrap();
        assert_eq!((equal.interval, equal.p), (None, 1.0));
    }

    #[test]
    fn estimates_with_a_given_lambda_by_hand() {
        let data = answers(&[0.0, 1.0], &[1.0, 2.0], &[3.0, 5.0]);
        // lambda 1: 4 + mean(-1, -1) = 3. With b = 2 and judge values 2.75 on average (1.5 of the labels), the terms of the
        // answers are (y - 0.5 - 2 (f - 1.5)) / 2 + 2 (f - 2.75) / 4: 0.25 - 0.875, -0.25 - 0.375, 0.125, 1.125. The squares
        // of the labels count twice, 1 / (1 - 1/2): 4 * 0.390625 + 0.015625 + 1.265625 = 2.84375.
        let full = mean(&data, Some(1.0)).unwrap();
        assert_eq!(full.estimate, 3.0);
        assert!(
            (full.standard_error - 2.843_75_f64.sqrt()).abs() < 1e-12,
            "{full:?}"
        );
        // lambda 0: the labels' mean, with sd / sqrt(n) = 0.7071 / 1.4142.
        let labels = mean(&data, Some(0.0)).unwrap();
        assert!(
            (labels.estimate - 0.5).abs() < 1e-12 && (labels.standard_error - 0.5).abs() < 1e-12
        );
    }

    #[test]
    fn the_interval_of_a_difference_is_symmetric_and_excludes_0_exactly_if_p_is_below_5_percent() {
        for shift in [-0.6, -0.4, -0.3, -0.2, 0.0, 0.2] {
            let human: Vec<f64> = (0..30)
                .map(|at| f64::from(at * 7 % 11) / 10.0 + shift)
                .collect();
            let judge: Vec<f64> = (0..60).map(|at| f64::from(at * 5 % 13)).collect();
            let mean = prediction_powered_mean(
                &answers(&human, &judge[..30], &judge[30..]),
                None,
                Estimand::Difference,
                few(),
            )
            .unwrap();
            let interval = mean.interval.unwrap();
            assert!((interval.low + interval.high - 2.0 * mean.estimate).abs() < 1e-12);
            assert_eq!(
                mean.p < 0.05,
                interval.low > 0.0 || interval.high < 0.0,
                "{mean:?}"
            );
        }
    }

    #[test]
    fn weights_count_an_answer_as_often_as_it_stands_for_others() {
        // Labels 1 (drawn with probability 1/4) and 0 (1/2): (4 + 0) / (4 + 2).
        let mut data = answers(&[1.0, 0.0], &[1.0, 1.0], &[]);
        (data[0].weight, data[1].weight) = (4.0, 2.0);
        assert!((mean(&data, Some(0.0)).unwrap().estimate - 2.0 / 3.0).abs() < 1e-12);
        // A common factor changes nothing.
        data.iter_mut().for_each(|answer| answer.weight *= 10.0);
        assert!((mean(&data, Some(0.0)).unwrap().estimate - 2.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn an_uninformative_judge_has_no_weight() {
        let human = [0.1, 0.9, 0.4, 0.6];
        assert_eq!(
            mean(&answers(&human, &[0.5; 4], &[0.5; 10]), None)
                .unwrap()
                .lambda,
            0.0
        );
        let opposite = mean(
            &answers(&human, &[0.9, 0.1, 0.6, 0.4], &[0.2, 0.7, 0.4]),
            None,
        )
        .unwrap();
        assert_eq!(opposite.lambda, 0.0);
        assert!((opposite.estimate - 0.5).abs() < 1e-12);
    }

    #[test]
    fn what_has_no_mean_is_none() {
        let (human, judge) = ([0.0, 1.0], [1.0, 2.0]);
        assert_eq!(mean(&answers(&[0.0], &[1.0], &[3.0, 5.0]), None), None);
        assert_eq!(mean(&answers(&human, &judge, &[1.0]), None), None);
        assert_eq!(mean(&answers(&human, &judge, &[1.0, f64::NAN]), None), None);
        assert_eq!(mean(&[], None), None);
        let mut data = answers(&human, &judge, &[3.0, 5.0]);
        assert_eq!(mean(&data, Some(f64::NAN)), None);
        let no_level = BootstrapOptions {
            level: 1.0,
            ..few()
        };
        assert_eq!(
            prediction_powered_mean(&data, None, Estimand::Mean(None), no_level),
            None
        );
        data[1].question = data[0].question;
        assert_eq!(mean(&data, None), None, "one question has all labels");
    }

    #[test]
    fn equal_labels_have_an_interval_within_the_range_of_labels_only() {
        let range = Estimand::Mean(Some(Interval {
            low: 1.0,
            high: 5.0,
        }));
        let data = answers(&[5.0; 20], &[0.9; 20], &[0.9; 80]);
        assert_eq!(mean(&data, None).unwrap().interval, None);
        // The lower end of 20 of 20, 0.8130 (`bounded_mean`), of the way from 1 to 5.
        let interval = prediction_powered_mean(&data, None, range, few())
            .unwrap()
            .interval
            .unwrap();
        assert!((interval.low - 4.2521).abs() < 1e-4 && interval.high == 5.0);
    }

    #[test]
    fn p_of_a_mean_within_a_range_is_below_5_percent_exactly_if_the_interval_excludes_0() {
        // Values of -1, 0 and 1, of which ever more are 1.
        let range = Estimand::Mean(Some(Interval {
            low: -1.0,
            high: 1.0,
        }));
        for wins in 0..=20 {
            let human: Vec<f64> = (0..20)
                .map(|at| {
                    if at < wins {
                        1.0
                    } else {
                        f64::from(at % 2) - 1.0
                    }
                })
                .collect();
            let judge: Vec<f64> = (0..60).map(|at| f64::from(at * 7 % 9)).collect();
            let data = answers(&human, &judge[..20], &judge[20..]);
            let mean = prediction_powered_mean(&data, None, range, few()).unwrap();
            let interval = mean.interval.unwrap();
            let excludes_0 = interval.low > 0.0 || interval.high < 0.0;
            assert_eq!(mean.p < 0.05, excludes_0, "{wins}: {mean:?}");
        }
    }

    #[test]
    fn answers_to_one_question_are_no_evidence_of_their_own() {
        let once = answers(
            &[0.1, 0.5, 0.3, 0.7, 0.9, 0.4],
            &[0.2, 0.5, 0.5, 0.6, 0.8, 0.3],
            &[0.5, 0.6, 0.1, 0.9],
        );
        let twice: Vec<JudgedAnswer> = once.iter().flat_map(|answer| [*answer, *answer]).collect();
        let [single, double] = [once, twice].map(|data| mean(&data, Some(0.5)).unwrap());
        assert!((single.estimate - double.estimate).abs() < 1e-12);
        assert!(
            (single.standard_error - double.standard_error).abs() < 1e-12,
            "{single:?} {double:?}"
        );
    }

    #[test]
    fn intervals_hold_the_human_mean_as_often_as_they_say_and_are_narrower_than_without_a_judge() {
        // Humans rate exp(2 q), mean (e^2 - 1) / 2; the judge sees q through noise, on another scale. Labels are drawn with
        // probability 0.1 + 0.2 q.
        let truth = (2.0_f64.exp() - 1.0) / 2.0;
        let mut rng = ChaCha8Rng::seed_from_u64(2026);
        let (mut held, mut width, mut width_alone) = (0, 0.0, 0.0);
        for _ in 0..400 {
            let answer = |question: usize| {
                let (quality, noise, drawn): (f64, f64, f64) =
                    (rng.random(), rng.random(), rng.random());
                let (p, judge) = (0.1 + 0.2 * quality, 8.0 * quality + 2.0 * noise);
                JudgedAnswer {
                    judge,
                    human: (drawn < p).then(|| (2.0 * quality).exp()),
                    weight: 1.0 / p,
                    question,
                }
            };
            let data: Vec<JudgedAnswer> = (0..300).map(answer).collect();
            let labels: Vec<JudgedAnswer> = data
                .iter()
                .filter(|answer| answer.human.is_some())
                .copied()
                .collect();
            let (tuned, alone) = (
                mean(&data, None).unwrap().interval.unwrap(),
                mean(&labels, Some(0.0)).unwrap(),
            );
            held += i32::from(tuned.low <= truth && truth <= tuned.high);
            width += tuned.half_width();
            width_alone += alone.interval.unwrap().half_width();
        }
        // 380 expected, with a standard error of 4.4.
        assert!((367..=392).contains(&held), "{held}");
        assert!(width < 0.7 * width_alone, "{width} {width_alone}");
    }
}
