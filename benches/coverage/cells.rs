//! The cells in which intervals fell short: each as it was (`cells_before.txt`) and as it is, at 20, 30, 50 and 100 questions.
//!
//! Rows are `name | 20 | 30 | 50 | 100`; numbers of a cell are percent, separated by slashes. Files with the rows of another version
//! are made by `coverage -- cells > FILE`.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use scholareval::stats::{
    BootstrapOptions, Coefficient, Estimand, Interval, JudgedAnswer, MeasurementLevel,
    MetricValues, PairVerdict, PairedFamily, PilotSpread, WeightedUnit, WinRate, mean_interval,
    normal_quantile, paired_family, prediction_powered_mean, weighted_share,
};

use super::{holds, normal, resampling};

const BEFORE: &str = include_str!("cells_before.txt");
const QUESTIONS: [usize; 4] = [20, 30, 50, 100];
const SHARE: Interval = Interval {
    low: 0.0,
    high: 1.0,
};
/// Values with their shares, from the highest.
const ONES_90: Shares = Shares(&[(1.0, 0.9), (0.0, 0.1)]);
const ONES_70: Shares = Shares(&[(1.0, 0.7), (0.0, 0.3)]);
const ONES_50: Shares = Shares(&[(1.0, 0.5), (0.0, 0.5)]);
const ONES_98: Shares = Shares(&[(1.0, 0.98), (0.0, 0.02)]);
const RARE_LOSS: Shares = Shares(&[(1.0, 0.95), (0.5, 0.02), (0.0, 0.03)]);
const MORE_LOSSES: Shares = Shares(&[(1.0, 0.75), (0.5, 0.1), (0.0, 0.15)]);
const CEILING: Shares = Shares(&[(1.0, 0.85), (0.75, 0.1), (0.5, 0.03), (0.0, 0.02)]);
const BELOW_CEILING: Shares = Shares(&[(1.0, 0.6), (0.75, 0.25), (0.5, 0.1), (0.0, 0.05)]);
const EVEN: Shares = Shares(&[(1.0, 0.2), (0.75, 0.2), (0.5, 0.2), (0.25, 0.2), (0.0, 0.2)]);
const LOWER: Shares = Shares(&[(1.0, 0.1), (0.75, 0.1), (0.5, 0.3), (0.25, 0.3), (0.0, 0.2)]);

