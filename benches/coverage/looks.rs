//! Runs that end at a look (`score --until`): wrong decisions, power, calls saved, and gates that flip when the same answers are
//! judged again.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use scholareval::analysis::comparison::{Decision, LookSchedule, PairAtLook};
use scholareval::stats::{LookEstimate, MetricValues};

use super::normal;

/// Questions of a run, and criteria of a question.
const QUESTIONS: usize = 100;
const CRITERIA: usize = 4;
/// Mean differences of the systems that differ.
const DIFFERENCES: [f64; 4] = [0.0, 0.05, 0.1, 0.2];

/// A judge whose repeated verdicts on a criterion differ in this share of cases: the log odds of a verdict are normal over
/// questions and over criteria.
struct NoisyJudge {
    flips: f64,
    mean: f64,
    of_questions: f64,
    of_criteria: f64,
}

const JUDGES: [NoisyJudge; 2] = [
    NoisyJudge {
        flips: 0.13,
        mean: 1.0,
        of_questions: 1.0,
        of_criteria: 5.7,
    },
    NoisyJudge {
        flips: 0.4,
        mean: 0.5,
        of_questions: 0.5,
        of_criteria: 0.85,
    },
];

/// Which pairs are decided.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pairs {
    One,
    Baseline,
    All,
}

impl Pairs {
    pub(super) fn systems(self) -> usize {
        match self {
            Self::One => 2,
            Self::Baseline | Self::All => 5,
        }
    }

    /// The pairs; every second system is better, so that some are equal.
    pub(super) fn list(self) -> Vec<(usize, usize)> {
        let mut pairs = Vec::new();
        for first in 0..self.systems() {
            for second in 0..first {
                if second == 0 || matches!(self, Self::All) {
                    pairs.push((first, second));
                }
            }
        }
        pairs
    }
}

impl NoisyJudge {
    /// The probability that each criterion is met, by system, question and criterion; systems with odd numbers are better by
    /// about `difference`.
    fn chances(&self, systems: usize, difference: f64, rng: &mut ChaCha8Rng) -> Vec<Vec<Vec<f64>>> {
        // The mean of p (1 - p) is half the share of verdicts that flip.
        let shift = difference / (self.flips / 2.0);
        let mut chances = vec![Vec::new(); systems];
        for _ in 0..QUESTIONS {
            let of_question = self.mean + self.of_questions * normal(rng);
            for (system, own) in chances.iter_mut().enumerate() {
                let better = if system % 2 == 1 { shift } else { 0.0 };
                let mut of_answer = Vec::new();
                for _ in 0..CRITERIA {
                    let odds = of_question + better + self.of_criteria * normal(rng);
                    of_answer.push(1.0 / (1.0 + (-odds).exp()));
                }
                own.push(of_answer);
            }
        }
        chances
    }
}

/// The scores of the answers, judged once.
fn judged(chances: &[Vec<Vec<f64>>], rng: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
    let mut scores = Vec::new();
    for of_system in chances {
        let mut own = Vec::new();
        for of_answer in of_system {
            let met = of_answer
                .iter()
                .filter(|p| rng.random::<f64>() < **p)
                .count();
            own.push(met as f64 / CRITERIA as f64);
        }
        scores.push(own);
    }
    scores
}

/// The look at which a run over these scores ends, with its decisions.
fn end(
    schedule: &LookSchedule,
    scores: &[Vec<f64>],
    pairs: &[(usize, usize)],
    margin: f64,
) -> (usize, Vec<Decision>) {
    let mut decisions = Vec::new();
    for at in 0..schedule.looks.len() {
        let asked = schedule.looks[at].questions;
        let mut looked = Vec::new();
        for (first, second) in pairs {
            let own = scores[*first][..asked].iter().zip(&scores[*second]);
            let differences: Vec<f64> = own.map(|(a, b)| a - b).collect();
            looked.push(PairAtLook {
                systems: [first.to_string(), second.to_string()],
                margin,
                estimate: LookEstimate::of(&differences, None, MetricValues::Any),
                extremes: None,
            });
        }
        decisions.clear();
        for pair in schedule.decide(at, &looked) {
            decisions.push(pair.decision);
        }
        if decisions.iter().all(|own| *own != Decision::Undecided) {
            return (asked, decisions);
        }
    }
    (QUESTIONS, decisions)
}

