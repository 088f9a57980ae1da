//! Ranks and orders that are said to hold under every judge, offsets and residuals, and boards that are bridged by their systems.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use scholareval::analysis::comparison::{
    ComparedCase, ComparisonOptions, JudgeRanks, MetricId, MetricTable, Observation, Observations,
    ObservedSystem, carried_scales, judge_ranks,
};
use scholareval::domain::Unit;

use super::{RESAMPLES, holds, normal};

/// Numbers of systems, judges and questions.
const SIZES: [[usize; 3]; 5] = [
    [5, 2, 30],
    [5, 5, 100],
    [8, 3, 50],
    [12, 2, 30],
    [12, 5, 100],
];

/// From the lowest to the highest mean.
const SPAN: f64 = 0.24;

/// The means of systems by judges.
#[derive(Debug, Clone, Copy)]
enum Means {
    /// All systems are equal under every judge.
    Equal,
    /// All are equal under the first judge; under the others they are even steps apart, [`SPAN`] in all.
    EqualByOne,
    /// Neighbors are such a step apart, but equal under one judge, each pair of neighbors under another one.
    EqualByTurns,
    /// Normal with a standard deviation of 0.06, and one of 0.02 by judge.
    Spread,
}

impl Means {
    /// By judge, then by system; judges differ in severity by 0.02.
    fn of(self, [systems, judges, _]: [usize; 3], rng: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
        let qualities: Vec<f64> = (0..systems).map(|_| 0.06 * normal(rng)).collect();
        let step = SPAN / (systems as f64 - 1.0);
        let mut means = Vec::new();
        for judge in 0..judges {
            let mut of_judge = Vec::new();
            let mut mean = 0.36 + 0.02 * judge as f64;
            for (system, quality) in qualities.iter().enumerate() {
                of_judge.push(match self {
                    Self::Spread => (mean + 0.1 + quality + 0.02 * normal(rng)).clamp(0.35, 0.65),
                    _ => mean,
                });
                let is_apart = match self {
                    Self::Equal | Self::Spread => false,
                    Self::EqualByOne => judge > 0,
                    Self::EqualByTurns => system % judges != judge,
                };
                mean += if is_apart { step } else { 0.0 };
            }
            means.push(of_judge);
        }
        means
    }
}

/// How the values of single answers spread around these means, which they keep exactly.
#[derive(Debug, Clone, Copy)]
enum Answers {
    /// 0 or 1; two judges read six of ten answers alike.
    Right,
    /// Even within 0.32 of the mean, in which question, answer and judge have parts.
    Even,
}

impl Answers {
    /// By judge, then by system, then by question.
    fn of(self, means: &[Vec<f64>], questions: usize, rng: &mut ChaCha8Rng) -> Vec<Vec<Vec<f64>>> {
        let mut values = vec![vec![Vec::new(); means[0].len()]; means.len()];
        for _ in 0..questions {
            let of_question: f64 = rng.random();
            for system in 0..means[0].len() {
                let of_answer: f64 = rng.random();
                for (judge, of_judge) in means.iter().enumerate() {
                    let [share, of_judge_alone]: [f64; 2] = rng.random();
                    let mean = of_judge[system];
                    values[judge][system].push(match self {
                        Self::Right => {
                            let read = if share < 0.6 {
                                of_answer
                            } else {
                                of_judge_alone
                            };
                            let chance = mean + 0.5 * (of_question - 0.5);
                            f64::from(u8::from(read < chance))
                        }
                        Self::Even => {
                            let parts = [
                                (0.24, of_question),
                                (0.24, of_answer),
                                (0.16, of_judge_alone),
                            ];
                            let noise = parts.map(|(width, part)| width * (part - 0.5));
                            mean + noise.iter().sum::<f64>()
                        }
                    });
                }
            }
        }
        values
    }
}

