//! Shares by sensitivity and specificity from labels of other answers.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use scholareval::stats::{RecognizedShare, rogan_gladen};

use super::holds;

/// Labels that say met, and that say unmet.
const LABELS: [[usize; 2]; 4] = [[5, 20], [20, 5], [45, 45], [95, 95]];
/// Verdicts and how many of them a question has.
const VERDICTS: [[usize; 2]; 4] = [[100, 1], [500, 1], [100, 5], [500, 5]];
/// Sensitivity and specificity of the judge.
const JUDGE: [f64; 2] = [0.85, 0.9];

/// Whether the interval holds the share; where there is none, it does.
fn repetition(met: f64, labels: [usize; 2], [n, a_question]: [usize; 2], seed: u64) -> bool {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let [sensitivity, specificity] = [0, 1].map(|side| {
        let right = (0..labels[side]).filter(|_| rng.random::<f64>() < JUDGE[side]);
        RecognizedShare {
            share: right.count() as f64 / labels[side] as f64,
            labels: labels[side],
        }
    });
    let mut verdicts = Vec::new();
    let mut of_question = met;
    for at in 0..n {
        if a_question > 1 && at % a_question == 0 {
            // Questions are easier or harder than the mean, by two thirds of its distance to the ends.
            let spread = met.min(1.0 - met) * 2.0 / 3.0;
            of_question = if rng.random::<bool>() {
                met + spread
            } else {
                met - spread
            };
        }
        let is_met = rng.random::<f64>() < of_question;
        let is_right = rng.random::<f64>() < JUDGE[usize::from(!is_met)];
        verdicts.push((is_met == is_right, at / a_question));
    }
    let corrected = rogan_gladen(&verdicts, sensitivity, specificity, 0.95);
    corrected.is_none_or(|corrected| holds(Some(corrected.interval), met))
}

pub(super) fn rogan_gladen_shares(repetitions: u64) {
    println!(
        "\nShares by Rogan and Gladen: intervals that hold them (%), by verdicts x verdicts a question"
    );
    for labels in LABELS {
        for met in [0.1, 0.5, 0.9] {
            let cells = VERDICTS.map(|verdicts| {
                let held = (0..repetitions)
                    .into_par_iter()
                    .filter(|seed| repetition(met, labels, verdicts, *seed))
                    .count();
                let share = 100.0 * held as f64 / repetitions as f64;
                format!("{}x{}: {share:5.1}", verdicts[0], verdicts[1])
            });
            println!(
                "labels {} + {}, met {met}: {}",
                labels[0],
                labels[1],
                cells.join("   ")
            );
        }
    }
}
