//! How often intervals hold the truth and tests reject it, by simulation: nominal 95% and 5%.
//!
//! `cargo bench --bench coverage [-- cells means net counts citations pairs judged families power agreement tables powered looks
//! pair-looks old-scale labels dear-verdicts panel-errors ranks self-preference gates rogan-gladen]
//! [--reps 2000]`

#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "coverage/cells.rs"]
mod cells;
#[path = "coverage/citations.rs"]
mod citations;
#[path = "coverage/counts.rs"]
mod counts;
#[path = "coverage/dear_verdicts.rs"]
mod dear_verdicts;
#[path = "coverage/gates.rs"]
mod gates;
#[path = "coverage/judge_ranks.rs"]
mod judge_ranks;
#[path = "coverage/judged_pairs.rs"]
mod judged_pairs;
#[path = "coverage/labels.rs"]
mod labels;
#[path = "coverage/looks.rs"]
mod looks;
#[path = "coverage/net_shares.rs"]
mod net_shares;
#[path = "coverage/old_scale.rs"]
mod old_scale;
#[path = "coverage/pair_looks.rs"]
mod pair_looks;
#[path = "coverage/panel_errors.rs"]
mod panel_errors;
#[path = "coverage/power.rs"]
mod power;
#[path = "coverage/powered.rs"]
mod powered;
#[path = "coverage/rogan_gladen.rs"]
mod rogan_gladen;
#[path = "coverage/self_preference.rs"]
mod self_preference;
#[path = "coverage/tables.rs"]
mod tables;

use cells::cells;
use citations::citations;
use counts::counts;
use dear_verdicts::dear_verdicts;
use gates::gates;
use judge_ranks::ranks;
use judged_pairs::judged_pairs;
use labels::labels;
use looks::looks;
use net_shares::net_shares;
use old_scale::old_scale;
use pair_looks::pair_looks;
use panel_errors::panel_errors;
use power::power;
use powered::powered;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use rogan_gladen::rogan_gladen_shares;
use scholareval::stats::{
    BootstrapOptions, Coefficient, Correlation, Interval, MeasurementLevel, MetricValues, mean,
    mean_interval, paired_family,
};
use self_preference::self_preference;
use tables::tables;

const RESAMPLES: u32 = 999;

fn resampling(seed: u64) -> BootstrapOptions {
    let mut options = BootstrapOptions::seeded(seed);
    options.resamples = RESAMPLES;
    options
}

/// A distribution of scores with its mean.
#[derive(Debug, Clone, Copy)]
enum Scores {
    /// Normal with mean 0.5 and this standard deviation, cut to 0..=1.
    Normal(f64),
    /// 1 with this probability, else 0.
    Right(f64),
    /// Grades of which 85% are at the top: 1, 0.75, 0.5, 0 with 85, 10, 3, 2%.
    Ceiling,
    /// Grades in fifths: 0, 0.25, 0.5, 0.75, 1 with 10, 10, 30, 35, 15%.
    Grades,
    /// Counts without a bound: lognormal.
    Lognormal,
}

