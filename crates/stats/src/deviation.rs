//! The standard deviation of a few values with its interval.
//!
//! For n normal values, (n - 1) s^2 / sigma^2 has the chi-square distribution with n - 1 degrees of freedom, so that sigma is
//! between s sqrt((n - 1) / q(1 - a/2)) and s sqrt((n - 1) / q(a/2)) with probability 1 - a (Snedecor and Cochran,
//! Statistical Methods, 8th ed., 5.11).

use serde::Serialize;
use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::{Interval, sd};

/// A standard deviation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Deviation {
    /// The estimate, with n - 1 in the denominator.
    pub sd: f64,
    /// Its interval.
    pub interval: Interval,
}

impl Deviation {
    /// The deviation of these values with its interval of this level; `None` for fewer than three values, whose interval
    /// would say nothing.
    pub fn of(values: &[f64], level: f64) -> Option<Self> {
        if values.len() < 3 {
            return None;
        }
        let df = values.len() as f64 - 1.0;
        let squares = ChiSquared::new(df).ok()?;
        let sd = sd(values)?;
        let tail = (1.0 - level) / 2.0;
        let interval = Interval::new(
            sd * (df / squares.inverse_cdf(1.0 - tail)).sqrt(),
            sd * (df / squares.inverse_cdf(tail)).sqrt(),
        );
        Some(Self { sd, interval })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_tables() {
        // those of 26 degrees of freedom to three digits
        for (p, df, quantile) in [
            (0.025, 2.0, 0.050_635_615_968_579_75),
            (0.975, 2.0, 7.377_758_908_227_871),
            (0.025, 26.0, 13.844),
            (0.975, 26.0, 41.923),
            // exactly -2 ln(1 - p) with two degrees of freedom
            (0.5, 2.0, 2.0 * std::f64::consts::LN_2),
        ] {
            let ours = ChiSquared::new(df).unwrap().inverse_cdf(p);
            assert!((ours / quantile - 1.0).abs() < 1e-4, "{p} {df}: {ours}");
        }
    }

    #[test]
    fn three_values_have_a_wide_interval_and_two_none() {
        // 1, 2, 3: s = 1; sqrt(2 / 7.3778) = 0.5207 and sqrt(2 / 0.050636) = 6.2847
        let deviation = Deviation::of(&[1.0, 2.0, 3.0], 0.95).unwrap();
        assert!((deviation.sd - 1.0).abs() < 1e-12);
        assert!((deviation.interval.low - 0.520_7).abs() < 1e-4);
        assert!((deviation.interval.high - 6.284_7).abs() < 1e-4);
        assert_eq!(Deviation::of(&[1.0, 2.0], 0.95), None);
        let equal = Deviation::of(&[0.5; 4], 0.95).unwrap();
        assert_eq!((equal.sd, equal.interval.high), (0.0, 0.0));
    }
}
