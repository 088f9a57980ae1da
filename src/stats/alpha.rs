//! Krippendorff's alpha: agreement of any number of raters, missing ratings allowed.
//!
//! K. Krippendorff, "Computing Krippendorff's alpha-reliability" (2011); "Content analysis", 3rd edition (2013),
//! chapter 12. With n the pairable ratings (those of units with two ratings or more):
//! alpha = 1 - D_o / D_e, D_o = 1/n sum over units of 1/(m - 1) sum over ordered pairs within the unit of d2, and
//! D_e = 1/(n (n - 1)) sum over ordered pairs of all pairable ratings of d2.

use super::bootstrap::{BcaOptions, Interval};
use super::resampling::bca_weighted_interval;

/// What distance between two ratings means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeasurementLevel {
    /// Equal or not: d2 is 0 or 1. Numbers are only names.
    Nominal,
    /// Order counts, spacing does not: d2 is the square of the number of ratings between the two, the ends by half.
    Ordinal,
    /// Differences count: d2 is the squared difference.
    Interval,
}

/// Krippendorff's alpha of `ratings`: one slice for each rater, all with the same units in the same order.
///
/// 1 is perfect agreement, 0 what chance gives, below 0 systematic disagreement. `None` for raters of unequal length,
/// ratings that are not finite, no unit with two ratings, and ratings that are all equal: there alpha is not defined.
///
/// ```
/// use scholareval::stats::{MeasurementLevel, krippendorff_alpha};
///
/// let first = [Some(1.0), Some(2.0), Some(3.0), None];
/// let second = [Some(1.0), Some(2.0), Some(3.0), Some(5.0)];
/// assert_eq!(krippendorff_alpha(&[&first, &second], MeasurementLevel::Interval), Some(1.0));
/// ```
pub fn krippendorff_alpha(ratings: &[&[Option<f64>]], level: MeasurementLevel) -> Option<f64> {
    let units = PairableUnits::new(ratings, level)?;
    units.alpha(&vec![1; units.units.len()])
}

/// The BCa bootstrap interval of [`krippendorff_alpha`]: pairable units are drawn with all their ratings, and both
/// observed and expected disagreement are computed anew. `None` where alpha is, and for fewer than two pairable units.
pub fn krippendorff_alpha_interval(
    ratings: &[&[Option<f64>]],
    level: MeasurementLevel,
    options: BcaOptions,
) -> Option<Interval> {
    let units = PairableUnits::new(ratings, level)?;
    bca_weighted_interval(units.units.len(), |weights| units.alpha(weights), options)
}

/// How many units have two ratings or more: the n behind an agreement. 0 for raters of unequal length.
pub fn pairable_units(ratings: &[&[Option<f64>]]) -> usize {
    unit_ratings(ratings).unwrap_or_default().len()
}

/// Units with two ratings or more, each with its ratings; `None` for raters of unequal length and for ratings that are
/// not finite.
fn unit_ratings(ratings: &[&[Option<f64>]]) -> Option<Vec<Vec<f64>>> {
    let units = ratings.first()?.len();
    let usable = ratings.iter().all(|own| own.len() == units && own.iter().flatten().all(|value| value.is_finite()));
    let rated = (0..units).map(|unit| ratings.iter().filter_map(|own| own[unit]).collect::<Vec<f64>>());
    usable.then(|| rated.filter(|own| own.len() >= 2).collect())
}

/// The distinct values in ascending order.
pub(super) fn distinct(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values.dedup_by(|a, b| a == b);
    values
}

/// The place of `value` among the distinct ones.
pub(super) fn place(distinct: &[f64], value: f64) -> usize {
    distinct.partition_point(|other| *other < value)
}

/// Ratings by unit, each as its place among the distinct values, in ascending order.
pub(super) struct PairableUnits {
    units: Vec<Vec<usize>>,
    values: Vec<f64>,
    level: MeasurementLevel,
}

impl PairableUnits {
    pub(super) fn new(ratings: &[&[Option<f64>]], level: MeasurementLevel) -> Option<Self> {
        let rated = unit_ratings(ratings)?;
        let values = distinct(rated.iter().flatten().copied());
        let places = |own: &Vec<f64>| {
            let mut own: Vec<usize> = own.iter().map(|value| place(&values, *value)).collect();
            own.sort_unstable();
            own
        };
        let units = rated.iter().map(places).collect();
        Some(Self { units, values, level })
    }

