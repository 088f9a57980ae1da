//! Means on the scale of an old judge: by anchors, and by systems that both judges scored.

use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use scholareval::stats::{
    AnchoredAnswer, AnchoredMean, Interval, anchored_mean, carried_mean, mean, mean_interval,
};

use super::{Scores, holds, normal, resampling, share};

const ANSWERS: usize = 100;
const ANCHORS: [usize; 4] = [20, 30, 50, 75];

/// Scores by the old judge, and how the new one differs.
#[derive(Debug, Clone, Copy)]
enum Judges {
    /// The new judge is 0.1 lower, with normal noise.
    Noisy(Scores),
    /// In this share of the answers the new judge's score is that of another answer.
    Mistaken(Scores, f64),
    /// As `Mistaken`, and 5% of the old judge's verdicts failed and count as 0.
    Failing(Scores, f64),
}

impl Judges {
    /// The old and the new judge's score of an answer.
    fn of(self, rng: &mut ChaCha8Rng) -> [f64; 2] {
        match self {
            Self::Noisy(scores) => {
                let old = scores.of(normal(rng), rng);
                [old, (old - 0.1 + 0.07 * normal(rng)).clamp(0.0, 1.0)]
            }
            Self::Mistaken(scores, share) => {
                let old = scores.of(normal(rng), rng);
                if rng.random::<f64>() < share {
                    [old, scores.of(normal(rng), rng)]
                } else {
                    [old, old]
                }
            }
            Self::Failing(scores, share) => {
                let [old, new] = Self::Mistaken(scores, share).of(rng);
                let is_failed = rng.random::<f64>() < 0.05;
                [if is_failed { 0.0 } else { old }, new]
            }
        }
    }

    fn mean(self) -> f64 {
        match self {
            Self::Noisy(scores) | Self::Mistaken(scores, _) => scores.mean(),
            Self::Failing(scores, _) => 0.95 * scores.mean(),
        }
    }
}

/// Counts of repetitions.
#[derive(Debug, Clone, Copy, Default)]
struct Held {
    given: u64,
    of_answers: u64,
    given_for_questions: u64,
    of_questions: u64,
    half_width: f64,
    alone: f64,
}

impl Held {
    fn of(found: &AnchoredMean, old: &[f64], judges: Judges) -> Self {
        let mut held = Self::default();
        if let Some(interval) = found.interval {
            held.given = 1;
            held.of_answers = holds_given(interval, mean(old).unwrap());
            held.half_width = interval.half_width();
            held.alone = found.alone_interval.map_or(0.0, Interval::half_width);
        }
        if let Some(interval) = found.of_questions {
            held.given_for_questions = 1;
            held.of_questions = holds_given(interval, judges.mean());
        }
        held
    }

    fn and(self, other: Self) -> Self {
        Self {
            given: self.given + other.given,
            of_answers: self.of_answers + other.of_answers,
            given_for_questions: self.given_for_questions + other.given_for_questions,
            of_questions: self.of_questions + other.of_questions,
            half_width: self.half_width + other.half_width,
            alone: self.alone + other.alone,
        }
    }
}

fn holds_given(interval: Interval, truth: f64) -> u64 {
    u64::from(holds(Some(interval), truth))
}

/// One run: the old judge scores the first answers, which are as random as any.
fn repetition(judges: Judges, anchors: usize, seed: u64) -> Held {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut by_old = Vec::new();
    let mut answers = Vec::new();
    for question in 0..ANSWERS {
        let [old, new] = judges.of(&mut rng);
        by_old.push(old);
        answers.push(AnchoredAnswer {
            new,
            old: (question < anchors).then_some(old),
            question,
        });
    }
    let range = Some(Interval {
        low: 0.0,
        high: 1.0,
    });
    let found = anchored_mean(&answers, range, resampling(seed)).unwrap();
    Held::of(&found, &by_old, judges)
}

