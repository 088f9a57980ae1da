//! The bias-corrected and accelerated (BCa) bootstrap interval of a mean.
//!
//! B. Efron, "Better bootstrap confidence intervals", JASA 82 (1987), pages 171-185; the acceleration is estimated
//! from the jackknife as there, and the bias correction counts ties by half, as SciPy does.

use std::collections::BTreeMap;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use statrs::distribution::{ContinuousCDF, Normal};

use super::summary::{mean, quantile};

/// How the interval is made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BcaOptions {
    /// How often the interval shall hold the true mean, 0 < level < 1.
    pub level: f64,
    /// How many resamples are drawn.
    pub resamples: u32,
    /// Seeds the draws: one stream of ChaCha8 per resample, so that the number of threads does not matter.
    pub seed: u64,
}

impl BcaOptions {
    /// 95%, 10,000 resamples, that seed.
    pub fn seeded(seed: u64) -> Self {
        Self { level: 0.95, resamples: 10_000, seed }
    }
}

/// A confidence interval, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The BCa interval of the mean of `values`.
///
/// `None` for fewer than two values, for values that are not finite and for a level outside 0..1; one point where
/// all values are equal.
pub fn bca_mean_interval(values: &[f64], options: BcaOptions) -> Option<Interval> {
    bca_mean_intervals(&[values], options).pop().flatten()
}

/// [`bca_mean_interval`] of each sample, in their order. Samples of one size are resampled together: they draw the same
/// indices anyway.
pub fn bca_mean_intervals(samples: &[&[f64]], options: BcaOptions) -> Vec<Option<Interval>> {
    let mut intervals = vec![None; samples.len()];
    let mut by_size: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, values) in samples.iter().enumerate() {
        match known_beforehand(values, options) {
            Some(interval) => intervals[index] = interval,
            None => by_size.entry(values.len()).or_default().push(index),
        }
    }
    for indices in by_size.into_values() {
        let group: Vec<&[f64]> = indices.iter().map(|index| samples[*index]).collect();
        let means = resampled_means(&group, options);
        for (column, index) in indices.into_iter().enumerate() {
            let mut own: Vec<f64> = means.iter().skip(column).step_by(group.len()).copied().collect();
            own.sort_unstable_by(f64::total_cmp);
            intervals[index] = bca_from_resamples(samples[index], &own, options.level);
        }
    }
    intervals
}

/// The interval where no resampling is needed to tell it, or to tell that there is none.
fn known_beforehand(values: &[f64], options: BcaOptions) -> Option<Option<Interval>> {
    let Some((first, rest)) = values.split_first() else { return Some(None) };
    let level_is_usable = options.level > 0.0 && options.level < 1.0;
    if rest.is_empty() || options.resamples == 0 || !level_is_usable || values.iter().any(|v| !v.is_finite()) {
        return Some(None);
    }
    rest.iter().all(|value| value == first).then_some(Some(Interval { low: *first, high: *first }))
}

/// The means of all resamples of samples of one size: for each resample one mean a sample.
pub(super) fn resampled_means(samples: &[&[f64]], options: BcaOptions) -> Vec<f64> {
    let (width, n) = (samples.len(), samples.first().map_or(0, |values| values.len()));
    // Values that are drawn together stand together.
    let rows: Vec<f64> = (0..n).flat_map(|row| samples.iter().map(move |values| values[row])).collect();
    let seeded = ChaCha8Rng::seed_from_u64(options.seed);
    let mut means = vec![0.0; width * options.resamples as usize];
    means.par_chunks_mut(width).enumerate().for_each(|(replicate, sums)| {
        let mut rng = seeded.clone();
        rng.set_stream(replicate as u64);
        for _ in 0..n {
            // Multiply and shift: the bias of at most n / 2^32 is far below what 10,000 resamples can show.
            let drawn = ((u64::from(rng.next_u32()) * n as u64) >> 32) as usize;
            for (sum, value) in sums.iter_mut().zip(&rows[drawn * width..(drawn + 1) * width]) {
                *sum += value;
            }
        }
        sums.iter_mut().for_each(|sum| *sum /= n as f64);
    });
    means
}

/// The interval from resampled means in ascending order.
fn bca_from_resamples(values: &[f64], sorted_means: &[f64], level: f64) -> Option<Interval> {
    let observed = mean(values)?;
    bca_ends(observed, acceleration(values, observed), sorted_means, level)
}

