//! The F1 of mean citation precision and mean citation recall.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use scholareval::stats::f1_of_means;

use super::{holds, pick, share};

/// Precision and recall of an answer.
#[derive(Debug, Clone, Copy)]
enum Citations {
    /// Independent, even over 0..=1 and over 0..=0.8.
    Even,
    /// Both 0 with this probability, else independent and even over 0.2..=1.
    Nothing(f64),
    /// Both 1 with this probability, else independent and even over 0..=1.
    Perfect(f64),
    /// 0 or 1 each, 1 with 30% and 50%.
    ZeroOne,
    /// Precision is 1 with 10%, else 0; recall is 0.5 or 1.
    RarelyPrecise,
}

impl Citations {
    fn of(self, rng: &mut ChaCha8Rng) -> [f64; 2] {
        let [own, other, common]: [f64; 3] = [(); 3].map(|()| rng.random());
        let from = |low: f64| [own, other].map(|value| low + (1.0 - low) * value);
        match self {
            Self::Even => [own, 0.8 * other],
            Self::Nothing(p) if common < p => [0.0; 2],
            Self::Nothing(_) => from(0.2),
            Self::Perfect(p) if common < p => [1.0; 2],
            Self::Perfect(_) => from(0.0),
            Self::ZeroOne => [0.3, 0.5].map(|p| pick(rng, &[(1.0, p), (0.0, 1.0 - p)])),
            Self::RarelyPrecise => [
                pick(rng, &[(1.0, 0.1), (0.0, 0.9)]),
                pick(rng, &[(0.5, 0.5), (1.0, 0.5)]),
            ],
        }
    }

    /// The means.
    fn means(self) -> [f64; 2] {
        match self {
            Self::Even => [0.5, 0.4],
            Self::Nothing(p) => [0.6 * (1.0 - p); 2],
            Self::Perfect(p) => [f64::midpoint(1.0, p); 2],
            Self::ZeroOne => [0.3, 0.5],
            Self::RarelyPrecise => [0.1, 0.75],
        }
    }
}

pub(super) fn citations(repetitions: u64) {
    println!(
        "\nIntervals of citation F1: share that holds the F1 of the true means (%), by questions"
    );
    println!(
        "{:34} {:>11} {:>11} {:>11} {:>11}",
        "precision and recall", 4, 10, 20, 50
    );
    let all = [
        Citations::Even,
        Citations::Nothing(0.6),
        Citations::Nothing(0.85),
        Citations::Perfect(0.8),
        Citations::ZeroOne,
        Citations::RarelyPrecise,
    ];
    for (name, sizes) in [("", &[1][..]), (", clusters of 1, 1, 1, 3", &[1, 1, 1, 3])] {
        for kind in all {
            let [precision, recall] = kind.means();
            let truth = 2.0 * precision * recall / (precision + recall);
            let cell = |questions: usize| {
                share(repetitions, |rng, options| {
                    let (mut cases, mut clusters) = (Vec::new(), Vec::new());
                    for question in 0..questions {
                        // The answers to a question are alike: each is the first one half of the time.
                        let first = kind.of(rng);
                        for _ in 0..sizes[question % sizes.len()] {
                            let is_first = rng.random::<f64>() < 0.5;
                            let own = if is_first { first } else { kind.of(rng) };
                            cases.push(own.map(Some));
                            clusters.push(question);
                        }
                    }
                    holds(f1_of_means(&cases, &clusters, options).1, truth)
                })
            };
            let cells = [4, 10, 20, 50].map(cell);
            println!(
                "{:34} {}",
                format!("{kind:?}{name}"),
                cells.map(|cell| format!("{cell:>11}")).join(" ")
            );
        }
    }
}
