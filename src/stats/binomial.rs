//! Binomial random numbers.
//!
//! Few expected successes: inversion, step by step (L. Devroye, "Non-Uniform Random Variate Generation", 1986, X.4.3).
//! Many: transformed rejection with squeeze, algorithm BTRS of W. Hörmann, "The generation of binomial random variates",
//! Journal of Statistical Computation and Simulation 46 (1993), pages 101-110. Both follow the distribution exactly, but for
//! the rounding of 64-bit floats.

use rand::Rng;

/// From so many expected successes on, rejection is used; it needs at least this many.
const REJECTION_FROM: f64 = 10.0;

/// How many of `n` independent trials succeed, each with probability `p`; `p` is taken into 0..=1.
pub(super) fn binomial(n: u64, p: f64, rng: &mut impl Rng) -> u64 {
    if p > 0.5 {
        return n - binomial(n, 1.0 - p, rng);
    }
    if n == 0 || p <= 0.0 {
        return 0;
    }
    if n as f64 * p < REJECTION_FROM { by_inversion(n, p, rng) } else { by_rejection(n as f64, p, rng) as u64 }
}

/// Uniform in 0..1.
fn uniform(rng: &mut impl Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 * 2.0_f64.powi(-53)
}

/// The k up to which the probabilities add up to a uniform number.
fn by_inversion(n: u64, p: f64, rng: &mut impl Rng) -> u64 {
    let odds = p / (1.0 - p);
    let none = (n as f64 * (-p).ln_1p()).exp();
    loop {
        let (mut rest, mut probability) = (uniform(rng), none);
        for k in 0..=n {
            if rest < probability {
                return k;
            }
            rest -= probability;
            // P(k + 1) / P(k) = (n - k) / (k + 1) * p / (1 - p)
            probability *= (n - k) as f64 / (k + 1) as f64 * odds;
            if probability < f64::MIN_POSITIVE {
                break; // rounding left a rest beyond all that is possible: draw again
            }
        }
    }
}

/// BTRS, with the names of the paper. For p <= 1/2 and n p >= 10.
fn by_rejection(n: f64, p: f64, rng: &mut impl Rng) -> f64 {
    let deviation = (n * p * (1.0 - p)).sqrt();
    let b = 1.15 + 2.53 * deviation;
    let a = -0.0873 + 0.0248 * b + 0.01 * p;
    let c = n * p + 0.5;
    let v_r = 0.92 - 4.2 / b;
    loop {
        let u = uniform(rng) - 0.5;
        let v = uniform(rng);
        let us = 0.5 - u.abs();
        let k = ((2.0 * a / us + b) * u + c).floor();
        if us >= 0.07 && v <= v_r {
            return k;
        }
        if !(0.0..=n).contains(&k) {
            continue;
        }
        let alpha = (2.83 + 5.1 / b) * deviation;
        let mode = ((n + 1.0) * p).floor();
        let hat = (v * alpha / (a / (us * us) + b)).ln();
        if hat <= log_ratio(n, p, k) - log_ratio(n, p, mode) {
            return k;
        }
    }
}

/// ln of the probability of k, but for a constant: -ln k! - ln (n - k)! + k ln (p / (1 - p)).
fn log_ratio(n: f64, p: f64, k: f64) -> f64 {
    k * (p / (1.0 - p)).ln() - log_factorial(k) - log_factorial(n - k)
}

/// ln k!, by Stirling's series with the first terms of its error from a table.
fn log_factorial(k: f64) -> f64 {
    let x = k + 1.0;
    (k + 0.5) * x.ln() - x + stirling_error(k)
}

/// ln k! - ((k + 1/2) ln (k + 1) - (k + 1) + ln (2 pi) / 2).
fn stirling_error(k: f64) -> f64 {
    const FIRST: [f64; 10] = [
        0.081_061_466_795_327_26,
        0.041_340_695_955_409_29,
        0.027_677_925_684_998_34,
        0.020_790_672_103_765_09,
        0.016_644_691_189_821_19,
        0.013_876_128_823_070_75,
        0.011_896_709_945_891_77,
        0.010_411_265_261_972_09,
        0.009_255_462_182_712_733,
        0.008_330_563_433_362_87,
    ];
    let x = k + 1.0;
    let square = x * x;
    let series = || (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / square) / square) / x;
    FIRST.get(k as usize).copied().unwrap_or_else(series)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use statrs::distribution::{Binomial, Discrete};
    use statrs::function::gamma::ln_gamma;

    use super::*;

    #[test]
    fn factorials_are_those_of_the_gamma_function() {
        let half_log_two_pi = (2.0 * std::f64::consts::PI).ln() / 2.0;
        for k in (0..40).chain([1_000, 1_000_000]).map(f64::from) {
            let expected = ln_gamma(k + 1.0);
            let found = log_factorial(k) + half_log_two_pi;
            assert!((found - expected).abs() <= 1e-10 * expected.max(1.0), "{k}: {found} {expected}");
        }
    }

    #[test]
    fn draws_are_as_frequent_as_the_distribution_has_them() {
        // Inversion, rejection, both turned round; the last two within the bounds of both methods.
        for (n, p) in [(20, 0.1), (100, 0.3), (50, 0.9), (5_000, 0.6), (1_000_000, 9e-6), (1_000_000, 1.1e-5)] {
            let mut rng = ChaCha8Rng::seed_from_u64(n + 1);
            let mut seen = std::collections::BTreeMap::new();
            let draws = 200_000;
            (0..draws).for_each(|_| *seen.entry(binomial(n, p, &mut rng)).or_insert(0_u32) += 1);
            let exact = Binomial::new(p, n).unwrap();
            // Pearson's chi-square over the values of which at least 10 are expected.
            let (mut chi_square, mut cells) = (0.0, 0);
            for k in seen.keys() {
                let expected = exact.pmf(*k) * f64::from(draws);
                if expected >= 10.0 {
                    chi_square += (f64::from(seen[k]) - expected).powi(2) / expected;
                    cells += 1;
                }
            }
            // Its mean is about `cells`, its variance twice that; five deviations above would be a fault.
            let bound = f64::from(cells) + 5.0 * (2.0 * f64::from(cells)).sqrt();
            assert!(cells > 5 && chi_square < bound, "{n} {p}: {chi_square} in {cells} cells");
            assert!(seen.keys().all(|k| *k <= n));
        }
    }

    #[test]
    fn what_is_certain_is_not_drawn() {
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let certain = [(0, 0.5, 0), (7, 0.0, 0), (7, 1.0, 7), (7, -0.1, 0), (7, 1.1, 7)];
        for (n, p, expected) in certain {
            assert_eq!(binomial(n, p, &mut rng), expected);
        }
    }
}
