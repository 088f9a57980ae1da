//! Agreement of two lists of numbers.

use super::kendall::RankedPairs;
use super::summary::mean;

/// Kendall's tau-b (ties corrected; Kendall 1945): (concordant - discordant) pairs over the geometric mean of the
/// pairs untied in x and untied in y. `None` for unequal lengths, fewer than two pairs, a list whose values are all
/// equal, or values that are not finite. Takes n log n steps.
pub fn kendall_tau_b(x: &[f64], y: &[f64]) -> Option<f64> {
    if !comparable(x, y) {
        return None;
    }
    RankedPairs::new(x, y).tau_b(&vec![1; x.len()])
}

/// Pearson's product-moment correlation. `None` where [`kendall_tau_b`] is.
pub fn pearson(x: &[f64], y: &[f64]) -> Option<f64> {
    if !comparable(x, y) || constant(x) || constant(y) {
        return None;
    }
    let (dx, dy) = (centred(x)?, centred(y)?);
    let (norm_x, norm_y) = (norm(&dx), norm(&dy));
    let r: f64 = dx.iter().zip(&dy).map(|(a, b)| (a / norm_x) * (b / norm_y)).sum();
    r.is_finite().then(|| r.clamp(-1.0, 1.0))
}

/// Spearman's rank correlation: Pearson's of the ranks, ties sharing their mean rank. `None` where
/// [`kendall_tau_b`] is.
pub fn spearman(x: &[f64], y: &[f64]) -> Option<f64> {
    if !comparable(x, y) {
        return None;
    }
    pearson(&ranks(x), &ranks(y))
}

/// The intraclass correlation as the reference script of ScholarQABench computes it (`calculate_icc`): deviations
/// from the grand mean g of both lists, n the number of pairs, s2 = sum of squared deviations of both / (2n - 1),
/// result = sum((x - g)(y - g)) / ((n - 1) s2). It may exceed 1 (identical lists 1, 2, 3 give 1.25), so it is for
/// comparison with published numbers only. `None` for fewer than two pairs or no variance.
pub fn intraclass_correlation(x: &[f64], y: &[f64]) -> Option<f64> {
    let pairs = x.len().min(y.len());
    let both: Vec<f64> = x.iter().chain(y).copied().collect();
    let grand = mean(&both)?;
    if pairs < 2 || constant(&both) {
        return None;
    }
    let squares: f64 = both.iter().map(|value| (value - grand).powi(2)).sum();
    let variance = squares / (2 * pairs - 1) as f64;
    let shared: f64 = x.iter().zip(y).map(|(a, b)| (a - grand) * (b - grand)).sum();
    Some(shared / ((pairs - 1) as f64 * variance))
}

fn comparable(x: &[f64], y: &[f64]) -> bool {
    x.len() == y.len() && x.len() >= 2 && x.iter().chain(y).all(|value| value.is_finite())
}

/// Compared value by value: a mean of equal numbers may differ from them in the last digit.
fn constant(values: &[f64]) -> bool {
    values.windows(2).all(|pair| pair[0] == pair[1])
}

fn centred(values: &[f64]) -> Option<Vec<f64>> {
    let mean = mean(values)?;
    Some(values.iter().map(|value| value - mean).collect())
}

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>().sqrt()
}

/// Ranks from 1, ties sharing their mean rank.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut by_value: Vec<usize> = (0..values.len()).collect();
    by_value.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut done = 0;
    for tied in by_value.chunk_by(|a, b| values[*a] == values[*b]) {
        // ranks done + 1 ..= done + k have the mean done + (k + 1) / 2
        let shared = done as f64 + (tied.len() + 1) as f64 / 2.0;
        for index in tied {
            ranks[*index] = shared;
        }
        done += tied.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn correlations_are_those_of_scipy() {
        let golden: Value = serde_json::from_str(include_str!("../../tests/fixtures/stats/golden.json")).unwrap();
        let cases = golden["correlation"].as_array().unwrap();
        assert!(cases.len() >= 10);
        for case in cases {
            let list =
                |key: &str| -> Vec<f64> { case[key].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect() };
            let (x, y) = (list("x"), list("y"));
            for (name, ours) in
                [("kendall", kendall_tau_b(&x, &y)), ("pearson", pearson(&x, &y)), ("spearman", spearman(&x, &y))]
            {
                match (case[name].as_f64(), ours) {
                    (Some(expected), Some(ours)) => {
                        assert!((expected - ours).abs() < 1e-12, "{}: {name} {ours}", case["name"]);
                    }
                    (expected, ours) => assert_eq!(expected, ours, "{}: {name}", case["name"]),
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_correlated_is_none() {
        assert_eq!(kendall_tau_b(&[1.0], &[1.0]), None);
        assert_eq!(pearson(&[1.0, 2.0], &[1.0]), None);
        assert_eq!(spearman(&[1.0, f64::NAN], &[1.0, 2.0]), None);
        assert_eq!(pearson(&[0.1, 0.1, 0.1], &[1.0, 2.0, 3.0]), None);
    }

    #[test]
    fn tied_values_share_their_mean_rank() {
        assert_eq!(ranks(&[0.3, 0.1, 0.3, 0.9]), [2.5, 1.0, 2.5, 4.0]);
    }

    #[test]
    fn the_reference_intraclass_correlation_of_identical_lists_exceeds_1() {
        // g = 2; squares 2 + 2 = 4; s2 = 4 / 5; shared 2; 2 / (2 * 0.8) = 1.25
        assert_eq!(intraclass_correlation(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]), Some(1.25));
        assert_eq!(intraclass_correlation(&[], &[]), None);
        assert_eq!(intraclass_correlation(&[1.0, 2.0], &[1.0]), None);
    }

    proptest! {
        #[test]
        fn a_correlation_is_symmetric_bounded_and_blind_to_order(
            pairs in prop::collection::vec((0..5_u8, 0..5_u8), 2..15), turn in 0..15_usize
        ) {
            let split = |pairs: &[(u8, u8)]| -> (Vec<f64>, Vec<f64>) {
                pairs.iter().map(|(a, b)| (f64::from(*a), f64::from(*b))).unzip()
            };
            let (x, y) = split(&pairs);
            let mut turned = pairs.clone();
            turned.rotate_left(turn % pairs.len());
            let (tx, ty) = split(&turned);
            for f in [kendall_tau_b, pearson, spearman] {
                let (r, swapped, moved) = (f(&x, &y), f(&y, &x), f(&tx, &ty));
                prop_assert_eq!(r.is_some(), swapped.is_some());
                prop_assert_eq!(r.is_some(), moved.is_some());
                if let (Some(r), Some(swapped), Some(moved)) = (r, swapped, moved) {
                    prop_assert!((-1.0..=1.0).contains(&r));
                    prop_assert!((r - swapped).abs() < 1e-12 && (r - moved).abs() < 1e-12);
                }
            }
        }
    }
}
