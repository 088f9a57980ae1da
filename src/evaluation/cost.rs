//! A plan in calls, tokens, money and time, before anything is paid.
//!
//! Prompt tokens are counted on a sample of each group of calls by the judge's server or a built-in vocabulary. With the
//! ratio r of counted to estimated tokens over n sampled calls, the estimated sum of all N calls is scaled by r. It may be
//! off by two standard errors of a ratio estimate (W. G. Cochran, "Sampling Techniques", 3rd edition (1977), chapter 6):
//!
//! ```text
//! 2 N sqrt((1 - n/N) / n * sum of (counted - r * estimated)^2 / (n - 1))
//! ```

use std::collections::BTreeMap;
use std::time::Duration;

use futures::stream::{self, StreamExt};
use serde::Serialize;
use tokio::time::{Instant, timeout_at};

use super::Job;
use super::event::{EventSink, Plan};
use super::run::plan_sampling;
use super::tally::{PlanGroup, PlannedCalls};
use crate::domain::Usage;
use crate::error::Result;
use crate::judge::layers::budgeted::Price;
use crate::judge::token_counter::TokenCounter;
use crate::stats::Interval;

/// Where nobody counts, 95 of 100 texts are within this share of what a tokenizer counts (see `judge::tokens`).
const ESTIMATE_ERROR: f64 = 0.12;
/// OpenAI documents how chats are framed, but not what JSON mode or newer models add.
const FRAME_ERROR: f64 = 0.01;
/// Calls of each role, kind and judge whose tokens are counted.
const SAMPLE: usize = 128;
/// A smaller sample is not scaled to calls that were not counted.
const FEWEST: usize = 8;
/// Requests to count at once.
const AT_ONCE: usize = 8;
/// What is counted until then is used.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// What is known of a judge.
pub struct JudgeTerms {
    /// The model.
    pub model: String,
    /// What the model costs.
    pub price: Option<Price>,
    /// Calls in flight at once.
    pub concurrency: usize,
    /// Requests a minute; `None`: no limit.
    pub requests_per_minute: Option<u64>,
    /// Tokens a minute, of prompts and reply limits; `None`: no limit.
    pub tokens_per_minute: Option<u64>,
    /// Counts prompt tokens.
    pub counter: Option<TokenCounter>,
}

/// So many calls with what they need.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Cost {
    /// Calls.
    pub calls: f64,
    /// Counted, or estimated, as [`CountedTokens`] says.
    pub prompt_tokens: f64,
    /// Of these: a prefix shared with the call before, which a server's prefix cache can save.
    pub shared_prefix_tokens: f64,
    /// From one token a call to the reply limits (a call without one: as long as its prompt).
    pub reply_tokens: Interval,
    /// `None` without a price. Low: shared prefixes from the cache, shortest replies, prompts shorter by the error; high:
    /// nothing from the cache, longest replies, prompts longer by the error.
    pub usd: Option<Interval>,
}

impl Cost {
    const NOTHING: Self = Self {
        calls: 0.0,
        prompt_tokens: 0.0,
        shared_prefix_tokens: 0.0,
        reply_tokens: Interval { low: 0.0, high: 0.0 },
        usd: Some(Interval { low: 0.0, high: 0.0 }),
    };

    fn of(calls: PlannedCalls, tokens: Scale, price: Option<Price>) -> Self {
        let prompt_tokens = (calls.prompt_tokens as f64 * tokens.ratio).round();
        let shared_prefix_tokens = (calls.shared_tokens as f64 * tokens.ratio).round();
        let reply_tokens = Interval { low: calls.calls.min(calls.reply_limit) as f64, high: calls.reply_limit as f64 };
        let usd = price.map(|price| {
            let cost = |factor: f64, cached: f64, reply: f64| {
                price.cost(&Usage {
                    prompt_tokens: (prompt_tokens * factor).round() as u64,
                    cached_prompt_tokens: (cached * factor).round() as u64,
                    completion_tokens: reply as u64,
                })
            };
            Interval {
                low: cost(1.0 - tokens.error, shared_prefix_tokens, reply_tokens.low),
                high: cost(1.0 + tokens.error, 0.0, reply_tokens.high),
            }
        });
        Self { calls: calls.calls as f64, prompt_tokens, shared_prefix_tokens, reply_tokens, usd }
    }

