//! Intervals of the agreement of two raters with two values, from the table of their ratings.
//!
//! Of skewed labels few units disagree or have the rare label, and most coefficients without one unit are equal: the jackknife
//! often has no error, or no coefficient without a unit. The shares of the 4 cells have a Dirichlet posterior instead, with a prior
//! of the weight of one unit in all, 1/4 a cell (W. Perks, "Some observations on inverse probability including a new indifference
//! rule", Journal of the Institute of Actuaries 73, 1947); the interval lies between quantiles of the coefficient over draws
//! from it. Measured coverage stands in `docs/metrics.md`.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::bootstrap::Interval;
use super::summary::quantile;

/// Draws from the posterior.
// The standard error of an end's tail is 0.35% with 2,000, which moves ends by hundredths of the width.
const DRAWS: usize = 2_000;
/// The seed of the draws: the same table always has the same interval.
const SEED: u64 = 1;

/// The equal-tailed interval of `coefficient` of the cells, whose `counts` are given; it includes the observed value.
///
/// `None` for a coefficient that more than a tenth of the draws do not have, and a level outside 0..1.
pub(super) fn posterior_interval(
    counts: &[f64],
    observed: f64,
    coefficient: impl Fn(&[f64]) -> Option<f64>,
    level: f64,
) -> Option<Interval> {
    if !(level > 0.0 && level < 1.0) {
        return None;
    }
    let prior = 1.0 / counts.len() as f64;
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let mut cells = vec![0.0; counts.len()];
    let mut drawn = Vec::with_capacity(DRAWS);
    for _ in 0..DRAWS {
        // Gamma variables divided by their sum are Dirichlet; coefficients of a table do not depend on its sum.
        for (cell, count) in cells.iter_mut().zip(counts) {
            *cell = gamma(count + prior, &mut rng);
        }
        drawn.extend(coefficient(&cells).filter(|value| value.is_finite()));
    }
    if 10 * drawn.len() < 9 * DRAWS {
        return None;
    }
    drawn.sort_unstable_by(f64::total_cmp);
    let tail = (1.0 - level) / 2.0;
    let [low, high] = [quantile(&drawn, tail)?, quantile(&drawn, 1.0 - tail)?];
    // Raters who always agree have 1, and no draw does.
    Some(Interval::new(low.min(observed), high.max(observed)))
}

/// A gamma variable with this shape and scale 1 (G. Marsaglia and W. W. Tsang, "A simple method for generating gamma
/// variables", ACM Transactions on Mathematical Software 26, 2000).
fn gamma(shape: f64, rng: &mut ChaCha8Rng) -> f64 {
    if shape < 1.0 {
        let uniform: f64 = 1.0 - rng.random::<f64>();
        return gamma(shape + 1.0, rng) * uniform.powf(1.0 / shape);
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let z = normal(rng);
        let v = (1.0 + c * z).powi(3);
        let uniform: f64 = 1.0 - rng.random::<f64>();
        if v > 0.0 && uniform.ln() < 0.5 * z * z + d - d * v + d * v.ln() {
            return d * v;
        }
    }
}

/// A standard normal variable (G. E. P. Box and M. E. Muller, Annals of Mathematical Statistics 29, 1958).
fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let radius: f64 = 1.0 - rng.random::<f64>();
    let angle: f64 = rng.random();
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gamma_variables_have_their_mean_and_variance() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        for shape in [0.25, 1.0, 7.5] {
            let values: Vec<f64> = (0..20_000).map(|_| gamma(shape, &mut rng)).collect();
            let mean = values.iter().sum::<f64>() / 20_000.0;
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            // Both are the shape; the standard error of the variance is at most 0.1 here.
            assert!((mean - shape).abs() < 0.08, "{shape}: {mean}");
            assert!((squares / 20_000.0 - shape).abs() < 0.4, "{shape}");
        }
    }

    #[test]
    fn a_share_has_the_quantiles_of_its_beta_distribution() {
        // 8 and 2 with a prior of 1/2 each: Beta(8.5, 2.5), 2.5% and 97.5% quantiles 0.4972 and 0.9559 (SciPy).
        let share = |cells: &[f64]| Some(cells[0] / (cells[0] + cells[1]));
        let interval = posterior_interval(&[8.0, 2.0], 0.8, share, 0.95).unwrap();
        assert!((interval.low - 0.4972).abs() < 0.015, "{interval:?}");
        assert!((interval.high - 0.9559).abs() < 0.008, "{interval:?}");
        assert_eq!(
            posterior_interval(&[8.0, 2.0], 0.8, share, 0.95),
            Some(interval),
            "the draws are the same"
        );
    }

    #[test]
    fn what_most_draws_do_not_have_has_no_interval() {
        let rare = |cells: &[f64]| (cells[0].fract() < 0.5).then_some(cells[0]);
        assert_eq!(posterior_interval(&[8.0, 2.0], 8.0, rare, 0.95), None);
    }
}
