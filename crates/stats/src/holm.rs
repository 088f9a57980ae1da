//! Adjustment of p values for their number.

/// These p values adjusted for each other, in their order: the i-th smallest of m times m - i + 1, at most 1 and at least as large as
/// the adjusted one before it (S. Holm, Scandinavian Journal of Statistics 6, 1979). Those below alpha are all right with probability
/// 1 - alpha or more, however the tests depend on each other.
///
/// ```
/// use scholareval_stats::holm_adjusted;
///
/// // 3 * 0.01, then 2 * 0.02 and 1 * 0.03, which is not less than the one before it.
/// assert_eq!(holm_adjusted(&[0.03, 0.01, 0.02]), [0.04, 0.03, 0.04]);
/// ```
pub fn holm_adjusted(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut adjusted = vec![0.0; p.len()];
    let mut largest: f64 = 0.0;
    for (before, at) in order.into_iter().enumerate() {
        let left = (p.len() - before) as f64;
        largest = largest.max((left * p[at]).min(1.0));
        adjusted[at] = largest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_adjusted_p_is_at_most_1_and_a_single_one_stays() {
        // 2 * 0.6 is more than 1, and the other is not less.
        assert_eq!(holm_adjusted(&[0.9, 0.6]), [1.0, 1.0]);
        assert_eq!(holm_adjusted(&[0.04]), [0.04]);
        assert!(holm_adjusted(&[]).is_empty());
    }

    #[test]
    fn equal_p_values_have_the_same_adjusted_one() {
        // The first of the two is 3 * 0.01, the second no less; then 1 * 0.5.
        assert_eq!(holm_adjusted(&[0.01, 0.5, 0.01]), [0.03, 0.5, 0.03]);
    }
}
