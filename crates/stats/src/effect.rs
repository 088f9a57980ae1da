//! Effect sizes of paired comparisons.

use super::summary::{distinct, mean, sd};

/// Tolerance of equality.
const SAME: f64 = 1e-9;

/// Cohen's d of paired differences, d_z = mean / sd (J. Cohen, "Statistical power analysis for the behavioral
/// sciences", 1988, section 2.3.5). `None` for fewer than two differences and if all are equal within 1e-9, since their
/// spread is rounding then.
pub fn cohens_dz(differences: &[f64]) -> Option<f64> {
    let first = differences.first()?;
    if differences
        .iter()
        .all(|value| (value - first).abs() <= SAME)
    {
        return None;
    }
    let d = mean(differences)? / sd(differences)?;
    d.is_finite().then_some(d)
}

/// Cliff's delta, -1..=1: the probability that a value of `x` exceeds one of `y`, minus the reverse, over all
/// combinations (N. Cliff, "Dominance statistics: ordinal analyses to answer ordinal questions", Psychological Bulletin
/// 114, 1993). Ignores pairing. Values within 1e-9 are equal, as for wins and ties. `None` for an empty list and for
/// values that are not finite.
pub fn cliffs_delta(x: &[f64], y: &[f64]) -> Option<f64> {
    if x.is_empty() || y.is_empty() || x.iter().chain(y).any(|value| !value.is_finite()) {
        return None;
    }
    let mut values = distinct(x.iter().chain(y).copied());
    values.dedup_by(|value, kept| *value - *kept <= SAME);
    let mut counts = vec![(0_u64, 0_u64); values.len()];
    for value in x {
        counts[kept_place(&values, *value)].0 += 1;
    }
    for value in y {
        counts[kept_place(&values, *value)].1 += 1;
    }
    // Counted along the sorted values, as the pairs of two lists of 10,000 are 100 million.
    let mut below_x = 0;
    let mut below_y = 0;
    let mut balance = 0.0;
    for (here_x, here_y) in counts {
        balance += here_x as f64 * below_y as f64 - here_y as f64 * below_x as f64;
        below_x += here_x;
        below_y += here_y;
    }
    Some(balance / (x.len() as f64 * y.len() as f64))
}

/// The place of a value among those kept: it was kept itself or is equal to the last one kept before it.
fn kept_place(kept: &[f64], value: f64) -> usize {
    let not_above = kept.partition_point(|kept| *kept <= value);
    not_above.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn effects_by_hand() {
        // mean 2, sd 1
        assert_eq!(cohens_dz(&[1.0, 2.0, 3.0]), Some(2.0));
        // 1 beats neither, 3 beats 2 and ties 3: (1 won - 2 lost) / 4
        assert_eq!(cliffs_delta(&[1.0, 3.0], &[2.0, 3.0]), Some(-0.25));
    }

    #[test]
    fn values_equal_but_for_rounding_tie() {
        // 0.1 + 0.2 is 0.30000000000000004: of four combinations two are won (against 0.1), two tie.
        assert_eq!(cliffs_delta(&[0.1 + 0.2, 0.3], &[0.3, 0.1]), Some(0.5));
        assert_eq!(cliffs_delta(&[0.3], &[0.1 + 0.2]), Some(0.0));
    }

    #[test]
    fn a_spread_that_is_rounding_is_no_unit_of_a_difference() {
        // 0.3 - 0.2 is 0.09999999999999998: the sd of the two would be 1e-17, d_z near 1e16.
        assert_eq!(cohens_dz(&[0.1, 0.3 - 0.2]), None);
        assert_eq!(cohens_dz(&[0.0, 1e-17, 0.0]), None);
    }

    #[test]
    fn what_has_no_effect_size_is_none() {
        assert_eq!(cohens_dz(&[]), None);
        assert_eq!(cohens_dz(&[0.1; 3]), None);
        assert_eq!(cliffs_delta(&[], &[1.0]), None);
        assert_eq!(cliffs_delta(&[f64::NAN], &[1.0]), None);
    }

    proptest! {
        #[test]
        fn cliffs_delta_is_that_of_all_combinations_and_turns_with_its_sides(
            x in prop::collection::vec(0..6_u8, 1..15), y in prop::collection::vec(0..6_u8, 1..15)
        ) {
            let balance: i32 = x.iter().flat_map(|a| y.iter().map(move |b| i32::from(a > b) - i32::from(a < b))).sum();
            let expected = f64::from(balance) / (x.len() * y.len()) as f64;
            let (x, y): (Vec<f64>, Vec<f64>) = (x.into_iter().map(f64::from).collect(), y.into_iter().map(f64::from).collect());
            prop_assert!((cliffs_delta(&x, &y).unwrap() - expected).abs() < 1e-12);
            prop_assert!((cliffs_delta(&y, &x).unwrap() + expected).abs() < 1e-12);
        }
    }
}
