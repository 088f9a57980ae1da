//! What only pairs of answers show: strengths, what the place and the length of an answer do, and cycles.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::games::{Game, lead_of_strengths, strengths_by_rank};
use super::pairs::{LengthPoints, at_equal_length};
use super::shared::SharedCases;
use super::{ComparisonOptions, MetricComparison, Observations};
use scholareval_stats::{
    BothOrders, Interval, NoStrengths, PairVerdict, Strengths, WinRate, cyclic_triads, first_shown,
    mean, t_quantile,
};

/// Verdicts of opposite orders add to 1 where both say the same; sums of weighted verdicts differ in their last digits.
const SAME: f64 = 1e-9;

/// What pairs of answers show beyond means and tests.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pairwise {
    /// The systems, best first, with their strengths.
    pub strengths: Vec<SystemStrength>,
    /// Why there are no strengths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_strengths: Option<String>,
    /// Davidson's nu, if a tie is a third outcome.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nu: Option<f64>,
    /// Pairs that were compared, the better system first.
    pub pairs: Vec<PairRecord>,
    /// Whether some were not compared in every case, so that tests are of strengths.
    #[serde(skip)]
    pub is_circle: bool,
    /// Verdicts.
    pub verdicts: usize,
    /// Those that could not be given.
    pub unscored: usize,
    /// Share of ties among the verdicts.
    pub tie_share: f64,
    /// Share of verdicts that call an answer much better, where the judge can say so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub much_better: Option<f64>,
    /// Share of verdicts for the answer shown first, a tie counting half; 1/2 for a judge without a preference, where each pair is
    /// shown as often in either order.
    pub first_shown: f64,
    /// Its standard error over questions.
    pub first_shown_error: Option<f64>,
    /// Over all questions and pairs: what both orders say.
    pub orders: BothOrders,
    /// Verdicts for one of two answers of unequal length.
    pub decided: usize,
    /// Those for the longer answer.
    pub longer_wins: usize,
    /// Triads of systems in a question of which every pair was decided.
    pub triads: usize,
    /// Those of them that are cycles.
    pub cyclic_triads: usize,
    /// Cycles among significant differences: the first beats the second, it the third, and this the first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cycles: Vec<[String; 3]>,
}

/// A system's strength.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SystemStrength {
    /// Its label.
    pub label: String,
    /// A natural logarithm; those of all systems add to 0. `None` where strengths do not exist.
    pub strength: Option<f64>,
    /// Its t interval, with questions as the unit; `None` where nothing varies.
    pub interval: Option<Interval>,
    /// The mean of its probabilities to beat each of the others, by strengths.
    pub against_the_others: Option<f64>,
}

/// Two systems that were compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairRecord {
    /// The label of the better one.
    pub first: String,
    /// That of the other one.
    pub second: String,
    /// How often the first beats the second.
    #[serde(flatten)]
    pub rate: WinRate,
    /// Wilson's interval of this pair alone.
    pub interval: Option<Interval>,
    /// The win rate less the one that the strengths give: far from 0 where the three-way comparisons contradict each other.
    pub residual: Option<f64>,
    /// The win rate for answers of equal length; `None` below 20 questions, and where the system with the shorter answers is longer in
    /// less than a tenth of them.
    pub at_equal_length: Option<f64>,
    /// Its t interval.
    pub at_equal_length_interval: Option<Interval>,
}