/// Runs of systems by their values, by run, then by system, then by question.
fn observations(values: &[Vec<Vec<f64>>]) -> Observations {
    let mut systems = Vec::new();
    let mut rows = Vec::new();
    for (run, of_run) in values.iter().enumerate() {
        for (at, row) in of_run.iter().enumerate() {
            systems.push(ObservedSystem {
                label: format!("{run}/{at:02}"),
                system: format!("{at:02}").as_str().into(),
                run,
            });
            rows.push(row.iter().map(|value| Observation::Value(*value)).collect());
        }
    }
    let cases = 0..values[0][0].len();
    let case = |at: usize| ComparedCase {
        case_id: format!("{at:04}").into(),
        question: Arc::from(at.to_string()),
    };
    Observations {
        systems,
        cases: cases.map(case).collect(),
        metrics: vec![MetricTable {
            metric: MetricId {
                scorer: "rubric".into(),
                name: "score".into(),
                unit: Unit::Share,
                higher_is_better: true,
            },
            values: rows,
            net_ranges: Vec::new(),
            drawn: Vec::new(),
            samples: None,
            votes: false,
            games: Vec::new(),
            sets: Vec::new(),
        }],
        ..Observations::default()
    }
}

fn options(seed: u64) -> ComparisonOptions {
    ComparisonOptions {
        resamples: RESAMPLES,
        ..ComparisonOptions::seeded(seed)
    }
}

/// What came of repetitions.
#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    /// Repetitions with a wrong order.
    wrong_orders: f64,
    /// Repetitions with a wrong rank.
    wrong_ranks: f64,
    /// Repetitions of which all intervals hold.
    offsets: f64,
    residuals: f64,
    /// Pairs in the same order under every judge, and those of them that are said to be.
    same: f64,
    said: f64,
}

impl Tally {
    fn and(self, other: Self) -> Self {
        Self {
            wrong_orders: self.wrong_orders + other.wrong_orders,
            wrong_ranks: self.wrong_ranks + other.wrong_ranks,
            offsets: self.offsets + other.offsets,
            residuals: self.residuals + other.residuals,
            same: self.same + other.same,
            said: self.said + other.said,
        }
    }

    fn of(ranks: &JudgeRanks, means: &[Vec<f64>]) -> Self {
        let mut tally = Self {
            offsets: 1.0,
            residuals: 1.0,
            ..Self::default()
        };
        let place = |name: &str| name.parse::<usize>().unwrap();
        let is_above = |first: usize, second: usize| {
            let mut judges = means.iter();
            judges.all(|of_judge| of_judge[first] > of_judge[second] + 1e-9)
        };
        for pair in &ranks.pairs {
            let [first, second] = [0, 1].map(|at| place(pair.systems[at].as_str()));
            tally.same += f64::from(u8::from(is_above(first, second) || is_above(second, first)));
            if pair.holds && is_above(first, second) {
                tally.said += 1.0;
            } else if pair.holds {
                tally.wrong_orders = 1.0;
            }
        }
        let systems = means[0].len();
        let mean_of = |of_judge: &Vec<f64>| of_judge.iter().sum::<f64>() / systems as f64;
        let judges = means.len() as f64;
        let grand_mean = means.iter().map(mean_of).sum::<f64>() / judges;
        for system in &ranks.systems {
            let at = place(system.system.as_str());
            let mut others = (0..systems).filter(|other| *other != at);
            let is_ranked = others.all(|other| is_above(at, other) || is_above(other, at));
            if system.holds && !is_ranked {
                tally.wrong_ranks = 1.0;
            }
            let of_system = means.iter().map(|of_judge| of_judge[at]).sum::<f64>() / judges;
            for (residual, of_judge) in system.residuals.iter().zip(means) {
                let truth = of_judge[at] - of_system - (mean_of(of_judge) - grand_mean);
                if !holds(residual.interval, truth) {
                    tally.residuals = 0.0;
                }
            }
        }
        for (judge, of_judge) in ranks.judges.iter().zip(means) {
            if !holds(judge.offset.interval, mean_of(of_judge) - grand_mean) {
                tally.offsets = 0.0;
            }
        }
        tally
    }
}

