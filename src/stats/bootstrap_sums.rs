//! BCa intervals of statistics of summed counts, such as an F1 over many claims.
//!
//! Items are resampled whole; each resample sums its items' counts and computes the statistics from the sums. The
//! jackknife behind the acceleration takes one item's counts off the sum. B. Efron, "Better bootstrap confidence
//! intervals", JASA 82 (1987), pages 171-185.
//!
//! Few items are drawn one by one. Of many items most are alike (a claim of SciFact is eight small numbers), and a sum
//! does not tell which of the like ones were drawn: how often each distinct row is drawn follows the multinomial
//! distribution, which is a chain of binomial ones (L. Devroye, "Non-Uniform Random Variate Generation", 1986, XI.1.4:
//! the conditional method). So a resample of any number of items costs as much as there are distinct rows, and is
//! distributed as if it had been drawn item by item.

use std::collections::HashMap;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::binomial::binomial;
use super::bootstrap::{BcaOptions, Interval, bca_ends};

/// From so many items on it may pay to draw how often instead of which.
const COUNTED_FROM: usize = 1_000;

/// As many items can be drawn while one binomial number is.
const DRAWS_A_COUNT: usize = 16;

/// The BCa interval of each of `K` statistics of the sum of `rows`.
///
/// `statistic` gets the summed counts of a resample and gives `K` finite numbers. Below 1,000 rows, or 16 a distinct
/// row, the draws are those of [`bca_mean_interval`](super::bca_mean_interval) with the same options; above, the
/// resamples are multinomial counts and the order of rows does not matter. Either way one stream of ChaCha8 a resample:
/// the number of threads does not matter.
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
    let groups = like_ones(rows);
    let total = groups.iter().fold([0.0; C], |sums, group| plus(sums, &group.row, group.items as f64));
    let observed = statistic(&total);
    let is_counted = rows.len() >= COUNTED_FROM && rows.len() / DRAWS_A_COUNT >= groups.len();
    let resampled = replicates(options, |rng| {
        statistic(&if is_counted { sums_by_counts(&groups, rows.len(), rng) } else { sums_by_items(rows, rng) })
    });
    let left_out: Vec<([f64; K], f64)> =
        groups.par_iter().map(|group| (statistic(&plus(total, &group.row, -1.0)), group.items as f64)).collect();
    std::array::from_fn(|k| {
        let mut values: Vec<f64> = resampled.iter().map(|statistics| statistics[k]).collect();
        if !observed[k].is_finite() || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        if values.iter().all(|value| *value == observed[k]) {
            return Some(Interval { low: observed[k], high: observed[k] });
        }
        values.sort_unstable_by(f64::total_cmp);
        let skew = acceleration(left_out.iter().map(|(statistics, items)| (statistics[k], *items)));
        bca_ends(observed[k], skew, &values, options.level)
    })
}

/// Rows that are alike.
#[derive(Debug, Clone, Copy)]
struct Group<const C: usize> {
    row: [f64; C],
    items: u64,
}

/// The distinct rows, the most frequent first. The order is that of the values, not of the items.
fn like_ones<const C: usize>(rows: &[[f64; C]]) -> Vec<Group<C>> {
    let mut items: HashMap<[u64; C], u64> = HashMap::new();
    rows.iter().for_each(|row| *items.entry(row.map(f64::to_bits)).or_default() += 1);
    let mut groups: Vec<([u64; C], u64)> = items.into_iter().collect();
    groups.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    groups.into_iter().map(|(bits, items)| Group { row: bits.map(f64::from_bits), items }).collect()
}

/// What `sample` gives for every resample, each with its own stream.
fn replicates<T: Send>(options: BcaOptions, sample: impl Fn(&mut ChaCha8Rng) -> T + Sync) -> Vec<T> {
    let seeded = ChaCha8Rng::seed_from_u64(options.seed);
    let one = |replicate: u32| {
        let mut rng = seeded.clone();
        rng.set_stream(u64::from(replicate));
        sample(&mut rng)
    };
    (0..options.resamples).into_par_iter().map(one).collect()
}

/// The sum of as many rows as there are, drawn one by one.
fn sums_by_items<const C: usize>(rows: &[[f64; C]], rng: &mut ChaCha8Rng) -> [f64; C] {
    let n = rows.len();
    (0..n).fold([0.0; C], |sums, _| {
        let drawn = ((u64::from(rng.next_u32()) * n as u64) >> 32) as usize;
        plus(sums, &rows[drawn], 1.0)
    })
}

