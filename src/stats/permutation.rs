//! Paired permutation test by sign flips of the differences.
//!
//! R. A. Fisher, "The design of experiments" (1935), section 21; E. J. G. Pitman (1937). Under the null hypothesis each
//! difference is as likely with the other sign. The two-sided p is the share of sign assignments whose sum is at least as
//! far from 0 as the observed one. All assignments where few differences are not 0; else seeded random ones, with
//! p = (b + 1) / (m + 1) so that p is never 0 (B. Phipson and G. K. Smyth, "Permutation p-values should never be zero",
//! 2010).

use std::collections::BTreeMap;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

/// Options of the sign flips.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignFlipOptions {
    /// All assignments are used if at most this many differences are not 0; at most 24.
    pub exact_up_to: u32,
    /// Number of random assignments otherwise.
    pub flips: u32,
    /// Seed of the draws: one stream of ChaCha8 per assignment, so that the number of threads does not matter.
    pub seed: u64,
}

impl SignFlipOptions {
    /// Exact up to 20 differences (1,048,576 assignments), else 100,000 random ones with this seed.
    pub fn seeded(seed: u64) -> Self {
        Self { exact_up_to: 20, flips: 100_000, seed }
    }
}

/// The outcome of a sign-flip test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignFlipTest {
    /// The two-sided p, 0 < p <= 1.
    pub p: f64,
    /// Whether all possible assignments were visited.
    pub exact: bool,
}

/// Tests one list of paired differences; for clustered cases, pass the clusters' sums.
///
/// `None` for no differences, for differences that are not finite, and if random flips are needed but `flips` is 0.
///
/// ```
/// use scholareval::stats::{SignFlipOptions, sign_flip_test};
///
/// // Of the 8 assignments only + + + and - - - are as far from 0: 2 / 8.
/// let test = sign_flip_test(&[0.1, 0.2, 0.3], SignFlipOptions::seeded(1));
/// assert!(test.is_some_and(|test| test.exact && test.p == 0.25));
/// ```
pub fn sign_flip_test(differences: &[f64], options: SignFlipOptions) -> Option<SignFlipTest> {
    sign_flip_tests(&[differences], options).pop().flatten()
}

/// [`sign_flip_test`] of each list, in order. Lists of equal length share their flips, with the same results as alone.
pub fn sign_flip_tests(differences: &[&[f64]], options: SignFlipOptions) -> Vec<Option<SignFlipTest>> {
    let mut tests = vec![None; differences.len()];
    let mut by_length: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, list) in differences.iter().enumerate() {
        if list.is_empty() || list.iter().any(|value| !value.is_finite()) {
            continue;
        }
        let moving: Vec<f64> = list.iter().copied().filter(|value| *value != 0.0).collect();
        if moving.len() <= options.exact_up_to.min(24) as usize {
            tests[index] = Some(exact(&moving));
        } else if options.flips > 0 {
            by_length.entry(list.len()).or_default().push(index);
        }
    }
    for indices in by_length.into_values() {
        let lists: Vec<&[f64]> = indices.iter().map(|index| differences[*index]).collect();
        for (index, as_far) in indices.iter().zip(random(&lists, options)) {
            let p = (as_far + 1) as f64 / (f64::from(options.flips) + 1.0);
            tests[*index] = Some(SignFlipTest { p, exact: false });
        }
    }
    tests
}

/// The smallest sum that counts as extreme as the observed one. Sums in another order differ in their last digits:
/// anything within 1e-12 of the largest possible sum counts as equal.
fn threshold(differences: &[f64]) -> f64 {
    let largest: f64 = differences.iter().map(|value| value.abs()).sum();
    differences.iter().sum::<f64>().abs() - 1e-12 * largest
}

/// All assignments: every signed sum of one half combined with every one of the other.
fn exact(moving: &[f64]) -> SignFlipTest {
    let (left, right) = moving.split_at(moving.len() / 2);
    let (left, right) = (signed_sums(left), signed_sums(right));
    let threshold = threshold(moving);
    let as_far = |a: &f64| right.iter().filter(|b| (a + *b).abs() >= threshold).count() as u64;
    let count: u64 = left.par_iter().map(as_far).sum();
    SignFlipTest { p: count as f64 / (1_u64 << moving.len()) as f64, exact: true }
}