fn repetition(means: Means, answers: Answers, sizes: [usize; 3], seed: u64) -> Tally {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let means = means.of(sizes, &mut rng);
    let all = observations(&answers.of(&means, sizes[2], &mut rng));
    let runs: Vec<(usize, &str)> = (0..sizes[1]).map(|run| (run, "judge")).collect();
    Tally::of(&judge_ranks(&all, &runs, &options(seed))[0], &means)
}

fn by_ranks(repetitions: u64) {
    println!(
        "\nRanks over judges: repetitions with a wrong order / a wrong rank said to hold (%), all offsets / all residuals in their \
         intervals (%), orders that are the same and said to be (%), by systems, judges, questions: {SIZES:?}"
    );
    for means in [
        Means::Equal,
        Means::EqualByOne,
        Means::EqualByTurns,
        Means::Spread,
    ] {
        for answers in [Answers::Right, Answers::Even] {
            let cells = SIZES.map(|sizes| {
                let tally = (0..repetitions)
                    .into_par_iter()
                    .map(|seed| repetition(means, answers, sizes, seed))
                    .reduce(Tally::default, Tally::and);
                let share = |count: f64| 100.0 * count / repetitions as f64;
                format!(
                    "{:3.1} / {:3.1}, {:4.1} / {:4.1}, {:3.0}",
                    share(tally.wrong_orders),
                    share(tally.wrong_ranks),
                    share(tally.offsets),
                    share(tally.residuals),
                    100.0 * tally.said / tally.same.max(1.0),
                )
            });
            println!(
                "{:24} {}",
                format!("{means:?}, {answers:?}"),
                cells.join("  ")
            );
        }
    }
}

/// One more system on the board of an old judge that scored `systems` others, as on Arena-Hard v2: shifts with a mean of 5.2 and a
/// standard deviation of 7.9 points, single answers such that a shift has a half-width of 1.6. The half-width of its interval, and
/// whether it holds the old judge's mean; `None` outside the range of the others.
fn bridged(systems: usize, seed: u64) -> Option<(f64, bool)> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut by_new = Vec::new();
    let mut by_old = Vec::new();
    for _ in 0..=systems {
        let quality = 0.5 + 0.1 * normal(&mut rng);
        let shift = 0.052 + 0.079 * normal(&mut rng);
        let mut of_system = [Vec::new(), Vec::new()];
        for _ in 0..100 {
            let value = quality + 0.2 * normal(&mut rng);
            of_system[0].push(value);
            of_system[1].push(value + shift + 0.08 * normal(&mut rng));
        }
        let [new, old] = of_system;
        by_new.push(new);
        by_old.push(old);
    }
    let of_further = by_old.pop()?;
    let truth = of_further.iter().sum::<f64>() / of_further.len() as f64;
    let [new, old] = [by_new, by_old].map(|board| observations(&[board]));
    let scales = carried_scales((&new, "new"), (&old, "old"), &[], &options(seed));
    let interval = scales[0].systems[0].interval?;
    Some((interval.half_width(), holds(Some(interval), truth)))
}

fn by_bridges(repetitions: u64) {
    println!(
        "\nA further system on the board of an old judge: intervals that hold its mean there (%) [given (%)], half-width"
    );
    for systems in [5, 8, 12] {
        let seeds = (0..repetitions).into_par_iter();
        let given: Vec<(f64, bool)> = seeds.filter_map(|seed| bridged(systems, seed)).collect();
        let count = given.len().max(1) as f64;
        let held = given.iter().filter(|(_, holds)| *holds).count() as f64;
        let half_widths: f64 = given.iter().map(|(half_width, _)| half_width).sum();
        println!(
            "{systems:2} systems: {:4.1} [{:3.0}] {:.3}",
            100.0 * held / count,
            100.0 * count / repetitions as f64,
            half_widths / count
        );
    }
}

pub(super) fn ranks(repetitions: u64) {
    by_ranks(repetitions);
    by_bridges(repetitions);
}
