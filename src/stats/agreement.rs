//! Agreement of raters beyond chance: Krippendorff's alpha and Cohen's kappa, both 1 - observed / expected disagreement.
//!
//! Alpha is for any number of raters, missing ratings allowed (K. Krippendorff, "Computing Krippendorff's
//! alpha-reliability", 2011; "Content analysis", 3rd edition, 2013, chapter 12). With n the ratings of units with two
//! ratings or more: D_o = 1/n sum over units of 1/(m - 1) sum over ordered pairs within the unit of d2, and
//! D_e = 1/(n (n - 1)) sum over ordered pairs of all these ratings of d2.
//!
//! Kappa is for two raters (J. Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological
//! Measurement 20, 1960; "Weighted kappa", Psychological Bulletin 70, 1968): D_o is the mean disagreement of the pairs of
//! ratings, D_e that of all combinations of the two raters' own distributions. Of more raters it is the mean over their pairs
//! (R. J. Light, "Measures of response agreement for qualitative data", Psychological Bulletin 76, 1971).

use std::collections::BTreeMap;

use super::bootstrap::{Clusters, Interval};
use super::jackknife::interval_over_clusters;
use super::summary::{distinct, mean, place};

/// Distance between two ratings for alpha.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeasurementLevel {
    /// Equal or not: d2 is 0 or 1. Numbers are only names.
    Nominal,
    /// Order counts, spacing does not: d2 is the square of the number of ratings between the two, the ends by half.
    Ordinal,
    /// Differences count: d2 is the squared difference.
    Interval,
}

/// Disagreement of two different ratings for kappa.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KappaWeights {
    /// 0 or 1: plain kappa. Numbers are only names.
    Unweighted,
    /// The absolute difference of the values.
    Linear,
    /// The squared difference of the values.
    Quadratic,
}

/// The mean of the kappas of all pairs of raters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairwiseKappa {
    /// The mean over the pairs of raters that have a kappa, -1..=1.
    pub mean: f64,
    /// Number of pairs with a kappa.
    pub defined: usize,
}

/// Krippendorff's alpha of `ratings`: one slice for each rater, all with the same units in the same order.
///
/// 1 is perfect agreement, 0 chance agreement, below 0 systematic disagreement. `None` for raters of unequal length,
/// ratings that are not finite, no unit with two ratings, and all ratings equal, where alpha is undefined.
///
/// ```
/// use scholareval::stats::{MeasurementLevel, krippendorff_alpha};
///
/// let first = [Some(1.0), Some(2.0), Some(3.0), None];
/// let second = [Some(1.0), Some(2.0), Some(3.0), Some(5.0)];
/// assert_eq!(krippendorff_alpha(&[&first, &second], MeasurementLevel::Interval), Some(1.0));
/// ```
pub fn krippendorff_alpha(ratings: &[&[Option<f64>]], level: MeasurementLevel) -> Option<f64> {
    let units = Units::together(ratings)?;
    Alpha::new(&units, level).of(&units.times(&[1]))
}

/// The interval of [`krippendorff_alpha`], as [`coefficient_interval`](super::coefficient_interval); `clusters` gives each
/// unit's cluster.
///
/// Units with fewer than two ratings are ignored, and clusters without any other. `None` if alpha is, for `clusters` of
/// another length, and for fewer than two clusters.
pub fn krippendorff_alpha_interval(
    ratings: &[&[Option<f64>]],
    clusters: &[usize],
    level: MeasurementLevel,
    confidence: f64,
) -> Option<Interval> {
    let units = Units::new(ratings, clusters)?;
    let alpha = Alpha::new(&units, level);
    interval_over_clusters(units.clusters, |kept| alpha.of(&units.times(kept)), confidence)
}

