//! The intraclass correlation ICC(2,1): agreement of raters on a scale where differences count.
//!
//! P. E. Shrout and J. L. Fleiss, "Intraclass correlations: uses in assessing rater reliability", Psychological Bulletin
//! 86 (1979): two-way random effects, absolute agreement, a single rating. With n units, k raters and the mean squares
//! of units MSR, of raters MSC and of the residual MSE:
//! ICC = (MSR - MSE) / (MSR + (k - 1) MSE + k (MSC - MSE) / n).

use super::bootstrap::Interval;
use super::jackknife::coefficient_interval;

/// ICC(2,1) of `ratings`, one slice for each rater over the same units, over the units rated by all: the share of the
/// variance of a single rating that is between units; may be below 0, never above 1.
///
/// `None` for fewer than two raters or complete units, raters of unequal length, ratings that are not finite, and ratings
/// that are all equal.
///
/// ```
/// use scholareval::stats::icc_2_1;
///
/// let strict = [Some(1.0), Some(2.0), Some(4.0), Some(3.0), None];
/// let mild = [Some(2.0), Some(3.0), Some(4.0), Some(4.0), Some(5.0)];
/// assert!(icc_2_1(&[&strict, &mild]).is_some_and(|icc| 0.5 < icc && icc < 0.9));
/// ```
pub fn icc_2_1(ratings: &[&[Option<f64>]]) -> Option<f64> {
    icc_of(&complete_units(ratings)?.iter().map(|(_, row)| row.as_slice()).collect::<Vec<_>>())
}

/// The interval of [`icc_2_1`], as [`coefficient_interval`]; `clusters` gives each unit's cluster. `None` also for `clusters`
/// of another length.
pub fn icc_2_1_interval(ratings: &[&[Option<f64>]], clusters: &[usize], confidence: f64) -> Option<Interval> {
    let units = complete_units(ratings).filter(|_| ratings[0].len() == clusters.len())?;
    let clusters: Vec<usize> = units.iter().map(|(unit, _)| clusters[*unit]).collect();
    let icc = |weights: &[u32]| {
        let kept = units.iter().zip(weights).filter(|(_, weight)| **weight > 0);
        icc_of(&kept.map(|((_, row), _)| row.as_slice()).collect::<Vec<_>>())
    };
    coefficient_interval(&clusters, icc, confidence)
}

fn icc_of(rows: &[&[f64]]) -> Option<f64> {
    let MeanSquares { units: msr, raters: msc, residual: mse } = MeanSquares::new(rows)?;
    let (n, k) = (rows.len() as f64, rows.first()?.len() as f64);
    let value = (msr - mse) / (msr + (k - 1.0) * mse + k * (msc - mse) / n);
    value.is_finite().then_some(value)
}

/// Units rated by every rater, each with its index and one row of ratings.
fn complete_units(ratings: &[&[Option<f64>]]) -> Option<Vec<(usize, Vec<f64>)>> {
    let units = ratings.first()?.len();
    if ratings.len() < 2 || ratings.iter().any(|own| own.len() != units) {
        return None;
    }
    let row = |unit: usize| Some((unit, ratings.iter().map(|own| own[unit]).collect::<Option<Vec<f64>>>()?));
    let rows: Vec<(usize, Vec<f64>)> = (0..units).filter_map(row).collect();
    rows.iter().flat_map(|(_, row)| row).all(|value| value.is_finite()).then_some(rows)
}

/// The mean squares of a units x raters table without repetitions.
struct MeanSquares {
    units: f64,
    raters: f64,
    residual: f64,
}

