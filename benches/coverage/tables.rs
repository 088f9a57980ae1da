//! Agreement of two raters over few units with skewed labels.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use scholareval::stats::{Coefficient, Correlation, Interval, MeasurementLevel};

use super::{holds, pick};

/// Labels of both raters: they agree by knowledge with this probability, else each draws from these shares.
struct Labels {
    name: &'static str,
    shares: &'static [(f64, f64)],
    agree: f64,
}

const LABELS: [Labels; 5] = [
    Labels {
        name: "0/1, 90% ones",
        shares: &[(1.0, 0.9), (0.0, 0.1)],
        agree: 0.4,
    },
    Labels {
        name: "0/1, 95% ones",
        shares: &[(1.0, 0.95), (0.0, 0.05)],
        agree: 0.6,
    },
    Labels {
        name: "0/1, 50% ones",
        shares: &[(1.0, 0.5), (0.0, 0.5)],
        agree: 0.5,
    },
    Labels {
        name: "grades, 80% at the top",
        shares: &[
            (5.0, 0.8),
            (4.0, 0.1),
            (3.0, 0.05),
            (2.0, 0.03),
            (1.0, 0.02),
        ],
        agree: 0.6,
    },
    Labels {
        name: "grades, spread",
        shares: &[(5.0, 0.2), (4.0, 0.2), (3.0, 0.2), (2.0, 0.2), (1.0, 0.2)],
        agree: 0.5,
    },
];

/// Two raters' labels.
type Rated = [Vec<f64>; 2];

impl Labels {
    fn rated(&self, units: usize, rng: &mut ChaCha8Rng) -> Rated {
        let mut rated = [Vec::new(), Vec::new()];
        for _ in 0..units {
            let first = pick(rng, self.shares);
            let is_known = rng.random::<f64>() < self.agree;
            rated[0].push(first);
            rated[1].push(if is_known {
                first
            } else {
                pick(rng, self.shares)
            });
        }
        rated
    }
}

/// A measure of agreement, whose true value is the probability of knowledge.
#[derive(Debug, Clone, Copy)]
enum Measure {
    Of(Coefficient),
    Pearson,
}

impl Measure {
    fn interval(self, [x, y]: &Rated) -> Option<Interval> {
        let units: Vec<usize> = (0..x.len()).collect();
        match self {
            Self::Of(coefficient) => {
                let rows = [x, y].map(|own| own.iter().copied().map(Some).collect::<Vec<_>>());
                coefficient.interval(&[&rows[0], &rows[1]], &units, 0.95)
            }
            Self::Pearson => Correlation::Pearson.clustered_interval(x, y, &units, 0.95),
        }
    }
}

pub(super) fn tables(repetitions: u64) {
    let sizes = [10, 20, 30, 50, 100];
    println!(
        "\nAgreement of two raters: share of the intervals given that hold the value (%; given), by units"
    );
    println!(
        "{:38} {}",
        "labels, measure",
        sizes.map(|size| format!("{size:>11}")).join(" ")
    );
    for labels in LABELS {
        for measure in [
            Measure::Of(Coefficient::Kappa),
            Measure::Of(Coefficient::QuadraticKappa),
            Measure::Of(Coefficient::Alpha(MeasurementLevel::Nominal)),
            Measure::Of(Coefficient::Alpha(MeasurementLevel::Ordinal)),
            Measure::Pearson,
        ] {
            let cell = |units: usize| {
                let found = (0..repetitions).into_par_iter().filter_map(|at| {
                    let mut rng: ChaCha8Rng = rand::SeedableRng::seed_from_u64(at);
                    measure.interval(&labels.rated(units, &mut rng))
                });
                let held: Vec<bool> = found
                    .map(|interval| holds(Some(interval), labels.agree))
                    .collect();
                let share = held.iter().filter(|held| **held).count() as f64 / held.len() as f64;
                let given = held.len() as f64 / repetitions as f64;
                format!("{:5.1} ({:.0})", 100.0 * share, 100.0 * given)
            };
            println!(
                "{:38} {}",
                format!("{}, {measure:?}", labels.name),
                sizes.map(cell).map(|cell| format!("{cell:>11}")).join(" ")
            );
        }
    }
}