/// Cohen's kappa of two raters over the units that both rated.
///
/// Weights use the values themselves, not their indices among the categories that occur: on a scale of equal steps this
/// is scikit-learn's `cohen_kappa_score` with the whole scale as `labels`. `None` for unequal lengths, ratings that are
/// not finite, no unit rated by both, and all ratings equal.
///
/// ```
/// use scholareval::stats::{KappaWeights, cohens_kappa};
///
/// let yes_no = [Some(1.0), Some(0.0), Some(1.0), Some(0.0)];
/// let other = [Some(1.0), Some(0.0), Some(0.0), None];
/// // 2 of 3 agree; by chance 2/3 * 1/3 + 1/3 * 2/3 = 4/9: (2/3 - 4/9) / (1 - 4/9) = 0.4
/// let kappa = cohens_kappa(&yes_no, &other, KappaWeights::Unweighted);
/// assert!(kappa.is_some_and(|k| (k - 0.4).abs() < 1e-12));
/// ```
pub fn cohens_kappa(x: &[Option<f64>], y: &[Option<f64>], weights: KappaWeights) -> Option<f64> {
    mean_pairwise_kappa(&[x, y], weights).map(|kappa| kappa.mean)
}

/// Mean of [`cohens_kappa`] over all pairs of raters, each over the units both rated. `None` if no pair has a kappa,
/// for raters of unequal length, and for ratings that are not finite.
pub fn mean_pairwise_kappa(ratings: &[&[Option<f64>]], weights: KappaWeights) -> Option<PairwiseKappa> {
    let units = Units::together(ratings)?;
    let times = units.times(&[1]);
    let kappas: Vec<f64> = Kappa::of_pairs(&units, weights).iter().filter_map(|pair| pair.of(&times)).collect();
    Some(PairwiseKappa { mean: mean(&kappas)?, defined: kappas.len() })
}

/// The interval of [`mean_pairwise_kappa`]; units and clusters as in [`krippendorff_alpha_interval`].
pub fn mean_pairwise_kappa_interval(
    ratings: &[&[Option<f64>]],
    clusters: &[usize],
    weights: KappaWeights,
    confidence: f64,
) -> Option<Interval> {
    let units = Units::new(ratings, clusters)?;
    let pairs = Kappa::of_pairs(&units, weights);
    let kappa = |kept: &[u32]| {
        let times = units.times(kept);
        mean(&pairs.iter().filter_map(|pair| pair.of(&times)).collect::<Vec<f64>>())
    };
    interval_over_clusters(units.clusters, kappa, confidence)
}

/// Units with at least two ratings, grouped by their ratings. Judges use few values, so thousands of units share some
/// dozens of patterns, and leaving out a question only changes the count of some patterns.
struct Units {
    /// The ratings of each pattern, one per rater.
    patterns: Vec<Vec<Option<f64>>>,
    clusters: usize,
    /// Cluster, pattern, and how many such units the cluster has.
    entries: Vec<(usize, usize, u32)>,
}

impl Units {
    /// All units in one cluster.
    fn together(ratings: &[&[Option<f64>]]) -> Option<Self> {
        Self::new(ratings, &vec![0; ratings.first()?.len()])
    }

    /// `None` for raters or clusters of unequal length and for ratings that are not finite.
    fn new(ratings: &[&[Option<f64>]], clusters: &[usize]) -> Option<Self> {
        let is_usable =
            |own: &&[Option<f64>]| own.len() == clusters.len() && own.iter().flatten().all(|value| value.is_finite());
        if !ratings.iter().all(is_usable) {
            return None;
        }
        let mut known: BTreeMap<Vec<Option<u64>>, usize> = BTreeMap::new();
        let (mut patterns, mut found) = (Vec::new(), Vec::new());
        for (unit, cluster) in clusters.iter().enumerate() {
            let own: Vec<Option<f64>> = ratings.iter().map(|rater| rater[unit]).collect();
            if own.iter().flatten().count() < 2 {
                continue;
            }
            let bits = own.iter().map(|rating| rating.map(f64::to_bits)).collect();
            let pattern = *known.entry(bits).or_insert(patterns.len());
            if pattern == patterns.len() {
                patterns.push(own);
            }
            found.push((*cluster, pattern));
        }
        let kept = Clusters::new(&found.iter().map(|(cluster, _)| *cluster).collect::<Vec<_>>());
        let mut counts: BTreeMap<(usize, usize), u32> = BTreeMap::new();
        for (cluster, (_, pattern)) in kept.of_unit.iter().zip(&found) {
            *counts.entry((*cluster, *pattern)).or_default() += 1;
        }
        let entries = counts.into_iter().map(|((cluster, pattern), count)| (cluster, pattern, count)).collect();
        Some(Self { patterns, clusters: kept.sizes.len(), entries })
    }

