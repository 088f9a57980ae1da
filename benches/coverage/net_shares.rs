//! Means of net shares: the sum of earned weights less that of faults, divided by all weights that can be earned.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use scholareval::stats::{Interval, mean_interval_within};

use super::{holds, share};

/// The weights of a rubric.
#[derive(Debug, Clone, Copy)]
enum Rubrics {
    /// 6 criteria and 2 faults with the same weight in every question.
    Same,
    /// 3 to 8 criteria and 1 to 3 faults with weights from 1 to 10, drawn with the question.
    Drawn,
}

impl Rubrics {
    fn weights(self, rng: &mut ChaCha8Rng) -> Vec<f64> {
        let Self::Drawn = self else {
            return vec![1.0, 1.0, 1.0, 1.0, 1.0, 1.0, -1.0, -1.0];
        };
        let criteria = rng.random_range(3..=8);
        let faults = rng.random_range(1..=3);
        let mut weights = Vec::new();
        for at in 0..criteria + faults {
            let weight = f64::from(rng.random_range(1..=10));
            weights.push(if at < criteria { weight } else { -weight });
        }
        weights
    }
}

/// How often a criterion is met, and a fault is there.
type Shares = (f64, f64);

/// The score of an answer, and its range.
fn score(weights: &[f64], (met, fault): Shares, rng: &mut ChaCha8Rng) -> (f64, Interval) {
    let whole: f64 = weights.iter().filter(|weight| **weight > 0.0).sum();
    let faults: f64 = weights.iter().filter(|weight| **weight < 0.0).sum();
    let mut sum = 0.0;
    for weight in weights {
        let is_there = if *weight > 0.0 { met } else { fault };
        if rng.random::<f64>() < is_there {
            sum += weight;
        }
    }
    let range = Interval {
        low: faults / whole,
        high: 1.0,
    };
    (sum / whole, range)
}

/// The mean of all answers, from very many.
fn truth(rubrics: Rubrics, shares: Shares) -> f64 {
    let mut rng: ChaCha8Rng = rand::SeedableRng::seed_from_u64(1);
    let many = 1_000_000;
    let mut sum = 0.0;
    for _ in 0..many {
        let weights = rubrics.weights(&mut rng);
        sum += score(&weights, shares, &mut rng).0;
    }
    sum / f64::from(many)
}

pub(super) fn net_shares(repetitions: u64) {
    println!("\nIntervals of means of net shares: share that holds the mean (%), by questions");
    println!(
        "{:28} {:>11} {:>11} {:>11} {:>11}",
        "rubrics, met, faults", 8, 20, 50, 100
    );
    for rubrics in [Rubrics::Same, Rubrics::Drawn] {
        for shares in [(1.0, 0.03), (0.97, 0.03), (0.9, 0.1), (0.5, 0.3)] {
            let truth = truth(rubrics, shares);
            let cell = |questions: usize| {
                share(repetitions, |rng, options| {
                    let mut values = Vec::new();
                    let mut ranges = Vec::new();
                    for _ in 0..questions {
                        let (value, range) = score(&rubrics.weights(rng), shares, rng);
                        values.push(value);
                        ranges.push(range);
                    }
                    let found = mean_interval_within(&values, None, &ranges, options);
                    assert!(found.is_some());
                    holds(found, truth)
                })
            };
            let cells = [8, 20, 50, 100].map(cell);
            println!(
                "{:28} {}",
                format!("{rubrics:?}, {shares:?}"),
                cells.map(|cell| format!("{cell:>11}")).join(" ")
            );
        }
    }
}
