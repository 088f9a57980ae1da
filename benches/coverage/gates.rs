//! How often a gate on the agreement with people is wrong where the truth is exactly at its bound.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use scholareval::stats::{
    Coefficient, Interval, MetricValues, WeightedUnit, mean_interval, paired_family, weighted_share,
};

use super::{pick, resampling};

/// Labels and how many of them a question has.
const SIZES: [[usize; 2]; 4] = [[20, 1], [50, 1], [200, 1], [200, 4]];
/// The sensitivity of the judge, and by how much it is more lenient.
const SENSITIVITY: f64 = 0.8;
const SHIFT: f64 = 0.05;

/// A number that a gate can require.
#[derive(Debug, Clone, Copy)]
enum Required {
    Kappa,
    Ac1,
    RawAgreement,
    Sensitivity,
    Shift,
}

/// Shares of the labels of both raters, who agree by knowledge in half of the units, else by chance: in questions that are easy in 80% and
/// in those that are hard in 20%.
type LabelShares = &'static [(f64, f64)];

const SHARES: [(&str, LabelShares); 3] = [
    ("0/1, half ones", &[(1.0, 0.5), (0.0, 0.5)]),
    ("0/1, 85% ones", &[(1.0, 0.85), (0.0, 0.15)]),
    (
        "five levels",
        &[
            (1.0, 0.4),
            (0.75, 0.3),
            (0.5, 0.15),
            (0.25, 0.1),
            (0.0, 0.05),
        ],
    ),
];

/// Two raters' labels, with the question of each unit.
struct RatedUnits {
    first: Vec<f64>,
    second: Vec<f64>,
    questions: Vec<usize>,
}

fn rated(shares: LabelShares, [units, a_question]: [usize; 2], rng: &mut ChaCha8Rng) -> RatedUnits {
    let mut rated = RatedUnits {
        first: Vec::new(),
        second: Vec::new(),
        questions: Vec::new(),
    };
    let mut known = 0.5;
    for unit in 0..units {
        if unit % a_question == 0 {
            known = if rng.random::<bool>() { 0.8 } else { 0.2 };
        }
        let first = pick(rng, shares);
        let is_known = rng.random::<f64>() < known;
        rated.first.push(first);
        rated
            .second
            .push(if is_known { first } else { pick(rng, shares) });
        rated.questions.push(unit / a_question);
    }
    rated
}

impl Required {
    /// The value that two raters with these shares have.
    fn truth(self, shares: LabelShares) -> f64 {
        let equal: f64 = shares.iter().map(|(_, share)| share * share).sum();
        let agreed = 0.5 + 0.5 * equal;
        match self {
            Self::Kappa => 0.5,
            Self::Ac1 => {
                let chance = (1.0 - equal) / (shares.len() - 1) as f64;
                (agreed - chance) / (1.0 - chance)
            }
            Self::RawAgreement => agreed,
            Self::Sensitivity => SENSITIVITY,
            Self::Shift => SHIFT,
        }
    }

    fn interval(
        self,
        shares: LabelShares,
        size: [usize; 2],
        rng: &mut ChaCha8Rng,
    ) -> Option<Interval> {
        let RatedUnits {
            first,
            mut second,
            questions,
        } = rated(shares, size, rng);
        let rows = [&first, &second].map(|row| row.iter().copied().map(Some).collect::<Vec<_>>());
        let coefficient =
            |kind: Coefficient| kind.interval(&[&rows[0], &rows[1]], &questions, 0.95);
        match self {
            Self::Kappa => coefficient(Coefficient::Kappa),
            Self::Ac1 => coefficient(Coefficient::Ac1 {
                levels: shares.len(),
            }),
            Self::RawAgreement => {
                let equal = first.iter().zip(&second);
                let equal: Vec<f64> = equal.map(|(x, y)| f64::from(u8::from(x == y))).collect();
                let range = Interval::new(0.0, 1.0);
                mean_interval(&equal, Some(&questions), Some(range), resampling(1))
            }
            Self::Sensitivity => {
                let units: Vec<WeightedUnit> = questions
                    .iter()
                    .map(|question| WeightedUnit {
                        weight: 1.0,
                        is_hit: rng.random::<f64>() < SENSITIVITY,
                        question: *question,
                    })
                    .collect();
                weighted_share(&units, 0.95)?.interval
            }
            Self::Shift => {
                for (ours, theirs) in second.iter_mut().zip(&first) {
                    // More lenient in 10% of the units, by the whole scale, and more severe in 5%.
                    *ours = theirs + pick(rng, &[(0.0, 0.85), (1.0, 0.1), (-1.0, 0.05)]);
                }
                let differences = second.iter().zip(&first);
                let differences: Vec<f64> =
                    differences.map(|(ours, theirs)| ours - theirs).collect();
                let values = MetricValues::Within(1.0);
                let family =
                    paired_family(&[&differences], Some(&questions), values, resampling(1));
                family?.pairs[0].interval
            }
        }
    }

    /// Whether a gate with the truth as its bound is said to be met, and whether missed.
    fn outcome(self, shares: LabelShares, size: [usize; 2], seed: u64) -> [bool; 2] {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let bound = self.truth(shares);
        let Some(interval) = self.interval(shares, size, &mut rng) else {
            return [false; 2];
        };
        match self {
            Self::Shift => [
                interval.low >= -bound && interval.high <= bound,
                interval.low > bound || interval.high < -bound,
            ],
            _ => [interval.low >= bound, interval.high < bound],
        }
    }
}

pub(super) fn gates(repetitions: u64) {
    println!(
        "\nGates with the truth at the bound: said to be met / missed (%), by labels x labels a question"
    );
    for required in [
        Required::Kappa,
        Required::Ac1,
        Required::RawAgreement,
        Required::Sensitivity,
        Required::Shift,
    ] {
        for (name, shares) in SHARES {
            // Neither depends on the labels.
            if matches!(required, Required::Sensitivity | Required::Shift) && name != SHARES[0].0 {
                continue;
            }
            let cells = SIZES.map(|size| {
                let counts = (0..repetitions)
                    .into_par_iter()
                    .map(|seed| required.outcome(shares, size, seed).map(u64::from))
                    .reduce(|| [0, 0], |a, b| [a[0] + b[0], a[1] + b[1]]);
                let [met, missed] = counts.map(|count| 100.0 * count as f64 / repetitions as f64);
                format!("{}x{}: {met:4.1} / {missed:4.1}", size[0], size[1])
            });
            let truth = required.truth(shares);
            println!("{required:?} {truth:.2}, {name}: {}", cells.join("   "));
        }
    }
}