    /// Count of each pattern, with this weight of each cluster.
    fn times(&self, weights: &[u32]) -> Vec<f64> {
        let mut times = vec![0.0; self.patterns.len()];
        for (cluster, pattern, count) in &self.entries {
            times[*pattern] += f64::from(count * weights[*cluster]);
        }
        times
    }
}

/// The patterns, each rating as its index among the distinct values, in ascending order.
struct Alpha {
    patterns: Vec<Vec<usize>>,
    values: Vec<f64>,
    level: MeasurementLevel,
}

impl Alpha {
    fn new(units: &Units, level: MeasurementLevel) -> Self {
        let values = distinct(units.patterns.iter().flatten().flatten().copied());
        let places = |own: &Vec<Option<f64>>| {
            let mut own: Vec<usize> = own.iter().flatten().map(|value| place(&values, *value)).collect();
            own.sort_unstable();
            own
        };
        Self { patterns: units.patterns.iter().map(places).collect(), values, level }
    }

    /// Alpha for these pattern counts.
    fn of(&self, times: &[f64]) -> Option<f64> {
        let mut counts = vec![0.0; self.values.len()];
        for (pattern, times) in self.patterns.iter().zip(times) {
            pattern.iter().for_each(|place| counts[*place] += times);
        }
        if counts.iter().filter(|count| **count > 0.0).count() < 2 {
            return None;
        }
        let scores = self.scores(&counts);
        let mut observed = 0.0;
        let mut own = Vec::new();
        for (pattern, times) in self.patterns.iter().zip(times).filter(|(_, times)| **times > 0.0) {
            own.clear();
            own.extend(pattern.chunk_by(|a, b| a == b).map(|same| (scores[same[0]], same.len() as f64)));
            observed += times * self.disagreement(&own) / (pattern.len() - 1) as f64;
        }
        let total: f64 = counts.iter().sum();
        let all: Vec<(f64, f64)> = scores.into_iter().zip(counts).collect();
        Some(1.0 - observed * (total - 1.0) / self.disagreement(&all))
    }

    /// Numbers whose squared difference is the level's d2. For ordinal ratings those are the mean ranks: their
    /// difference is the number of ratings between two values, the ends by half.
    fn scores(&self, counts: &[f64]) -> Vec<f64> {
        if self.level != MeasurementLevel::Ordinal {
            return self.values.clone();
        }
        let mut below = 0.0;
        let mut rank = |count: &f64| {
            let own = below + count / 2.0;
            below += count;
            own
        };
        counts.iter().map(&mut rank).collect()
    }

    /// The sum of d2 over all ordered pairs of ratings given as (score, how many).
    ///
    /// Squares of differences sum to 2 n sum((x - mean)^2) over ordered pairs, which avoids the loop over pairs.
    fn disagreement(&self, ratings: &[(f64, f64)]) -> f64 {
        let total: f64 = ratings.iter().map(|(_, count)| count).sum();
        if self.level == MeasurementLevel::Nominal {
            return total * total - ratings.iter().map(|(_, count)| count * count).sum::<f64>();
        }
        let center = ratings.iter().map(|(score, count)| score * count).sum::<f64>() / total;
        2.0 * total * ratings.iter().map(|(score, count)| count * (score - center).powi(2)).sum::<f64>()
    }
}

/// Two raters: the patterns that both rated, and the indices of their ratings among the distinct values.
struct Kappa {
    pairs: Vec<(usize, usize, usize)>,
    values: Vec<f64>,
    weights: KappaWeights,
}

