//! Simulations: error rates and interval coverage of a comparison match their nominal levels.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::compare_tests::table;
use super::{ComparisonOptions, Observations, compare};

/// A skewed draw with mean 1/4.
fn skewed(rng: &mut ChaCha8Rng) -> f64 {
    rng.random::<f64>().powi(3)
}

#[test]
fn equal_systems_differ_as_often_as_alpha_says_and_families_of_pairs_no_more_often() {
    // 150 sets of 4 systems over 12 questions: each p is exact, so P(p <= 0.05) = 204 / 4096 = 0.0498; of the 900 pairs,
    // which depend on each other within a set, the rate has a standard error of about 1%. Unadjusted, about a fifth of the
    // sets would have a significant pair.
    let mut rng = ChaCha8Rng::seed_from_u64(2026);
    let options = ComparisonOptions {
        resamples: 100,
        ..ComparisonOptions::seeded(1)
    };
    let (mut wrong_pairs, mut wrong_sets, mut pairs) = (0, 0, 0);
    for _ in 0..150 {
        let questions: Vec<f64> = (0..12).map(|_| skewed(&mut rng)).collect();
        let mut system = || -> Vec<f64> {
            questions
                .iter()
                .map(|question| question + skewed(&mut rng))
                .collect()
        };
        let rows = [system(), system(), system(), system()];
        let observed = table(&[
            ("a", &rows[0]),
            ("b", &rows[1]),
            ("c", &rows[2]),
            ("d", &rows[3]),
        ]);
        let pairs_of_set = compare(&observed, &options).metrics.remove(0).pairs;
        pairs += pairs_of_set.len();
        wrong_pairs += pairs_of_set
            .iter()
            .filter(|pair| pair.pointwise_p.is_some_and(|p| p <= 0.05))
            .count();
        wrong_sets += usize::from(pairs_of_set.iter().any(|pair| pair.differs));
    }
    let (rate, family) = (wrong_pairs as f64 / pairs as f64, wrong_sets as f64 / 150.0);
    assert_eq!(pairs, 900);
    assert!((0.03..=0.07).contains(&rate), "{rate}");
    assert!(family <= 0.1, "{family}");
}

/// How often the interval of the pair holds the true difference (a is 0.05 better than b).
fn coverage(sets: usize, mut observe: impl FnMut() -> Observations) -> f64 {
    let options = ComparisonOptions {
        resamples: 200,
        ..ComparisonOptions::seeded(1)
    };
    let held = (0..sets).filter(|_| {
        let metric = compare(&observe(), &options).metrics.remove(0);
        let pair = &metric.pairs[0];
        let truth = if metric.systems[pair.first].label == "a" {
            0.05
        } else {
            -0.05
        };
        pair.interval
            .is_some_and(|interval| interval.low <= truth && truth <= interval.high)
    });
    held.count() as f64 / sets as f64
}

#[test]
fn intervals_of_pairs_at_95_percent_hold_the_true_difference_in_92_to_98() {
    // 400 sets of 50 questions: the standard error of a 95% share is 1.1%.
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let rate = coverage(400, || {
        let (a, b): (Vec<f64>, Vec<f64>) = (0..50)
            .map(|_| {
                let question = rng.random::<f64>();
                (
                    question + skewed(&mut rng) + 0.05,
                    question + skewed(&mut rng),
                )
            })
            .unzip();
        table(&[("a", &a), ("b", &b)])
    });
    assert!((0.92..=0.98).contains(&rate), "{rate}");
}

#[test]
fn intervals_hold_as_often_where_questions_have_several_cases_and_would_not_if_cases_were_drawn() {
    // 50 questions of 3 cases; the difference is mostly the question's: cases of a question are not independent evidence.
    let simulated = |rng: &mut ChaCha8Rng, with_questions: bool| {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for _ in 0..50 {
            let lead = skewed(rng) - 0.25;
            for _ in 0..3 {
                a.push(0.05 + lead + 0.1 * rng.random::<f64>());
                b.push(0.1 * rng.random::<f64>());
            }
        }
        let mut observed = table(&[("a", &a), ("b", &b)]);
        for (place, case) in observed.cases.iter_mut().enumerate() {
            case.question = if with_questions {
                Arc::from(format!("q{}", place / 3))
            } else {
                Arc::from("")
            };
        }
        observed
    };
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let clustered = coverage(200, || simulated(&mut rng, true));
    assert!((0.91..=0.99).contains(&clustered), "{clustered}");
    // An interval narrower by the root of nearly 3: P(|z| < 1.96 / 1.7) = 0.75.
    let naive = coverage(100, || simulated(&mut rng, false));
    assert!(naive < 0.88, "{naive}");
}
