//! Studies that are planned from a pilot: how often they find the difference that they are planned for.

use rand_chacha::ChaCha8Rng;
use scholareval::stats::{BootstrapOptions, MetricValues, PilotSpread, paired_family};

use super::{normal, pick, share};

/// Systems of which the first differs from the others, which are equal.
#[derive(Debug, Clone, Copy)]
enum Systems {
    /// So many with normal scores; the first is better by so many standard deviations of a difference.
    Normal(usize, f64),
    /// Four with grades of which 85% are at the top, of the first 70%.
    Ceiling,
    /// So many that are right with the first probability, the first system with the second one.
    Right(usize, f64, f64),
}

impl Systems {
    fn count(self) -> usize {
        match self {
            Self::Normal(systems, _) | Self::Right(systems, ..) => systems,
            Self::Ceiling => 4,
        }
    }

    /// How much better the first system is.
    fn difference(self) -> f64 {
        match self {
            Self::Normal(_, difference) => difference * 2.0_f64.sqrt(),
            // 0.94 less 0.87.
            Self::Ceiling => -0.07,
            Self::Right(_, others, first) => first - others,
        }
    }

    fn values(self) -> MetricValues {
        match self {
            Self::Right(..) => MetricValues::ZeroOr(1.0),
            _ => MetricValues::Any,
        }
    }

    fn score(self, is_first: bool, rng: &mut ChaCha8Rng) -> f64 {
        match self {
            Self::Normal(..) if is_first => normal(rng) + self.difference(),
            Self::Normal(..) => normal(rng),
            Self::Ceiling if is_first => {
                pick(rng, &[(1.0, 0.7), (0.75, 0.18), (0.5, 0.07), (0.0, 0.05)])
            }
            Self::Ceiling => pick(rng, &[(1.0, 0.85), (0.75, 0.1), (0.5, 0.03), (0.0, 0.02)]),
            Self::Right(_, others, first) => {
                let right = if is_first { first } else { others };
                pick(rng, &[(1.0, right), (0.0, 1.0 - right)])
            }
        }
    }

    /// The differences of all pairs, those with the first system first.
    fn differences(self, questions: usize, rng: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
        let mut scores = vec![Vec::new(); self.count()];
        for _ in 0..questions {
            for (at, own) in scores.iter_mut().enumerate() {
                own.push(self.score(at == 0, rng));
            }
        }
        let mut differences = Vec::new();
        for a in 0..scores.len() {
            for b in a + 1..scores.len() {
                let both = scores[a].iter().zip(&scores[b]);
                differences.push(both.map(|(x, y)| x - y).collect());
            }
        }
        differences
    }

    /// Whether a study planned from a pilot finds that the first system differs from the second one.
    fn is_found(
        self,
        pilot_questions: usize,
        rng: &mut ChaCha8Rng,
        options: BootstrapOptions,
    ) -> bool {
        let pilot = self.differences(pilot_questions, rng);
        let lists: Vec<&[f64]> = pilot.iter().map(Vec::as_slice).collect();
        let Some(pilot) = PilotSpread::new(&lists, None, self.values(), options) else {
            return false;
        };
        let largest = pilot.variances.iter().copied().fold(0.0, f64::max);
        let difference = self.difference();
        let questions = pilot.questions_for(difference.abs(), pilot.upper * largest);
        let study = self.differences(questions, rng);
        let lists: Vec<&[f64]> = study.iter().map(Vec::as_slice).collect();
        let family = paired_family(&lists, None, self.values(), options);
        family.is_some_and(|family| {
            let found = family.pairs[0];
            found.p < 0.05 && found.difference * difference > 0.0
        })
    }
}

pub(super) fn power(repetitions: u64) {
    println!(
        "\nStudies planned from a pilot: the difference is significant (%; planned for 80), by questions of the pilot"
    );
    println!("{:24} {:>11} {:>11} {:>11}", "systems", 20, 50, 100);
    for systems in [
        Systems::Normal(2, 0.25),
        Systems::Normal(2, 0.5),
        Systems::Normal(4, 0.25),
        Systems::Normal(4, 0.5),
        Systems::Normal(6, 0.25),
        Systems::Normal(6, 0.5),
        Systems::Ceiling,
        Systems::Right(2, 0.9, 0.75),
        Systems::Right(2, 0.95, 0.9),
        Systems::Right(4, 0.9, 0.75),
    ] {
        let cell = |questions: usize| {
            share(repetitions, |rng, options| {
                systems.is_found(questions, rng, options)
            })
        };
        println!(
            "{:24} {}",
            format!("{systems:?}"),
            [20, 50, 100]
                .map(cell)
                .map(|cell| format!("{cell:>11}"))
                .join(" ")
        );
    }
}
