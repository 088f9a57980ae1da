//! Cost estimates of a plan: calls, tokens and money.
//!
//! Prompt tokens are counted on a sample of each group of calls by the built-in vocabulary of an OpenAI model. With
//! the ratio r of counted to estimated tokens over n sampled calls, the estimated sum of all N calls is scaled by r.
//! Its error is given as two standard errors of a ratio estimate (W. G. Cochran, "Sampling Techniques", 3rd edition
//! (1977), chapter 6):
//!
//! ```text
//! 2 N sqrt((1 - n/N) / n * sum of (counted - r * estimated)^2 / (n - 1))
//! ```

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde::Serialize;

use super::event::Plan;
use super::run::PlanOutcome;
use super::tally::{PlanGroup, SampledCall};
use crate::domain::Usage;
use crate::judge::layers::budgeted::Price;
use crate::judge::token_counter::Vocabulary;
use crate::stats::Interval;

/// Relative error of estimated token counts: 95% of texts are within it (see `judge::tokens`).
const ESTIMATE_ERROR: f64 = 0.12;
/// Minimum relative error of counts by a built-in vocabulary: OpenAI documents the tokens that frame a chat, but not
/// those that JSON mode or newer models add.
const FRAME_ERROR: f64 = 0.01;
/// Number of calls whose tokens are counted, for each role, kind and judge.
pub(super) const SAMPLE: usize = 128;
/// Smaller samples are not extrapolated.
const MIN_SAMPLE: usize = 8;

/// The price of a judge, and what counts its tokens.
pub struct JudgeTerms {
    /// The model.
    pub model: String,
    /// Price of the model; `None` if unknown.
    pub price: Option<Price>,
    /// Counts prompt tokens; `None`: they are estimated.
    pub vocabulary: Option<Vocabulary>,
}

