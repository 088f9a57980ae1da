//! Means of counts over few questions.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use scholareval::stats::mean_interval;

use super::{holds, normal, share};

/// A distribution of counts.
#[derive(Debug, Clone, Copy)]
enum Counts {
    /// Normal with a standard deviation of 10% of the mean 80.
    Words,
    /// Poisson with this mean.
    Poisson(f64),
    /// exp of a normal number with this standard deviation.
    Lognormal(f64),
}

impl Counts {
    fn of(self, rng: &mut ChaCha8Rng) -> f64 {
        match self {
            Self::Words => 80.0 + 8.0 * normal(rng),
            Self::Poisson(mean) => poisson(mean, rng),
            Self::Lognormal(sd) => (sd * normal(rng)).exp(),
        }
    }

    fn mean(self) -> f64 {
        match self {
            Self::Words => 80.0,
            Self::Poisson(mean) => mean,
            Self::Lognormal(sd) => (sd * sd / 2.0).exp(),
        }
    }
}

/// How many uniform numbers can be multiplied before the product falls below exp(-mean).
fn poisson(mean: f64, rng: &mut ChaCha8Rng) -> f64 {
    let least = (-mean).exp();
    let mut product: f64 = rng.random();
    let mut count = 0.0;
    while product > least {
        count += 1.0;
        product *= rng.random::<f64>();
    }
    count
}

pub(super) fn counts(repetitions: u64) {
    let sizes = [4, 5, 6, 8, 10, 20];
    println!("\nIntervals of means of counts: share that holds the mean (%), by questions");
    println!(
        "{:20} {}",
        "counts",
        sizes.map(|size| format!("{size:>11}")).join(" ")
    );
    for counts in [
        Counts::Words,
        Counts::Poisson(3.0),
        Counts::Lognormal(0.3),
        Counts::Lognormal(1.0),
    ] {
        let cell = |questions: usize| {
            share(repetitions, |rng, options| {
                let values: Vec<f64> = (0..questions).map(|_| counts.of(rng)).collect();
                holds(mean_interval(&values, None, None, options), counts.mean())
            })
        };
        println!(
            "{:20} {}",
            format!("{counts:?}"),
            sizes.map(cell).map(|cell| format!("{cell:>11}")).join(" ")
        );
    }
}
