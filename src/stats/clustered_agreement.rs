//! Intervals of agreement where rated units come in clusters: the criteria of one answer, the answers to one case.
//!
//! Judges who differ on one criterion of an answer are likely to differ on the next, so units of a cluster are no
//! independent evidence. Clusters are drawn, each with all its units (C. A. Field and A. H. Welsh, "Bootstrapping clustered
//! data", Journal of the Royal Statistical Society B 69, 2007); the interval is BCa as everywhere, with whole clusters left
//! out in the jackknife.

use std::collections::BTreeMap;

use super::alpha::{MeasurementLevel, PairableUnits};
use super::bootstrap::{BcaOptions, Interval};
use super::kappa::{KappaWeights, rater_pairs};
use super::resampling::bca_weighted_interval;
use super::summary::mean;

/// The BCa interval of [`krippendorff_alpha`](super::krippendorff_alpha) where `clusters` gives each unit's cluster. With
/// one unit a cluster it is [`krippendorff_alpha_interval`](super::krippendorff_alpha_interval).
///
/// Units with fewer than two ratings are left out, and clusters without any other. `None` where alpha is, for raters or
/// clusters of unequal length, and for fewer than two clusters.
pub fn krippendorff_alpha_clustered_interval(
    ratings: &[&[Option<f64>]],
    clusters: &[usize],
    level: MeasurementLevel,
    options: BcaOptions,
) -> Option<Interval> {
    let clustered = Clustered::new(ratings, clusters)?;
    if level == MeasurementLevel::Interval {
        return clustered.interval_by_sums(alpha_sums, alpha_of_sums, options);
    }
    let units = PairableUnits::new(&clustered.ratings(), level)?;
    clustered.interval(|times| units.alpha(times), options)
}

/// The BCa interval of [`mean_pairwise_kappa`](super::mean_pairwise_kappa) where `clusters` gives each unit's cluster. With
/// one unit a cluster it is [`mean_pairwise_kappa_interval`](super::mean_pairwise_kappa_interval).
///
/// Units with fewer than two ratings are left out, and clusters without any other. `None` where kappa is, for raters or
/// clusters of unequal length, and for fewer than two clusters.
pub fn mean_pairwise_kappa_clustered_interval(
    ratings: &[&[Option<f64>]],
    clusters: &[usize],
    weights: KappaWeights,
    options: BcaOptions,
) -> Option<Interval> {
    let clustered = Clustered::new(ratings, clusters)?;
    if weights == KappaWeights::Quadratic {
        return clustered.interval_by_sums(kappa_sums, mean_kappa_of_sums, options);
    }
    let pairs = rater_pairs(&clustered.ratings(), weights)?;
    let statistic = |times: &[u32]| {
        let kappas: Vec<f64> = pairs.iter().filter_map(|pair| pair.kappa(times)).collect();
        mean(&kappas)
    };
    clustered.interval(statistic, options)
}

/// Below this share of the sum of squares a spread is rounding: all ratings are one.
const NO_SPREAD: f64 = 1e-12;

/// A unit's part in interval alpha: ratings m, their sum and sum of squares, and the squared differences of its ordered
/// pairs over m - 1, which are 2 (m sum(x^2) - sum(x)^2) / (m - 1).
fn alpha_sums(unit: &[Option<f64>]) -> Vec<f64> {
    let (m, sum, squares) =
        unit.iter().flatten().fold((0.0, 0.0, 0.0), |(m, sum, squares), x| (m + 1.0, sum + x, squares + x * x));
    vec![m, sum, squares, 2.0 * (m * squares - sum * sum) / (m - 1.0)]
}

/// 1 - D_o / D_e with D_o = pairs / n and D_e = 2 (n sum(x^2) - sum(x)^2) / (n (n - 1)).
fn alpha_of_sums(sums: &[f64]) -> Option<f64> {
    let &[n, sum, squares, pairs] = sums else { return None };
    let spread = n * squares - sum * sum;
    (spread > NO_SPREAD * n * squares).then(|| 1.0 - pairs * (n - 1.0) / (2.0 * spread))
}

