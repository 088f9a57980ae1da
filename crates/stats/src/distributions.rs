//! Quantiles of the normal, t and F distributions.
//!
//! `statrs` provides the distribution functions; its quantiles of t and F are accurate only to about 1e-8, so they are
//! computed here.

use statrs::distribution::{ContinuousCDF, Normal};
use statrs::function::beta::checked_beta_reg;

/// The standard normal quantile, 0 < p < 1.
pub fn normal_quantile(p: f64) -> Option<f64> {
    (p > 0.0 && p < 1.0).then(|| Normal::standard().inverse_cdf(p))
}

/// Student's t quantile, 0 < p < 1, df > 0.
pub fn t_quantile(p: f64, df: f64) -> Option<f64> {
    if df.is_nan() || df <= 0.0 || !(p > 0.0 && p < 1.0) {
        return None;
    }
    if p == 0.5 {
        return Some(0.0);
    }
    // By symmetry: the equation below is that of the upper tail.
    if p < 0.5 {
        return t_quantile(1.0 - p, df).map(|t| -t);
    }
    // The beta function converges slowly for parameters in the thousands, where the expansion is
    // exact enough.
    if df > 2_000.0 {
        return Some(t_quantile_of_many(normal_quantile(p)?, df));
    }
    // P(T > t) = I_w(df / 2, 1 / 2) / 2 with w = df / (df + t^2)
    let w = beta_quantile(2.0 * (1.0 - p), df / 2.0, 0.5)?;
    Some((df * (1.0 - w) / w).sqrt())
}

/// The probability that |T| reaches `t`, T with `df` > 0 degrees of freedom.
pub(super) fn t_two_sided(t: f64, df: f64) -> f64 {
    // P(|T| > t) = I_w(df / 2, 1 / 2) with w = df / (df + t^2)
    checked_beta_reg(df / 2.0, 0.5, df / (df + t * t)).unwrap_or(1.0)
}

/// Expansion of the t quantile around the normal one (Abramowitz and Stegun 26.7.5): error below 1e-10 from 2,000
/// degrees of freedom.
fn t_quantile_of_many(z: f64, df: f64) -> f64 {
    let terms = [
        z,
        (z.powi(3) + z) / 4.0,
        (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0,
        (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0,
    ];
    terms.iter().rev().fold(0.0, |sum, term| sum / df + term)
}

/// Solves I_x(a, b) = p by bisection down to adjacent floats.
fn beta_quantile(p: f64, a: f64, b: f64) -> Option<f64> {
    if !(p > 0.0 && p < 1.0) {
        return None;
    }
    let mut low = 0.0;
    let mut high = 1.0;
    // 1,100 halvings reach the smallest number; all but extreme quantiles stop after about 60.
    for _ in 0..1_100 {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        if checked_beta_reg(a, b, middle).ok()? < p {
            low = middle
        } else {
            high = middle
        }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn golden(section: &str) -> Vec<Value> {
        let all: Value = serde_json::from_str(include_str!("../tests/golden/golden.json")).unwrap();
        all[section].as_array().unwrap().clone()
    }

    #[track_caller]
    fn assert_close(ours: Option<f64>, theirs: f64, what: &Value) {
        let ours = ours.unwrap();
        assert!(
            (ours - theirs).abs() <= 1e-10 * theirs.abs().max(1.0),
            "{what}: {ours}"
        );
    }

    #[test]
    fn quantiles_are_scipys() {
        for row in golden("t_quantile") {
            let [df, p, t] = ["df", "p", "t"].map(|key| row[key].as_f64().unwrap());
            assert_close(t_quantile(p, df), t, &row);
            assert_close(t_quantile(1.0 - p, df), -t, &row);
        }
    }

    #[test]
    fn t_with_one_degree_of_freedom_is_a_tangent() {
        // Cauchy: quantile(p) = tan(pi (p - 1/2)); at 0.75 that is 1.
        assert!((t_quantile(0.75, 1.0).unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(t_quantile(0.5, 7.0), Some(0.0));
    }

    #[test]
    fn the_two_sided_tail_inverts_the_quantile() {
        for df in [1.0, 4.0, 19.0, 500.0] {
            let t = t_quantile(0.975, df).unwrap();
            assert!((t_two_sided(t, df) - 0.05).abs() < 1e-9, "{df}");
        }
        assert_eq!(t_two_sided(0.0, 3.0), 1.0);
    }

    #[test]
    fn what_has_no_quantile_is_none() {
        assert_eq!(normal_quantile(0.0), None);
        assert_eq!(t_quantile(1.0, 3.0), None);
        assert_eq!(t_quantile(0.9, 0.0), None);
        assert_eq!(t_quantile(0.9, f64::NAN), None);
    }
}
