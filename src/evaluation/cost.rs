//! Cost estimates of a plan: calls, tokens and money.

use std::collections::BTreeMap;

use serde::Serialize;

use super::event::Plan;
use super::run::PlanOutcome;
use super::tally::PlanGroup;
use crate::domain::Usage;
use crate::judge::layers::budgeted::Price;
use crate::stats::Interval;

/// Relative error of estimated token counts: 95% of texts are within it (see `judge::tokens`).
const ESTIMATE_ERROR: f64 = 0.12;

/// A model and its price.
pub struct JudgeTerms {
    /// The model.
    pub model: String,
    /// Its price; `None` if unknown.
    pub price: Option<Price>,
}

/// Calls with their tokens and cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Cost {
    /// Calls.
    pub calls: f64,
    /// Estimated.
    pub prompt_tokens: f64,
    /// From one token per call to the reply limits (for calls without one: the length of the prompt).
    pub reply_tokens: Interval,
    /// `None` without a price. Low: shortest replies, prompts shorter by the error; high: longest replies, prompts
    /// longer by the error.
    pub usd: Option<Interval>,
}

impl Cost {
    const NOTHING: Self = Self {
        calls: 0.0,
        prompt_tokens: 0.0,
        reply_tokens: Interval { low: 0.0, high: 0.0 },
        usd: Some(Interval { low: 0.0, high: 0.0 }),
    };

    /// The calls of a group; those behind n gates count with weight `gate_rate`^n.
    fn of(group: &PlanGroup, gate_rate: f64, price: Option<Price>) -> Self {
        let (mut calls, mut prompt_tokens, mut reply_limit) = (0.0, 0.0, 0.0);
        for (planned, gates) in group.by_gates.iter().zip(0_i32..) {
            let share = gate_rate.powi(gates);
            calls += share * planned.calls as f64;
            prompt_tokens += share * planned.prompt_tokens as f64;
            reply_limit += share * planned.reply_limit as f64;
        }
        let prompt_tokens = prompt_tokens.round();
        let reply_tokens = Interval { low: calls.min(reply_limit), high: reply_limit };
        let usd = price.map(|price| {
            let cost = |prompt: f64, reply: f64| {
                let (prompt_tokens, completion_tokens) = (prompt.round() as u64, reply.round() as u64);
                price.cost(&Usage { prompt_tokens, cached_prompt_tokens: 0, completion_tokens })
            };
            Interval {
                low: cost(prompt_tokens * (1.0 - ESTIMATE_ERROR), reply_tokens.low),
                high: cost(prompt_tokens * (1.0 + ESTIMATE_ERROR), reply_tokens.high),
            }
        });
        Self { calls, prompt_tokens, reply_tokens, usd }
    }

    fn plus(self, other: Self) -> Self {
        let sum = |a: Interval, b: Interval| Interval { low: a.low + b.low, high: a.high + b.high };
        Self {
            calls: self.calls + other.calls,
            prompt_tokens: self.prompt_tokens + other.prompt_tokens,
            reply_tokens: sum(self.reply_tokens, other.reply_tokens),
            usd: self.usd.zip(other.usd).map(|(a, b)| sum(a, b)),
        }
    }
}

/// The calls of one role to one judge, or the total.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanLine {
    /// The role; `all` for the total.
    pub role: String,
    /// Kind of question; empty for the total.
    pub kind: &'static str,
    /// Identity of the judge; empty for the total.
    pub judge: String,
    /// Calls that can be made now.
    pub now: Cost,
    /// Those, and the calls behind n gates with weight `gate_rate`^n.
    pub expected: Cost,
    /// With every gate open.
    pub at_most: Cost,
}

impl PlanLine {
    fn of(group: &PlanGroup, price: Option<Price>, gate_rate: f64) -> Self {
        let cost = |rate: f64| Cost::of(group, rate, price);
        Self {
            role: group.role.name().into_owned(),
            kind: group.kind.as_str(),
            judge: group.judge.to_string(),
            now: cost(0.0),
            expected: cost(gate_rate),
            at_most: cost(1.0),
        }
    }

