//! Intervals of coefficients of agreement and correlation, from the coefficient without each question.
//!
//! With k clusters and the coefficients c_i without cluster i, the standard error is sqrt((k - 1) / k sum (c_i - mean)^2)
//! (B. Efron and C. Stein, "The jackknife estimate of variance", Annals of Statistics 9, 1981). On the scale of atanh(c)
//! (R. A. Fisher, Metron 1, 1921) it is divided by 1 - c^2. With d = c_i - mean, t has (sum d^2)^2 / sum d^4 - 1 degrees of freedom,
//! and at least one: questions that leave the coefficient as it is say nothing of the variance, which as many questions carry as
//! that quotient says (k of equal weight, as L. Kish counts clusters). Measured coverage stands in `docs/metrics.md`.

use rayon::prelude::*;

use super::bootstrap::{Clusters, Interval};
use super::distributions::t_quantile;
use super::summary::mean;

/// The interval of a coefficient with the maximum 1, such as kappa or tau-b: jackknife over clusters, t on the scale of
/// atanh. `clusters` gives the cluster of each unit; `coefficient` gets the indices of the units that are kept, ascending.
///
/// `None` for a coefficient of 1, or of -1 and less; if leaving out a cluster makes it undefined or no cluster changes it;
/// for fewer than two clusters; and for a level outside 0..1.
///
/// ```
/// use scholareval_stats::coefficient_interval;
///
/// // 8 of 10 agree, 2 disagree: 2 * 0.8 - 1.
/// let agree = [1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0];
/// let coefficient = |kept: &[usize]| Some(2.0 * kept.iter().map(|at| agree[*at]).sum::<f64>() / kept.len() as f64 - 1.0);
/// let interval = coefficient_interval(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], coefficient, 0.95);
/// assert!(interval.is_some_and(|found| -1.0 < found.low && found.low < 0.6 && 0.6 < found.high && found.high < 1.0));
/// ```
pub fn coefficient_interval(
    clusters: &[usize],
    coefficient: impl Fn(&[usize]) -> Option<f64> + Sync,
    level: f64,
) -> Option<Interval> {
    let Clusters { of_unit, sizes } = Clusters::new(clusters);
    let k = sizes.len() as f64;
    if !(level > 0.0 && level < 1.0) {
        return None;
    }
    let observed = coefficient(&(0..of_unit.len()).collect::<Vec<_>>())?;
    let without: Vec<f64> = (0..sizes.len())
        .into_par_iter()
        .map(|cluster| coefficient(&all_but(cluster, &of_unit)))
        // If one question decides whether the coefficient exists, an interval from the others would
        // hide it.
        .collect::<Option<_>>()?;
    let center = mean(&without)?;
    let squares: f64 = without.iter().map(|value| (value - center).powi(2)).sum();
    let fourths: f64 = without.iter().map(|value| (value - center).powi(4)).sum();
    let degrees = (squares * squares / fourths - 1.0).max(1.0);
    let t = t_quantile(f64::midpoint(1.0, level), degrees)?;
    let error = ((k - 1.0) / k * squares).sqrt();
    let slope = 1.0 - observed * observed;
    let center = observed.atanh();
    let half = t * error / slope;
    // At a coefficient of 1 the scale of atanh ends, and an error of 0 means that the questions say
    // nothing about the spread.
    let is_defined = slope > 1e-12 && error > 1e-12 && half.is_finite();
    is_defined.then(|| Interval::new((center - half).tanh(), (center + half).tanh()))
}