/// A distribution of paired differences with mean 0.
#[derive(Debug, Clone, Copy)]
enum Differences {
    Normal,
    /// 70% ties, else 1 or -1.
    Ties,
    /// Of two grades.
    Grades,
    /// Lognormal less its mean: skewed.
    Lognormal,
    /// 70% ties, 25% wins of 1, 5% losses of 5.
    RareLosses,
}

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (u, v): (f64, f64) = (rng.random(), rng.random());
    (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

fn pick(rng: &mut ChaCha8Rng, values: &[(f64, f64)]) -> f64 {
    let mut left: f64 = rng.random();
    let found = values.iter().find(|(_, share)| {
        left -= share;
        left < 0.0
    });
    found.or(values.last()).map_or(0.0, |(value, _)| *value)
}

impl Scores {
    /// A score; `z` is standard normal, so that scores of a question can be correlated.
    fn of(self, z: f64, rng: &mut ChaCha8Rng) -> f64 {
        match self {
            Self::Normal(sd) => (0.5 + sd * z).clamp(0.0, 1.0),
            Self::Right(p) => f64::from(u8::from(rng.random::<f64>() < p)),
            Self::Ceiling => ceiling_grade(z),
            Self::Grades => pick(
                rng,
                &[
                    (0.0, 0.1),
                    (0.25, 0.1),
                    (0.5, 0.3),
                    (0.75, 0.35),
                    (1.0, 0.15),
                ],
            ),
            Self::Lognormal => z.exp(),
        }
    }

    fn mean(self) -> f64 {
        match self {
            Self::Normal(_) => 0.5,
            Self::Right(p) => p,
            Self::Ceiling => 0.94,
            Self::Grades => 0.5875,
            Self::Lognormal => 0.5_f64.exp(),
        }
    }

    fn range(self) -> Option<Interval> {
        (!matches!(self, Self::Lognormal)).then_some(Interval {
            low: 0.0,
            high: 1.0,
        })
    }
}

/// The grade of a standard normal number: above its quantiles of 15, 5 and 2%.
fn ceiling_grade(z: f64) -> f64 {
    if z > -1.0364 {
        1.0
    } else if z > -1.6449 {
        0.75
    } else if z > -2.0537 {
        0.5
    } else {
        0.0
    }
}

impl Differences {
    fn of(self, rng: &mut ChaCha8Rng) -> f64 {
        match self {
            Self::Normal => normal(rng),
            Self::Ties => pick(rng, &[(0.0, 0.7), (1.0, 0.15), (-1.0, 0.15)]),
            Self::Grades => Scores::Grades.of(0.0, rng) - Scores::Grades.of(0.0, rng),
            Self::Lognormal => normal(rng).exp() - 0.5_f64.exp(),
            Self::RareLosses => pick(rng, &[(0.0, 0.7), (1.0, 0.25), (-5.0, 0.05)]),
        }
    }
}

/// The share of repetitions in which `holds`, in percent, with one standard error.
fn share(
    repetitions: u64,
    holds: impl Fn(&mut ChaCha8Rng, BootstrapOptions) -> bool + Sync,
) -> String {
    let one = |at: u64| {
        let mut rng = ChaCha8Rng::seed_from_u64(at);
        holds(&mut rng, resampling(at))
    };
    let held = (0..repetitions)
        .into_par_iter()
        .filter(|at| one(*at))
        .count() as f64
        / repetitions as f64;
    let error = (held * (1.0 - held) / repetitions as f64).sqrt();
    format!("{:5.1} ±{:.1}", 100.0 * held, 100.0 * error)
}

fn holds(interval: Option<Interval>, truth: f64) -> bool {
    interval.is_none_or(|interval| interval.low <= truth + 1e-12 && truth - 1e-12 <= interval.high)
}

fn means(repetitions: u64) {
    println!("\nIntervals of means: share that holds the mean (%), by questions");
    println!(
        "{:28} {:>11} {:>11} {:>11} {:>11}",
        "scores", 8, 20, 50, 100
    );
    let all = [
        Scores::Normal(0.15),
        Scores::Normal(0.05),
        Scores::Right(0.5),
        Scores::Right(0.9),
        Scores::Ceiling,
        Scores::Grades,
        Scores::Lognormal,
    ];
    for (name, sizes) in [("", &[1][..]), (", clusters of 1, 1, 1, 9", &[1, 1, 1, 9])] {
        for scores in all {
            let cell = |questions: usize| {
                share(repetitions, |rng, options| {
                    let (mut values, mut clusters) = (Vec::new(), Vec::new());
                    for question in 0..questions {
                        let common = normal(rng);
                        for _ in 0..sizes[question % sizes.len()] {
                            let z = 0.3_f64.sqrt() * common + 0.7_f64.sqrt() * normal(rng);
                            values.push(scores.of(z, rng));
                            clusters.push(question);
                        }
                    }
                    let found = mean_interval(&values, Some(&clusters), scores.range(), options);
                    holds(found, scores.mean())
                })
            };
            let cells: Vec<String> = [8, 20, 50, 100].map(cell).to_vec();
            println!(
                "{:28} {}",
                format!("{scores:?}{name}"),
                cells
                    .iter()
                    .map(|cell| format!("{cell:>11}"))
                    .collect::<Vec<_>>()
                    .join(" ")
            );
        }
    }
}

fn pairs(repetitions: u64) {
    println!("\nTests of one pair with equal means: significant at 5% (%), by questions");
    println!(
        "{:28} {:>11} {:>11} {:>11} {:>11}",
        "differences", 8, 20, 50, 100
    );
    for differences in [
        Differences::Normal,
        Differences::Ties,
        Differences::Grades,
        Differences::Lognormal,
        Differences::RareLosses,
    ] {
        let cell = |questions: usize| {
            share(repetitions, |rng, options| {
                let values: Vec<f64> = (0..questions).map(|_| differences.of(rng)).collect();
                paired_family(&[&values], None, MetricValues::Any, options)
                    .is_some_and(|family| family.pairs[0].p < 0.05)
            })
        };
        let cells = [8, 20, 50, 100].map(cell);
        println!(
            "{:28} {}",
            format!("{differences:?}"),
            cells.map(|cell| format!("{cell:>11}")).join(" ")
        );
    }
}

/// The differences of all pairs of equal systems.
fn differences(
    noise: Differences,
    systems: usize,
    questions: usize,
    rng: &mut ChaCha8Rng,
) -> Vec<Vec<f64>> {
    let mut scores = vec![Vec::new(); systems];
    for _ in 0..questions {
        scores.iter_mut().for_each(|own| own.push(noise.of(rng)));
    }
    let pairs = (0..systems).flat_map(|a| (a + 1..systems).map(move |b| (a, b)));
    pairs
        .map(|(a, b)| {
            scores[a]
                .iter()
                .zip(&scores[b])
                .map(|(x, y)| x - y)
                .collect()
        })
        .collect()
}

fn families(repetitions: u64) {
    println!(
        "\nAll pairs of equal systems: no pair significant, simultaneous intervals hold 0 (%), by questions"
    );
    println!(
        "{:28} {:>11} {:>11} {:>11} {:>11}",
        "scores, systems", 12, 20, 50, 100
    );
    for noise in [
        Differences::Normal,
        Differences::Grades,
        Differences::Lognormal,
        Differences::Ties,
        Differences::RareLosses,
    ] {
        for systems in [4, 6] {
            let cell = |questions: usize| {
                share(repetitions, |rng, options| {
                    let lists = differences(noise, systems, questions, rng);
                    let lists: Vec<&[f64]> = lists.iter().map(Vec::as_slice).collect();
                    let family = paired_family(&lists, None, MetricValues::Any, options);
                    family.is_some_and(|family| {
                        family.pairs.iter().all(|pair| {
                            assert_eq!(holds(pair.interval, 0.0), pair.p >= 0.05, "{pair:?}");
                            pair.p >= 0.05
                        })
                    })
                })
            };
            let cells = [12, 20, 50, 100].map(cell);
            println!(
                "{:28} {}",
                format!("{noise:?}, {systems}"),
                cells.map(|cell| format!("{cell:>11}")).join(" ")
            );
        }
    }
}

/// A measure of the agreement of two raters.
#[derive(Debug, Clone, Copy)]
enum Measure {
    /// Kappa of which of two is better, each pair in both orders.
    KappaOfPairs,
    /// The share of pairs with the same outcome, half for a tie of one.
    BetterOfTwo,
    Kappa,
    QuadraticKappa,
    Alpha,
    Icc,
    TauB,
}

/// Ratings of two raters, and the question of each.
type Rated = ([Vec<f64>; 2], Vec<usize>);

/// Grades from 1 to 5, or outcomes of pairs, of answers with a common part of their quality per question; each rater's error
/// has a common part, too. `signal` is the share of the quality in the variance of a rating.
fn rated(rng: &mut ChaCha8Rng, questions: usize, size: usize, signal: f64, pairs: bool) -> Rated {
    let (mut ratings, mut clusters) = ([Vec::new(), Vec::new()], Vec::new());
    let within =
        |common: f64, share: f64, own: f64| share.sqrt() * common + (1.0 - share).sqrt() * own;
    for question in 0..questions {
        let [quality, error, other_error] = [0, 1, 2].map(|_| normal(rng));
        for _ in 0..size {
            let quality = within(quality, if pairs { 0.1 } else { 0.3 }, normal(rng));
            for (ratings, error) in ratings.iter_mut().zip([error, other_error]) {
                let value = within(quality, signal, within(error, 0.3, normal(rng)));
                let grade = 3.0 + (value / 0.8).round().clamp(-2.0, 2.0);
                ratings.push(if !pairs {
                    grade
                } else if value.abs() <= 0.2 {
                    0.0
                } else {
                    value.signum()
                });
            }
            clusters.push(question);
        }
    }
    (ratings, clusters)
}

impl Measure {
    fn is_of_pairs(self) -> bool {
        matches!(self, Self::KappaOfPairs | Self::BetterOfTwo)
    }

    /// The value, and its interval unless only the value is wanted.
    fn of(self, ([x, y], questions): &Rated, is_value: bool) -> (Option<f64>, Option<Interval>) {
        let both_orders = |list: &[f64]| list.iter().chain(list).copied().collect::<Vec<f64>>();
        let (mut a, mut b, mut clusters) = (x.clone(), y.clone(), questions.clone());
        if let Self::KappaOfPairs = self {
            (a, b) = (both_orders(x), both_orders(y));
            a[x.len()..]
                .iter_mut()
                .chain(&mut b[y.len()..])
                .for_each(|value| *value = 0.0 - *value);
            clusters.extend_from_slice(questions);
        }
        let [a, b] = [a, b].map(|list| list.into_iter().map(Some).collect::<Vec<_>>());
        let credit = |(x, y): (&f64, &f64)| f64::midpoint(1.0, if x == y { 1.0 } else { x * y });
        let credits: Vec<f64> = x.iter().zip(y).map(credit).collect();
        let share = Interval {
            low: 0.0,
            high: 1.0,
        };
        let coefficient = match self {
            Self::Alpha => Coefficient::Alpha(MeasurementLevel::Ordinal),
            Self::Icc => Coefficient::Icc,
            Self::QuadraticKappa => Coefficient::QuadraticKappa,
            _ => Coefficient::Kappa,
        };
        let value = match self {
            Self::BetterOfTwo => mean(&credits),
            Self::TauB => Correlation::KendallTauB.of(x, y),
            _ => coefficient.of(&[&a, &b]),
        };
        let interval = || match self {
            Self::BetterOfTwo => mean_interval(
                &credits,
                Some(questions),
                Some(share),
                BootstrapOptions::seeded(1),
            ),
            Self::TauB => Correlation::KendallTauB.clustered_interval(x, y, questions, 0.95),
            _ => coefficient.interval(&[&a, &b], &clusters, 0.95),
        };
        (value, if is_value { None } else { interval() })
    }
}

fn agreement(repetitions: u64) {
    println!(
        "\nIntervals of agreement: share of those given that hold the value (%), by questions x answers"
    );
    println!(
        "{:28} {:>11} {:>11} {:>11} {:>11} {:>11} {:>11}",
        "measure", "10x1", "10x5", "20x1", "20x5", "50x1", "50x5"
    );
    for measure in [
        Measure::KappaOfPairs,
        Measure::BetterOfTwo,
        Measure::Kappa,
        Measure::QuadraticKappa,
        Measure::Alpha,
        Measure::Icc,
        Measure::TauB,
    ] {
        for signal in [0.3, 0.8, 0.97] {
            let many = rated(
                &mut ChaCha8Rng::seed_from_u64(9),
                60_000,
                5,
                signal,
                measure.is_of_pairs(),
            );
            let truth = measure.of(&many, true).0.unwrap();
            let cell = |(questions, size): (usize, usize)| {
                let found = (0..repetitions).into_par_iter().filter_map(|at| {
                    let mut rng = ChaCha8Rng::seed_from_u64(at);
                    measure
                        .of(
                            &rated(&mut rng, questions, size, signal, measure.is_of_pairs()),
                            false,
                        )
                        .1
                });
                let held: Vec<bool> = found.map(|interval| holds(Some(interval), truth)).collect();
                let share = held.iter().filter(|held| **held).count() as f64 / held.len() as f64;
                format!(
                    "{:5.1} ±{:.1}",
                    100.0 * share,
                    100.0 * (share * (1.0 - share) / held.len() as f64).sqrt()
                )
            };
            let cells = [(10, 1), (10, 5), (20, 1), (20, 5), (50, 1), (50, 5)].map(cell);
            println!(
                "{:28} {}",
                format!("{measure:?} {truth:.2}"),
                cells.map(|cell| format!("{cell:>11}")).join(" ")
            );
        }
    }
}

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    let repetitions = words
        .windows(2)
        .find(|two| two[0] == "--reps")
        .and_then(|two| two[1].parse().ok())
        .unwrap_or(2_000);
    let is_named = |name: &str| words.iter().any(|word| word == name);
    let all = ![
        "cells",
        "means",
        "net",
        "counts",
        "citations",
        "pairs",
        "judged",
        "families",
        "power",
        "agreement",
        "tables",
        "powered",
        "looks",
        "pair-looks",
        "old-scale",
        "labels",
        "gates",
        "rogan-gladen",
        "dear-verdicts",
        "panel-errors",
        "ranks",
        "self-preference",
    ]
    .into_iter()
    .any(is_named);
    if all || is_named("cells") {
        cells(repetitions);
    }
    if all || is_named("means") {
        means(repetitions);
    }
    if all || is_named("net") {
        net_shares(repetitions);
    }
    if all || is_named("counts") {
        counts(repetitions);
    }
    if all || is_named("labels") {
        labels(repetitions);
    }
    if all || is_named("gates") {
        gates(repetitions);
    }
    if all || is_named("rogan-gladen") {
        rogan_gladen_shares(repetitions);
    }
    if all || is_named("dear-verdicts") {
        dear_verdicts(repetitions);
    }
    if all || is_named("panel-errors") {
        panel_errors(repetitions);
    }
    if all || is_named("ranks") {
        ranks(repetitions);
    }
    if all || is_named("self-preference") {
        self_preference(repetitions);
    }
    if all || is_named("old-scale") {
        old_scale(repetitions);
    }
    if all || is_named("looks") {
        looks(repetitions);
    }
    if all || is_named("pair-looks") {
        pair_looks(repetitions);
    }
    if all || is_named("citations") {
        citations(repetitions);
    }
    if all || is_named("pairs") {
        pairs(repetitions);
    }
    if all || is_named("judged") {
        judged_pairs(repetitions);
    }
    if all || is_named("families") {
        families(repetitions);
    }
    if all || is_named("power") {
        power(repetitions);
    }
    if all || is_named("agreement") {
        agreement(repetitions);
    }
    if all || is_named("tables") {
        tables(repetitions);
    }
    if all || is_named("powered") {
        powered(repetitions);
    }
}
