//! The F1 of mean precision and mean recall, and the mean of several means, with their intervals.

use super::bootstrap::{BootstrapOptions, Interval};
use super::bounded_mean::{BoundedMean, ENDS_OF_MEAN};
use super::studentized::ClusteredSample;
use super::summary::{harmonic_mean, mean};

/// The harmonic mean of the mean precision and the mean recall of these cases, with its interval. Either of the
/// two may be missing in a case; `clusters` gives the question of each case. A mean without values is 0.
///
/// The standard error is that of the linear approximation (the delta method): near the observed means P and R, F1 moves by
/// 2 R^2 / (P + R)^2 for each unit of P, and by 2 P^2 / (P + R)^2 for each of R. Around it lies Wilson's interval, as around
/// a mean, so that a system whose precision and recall are equal in every case has one interval for all three. `None` for
/// fewer than two questions.
///
/// ```
/// use scholareval_stats::{BootstrapOptions, f1_of_means};
///
/// let cases = [[Some(1.0), Some(0.5)], [Some(0.5), Some(0.5)]];
/// let (f1, interval) = f1_of_means(&cases, &[0, 1], BootstrapOptions::seeded(1));
/// // P = 0.75, R = 0.5: 0.75 / 1.25.
/// assert!((f1 - 0.6).abs() < 1e-12 && interval.is_some());
/// ```
pub fn f1_of_means(
    cases: &[[Option<f64>; 2]],
    clusters: &[usize],
    options: BootstrapOptions,
) -> (f64, Option<Interval>) {
    let precision = MeanComponent::of(cases.iter().map(|case| case[0]));
    let recall = MeanComponent::of(cases.iter().map(|case| case[1]));
    let f1 = harmonic_mean(precision.mean, recall.mean);
    let sum = precision.mean + recall.mean;
    let precision_slope = slope(recall.mean, sum);
    let recall_slope = slope(precision.mean, sum);
    let mut influences = Vec::new();
    for [own_precision, own_recall] in cases {
        let by_precision = precision_slope * precision.influence(*own_precision, cases.len());
        let by_recall = recall_slope * recall.influence(*own_recall, cases.len());
        influences.push(by_precision + by_recall);
    }
    let share = Interval::new(0.0, 1.0);
    (f1, interval(f1, &influences, share, clusters, options))
}

/// The interval of the weighted mean of several means, such as those of the aspects of answers, within the range of their values. `cases`
/// has a value for each mean, any of which may be missing, `weights` the weight of each mean, `clusters` the question of each case. A mean
/// without any value is left out.
///
/// The standard error is that of the linear approximation, as for [`f1_of_means`]; without missing values it is that of the mean over
/// cases. `None` for fewer than two questions, and without any value.
///
/// ```
/// use scholareval_stats::{BootstrapOptions, Interval, mean_of_means};
///
/// let grades = Interval { low: 1.0, high: 5.0 };
/// // The means are 4 and 3, and their mean is 3.5.
/// let cases = [vec![Some(4.0), Some(2.0)], vec![Some(5.0), None], vec![Some(3.0), Some(4.0)]];
/// let interval = mean_of_means(&cases, &[1.0, 1.0], grades, &[0, 1, 2], BootstrapOptions::seeded(1));
/// assert!(interval.is_some_and(|interval| interval.low < 3.5 && 3.5 < interval.high));
/// ```
pub fn mean_of_means(
    cases: &[Vec<Option<f64>>],
    weights: &[f64],
    range: Interval,
    clusters: &[usize],
    options: BootstrapOptions,
) -> Option<Interval> {
    let mut sum = 0.0;
    let mut whole = 0.0;
    let mut influences = vec![0.0; cases.len()];
    for (part, weight) in weights.iter().enumerate().take(cases.first()?.len()) {
        let component = MeanComponent::of(cases.iter().map(|case| case[part]));
        if component.count > 0 {
            sum += weight * component.mean;
            whole += weight;
            for (influence, case) in influences.iter_mut().zip(cases) {
                *influence += weight * component.influence(case[part], cases.len());
            }
        }
    }
    if whole <= 0.0 {
        return None;
    }
    influences
        .iter_mut()
        .for_each(|influence| *influence /= whole);
    interval(sum / whole, &influences, range, clusters, options)
}

/// How far F1 moves for each unit of one of the two means, given the other and the sum of both.
fn slope(other: f64, sum: f64) -> f64 {
    if sum > 0.0 {
        2.0 * (other / sum).powi(2)
    } else {
        // Without a correct citation the function has no slope; the interval of a constant 0 remains.
        0.0
    }
}

/// The interval of a number that the cases move by these influences.
fn interval(
    estimate: f64,
    influences: &[f64],
    range: Interval,
    clusters: &[usize],
    options: BootstrapOptions,
) -> Option<Interval> {
    // The influences have the mean 0, so that the sample's error is that of the number, clusters
    // included.
    let sample =
        ClusteredSample::new(&[influences], Some(clusters)).filter(|_| options.is_usable())?;
    let questions = [sample.clusters() as f64, sample.effective_clusters()];
    BoundedMean::new([estimate, sample.errors[0]], range, questions, ENDS_OF_MEAN)
        .interval(options.level)
}

