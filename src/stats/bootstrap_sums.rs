//! BCa intervals of statistics of summed counts, such as an F1 over many claims.
//!
//! Items are resampled whole; each resample sums its items' counts and computes the statistics from the sums. The
//! jackknife behind the acceleration takes one item's counts off the sum, so all is linear in the number of items.
//! B. Efron, "Better bootstrap confidence intervals", JASA 82 (1987), pages 171-185.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::bootstrap::{BcaOptions, Interval, acceleration, bca_ends};
use super::summary::mean;

/// The BCa interval of each of `K` statistics of the sum of `rows`.
///
/// `statistic` gets the summed counts of a resample and gives `K` finite numbers. The draws are those of
/// [`bca_mean_interval`](super::bca_mean_interval) with the same options, whatever the number of threads.
///
/// `None` for fewer than two rows, for statistics that are not finite and for a level outside 0..1; one point where
/// no resample differs from what was observed.
///
/// ```
/// use scholareval::stats::{BcaOptions, bca_sums_intervals};
///
/// // Precision of 40 items with 2 predictions each, every second item has 1 of them right: 20 / 80.
/// let rows: Vec<[f64; 2]> = (0..40).map(|i| [f64::from(i % 2), 2.0]).collect();
/// let [interval] = bca_sums_intervals(&rows, |sums| [sums[0] / sums[1]], BcaOptions::seeded(1));
/// assert!(interval.is_some_and(|i| 0.1 < i.low && i.low < 0.25 && 0.25 < i.high && i.high < 0.4));
/// ```
pub fn bca_sums_intervals<const C: usize, const K: usize>(
    rows: &[[f64; C]],
    statistic: impl Fn(&[f64; C]) -> [f64; K] + Sync,
    options: BcaOptions,
) -> [Option<Interval>; K] {
    let level_is_usable = options.level > 0.0 && options.level < 1.0;
    if rows.len() < 2 || options.resamples == 0 || !level_is_usable {
        return [None; K];
    }
    let total = rows.iter().fold([0.0; C], |sums, row| plus(sums, row, 1.0));
    let observed = statistic(&total);
    let resampled = resample(rows, &statistic, options);
    let left_out: Vec<[f64; K]> = rows.par_iter().map(|row| statistic(&plus(total, row, -1.0))).collect();
    std::array::from_fn(|k| {
        let mut values: Vec<f64> = resampled.iter().map(|statistics| statistics[k]).collect();
        if !observed[k].is_finite() || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        if values.iter().all(|value| *value == observed[k]) {
            return Some(Interval { low: observed[k], high: observed[k] });
        }
        values.sort_unstable_by(f64::total_cmp);
        // d = mean of all leave-one-out values minus one of them: the values' own acceleration with the sign turned.
        let jackknife: Vec<f64> = left_out.iter().map(|statistics| -statistics[k]).collect();
        let skew = mean(&jackknife).map_or(0.0, |centre| acceleration(&jackknife, centre));
        bca_ends(observed[k], skew, &values, options.level)
    })
}

/// The statistics of every resample.
fn resample<const C: usize, const K: usize>(
    rows: &[[f64; C]],
    statistic: &(impl Fn(&[f64; C]) -> [f64; K] + Sync),
    options: BcaOptions,
) -> Vec<[f64; K]> {
    let n = rows.len();
    let seeded = ChaCha8Rng::seed_from_u64(options.seed);
    (0..options.resamples)
        .into_par_iter()
        .map(|replicate| {
            let mut rng = seeded.clone();
            rng.set_stream(u64::from(replicate));
            let sums = (0..n).fold([0.0; C], |sums, _| {
                let drawn = ((u64::from(rng.next_u32()) * n as u64) >> 32) as usize;
                plus(sums, &rows[drawn], 1.0)
            });
            statistic(&sums)
        })
        .collect()
}

fn plus<const C: usize>(mut sums: [f64; C], row: &[f64; C], sign: f64) -> [f64; C] {
    for (sum, value) in sums.iter_mut().zip(row) {
        *sum += sign * value;
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::bca_mean_interval;

    /// Eighths, so that sums are exact in any order.
    fn values() -> Vec<f64> {
        (0..60).map(|i| f64::from(i * i % 17) / 8.0).collect()
    }

    #[test]
    fn the_interval_of_a_mean_is_the_one_of_means() {
        let rows: Vec<[f64; 2]> = values().into_iter().map(|value| [value, 1.0]).collect();
        let options = BcaOptions { resamples: 2_000, ..BcaOptions::seeded(3) };
        let [interval] = bca_sums_intervals(&rows, |sums| [sums[0] / sums[1]], options);
        let (interval, of_means) = (interval.unwrap(), bca_mean_interval(&values(), options).unwrap());
        assert!((interval.low - of_means.low).abs() < 1e-9, "{interval:?} {of_means:?}");
        assert!((interval.high - of_means.high).abs() < 1e-9, "{interval:?} {of_means:?}");
    }

    #[test]
    fn the_number_of_threads_does_not_change_the_interval() {
        let rows: Vec<[f64; 2]> = values().into_iter().map(|value| [value, value + 1.0]).collect();
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| bca_sums_intervals(&rows, |sums| [sums[0] / sums[1]], BcaOptions::seeded(3)))
        };
        assert_eq!(on(1), on(4));
    }

    #[test]
    fn degenerate_rows_have_no_interval_or_a_point() {
        let share = |sums: &[f64; 2]| [sums[0] / sums[1]];
        let options = BcaOptions { resamples: 100, ..BcaOptions::seeded(0) };
        assert_eq!(bca_sums_intervals(&[], share, options), [None]);
        assert_eq!(bca_sums_intervals(&[[1.0, 2.0]], share, options), [None]);
        assert_eq!(bca_sums_intervals(&[[0.0, 0.0], [0.0, 0.0]], share, options), [None]);
        let point = Interval { low: 0.5, high: 0.5 };
        assert_eq!(bca_sums_intervals(&[[1.0, 2.0], [1.0, 2.0]], share, options), [Some(point)]);
        assert_eq!(bca_sums_intervals(&[[1.0, 2.0], [0.0, 2.0]], share, BcaOptions { level: 1.0, ..options }), [None]);
    }
}
