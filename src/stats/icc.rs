//! The intraclass correlation ICC(2,1): agreement of raters on a scale where differences count.
//!
//! P. E. Shrout and J. L. Fleiss, "Intraclass correlations: uses in assessing rater reliability", Psychological Bulletin
//! 86 (1979): two-way random effects, absolute agreement, a single rating. With n units, k raters and the mean squares
//! of units MSR, of raters MSC and of the residual MSE:
//! ICC = (MSR - MSE) / (MSR + (k - 1) MSE + k (MSC - MSE) / n).
//! The interval is theirs, from F quantiles with Satterthwaite's degrees of freedom; no resampling.

use super::bootstrap::Interval;
use super::distributions::f_quantile;

/// ICC(2,1) with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IntraclassCorrelation {
    /// Share of the variance of a single rating that is between units; may be below 0, never above 1.
    pub value: f64,
    /// The F-based interval; `None` if its approximation does not contain the value (far below 0, few units).
    pub interval: Option<Interval>,
}

/// ICC(2,1) of `ratings`, one slice for each rater over the same units, over the units rated by all.
///
/// `None` for fewer than two raters or complete units, raters of unequal length, ratings that are not finite, ratings
/// that are all equal, and a level outside 0..1.
///
/// ```
/// use scholareval::stats::icc_2_1;
///
/// let strict = [Some(1.0), Some(2.0), Some(4.0), Some(3.0), None];
/// let mild = [Some(2.0), Some(3.0), Some(4.0), Some(4.0), Some(5.0)];
/// let icc = icc_2_1(&[&strict, &mild], 0.95);
/// assert!(icc.is_some_and(|icc| 0.5 < icc.value && icc.value < 0.9));
/// ```
pub fn icc_2_1(ratings: &[&[Option<f64>]], level: f64) -> Option<IntraclassCorrelation> {
    let rows = complete_units(ratings)?;
    let squares = MeanSquares::new(&rows)?;
    let (n, k) = (rows.len() as f64, ratings.len() as f64);
    let MeanSquares { units: msr, raters: msc, residual: mse } = squares;
    let value = (msr - mse) / (msr + (k - 1.0) * mse + k * (msc - mse) / n);
    if !(level > 0.0 && level < 1.0) {
        return None;
    }
    let holds = |interval: &Interval| interval.low <= value + 1e-12 && value <= interval.high + 1e-12;
    let interval = interval(&squares, [n, k, value], level).filter(holds);
    value.is_finite().then_some(IntraclassCorrelation { value, interval })
}

/// Units rated by every rater, one row of ratings each.
fn complete_units(ratings: &[&[Option<f64>]]) -> Option<Vec<Vec<f64>>> {
    let units = ratings.first()?.len();
    if ratings.len() < 2 || ratings.iter().any(|own| own.len() != units) {
        return None;
    }
    let rows: Vec<Vec<f64>> =
        (0..units).filter_map(|unit| ratings.iter().map(|own| own[unit]).collect::<Option<Vec<f64>>>()).collect();
    (rows.len() >= 2 && rows.iter().flatten().all(|value| value.is_finite())).then_some(rows)
}

/// The mean squares of a units x raters table without repetitions.
struct MeanSquares {
    units: f64,
    raters: f64,
    residual: f64,
}