    fn total(lines: &[Self]) -> Self {
        let sum = |of: fn(&Self) -> Cost| lines.iter().map(of).fold(Cost::NOTHING, Cost::plus);
        Self {
            role: "all".to_owned(),
            kind: "",
            judge: String::new(),
            now: sum(|line| line.now),
            expected: sum(|line| line.expected),
            at_most: sum(|line| line.at_most),
        }
    }
}

/// Calls and cost of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanEstimate {
    /// Answers; one that several scorers score counts once.
    pub answers: u64,
    /// Scores: one for each answer and scorer.
    pub answer_scores: u64,
    /// Calls whose reply is cached.
    pub cached: u64,
    /// Assumed share of gates that open.
    pub gate_rate: f64,
    /// Models with calls and without a price.
    pub unpriced: Vec<String>,
    /// The day of the price list, if a price is from there.
    pub prices_of: Option<String>,
    /// By role, kind and judge.
    pub lines: Vec<PlanLine>,
    /// The total.
    pub total: PlanLine,
}

impl PlanEstimate {
    /// The cost of planned calls. `terms` has every model, by judge identity; other judges are free and left out.
    pub fn of(
        planned: &PlanOutcome,
        terms: &BTreeMap<String, JudgeTerms>,
        prices_of: Option<String>,
        gate_rate: f64,
    ) -> Self {
        let Plan { answers, answer_scores, cached, .. } = planned.plan;
        let (mut lines, mut unpriced) = (Vec::new(), Vec::new());
        for group in &planned.groups {
            let Some(JudgeTerms { model, price }) = terms.get(&*group.judge) else { continue };
            lines.push(PlanLine::of(group, *price, gate_rate));
            if price.is_none() && !unpriced.contains(model) {
                unpriced.push(model.clone());
            }
        }
        let total = PlanLine::total(&lines);
        Self { answers, answer_scores, cached, gate_rate, unpriced, prices_of, lines, total }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tally::PlannedCalls;
    use super::*;
    use crate::domain::{CallKind, Role};

    fn calls(calls: u64, prompt_tokens: u64) -> PlannedCalls {
        PlannedCalls { calls, prompt_tokens, reply_limit: 100 * calls }
    }

    fn group(by_gates: &[PlannedCalls]) -> PlanGroup {
        let (role, kind, judge) = (Role::Rubric, CallKind::Property, "j".into());
        PlanGroup { role, kind, judge, by_gates: by_gates.to_vec() }
    }

    #[test]
    fn the_range_of_the_cost_is_from_the_luckiest_to_the_unluckiest_run() {
        let price = Price { prompt: 1.0, completion: 10.0, cached_prompt: Some(0.5) };
        let line = PlanLine::of(&group(&[calls(10, 1000), calls(10, 2000)]), Some(price), 0.5);
        let replies = Interval { low: 10.0, high: 1000.0 };
        assert_eq!((line.now.calls, line.now.prompt_tokens, line.now.reply_tokens), (10.0, 1000.0, replies));
        // low: 880 tokens, and 10 replies of a token: 100; high: 1120 + 1000 * 10
        let usd = line.now.usd.unwrap();
        assert!((usd.low - 980e-6).abs() < 1e-12 && (usd.high - 11_120e-6).abs() < 1e-12, "{usd:?}");
        // half of the gates
        assert_eq!((line.expected.calls, line.expected.prompt_tokens), (15.0, 2000.0));
        assert_eq!((line.at_most.calls, line.at_most.prompt_tokens), (20.0, 3000.0));
    }

    #[test]
    fn one_part_without_a_price_leaves_the_whole_without_one() {
        let price = Price { prompt: 1.0, completion: 10.0, cached_prompt: None };
        let of = |price| PlanLine::of(&group(&[calls(1, 10)]), price, 0.5);
        assert!(PlanLine::total(&[of(Some(price))]).now.usd.is_some());
        assert!(PlanLine::total(&[of(Some(price)), of(None)]).now.usd.is_none());
    }
}