impl Kappa {
    fn of_pairs(units: &Units, weights: KappaWeights) -> Vec<Self> {
        let raters = units.patterns.first().map_or(0, Vec::len);
        let pair = |x: usize, y: usize| {
            let patterns = units.patterns.iter().enumerate();
            let both: Vec<(usize, f64, f64)> =
                patterns.filter_map(|(pattern, own)| Some((pattern, own[x]?, own[y]?))).collect();
            let values = distinct(both.iter().flat_map(|(_, x, y)| [*x, *y]));
            let pairs = both.iter().map(|(pattern, x, y)| (*pattern, place(&values, *x), place(&values, *y))).collect();
            Self { pairs, values, weights }
        };
        (0..raters).flat_map(|y| (0..y).map(move |x| (x, y))).map(|(x, y)| pair(x, y)).collect()
    }

    /// Kappa for these pattern counts.
    fn of(&self, times: &[f64]) -> Option<f64> {
        let mut margins = vec![(0.0, 0.0); self.values.len()];
        let (mut total, mut observed) = (0.0, 0.0);
        for (pattern, x, y) in &self.pairs {
            let times = times[*pattern];
            margins[*x].0 += times;
            margins[*y].1 += times;
            total += times;
            observed += times * self.disagreement(*x, *y);
        }
        if margins.iter().filter(|(a, b)| a + b > 0.0).count() < 2 {
            return None;
        }
        margins.iter_mut().for_each(|(a, b)| (*a, *b) = (*a / total, *b / total));
        Some(1.0 - observed / total / self.expected(&margins))
    }

    fn disagreement(&self, x: usize, y: usize) -> f64 {
        let difference = self.values[x] - self.values[y];
        match self.weights {
            KappaWeights::Unweighted => f64::from(u8::from(x != y)),
            KappaWeights::Linear => difference.abs(),
            KappaWeights::Quadratic => difference * difference,
        }
    }

