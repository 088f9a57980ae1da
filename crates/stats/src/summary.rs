//! Mean, standard deviation, quantiles, distinct values; precision and recall.

/// The arithmetic mean; `None` for no values or if a value is not finite.
pub fn mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    mean.is_finite().then_some(mean)
}

/// The sample standard deviation (divided by n - 1); `None` for fewer than two values.
pub fn sd(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// The quantile `p` in 0..=1 of values in ascending order, interpolated linearly between neighbors (type 7 of Hyndman
/// and Fan 1996, NumPy's default); `None` for no values or `p` outside 0..=1.
pub fn quantile(sorted: &[f64], p: f64) -> Option<f64> {
    if !(0.0..=1.0).contains(&p) {
        return None;
    }
    let last = sorted.len().checked_sub(1)?;
    // Linear between neighbors, the default of NumPy and R, so that quantiles can be checked there.
    let position = p * last as f64;
    let below = (position.floor() as usize).min(last);
    let above = (below + 1).min(last);
    let share = position - below as f64;
    Some(sorted[below] + (sorted[above] - sorted[below]) * share)
}

/// Precision, recall and F1, each 0..=1.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Prf {
    /// correct / retrieved; 0 if nothing was retrieved.
    pub precision: f64,
    /// correct / relevant; 0 if nothing is relevant.
    pub recall: f64,
    /// Their [`harmonic_mean`].
    pub f1: f64,
}

impl Prf {
    /// The measures from counts.
    pub fn of(correct: f64, retrieved: f64, relevant: f64) -> Self {
        let precision = ratio(correct, retrieved);
        let recall = ratio(correct, relevant);
        Self {
            precision,
            recall,
            f1: harmonic_mean(precision, recall),
        }
    }

    /// Precision, recall, F1.
    pub fn values(self) -> [f64; 3] {
        [self.precision, self.recall, self.f1]
    }
}

/// `part / whole`; 0 if the whole is 0.
pub fn ratio(part: f64, whole: f64) -> f64 {
    // 0 of 0 counts as 0, the rule of the reference scripts for precision and recall.
    if whole == 0.0 { 0.0 } else { part / whole }
}

/// 2 a b / (a + b); 0 if both are 0.
pub fn harmonic_mean(a: f64, b: f64) -> f64 {
    ratio(2.0 * a * b, a + b)
}

/// The value to 12 decimals, so that sums of the same numbers in another order are equal.
pub fn rounded(value: f64) -> f64 {
    // Twelve decimals: values are means of a few grades, and rounding noise is in the sixteenth.
    (value * 1e12).round() / 1e12
}

/// The distinct values in ascending order.
pub(super) fn distinct(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values.dedup_by(|a, b| a == b);
    values
}

/// Index of `value` among the distinct ones.
pub(super) fn place(distinct: &[f64], value: f64) -> usize {
    distinct.partition_point(|other| *other < value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_nothing_is_none() {
        assert_eq!(mean(&[]), None);
        assert_eq!(mean(&[f64::NAN]), None);
        assert_eq!(mean(&[0.25, 0.75]), Some(0.5));
    }

    #[test]
    fn rounding_makes_equal_sums_equal() {
        assert_eq!(rounded(0.1 + 0.2), 0.3);
        assert_eq!(rounded(0.4 - 0.3), rounded(0.3 - 0.2));
    }

    #[test]
    fn the_standard_deviation_divides_by_n_minus_1() {
        // mean 2; squares 1 + 0 + 1 = 2; 2 / (3 - 1) = 1
        assert_eq!(sd(&[1.0, 2.0, 3.0]), Some(1.0));
        assert_eq!(sd(&[1.0]), None);
    }

    #[test]
    fn a_quantile_lies_between_its_neighbors() {
        // position 0.25 * 3 = 0.75: 0 + 0.75 * (10 - 0) = 7.5
        assert_eq!(quantile(&[0.0, 10.0, 20.0, 30.0], 0.25), Some(7.5));
        assert_eq!(quantile(&[0.0, 10.0], 1.0), Some(10.0));
        assert_eq!(quantile(&[5.0], 0.3), Some(5.0));
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[1.0], 1.5), None);
    }
}