impl MeanSquares {
    /// `None` if all ratings are equal.
    fn new(rows: &[Vec<f64>]) -> Option<Self> {
        let (n, k) = (rows.len() as f64, rows.first()?.len() as f64);
        let first = *rows.first()?.first()?;
        if rows.iter().flatten().all(|value| *value == first) {
            return None;
        }
        let grand = rows.iter().flatten().sum::<f64>() / (n * k);
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

fn interval(squares: &MeanSquares, [n, k, icc]: [f64; 3], level: f64) -> Option<Interval> {
    let MeanSquares { units: msr, raters: msc, residual: mse } = *squares;
    if mse == 0.0 && msc == 0.0 {
        return Some(Interval { low: 1.0, high: 1.0 });
    }
    let spread = n * (1.0 + (k - 1.0) * icc) - k * icc;
    // Both terms times MSE, so that a residual of 0 is no special case.
    let numerator = (k - 1.0) * (n - 1.0) * (k * icc * msc + spread * mse).powi(2);
    let denominator = (n - 1.0) * (k * icc * msc).powi(2) + (spread * mse).powi(2);
    let df = if denominator > 0.0 { numerator / denominator } else { (n - 1.0) * (k - 1.0) };
    let p = f64::midpoint(1.0, level);
    let lower = f_quantile(p, n - 1.0, df)?;
    let upper = f_quantile(p, df, n - 1.0)?;
    let raters_part = k * msc + (k * n - k - n) * mse;
    Some(Interval {
        low: n * (msr - lower * mse) / (lower * raters_part + n * msr),
        high: n * (upper * msr - mse) / (raters_part + n * upper * msr),
    })
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
        // Their table 2: six targets, four judges; ICC(2,1) = .29 with interval .02 to .76.
        let judges = [
            some(&[9.0, 6.0, 8.0, 7.0, 10.0, 6.0]),
            some(&[2.0, 1.0, 4.0, 1.0, 5.0, 2.0]),
            some(&[5.0, 3.0, 6.0, 2.0, 6.0, 4.0]),
            some(&[8.0, 2.0, 8.0, 6.0, 9.0, 7.0]),
        ];
        let icc = icc_2_1(&judges.iter().map(Vec::as_slice).collect::<Vec<_>>(), 0.95).unwrap();
        assert!((icc.value - 0.29).abs() < 0.005, "{icc:?}");
        let interval = icc.interval.unwrap();
        assert!((interval.low - 0.02).abs() < 0.005 && (interval.high - 0.76).abs() < 0.005, "{icc:?}");
    }

    #[test]
    fn raters_a_constant_apart_agree_in_order_but_not_absolutely() {
        // 1 2 3 and 2 3 4: MSR = 2, MSC = 6 * 0.25 / 1 = 1.5, MSE = 0; 2 / (2 + 2 * 1.5 / 3) = 2/3
        let icc = icc_2_1(&[&some(&[1.0, 2.0, 3.0]), &some(&[2.0, 3.0, 4.0])], 0.95).unwrap();
        assert!((icc.value - 2.0 / 3.0).abs() < 1e-12, "{icc:?}");
        let interval = icc.interval.unwrap();
        assert!(interval.low < icc.value && icc.value < interval.high, "{icc:?}");
        let same = icc_2_1(&[&some(&[1.0, 2.0, 3.0]), &some(&[1.0, 2.0, 3.0])], 0.95).unwrap();
        assert_eq!((same.value, same.interval), (1.0, Some(Interval { low: 1.0, high: 1.0 })));
    }

    #[test]
    fn what_has_no_icc_is_none() {
        let list = some(&[1.0, 2.0]);
        assert_eq!(icc_2_1(&[], 0.95), None);
        assert_eq!(icc_2_1(&[&list], 0.95), None);
        assert_eq!(icc_2_1(&[&list, &list[..1]], 0.95), None);
        assert_eq!(icc_2_1(&[&list, &[None, Some(1.0)]], 0.95), None);
        assert_eq!(icc_2_1(&[&some(&[2.0, 2.0]), &some(&[2.0, 2.0])], 0.95), None);
        assert_eq!(icc_2_1(&[&list, &some(&[1.0, f64::NAN])], 0.95), None);
        assert_eq!(icc_2_1(&[&list, &list], 1.0), None);
    }

    #[test]
    fn an_icc_far_below_zero_has_a_value_and_no_interval() {
        let raters = [[1.0, 5.0, 5.0], [5.0, 2.0, 1.0], [1.0, 1.0, 1.0]].map(|rater: [f64; 3]| rater.map(Some));
        let icc = icc_2_1(&raters.each_ref().map(|rater| &rater[..]), 0.9).unwrap();
        // mean squares 1/9, 49/9 and 43/9: (1/9 - 43/9) / (1/9 + 86/9 + 6/9) = -42/93
        assert!((icc.value + 42.0 / 93.0).abs() < 1e-12);
        assert_eq!(icc.interval, None, "its ends would be NaN and below the value");
    }

    proptest! {
        #[test]
        fn icc_is_at_most_1_within_its_interval_and_blind_to_order(
            rows in prop::collection::vec(prop::collection::vec(1..6_u8, 3), 3..15), turn in 0..15_usize
        ) {
            let raters = |rows: &[Vec<u8>]| -> Vec<Vec<Option<f64>>> {
                (0..3).map(|rater| rows.iter().map(|row| Some(f64::from(row[rater]))).collect()).collect()
            };
            let of = |ratings: &[Vec<Option<f64>>]| icc_2_1(&ratings.iter().map(Vec::as_slice).collect::<Vec<_>>(), 0.9);
            let mut turned = rows.clone();
            turned.rotate_left(turn % rows.len());
            let mut swapped = raters(&rows);
            swapped.rotate_left(1);
            let icc = of(&raters(&rows));
            for other in [of(&raters(&turned)), of(&swapped)] {
                prop_assert_eq!(icc.is_some(), other.is_some());
                if let (Some(icc), Some(other)) = (icc, other) {
                    prop_assert!((icc.value - other.value).abs() < 1e-9);
                    prop_assert!(icc.value <= 1.0 + 1e-12);
                    prop_assert!(icc.interval.is_none_or(|i| i.low <= i.high + 1e-12 && i.high <= 1.0 + 1e-12));
                }
            }
        }
    }
}