/// Calls with their tokens and cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Cost {
    /// Calls.
    pub calls: f64,
    /// Counted or estimated, see [`JudgePlan`].
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
    fn of(group: &PlanGroup, gate_rate: f64, tokens: Scale, price: Option<Price>) -> Self {
        let (mut calls, mut prompt_tokens, mut reply_limit) = (0.0, 0.0, 0.0);
        for (planned, gates) in group.by_gates.iter().zip(0_i32..) {
            let share = gate_rate.powi(gates);
            calls += share * planned.calls as f64;
            prompt_tokens += share * planned.prompt_tokens as f64;
            reply_limit += share * planned.reply_limit as f64;
        }
        let prompt_tokens = (prompt_tokens * tokens.ratio).round();
        let reply_tokens = Interval { low: calls.min(reply_limit), high: reply_limit };
        let usd = price.map(|price| {
            let cost = |prompt: f64, reply: f64| {
                let (prompt_tokens, completion_tokens) = (prompt.round() as u64, reply.round() as u64);
                price.cost(&Usage { prompt_tokens, cached_prompt_tokens: 0, completion_tokens })
            };
            Interval {
                low: cost(prompt_tokens * (1.0 - tokens.error), reply_tokens.low),
                high: cost(prompt_tokens * (1.0 + tokens.error), reply_tokens.high),
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
    fn of(group: &PlanGroup, tokens: Scale, price: Option<Price>, gate_rate: f64) -> Self {
        let cost = |rate: f64| Cost::of(group, rate, tokens, price);
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

/// How the prompt tokens of one judge were counted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgePlan {
    /// Identity of the judge.
    pub judge: String,
    /// The model.
    pub model: String,
    /// The vocabulary that counted; `None`: prompt tokens are estimated.
    pub by: Option<&'static str>,
    /// Calls whose tokens were counted.
    pub counted: u64,
    /// All calls, with every gate open.
    pub of: u64,
    /// Relative error of the sum, in either direction (95%).
    pub error: f64,
    /// Whether the model has a price.
    pub has_price: bool,
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
    /// For each judge, how tokens were counted and how long it takes.
    pub judges: Vec<JudgePlan>,
    /// By role, kind and judge.
    pub lines: Vec<PlanLine>,
    /// The total.
    pub total: PlanLine,
}

impl PlanEstimate {
    /// The cost of planned calls. `terms` has every model, by judge identity; other judges are free and left out.
    pub fn of(planned: &PlanOutcome, terms: &BTreeMap<String, JudgeTerms>, gate_rate: f64) -> Self {
        let Plan { answers, answer_scores, cached, .. } = planned.plan;
        let (mut judges, mut lines) = (Vec::new(), Vec::new());
        for (judge, terms) in terms {
            let groups = planned.groups.iter().filter(|group| *group.judge == *judge);
            let (plan, judge_lines) = plan_judge(judge, terms, groups, gate_rate);
            judges.push(plan);
            lines.extend(judge_lines);
        }
        lines.sort_by(|a, b| (&a.role, a.kind, &a.judge).cmp(&(&b.role, b.kind, &b.judge)));
        let total = PlanLine::total(&lines);
        Self { answers, answer_scores, cached, gate_rate, judges, lines, total }
    }
}

/// Counts samples of one judge's groups, extrapolates, and sums.
fn plan_judge<'a>(
    judge: &str,
    terms: &JudgeTerms,
    groups: impl Iterator<Item = &'a PlanGroup>,
    gate_rate: f64,
) -> (JudgePlan, Vec<PlanLine>) {
    let min_error = if terms.vocabulary.is_some() { FRAME_ERROR } else { 0.0 };
    let (mut lines, mut counted, mut call_count) = (Vec::new(), 0, 0);
    let (mut tokens, mut token_error) = (0.0, 0.0);
    for group in groups {
        let pairs = terms.vocabulary.map_or_else(Vec::new, |vocabulary| count_sample(vocabulary, group));
        let calls = group.at_most().calls;
        let scale = Scale::of(&pairs, calls).unwrap_or(Scale::ESTIMATE);
        let scale = Scale { error: scale.error.max(min_error), ..scale };
        let line = PlanLine::of(group, scale, terms.price, gate_rate);
        counted += pairs.len() as u64;
        call_count += calls;
        tokens += line.at_most.prompt_tokens;
        token_error += scale.error * line.at_most.prompt_tokens;
        lines.push(line);
    }
    let plan = JudgePlan {
        judge: judge.to_owned(),
        model: terms.model.clone(),
        by: terms.vocabulary.filter(|_| counted > 0).map(Vocabulary::as_str),
        counted,
        of: call_count,
        // Rounded, so that groups with equal errors give exactly that error.
        error: if tokens > 0.0 { (1e6 * token_error / tokens).round() / 1e6 } else { 0.0 },
        has_price: terms.price.is_some(),
    };
    (plan, lines)
}

/// Correction of estimated tokens by counted ones.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Scale {
    ratio: f64,
    /// Relative error of the sum, in either direction.
    error: f64,
}

impl Scale {
    const ESTIMATE: Self = Self { ratio: 1.0, error: ESTIMATE_ERROR };

    /// The scale from the (estimated, counted) tokens of sampled calls; `None` if too few were counted.
    fn of(pairs: &[(f64, f64)], calls: u64) -> Option<Self> {
        let (n, all) = (pairs.len() as f64, calls as f64);
        let (estimated, counted) = pairs.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
        if estimated <= 0.0 || counted <= 0.0 || (pairs.len() < MIN_SAMPLE && n < all) {
            return None;
        }
        let ratio = counted / estimated;
        let squares: f64 = pairs.iter().map(|(estimated, counted)| (counted - ratio * estimated).powi(2)).sum();
        let variance = (1.0 - n / all).max(0.0) / n * squares / (n - 1.0).max(1.0);
        Some(Self { ratio, error: 2.0 * variance.sqrt() / (counted / n) })
    }
}

/// Estimated and counted tokens of the sampled calls.
fn count_sample(vocabulary: Vocabulary, group: &PlanGroup) -> Vec<(f64, f64)> {
    let calls: Vec<_> = group.sample.values().collect();
    let count = |call: &&SampledCall| Some((call.prompt_tokens as f64, vocabulary.count_body(&call.body)? as f64));
    calls.par_iter().filter_map(count).collect()
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
        PlanGroup { role, kind, judge, by_gates: by_gates.to_vec(), sample: BTreeMap::new() }
    }

    #[test]
    fn the_range_of_the_cost_is_from_the_luckiest_to_the_unluckiest_run() {
        let price = Price { prompt: 1.0, completion: 10.0, cached_prompt: Some(0.5) };
        let line = PlanLine::of(&group(&[calls(10, 1000), calls(10, 2000)]), Scale::ESTIMATE, Some(price), 0.5);
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
        let of = |price| PlanLine::of(&group(&[calls(1, 10)]), Scale::ESTIMATE, price, 0.5);
        assert!(PlanLine::total(&[of(Some(price))]).now.usd.is_some());
        assert!(PlanLine::total(&[of(Some(price)), of(None)]).now.usd.is_none());
    }

    #[test]
    fn a_sample_is_scaled_with_the_error_of_a_ratio() {
        // estimates of 100, counts of 108 and 112 in turns: ratio 1.1, squares 8 * 4
        let pairs: Vec<(f64, f64)> = (0..8).map(|n| (100.0, if n % 2 == 0 { 108.0 } else { 112.0 })).collect();
        let scale = Scale::of(&pairs, 16).unwrap();
        // 2 * sqrt((1 - 8/16) / 8 * 32 / 7) / 110
        let expected = 2.0 * (0.5 / 8.0 * 32.0 / 7.0_f64).sqrt() / 110.0;
        assert!((scale.ratio - 1.1).abs() < 1e-12 && (scale.error - expected).abs() < 1e-12, "{scale:?}");
        assert_eq!(Scale::of(&pairs, 8).unwrap().error, 0.0, "all were counted");
        assert_eq!(Scale::of(&pairs[..7], 16), None, "too few of many");
        assert_eq!(Scale::of(&pairs[..1], 1).unwrap().ratio, 1.08);
    }
}