/// The BCa interval of a statistic from its observed value, its acceleration and its resampled values in ascending order.
pub(super) fn bca_ends(observed: f64, acceleration: f64, sorted: &[f64], level: f64) -> Option<Interval> {
    let normal = Normal::standard();
    let bias = normal.inverse_cdf(share_below(sorted, observed));
    let end = |z: f64| {
        let shifted = bias + z;
        let p = normal.cdf(bias + shifted / (1.0 - acceleration * shifted));
        quantile(sorted, p)
    };
    let z = normal.inverse_cdf((1.0 + level) / 2.0);
    Some(Interval { low: end(-z)?, high: end(z)? })
}

/// Share of the resampled means below the observed one, ties by half.
///
/// Sums of one multiset in another order differ in the last digits, so means that close count as ties. The share is
/// kept off 0 and 1, where the bias correction would be infinite.
fn share_below(sorted_means: &[f64], observed: f64) -> f64 {
    let tie = 1e-12 * observed.abs().max(1e-3);
    let below = sorted_means.partition_point(|m| *m < observed - tie);
    let not_above = sorted_means.partition_point(|m| *m <= observed + tie);
    let total = 2.0 * sorted_means.len() as f64;
    ((below + not_above) as f64 / total).clamp(0.5 / total, 1.0 - 0.5 / total)
}