/// Sums of one pair of raters in [`kappa_sums`].
const PAIR_SUMS: usize = 5;

/// A unit's part in each pair's kappa: whether both rated it, the two ratings, the sum of their squares, the square of
/// their difference.
fn kappa_sums(unit: &[Option<f64>]) -> Vec<f64> {
    let mut sums = Vec::new();
    for (second, y) in unit.iter().enumerate() {
        for x in &unit[..second] {
            let both = x.zip(*y).map(|(x, y)| [1.0, x, y, x * x + y * y, (x - y) * (x - y)]);
            sums.extend(both.unwrap_or([0.0; PAIR_SUMS]));
        }
    }
    sums
}

/// The mean over pairs of 1 - D_o / D_e with D_o = sum((x - y)^2) / n and D_e = sum(x^2 + y^2) / n - 2 mean(x) mean(y).
fn mean_kappa_of_sums(sums: &[f64]) -> Option<f64> {
    let kappa = |pair: &[f64]| {
        let &[n, x, y, squares, differences] = pair else { return None };
        let spread = n * squares - 2.0 * x * y;
        (spread > NO_SPREAD * n * squares).then(|| 1.0 - n * differences / spread)
    };
    mean(&sums.chunks_exact(PAIR_SUMS).filter_map(kappa).collect::<Vec<_>>())
}

/// Units by what they were rated. Judges use few numbers, so thousands of units share some dozens of patterns, and a
/// resample is only how often each pattern was drawn.
struct Clustered {
    /// For each rater its rating of each pattern.
    by_rater: Vec<Vec<Option<f64>>>,
    /// How many clusters there are.
    clusters: usize,
    /// Cluster (from 0, in ascending order of their numbers), pattern, and how many such units the cluster has.
    entries: Vec<(usize, usize, u32)>,
}

impl Clustered {
    /// The units with two ratings or more; `None` for raters or clusters of unequal length.
    fn new(ratings: &[&[Option<f64>]], clusters: &[usize]) -> Option<Self> {
        if ratings.iter().any(|own| own.len() != clusters.len()) {
            return None;
        }
        let mut patterns: BTreeMap<Vec<Option<u64>>, usize> = BTreeMap::new();
        let mut by_rater = vec![Vec::new(); ratings.len()];
        let mut counts: BTreeMap<usize, BTreeMap<usize, u32>> = BTreeMap::new();
        for (unit, cluster) in clusters.iter().enumerate() {
            let own: Vec<Option<f64>> = ratings.iter().map(|rater| rater[unit]).collect();
            if own.iter().flatten().count() < 2 {
                continue;
            }
            let fresh = patterns.len();
            let bits = own.iter().map(|rating| rating.map(f64::to_bits)).collect();
            let pattern = *patterns.entry(bits).or_insert(fresh);
            if pattern == fresh {
                by_rater.iter_mut().zip(own).for_each(|(rater, rating)| rater.push(rating));
            }
            *counts.entry(*cluster).or_default().entry(pattern).or_default() += 1;
        }
        let entries = counts
            .values()
            .enumerate()
            .flat_map(|(cluster, own)| own.iter().map(move |(pattern, count)| (cluster, *pattern, *count)));
        Some(Self { by_rater, clusters: counts.len(), entries: entries.collect() })
    }

    fn ratings(&self) -> Vec<&[Option<f64>]> {
        self.by_rater.iter().map(Vec::as_slice).collect()
    }

