//! Bias-corrected and accelerated (BCa) bootstrap intervals.
//!
//! B. Efron, "Better bootstrap confidence intervals", JASA 82 (1987), pages 171-185; the acceleration is estimated from
//! the jackknife as there, and the bias correction counts ties by half, as in SciPy. A resample is a weight per unit,
//! so that a statistic can sort and rank its data once instead of 10,000 times.
//!
//! Several cases of one question are not independent. Clusters, if given, are drawn and left out (in the jackknife) as
//! a whole (C. A. Field and A. H. Welsh, "Bootstrapping clustered data", Journal of the Royal Statistical Society B 69,
//! 2007).

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal};

use super::summary::{mean, quantile};

/// Options of a bootstrap.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct BootstrapOptions {
    /// Confidence level, 0 < level < 1.
    pub level: f64,
    /// Number of resamples.
    pub resamples: u32,
    /// Seed of the draws: one stream of ChaCha8 per resample, so that the number of threads does not matter.
    pub seed: u64,
}

impl BootstrapOptions {
    /// 95%, 10,000 resamples, with this seed.
    pub fn seeded(seed: u64) -> Self {
        Self {
            level: 0.95,
            resamples: 10_000,
            seed,
        }
    }

    /// With this confidence level.
    #[must_use]
    pub fn level(self, level: f64) -> Self {
        Self { level, ..self }
    }

    /// With this number of resamples.
    #[must_use]
    pub fn resamples(self, resamples: u32) -> Self {
        Self { resamples, ..self }
    }

    /// 1 - level, without the rounding of the subtraction: 0.05, not 0.05000000000000004.
    pub fn alpha(&self) -> f64 {
        // The tail rank is a ceiling, so a rounding error of 1e-17 would move it by a whole
        // resample.
        ((1.0 - self.level) * 1e12).round() / 1e12
    }

    pub(super) fn is_usable(&self) -> bool {
        self.level > 0.0 && self.level < 1.0 && self.resamples > 0
    }
}

/// A confidence interval, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// From `low` to `high`.
    pub const fn new(low: f64, high: f64) -> Self {
        Self { low, high }
    }

    /// Whether a value lies within, but for rounding.
    pub fn holds(self, value: f64) -> bool {
        let slack = 1e-9 * (self.high - self.low);
        self.low - slack <= value && value <= self.high + slack
    }

    /// Half the distance of its ends.
    pub fn half_width(self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// `half` to either side of `center`.
    pub fn around(center: f64, half: f64) -> Self {
        Self::new(center - half, center + half)
    }

    /// That of a number which grows with this one.
    #[must_use]
    pub fn map(self, of: impl Fn(f64) -> f64) -> Self {
        Self::new(of(self.low), of(self.high))
    }

    /// That of the same difference, seen from the other side.
    #[must_use]
    pub fn negated(self) -> Self {
        Self::new(-self.high, -self.low)
    }
}

/// The interval of `statistic`, with whole clusters drawn; `clusters` gives each unit's.
///
/// `statistic` gets one weight per unit: all 1 for the data, the number of draws of its cluster for a resample, 0 for one
/// cluster in the jackknife. Resamples where it is undefined or not finite are dropped. `None` for fewer than two clusters, if
/// the statistic is undefined for the data or for more than half of the resamples, and for a level outside 0..1; a single
/// point if no resample differs from the data.
///
/// ```
/// use scholareval_stats::{BootstrapOptions, bca_clustered_interval};
///
/// let values: [f64; 6] = [1.0, 4.0, 2.0, 8.0, 5.0, 7.0];
/// let mean = |weights: &[u32]| {
///     let (sum, count) = values.iter().zip(weights).fold((0.0, 0), |(s, n), (v, w)| (s + v * f64::from(*w), n + w));
///     (count > 0).then(|| sum / f64::from(count))
/// };
/// let interval = bca_clustered_interval(&[0, 1, 2, 3, 4, 5], mean, BootstrapOptions::seeded(1));
/// assert!(interval.is_some_and(|i| 2.0 < i.low && i.low < 4.5 && 4.5 < i.high && i.high < 7.0));
/// ```
pub fn bca_clustered_interval(
    clusters: &[usize],
    statistic: impl Fn(&[u32]) -> Option<f64> + Sync,
    options: BootstrapOptions,
) -> Option<Interval> {
    let clusters = Clusters::new(clusters);
    bca_interval(
        clusters.sizes.len(),
        |drawn| statistic(&clusters.weights(drawn)),
        options,
    )
}

