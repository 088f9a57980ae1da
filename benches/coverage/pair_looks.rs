//! Runs of pairs that end at a look (`pairs --until`), in both orders, in one, and in the second only where it can matter: wrong
//! decisions, power and calls saved.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use scholareval::analysis::comparison::{
    Decision, LookSchedule, MetricId, PairAtLook, RulePairs, RunLooks,
};
use scholareval::domain::Unit;
use scholareval::stats::{LookEstimate, MetricValues, PairVerdict, WinRate};

use super::looks::Pairs;
use super::normal;

/// Questions of a run.
const QUESTIONS: usize = 100;
/// What the first place is worth, in logits.
const PLACE: f64 = 0.4;

/// A judge whose verdict on a pair of equal systems changes with the order of the answers in this share of cases. A verdict
/// follows the difference of two answers' qualities in logits, which is normal with this standard deviation.
struct PlaceJudge {
    flips: f64,
    spread: f64,
    /// By how much a system must be better, in logits, to win this much more than it loses.
    leads: [(f64, f64); 4],
}

const JUDGES: [PlaceJudge; 2] = [
    PlaceJudge {
        flips: 0.13,
        spread: 6.2032,
        leads: [(0.0, 0.0), (0.15, 1.2236), (0.3, 2.4930), (0.5, 4.3643)],
    },
    PlaceJudge {
        flips: 0.4,
        spread: 1.2498,
        leads: [(0.0, 0.0), (0.15, 0.4027), (0.3, 0.8219), (0.5, 1.4452)],
    },
];

/// The orders that are shown until the run ends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Orders {
    Both,
    One,
    Auto,
}

/// The verdicts of a run in both orders: by pair, the order that is shown first, and the other one.
type Verdicts = Vec<[Vec<PairVerdict>; 2]>;

impl PlaceJudge {
    /// Systems with odd numbers are better by `shift`.
    fn verdicts(
        &self,
        pairs: &[(usize, usize)],
        systems: usize,
        shift: f64,
        rng: &mut ChaCha8Rng,
    ) -> Verdicts {
        let mut verdicts: Verdicts = pairs.iter().map(|_| Default::default()).collect();
        for question in 0..QUESTIONS {
            let mut qualities = Vec::new();
            for system in 0..systems {
                let better = if system % 2 == 1 { shift } else { 0.0 };
                qualities.push(better + self.spread / 2.0_f64.sqrt() * normal(rng));
            }
            for ((one, other), own) in pairs.iter().zip(&mut verdicts) {
                let mut shown = [(*one, *other), (*other, *one)];
                if question % 2 == 1 {
                    shown.reverse();
                }
                for ((first, second), list) in shown.into_iter().zip(own) {
                    let lead = qualities[first] - qualities[second] + PLACE;
                    let wins = rng.random::<f64>() < 1.0 / (1.0 + (-lead).exp());
                    let value = f64::from(u8::from(wins));
                    list.push(PairVerdict::new(question, first, second, value));
                }
            }
        }
        verdicts
    }
}

/// A pair after so many questions, in one order or in both.
fn looked(
    pair: (usize, usize),
    verdicts: &[Vec<PairVerdict>; 2],
    asked: usize,
    one_order: bool,
) -> PairAtLook {
    let mut shown = verdicts[0][..asked].to_vec();
    if !one_order {
        shown.extend(&verdicts[1][..asked]);
    }
    let questions: Vec<usize> = (0..asked).collect();
    let values = WinRate::pseudo_values(pair.0, pair.1, &shown, &questions, true);
    let estimate = values.and_then(|own| LookEstimate::of(&own, None, MetricValues::Any));
    PairAtLook {
        systems: [pair.0.to_string(), pair.1.to_string()],
        margin: 0.0,
        estimate: if one_order {
            estimate.map(LookEstimate::of_two_means)
        } else {
            estimate
        },
        extremes: None,
    }
}

