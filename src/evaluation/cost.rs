//! Cost estimates of a plan: calls, tokens and money.

use std::collections::BTreeMap;

use serde::Serialize;

use super::run::PlanOutcome;
use super::tally::{PlanGroup, PlannedCalls};
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Cost {
    /// Calls.
    pub calls: u64,
    /// Estimated.
    pub prompt_tokens: u64,
    /// Sum of the reply limits; a call without one counts its prompt's tokens.
    pub reply_tokens: u64,
    /// `None` without a price. Low: replies of one token, prompts shorter by the error; high: longest replies, prompts
    /// longer by the error.
    pub usd: Option<Interval>,
}

impl Cost {
    fn of(planned: PlannedCalls, price: Option<Price>) -> Self {
        Self {
            calls: planned.calls,
            prompt_tokens: planned.prompt_tokens,
            reply_tokens: planned.reply_limit,
            usd: price.map(|price| range(planned, price)),
        }
    }

    /// Calls without any.
    fn nothing() -> Self {
        Self {
            usd: Some(Interval::new(0.0, 0.0)),
            ..Self::default()
        }
    }

    /// What it is at a batch service: half of the price, at each of them.
    pub fn batch_usd(&self) -> Option<Interval> {
        let usd = self.usd?;
        Some(Interval::new(usd.low / 2.0, usd.high / 2.0))
    }

    /// The sum; without a cost if either has none.
    fn plus(self, other: Self) -> Self {
        let usd = match (self.usd, other.usd) {
            (Some(one), Some(other)) => {
                Some(Interval::new(one.low + other.low, one.high + other.high))
            }
            // A sum over the known prices alone would look like the cost of the run.
            _ => None,
        };
        Self {
            calls: self.calls + other.calls,
            prompt_tokens: self.prompt_tokens + other.prompt_tokens,
            reply_tokens: self.reply_tokens + other.reply_tokens,
            usd,
        }
    }
}

/// The cost from the luckiest run (replies of a token each) to the unluckiest (replies of full length).
fn range(planned: PlannedCalls, price: Price) -> Interval {
    let tokens = planned.prompt_tokens as f64;
    // A reply has at least one token, and a limit of 0 has none.
    let shortest = planned.calls.min(planned.reply_limit);
    Interval::new(
        usd(price, tokens * (1.0 - ESTIMATE_ERROR), shortest),
        usd(price, tokens * (1.0 + ESTIMATE_ERROR), planned.reply_limit),
    )
}

fn usd(price: Price, prompt_tokens: f64, completion_tokens: u64) -> f64 {
    price.cost(&Usage {
        prompt_tokens: prompt_tokens.round() as u64,
        completion_tokens,
        ..Usage::default()
    })
}

/// The calls of one role to one judge, or the total.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanLine {
    /// The role; `all` for the total.
    pub role: String,
    /// Kind of question; empty for the total.
    pub kind: String,
    /// Identity of the judge; empty for the total.
    pub judge: String,
    /// Calls that can be made now.
    pub now: Cost,
    /// Those, and all that may depend on their replies.
    pub at_most: Cost,
}

impl PlanLine {
    fn of(group: &PlanGroup, price: Option<Price>) -> Self {
        Self {
            role: group.role.name().into_owned(),
            kind: group.kind.to_string(),
            judge: group.judge.to_string(),
            now: Cost::of(group.now, price),
            at_most: Cost::of(group.at_most, price),
        }
    }

    fn total(lines: &[Self]) -> Self {
        let mut total = Self {
            role: "all".to_owned(),
            kind: String::new(),
            judge: String::new(),
            now: Cost::nothing(),
            at_most: Cost::nothing(),
        };
        for line in lines {
            total.now = total.now.plus(line.now);
            total.at_most = total.at_most.plus(line.at_most);
        }
        total
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
    /// Models with calls and without a price.
    pub unpriced: Vec<String>,
    /// The day of the price list, if a price is from there.
    pub prices_of: Option<String>,
    /// The most tokens of room for reasoning in a reply limit.
    pub room_tokens: u64,
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
    ) -> Self {
        let mut lines = Vec::new();
        let mut unpriced = Vec::new();
        for group in &planned.groups {
            // The baseline and judges in the user's code cost nothing: a line for them would only
            // lengthen the table.
            let Some(JudgeTerms { model, price }) = terms.get(&*group.judge) else {
                continue;
            };
            lines.push(PlanLine::of(group, *price));
            if price.is_none() && !unpriced.contains(model) {
                unpriced.push(model.clone());
            }
        }
        let total = PlanLine::total(&lines);
        Self {
            answers: planned.plan.answers,
            answer_scores: planned.plan.answer_scores,
            cached: planned.plan.cached,
            unpriced,
            prices_of,
            room_tokens: planned
                .groups
                .iter()
                .map(|group| group.room)
                .max()
                .unwrap_or(0),
            lines,
            total,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Role;
    use crate::question::PROPERTY;

    fn calls(calls: u64, prompt_tokens: u64) -> PlannedCalls {
        PlannedCalls {
            calls,
            prompt_tokens,
            reply_limit: 100 * calls,
        }
    }

    fn group(now: PlannedCalls, at_most: PlannedCalls) -> PlanGroup {
        PlanGroup {
            role: Role::Rubric,
            kind: PROPERTY.kind(),
            judge: "j".into(),
            room: 0,
            now,
            at_most,
        }
    }

    #[test]
    fn the_range_of_the_cost_is_from_the_luckiest_to_the_unluckiest_run() {
        let price = Price {
            prompt: 1.0,
            completion: 10.0,
            cached_prompt: Some(0.5),
        };
        let line = PlanLine::of(&group(calls(10, 1000), calls(20, 3000)), Some(price));
        assert_eq!(
            (
                line.now.calls,
                line.now.prompt_tokens,
                line.now.reply_tokens
            ),
            (10, 1000, 1000)
        );
        // low: 880 tokens, and 10 replies of a token: 100; high: 1120 + 1000 * 10
        let usd = line.now.usd.unwrap();
        assert!(
            (usd.low - 980e-6).abs() < 1e-12 && (usd.high - 11_120e-6).abs() < 1e-12,
            "{usd:?}"
        );
        assert_eq!((line.at_most.calls, line.at_most.prompt_tokens), (20, 3000));
    }

    #[test]
    fn one_part_without_a_price_leaves_the_whole_without_one() {
        let price = Price {
            prompt: 1.0,
            completion: 10.0,
            cached_prompt: None,
        };
        let line = |price| PlanLine::of(&group(calls(1, 10), calls(1, 10)), price);
        assert!(PlanLine::total(&[line(Some(price))]).now.usd.is_some());
        assert!(
            PlanLine::total(&[line(Some(price)), line(None)])
                .now
                .usd
                .is_none()
        );
    }
}
