//! The BCa interval of any statistic of independent units, by the units' multiplicities.
//!
//! A resample with replacement is told as how often each unit was drawn. A statistic that takes such weights can sort and
//! rank its data once instead of 10,000 times. B. Efron, "Better bootstrap confidence intervals", JASA 82 (1987), pages
//! 171-185.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::bootstrap::{BcaOptions, Interval, acceleration, bca_ends};
use super::summary::mean;

/// The BCa interval of `statistic` over `units` units.
///
/// `statistic` gets one weight a unit: all 1 for what was observed, the number of times each was drawn for a resample,
/// all 1 but one 0 for the jackknife. The draws are those of [`bca_mean_interval`](super::bca_mean_interval) with the
/// same options, whatever the number of threads.
///
/// Resamples where the statistic is `None` (a single category was drawn, say) are left out. `None` for fewer than two
/// units, where the statistic is not defined for the data or for more than half of the resamples, and for a level
/// outside 0..1.
///
/// ```
/// use scholareval::stats::{BcaOptions, bca_weighted_interval};
///
/// let values: [f64; 6] = [1.0, 4.0, 2.0, 8.0, 5.0, 7.0];
/// let mean = |weights: &[u32]| {
///     let (sum, count) = values.iter().zip(weights).fold((0.0, 0), |(s, n), (v, w)| (s + v * f64::from(*w), n + w));
///     (count > 0).then(|| sum / f64::from(count))
/// };
/// let interval = bca_weighted_interval(6, mean, BcaOptions::seeded(1));
/// assert!(interval.is_some_and(|i| 2.0 < i.low && i.low < 4.5 && 4.5 < i.high && i.high < 7.0));
/// ```
pub fn bca_weighted_interval(
    units: usize,
    statistic: impl Fn(&[u32]) -> Option<f64> + Sync,
    options: BcaOptions,
) -> Option<Interval> {
    let level_is_usable = options.level > 0.0 && options.level < 1.0;
    if units < 2 || options.resamples == 0 || !level_is_usable {
        return None;
    }
    let finite = |weights: &[u32]| statistic(weights).filter(|value| value.is_finite());
    let observed = finite(&vec![1; units])?;
    let mut resampled = resample(units, &finite, options);
    if 2 * resampled.len() < options.resamples as usize {
        return None;
    }
    if resampled.iter().all(|value| *value == observed) {
        return Some(Interval { low: observed, high: observed });
    }
    resampled.sort_unstable_by(f64::total_cmp);
    bca_ends(observed, jackknife_acceleration(units, &finite), &resampled, options.level)
}

/// [`bca_weighted_interval`] of units that come in clusters (`clusters` gives each unit's): clusters are drawn and left
/// out whole. `statistic` gets one weight a unit, that of its cluster.
///
/// ```
/// use scholareval::stats::{BcaOptions, bca_clustered_interval};
///
/// let (values, questions): ([f64; 6], _) = ([1.0, 4.0, 2.0, 8.0, 5.0, 7.0], [0, 0, 1, 1, 2, 2]);
/// let mean = |weights: &[u32]| {
///     let (sum, count) = values.iter().zip(weights).fold((0.0, 0), |(s, n), (v, w)| (s + v * f64::from(*w), n + w));
///     (count > 0).then(|| sum / f64::from(count))
/// };
/// assert!(bca_clustered_interval(&questions, mean, BcaOptions::seeded(1)).is_some_and(|i| i.low < 4.5 && 4.5 < i.high));
/// ```
pub fn bca_clustered_interval(
    clusters: &[usize],
    statistic: impl Fn(&[u32]) -> Option<f64> + Sync,
    options: BcaOptions,
) -> Option<Interval> {
    let mut distinct = clusters.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let of_unit: Vec<usize> = clusters.iter().map(|own| distinct.partition_point(|other| other < own)).collect();
    let of_clusters = |drawn: &[u32]| {
        let weights: Vec<u32> = of_unit.iter().map(|cluster| drawn[*cluster]).collect();
        statistic(&weights)
    };
    bca_weighted_interval(distinct.len(), of_clusters, options)
}