    /// The mean disagreement of one rating drawn from each rater's shares, in one pass over the values.
    fn expected(&self, margins: &[(f64, f64)]) -> f64 {
        match self.weights {
            KappaWeights::Unweighted => 1.0 - margins.iter().map(|(a, b)| a * b).sum::<f64>(),
            // E|X - Y| is the integral of F(1 - G) + G(1 - F) over the gaps between values.
            KappaWeights::Linear => {
                let (mut f, mut g, mut sum) = (0.0, 0.0, 0.0);
                for ((a, b), ends) in margins.iter().zip(self.values.windows(2)) {
                    f += a;
                    g += b;
                    sum += (ends[1] - ends[0]) * (f * (1.0 - g) + g * (1.0 - f));
                }
                sum
            }
            // E(X - Y)^2 is both variances and the squared difference of the means.
            KappaWeights::Quadratic => {
                let shares = || margins.iter().zip(&self.values);
                let (mean_a, mean_b) =
                    shares().fold((0.0, 0.0), |(m, k), ((a, b), value)| (m + a * value, k + b * value));
                let squares: f64 =
                    shares().map(|((a, b), v)| a * (v - mean_a).powi(2) + b * (v - mean_b).powi(2)).sum();
                squares + (mean_a - mean_b).powi(2)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LEVELS: [MeasurementLevel; 3] =
        [MeasurementLevel::Nominal, MeasurementLevel::Ordinal, MeasurementLevel::Interval];
    const WEIGHTS: [KappaWeights; 3] = [KappaWeights::Unweighted, KappaWeights::Linear, KappaWeights::Quadratic];

    fn borrowed(ratings: &[Vec<Option<f64>>]) -> Vec<&[Option<f64>]> {
        ratings.iter().map(Vec::as_slice).collect()
    }

    fn some(values: &[f64]) -> Vec<Option<f64>> {
        values.iter().copied().map(Some).collect()
    }

    /// Three raters; the third did not rate every seventh unit, one unit has one rating only.
    fn ratings(units: i32) -> Vec<Vec<Option<f64>>> {
        let rate = |step: i32, unit: i32| f64::from(unit * unit % 5 + i32::from(unit % step == 0));
        let mut all: Vec<Vec<Option<f64>>> =
            [3, 4, 7].iter().map(|step| (0..units).map(|unit| Some(rate(*step, unit))).collect()).collect();
        all[2].iter_mut().step_by(7).for_each(|rating| *rating = None);
        all[0][2] = None;
        all[1][2] = None;
        all
    }

    /// Alpha as it is written down: every ordered pair visited, with its own distance.
    fn alpha_by_pairs(ratings: &[&[Option<f64>]], level: MeasurementLevel) -> Option<f64> {
        let unit = |unit: usize| ratings.iter().filter_map(|own| own[unit]).collect::<Vec<f64>>();
        let units: Vec<Vec<f64>> = (0..ratings[0].len()).map(unit).filter(|own| own.len() >= 2).collect();
        let all: Vec<f64> = units.iter().flatten().copied().collect();
        let d2 = |a: f64, b: f64| match level {
            MeasurementLevel::Nominal => f64::from(u8::from(a != b)),
            MeasurementLevel::Interval => (a - b) * (a - b),
            MeasurementLevel::Ordinal => {
                let between = |v: &&f64| a.min(b) <= **v && **v <= a.max(b);
                let ends = all.iter().filter(|v| **v == a || **v == b).count() as f64;
                if a == b { 0.0 } else { (all.iter().filter(between).count() as f64 - ends / 2.0).powi(2) }
            }
        };
        let over = |list: &[f64]| list.iter().map(|a| list.iter().map(|b| d2(*a, *b)).sum::<f64>()).sum::<f64>();
        let observed: f64 = units.iter().map(|own| over(own) / (own.len() - 1) as f64).sum();
        let expected = over(&all) / (all.len() as f64 - 1.0);
        (expected > 0.0).then(|| 1.0 - observed / expected)
    }

    #[test]
    fn two_raters_and_four_nominal_units_by_hand() {
        let a = [Some(1.0), Some(1.0), Some(2.0), Some(2.0)];
        let b = [Some(1.0), Some(2.0), Some(2.0), Some(2.0)];
        // Three 1s and five 2s: expected (64 - 9 - 25) / 7 = 30 / 7 ordered pairs; observed: unit 2 has 2 pairs / (2 - 1).
        let expected = 1.0 - 2.0 / (30.0 / 7.0);
        // One step of size 1 between two values: all levels give the same.
        for level in LEVELS {
            assert!((krippendorff_alpha(&[&a, &b], level).unwrap() - expected).abs() < 1e-15);
        }
    }

    #[test]
    fn three_units_on_a_scale_by_hand() {
        let (x, y) = (some(&[1.0, 2.0, 5.0]), some(&[1.0, 4.0, 4.0]));
        // All 9 combinations: |d| = 0 3 3 / 1 2 2 / 4 1 1 = 17, d^2 = 0 9 9 / 1 4 4 / 16 1 1 = 45, unequal 8.
        // The 3 pairs: |d| = 0 2 1 = 3, d^2 = 0 4 1 = 5, unequal 2. kappa = 1 - (pairs / 3) / (combinations / 9).
        let kappa = |weights| cohens_kappa(&x, &y, weights).unwrap();
        assert!((kappa(KappaWeights::Unweighted) - (1.0 - 3.0 * 2.0 / 8.0)).abs() < 1e-15);
        assert!((kappa(KappaWeights::Linear) - (1.0 - 3.0 * 3.0 / 17.0)).abs() < 1e-15);
        assert!((kappa(KappaWeights::Quadratic) - (1.0 - 3.0 * 5.0 / 45.0)).abs() < 1e-15);
    }

    #[test]
    fn a_unit_rated_once_does_not_count() {
        let a = [Some(1.0), Some(2.0), Some(3.0), Some(9.0)];
        let b = [Some(1.0), Some(3.0), Some(3.0), None];
        let without = krippendorff_alpha(&[&a[..3], &b[..3]], MeasurementLevel::Ordinal);
        assert!(without.is_some());
        assert_eq!(krippendorff_alpha(&[&a, &b], MeasurementLevel::Ordinal), without);
    }

    #[test]
    fn a_panel_has_the_mean_of_its_pairs_without_those_that_have_no_kappa() {
        let (a, b, c) = (some(&[1.0, 2.0, 3.0]), some(&[1.0, 2.0, 2.0]), some(&[3.0, 2.0, 1.0]));
        let of = |x: &[Option<f64>], y: &[Option<f64>]| cohens_kappa(x, y, KappaWeights::Quadratic).unwrap();
        let expected = (of(&a, &b) + of(&a, &c) + of(&b, &c)) / 3.0;
        let panel = mean_pairwise_kappa(&[&a, &b, &c], KappaWeights::Quadratic).unwrap();
        assert!((panel.mean - expected).abs() < 1e-15);
        assert_eq!(panel.defined, 3);
        let (a, b, apart) = (vec![Some(1.0), Some(2.0), None], some(&[1.0, 2.0, 1.0]), vec![None, None, Some(1.0)]);
        let panel = mean_pairwise_kappa(&[&a, &b, &apart], KappaWeights::Linear).unwrap();
        assert_eq!(panel, PairwiseKappa { mean: 1.0, defined: 1 });
        assert_eq!(mean_pairwise_kappa(&[&a], KappaWeights::Linear), None);
    }

    #[test]
    fn what_has_no_agreement_is_none() {
        let same = [Some(2.0), Some(2.0)];
        for level in LEVELS {
            assert_eq!(krippendorff_alpha(&[], level), None);
            assert_eq!(krippendorff_alpha(&[&[], &[]], level), None);
            assert_eq!(krippendorff_alpha(&[&same], level), None);
            assert_eq!(krippendorff_alpha(&[&same, &same], level), None);
            assert_eq!(krippendorff_alpha(&[&same, &same[..1]], level), None);
            assert_eq!(krippendorff_alpha(&[&same, &[Some(1.0), Some(f64::NAN)]], level), None);
        }
        for weights in WEIGHTS {
            assert_eq!(cohens_kappa(&[], &[], weights), None);
            assert_eq!(cohens_kappa(&same, &same, weights), None);
            assert_eq!(cohens_kappa(&same, &same[..1], weights), None);
            assert_eq!(cohens_kappa(&same, &[None, None], weights), None);
            assert_eq!(cohens_kappa(&same, &some(&[1.0, f64::INFINITY]), weights), None);
            // Each rater has one value, different from the other's: no better than chance.
            assert_eq!(cohens_kappa(&same, &some(&[3.0, 3.0]), weights), Some(0.0));
        }
        let (a, b) = ([Some(1.0), Some(2.0), Some(1.0)], [Some(1.0), Some(1.0), None]);
        let (level, weights) = (MeasurementLevel::Interval, KappaWeights::Quadratic);
        let third = [Some(1.0 / 3.0); 3];
        // One cluster; the other cluster has no unit with two ratings; unequal lengths; no raters; one number only.
        for (ratings, clusters) in [
            (vec![&a[..], &b], vec![0, 0, 0]),
            (vec![&a, &b], vec![0, 0, 1]),
            (vec![&a, &b], vec![0, 1]),
            (vec![], vec![]),
            (vec![&third, &third], vec![0, 1, 2]),
        ] {
            assert_eq!(krippendorff_alpha_interval(&ratings, &clusters, level, 0.95), None);
            assert_eq!(mean_pairwise_kappa_interval(&ratings, &clusters, weights, 0.95), None);
        }
    }

    #[test]
    fn intervals_hold_their_coefficient_and_narrow_with_more_units() {
        let check = |units: i32| {
            let (all, own) = (ratings(units), (0..units as usize).collect::<Vec<_>>());
            for weights in WEIGHTS {
                let kappa = mean_pairwise_kappa(&borrowed(&all), weights).unwrap().mean;
                let interval = mean_pairwise_kappa_interval(&borrowed(&all), &own, weights, 0.95).unwrap();
                assert!(interval.low < kappa && kappa < interval.high && interval.high <= 1.0);
            }
            let widths = LEVELS.map(|level| {
                let alpha = krippendorff_alpha(&borrowed(&all), level).unwrap();
                let interval = krippendorff_alpha_interval(&borrowed(&all), &own, level, 0.95).unwrap();
                assert!(interval.low < alpha && alpha < interval.high, "{alpha} {interval:?}");
                interval.high - interval.low
            });
            widths[2]
        };
        assert!(check(200) < 0.6 * check(30));
    }

    #[test]
    fn a_cluster_that_says_one_thing_four_times_is_one_piece_of_evidence() {
        // Kappa is made of means, which four copies of each unit do not change: the interval is that of the originals.
        let once = ratings(40);
        let copied: Vec<Vec<Option<f64>>> =
            once.iter().map(|own| own.iter().flat_map(|rating| [*rating; 4]).collect()).collect();
        let (own, fours) = ((0..40).collect::<Vec<usize>>(), (0..160).map(|unit| unit / 4).collect::<Vec<usize>>());
        let (once, copied) = (borrowed(&once), borrowed(&copied));
        for weights in WEIGHTS {
            let clustered = mean_pairwise_kappa_interval(&copied, &fours, weights, 0.95).unwrap();
            let plain = mean_pairwise_kappa_interval(&once, &own, weights, 0.95).unwrap();
            assert!((clustered.low - plain.low).abs() < 1e-12 && (clustered.high - plain.high).abs() < 1e-12);
        }
        // Taken as 160 pieces, alpha would look about twice as sure (the square root of 4).
        let width = |clusters: &[usize]| {
            let interval = krippendorff_alpha_interval(&copied, clusters, MeasurementLevel::Interval, 0.95);
            interval.map(|interval| interval.high - interval.low).unwrap()
        };
        let (honest, naive) = (width(&fours), width(&(0..160).collect::<Vec<_>>()));
        assert!(honest > 1.6 * naive && honest < 2.6 * naive, "{honest} {naive}");
    }

    proptest! {
        #[test]
        fn alpha_is_the_one_by_pairs_at_most_1_and_blind_to_order(
            table in prop::collection::vec(prop::collection::vec(prop::option::of(0..5_u8), 3), 1..12),
            turn in 0..12_usize,
        ) {
            let ratings: Vec<Vec<Option<f64>>> =
                (0..3).map(|rater| table.iter().map(|unit| unit[rater].map(f64::from)).collect()).collect();
            let mut moved = ratings.clone();
            moved.iter_mut().for_each(|own| own.rotate_left(turn % table.len()));
            moved.rotate_left(1);
            for level in LEVELS {
                let alpha = krippendorff_alpha(&borrowed(&ratings), level);
                let others = [alpha_by_pairs(&borrowed(&ratings), level), krippendorff_alpha(&borrowed(&moved), level)];
                for other in others {
                    prop_assert_eq!(alpha.is_some(), other.is_some());
                    prop_assert!((alpha.unwrap_or(0.0) - other.unwrap_or(0.0)).abs() < 1e-10, "{:?} {:?}", alpha, other);
                }
                prop_assert!(alpha.is_none_or(|alpha| alpha <= 1.0));
            }
        }

        #[test]
        fn kappa_is_symmetric_bounded_and_blind_to_order(
            pairs in prop::collection::vec((0..5_u8, 0..5_u8), 1..20), turn in 0..20_usize
        ) {
            let split = |pairs: &[(u8, u8)]| -> (Vec<Option<f64>>, Vec<Option<f64>>) {
                pairs.iter().map(|(a, b)| (Some(f64::from(*a)), Some(f64::from(*b)))).unzip()
            };
            let (x, y) = split(&pairs);
            let mut turned = pairs.clone();
            turned.rotate_left(turn % pairs.len());
            let (tx, ty) = split(&turned);
            for weights in WEIGHTS {
                let kappa = cohens_kappa(&x, &y, weights);
                for other in [cohens_kappa(&y, &x, weights), cohens_kappa(&tx, &ty, weights)] {
                    prop_assert_eq!(kappa.is_some(), other.is_some());
                    prop_assert!((kappa.unwrap_or(0.0) - other.unwrap_or(0.0)).abs() < 1e-12);
                }
                prop_assert!(kappa.is_none_or(|kappa| (-1.0 - 1e-12..=1.0).contains(&kappa)));
            }
        }
    }
}