    /// The interval of a statistic of sums over units. Squared distances need nothing else: where all ratings differ
    /// that is several times faster than to visit every unit in every resample.
    fn interval_by_sums(
        &self,
        of_unit: impl Fn(&[Option<f64>]) -> Vec<f64>,
        statistic: impl Fn(&[f64]) -> Option<f64> + Sync,
        options: BcaOptions,
    ) -> Option<Interval> {
        let patterns = self.by_rater.first()?.len();
        // Squares of numbers around 0 cancel least; a whole centre keeps sums of whole ratings exact.
        let all: Vec<f64> = self.by_rater.iter().flatten().flatten().copied().collect();
        let centre = mean(&all)?.round();
        let unit = |pattern: usize| -> Vec<Option<f64>> {
            self.by_rater.iter().map(|own| own[pattern].map(|rating| rating - centre)).collect()
        };
        let parts: Vec<Vec<f64>> = (0..patterns).map(|pattern| of_unit(&unit(pattern))).collect();
        let width = parts.first().map(Vec::len).filter(|width| *width > 0)?;
        let mut rows = vec![0.0; width * self.clusters];
        for (cluster, pattern, count) in &self.entries {
            let row = &mut rows[cluster * width..(cluster + 1) * width];
            row.iter_mut().zip(&parts[*pattern]).for_each(|(sum, part)| *sum += f64::from(*count) * part);
        }
        let of_clusters = |drawn: &[u32]| {
            let mut sums = vec![0.0; width];
            for (row, times) in rows.chunks_exact(width).zip(drawn).filter(|(_, times)| **times > 0) {
                sums.iter_mut().zip(row).for_each(|(sum, part)| *sum += f64::from(*times) * part);
            }
            statistic(&sums)
        };
        bca_weighted_interval(self.clusters, of_clusters, options)
    }

