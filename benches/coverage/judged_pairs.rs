//! Win rates and strengths from verdicts on pairs of answers: how often their intervals hold what endless questions would give, and
//! how often equal systems differ.
//!
//! A system's answer to a question has a quality of its own around the system's; a verdict follows the difference of two qualities
//! with noise and a preference for the first place. So the verdicts about a question belong together, and the model of strengths is
//! not the one that makes them.

use rand::seq::SliceRandom as _;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use scholareval::stats::{
    Interval, MetricValues, PairVerdict, Strengths, SystemWinRate, Ties, WinRate, paired_family,
    t_quantile,
};

use super::{holds, normal, share};

const SYSTEMS: usize = 5;
/// How far the systems lie apart, in logits.
const QUALITIES: [f64; SYSTEMS] = [0.6, 0.3, 0.0, -0.3, -0.6];
/// Standard deviation of an answer's quality around its system's.
const SPREAD: f64 = 1.0;
/// What the first place is worth, in logits.
const PLACE: f64 = 0.4;
/// Share of verdicts that are ties.
const TIES: f64 = 0.15;
/// Share of verdicts that cannot be read, of the win rates of systems.
const UNREAD: f64 = 0.05;
/// Questions that stand for all.
const ENDLESS: usize = 100_000;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Design {
    All { both: bool },
    Cycle { both: bool },
    Baseline { both: bool },
}

impl Design {
    const EVERY: [Self; 6] = [
        Self::All { both: true },
        Self::All { both: false },
        Self::Cycle { both: true },
        Self::Cycle { both: false },
        Self::Baseline { both: true },
        Self::Baseline { both: false },
    ];

    /// The pairs of a question, in the orders shown.
    fn shown(self, question: usize, rng: &mut ChaCha8Rng) -> Vec<(usize, usize)> {
        let (mut pairs, both) = match self {
            Self::Cycle { both } => {
                let mut circle: Vec<usize> = (0..SYSTEMS).collect();
                circle.shuffle(rng);
                let next = (0..SYSTEMS).map(|at| (circle[at], circle[(at + 1) % SYSTEMS]));
                (next.collect::<Vec<_>>(), both)
            }
            Self::All { both } | Self::Baseline { both } => {
                let mut pairs = Vec::new();
                for first in 0..SYSTEMS {
                    for second in first + 1..SYSTEMS {
                        if matches!(self, Self::All { .. }) || first == 0 {
                            let is_exchanged = (question + first + second) % 2 == 1;
                            pairs.push(if is_exchanged {
                                (second, first)
                            } else {
                                (first, second)
                            });
                        }
                    }
                }
                (pairs, both)
            }
        };
        if both {
            let exchanged: Vec<_> = pairs.iter().map(|(a, b)| (*b, *a)).collect();
            pairs.extend(exchanged);
        }
        pairs
    }

    fn verdicts(
        self,
        qualities: &[f64; SYSTEMS],
        questions: usize,
        rng: &mut ChaCha8Rng,
    ) -> Vec<PairVerdict> {
        let mut verdicts = Vec::new();
        for question in 0..questions {
            let own = qualities.map(|quality| quality + SPREAD * normal(rng));
            for (first, second) in self.shown(question, rng) {
                let lead = own[first] - own[second] + PLACE;
                let value = if rng.random::<f64>() < TIES {
                    0.5
                } else {
                    f64::from(u8::from(rng.random::<f64>() < 1.0 / (1.0 + (-lead).exp())))
                };
                verdicts.push(PairVerdict::new(question, first, second, value));
            }
        }
        verdicts
    }

    fn name(self) -> &'static str {
        match self {
            Self::All { both: true } => "all, both orders",
            Self::All { both: false } => "all, one order",
            Self::Cycle { both: true } => "cycle, both orders",
            Self::Cycle { both: false } => "cycle, one order",
            Self::Baseline { both: true } => "baseline, both orders",
            Self::Baseline { both: false } => "baseline, one order",
        }
    }
}