impl MeanSquares {
    /// `None` for fewer than two rows, and if all ratings are equal.
    fn new(rows: &[&[f64]]) -> Option<Self> {
        let (n, k) = (rows.len() as f64, rows.first()?.len() as f64);
        let first = *rows.first()?.first()?;
        if rows.len() < 2 || rows.iter().copied().flatten().all(|value| *value == first) {
            return None;
        }
        let grand = rows.iter().copied().flatten().sum::<f64>() / (n * k);
        let by_unit: Vec<f64> = rows.iter().map(|row| row.iter().sum::<f64>() / k).collect();
        let by_rater: Vec<f64> =
            (0..rows.first()?.len()).map(|rater| rows.iter().map(|row| row[rater]).sum::<f64>() / n).collect();
        let squares = |means: &[f64]| means.iter().map(|mean| (mean - grand).powi(2)).sum::<f64>();
        // Summed from the residuals: a difference of sums of squares could fall below 0.
        let residual = rows.iter().zip(&by_unit).flat_map(|(row, unit)| {
            row.iter().zip(&by_rater).map(move |(value, rater)| (value - unit - rater + grand).powi(2))
        });
        Some(Self {
            units: k * squares(&by_unit) / (n - 1.0),
            raters: n * squares(&by_rater) / (k - 1.0),
            residual: residual.sum::<f64>() / ((n - 1.0) * (k - 1.0)),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn some(values: &[f64]) -> Vec<Option<f64>> {
        values.iter().copied().map(Some).collect()
    }

    #[test]
    fn the_table_of_shrout_and_fleiss_has_their_numbers() {
        // Their table 2: six targets, four judges; ICC(2,1) = .29.
        let judges = [
            some(&[9.0, 6.0, 8.0, 7.0, 10.0, 6.0]),
            some(&[2.0, 1.0, 4.0, 1.0, 5.0, 2.0]),
            some(&[5.0, 3.0, 6.0, 2.0, 6.0, 4.0]),
            some(&[8.0, 2.0, 8.0, 6.0, 9.0, 7.0]),
        ];
        let judges: Vec<&[Option<f64>]> = judges.iter().map(Vec::as_slice).collect();
        let icc = icc_2_1(&judges).unwrap();
        assert!((icc - 0.29).abs() < 0.005, "{icc}");
        let interval = icc_2_1_interval(&judges, &[0, 1, 2, 3, 4, 5], 0.95).unwrap();
        assert!(interval.low < icc && icc < interval.high && interval.high < 1.0, "{interval:?}");
        // Six targets of one question are one piece of evidence.
        assert_eq!(icc_2_1_interval(&judges, &[3; 6], 0.95), None);
        assert_eq!(icc_2_1_interval(&judges, &[3; 5], 0.95), None);
    }

    #[test]
    fn raters_a_constant_apart_agree_in_order_but_not_absolutely() {
        // 1 2 3 and 2 3 4: MSR = 2, MSC = 6 * 0.25 / 1 = 1.5, MSE = 0; 2 / (2 + 2 * 1.5 / 3) = 2/3
        let icc = icc_2_1(&[&some(&[1.0, 2.0, 3.0]), &some(&[2.0, 3.0, 4.0])]).unwrap();
        assert!((icc - 2.0 / 3.0).abs() < 1e-12, "{icc}");
        assert_eq!(icc_2_1(&[&some(&[1.0, 2.0, 3.0]), &some(&[1.0, 2.0, 3.0])]), Some(1.0));
    }

    #[test]
    fn what_has_no_icc_is_none() {
        let list = some(&[1.0, 2.0]);
        assert_eq!(icc_2_1(&[]), None);
        assert_eq!(icc_2_1(&[&list]), None);
        assert_eq!(icc_2_1(&[&list, &list[..1]]), None);
        assert_eq!(icc_2_1(&[&list, &[None, Some(1.0)]]), None);
        assert_eq!(icc_2_1(&[&some(&[2.0, 2.0]), &some(&[2.0, 2.0])]), None);
        assert_eq!(icc_2_1(&[&list, &some(&[1.0, f64::NAN])]), None);
        assert_eq!(icc_2_1_interval(&[&list, &list], &[0, 1], 1.0), None);
    }

    #[test]
    fn an_icc_far_below_zero_by_hand() {
        let raters = [[1.0, 5.0, 5.0], [5.0, 2.0, 1.0], [1.0, 1.0, 1.0]].map(|rater: [f64; 3]| rater.map(Some));
        // mean squares 1/9, 49/9 and 43/9: (1/9 - 43/9) / (1/9 + 86/9 + 6/9) = -42/93
        let icc = icc_2_1(&raters.each_ref().map(|rater| &rater[..])).unwrap();
        assert!((icc + 42.0 / 93.0).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn icc_is_at_most_1_and_blind_to_order(
            rows in prop::collection::vec(prop::collection::vec(1..6_u8, 3), 3..15), turn in 0..15_usize
        ) {
            let raters = |rows: &[Vec<u8>]| -> Vec<Vec<Option<f64>>> {
                (0..3).map(|rater| rows.iter().map(|row| Some(f64::from(row[rater]))).collect()).collect()
            };
            let of = |ratings: &[Vec<Option<f64>>]| icc_2_1(&ratings.iter().map(Vec::as_slice).collect::<Vec<_>>());
            let mut turned = rows.clone();
            turned.rotate_left(turn % rows.len());
            let mut swapped = raters(&rows);
            swapped.rotate_left(1);
            let icc = of(&raters(&rows));
            for other in [of(&raters(&turned)), of(&swapped)] {
                prop_assert_eq!(icc.is_some(), other.is_some());
                if let (Some(icc), Some(other)) = (icc, other) {
                    prop_assert!((icc - other).abs() < 1e-9);
                    prop_assert!(icc <= 1.0 + 1e-12);
                }
            }
        }
    }
}