fn by_anchors(repetitions: u64) {
    println!(
        "\nMeans on an old judge's scale, {ANSWERS} answers: intervals that hold the mean of these answers / of the questions (%), \
         [given (%)], half-width and that of the anchors alone, by anchors"
    );
    for judges in [
        Judges::Noisy(Scores::Normal(0.15)),
        Judges::Mistaken(Scores::Grades, 0.3),
        Judges::Mistaken(Scores::Right(0.9), 0.15),
        Judges::Mistaken(Scores::Right(0.9), 0.5),
        Judges::Mistaken(Scores::Ceiling, 0.3),
        Judges::Mistaken(Scores::Right(0.05), 0.5),
        Judges::Failing(Scores::Grades, 0.3),
        Judges::Failing(Scores::Ceiling, 0.3),
    ] {
        let mut cells = Vec::new();
        for anchors in ANCHORS {
            let held = (0..repetitions)
                .into_par_iter()
                .map(|seed| repetition(judges, anchors, seed))
                .reduce(Held::default, Held::and);
            let given = held.given.max(1) as f64;
            cells.push(format!(
                "{:5.1} / {:5.1} [{:3.0}] {:.3} {:.3}",
                100.0 * held.of_answers as f64 / given,
                100.0 * held.of_questions as f64 / held.given_for_questions.max(1) as f64,
                100.0 * held.given as f64 / repetitions as f64,
                held.half_width / given,
                held.alone / given,
            ));
        }
        println!("{:38} {}", format!("{judges:?}"), cells.join("  "));
    }
}

/// The intervals for the questions with a random half scored by the old, dear judge, against those of a full run by it and of
/// the half alone: mean ratios of their half-widths.
fn by_half(repetitions: u64) {
    println!(
        "\nA random half by the dear judge: half-width for the questions against a full run of it, and against the half alone"
    );
    let range = Some(Interval {
        low: 0.0,
        high: 1.0,
    });
    for noise in [0.1, 0.15, 0.2] {
        let mut ratios = [0.0; 2];
        for seed in 0..repetitions {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let mut by_dear = Vec::new();
            let mut answers = Vec::new();
            for question in 0..ANSWERS {
                let dear = Scores::Normal(0.15).of(normal(&mut rng), &mut rng);
                by_dear.push(dear);
                answers.push(AnchoredAnswer {
                    new: (0.5 + 0.8 * (dear - 0.5) + noise * 0.6 * normal(&mut rng))
                        .clamp(0.0, 1.0),
                    old: (question < ANSWERS / 2).then_some(dear),
                    question,
                });
            }
            let width = |values: &[f64]| {
                let interval = mean_interval(values, None, range, resampling(seed)).unwrap();
                interval.half_width()
            };
            let found = anchored_mean(&answers, range, resampling(seed)).unwrap();
            let corrected = found.of_questions.unwrap().half_width();
            ratios[0] += corrected / width(&by_dear);
            ratios[1] += corrected / width(&by_dear[..ANSWERS / 2]);
        }
        let [full, alone] = ratios.map(|sum| sum / repetitions as f64);
        println!("noise {noise:.2}: {full:.2} {alone:.2}");
    }
}

/// How the shifts of systems differ.
#[derive(Debug, Clone, Copy)]
enum Shifts {
    Normal,
    /// Student's t with three degrees of freedom.
    HeavyTails,
    /// 19 of 20 systems alike, one favored by 30 points.
    Favored,
}

impl Shifts {
    fn of(self, rng: &mut ChaCha8Rng) -> f64 {
        match self {
            Self::Normal => 0.05 * normal(rng),
            Self::HeavyTails => {
                let squares: f64 = (0..3).map(|_| normal(rng).powi(2)).sum();
                0.05 * normal(rng) / (squares / 3.0).sqrt()
            }
            Self::Favored if rng.random::<f64>() < 0.05 => -0.3,
            Self::Favored => 0.02 * normal(rng),
        }
    }
}

fn by_systems(repetitions: u64) {
    println!(
        "\nA further system on the old scale: intervals that hold its mean by the old judge (%), by systems that both scored"
    );
    for shifts in [Shifts::Normal, Shifts::HeavyTails, Shifts::Favored] {
        let cells = [5, 8, 12, 26].map(|systems| {
            share(repetitions, |rng, options| {
                let anchors: Vec<f64> = (0..systems).map(|_| shifts.of(rng)).collect();
                let carried = carried_mean(0.5, &anchors, None, options.level).unwrap();
                holds(carried.interval, 0.5 + shifts.of(rng))
            })
        });
        println!(
            "{:28} {}",
            format!("{shifts:?}"),
            cells.map(|cell| format!("{cell:>11}")).join(" ")
        );
    }
}

pub(super) fn old_scale(repetitions: u64) {
    by_anchors(repetitions);
    by_half(repetitions);
    by_systems(repetitions);
}
