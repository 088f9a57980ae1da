//! Looks at a study before its end: critical values that keep the level over all of them.
//!
//! K. K. G. Lan and D. L. DeMets (Biometrika 70, 1983): after the share t of the information a two-sided test may have spent
//! 4 (1 - Phi(z(1 - alpha / 4) / sqrt t)) of its level, almost nothing early (the shape of P. C. O'Brien and T. R. Fleming). The
//! critical value of each look spends what is new, given that no look before it decided.

use statrs::distribution::{ContinuousCDF, Normal};

use super::distributions::normal_quantile;

/// Points of the grid over which the statistic's density is integrated (Simpson's rule): critical values to 1e-8.
const POINTS: usize = 201;
/// No critical value lies beyond it: two-sided probability 1e-18.
const FARTHEST: f64 = 9.0;

/// The critical values of a two-sided test at level `alpha`, one for each look; `fractions` are the shares of the information at the
/// looks, ascending, the last one 1.
///
/// `None` for no looks, fractions that do not ascend or do not lie in 0..=1, and an alpha outside 0..1.
///
/// ```
/// use scholareval::stats::critical_values;
///
/// // The published values for five equal steps: 4.877, 3.357, 2.680, 2.290, 2.031.
/// let values = critical_values(&[0.2, 0.4, 0.6, 0.8, 1.0], 0.05).expect("five looks");
/// assert!((values[0] - 4.877).abs() < 0.001 && (values[4] - 2.031).abs() < 0.001);
/// ```
pub fn critical_values(fractions: &[f64], alpha: f64) -> Option<Vec<f64>> {
    let ascends = fractions.windows(2).all(|pair| pair[0] < pair[1]);
    let is_within = fractions.first()? > &0.0 && fractions.last()? <= &1.0;
    let is_level = alpha > 0.0 && alpha < 1.0;
    if !ascends || !is_within || !is_level {
        return None;
    }
    let z = normal_quantile(1.0 - alpha / 4.0)?;
    let normal = Normal::standard();
    let mut density = Density::start();
    let mut spent = 0.0;
    let mut values = Vec::new();
    for fraction in fractions {
        let allowed = 4.0 * normal.sf(z / fraction.sqrt());
        let critical = density.critical(*fraction, allowed - spent);
        density = density.after(*fraction, critical);
        spent = allowed;
        values.push(critical);
    }
    Some(values)
}

/// The density of the score S = Z sqrt t at a look, where no look has decided: a grid of points with their weights.
struct Density {
    fraction: f64,
    /// The score and the probability that it stands for.
    points: Vec<(f64, f64)>,
}

impl Density {
    /// Before the first look the score is 0.
    fn start() -> Self {
        Self {
            fraction: 0.0,
            points: vec![(0.0, 1.0)],
        }
    }

    /// The probability that |Z| reaches `critical` at a later look.
    fn beyond(&self, fraction: f64, critical: f64) -> f64 {
        let normal = Normal::standard();
        let step = (fraction - self.fraction).sqrt();
        let end = critical * fraction.sqrt();
        let mut sum = 0.0;
        for (score, probability) in &self.points {
            let above = normal.sf((end - score) / step);
            let below = normal.cdf((-end - score) / step);
            sum += probability * (above + below);
        }
        sum
    }

    /// The critical value that this much probability lies beyond.
    fn critical(&self, fraction: f64, probability: f64) -> f64 {
        let mut low = 0.0;
        let mut high = FARTHEST;
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if self.beyond(fraction, middle) > probability {
                low = middle;
            } else {
                high = middle;
            }
        }
        f64::midpoint(low, high)
    }

    /// The density at a look that did not decide.
    fn after(&self, fraction: f64, critical: f64) -> Self {
        let step = (fraction - self.fraction).sqrt();
        let end = critical * fraction.sqrt();
        let width = 2.0 * end / (POINTS - 1) as f64;
        let mut points = Vec::with_capacity(POINTS);
        for at in 0..POINTS {
            let score = at as f64 * width - end;
            let mut density = 0.0;
            for (before, probability) in &self.points {
                let z = (score - before) / step;
                density += probability * (-z * z / 2.0).exp();
            }
            density /= step * std::f64::consts::TAU.sqrt();
            points.push((score, density * simpson(at) * width / 3.0));
        }
        Self { fraction, points }
    }
}

/// The weight of a point in Simpson's rule.
fn simpson(at: usize) -> f64 {
    if at == 0 || at == POINTS - 1 {
        1.0
    } else if at % 2 == 1 {
        4.0
    } else {
        2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_look_has_the_usual_critical_value() {
        let values = critical_values(&[1.0], 0.05).unwrap();
        assert!((values[0] - 1.959_964).abs() < 1e-5, "{values:?}");
    }

    #[test]
    fn looks_that_do_not_ascend_to_the_end_have_no_critical_values() {
        assert_eq!(critical_values(&[], 0.05), None);
        assert_eq!(critical_values(&[0.5, 0.5], 0.05), None);
        assert_eq!(critical_values(&[0.5, 1.5], 0.05), None);
        assert_eq!(critical_values(&[1.0], 0.0), None);
    }
}