/// The units of all other clusters, ascending.
fn all_but(cluster: usize, of_unit: &[usize]) -> Vec<usize> {
    let units = 0..of_unit.len();
    units.filter(|unit| of_unit[*unit] != cluster).collect()
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::Coefficient;

    /// The interval of 2 p - 1, with p the mean of the values.
    fn of(values: &[f64], clusters: &[usize], level: f64) -> Option<Interval> {
        let balance = |kept: &[usize]| {
            Some(2.0 * mean(&kept.iter().map(|at| values[*at]).collect::<Vec<_>>())? - 1.0)
        };
        coefficient_interval(clusters, balance, level)
    }

    #[test]
    fn four_units_by_hand() {
        // 1 1 1 0: 0.5. Without a one 2 * 2/3 - 1 = 1/3, three times; without the zero 1. Mean 1/2, squares 3/36 + 1/4 = 1/3,
        // error sqrt(3/4 * 1/3) = 0.5, on the scale of atanh 0.5 / 0.75 = 2/3. Fourths 3/1296 + 1/16 = 84/1296: (1/9) / (84/1296) - 1
        // = 0.71 degrees of freedom, so one, whose t of 97.5% is 12.706.
        let interval = of(&[1.0, 1.0, 1.0, 0.0], &[0, 1, 2, 3], 0.95).unwrap();
        let half = 12.706_204_736_174_7 * 2.0 / 3.0;
        assert!((interval.low - (0.5_f64.atanh() - half).tanh()).abs() < 1e-12);
        assert!((interval.high - (0.5_f64.atanh() + half).tanh()).abs() < 1e-12);
    }

    #[test]
    fn copies_within_a_cluster_are_no_evidence() {
        let once = [1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0];
        let thrice: Vec<f64> = once.iter().flat_map(|value| [*value; 3]).collect();
        let clusters: Vec<usize> = (0..21).map(|at| at / 3).collect();
        let (single, copied) = (
            of(&once, &[0, 1, 2, 3, 4, 5, 6], 0.9).unwrap(),
            of(&thrice, &clusters, 0.9).unwrap(),
        );
        assert!(
            (single.low - copied.low).abs() < 1e-12 && (single.high - copied.high).abs() < 1e-12
        );
    }

    #[test]
    fn what_has_no_error_has_no_interval() {
        let singles = [0, 1, 2];
        assert_eq!(of(&[1.0; 3], &singles, 0.95), None);
        assert_eq!(of(&[0.0; 3], &singles, 0.95), None);
        assert_eq!(of(&[1.0, 0.0, 1.0], &[4, 4, 4], 0.95), None);
        assert_eq!(of(&[0.5; 3], &singles, 0.95), None);
        assert_eq!(of(&[1.0, 0.0, 1.0], &singles, 1.0), None);
        assert_eq!(of(&[1.0, 0.0, 1.0], &singles, f64::NAN), None);
        // Undefined without the second unit.
        let needs_second = |kept: &[usize]| kept.contains(&1).then_some(0.2);
        assert_eq!(coefficient_interval(&singles, needs_second, 0.95), None);
        assert_eq!(coefficient_interval(&[], |_| Some(0.2), 0.95), None);
    }

    #[test]
    fn of_intervals_of_kappa_at_95_percent_over_10_questions_92_to_98_hold_it() {
        // Fair coins; in 36% of the questions the second rater repeats the first, else throws another coin: kappa 0.36. The
        // five units of a question have this in common.
        let mut rng = ChaCha8Rng::seed_from_u64(14);
        let clusters: Vec<usize> = (0..50).map(|unit| unit / 5).collect();
        let mut held = 0;
        for _ in 0..600 {
            let (mut x, mut y) = (Vec::new(), Vec::new());
            for _ in 0..10 {
                let is_clear = rng.random::<f64>() < 0.36;
                for _ in 0..5 {
                    let (first, second): (bool, bool) = (rng.random(), rng.random());
                    x.push(Some(f64::from(u8::from(first))));
                    y.push(Some(f64::from(u8::from(if is_clear {
                        first
                    } else {
                        second
                    }))));
                }
            }
            let interval = Coefficient::Kappa.interval(&[&x, &y], &clusters, 0.95);
            held += u32::from(
                interval.is_some_and(|interval| interval.low <= 0.36 && 0.36 <= interval.high),
            );
        }
        // 570 expected, with a standard error of 5.
        assert!((552..=588).contains(&held), "{held} of 600");
    }
}
