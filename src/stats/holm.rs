//! Holm's correction of p values for many tests.

/// Corrects p values for multiple tests (S. Holm, "A simple sequentially rejective multiple test procedure",
/// Scandinavian Journal of Statistics 6, 1979): the i-th smallest of m times (m - i + 1), at most 1, and never below
/// that of a smaller p. Rejecting at alpha keeps the family-wise error rate at alpha under any dependence.
///
/// In the given order; `None` if a p is not within 0..=1.
///
/// ```
/// use scholareval::stats::holm;
///
/// // 0.01 * 3; 0.03 * 2; 0.04 * 1 is less than 0.06 and takes that.
/// assert_eq!(holm(&[0.04, 0.01, 0.03]), Some(vec![0.06, 0.03, 0.06]));
/// ```
pub fn holm(p_values: &[f64]) -> Option<Vec<f64>> {
    if p_values.iter().any(|p| !(0.0..=1.0).contains(p)) {
        return None;
    }
    let mut by_size: Vec<usize> = (0..p_values.len()).collect();
    by_size.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut highest = 0.0_f64;
    for (smaller, index) in by_size.into_iter().enumerate() {
        highest = highest.max((p_values.len() - smaller) as f64 * p_values[index]).min(1.0);
        adjusted[index] = highest;
    }
    Some(adjusted)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_no_p_has_no_correction() {
        assert_eq!(holm(&[]), Some(vec![]));
        assert_eq!(holm(&[0.5, f64::NAN]), None);
        assert_eq!(holm(&[1.5]), None);
        assert_eq!(holm(&[0.7, 0.6]), Some(vec![1.0, 1.0]));
    }

    proptest! {
        #[test]
        fn a_corrected_p_is_no_smaller_keeps_the_order_and_stays_within_bonferronis(
            p_values in prop::collection::vec(0.0..=1.0_f64, 1..20)
        ) {
            let adjusted = holm(&p_values).unwrap();
            for (p, own) in p_values.iter().zip(&adjusted) {
                prop_assert!(p <= own && *own <= (p * p_values.len() as f64).min(1.0));
                for (q, other) in p_values.iter().zip(&adjusted) {
                    prop_assert!(p > q || own <= other);
                }
            }
        }
    }
}