/// One of the means.
struct MeanComponent {
    mean: f64,
    count: usize,
}

impl MeanComponent {
    fn of(values: impl Iterator<Item = Option<f64>>) -> Self {
        let values: Vec<f64> = values.flatten().collect();
        let (mean, count) = (mean(&values).unwrap_or(0.0), values.len());
        Self { mean, count }
    }

    /// How far a case moves the mean, as a deviation among all cases: those without a value do not move it.
    fn influence(&self, value: Option<f64>, cases: usize) -> f64 {
        value.map_or(0.0, |value| {
            (value - self.mean) * cases as f64 / self.count as f64
        })
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::mean_interval;

    fn options() -> BootstrapOptions {
        BootstrapOptions::seeded(1)
    }

    fn single_clusters(cases: usize) -> Vec<usize> {
        (0..cases).collect()
    }

    #[test]
    fn equal_precision_and_recall_have_the_interval_of_their_mean() {
        let values = [0.0, 0.25, 0.0, 0.9];
        let share = Some(Interval {
            low: 0.0,
            high: 1.0,
        });
        let of_mean = mean_interval(&values, None, share, options()).unwrap();
        let cases = values.map(|value| [Some(value), Some(value)]);
        let (f1, interval) = f1_of_means(&cases, &single_clusters(4), options());
        let interval = interval.unwrap();
        assert!((f1 - 0.2875).abs() < 1e-12);
        assert!(
            (interval.low - of_mean.low).abs() < 1e-12
                && (interval.high - of_mean.high).abs() < 1e-12
        );
    }

    #[test]
    fn the_mean_of_means_without_missing_values_has_the_interval_of_the_mean_over_cases() {
        let grades = Interval {
            low: 1.0,
            high: 5.0,
        };
        let cases = [[4.0, 2.0], [5.0, 3.0], [3.0, 4.0], [1.0, 2.0]];
        let means = cases.map(|case| f64::midpoint(case[0], case[1]));
        let of_mean = mean_interval(&means, None, Some(grades), options()).unwrap();
        let values = cases.map(|case| case.map(Some).to_vec());
        let interval =
            mean_of_means(&values, &[1.0, 1.0], grades, &single_clusters(4), options()).unwrap();
        assert!(
            (interval.low - of_mean.low).abs() < 1e-12
                && (interval.high - of_mean.high).abs() < 1e-12
        );
        // A grade that is missing moves its aspect's mean from 2.75 to 3 and the number from 3 to 3.125.
        let mut missing = values.clone();
        missing[0][1] = None;
        let interval = mean_of_means(
            &missing,
            &[1.0, 1.0],
            grades,
            &single_clusters(4),
            options(),
        )
        .unwrap();
        assert!(interval.low < 3.125 && 3.125 < interval.high && interval != of_mean);
    }

    #[test]
    fn few_questions_leave_as_much_open_as_for_precision_and_recall() {
        // A bootstrap of these four questions reaches from 0 to 0.25: the resamples have no larger value.
        let precision = [0.0, 0.25, 0.0, 0.25];
        let recall = [0.0, 0.2, 0.0, 0.5];
        let cases: Vec<_> = (0..4)
            .map(|at| [Some(precision[at]), Some(recall[at])])
            .collect();
        let (_, interval) = f1_of_means(&cases, &single_clusters(4), options());
        let interval = interval.unwrap();
        assert!(interval.low > 0.0 && interval.high > 0.5, "{interval:?}");
    }

    #[test]
    fn a_case_without_recall_counts_in_precision_only() {
        let cases = [[Some(1.0), None], [Some(0.5), Some(0.5)]];
        // P = 0.75, R = 0.5.
        let (f1, interval) = f1_of_means(&cases, &single_clusters(2), options());
        assert!((f1 - 0.6).abs() < 1e-12 && interval.is_some());
        assert_eq!(f1_of_means(&cases, &[3, 3], options()).1, None);
        assert_eq!(f1_of_means(&[], &[], options()), (0.0, None));
    }

    /// Precision and recall of an answer: both 0 with this probability, else independent between 0.2 and 1.
    fn answer(nothing: f64, rng: &mut ChaCha8Rng) -> [Option<f64>; 2] {
        let is_nothing = rng.random::<f64>() < nothing;
        [(); 2].map(|()| {
            let value = 0.2 + 0.8 * rng.random::<f64>();
            Some(if is_nothing { 0.0 } else { value })
        })
    }

    #[test]
    fn the_interval_holds_the_true_f1_at_four_questions() {
        // Of 500 samples 95% or more, with a standard error of 1%; the bench `coverage` has more cells.
        for nothing in [0.0, 0.3, 0.6] {
            // Both means are 0.6 (1 - nothing), and so is their F1.
            let truth = 0.6 * (1.0 - nothing);
            let mut rng = ChaCha8Rng::seed_from_u64(2026);
            let mut held = 0;
            for _ in 0..500 {
                let cases: Vec<_> = (0..4).map(|_| answer(nothing, &mut rng)).collect();
                let interval = f1_of_means(&cases, &single_clusters(4), options())
                    .1
                    .unwrap();
                held += u32::from(interval.low <= truth && truth <= interval.high);
            }
            assert!(held >= 465, "{nothing}: {held} of 500");
        }
    }
}