/// What the pairs of these observations show, beyond their comparison; `None` without a verdict.
pub fn pairwise(
    observations: &Observations,
    comparison: &MetricComparison,
    options: &ComparisonOptions,
) -> Option<Pairwise> {
    let mut tables = observations.metrics.iter();
    let table = tables.find(|table| table.metric == comparison.metric)?;
    let shared = SharedCases::of(observations, table, options);
    let verdicts = shared.verdicts();
    let strengths = strengths_by_rank(&shared, &verdicts, options.ties);
    let mut pairs = Vec::new();
    let mut orders = BothOrders::default();
    for first in 0..shared.participants {
        for second in first + 1..shared.participants {
            if let Some(pair) = pair_record(&shared, &verdicts, &strengths, (first, second)) {
                orders.add(pair.rate.orders);
                pairs.push(pair);
            }
        }
    }
    let (first_shown, first_shown_error) = first_shown(&verdicts)?;
    let games: Vec<&Game> = table.games.iter().flatten().collect();
    let values: Vec<f64> = games.iter().filter_map(|game| game.value).collect();
    let ties = values.iter().filter(|value| is_tie(**value)).count();
    let (decided, longer_wins) = longer_wins(&games);
    let (triads, cyclic) = triads_of(&verdicts, observations.systems.len());
    let much_better: Vec<f64> = games.iter().filter_map(|game| game.much_better).collect();
    Some(Pairwise {
        no_strengths: strengths.as_ref().err().map(|why| reason(why, &shared)),
        nu: strengths.as_ref().ok().and_then(|strengths| strengths.nu),
        strengths: system_strengths(&shared, &strengths),
        pairs,
        is_circle: shared.is_circle(&shared.pairs()),
        verdicts: values.len(),
        unscored: games.len() - values.len(),
        tie_share: ties as f64 / values.len().max(1) as f64,
        much_better: mean(&much_better),
        first_shown,
        first_shown_error,
        orders,
        decided,
        longer_wins,
        triads,
        cyclic_triads: cyclic,
        cycles: significant_cycles(comparison),
    })
}

/// Each system with its strength.
fn system_strengths(
    shared: &SharedCases<'_>,
    strengths: &Result<Strengths, NoStrengths>,
) -> Vec<SystemStrength> {
    let mut systems = Vec::with_capacity(shared.participants);
    for rank in 0..shared.participants {
        let fit = strengths.as_ref().ok();
        systems.push(SystemStrength {
            label: shared.label(rank).to_owned(),
            strength: fit.map(|fit| fit.values[rank]),
            interval: fit.and_then(|fit| strength_interval(fit, rank, shared.options.level)),
            against_the_others: fit.map(|fit| fit.win_rate_against_the_others(rank)),
        });
    }
    systems
}

/// t(Q - 1) over the questions.
fn strength_interval(strengths: &Strengths, rank: usize, level: f64) -> Option<Interval> {
    let error = strengths.errors.as_ref()?[rank];
    let freedom = strengths.questions() as f64 - 1.0;
    // All ties: nothing varies, and an interval of no width would claim certainty.
    if error <= SAME {
        return None;
    }
    let half = t_quantile(f64::midpoint(1.0, level), freedom)? * error;
    let value = strengths.values[rank];
    Some(Interval::around(value, half))
}

/// What was found of a pair; `None` if the two were never compared.
fn pair_record(
    shared: &SharedCases<'_>,
    verdicts: &[PairVerdict],
    strengths: &Result<Strengths, NoStrengths>,
    (first, second): (usize, usize),
) -> Option<PairRecord> {
    let rate = WinRate::of(shared.order[first], shared.order[second], verdicts)?;
    let line = length_line(shared, (first, second));
    let fitted = strengths.as_ref().ok().map(|strengths| {
        let lead = strengths.values[first] - strengths.values[second];
        f64::midpoint(1.0, lead_of_strengths(lead))
    });
    Some(PairRecord {
        first: shared.label(first).to_owned(),
        second: shared.label(second).to_owned(),
        interval: rate.interval(shared.options.level),
        residual: fitted.map(|fitted| rate.win_rate - fitted),
        rate,
        at_equal_length: line.map(|(at_equal_length, _)| at_equal_length),
        at_equal_length_interval: line.map(|(_, interval)| interval),
    })
}