/// [`bca_clustered_interval`] with one cluster per unit.
fn bca_interval(
    units: usize,
    statistic: impl Fn(&[u32]) -> Option<f64> + Sync,
    options: BootstrapOptions,
) -> Option<Interval> {
    let observed = statistic(&vec![1; units])
        .filter(|value| value.is_finite() && units >= 2 && options.is_usable())?;
    let resampled = defined(resample(units, &statistic, options));
    // A statistic that most resamples do not have (a correlation of constants) would get an
    // interval of the lucky ones.
    if 2 * resampled.len() < options.resamples as usize {
        return None;
    }
    let left_out = defined(leave_one_out(units, &statistic));
    bca(observed, &left_out, resampled, options.level)
}

/// The values of a statistic where it is a finite number.
fn defined(values: Vec<Option<f64>>) -> Vec<f64> {
    let values = values.into_iter().flatten();
    values.filter(|value| value.is_finite()).collect()
}

/// The interval of each of `K` statistics of summed `rows`, such as an F1 over the counts of many claims.
///
/// `statistic` maps the sums of a resample to `K` numbers. `None` for fewer than two rows, for statistics that are not finite
/// (of the data, or of more than half of the resamples) and for a level outside 0..1; a single point if no resample differs
/// from the data.
///
/// ```
/// use scholareval_stats::{BootstrapOptions, bca_sums_intervals};
///
/// // Precision of 40 items with 2 predictions each, every second item has 1 of them right: 20 / 80.
/// let rows: Vec<[f64; 2]> = (0..40).map(|i| [f64::from(i % 2), 2.0]).collect();
/// let [interval] = bca_sums_intervals(&rows, |sums| [sums[0] / sums[1]], BootstrapOptions::seeded(1));
/// assert!(interval.is_some_and(|i| 0.1 < i.low && i.low < 0.25 && 0.25 < i.high && i.high < 0.4));
/// ```
pub fn bca_sums_intervals<const C: usize, const K: usize>(
    rows: &[[f64; C]],
    statistic: impl Fn(&[f64; C]) -> [f64; K] + Sync,
    options: BootstrapOptions,
) -> [Option<Interval>; K] {
    std::array::from_fn(|k| {
        bca_interval(
            rows.len(),
            |weights| Some(statistic(&weighted_sums(rows, weights))[k]),
            options,
        )
    })
}

/// The sum of each column, rows counted as often as their weights say.
fn weighted_sums<const C: usize>(rows: &[[f64; C]], weights: &[u32]) -> [f64; C] {
    let mut sums = [0.0; C];
    for (row, weight) in rows.iter().zip(weights) {
        // Most rows of a resample of many are not drawn at all.
        if *weight == 0 {
            continue;
        }
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum += f64::from(*weight) * value;
        }
    }
    sums
}

/// The cluster of each unit as a number from 0, in ascending order, and the number of units of each cluster.
pub(super) struct Clusters {
    pub(super) of_unit: Vec<usize>,
    pub(super) sizes: Vec<f64>,
}

impl Clusters {
    pub(super) fn new(labels: &[usize]) -> Self {
        let mut distinct = labels.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let of_unit: Vec<usize> = labels
            .iter()
            .map(|label| distinct.partition_point(|other| other < label))
            .collect();
        let mut sizes = vec![0.0; distinct.len()];
        of_unit.iter().for_each(|cluster| sizes[*cluster] += 1.0);
        Self { of_unit, sizes }
    }

    /// The weight of each unit, if its cluster was drawn this often.
    fn weights(&self, drawn: &[u32]) -> Vec<u32> {
        self.of_unit.iter().map(|cluster| drawn[*cluster]).collect()
    }

    /// One cluster per unit: no clustering.
    pub(super) fn single(units: usize) -> Self {
        Self {
            of_unit: (0..units).collect(),
            sizes: vec![1.0; units],
        }
    }
}

/// The statistic of every resample, given the number of draws of each unit.
pub(super) fn resample<T: Send>(
    units: usize,
    statistic: impl Fn(&[u32]) -> T + Sync,
    options: BootstrapOptions,
) -> Vec<T> {
    let seeded = ChaCha8Rng::seed_from_u64(options.seed);
    (0..options.resamples)
        .into_par_iter()
        .map_init(
            || vec![0; units],
            |weights, replicate| {
                let mut rng = seeded.clone();
                // A stream per resample: the draws depend on the replicate alone, and not on which
                // thread makes it.
                rng.set_stream(u64::from(replicate));
                weights.fill(0);
                draw(units, &mut rng, |unit| weights[unit] += 1);
                statistic(weights)
            },
        )
        .collect()
}