/// A distribution on the real line, given a standard normal number.
#[derive(Clone, Copy)]
struct Shares(&'static [(f64, f64)]);

impl Shares {
    fn of(self, z: f64) -> f64 {
        let mut above = 0.0;
        for (value, share) in self.0 {
            above += share;
            if normal_quantile(1.0 - above).is_none_or(|limit| z > limit) {
                return *value;
            }
        }
        self.0.last().unwrap().0
    }

    fn mean(self) -> f64 {
        self.0.iter().map(|(value, share)| value * share).sum()
    }
}

/// Numbers of cases of the questions, in turn.
type Sizes = &'static [usize];
const ONE: Sizes = &[1];
const TO_FIVE: Sizes = &[1, 2, 3, 4, 5];
const TO_TEN: Sizes = &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

/// The values of two systems, and the question of each case. Cases of a question have 30% of their variance in common, and as much
/// in common for one system.
struct Answers {
    values: [Vec<f64>; 2],
    questions: Vec<usize>,
}

impl Answers {
    fn of(systems: [Shares; 2], sizes: Sizes, questions: usize, rng: &mut ChaCha8Rng) -> Self {
        let mut answers = Self {
            values: [Vec::new(), Vec::new()],
            questions: Vec::new(),
        };
        for question in 0..questions {
            let common = normal(rng);
            let own = [normal(rng), normal(rng)];
            for _ in 0..sizes[question % sizes.len()] {
                for at in 0..2 {
                    let z = 0.3_f64.sqrt() * (common + own[at]) + 0.4_f64.sqrt() * normal(rng);
                    answers.values[at].push(systems[at].of(z));
                }
                answers.questions.push(question);
            }
        }
        answers
    }

    fn differences(&self) -> Vec<f64> {
        let both = self.values[0].iter().zip(&self.values[1]);
        both.map(|(a, b)| a - b).collect()
    }

    fn family(&self, values: MetricValues, options: BootstrapOptions) -> PairedFamily {
        let differences = self.differences();
        paired_family(&[&differences], Some(&self.questions), values, options).unwrap()
    }
}

/// The shares of repetitions in which each of these holds, by number of questions, as a row.
fn row<const K: usize>(
    name: &str,
    repetitions: u64,
    cell: impl Fn(usize, &mut ChaCha8Rng, BootstrapOptions) -> [bool; K] + Sync,
) {
    let mut cells = Vec::new();
    for questions in QUESTIONS {
        let one = |at: u64| {
            let mut rng = ChaCha8Rng::seed_from_u64(at);
            cell(questions, &mut rng, resampling(at)).map(u32::from)
        };
        let sum = |a: [u32; K], b: [u32; K]| std::array::from_fn(|at| a[at] + b[at]);
        let held = (0..repetitions)
            .into_par_iter()
            .map(one)
            .reduce(|| [0; K], sum);
        let shares =
            held.map(|held| format!("{:.1}", 100.0 * f64::from(held) / repetitions as f64));
        cells.push(shares.join("/"));
    }
    println!("{name} | {}", cells.join(" | "));
    if let Some(before) = BEFORE
        .lines()
        .find(|line| line.starts_with(&format!("{name} | ")))
    {
        println!("    before{}", &before[name.len()..]);
    }
}

pub(super) fn cells(repetitions: u64) {
    println!("\nDifferences: type I / coverage / power, by questions");
    differences(repetitions);
    println!(
        "\nWin rates of pairs of answers: type I / simultaneous coverage / power, by questions"
    );
    win_rates(repetitions);
    println!("\nPlanned studies: power for 80, by questions of the pilot");
    planned(repetitions);
    println!("\nMeans: coverage, by questions");
    means(repetitions);
    println!(
        "\nAgreement: coverage of the intervals given, with those that are not given as holding, by units"
    );
    agreement(repetitions);
}

fn differences(repetitions: u64) {
    let range = MetricValues::Within(1.0);
    let cells: [(&str, [Shares; 2], Sizes, MetricValues); 11] = [
        ("0/1, 90% ones, 70%", [ONES_90, ONES_70], ONE, range),
        ("0/1, half ones, 70%", [ONES_70, ONES_50], ONE, range),
        ("rare loss", [RARE_LOSS, MORE_LOSSES], ONE, range),
        (
            "grades, 85% at the top, 60%",
            [CEILING, BELOW_CEILING],
            ONE,
            range,
        ),
        ("grades, spread", [EVEN, LOWER], ONE, range),
        (
            "questions of 1 to 5: grades",
            [CEILING, BELOW_CEILING],
            TO_FIVE,
            range,
        ),
        (
            "questions of 1 to 5: 0/1",
            [ONES_90, ONES_70],
            TO_FIVE,
            range,
        ),
        (
            "questions of 1 to 10: grades",
            [CEILING, BELOW_CEILING],
            TO_TEN,
            range,
        ),
        (
            "questions of 1 to 10: 0/1",
            [ONES_90, ONES_70],
            TO_TEN,
            range,
        ),
        ("questions of 1 to 10: spread", [EVEN, LOWER], TO_TEN, range),
        (
            "counts of such rare losses",
            [RARE_LOSS, MORE_LOSSES],
            ONE,
            MetricValues::Any,
        ),
    ];
    for (name, [better, worse], sizes, values) in cells {
        row(name, repetitions, |questions, rng, options| {
            let equal = Answers::of([better, better], sizes, questions, rng);
            let differ = Answers::of([better, worse], sizes, questions, rng);
            let equal = equal.family(values, options).pairs[0];
            let pair = differ.family(values, options).pairs[0];
            let held = holds(pair.interval, better.mean() - worse.mean());
            [equal.p < 0.05, held, pair.p < 0.05 && pair.difference > 0.0]
        });
    }
    row(
        "one-sided wins of 5%",
        repetitions,
        |questions, rng, options| {
            let wins: Vec<f64> = (0..questions)
                .map(|_| f64::from(u8::from(rng.random::<f64>() < 0.05)))
                .collect();
            let found = paired_family(&[&wins], None, range, options).unwrap().pairs[0];
            [holds(found.interval, 0.05)]
        },
    );
    row(
        "counts: lognormal",
        repetitions,
        |questions, rng, options| {
            let mut list = || -> Vec<f64> { (0..questions).map(|_| normal(rng).exp()).collect() };
            let (a, b, c) = (list(), list(), list());
            let minus = |a: &[f64], b: &[f64], more: f64| -> Vec<f64> {
                a.iter().zip(b).map(|(a, b)| a - b + more).collect()
            };
            let test = |list: &[f64]| {
                paired_family(&[list], None, MetricValues::Any, options)
                    .unwrap()
                    .pairs[0]
            };
            let (equal, pair) = (test(&minus(&a, &b, 0.0)), test(&minus(&a, &c, 1.0)));
            [
                equal.p < 0.05,
                holds(pair.interval, 1.0),
                pair.p < 0.05 && pair.difference > 0.0,
            ]
        },
    );
}

/// Verdicts on all pairs of systems in both orders; the difference of two strengths decides, and each answer varies.
fn verdicts(
    strengths: &[f64],
    ties: f64,
    questions: usize,
    rng: &mut ChaCha8Rng,
) -> Vec<PairVerdict> {
    let mut all = Vec::new();
    for question in 0..questions {
        let own: Vec<f64> = strengths
            .iter()
            .map(|strength| strength + 0.8 * normal(rng))
            .collect();
        for first in 0..own.len() {
            for second in 0..own.len() {
                if first == second {
                    continue;
                }
                let chance = 1.0 / (1.0 + (own[second] - own[first] - 0.4).exp());
                let win = f64::from(u8::from(rng.random::<f64>() < chance));
                let value = if rng.random::<f64>() < ties { 0.5 } else { win };
                all.push(PairVerdict::new(question, first, second, value));
            }
        }
    }
    all
}

fn rates(systems: usize, verdicts: &[PairVerdict]) -> Vec<WinRate> {
    let mut rates = Vec::new();
    for first in 0..systems {
        for second in first + 1..systems {
            rates.extend(WinRate::of(first, second, verdicts));
        }
    }
    rates
}

fn win_rates(repetitions: u64) {
    for (name, systems, step, ties) in [
        ("five systems, .3 logits apart", 5, 0.3, 0.15),
        ("five systems, 1.2 logits apart", 5, 1.2, 0.15),
        ("two systems, 80% ties", 2, 0.6, 0.8),
    ] {
        let strengths: Vec<f64> = (0..systems).map(|at| -step * at as f64).collect();
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let endless = verdicts(&strengths, ties, 40_000, &mut rng);
        let truth: Vec<f64> = rates(systems, &endless)
            .iter()
            .map(|own| 2.0 * own.win_rate - 1.0)
            .collect();
        row(name, repetitions, |questions, rng, options| {
            let family = |strengths: &[f64], rng: &mut ChaCha8Rng| {
                let verdicts = verdicts(strengths, ties, questions, rng);
                WinRate::family(&rates(systems, &verdicts), options).unwrap()
            };
            let equal = family(&vec![0.0; systems], rng);
            let found = family(&strengths, rng);
            let mut pairs = found.pairs.iter().zip(&truth);
            [
                equal.pairs.iter().any(|pair| pair.p < 0.05),
                pairs.all(|(pair, truth)| holds(pair.interval, *truth)),
                // The first two of them, which are one step apart.
                found.pairs[0].p < 0.05,
            ]
        });
    }
}

fn planned(repetitions: u64) {
    for (name, systems) in [
        (
            "planned: 0/1, 90% and 75% ones",
            [ONES_90, Shares(&[(1.0, 0.75), (0.0, 0.25)])],
        ),
        (
            "planned: grades, 85% and 60% at the top",
            [CEILING, BELOW_CEILING],
        ),
    ] {
        let difference = systems[0].mean() - systems[1].mean();
        row(name, repetitions, |questions, rng, options| {
            let values = MetricValues::Within(1.0);
            let pilot = Answers::of(systems, ONE, questions, rng).differences();
            let Some(pilot) = PilotSpread::new(&[&pilot], None, values, options) else {
                return [false];
            };
            let needed = pilot.questions_for(difference, pilot.upper * pilot.variances[0]);
            let study = Answers::of(systems, ONE, needed.min(2_000), rng);
            [study.family(values, options).pairs[0].p < 0.05]
        });
    }
}

fn means(repetitions: u64) {
    let cells: [(&str, Shares, Sizes, f64); 13] = [
        ("mean, 1 to 10 cases: grades", CEILING, TO_TEN, 0.3),
        ("mean, 1 to 10 cases: rare loss", RARE_LOSS, TO_TEN, 0.3),
        ("mean, 1 to 10 cases: spread", EVEN, TO_TEN, 0.3),
        (
            "mean, 1 to 10 cases, correlation .8: grades",
            CEILING,
            TO_TEN,
            0.8,
        ),
        (
            "mean, 1 to 10 cases, correlation .8: 0/1",
            ONES_90,
            TO_TEN,
            0.8,
        ),
        (
            "mean, 1 to 10 cases, correlation .8: rare loss",
            RARE_LOSS,
            TO_TEN,
            0.8,
        ),
        ("mean, 5 cases: grades", CEILING, &[5], 0.3),
        ("mean, 1 to 5 cases: grades", CEILING, TO_FIVE, 0.3),
        ("mean: grades", CEILING, ONE, 0.0),
        ("mean: rare loss", RARE_LOSS, ONE, 0.0),
        ("mean: 0/1, 90% ones", ONES_90, ONE, 0.0),
        ("mean: 0/1, 98% ones", ONES_98, ONE, 0.0),
        ("mean: spread", EVEN, ONE, 0.0),
    ];
    for (name, shares, sizes, correlation) in cells {
        row(name, repetitions, |questions, rng, options| {
            let (mut values, mut clusters) = (Vec::new(), Vec::new());
            for question in 0..questions {
                let common = normal(rng);
                for _ in 0..sizes[question % sizes.len()] {
                    let own = normal(rng);
                    values.push(
                        shares.of(correlation.sqrt() * common + (1.0 - correlation).sqrt() * own),
                    );
                    clusters.push(question);
                }
            }
            [holds(
                mean_interval(&values, Some(&clusters), Some(SHARE), options),
                shares.mean(),
            )]
        });
    }
    for (name, shares) in [
        ("prediction-powered: grades", CEILING),
        ("prediction-powered: 0/1", ONES_90),
    ] {
        row(name, repetitions, |labels, rng, options| {
            let answers: Vec<JudgedAnswer> = (0..5 * labels)
                .map(|question| {
                    let label = shares.of(normal(rng));
                    let judge = if rng.random::<f64>() < 0.7 {
                        label
                    } else {
                        shares.of(normal(rng))
                    };
                    let human = (question < labels).then_some(label);
                    JudgedAnswer {
                        judge,
                        human,
                        weight: 1.0,
                        question,
                    }
                })
                .collect();
            let estimand = Estimand::Mean(Some(SHARE));
            let found = prediction_powered_mean(&answers, None, estimand, options);
            [holds(found.and_then(|own| own.interval), shares.mean())]
        });
    }
    for (name, share) in [("pooled support, 95%", 0.95), ("pooled support, 5%", 0.05)] {
        row(name, repetitions, |answers, rng, _| {
            let mut units = Vec::new();
            for question in 0..answers {
                let common = normal(rng);
                for _ in 0..1 + rng.random_range(0..20) {
                    let z = 0.3_f64.sqrt() * common + 0.7_f64.sqrt() * normal(rng);
                    let is_hit = normal_quantile(1.0 - share).is_some_and(|limit| z > limit);
                    units.push(WeightedUnit {
                        weight: 1.0,
                        is_hit,
                        question,
                    });
                }
            }
            [holds(
                weighted_share(&units, 0.95).and_then(|own| own.interval),
                share,
            )]
        });
    }
}

fn agreement(repetitions: u64) {
    const GRADES: Shares = Shares(&[
        (5.0, 0.8),
        (4.0, 0.1),
        (3.0, 0.05),
        (2.0, 0.03),
        (1.0, 0.02),
    ]);
    let interval = Coefficient::Alpha(MeasurementLevel::Interval);
    let nominal = Coefficient::Alpha(MeasurementLevel::Nominal);
    for (name, shares, raters, coefficient) in [
        (
            "three raters, 80% at the top: interval alpha",
            GRADES,
            3,
            interval,
        ),
        (
            "three raters, 80% at the top: nominal alpha",
            GRADES,
            3,
            nominal,
        ),
        (
            "three raters, 80% at the top: ICC",
            GRADES,
            3,
            Coefficient::Icc,
        ),
        ("three raters, 0/1, 90% ones: alpha", ONES_90, 3, nominal),
        ("three raters, spread: interval alpha", EVEN, 3, interval),
        (
            "two raters, 80% at the top: interval alpha",
            GRADES,
            2,
            interval,
        ),
        (
            "two raters, 80% at the top: kappa",
            GRADES,
            2,
            Coefficient::Kappa,
        ),
        (
            "two raters, 0/1, 90% ones: kappa",
            ONES_90,
            2,
            Coefficient::Kappa,
        ),
        (
            "two raters, 0/1, 90% ones: ICC",
            ONES_90,
            2,
            Coefficient::Icc,
        ),
        (
            "two raters, 0/1, half ones: kappa",
            ONES_50,
            2,
            Coefficient::Kappa,
        ),
    ] {
        let rated = |units: usize, rng: &mut ChaCha8Rng| -> Vec<Vec<Option<f64>>> {
            let mut all = vec![Vec::new(); raters];
            for _ in 0..units {
                let quality = shares.of(normal(rng));
                for own in &mut all {
                    let knows = rng.random::<f64>() < 0.75;
                    own.push(Some(if knows {
                        quality
                    } else {
                        shares.of(normal(rng))
                    }));
                }
            }
            all
        };
        // Two raters agree by knowledge with the probability 0.75^2, which every coefficient measures.
        let truth = 0.75 * 0.75;
        row(name, repetitions, |units, rng, _| {
            let rated = rated(units, rng);
            let rows: Vec<&[Option<f64>]> = rated.iter().map(Vec::as_slice).collect();
            let own: Vec<usize> = (0..units).collect();
            [holds(coefficient.interval(&rows, &own, 0.95), truth)]
        });
    }
}