/// The sums under every assignment; bit i of the index gives value i its own sign, else the other.
fn signed_sums(values: &[f64]) -> Vec<f64> {
    let mut sums = vec![-values.iter().sum::<f64>()];
    for value in values {
        let flipped: Vec<f64> = sums.iter().map(|sum| sum + 2.0 * value).collect();
        sums.extend(flipped);
    }
    sums
}

/// For each list (of equal length), the number of random assignments at least as extreme as the observed sum.
fn random(lists: &[&[f64]], options: SignFlipOptions) -> Vec<u64> {
    let cases = lists.first().map_or(0, |list| list.len());
    // Differences that are flipped together are adjacent.
    let rows: Vec<Vec<f64>> = (0..cases).map(|case| lists.iter().map(|list| list[case]).collect()).collect();
    let thresholds: Vec<f64> = lists.iter().map(|list| threshold(list)).collect();
    let seeded = ChaCha8Rng::seed_from_u64(options.seed);
    let none = || vec![0; lists.len()];
    let count = |mut counts: Vec<u64>, replicate: u32| {
        let mut rng = seeded.clone();
        rng.set_stream(u64::from(replicate));
        let mut signs = vec![0_u8; cases.div_ceil(8)];
        rng.fill_bytes(&mut signs);
        let mut sums = vec![0.0; lists.len()];
        for (case, row) in rows.iter().enumerate() {
            let sign = if signs[case / 8] >> (case % 8) & 1 == 1 { 1.0 } else { -1.0 };
            sums.iter_mut().zip(row).for_each(|(sum, difference)| *sum += sign * difference);
        }
        for ((count, sum), threshold) in counts.iter_mut().zip(&sums).zip(&thresholds) {
            *count += u64::from(f64::abs(*sum) >= *threshold);
        }
        counts
    };
    let add = |a: Vec<u64>, b: Vec<u64>| a.iter().zip(&b).map(|(a, b)| a + b).collect();
    (0..options.flips).into_par_iter().fold(none, count).reduce(none, add)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::RngExt;

    use super::*;

    fn random_only(flips: u32) -> SignFlipOptions {
        SignFlipOptions { exact_up_to: 0, flips, seed: 7 }
    }

    #[test]
    fn zeros_neither_help_nor_hurt() {
        // 2 of the 4 assignments of 0.5 and 0.5 reach 1; zeros double both numbers.
        let test = sign_flip_test(&[0.5, 0.0, 0.5, 0.0], SignFlipOptions::seeded(1)).unwrap();
        assert_eq!(test, SignFlipTest { p: 0.5, exact: true });
        assert_eq!(sign_flip_test(&[0.0; 30], SignFlipOptions::seeded(1)).unwrap().p, 1.0);
    }

    #[test]
    fn sums_equal_but_for_rounding_count_as_equal() {
        // 0.1 + 0.2 - 0.3 is 0 but for rounding; so is every assignment's sum at least as far: p = 1.
        assert_eq!(sign_flip_test(&[0.1, 0.2, -0.3], SignFlipOptions::seeded(1)).unwrap().p, 1.0);
        let tenths: Vec<f64> = [0.1, 0.2, -0.3].repeat(10);
        assert_eq!(sign_flip_test(&tenths, SignFlipOptions::seeded(1)).unwrap().p, 1.0);
    }

    #[test]
    fn random_flips_come_close_to_all_flips() {
        let differences: Vec<f64> = (0..16).map(|i| f64::from(i * i % 7) - 2.2).collect();
        let exact = sign_flip_test(&differences, SignFlipOptions::seeded(1)).unwrap();
        let random = sign_flip_test(&differences, random_only(20_000)).unwrap();
        assert!(exact.exact && !random.exact);
        // Four standard errors of a share: 4 sqrt(p (1 - p) / 20,000)
        let tolerance = 4.0 * (exact.p * (1.0 - exact.p) / 20_000.0).sqrt();
        assert!((exact.p - random.p).abs() < tolerance, "{exact:?} {random:?}");
    }

    #[test]
    fn each_bit_is_the_sign_of_a_difference() {
        let lists: Vec<Vec<f64>> =
            (0..11_i32).map(|list| (0..30).map(|i| f64::from((i * i + list) % 9) - 3.0).collect()).collect();
        let borrowed: Vec<&[f64]> = lists.iter().map(Vec::as_slice).collect();
        let options = random_only(500);
        let counts = random(&borrowed, options);
        for (list, counted) in lists.iter().zip(counts) {
            let observed: f64 = list.iter().sum();
            let as_far = (0..500).filter(|replicate| {
                let mut rng = ChaCha8Rng::seed_from_u64(7);
                rng.set_stream(*replicate);
                let mut bytes = [0_u8; 4];
                rng.fill_bytes(&mut bytes);
                let sign = |i: usize| if bytes[i / 8] >> (i % 8) & 1 == 1 { 1.0 } else { -1.0 };
                list.iter().enumerate().map(|(i, d)| sign(i) * d).sum::<f64>().abs() >= observed.abs()
            });
            assert_eq!(counted, as_far.count() as u64);
        }
    }

    #[test]
    fn lists_tested_together_get_what_they_get_alone_on_any_number_of_threads() {
        let list = |n: i32, step: i32| (0..n).map(|i| f64::from(i * step % 17) - 7.5).collect::<Vec<f64>>();
        let lists = [list(50, 3), list(10, 5), vec![], list(50, 7), list(33, 5), vec![f64::NAN; 30], list(50, 11)];
        let borrowed: Vec<&[f64]> = lists.iter().map(Vec::as_slice).collect();
        let options = SignFlipOptions { flips: 3_000, ..SignFlipOptions::seeded(5) };
        let alone: Vec<_> = borrowed.iter().map(|list| sign_flip_test(list, options)).collect();
        for threads in [1, 2, 4] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert_eq!(pool.install(|| sign_flip_tests(&borrowed, options)), alone);
        }
        assert_eq!(alone.iter().filter(|test| test.is_none()).count(), 2);
        assert_eq!(sign_flip_test(&list(50, 3), random_only(0)), None);
    }

    #[test]
    fn under_the_null_hypothesis_the_test_errs_as_often_as_it_says() {
        // 1,000 samples of 30 skewed, symmetrized differences: the standard error of a 5% rate is 0.7%.
        let mut rng = ChaCha8Rng::seed_from_u64(2026);
        let draw = |rng: &mut ChaCha8Rng| rng.random::<f64>().powi(3) - rng.random::<f64>().powi(3);
        let samples: Vec<Vec<f64>> = (0..1_000).map(|_| (0..30).map(|_| draw(&mut rng)).collect()).collect();
        let borrowed: Vec<&[f64]> = samples.iter().map(Vec::as_slice).collect();
        let tests = sign_flip_tests(&borrowed, SignFlipOptions { flips: 399, ..SignFlipOptions::seeded(3) });
        let wrong = tests.iter().flatten().filter(|test| test.p <= 0.05).count();
        let rate = wrong as f64 / 1_000.0;
        assert!((0.03..=0.07).contains(&rate), "{rate}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn p_is_a_share_and_blind_to_order_and_sign(
            differences in prop::collection::vec(-5..=5_i8, 1..12), turn in 0..12_usize
        ) {
            let differences: Vec<f64> = differences.into_iter().map(|d| f64::from(d) / 10.0).collect();
            let mut turned: Vec<f64> = differences.iter().map(|d| -d).collect();
            turned.rotate_left(turn % differences.len());
            let p = |list: &[f64]| sign_flip_test(list, SignFlipOptions::seeded(1)).unwrap().p;
            prop_assert!(p(&differences) > 0.0 && p(&differences) <= 1.0);
            prop_assert_eq!(p(&differences), p(&turned));
        }
    }
}
