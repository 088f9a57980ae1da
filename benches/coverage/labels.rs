//! Sensitivity and specificity of a judge by labels that were drawn with unequal probabilities.

use std::collections::BTreeSet;

use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use scholareval::stats::{
    WeightedUnit, inclusion_probabilities, systematic_sample, weighted_share,
};

use super::{holds, normal};

/// Judged answers, two to a question, with this many criteria each.
const ANSWERS: usize = 600;
const CRITERIA: usize = 3;
/// Labeled criteria.
const LABELS: [usize; 3] = [50, 100, 200];

/// A criterion of an answer.
#[derive(Debug, Clone, Copy)]
struct JudgedCriterion {
    is_met: bool,
    is_judged_met: bool,
}

/// The judge errs more where its samples differ more, which is also where answers are drawn more often. Answers to a question and
/// criteria of an answer are correlated.
fn board(met: f64, rng: &mut ChaCha8Rng) -> (Vec<[JudgedCriterion; CRITERIA]>, Vec<f64>) {
    let mut answers = Vec::new();
    let mut doubts = Vec::new();
    let mut question = 0.0;
    for at in 0..ANSWERS {
        if at % 2 == 0 {
            question = normal(rng);
        }
        let doubt: f64 = rng.random();
        let answer = normal(rng);
        let mut criteria = [JudgedCriterion {
            is_met: false,
            is_judged_met: false,
        }; CRITERIA];
        for criterion in &mut criteria {
            let z = 0.4 * question + 0.4 * answer + 0.825 * normal(rng);
            // The share of a standard normal number below its quantile.
            criterion.is_met = z < quantile(met);
            let error = if criterion.is_met { 0.3 } else { 0.2 } * doubt;
            criterion.is_judged_met = criterion.is_met != (rng.random::<f64>() < error);
        }
        answers.push(criteria);
        doubts.push(doubt);
    }
    (answers, doubts)
}

fn quantile(p: f64) -> f64 {
    scholareval::stats::normal_quantile(p).unwrap()
}

/// The judge's sensitivity and specificity: errors are 0.3 and 0.2 times a doubt of 0.5 on average.
const TRUE_SHARES: [f64; 2] = [0.85, 0.9];

/// Whether the intervals of both hold them.
fn repetition(met: f64, labels: usize, seed: u64) -> [bool; 2] {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (answers, doubts) = board(met, &mut rng);
    let probabilities = inclusion_probabilities(&doubts, labels / CRITERIA);
    let drawn: BTreeSet<usize> = systematic_sample(&probabilities, seed)
        .into_iter()
        .collect();
    let mut units = [Vec::new(), Vec::new()];
    for at in drawn {
        for criterion in answers[at] {
            let side = usize::from(!criterion.is_met);
            units[side].push(WeightedUnit {
                weight: 1.0 / probabilities[at],
                is_hit: criterion.is_met == criterion.is_judged_met,
                question: at / 2,
            });
        }
    }
    [0, 1].map(|side| {
        let found = weighted_share(&units[side], 0.95);
        holds(found.and_then(|own| own.interval), TRUE_SHARES[side])
    })
}

pub(super) fn labels(repetitions: u64) {
    println!(
        "\nSensitivity / specificity by labels drawn in proportion to doubt: intervals that hold them (%), by labels"
    );
    for met in [0.5, 0.8, 0.95] {
        let cells = LABELS.map(|labels| {
            let held = (0..repetitions)
                .into_par_iter()
                .map(|seed| repetition(met, labels, seed).map(u64::from))
                .reduce(|| [0, 0], |a, b| [a[0] + b[0], a[1] + b[1]]);
            let [sensitivity, specificity] =
                held.map(|count| 100.0 * count as f64 / repetitions as f64);
            format!("{labels}: {sensitivity:5.1} / {specificity:5.1}")
        });
        println!("met {met:.2}: {}", cells.join("   "));
    }
}
