//! Samples with known, unequal probabilities.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The probabilities of a sample of `n` units: half of it is spread evenly, half in proportion to `sizes` (0 or more). None is
/// above 1 or below n / (2 units); they sum to n.
///
/// ```
/// use scholareval_stats::inclusion_probabilities;
///
/// // Half of 1 is spread evenly over three units, the other half goes to 0, 1/4 and 3/4.
/// let found = inclusion_probabilities(&[0.0, 1.0, 3.0], 1);
/// assert!((found[0] - 1.0 / 6.0).abs() < 1e-12 && (found[2] - (1.0 / 6.0 + 3.0 / 8.0)).abs() < 1e-12);
/// ```
pub fn inclusion_probabilities(sizes: &[f64], n: usize) -> Vec<f64> {
    weighted_inclusion_probabilities(&vec![1.0; sizes.len()], sizes, n)
}

/// As [`inclusion_probabilities`], but with the first half in proportion to `weights` (above 0).
///
/// ```
/// use scholareval_stats::weighted_inclusion_probabilities;
///
/// // Half of 1 goes to 1/4 and 3/4, the other half to 2/3 and 1/3.
/// let found = weighted_inclusion_probabilities(&[1.0, 3.0], &[2.0, 1.0], 1);
/// assert!((found[0] - (1.0 / 8.0 + 1.0 / 3.0)).abs() < 1e-12 && (found[1] - (3.0 / 8.0 + 1.0 / 6.0)).abs() < 1e-12);
/// ```
pub fn weighted_inclusion_probabilities(weights: &[f64], sizes: &[f64], n: usize) -> Vec<f64> {
    let n = n.min(sizes.len()) as f64;
    let whole: f64 = weights.iter().sum();
    let total: f64 = sizes.iter().sum();
    let units = || weights.iter().zip(sizes);
    let is_proportional =
        total <= 0.0 || units().all(|(weight, size)| size * weights[0] == sizes[0] * weight);
    let mut probabilities = Vec::new();
    for (weight, size) in units() {
        probabilities.push(if is_proportional {
            n * weight / whole
        } else {
            // Half is spread by weight alone, so that no unit has a probability near 0: its label would have an enormous
            // weight.
            n * f64::midpoint(weight / whole, size / total)
        });
    }
    // What certain units have above 1 goes to the others; each round makes at least one more unit certain.
    while probabilities.iter().any(|p| *p > 1.0) {
        probabilities.iter_mut().for_each(|p| *p = p.min(1.0));
        let certain = probabilities.iter().filter(|p| **p >= 1.0).count() as f64;
        let rest: f64 = probabilities.iter().filter(|p| **p < 1.0).sum();
        let factor = if rest > 0.0 {
            (n - certain) / rest
        } else {
            1.0
        };
        probabilities
            .iter_mut()
            .filter(|p| **p < 1.0)
            .for_each(|p| *p *= factor);
    }
    probabilities
}

/// Positions of a sample with these probabilities, ascending: systematic sampling in random order (W. G. Madow, "On the theory
/// of systematic sampling, II", Annals of Mathematical Statistics 20, 1949). As many units as the probabilities sum to.
pub fn systematic_sample(probabilities: &[f64], seed: u64) -> Vec<usize> {
    systematic_within(probabilities, &vec![0; probabilities.len()], seed)
}

/// Positions of `n` of these units, ascending, each with the same probability. A group, such as the answers of a system, has
/// its share of them, up or down to a whole number; within it every choice of as many is equally likely.
///
/// ```
/// use scholareval_stats::random_sample;
///
/// let drawn = random_sample(&[0, 0, 0, 0, 1, 1, 1, 1], 4, 9);
/// assert_eq!(drawn.iter().filter(|unit| **unit < 4).count(), 2);
/// ```
pub fn random_sample(groups: &[usize], n: usize, seed: u64) -> Vec<usize> {
    let probability = n as f64 / groups.len() as f64;
    systematic_within(&vec![probability; groups.len()], groups, seed)
}

/// A systematic sample with the units of each group in random order, one group after the other.
fn systematic_within(probabilities: &[f64], groups: &[usize], seed: u64) -> Vec<usize> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    // In file order, systems and questions would be drawn at a fixed step, and a pattern in the
    // file would become one in the sample.
    order.shuffle(&mut rng);
    order.sort_by_key(|unit| groups[*unit]);
    // Every unit is an interval as long as its probability; the units that hold start, start + 1, .. are drawn.
    let start = rng.random::<f64>();
    let mut end = 0.0;
    let mut drawn: Vec<usize> = Vec::new();
    for unit in order {
        end += probabilities[unit];
        if end > start + drawn.len() as f64 {
            drawn.push(unit);
        }
    }
    drawn.sort_unstable();
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_sum_to_the_sample_and_have_a_floor_and_a_ceiling() {
        let sizes: Vec<f64> = (0..40_u32)
            .map(|at| f64::from(at * at % 7))
            .chain([500.0, 300.0])
            .collect();
        for n in [1, 5, 20, 41, 42] {
            let probabilities = inclusion_probabilities(&sizes, n);
            assert!(
                (probabilities.iter().sum::<f64>() - n as f64).abs() < 1e-9,
                "{n}"
            );
            assert!(
                probabilities
                    .iter()
                    .all(|p| *p <= 1.0 && *p >= n as f64 / 84.0 - 1e-12),
                "{n}: {probabilities:?}"
            );
            assert_eq!(systematic_sample(&probabilities, 3).len(), n);
        }
        assert_eq!(inclusion_probabilities(&[0.0; 4], 1), [0.25; 4]);
        assert_eq!(inclusion_probabilities(&[0.3; 3], 5), [1.0; 3]);
        assert!(inclusion_probabilities(&[], 3).is_empty());
    }

    #[test]
    fn groups_have_their_shares_and_units_equal_probabilities() {
        let groups = [0, 1, 0, 1, 1, 0, 1, 1, 0, 1];
        let mut counts = [0_u32; 10];
        for seed in 0..4_000 {
            let drawn = random_sample(&groups, 5, seed);
            assert_eq!(drawn.len(), 5);
            let of_first = drawn.iter().filter(|unit| groups[**unit] == 0).count();
            assert_eq!(of_first, 2, "half of four");
            drawn.into_iter().for_each(|unit| counts[unit] += 1);
        }
        for count in counts {
            assert!((f64::from(count) / 4_000.0 - 0.5).abs() < 0.03, "{count}");
        }
        assert_eq!(random_sample(&groups, 10, 1), (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn units_are_drawn_as_often_as_their_probabilities_say() {
        let probabilities = inclusion_probabilities(&[0.0, 1.0, 2.0, 5.0, 0.5], 2);
        let mut counts = [0_u32; 5];
        for seed in 0..4_000 {
            systematic_sample(&probabilities, seed)
                .into_iter()
                .for_each(|unit| counts[unit] += 1);
        }
        // The standard error of a share of 4,000 is at most 0.008.
        for (count, p) in counts.into_iter().zip(&probabilities) {
            assert!((f64::from(count) / 4_000.0 - p).abs() < 0.03, "{count} {p}");
        }
        assert_eq!(
            systematic_sample(&probabilities, 9),
            systematic_sample(&probabilities, 9)
        );
    }
}
