//! The effective number of a panel's judges: how often its interval holds the true one.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use scholareval::stats::effective_judges;

use super::{holds, normal};

/// Answers to a question.
const SYSTEMS: usize = 3;
/// Units for the true number.
const MANY: usize = 200_000;

/// What judges say.
#[derive(Clone, Copy, PartialEq)]
enum Values {
    Numbers,
    TwoValues,
}

/// A panel whose errors share this part of their variance.
#[derive(Clone, Copy)]
struct Panel {
    judges: usize,
    shared: f64,
    values: Values,
}

impl Panel {
    /// Errors of each judge on answers to so many questions. A third of the shared part is that of the question.
    fn errors(self, questions: usize, rng: &mut ChaCha8Rng) -> (Vec<Vec<f64>>, Vec<usize>) {
        let mut errors = vec![Vec::new(); self.judges];
        let mut of_unit = Vec::new();
        for question in 0..questions {
            let of_question = normal(rng);
            for _ in 0..SYSTEMS {
                let shared =
                    (1.0_f64 / 3.0).sqrt() * of_question + (2.0_f64 / 3.0).sqrt() * normal(rng);
                let label = f64::from(u8::from(normal(rng) > -0.5));
                for judge in &mut errors {
                    let error =
                        self.shared.sqrt() * shared + (1.0 - self.shared).sqrt() * normal(rng);
                    judge.push(match self.values {
                        Values::Numbers => error,
                        // Wrong in a sixth of the verdicts, together where the shared part is large.
                        Values::TwoValues if error > 1.0 => 1.0 - 2.0 * label,
                        Values::TwoValues => 0.0,
                    });
                }
                of_unit.push(question);
            }
        }
        (errors, of_unit)
    }

    /// Whether a sample has an interval that holds the truth, and whether it has one at all.
    fn repetition(self, questions: usize, truth: f64, seed: u64) -> [u64; 2] {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (errors, of_unit) = self.errors(questions, &mut rng);
        let panel = effective_judges(&errors, &of_unit, self.has_two_values(), 0.95);
        let interval = panel.and_then(|panel| panel.interval);
        [
            u64::from(holds(interval, truth)),
            u64::from(interval.is_some()),
        ]
    }

    fn has_two_values(self) -> bool {
        self.values == Values::TwoValues
    }

    /// The number for a great many units.
    fn truth(self) -> f64 {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let (errors, questions) = self.errors(MANY / SYSTEMS, &mut rng);
        // One cluster: the interval is not needed.
        let cluster = vec![0; questions.len()];
        effective_judges(&errors, &cluster, self.has_two_values(), 0.95)
            .unwrap()
            .judges
    }
}

pub(super) fn panel_errors(repetitions: u64) {
    println!(
        "\nEffective judges: intervals that hold the true number (%), by questions of {SYSTEMS} answers"
    );
    for values in [Values::Numbers, Values::TwoValues] {
        for judges in [2, 3, 5] {
            for shared in [0.1, 0.5, 0.8] {
                let panel = Panel {
                    judges,
                    shared,
                    values,
                };
                let truth = panel.truth();
                let cells = [30, 50, 100].map(|questions| {
                    let counts = (0..repetitions)
                        .into_par_iter()
                        .map(|seed| panel.repetition(questions, truth, seed));
                    let [held, given] = counts.reduce(|| [0, 0], |a, b| [a[0] + b[0], a[1] + b[1]]);
                    match given {
                        0 => format!("{questions}:     -"),
                        _ => format!("{questions}: {:5.1}", 100.0 * held as f64 / given as f64),
                    }
                });
                let kind = if panel.has_two_values() {
                    "0/1"
                } else {
                    "numbers"
                };
                println!(
                    "{kind:8} K {judges} shared {shared:.1} true {truth:.2}: {}",
                    cells.join("   ")
                );
            }
        }
    }
}