    /// The interval of a statistic that takes how often each pattern was drawn.
    fn interval(&self, statistic: impl Fn(&[u32]) -> Option<f64> + Sync, options: BcaOptions) -> Option<Interval> {
        let patterns = self.by_rater.first()?.len();
        let of_clusters = |drawn: &[u32]| {
            let mut times = vec![0; patterns];
            for (cluster, pattern, count) in &self.entries {
                times[*pattern] += count * drawn[*cluster];
            }
            statistic(&times)
        };
        bca_weighted_interval(self.clusters, of_clusters, options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{krippendorff_alpha_interval, mean_pairwise_kappa_interval};

    const LEVELS: [MeasurementLevel; 3] =
        [MeasurementLevel::Nominal, MeasurementLevel::Ordinal, MeasurementLevel::Interval];
    const WEIGHTS: [KappaWeights; 3] = [KappaWeights::Unweighted, KappaWeights::Linear, KappaWeights::Quadratic];

    fn options() -> BcaOptions {
        BcaOptions { resamples: 400, ..BcaOptions::seeded(5) }
    }

    /// Three raters; every seventh unit lacks the third, one unit has one rating only.
    fn ratings(units: i32) -> Vec<Vec<Option<f64>>> {
        let rate = |step: i32, unit: i32| f64::from(unit * unit % 5 + i32::from(unit % step == 0));
        let mut all: Vec<Vec<Option<f64>>> =
            [3, 4, 7].iter().map(|step| (0..units).map(|unit| Some(rate(*step, unit))).collect()).collect();
        all[2].iter_mut().step_by(7).for_each(|rating| *rating = None);
        all[0][2] = None;
        all[1][2] = None;
        all
    }

    fn borrowed(ratings: &[Vec<Option<f64>>]) -> Vec<&[Option<f64>]> {
        ratings.iter().map(Vec::as_slice).collect()
    }

    fn is_close(a: Option<Interval>, b: Option<Interval>) -> bool {
        a.zip(b).is_some_and(|(a, b)| (a.low - b.low).abs() < 1e-12 && (a.high - b.high).abs() < 1e-12)
    }

    #[test]
    fn clusters_of_one_unit_are_no_clusters() {
        let all = ratings(40);
        let (all, own) = (borrowed(&all), (0..40).collect::<Vec<usize>>());
        for level in LEVELS {
            let clustered = krippendorff_alpha_clustered_interval(&all, &own, level, options());
            assert!(is_close(clustered, krippendorff_alpha_interval(&all, level, options())), "{clustered:?}");
        }
        for weights in WEIGHTS {
            let clustered = mean_pairwise_kappa_clustered_interval(&all, &own, weights, options());
            assert!(is_close(clustered, mean_pairwise_kappa_interval(&all, weights, options())), "{clustered:?}");
        }
    }

    #[test]
    fn a_cluster_that_says_one_thing_four_times_is_one_piece_of_evidence() {
        // Kappa is made of means, which four copies of each unit do not change: the interval is that of the originals.
        let once = ratings(40);
        let copied: Vec<Vec<Option<f64>>> =
            once.iter().map(|own| own.iter().flat_map(|rating| [*rating; 4]).collect()).collect();
        let clusters: Vec<usize> = (0..160).map(|unit| unit / 4).collect();
        let (once, copied) = (borrowed(&once), borrowed(&copied));
        for weights in WEIGHTS {
            let clustered = mean_pairwise_kappa_clustered_interval(&copied, &clusters, weights, options());
            assert!(is_close(clustered, mean_pairwise_kappa_interval(&once, weights, options())), "{clustered:?}");
        }
        // Taken as 160 pieces, alpha would look about twice as sure (the square root of 4).
        let width = |interval: Option<Interval>| interval.map(|interval| interval.high - interval.low).unwrap();
        let level = MeasurementLevel::Interval;
        let honest = width(krippendorff_alpha_clustered_interval(&copied, &clusters, level, options()));
        let naive = width(krippendorff_alpha_interval(&copied, level, options()));
        assert!(honest > 1.6 * naive && honest < 2.6 * naive, "{honest} {naive}");
    }

    #[test]
    fn intervals_by_sums_are_those_by_units_for_ratings_that_all_differ() {
        let fine = |of: &Vec<Option<f64>>| -> Vec<Option<f64>> {
            let shifted =
                of.iter().zip(1_u32..).map(|(rating, at)| rating.map(|r| r / 7.0 + f64::from(at * at % 83) / 830.0));
            shifted.collect()
        };
        let all: Vec<Vec<Option<f64>>> = ratings(60).iter().map(fine).collect();
        let (all, own) = (borrowed(&all), (0..60).collect::<Vec<usize>>());
        let (level, weights) = (MeasurementLevel::Interval, KappaWeights::Quadratic);
        let alpha = krippendorff_alpha_clustered_interval(&all, &own, level, options());
        assert!(is_close(alpha, krippendorff_alpha_interval(&all, level, options())), "{alpha:?}");
        let kappa = mean_pairwise_kappa_clustered_interval(&all, &own, weights, options());
        assert!(is_close(kappa, mean_pairwise_kappa_interval(&all, weights, options())), "{kappa:?}");
    }

    #[test]
    fn ratings_that_are_all_one_number_have_no_interval_whatever_the_rounding() {
        let same = [Some(1.0 / 3.0); 9];
        let own: Vec<usize> = (0..9).collect();
        let (level, weights) = (MeasurementLevel::Interval, KappaWeights::Quadratic);
        assert_eq!(krippendorff_alpha_clustered_interval(&[&same, &same], &own, level, options()), None);
        assert_eq!(mean_pairwise_kappa_clustered_interval(&[&same, &same], &own, weights, options()), None);
    }

    #[test]
    fn what_has_no_interval_is_none() {
        let (a, b) = ([Some(1.0), Some(2.0), Some(1.0)], [Some(1.0), Some(1.0), None]);
        let (level, weights) = (MeasurementLevel::Interval, KappaWeights::Quadratic);
        // One cluster; the other holds no unit with two ratings; unequal lengths; nobody.
        for (ratings, clusters) in [
            (vec![&a[..], &b], vec![0, 0, 0]),
            (vec![&a, &b], vec![0, 0, 1]),
            (vec![&a, &b], vec![0, 1]),
            (vec![], vec![]),
        ] {
            assert_eq!(krippendorff_alpha_clustered_interval(&ratings, &clusters, level, options()), None);
            assert_eq!(mean_pairwise_kappa_clustered_interval(&ratings, &clusters, weights, options()), None);
        }
    }
}