/// The acceleration, from the jackknife: sum(d^3) / (6 sum(d^2)^1.5) with d = mean of all leave-one-out means minus
/// one of them. For a mean, d = (value - mean) / (n - 1); the constant cancels.
pub(super) fn acceleration(values: &[f64], observed: f64) -> f64 {
    let (squares, cubes) = values.iter().fold((0.0, 0.0), |(squares, cubes), value| {
        let d = value - observed;
        (squares + d * d, cubes + d * d * d)
    });
    if squares > 0.0 { cubes / (6.0 * squares.powf(1.5)) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::RngExt;
    use serde_json::Value;

    use super::*;
    use crate::stats::summary::sd;

    fn golden() -> Value {
        serde_json::from_str(include_str!("../../tests/fixtures/stats/golden.json")).unwrap()
    }

    fn numbers(value: &Value) -> Vec<f64> {
        value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
    }

    #[test]
    fn the_same_resamples_give_scipys_interval() {
        let golden = golden();
        let cases = golden["bca_given_resamples"].as_array().unwrap();
        assert!(cases.len() >= 4);
        for case in cases {
            let mut means = numbers(&case["resampled_means"]);
            means.sort_unstable_by(f64::total_cmp);
            let interval =
                bca_from_resamples(&numbers(&case["values"]), &means, case["level"].as_f64().unwrap()).unwrap();
            assert!((interval.low - case["low"].as_f64().unwrap()).abs() < 1e-9, "{}: {interval:?}", case["name"]);
            assert!((interval.high - case["high"].as_f64().unwrap()).abs() < 1e-9, "{}: {interval:?}", case["name"]);
        }
    }

    #[test]
    fn our_own_resamples_come_close_to_scipys() {
        for case in golden()["bca_many_resamples"].as_array().unwrap() {
            let (low, high) = (case["low"].as_f64().unwrap(), case["high"].as_f64().unwrap());
            let interval = bca_mean_interval(&numbers(&case["values"]), BcaOptions::seeded(1)).unwrap();
            // 10,000 resamples place a 2.5% quantile to about 3% of the width of the interval.
            let tolerance = 0.03 * (high - low);
            assert!((interval.low - low).abs() < tolerance, "{}: {interval:?}", case["name"]);
            assert!((interval.high - high).abs() < tolerance, "{}: {interval:?}", case["name"]);
        }
    }

    #[test]
    fn the_number_of_threads_does_not_change_the_interval() {
        let values: Vec<f64> = (0..50).map(|i| f64::from(i * i % 17) / 17.0).collect();
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| bca_mean_interval(&values, BcaOptions::seeded(3)))
        };
        assert_eq!(on(1), on(4));
        assert_ne!(on(1), bca_mean_interval(&values, BcaOptions::seeded(4)), "the seed has no effect");
    }

    #[test]
    fn samples_resampled_together_get_the_intervals_they_get_alone() {
        let sample = |n: u32, step: u32| (0..n).map(|i| f64::from(i * step % 17) / 17.0).collect::<Vec<f64>>();
        let samples = [sample(50, 3), sample(20, 5), vec![], sample(50, 7), vec![0.5; 50], sample(20, 11)];
        let borrowed: Vec<&[f64]> = samples.iter().map(Vec::as_slice).collect();
        let alone: Vec<_> = borrowed.iter().map(|values| bca_mean_interval(values, BcaOptions::seeded(3))).collect();
        assert_eq!(bca_mean_intervals(&borrowed, BcaOptions::seeded(3)), alone);
        assert_eq!(alone.iter().filter(|interval| interval.is_none()).count(), 1);
    }

    #[test]
    fn an_interval_is_the_one_that_was_published_with_this_seed() {
        // Resample r draws from stream r: values[next_u32 * n >> 32], n times; means and interval by hand from there.
        let values: Vec<f64> = (0..30).map(|i| f64::from(i * i % 17) / 17.0).collect();
        let options = BcaOptions { resamples: 500, ..BcaOptions::seeded(3) };
        let mut means: Vec<f64> = (0..500)
            .map(|replicate| {
                let mut rng = ChaCha8Rng::seed_from_u64(3);
                rng.set_stream(replicate);
                let drawn = (0..30).map(|_| values[((u64::from(rng.next_u32()) * 30) >> 32) as usize]);
                drawn.sum::<f64>() / 30.0
            })
            .collect();
        means.sort_unstable_by(f64::total_cmp);
        assert_eq!(bca_mean_interval(&values, options), bca_from_resamples(&values, &means, 0.95));
    }

    #[test]
    fn degenerate_samples_have_no_interval_or_a_point() {
        let options = BcaOptions::seeded(0);
        assert_eq!(bca_mean_interval(&[], options), None);
        assert_eq!(bca_mean_interval(&[0.5], options), None);
        assert_eq!(bca_mean_interval(&[0.5, f64::NAN], options), None);
        assert_eq!(bca_mean_interval(&[0.5, 0.5, 0.5], options), Some(Interval { low: 0.5, high: 0.5 }));
        assert_eq!(bca_mean_interval(&[0.1, 0.5], BcaOptions { level: 1.0, ..options }), None);
        assert_eq!(bca_mean_interval(&[0.1, 0.5], BcaOptions { resamples: 0, ..options }), None);
    }

    #[test]
    fn a_symmetric_sample_gives_about_the_normal_interval() {
        // 0, 0.02, .., 1.98: mean 0.99; se = sd / sqrt(100); normal half width 1.96 se
        let values: Vec<f64> = (0..100).map(|i| f64::from(i) / 50.0).collect();
        let half = 1.96 * sd(&values).unwrap() / 10.0;
        let interval = bca_mean_interval(&values, BcaOptions::seeded(5)).unwrap();
        assert!((interval.low - (0.99 - half)).abs() < 0.01 && (interval.high - (0.99 + half)).abs() < 0.01);
    }

    #[test]
    fn of_intervals_at_95_percent_93_to_97_hold_the_mean_of_skewed_scores() {
        // 2,000 samples of 100 scores u^3 with mean 1/4; the standard error of a 95% share of 2,000 is 0.5%.
        let mut rng = ChaCha8Rng::seed_from_u64(2026);
        let samples: Vec<Vec<f64>> =
            (0..2_000).map(|_| (0..100).map(|_| rng.random::<f64>().powi(3)).collect()).collect();
        let borrowed: Vec<&[f64]> = samples.iter().map(Vec::as_slice).collect();
        let intervals = bca_mean_intervals(&borrowed, BcaOptions { resamples: 500, ..BcaOptions::seeded(1) });
        let held = intervals.iter().flatten().filter(|i| i.low <= 0.25 && 0.25 <= i.high).count();
        let rate = held as f64 / 2_000.0;
        assert!((0.93..=0.97).contains(&rate), "{rate}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn an_interval_is_ordered_and_stays_within_the_sample(values in prop::collection::vec(0.0..=1.0_f64, 2..20)) {
            let options = BcaOptions { resamples: 200, ..BcaOptions::seeded(9) };
            let interval = bca_mean_interval(&values, options).unwrap();
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            prop_assert!(interval.low <= interval.high);
            prop_assert!(low - 1e-12 <= interval.low && interval.high <= high + 1e-12);
        }
    }
}