/// Resamples of means that are computed together. A sum over thousands of units waits for each addition; four sums wait no longer.
pub(super) const TOGETHER: usize = 4;

/// The statistics of every resample, several at a time; `statistics` gets the number of draws of each unit in each of them.
///
/// The resamples are those of [`resample`].
pub(super) fn resample_together<T: Send>(
    units: usize,
    statistics: impl Fn(&[[u32; TOGETHER]]) -> [T; TOGETHER] + Sync,
    options: BootstrapOptions,
) -> Vec<T> {
    let seeded = ChaCha8Rng::seed_from_u64(options.seed);
    let groups = (options.resamples as usize).div_ceil(TOGETHER);
    let mut values: Vec<T> = (0..groups)
        .into_par_iter()
        .map_init(
            || vec![[0; TOGETHER]; units],
            |weights, group| {
                weights.fill([0; TOGETHER]);
                for at in 0..TOGETHER {
                    let mut rng = seeded.clone();
                    rng.set_stream((group * TOGETHER + at) as u64);
                    count_draws(weights, at, &mut rng);
                }
                statistics(weights)
            },
        )
        .flatten_iter()
        .collect();
    values.truncate(options.resamples as usize);
    values
}

/// Counts the draws of the resample at this place.
fn count_draws(weights: &mut [[u32; TOGETHER]], at: usize, rng: &mut ChaCha8Rng) {
    draw(weights.len(), rng, |unit| weights[unit][at] += 1);
}

/// Draws as many units as there are, with replacement.
fn draw(units: usize, rng: &mut ChaCha8Rng, mut on_unit: impl FnMut(usize)) {
    let count = units as u64;
    for _ in 0..units {
        // Multiply and shift: the bias of at most units / 2^32 is far below what 10,000 resamples can show.
        let unit = (u64::from(rng.next_u32()) * count) >> 32;
        on_unit(unit as usize);
    }
}

/// The standard deviation (n) of the means of 1,000 resamples, each clipped to 0..=1 (`_compute_clipped_stats` of
/// simple-evals ee3b031, `healthbench_eval.py`).
pub fn clipped_mean_sd(values: &[f64], seed: u64) -> Option<f64> {
    let options = BootstrapOptions {
        // The number in the script of the benchmark, whose figure this repeats.
        resamples: 1000,
        ..BootstrapOptions::seeded(seed)
    };
    let means = resample(
        values.len(),
        |weights| (weighted_sum(values, weights) / values.len() as f64).clamp(0.0, 1.0),
        options,
    );
    let center = mean(&means)?;
    let squares: Vec<f64> = means.iter().map(|mean| (mean - center).powi(2)).collect();
    Some(mean(&squares)?.sqrt())
}

fn weighted_sum(values: &[f64], weights: &[u32]) -> f64 {
    let weighted = weights.iter().zip(values);
    weighted
        .map(|(weight, value)| f64::from(*weight) * value)
        .sum()
}

/// The statistic with each unit left out.
fn leave_one_out<T: Send>(units: usize, statistic: impl Fn(&[u32]) -> T + Sync) -> Vec<T> {
    (0..units)
        .into_par_iter()
        .map_init(
            || vec![1; units],
            |weights, unit| {
                weights[unit] = 0;
                let value = statistic(weights);
                weights[unit] = 1;
                value
            },
        )
        .collect()
}

/// The rank, from 1, of the value beyond which lie fewer than the share `tail` of `total` resampled values and the observed
/// one; `None` if there are too few.
pub(super) fn tail_rank(tail: f64, total: usize) -> Option<usize> {
    // The observed value counts as one more resample; without it a p of 0 would be possible, and
    // the test would reject too often.
    let rank = (tail * (total + 1) as f64).ceil() as usize;
    rank.checked_sub(1)
        .filter(|rank| (1..=total).contains(rank))
}

/// Tolerance of equality: sums in another order differ in the last digits.
fn tie(value: f64) -> f64 {
    1e-12 * value.abs().max(1e-3)
}