    /// This, and `share` of the other.
    fn plus(self, other: Self, share: f64) -> Self {
        let sum = |own: f64, other: f64| own + share * other;
        let both =
            |own: Interval, other: Interval| Interval { low: sum(own.low, other.low), high: sum(own.high, other.high) };
        Self {
            calls: sum(self.calls, other.calls),
            prompt_tokens: sum(self.prompt_tokens, other.prompt_tokens),
            shared_prefix_tokens: sum(self.shared_prefix_tokens, other.shared_prefix_tokens),
            reply_tokens: both(self.reply_tokens, other.reply_tokens),
            usd: self.usd.zip(other.usd).map(|(own, other)| both(own, other)),
        }
    }
}

/// What one role asks of one judge; or the whole.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanLine {
    /// The role; `all` for the whole.
    pub role: String,
    /// Kind of question; empty for the whole.
    pub kind: &'static str,
    /// Identity of the judge; empty for the whole.
    pub judge: String,
    /// What can be asked now.
    pub now: Cost,
    /// The same, and of the calls behind n gates a share of gate rate^n.
    pub expected: Cost,
    /// With every gate open.
    pub at_most: Cost,
}

impl PlanLine {
    fn of(group: &PlanGroup, tokens: Scale, price: Option<Price>, gate_rate: f64) -> Self {
        let by_gates = || group.by_gates.iter().map(|calls| Cost::of(*calls, tokens, price)).zip(0_i32..);
        let sum = |rate: f64| by_gates().fold(Cost::NOTHING, |sum, (cost, gates)| sum.plus(cost, rate.powi(gates)));
        Self {
            role: group.role.name().into_owned(),
            kind: group.kind.as_str(),
            judge: group.judge.to_string(),
            now: sum(0.0),
            expected: sum(gate_rate),
            at_most: sum(1.0),
        }
    }

    fn total<'a>(lines: impl IntoIterator<Item = &'a Self>) -> Self {
        let (role, kind, judge) = ("all".to_owned(), "", String::new());
        let nothing = Self { role, kind, judge, now: Cost::NOTHING, expected: Cost::NOTHING, at_most: Cost::NOTHING };
        lines.into_iter().fold(nothing, |sum, line| Self {
            now: sum.now.plus(line.now, 1.0),
            expected: sum.expected.plus(line.expected, 1.0),
            at_most: sum.at_most.plus(line.at_most, 1.0),
            ..sum
        })
    }
}

/// How the prompt tokens of one judge were found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CountedTokens {
    /// Identity of the judge.
    pub judge: String,
    /// `llama.cpp`, `vllm`, the name of an encoding; `None`: they are estimated.
    pub by: Option<&'static str>,
    /// Who was asked to count, and did not.
    pub failed: Option<&'static str>,
    /// Calls that were counted.
    pub counted: u64,
    /// All calls at most.
    pub of: u64,
    /// The sum may be off by this share either way (95%).
    pub error: f64,
}

/// How long one judge takes under its limits, for what is expected.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgeTime {
    /// Identity of the judge.
    pub judge: String,
    /// The model.
    pub model: String,
    /// By the requests a minute.
    pub seconds_by_rpm: Option<f64>,
    /// By the tokens a minute: prompts and reply limits, as providers count.
    pub seconds_by_tpm: Option<f64>,
    /// For every second that a call takes, by the calls at once.
    pub seconds_per_second_of_a_call: f64,
    /// Calls in flight at once.
    pub concurrency: usize,
    /// Whether the model has a price.
    pub has_price: bool,
}

impl JudgeTime {
    fn of(judge: &str, terms: &JudgeTerms, expected: &Cost) -> Self {
        let tokens = expected.prompt_tokens + expected.reply_tokens.high;
        Self {
            judge: judge.to_owned(),
            model: terms.model.clone(),
            seconds_by_rpm: terms.requests_per_minute.map(|limit| expected.calls * 60.0 / limit as f64),
            seconds_by_tpm: terms.tokens_per_minute.map(|limit| tokens * 60.0 / limit as f64),
            seconds_per_second_of_a_call: expected.calls / terms.concurrency as f64,
            concurrency: terms.concurrency,
            has_price: terms.price.is_some(),
        }
    }
}