pub(super) fn judged_pairs(repetitions: u64) {
    println!(
        "\nPairs of answers, five systems: strength of the first, win rate of the first two (share that holds, %)"
    );
    println!(
        "{:24} {:>9} {:>11} {:>11} {:>11}",
        "design", "", 20, 50, 100
    );
    for design in Design::EVERY {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let endless = design.verdicts(&QUALITIES, ENDLESS, &mut rng);
        let strength = strengths(&endless).map_or(f64::NAN, |own| own.values[0]);
        let win_rate = WinRate::of(0, 1, &endless).map(|own| own.win_rate);
        let by_questions = |what: &str, held: &dyn Fn(usize) -> String| {
            let shares = [20, 50, 100].map(held);
            println!(
                "{:24} {what:>9} {:>11} {:>11} {:>11}",
                design.name(),
                shares[0],
                shares[1],
                shares[2]
            );
        };
        by_questions("strength", &|questions| {
            share(repetitions, |rng, _| {
                let found = strengths(&design.verdicts(&QUALITIES, questions, rng));
                holds(found.and_then(|own| strength_interval(&own)), strength)
            })
        });
        if let Some(win_rate) = win_rate {
            by_questions("win rate", &|questions| {
                share(repetitions, |rng, _| {
                    let verdicts = design.verdicts(&QUALITIES, questions, rng);
                    let found = WinRate::of(0, 1, &verdicts);
                    holds(found.and_then(|own| own.interval(0.95)), win_rate)
                })
            });
        }
        let overall = SystemWinRate::of(0, &endless).map_or(f64::NAN, |own| own.win_rate);
        by_questions("overall", &|questions| {
            share(repetitions, |rng, _| {
                let mut verdicts = design.verdicts(&QUALITIES, questions, rng);
                verdicts.retain(|_| rng.random::<f64>() >= UNREAD);
                let found = SystemWinRate::of(0, &verdicts);
                holds(found.and_then(|own| own.interval(0.95)), overall)
            })
        });
        by_questions("level", &|questions| {
            share(repetitions, |rng, options| {
                let verdicts = design.verdicts(&[0.0; SYSTEMS], questions, rng);
                let lists = differences(design, &verdicts, questions);
                let lists: Vec<&[f64]> = lists.iter().map(Vec::as_slice).collect();
                let family = paired_family(&lists, None, MetricValues::Any, options);
                family.is_some_and(|family| family.pairs.iter().any(|pair| pair.p < 0.05))
            })
        });
    }
    println!(
        "overall: the win rate of the first against all, with {}% of the verdicts unreadable",
        100.0 * UNREAD
    );
    println!("level: any of the pairs of five equal systems differs at p < 0.05");
}

fn strengths(verdicts: &[PairVerdict]) -> Option<Strengths> {
    Strengths::of(SYSTEMS, verdicts, Ties::Half, true).ok()
}

fn strength_interval(strengths: &Strengths) -> Option<Interval> {
    let error = strengths.errors.as_ref()?[0];
    let half = t_quantile(0.975, strengths.questions() as f64 - 1.0)? * error;
    Some(Interval {
        low: strengths.values[0] - half,
        high: strengths.values[0] + half,
    })
}

/// What the pairs are tested by: win rates, of a circle strengths.
fn differences(design: Design, verdicts: &[PairVerdict], questions: usize) -> Vec<Vec<f64>> {
    let all: Vec<usize> = (0..questions).collect();
    let mut lists = Vec::new();
    let of_circle = matches!(design, Design::Cycle { .. });
    let fitted = of_circle.then(|| strengths(verdicts)).flatten();
    for first in 0..SYSTEMS {
        for second in first + 1..SYSTEMS {
            if of_circle {
                lists.extend(fitted.as_ref().map(|own| own.pseudo_values(first, second)));
            } else {
                lists.extend(WinRate::pseudo_values(first, second, verdicts, &all, true));
            }
        }
    }
    lists
}