/// The interval from the observed, jackknife and resampled values; a single point if no resample differs.
fn bca(observed: f64, left_out: &[f64], mut resampled: Vec<f64>, level: f64) -> Option<Interval> {
    if resampled
        .iter()
        .all(|value| (value - observed).abs() <= tie(observed))
    {
        return Some(Interval::new(observed, observed));
    }
    resampled.sort_unstable_by(f64::total_cmp);
    let normal = Normal::standard();
    let correction = Correction {
        bias: normal.inverse_cdf(share_below(&resampled, observed)),
        acceleration: acceleration(left_out),
    };
    let z = normal.inverse_cdf(f64::midpoint(1.0, level));
    Some(Interval::new(
        quantile(&resampled, correction.share(-z))?,
        quantile(&resampled, correction.share(z))?,
    ))
}

/// What BCa corrects of the percentile interval: the median of the resamples is not the observed value, and their spread
/// depends on the true one.
struct Correction {
    bias: f64,
    acceleration: f64,
}

impl Correction {
    /// The share of the resamples below an end of the interval, which would lie at `z` standard deviations of a normal
    /// distribution.
    fn share(&self, z: f64) -> f64 {
        let shifted = self.bias + z;
        Normal::standard().cdf(self.bias + shifted / (1.0 - self.acceleration * shifted))
    }
}

/// Share of the resampled values below the observed one, ties by half; limited to keep the bias correction finite.
fn share_below(sorted: &[f64], observed: f64) -> f64 {
    let below = sorted.partition_point(|value| *value < observed - tie(observed));
    let not_above = sorted.partition_point(|value| *value <= observed + tie(observed));
    let total = 2.0 * sorted.len() as f64;
    // Ties by half, since a coarse statistic equals the observed one in many resamples; all above
    // or all below would give an infinite correction.
    ((below + not_above) as f64 / total).clamp(0.5 / total, 1.0 - 0.5 / total)
}