/// What a run would ask of models, and what it would cost.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanEstimate {
    /// Answers: one that several scorers score is one.
    pub answers: u64,
    /// Scores: one for each answer and scorer.
    pub answer_scores: u64,
    /// Calls whose reply is cached.
    pub cached: u64,
    /// The share of gates that are taken to open.
    pub gate_rate: f64,
    /// Of each judge, how prompt tokens were found.
    pub counting: Vec<CountedTokens>,
    /// By role, kind and judge.
    pub lines: Vec<PlanLine>,
    /// All together.
    pub total: PlanLine,
    /// Of each judge, how long it takes.
    pub time: Vec<JudgeTime>,
}

/// Plans the jobs and estimates what a run would cost. Nothing is asked but, of servers that can, how many tokens prompts
/// have. `terms` are those of every model, by judge identity; other judges cost nothing and are left out.
///
/// # Errors
/// As [`plan`](super::plan).
pub async fn estimate(
    jobs: &[Job],
    sink: &mut dyn EventSink,
    terms: &BTreeMap<String, JudgeTerms>,
    gate_rate: f64,
) -> Result<PlanEstimate> {
    let planned = plan_sampling(jobs, sink, SAMPLE).await?;
    let Plan { answers, answer_scores, cached, .. } = planned.plan;
    let (mut counting, mut lines, mut time) = (Vec::new(), Vec::new(), Vec::new());
    for (judge, terms) in terms {
        let groups: Vec<&PlanGroup> = planned.groups.iter().filter(|group| *group.judge == *judge).collect();
        let (counted, scales) = count(judge, terms.counter.as_ref(), &groups).await;
        let own: Vec<PlanLine> = groups
            .iter()
            .zip(scales)
            .map(|(group, tokens)| PlanLine::of(group, tokens, terms.price, gate_rate))
            .collect();
        counting.push(counted);
        time.push(JudgeTime::of(judge, terms, &PlanLine::total(&own).expected));
        lines.extend(own);
    }
    lines.sort_by(|a, b| (&a.role, a.kind, &a.judge).cmp(&(&b.role, b.kind, &b.judge)));
    let total = PlanLine::total(&lines);
    Ok(PlanEstimate { answers, answer_scores, cached, gate_rate, counting, lines, total, time })
}

/// From estimated to counted tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Scale {
    ratio: f64,
    /// The sum may be off by this share either way.
    error: f64,
}

impl Scale {
    const ESTIMATE: Self = Self { ratio: 1.0, error: ESTIMATE_ERROR };

    /// The scale of so many calls from the counted ones, as (estimated, counted) tokens; `None` if these are too few.
    fn of(pairs: &[(f64, f64)], calls: u64) -> Option<Self> {
        let (n, all) = (pairs.len() as f64, calls as f64);
        let (estimated, counted) = pairs.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
        if estimated <= 0.0 || counted <= 0.0 || (pairs.len() < FEWEST && n < all) {
            return None;
        }
        let ratio = counted / estimated;
        let squares: f64 = pairs.iter().map(|(estimated, counted)| (counted - ratio * estimated).powi(2)).sum();
        let variance = (1.0 - n / all).max(0.0) / n * squares / (n - 1.0).max(1.0);
        Some(Self { ratio, error: 2.0 * variance.sqrt() / (counted / n) })
    }
}

