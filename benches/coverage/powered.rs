//! Prediction-powered means and differences.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use scholareval::stats::{Estimand, Interval, JudgedAnswer, prediction_powered_mean};

use super::{Scores, holds, normal, share};

impl Scores {
    fn sd(self) -> f64 {
        match self {
            Self::Normal(sd) => sd,
            Self::Right(p) => (p * (1.0 - p)).sqrt(),
            Self::Ceiling => 0.16,
            Self::Grades => 0.28,
            Self::Lognormal => 2.16,
        }
    }
}

/// What a judge makes of a human score.
#[derive(Debug, Clone, Copy)]
enum Verdicts {
    /// The score and normal noise with half of its standard deviation.
    Noisy,
    /// Another answer's score in 30% of the answers: its errors are as skewed as the scores.
    Mistaken,
}

impl Verdicts {
    fn of(self, human: f64, scores: Scores, rng: &mut ChaCha8Rng) -> f64 {
        match self {
            Self::Noisy => human + 0.5 * scores.sd() * normal(rng),
            Self::Mistaken if rng.random::<f64>() < 0.3 => scores.of(normal(rng), rng),
            Self::Mistaken => human,
        }
    }
}

/// Labels of all answers.
const SIZES: [(usize, usize); 4] = [(20, 100), (50, 100), (50, 200), (100, 400)];

/// Draws `labels` of `all` answers with probabilities that are 1 to 3 times the lowest one, higher where the judge errs
/// more.
fn selected(
    scores: Scores,
    (labels, all): (usize, usize),
    rng: &mut ChaCha8Rng,
) -> Vec<JudgedAnswer> {
    let drawn: Vec<(f64, f64, f64)> = (0..all)
        .map(|_| {
            let (human, doubt) = (scores.of(normal(rng), rng), rng.random::<f64>());
            (
                human,
                human + 1.5 * doubt * scores.sd() * normal(rng),
                1.0 + 2.0 * doubt,
            )
        })
        .collect();
    let share = labels as f64 / drawn.iter().map(|(.., doubt)| doubt).sum::<f64>();
    let mut passed = rng.random::<f64>();
    let answer = |(question, (human, judge, doubt)): (usize, (f64, f64, f64))| {
        passed += share * doubt;
        let human = (passed >= 1.0).then_some(human);
        passed = passed.fract();
        JudgedAnswer {
            judge,
            human,
            weight: 1.0 / doubt,
            question,
        }
    };
    drawn.into_iter().enumerate().map(answer).collect()
}

pub(super) fn powered(repetitions: u64) {
    let all = [
        Scores::Normal(0.15),
        Scores::Right(0.9),
        Scores::Ceiling,
        Scores::Grades,
        Scores::Lognormal,
    ];
    let row = |name: String, cell: &dyn Fn((usize, usize)) -> String| {
        println!(
            "{name:28} {}",
            SIZES.map(cell).map(|cell| format!("{cell:>11}")).join(" ")
        );
    };
    println!(
        "\nPrediction-powered means: share of the intervals that hold the mean (%), by labels of all answers"
    );
    println!(
        "{:28} {}",
        "labels",
        SIZES
            .map(|(labels, all)| format!("{:>11}", format!("{labels}/{all}")))
            .join(" ")
    );
    for scores in all {
        let answers = |verdicts: Verdicts,
                       (labels, all): (usize, usize),
                       rng: &mut ChaCha8Rng|
         -> Vec<JudgedAnswer> {
            let mut answer = |question: usize| {
                let human = scores.of(normal(rng), rng);
                let judge = verdicts.of(human, scores, rng);
                JudgedAnswer {
                    judge,
                    human: (question < labels).then_some(human),
                    weight: 1.0,
                    question,
                }
            };
            (0..all).map(&mut answer).collect()
        };
        let holds_mean =
            |answers: &[JudgedAnswer], lambda: Option<f64>, range: Option<Interval>, options| {
                let mean = prediction_powered_mean(answers, lambda, Estimand::Mean(range), options);
                holds(mean.and_then(|mean| mean.interval), scores.mean())
            };
        for verdicts in [Verdicts::Noisy, Verdicts::Mistaken] {
            row(format!("{scores:?}, {verdicts:?}"), &|size| {
                share(repetitions, |rng, options| {
                    let answers = answers(verdicts, size, rng);
                    holds_mean(&answers, None, scores.range(), options)
                })
            });
        }
        row(format!("{scores:?}, selected"), &|size| {
            share(repetitions, |rng, options| {
                holds_mean(&selected(scores, size, rng), None, None, options)
            })
        });
        row(format!("{scores:?}, labels only"), &|(labels, _)| {
            share(repetitions, |rng, options| {
                let answers = answers(Verdicts::Noisy, (labels, labels), rng);
                holds_mean(&answers, Some(0.0), scores.range(), options)
            })
        });
        row(format!("{scores:?}, equal systems"), &|size| {
            share(repetitions, |rng, options| {
                let [first, second] = [(); 2].map(|()| answers(Verdicts::Mistaken, size, rng));
                let difference = |(a, b): (&JudgedAnswer, &JudgedAnswer)| {
                    let human = a.human.zip(b.human).map(|(a, b)| a - b);
                    JudgedAnswer {
                        judge: a.judge - b.judge,
                        human,
                        ..*a
                    }
                };
                let answers: Vec<JudgedAnswer> =
                    first.iter().zip(&second).map(difference).collect();
                let difference =
                    prediction_powered_mean(&answers, None, Estimand::Difference, options);
                holds(difference.and_then(|difference| difference.interval), 0.0)
            })
        });
    }
}