/// The statistic of every resample in which it is defined.
fn resample(units: usize, statistic: &(impl Fn(&[u32]) -> Option<f64> + Sync), options: BcaOptions) -> Vec<f64> {
    let seeded = ChaCha8Rng::seed_from_u64(options.seed);
    let all: Vec<Option<f64>> = (0..options.resamples)
        .into_par_iter()
        .map_init(
            || vec![0_u32; units],
            |weights, replicate| {
                let mut rng = seeded.clone();
                rng.set_stream(u64::from(replicate));
                draw_weights(&mut rng, weights);
                statistic(weights)
            },
        )
        .collect();
    all.into_iter().flatten().collect()
}

/// How often each unit is drawn when as many units are drawn as there are.
pub(super) fn draw_weights(rng: &mut impl Rng, weights: &mut [u32]) {
    weights.fill(0);
    let units = weights.len() as u64;
    for _ in 0..units {
        // Multiply and shift: the bias of at most units / 2^32 is far below what 10,000 resamples can show.
        weights[((u64::from(rng.next_u32()) * units) >> 32) as usize] += 1;
    }
}

/// The acceleration from the units left out one by one: with d the mean of those values minus one of them,
/// sum(d^3) / (6 sum(d^2)^1.5).
fn jackknife_acceleration(units: usize, statistic: &(impl Fn(&[u32]) -> Option<f64> + Sync)) -> f64 {
    let left_out: Vec<Option<f64>> = (0..units)
        .into_par_iter()
        .map_init(
            || vec![1_u32; units],
            |weights, unit| {
                weights[unit] = 0;
                let value = statistic(weights);
                weights[unit] = 1;
                value
            },
        )
        .collect();
    // The sign is turned, so that a value minus the mean is d.
    let turned: Vec<f64> = left_out.into_iter().flatten().map(|value| -value).collect();
    let Some(centre) = mean(&turned) else { return 0.0 };
    // Values that differ by rounding alone would give the rounding's skewness.
    let spread = turned.iter().map(|value| (value - centre).abs()).fold(0.0, f64::max);
    if spread <= 1e-13 * centre.abs().max(1e-3) { 0.0 } else { acceleration(&turned, centre) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::bca_mean_interval;

    /// Eighths, so that sums are exact in any order.
    fn values() -> Vec<f64> {
        (0..60).map(|i| f64::from(i * i % 17) / 8.0).collect()
    }

    fn weighted_mean(values: &[f64], weights: &[u32]) -> Option<f64> {
        let (sum, count) = values.iter().zip(weights).fold((0.0, 0), |(s, n), (v, w)| (s + v * f64::from(*w), n + w));
        (count > 0).then(|| sum / f64::from(count))
    }

    #[test]
    fn the_interval_of_a_mean_is_the_one_of_means() {
        let values = values();
        let options = BcaOptions { resamples: 2_000, ..BcaOptions::seeded(3) };
        let interval = bca_weighted_interval(60, |w| weighted_mean(&values, w), options).unwrap();
        let of_means = bca_mean_interval(&values, options).unwrap();
        assert!((interval.low - of_means.low).abs() < 1e-9, "{interval:?} {of_means:?}");
        assert!((interval.high - of_means.high).abs() < 1e-9, "{interval:?} {of_means:?}");
    }

    #[test]
    fn the_number_of_threads_does_not_change_the_interval() {
        let values = values();
        let options = BcaOptions { resamples: 500, ..BcaOptions::seeded(3) };
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| bca_weighted_interval(60, |w| weighted_mean(&values, w), options))
        };
        assert!(on(1).is_some());
        assert_eq!(on(1), on(4));
    }

    #[test]
    fn a_statistic_that_is_mostly_undefined_has_no_interval() {
        let options = BcaOptions { resamples: 200, ..BcaOptions::seeded(0) };
        // Defined only where every unit was drawn once: for the data, and for few resamples.
        let fragile = |weights: &[u32]| weights.iter().all(|w| *w == 1).then_some(1.0);
        assert_eq!(bca_weighted_interval(8, fragile, options), None);
        assert_eq!(bca_weighted_interval(1, |_| Some(1.0), options), None);
        assert_eq!(bca_weighted_interval(8, |_| None, options), None);
        assert_eq!(bca_weighted_interval(8, |_| Some(f64::NAN), options), None);
        assert_eq!(bca_weighted_interval(8, |_| Some(2.0), options), Some(Interval { low: 2.0, high: 2.0 }));
        assert_eq!(bca_weighted_interval(8, |_| Some(2.0), BcaOptions { level: 0.0, ..options }), None);
    }
}