/// The same, drawn row by distinct row: of the draws that are left, as many as fall on this row and not on the later ones.
fn sums_by_counts<const C: usize>(groups: &[Group<C>], n: usize, rng: &mut ChaCha8Rng) -> [f64; C] {
    let (mut draws, mut items, mut sums) = (n as u64, n as u64, [0.0; C]);
    for group in groups {
        if draws == 0 {
            break;
        }
        let count = binomial(draws, group.items as f64 / items as f64, rng);
        sums = plus(sums, &group.row, count as f64);
        draws -= count;
        items -= group.items;
    }
    sums
}

/// The acceleration from leave-one-out values and how many items give each: sum(d^3) / (6 sum(d^2)^1.5) with d = mean of
/// all of them minus one of them.
fn acceleration(left_out: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
    let (sum, items) = left_out.clone().fold((0.0, 0.0), |(sum, n), (value, items)| (sum + items * value, n + items));
    let centre = sum / items;
    let (squares, cubes) = left_out.fold((0.0, 0.0), |(squares, cubes), (value, items)| {
        let d = centre - value;
        (squares + items * d * d, cubes + items * d * d * d)
    });
    if squares > 0.0 { cubes / (6.0 * squares.powf(1.5)) } else { 0.0 }
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

    /// 1,000 items of 20 kinds: counted, and drawn where they all differ in a third number that no statistic looks at.
    fn many() -> (Vec<[f64; 3]>, Vec<[f64; 3]>) {
        let row = |i: u32, third: u32| [f64::from(i * i % 20 % 5), f64::from(4 + i % 4), f64::from(third)];
        ((0..1_000).map(|i| row(i, 0)).collect(), (0..1_000).map(|i| row(i, i)).collect())
    }

    #[test]
    fn counted_and_drawn_resamples_have_the_same_distribution() {
        let (alike, different) = many();
        assert!(like_ones(&alike).len() <= 20 && like_ones(&different).len() == 1_000);
        let share = |sums: &[f64; 3]| [sums[0] / sums[1]];
        let options = BcaOptions::seeded(5);
        let [counted] = bca_sums_intervals(&alike, share, options);
        let [drawn] = bca_sums_intervals(&different, share, options);
        let (counted, drawn) = (counted.unwrap(), drawn.unwrap());
        // 10,000 resamples place a 2.5% quantile to about 3% of the width of the interval.
        let tolerance = 0.03 * (drawn.high - drawn.low);
        assert!((counted.low - drawn.low).abs() < tolerance, "{counted:?} {drawn:?}");
        assert!((counted.high - drawn.high).abs() < tolerance, "{counted:?} {drawn:?}");
        assert_ne!(counted, drawn);
    }

    #[test]
    fn counts_have_the_moments_of_the_multinomial() {
        let groups = [(500, 0), (300, 1), (199, 2), (1, 3)].map(|(items, at)| {
            let mut row = [0.0; 4];
            row[at] = 1.0;
            Group { row, items }
        });
        let options = BcaOptions { resamples: 10_000, ..BcaOptions::seeded(2) };
        let counts = replicates(options, |rng| sums_by_counts(&groups, 1_000, rng));
        let mean = |of: &dyn Fn(&[f64; 4]) -> f64| counts.iter().map(of).sum::<f64>() / 10_000.0;
        assert!(counts.iter().all(|counts| counts.iter().sum::<f64>() == 1_000.0));
        for (at, group) in groups.iter().enumerate() {
            // n p; n p (1 - p), its sample estimate good to about sqrt(2 / 10,000) = 1.4%
            let (np, variance) = (group.items as f64, group.items as f64 * (1.0 - group.items as f64 / 1_000.0));
            assert!((mean(&|counts| counts[at]) - np).abs() < 5.0 * (variance / 10_000.0).sqrt());
            let squares = mean(&|counts| (counts[at] - np).powi(2));
            assert!((squares / variance - 1.0).abs() < 0.06, "{at}: {squares} {variance}");
        }
        // covariance of the first two: -n p q = -1,000 * 0.5 * 0.3 = -150
        let covariance = mean(&|counts| (counts[0] - 500.0) * (counts[1] - 300.0));
        assert!((covariance + 150.0).abs() < 12.0, "{covariance}");
    }

    #[test]
    fn counted_resamples_depend_neither_on_threads_nor_on_the_order_of_items() {
        let (mut rows, _) = many();
        let on = |threads, rows: &[[f64; 3]]| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| bca_sums_intervals(rows, |sums| [sums[0] / sums[1]], BcaOptions::seeded(3)))
        };
        let one = on(1, &rows);
        assert_eq!(one, on(4, &rows));
        rows.reverse();
        assert_eq!(one, on(2, &rows));
        let other = bca_sums_intervals(&rows, |sums| [sums[0] / sums[1]], BcaOptions::seeded(4));
        assert_ne!(one, other, "the seed has no effect");
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