/// Counts the samples of one judge's groups; how that was done, and the scale of each group.
async fn count(judge: &str, counter: Option<&TokenCounter>, groups: &[&PlanGroup]) -> (CountedTokens, Vec<Scale>) {
    let deadline = Instant::now() + TIME_LIMIT;
    let floor = if counter.is_some_and(TokenCounter::is_built_in) { FRAME_ERROR } else { 0.0 };
    let (mut scales, mut counted) = (Vec::new(), 0);
    let (mut tokens, mut off, mut of) = (0.0, 0.0, 0);
    let mut working = counter;
    for group in groups {
        let pairs = match working {
            Some(counter) => count_sample(counter, group, deadline).await,
            None => Vec::new(),
        };
        if pairs.len() < group.sample.len() {
            working = None;
        }
        let at_most = group.at_most();
        let scale = Scale::of(&pairs, at_most.calls).unwrap_or(Scale::ESTIMATE);
        let scale = Scale { error: scale.error.max(floor), ..scale };
        counted += pairs.len() as u64;
        of += at_most.calls;
        tokens += scale.ratio * at_most.prompt_tokens as f64;
        off += scale.error * scale.ratio * at_most.prompt_tokens as f64;
        scales.push(scale);
    }
    let name = counter.map(TokenCounter::name);
    let (by, failed) = if counted > 0 { (name, None) } else { (None, name.filter(|_| of > 0)) };
    // Six digits: sums of the same share must give that share.
    let error = if tokens > 0.0 { (1e6 * off / tokens).round() / 1e6 } else { 0.0 };
    (CountedTokens { judge: judge.to_owned(), by, failed, counted, of, error }, scales)
}

/// Estimated and counted tokens of the sampled calls, up to the first that cannot be counted, or to the deadline.
async fn count_sample(counter: &TokenCounter, group: &PlanGroup, deadline: Instant) -> Vec<(f64, f64)> {
    let counts = stream::iter(&group.sample).map(|call| async move {
        let counted = counter.count(&call.body).await?;
        Some((call.prompt_tokens as f64, counted as f64))
    });
    let mut counts = std::pin::pin!(counts.buffer_unordered(AT_ONCE));
    let mut pairs = Vec::new();
    while let Ok(Some(Some(pair))) = timeout_at(deadline, counts.next()).await {
        pairs.push(pair);
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{CallKind, Role};

    fn calls(calls: u64, prompt_tokens: u64) -> PlannedCalls {
        PlannedCalls { calls, prompt_tokens, shared_tokens: prompt_tokens / 2, reply_limit: 100 * calls }
    }

    fn group(by_gates: &[PlannedCalls]) -> PlanGroup {
        let (role, kind, judge) = (Role::Rubric, CallKind::Property, "j".into());
        PlanGroup { role, kind, judge, by_gates: by_gates.to_vec(), sample: Vec::new() }
    }

    #[test]
    fn the_range_of_the_cost_is_from_the_luckiest_to_the_unluckiest_run() {
        let price = Price { prompt: 1.0, completion: 10.0, cached_prompt: Some(0.5) };
        let line = PlanLine::of(&group(&[calls(10, 1000), calls(10, 2000)]), Scale::ESTIMATE, Some(price), 0.5);
        let replies = Interval { low: 10.0, high: 1000.0 };
        assert_eq!((line.now.calls, line.now.prompt_tokens, line.now.reply_tokens), (10.0, 1000.0, replies));
        // low: 880 tokens, 440 of them cached: 440 + 220, and 10 replies of a token: 100; high: 1120 + 1000 * 10
        let usd = line.now.usd.unwrap();
        assert!((usd.low - 760e-6).abs() < 1e-12 && (usd.high - 11_120e-6).abs() < 1e-12, "{usd:?}");
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
    fn time_is_what_each_limit_takes() {
        let line = PlanLine::of(&group(&[calls(10, 1000), calls(10, 2000)]), Scale::ESTIMATE, None, 0.5);
        let terms = JudgeTerms {
            model: "m".into(),
            price: None,
            concurrency: 4,
            requests_per_minute: Some(60),
            tokens_per_minute: Some(1000),
            counter: None,
        };
        let time = JudgeTime::of("j", &terms, &line.expected);
        // 15 calls at 60 a minute; 2,000 prompt and 1,500 reply tokens at 1,000 a minute; 15 calls, 4 at once
        assert_eq!((time.seconds_by_rpm, time.seconds_by_tpm), (Some(15.0), Some(210.0)));
        assert_eq!(time.seconds_per_second_of_a_call, 3.75);
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