/// The decisions of a run, and the calls that it made.
fn end(
    schedule: &LookSchedule,
    orders: Orders,
    pairs: &[(usize, usize)],
    verdicts: &Verdicts,
) -> (Vec<Decision>, usize) {
    let mut before: Option<RunLooks> = None;
    let mut calls = 0;
    for at in 0..schedule.looks.len() {
        let look = schedule.looks[at];
        let one_order = orders == Orders::One || look.one_order;
        let mut of_look = Vec::new();
        for (pair, own) in pairs.iter().zip(verdicts) {
            of_look.push(looked(*pair, own, look.questions, one_order));
        }
        let found = RulePairs {
            metric: MetricId {
                scorer: "pairs".into(),
                name: "win_rate".to_owned(),
                unit: Unit::Share,
                higher_is_better: true,
            },
            pairs: of_look,
        };
        let mut looks = RunLooks::new("all", schedule, at, Some(found));
        let each = if one_order { 1 } else { 2 };
        calls = each * pairs.len() * look.questions;
        if let Some(before) = before.filter(|before| before.is_in_one_order() && !one_order) {
            let open = before.pairs.iter().filter(|own| !own.is_settled()).count();
            calls = (pairs.len() + open) * QUESTIONS;
            looks.keep_settled(&before);
        }
        if looks.decided_at.is_some() {
            return (looks.pairs.iter().map(|own| own.decision).collect(), calls);
        }
        before = Some(looks);
    }
    let last = before.map(|looks| looks.pairs).unwrap_or_default();
    (last.iter().map(|own| own.decision).collect(), calls)
}

/// What came of the runs of one rule.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    /// Runs with a wrong decision.
    wrong: f64,
    /// Pairs that differ and are decided rightly.
    right: f64,
    /// Share of the calls of both orders of every question.
    calls: f64,
}

impl Tally {
    fn add(self, other: Self) -> Self {
        Self {
            wrong: self.wrong + other.wrong,
            right: self.right + other.right,
            calls: self.calls + other.calls,
        }
    }

    fn of(pairs: &[(usize, usize)], shift: f64, decisions: &[Decision], calls: usize) -> Self {
        let mut tally = Self {
            calls: calls as f64 / (2 * QUESTIONS * pairs.len()) as f64,
            ..Self::default()
        };
        for ((first, second), decision) in pairs.iter().zip(decisions) {
            let sign = shift * ((first % 2) as f64 - (second % 2) as f64);
            let is_right = (sign > 0.0 && *decision == Decision::Above)
                || (sign < 0.0 && *decision == Decision::Below);
            if is_right {
                tally.right += 1.0;
            } else if matches!(decision, Decision::Above | Decision::Below) {
                tally.wrong = 1.0;
            }
        }
        tally
    }
}

pub(super) fn pair_looks(repetitions: u64) {
    println!(
        "\nlooks at pairs: wrong decisions (% of runs), power (% of pairs that differ), calls saved (%): all questions in both \
         orders, looks in both, in one, auto"
    );
    for judge in &JUDGES {
        for wanted in [Pairs::One, Pairs::Baseline, Pairs::All] {
            for lead in judge.leads {
                cell(judge, wanted, lead, repetitions);
            }
        }
    }
}

fn cell(judge: &PlaceJudge, wanted: Pairs, (lead, shift): (f64, f64), repetitions: u64) {
    let pairs = wanted.list();
    let whole = LookSchedule::with_information(&[(QUESTIONS, 1.0)], pairs.len());
    let plain = LookSchedule::of(QUESTIONS, pairs.len());
    let auto = LookSchedule::one_order_first(QUESTIONS, pairs.len());
    let rules = [
        (&whole, Orders::Both),
        (&plain, Orders::Both),
        (&plain, Orders::One),
        (&auto, Orders::Auto),
    ];
    let run = |at: u64| {
        let mut rng = ChaCha8Rng::seed_from_u64(at);
        let verdicts = judge.verdicts(&pairs, wanted.systems(), shift, &mut rng);
        rules.map(|(schedule, orders)| {
            let (decisions, calls) = end(schedule, orders, &pairs, &verdicts);
            Tally::of(&pairs, shift, &decisions, calls)
        })
    };
    let sum =
        (0..repetitions)
            .into_par_iter()
            .map(run)
            .reduce(<[Tally; 4]>::default, |mut sum, own| {
                for (sum, own) in sum.iter_mut().zip(own) {
                    *sum = sum.add(own);
                }
                sum
            });
    let runs = repetitions as f64;
    let differing = pairs.iter().filter(|(a, b)| a % 2 != b % 2).count();
    let differing = if shift == 0.0 { 0.0 } else { differing as f64 };
    print!(
        "{:>4.0}% flip  {:>2} pairs  lead {lead:.2}:",
        100.0 * judge.flips,
        pairs.len()
    );
    for own in sum {
        print!(
            "  | {:4.1}  {:5.1}  {:4.1}",
            100.0 * own.wrong / runs,
            100.0 * own.right / (differing * runs),
            100.0 * (1.0 - own.calls / runs),
        );
    }
    println!();
}