/// The acceleration from the jackknife: sum(d^3) / (6 sum(d^2)^1.5) with d = mean of all leave-one-out values minus one of
/// them.
fn acceleration(left_out: &[f64]) -> f64 {
    let Some(center) = mean(left_out) else {
        return 0.0;
    };
    let mut squares = 0.0;
    let mut cubes = 0.0;
    let mut spread = 0.0_f64;
    for value in left_out {
        let d = center - value;
        squares += d * d;
        cubes += d * d * d;
        spread = spread.max(d.abs());
    }
    // Values that differ by rounding only would give the rounding's skewness.
    if spread <= 1e-13 * center.abs().max(1e-3) {
        0.0
    } else {
        cubes / (6.0 * squares.powf(1.5))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::RngExt;
    use serde_json::Value;

    use super::*;
    use crate::summary::sd;

    fn golden() -> Value {
        serde_json::from_str(include_str!("../tests/scipy/golden.json")).unwrap()
    }

    fn numbers(value: &Value) -> Vec<f64> {
        value
            .as_array()
            .unwrap()
            .iter()
            .map(|v| v.as_f64().unwrap())
            .collect()
    }

    /// Eighths, so that sums are exact in any order.
    fn values(n: u32) -> Vec<f64> {
        (0..n).map(|i| f64::from(i * i % 17) / 8.0).collect()
    }

    fn few() -> BootstrapOptions {
        BootstrapOptions {
            resamples: 2_000,
            ..BootstrapOptions::seeded(3)
        }
    }

    fn of_mean(values: &[f64], options: BootstrapOptions) -> Option<Interval> {
        let clusters: Vec<usize> = (0..values.len()).collect();
        clustered(values, &clusters, options)
    }

    fn clustered(
        values: &[f64],
        clusters: &[usize],
        options: BootstrapOptions,
    ) -> Option<Interval> {
        bca_clustered_interval(clusters, |weights| weighted_mean(values, weights), options)
    }

    /// The interval of a mean from given resampled means.
    fn of_resamples(values: &[f64], means: Vec<f64>, level: f64) -> Interval {
        let without =
            |at: usize| (values.iter().sum::<f64>() - values[at]) / (values.len() - 1) as f64;
        bca(
            mean(values).unwrap(),
            &(0..values.len()).map(without).collect::<Vec<f64>>(),
            means,
            level,
        )
        .unwrap()
    }

    fn weighted_mean(values: &[f64], weights: &[u32]) -> Option<f64> {
        let (sum, count) = values
            .iter()
            .zip(weights)
            .fold((0.0, 0), |(s, n), (v, w)| (s + v * f64::from(*w), n + w));
        (count > 0).then(|| sum / f64::from(count))
    }

    #[track_caller]
    fn assert_close(a: Option<Interval>, b: Option<Interval>) {
        let (a, b) = (a.unwrap(), b.unwrap());
        assert!(
            (a.low - b.low).abs() < 1e-9 && (a.high - b.high).abs() < 1e-9,
            "{a:?} {b:?}"
        );
    }

    #[test]
    fn the_same_resamples_give_scipys_interval() {
        let golden = golden();
        let cases = golden["bca_given_resamples"].as_array().unwrap();
        assert!(cases.len() >= 4);
        for case in cases {
            let level = case["level"].as_f64().unwrap();
            let interval = of_resamples(
                &numbers(&case["values"]),
                numbers(&case["resampled_means"]),
                level,
            );
            assert!(
                (interval.low - case["low"].as_f64().unwrap()).abs() < 1e-9,
                "{}: {interval:?}",
                case["name"]
            );
            assert!(
                (interval.high - case["high"].as_f64().unwrap()).abs() < 1e-9,
                "{}: {interval:?}",
                case["name"]
            );
        }
    }

    #[test]
    fn our_own_resamples_come_close_to_scipys() {
        for case in golden()["bca_many_resamples"].as_array().unwrap() {
            let (low, high) = (
                case["low"].as_f64().unwrap(),
                case["high"].as_f64().unwrap(),
            );
            let interval = of_mean(&numbers(&case["values"]), BootstrapOptions::seeded(1)).unwrap();
            // 10,000 resamples place a 2.5% quantile to about 3% of the width of the interval.
            let tolerance = 0.03 * (high - low);
            assert!(
                (interval.low - low).abs() < tolerance,
                "{}: {interval:?}",
                case["name"]
            );
            assert!(
                (interval.high - high).abs() < tolerance,
                "{}: {interval:?}",
                case["name"]
            );
        }
    }

    #[test]
    fn an_interval_is_the_one_that_was_published_with_this_seed() {
        // Resample r draws from stream r: values[next_u32 * n >> 32], n times; means and interval by hand from there.
        let values: Vec<f64> = (0..30).map(|i| f64::from(i * i % 17) / 17.0).collect();
        let options = BootstrapOptions {
            resamples: 500,
            ..BootstrapOptions::seeded(3)
        };
        let resampled = |replicate| {
            let mut rng = ChaCha8Rng::seed_from_u64(3);
            rng.set_stream(replicate);
            let drawn = (0..30).map(|_| values[((u64::from(rng.next_u32()) * 30) >> 32) as usize]);
            drawn.sum::<f64>() / 30.0
        };
        let by_hand = of_resamples(&values, (0..500).map(resampled).collect(), 0.95);
        assert_close(of_mean(&values, options), Some(by_hand));
    }

    #[test]
    fn a_mean_has_one_interval_whatever_it_is_called() {
        let values = values(60);
        let of_means = of_mean(&values, few());
        assert_close(
            bca_interval(60, |weights| weighted_mean(&values, weights), few()),
            of_means,
        );
        let rows: Vec<[f64; 2]> = values.iter().map(|value| [*value, 1.0]).collect();
        let [of_sums] = bca_sums_intervals(&rows, |sums| [sums[0] / sums[1]], few());
        assert_close(of_sums, of_means);
        let singles: Vec<usize> = (100..160).collect();
        assert_close(clustered(&values, &singles, few()), of_means);
    }

    #[test]
    fn threads_change_no_interval() {
        let a = values(60);
        let clusters: Vec<usize> = (0..60).map(|case| case * case % 23).collect();
        let alone = clustered(&a, &clusters, few());
        for threads in [1, 4] {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            assert_eq!(pool.install(|| clustered(&a, &clusters, few())), alone);
        }
        assert_ne!(
            of_mean(&a, few()),
            of_mean(&a, BootstrapOptions { seed: 4, ..few() }),
            "the seed has no effect"
        );
        assert_eq!(clustered(&a, &[7; 60], few()), None);
    }

    #[test]
    fn a_question_written_down_twice_is_no_more_evidence() {
        let values = values(40);
        let twice: Vec<f64> = values.iter().flat_map(|value| [*value, *value]).collect();
        let clusters: Vec<usize> = (0..80).map(|case| case / 2).collect();
        let together = clustered(&twice, &clusters, few());
        assert_close(together, of_mean(&values, few()));
        // Twice the cases would promise an interval narrower by the square root of 2.
        let width = |interval: Option<Interval>| {
            interval
                .map(|interval| interval.high - interval.low)
                .unwrap()
        };
        let ratio = width(together) / width(of_mean(&twice, few()));
        assert!((ratio - 2.0_f64.sqrt()).abs() < 0.1, "{ratio}");
    }

    #[test]
    fn what_is_degenerate_has_no_interval_or_a_point() {
        let options = BootstrapOptions {
            resamples: 200,
            ..BootstrapOptions::seeded(0)
        };
        let point = |value| {
            Some(Interval {
                low: value,
                high: value,
            })
        };
        let no_level = BootstrapOptions {
            level: 1.0,
            ..options
        };
        assert_eq!(of_mean(&[0.5], options), None);
        assert_eq!(of_mean(&[0.5, f64::NAN], options), None);
        assert_eq!(of_mean(&[0.5, 0.5, 0.5], options), point(0.5));
        assert_eq!(of_mean(&[0.1, 0.5], no_level), None);
        assert_eq!(
            of_mean(
                &[0.1, 0.5],
                BootstrapOptions {
                    resamples: 0,
                    ..options
                }
            ),
            None
        );
        // Defined only where every unit was drawn once: for the data, and for few resamples.
        let fragile = |weights: &[u32]| weights.iter().all(|w| *w == 1).then_some(1.0);
        assert_eq!(bca_interval(8, fragile, options), None);
        assert_eq!(bca_interval(1, |_| Some(1.0), options), None);
        assert_eq!(bca_interval(8, |_| None, options), None);
        assert_eq!(bca_interval(8, |_| Some(f64::NAN), options), None);
        assert_eq!(bca_interval(8, |_| Some(2.0), options), point(2.0));
        assert_eq!(bca_interval(8, |_| Some(2.0), no_level), None);
        let share = |sums: &[f64; 2]| [sums[0] / sums[1]];
        assert_eq!(bca_sums_intervals(&[[1.0, 2.0]], share, options), [None]);
        assert_eq!(
            bca_sums_intervals(&[[0.0, 0.0], [0.0, 0.0]], share, options),
            [None]
        );
        assert_eq!(
            bca_sums_intervals(&[[1.0, 2.0], [1.0, 2.0]], share, options),
            [point(0.5)]
        );
        assert_eq!(
            bca_sums_intervals(&[[1.0, 2.0], [0.0, 2.0]], share, no_level),
            [None]
        );
    }

    #[test]
    fn a_symmetric_sample_gives_about_the_normal_interval() {
        // 0, 0.02, .., 1.98: mean 0.99; se = sd / sqrt(100); normal half width 1.96 se
        let values: Vec<f64> = (0..100).map(|i| f64::from(i) / 50.0).collect();
        let half = 1.96 * sd(&values).unwrap() / 10.0;
        let interval = of_mean(&values, BootstrapOptions::seeded(5)).unwrap();
        assert!(
            (interval.low - (0.99 - half)).abs() < 0.01
                && (interval.high - (0.99 + half)).abs() < 0.01
        );
    }

    #[test]
    fn of_intervals_at_95_percent_92_to_98_hold_the_mean_of_skewed_scores() {
        // 500 samples of 100 scores u^3 with mean 1/4; the standard error of a 95% share of 500 is 1%.
        let mut rng = ChaCha8Rng::seed_from_u64(2026);
        let samples: Vec<Vec<f64>> = (0..500)
            .map(|_| (0..100).map(|_| rng.random::<f64>().powi(3)).collect())
            .collect();
        let options = BootstrapOptions {
            resamples: 200,
            ..BootstrapOptions::seeded(1)
        };
        let held = samples
            .iter()
            .filter_map(|sample| of_mean(sample, options))
            .filter(|i| i.low <= 0.25 && 0.25 <= i.high)
            .count();
        let rate = held as f64 / 500.0;
        assert!((0.92..=0.98).contains(&rate), "{rate}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn an_interval_is_ordered_and_stays_within_the_sample(values in prop::collection::vec(0.0..=1.0_f64, 2..20)) {
            let options = BootstrapOptions { resamples: 200, ..BootstrapOptions::seeded(9) };
            let interval = of_mean(&values, options).unwrap();
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            prop_assert!(interval.low <= interval.high);
            prop_assert!(low - 1e-12 <= interval.low && interval.high <= high + 1e-12);
        }
    }
}
