//! Power of the paired t test: detectable differences and required numbers of cases.
//!
//! J. Cohen, "Statistical power analysis for the behavioral sciences" (1988), chapter 2. With sd the standard deviation of
//! the differences over cases, the test statistic of a true difference d is noncentral t with n - 1 degrees of freedom and
//! delta = d sqrt(n) / sd. These are the exact numbers of the t test, not the usual normal approximation
//! (z_{1 - alpha/2} + z_{power}) sd / sqrt(n), which is too small for few cases.

use super::distributions::{noncentral_t_cdf, normal_cdf, normal_quantile, t_quantile};

/// Requirements of a two-sided test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PowerTarget {
    /// Probability of a false positive, 0 < alpha < 1.
    pub alpha: f64,
    /// Probability of detecting a true difference, alpha < power < 1.
    pub power: f64,
}

impl Default for PowerTarget {
    /// Alpha 0.05, power 0.8.
    fn default() -> Self {
        Self { alpha: 0.05, power: 0.8 }
    }
}

impl PowerTarget {
    fn z(self) -> Option<f64> {
        Some(normal_quantile(1.0 - self.alpha / 2.0)? + normal_quantile(self.power)?)
    }

    fn is_usable(self) -> bool {
        self.alpha > 0.0 && self.alpha < self.power && self.power < 1.0
    }
}

/// From here on the t distribution equals the normal one to 1e-5.
const MANY_DF: f64 = 20_000.0;

/// Power of the two-sided paired t test for a true difference of `effect` standard deviations of the differences
/// (Cohen's d_z) over `n` cases. `None` for fewer than two cases, an effect that is not finite and an alpha outside
/// 0..1.
pub fn paired_t_power(effect: f64, n: usize, alpha: f64) -> Option<f64> {
    if n < 2 || !effect.is_finite() || !(alpha > 0.0 && alpha < 1.0) {
        return None;
    }
    let (df, delta) = ((n - 1) as f64, effect.abs() * (n as f64).sqrt());
    if df > MANY_DF {
        let critical = normal_quantile(1.0 - alpha / 2.0)?;
        return Some(normal_cdf(delta - critical) + normal_cdf(-delta - critical));
    }
    let critical = t_quantile(1.0 - alpha / 2.0, df)?;
    // Above 37 the Poisson weights underflow; except with very few degrees of freedom, power is 1 long before.
    let delta = delta.min(37.0);
    Some(2.0 - noncentral_t_cdf(critical, df, delta)? - noncentral_t_cdf(critical, df, -delta)?)
}

/// The smallest true difference that the paired t test over `n` cases detects with the target's power, in the units of
/// `sd`, the standard deviation of the differences. `None` for fewer than two cases, an sd below 0 or not finite, an
/// unusable target, and one that no difference below 37 standard errors meets (such as two cases at alpha 0.01).
///
/// ```
/// use scholareval::stats::{PowerTarget, detectable_difference};
///
/// let found = detectable_difference(0.3, 100, PowerTarget::default());
/// assert!(found.is_some_and(|d| (d - 0.0849).abs() < 1e-4));
/// ```
pub fn detectable_difference(sd: f64, n: usize, target: PowerTarget) -> Option<f64> {
    if !(target.is_usable() && sd >= 0.0 && sd.is_finite()) {
        return None;
    }
    // In standard errors of the mean difference.
    let root = (n as f64).sqrt();
    let is_enough = |errors: f64| paired_t_power(errors / root, n, target.alpha).map(|power| power >= target.power);
    // Start near the normal approximation: far away each step would sum hundreds of terms.
    let (mut low, mut high) = (0.0, target.z()?);
    while !is_enough(high)? {
        if high >= 37.0 {
            return None;
        }
        (low, high) = (high, (2.0 * high).min(37.0));
    }
    while high - low > 1e-12 * high {
        let middle = f64::midpoint(low, high);
        if is_enough(middle)? { high = middle } else { low = middle }
    }
    Some(high / root * sd)
}

/// The fewest cases over which the paired t test detects a true `difference` with the target's power; at least 2. `sd` is
/// the standard deviation of the differences over cases. `None` for a difference of 0, an sd below 0, an unusable target,
/// and if more than 10^12 cases would be needed.
pub fn cases_needed(difference: f64, sd: f64, target: PowerTarget) -> Option<usize> {
    let usable = difference != 0.0 && difference.is_finite() && sd >= 0.0 && sd.is_finite();
    if !(usable && target.is_usable()) {
        return None;
    }
    if sd == 0.0 {
        return Some(2);
    }
    let effect = difference.abs() / sd;
    let by_normal = (target.z()? / effect).powi(2);
    if by_normal > 1e12 {
        return None;
    }
    // The normal approximation is too low by about z^2 / 2 = 2 at alpha 0.05, so few steps remain.
    let mut n = (by_normal.floor() as usize).max(2);
    while paired_t_power(effect, n, target.alpha)? < target.power {
        n += 1;
    }
    Some(n)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn without_a_difference_power_is_alpha() {
        for n in [2, 10, 500, 50_000] {
            assert!((paired_t_power(0.0, n, 0.05).unwrap() - 0.05).abs() < 1e-10, "{n}");
        }
        assert!((paired_t_power(5.0, 1_000, 0.05).unwrap() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_cases_needed_are_the_fewest_that_suffice() {
        let target = PowerTarget::default();
        for difference in [0.05, -0.1, 0.3, 1.5] {
            let n = cases_needed(difference, 0.3, target).unwrap();
            assert!(detectable_difference(0.3, n, target).unwrap() <= difference.abs());
            assert!(n == 2 || detectable_difference(0.3, n - 1, target).unwrap() > difference.abs());
        }
    }

    #[test]
    fn what_cannot_be_asked_is_none() {
        let target = PowerTarget::default();
        assert_eq!(paired_t_power(0.5, 1, 0.05), None);
        assert_eq!(paired_t_power(0.5, 10, 1.0), None);
        assert_eq!(detectable_difference(0.3, 1, target), None);
        // Two cases: the critical value is 63.7, beyond the searched 37 standard errors.
        assert_eq!(detectable_difference(0.3, 2, PowerTarget { alpha: 0.01, ..target }), None);
        assert_eq!(detectable_difference(-0.3, 10, target), None);
        assert_eq!(detectable_difference(0.3, 10, PowerTarget { power: 0.01, ..target }), None);
        assert_eq!(cases_needed(0.0, 0.3, target), None);
        assert_eq!(cases_needed(1e-9, 0.3, target), None);
        assert_eq!(cases_needed(0.1, 0.0, target), Some(2));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn power_grows_with_the_effect_and_with_the_cases(effect in 0.0..2.0_f64, n in 2..200_usize) {
            let power = |effect, n| paired_t_power(effect, n, 0.05).unwrap();
            prop_assert!((0.05 - 1e-9..=1.0).contains(&power(effect, n)));
            prop_assert!(power(effect + 0.1, n) >= power(effect, n) - 1e-9);
            prop_assert!(power(effect, n + 1) >= power(effect, n) - 1e-9);
        }
    }
}