    /// Alpha with every unit taken as often as its weight says.
    pub(super) fn alpha(&self, weights: &[u32]) -> Option<f64> {
        let mut counts = vec![0.0; self.values.len()];
        for (unit, weight) in self.units.iter().zip(weights) {
            for place in unit {
                counts[*place] += f64::from(*weight);
            }
        }
        if counts.iter().filter(|count| **count > 0.0).count() < 2 {
            return None;
        }
        let scores = self.scores(&counts);
        let mut own = Vec::new();
        let mut observed = 0.0;
        for (unit, weight) in self.units.iter().zip(weights).filter(|(_, weight)| **weight > 0) {
            own.clear();
            own.extend(unit.chunk_by(|a, b| a == b).map(|same| (scores[same[0]], same.len() as f64)));
            observed += f64::from(*weight) * self.disagreement(&own) / (unit.len() - 1) as f64;
        }
        let total: f64 = counts.iter().sum();
        let all: Vec<(f64, f64)> = scores.into_iter().zip(counts).collect();
        Some(1.0 - observed * (total - 1.0) / self.disagreement(&all))
    }

    /// Numbers whose squared difference is the level's d2. For ordinal ratings those are the mean ranks: the ratings
    /// between two values, with the ends by half, are the difference of their mean ranks.
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
    /// Squares of differences sum to 2 n sum((x - mean)^2) over ordered pairs, so no pair has to be visited.
    fn disagreement(&self, ratings: &[(f64, f64)]) -> f64 {
        let total: f64 = ratings.iter().map(|(_, count)| count).sum();
        if self.level == MeasurementLevel::Nominal {
            return total * total - ratings.iter().map(|(_, count)| count * count).sum::<f64>();
        }
        let centre = ratings.iter().map(|(score, count)| score * count).sum::<f64>() / total;
        2.0 * total * ratings.iter().map(|(score, count)| count * (score - centre).powi(2)).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LEVELS: [MeasurementLevel; 3] =
        [MeasurementLevel::Nominal, MeasurementLevel::Ordinal, MeasurementLevel::Interval];

    fn borrowed(ratings: &[Vec<Option<f64>>]) -> Vec<&[Option<f64>]> {
        ratings.iter().map(Vec::as_slice).collect()
    }

    /// Alpha as it is written down: every ordered pair visited, with its own distance.
    fn alpha_by_pairs(ratings: &[&[Option<f64>]], level: MeasurementLevel) -> Option<f64> {
        let units = unit_ratings(ratings)?;
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
        let alpha = krippendorff_alpha(&[&a, &b], MeasurementLevel::Nominal).unwrap();
        assert!((alpha - expected).abs() < 1e-15, "{alpha} {expected}");
        // One step of size 1 between two values: all levels see the same thing.
        for level in LEVELS {
            assert!((krippendorff_alpha(&[&a, &b], level).unwrap() - expected).abs() < 1e-15);
        }
    }

    #[test]
    fn a_unit_rated_once_does_not_count() {
        let a = [Some(1.0), Some(2.0), Some(3.0), Some(9.0)];
        let b = [Some(1.0), Some(3.0), Some(3.0), None];
        let without = krippendorff_alpha(&[&a[..3], &b[..3]], MeasurementLevel::Ordinal);
        assert!(without.is_some());
        assert_eq!(krippendorff_alpha(&[&a, &b], MeasurementLevel::Ordinal), without);
        assert_eq!(pairable_units(&[&a, &b]), 3);
    }

    #[test]
    fn what_has_no_alpha_is_none() {
        let same = [Some(2.0), Some(2.0)];
        for level in LEVELS {
            assert_eq!(krippendorff_alpha(&[], level), None);
            assert_eq!(krippendorff_alpha(&[&[], &[]], level), None);
            assert_eq!(krippendorff_alpha(&[&same], level), None);
            assert_eq!(krippendorff_alpha(&[&same, &same], level), None);
            assert_eq!(krippendorff_alpha(&[&same, &same[..1]], level), None);
            assert_eq!(krippendorff_alpha(&[&same, &[Some(1.0), Some(f64::NAN)]], level), None);
            assert_eq!(krippendorff_alpha_interval(&[&same, &same], level, BcaOptions::seeded(1)), None);
        }
    }

    #[test]
    fn the_interval_holds_alpha_and_narrows_with_more_units() {
        let ratings = |units: i32| -> Vec<Vec<Option<f64>>> {
            let rate = |step: i32| (0..units).map(|u| Some(f64::from(u * u % 5 + i32::from(u % step == 0)))).collect();
            vec![rate(3), rate(4), rate(7)]
        };
        let options = BcaOptions { resamples: 1_000, ..BcaOptions::seeded(1) };
        let width = |units| {
            let ratings = ratings(units);
            let alpha = krippendorff_alpha(&borrowed(&ratings), MeasurementLevel::Interval).unwrap();
            let interval =
                krippendorff_alpha_interval(&borrowed(&ratings), MeasurementLevel::Interval, options).unwrap();
            assert!(interval.low < alpha && alpha < interval.high, "{alpha} {interval:?}");
            interval.high - interval.low
        };
        assert!(width(200) < 0.6 * width(30));
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
    }
}