/// What came of one run.
#[derive(Default)]
struct Tally {
    /// Runs with a wrong decision.
    wrong: f64,
    /// Pairs that differ, and those of them that are decided rightly.
    differing: f64,
    right: f64,
    saved: f64,
}

impl Tally {
    fn add(mut self, other: Self) -> Self {
        self.wrong += other.wrong;
        self.differing += other.differing;
        self.right += other.right;
        self.saved += other.saved;
        self
    }

    fn of(
        pairs: &[(usize, usize)],
        difference: f64,
        (asked, decisions): (usize, Vec<Decision>),
    ) -> Self {
        let mut tally = Self {
            saved: 1.0 - asked as f64 / QUESTIONS as f64,
            ..Self::default()
        };
        for ((first, second), decision) in pairs.iter().zip(decisions) {
            let sign = (first % 2) as f64 - (second % 2) as f64;
            let expected = if sign * difference > 0.0 {
                Some(Decision::Above)
            } else if sign * difference < 0.0 {
                Some(Decision::Below)
            } else {
                None
            };
            let is_decided = matches!(decision, Decision::Above | Decision::Below);
            tally.differing += f64::from(u8::from(expected.is_some()));
            if expected == Some(decision) {
                tally.right += 1.0;
            } else if is_decided {
                tally.wrong = 1.0;
            }
        }
        tally
    }
}

pub(crate) fn looks(repetitions: u64) {
    println!(
        "looks: wrong decisions (% of runs), power and that of the whole run (% of pairs that differ), calls saved (%)"
    );
    for judge in &JUDGES {
        for pairs in [Pairs::One, Pairs::Baseline, Pairs::All] {
            for difference in DIFFERENCES {
                cell(judge, pairs, difference, repetitions);
            }
        }
    }
    println!("gates: the same answers judged twice, new >= old - 0.05 (% of pairs of runs)");
    for judge in &JUDGES {
        for difference in [0.0, -0.05, -0.1] {
            flips(judge, difference, repetitions);
        }
    }
}

fn cell(judge: &NoisyJudge, wanted: Pairs, difference: f64, repetitions: u64) {
    let pairs = wanted.list();
    let schedule = LookSchedule::of(QUESTIONS, pairs.len());
    let whole = LookSchedule::with_information(&[(QUESTIONS, 1.0)], pairs.len());
    let run = |at: u64| {
        let mut rng = ChaCha8Rng::seed_from_u64(at);
        let chances = judge.chances(wanted.systems(), difference, &mut rng);
        let scores = judged(&chances, &mut rng);
        let looked = Tally::of(&pairs, difference, end(&schedule, &scores, &pairs, 0.0));
        let full = Tally::of(&pairs, difference, end(&whole, &scores, &pairs, 0.0));
        (looked, full)
    };
    let (looked, full) = (0..repetitions)
        .into_par_iter()
        .map(run)
        .reduce(Default::default, |a, b| (a.0.add(b.0), a.1.add(b.1)));
    let percent = |part: f64, of: f64| 100.0 * part / of;
    let runs = repetitions as f64;
    println!(
        "{:>4.0}% flip  {:>2} pairs  difference {difference:.2}: wrong {:4.1} ({:4.1})  power {:5.1} ({:5.1})  saved {:4.1}",
        100.0 * judge.flips,
        pairs.len(),
        percent(looked.wrong, runs),
        percent(full.wrong, runs),
        percent(looked.right, looked.differing),
        percent(full.right, full.differing),
        percent(looked.saved, runs),
    );
}

/// How often the second judgment of the same answers turns a gate from met to missed or back.
fn flips(judge: &NoisyJudge, difference: f64, repetitions: u64) {
    let schedule = LookSchedule::of(QUESTIONS, 1);
    let is_flip = |at: &u64| {
        let mut rng = ChaCha8Rng::seed_from_u64(1_000_000 + at);
        let chances = judge.chances(2, difference, &mut rng);
        let mut once = || end(&schedule, &judged(&chances, &mut rng), &[(1, 0)], 0.05).1[0];
        let both = [once(), once()];
        both.contains(&Decision::Above) && both.contains(&Decision::Below)
    };
    let count = (0..repetitions).into_par_iter().filter(is_flip).count();
    println!(
        "{:>4.0}% flip  difference {difference:5.2}: {:.2}",
        100.0 * judge.flips,
        100.0 * count as f64 / repetitions as f64
    );
}