/// The win rate for answers of equal length with its interval: the value of each question regressed on (l - m) / (l + m) for
/// answers of l and m words. Not centered, so that it is read at equal length.
fn length_line(shared: &SharedCases<'_>, pair: (usize, usize)) -> Option<(f64, Interval)> {
    let [first, second] = [shared.order[pair.0], shared.order[pair.1]];
    let mut points = LengthPoints::default();
    for case in &shared.cases {
        let mut games = shared.games_of(*case).iter();
        let game = games.find(|game| game.is_between(first, second));
        let Some([first_words, second_words]) = game.and_then(|game| game.words) else {
            continue;
        };
        let is_exchanged = game.is_some_and(|game| game.first == second);
        let sign = if is_exchanged { -1.0 } else { 1.0 };
        let both = first_words + second_words;
        if let Some(lead) = shared.lead(pair, *case)
            && both > 0.0
        {
            let longer = sign * (first_words - second_words) / both;
            points.push(shared.question_of[*case], longer, f64::midpoint(1.0, lead));
        }
    }
    let [leads, values] = points.means();
    let line = at_equal_length(&leads, &values, shared.options.level)?;
    Some((line.intercept, line.intercept_interval))
}

fn is_tie(value: f64) -> bool {
    (value - 0.5).abs() <= SAME
}

/// Verdicts for one of two answers of unequal length, and those of them for the longer one.
fn longer_wins(games: &[&Game]) -> (usize, usize) {
    let mut decided = 0;
    let mut longer = 0;
    for game in games {
        let (Some(value), Some([first, second])) = (game.value, game.words) else {
            continue;
        };
        if is_tie(value) || first == second {
            continue;
        }
        decided += 1;
        longer += usize::from((value > 0.5) == (first > second));
    }
    (decided, longer)
}

/// The decided triads of each question, and the cycles among them.
fn triads_of(verdicts: &[PairVerdict], systems: usize) -> (usize, usize) {
    let mut by_question: BTreeMap<usize, Vec<PairVerdict>> = BTreeMap::new();
    for verdict in verdicts {
        let of_question = by_question.entry(verdict.question).or_default();
        of_question.push(*verdict);
    }
    let mut triads = 0;
    let mut cyclic = 0;
    for verdicts_of_question in by_question.values() {
        let (decided, cycles) = cyclic_triads(systems, verdicts_of_question);
        triads += decided;
        cyclic += cycles;
    }
    (triads, cyclic)
}

/// Cycles of three among the pairs that differ significantly.
fn significant_cycles(comparison: &MetricComparison) -> Vec<[String; 3]> {
    let mut beats: BTreeSet<(usize, usize)> = BTreeSet::new();
    for pair in comparison.pairs.iter().filter(|pair| pair.differs) {
        if pair.difference > 0.0 {
            beats.insert((pair.first, pair.second));
        } else {
            beats.insert((pair.second, pair.first));
        }
    }
    let mut cycles = Vec::new();
    for (a, b) in &beats {
        for (start, c) in &beats {
            // Each cycle once: it begins with the system of the lowest rank.
            if start == b && beats.contains(&(*c, *a)) && a < b && a < c {
                cycles.push([*a, *b, *c].map(|rank| comparison.systems[rank].label.clone()));
            }
        }
    }
    cycles
}

/// Why there are no strengths, in a sentence.
fn reason(why: &NoStrengths, shared: &SharedCases<'_>) -> String {
    let names = |groups: &[Vec<usize>]| {
        let mut texts = Vec::new();
        for group in groups {
            let labels: Vec<&str> = group.iter().map(|rank| shared.label(*rank)).collect();
            texts.push(labels.join(" and "));
        }
        texts.join("; ")
    };
    match why {
        NoStrengths::NotCompared(groups) => format!(
            "No strengths: these groups were never compared with each other: {}.",
            names(groups)
        ),
        NoStrengths::Separated(groups) => format!(
            "No strengths: each of these groups loses every comparison with those before it, so that their distance has no limit: {}.",
            names(groups)
        ),
        NoStrengths::Position => {
            "No strengths: the place of an answer decides every verdict.".to_owned()
        }
    }
}
