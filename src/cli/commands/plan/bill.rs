//! A plan in calls, tokens, money and time.

use std::collections::BTreeMap;

use serde::Serialize;

use super::counting::Counted;
use crate::cli::prices::Price;
use crate::cli::settings::LimitSettings;
use crate::domain::Usage;
use crate::evaluation::{Plan, PlanGroup, PlanOutcome, PlannedCalls};

/// Where nobody counts, prompt tokens are estimated; 95 of 100 texts are within so much of what a tokenizer counts (see
/// `judge::tokens`).
pub(super) const ESTIMATE_ERROR: f64 = 0.12;

/// What is known of a judge.
#[derive(Debug, Clone)]
pub(super) struct JudgeTerms {
    pub(super) model: Option<String>,
    pub(super) price: Option<Price>,
    pub(super) limits: LimitSettings,
}

/// Two ends of what is not known exactly.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(super) struct Range {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Range {
    fn plus(self, other: Self) -> Self {
        Self { low: self.low + other.low, high: self.high + other.high }
    }
}

/// So many calls with what they need.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(super) struct Cost {
    pub(super) calls: f64,
    /// Counted, or estimated, as [`Counted`] says.
    pub(super) prompt_tokens: f64,
    /// Of these: a prefix shared with the call before, which a server's prefix cache can save.
    pub(super) shared_prefix_tokens: f64,
    /// From one token a call to the reply limits (a call without one: as long as its prompt).
    pub(super) reply_tokens: Range,
    /// `None` without a price. Low: shared prefixes from the cache, shortest replies, prompt tokens told too high;
    /// high: nothing from the cache, longest replies, prompt tokens told too low.
    pub(super) usd: Option<Range>,
}

impl Cost {
    /// `error`: the prompt tokens may be off by this share.
    fn of([calls, prompt, shared, reply_limit]: [f64; 4], price: Option<Price>, error: f64) -> Self {
        let reply_tokens = Range { low: calls.min(reply_limit), high: reply_limit };
        let usd = price.map(|price| {
            let usage = |prompt: f64, cached: f64, reply: f64| Usage {
                prompt_tokens: prompt.round() as u64,
                cached_prompt_tokens: cached.round() as u64,
                completion_tokens: reply.round() as u64,
            };
            let (few, many) = (1.0 - error, 1.0 + error);
            Range {
                low: price.cost(&usage(prompt * few, shared * few, reply_tokens.low)),
                high: price.cost(&usage(prompt * many, 0.0, reply_tokens.high)),
            }
        });
        Self { calls, prompt_tokens: prompt, shared_prefix_tokens: shared, reply_tokens, usd }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            calls: self.calls + other.calls,
            prompt_tokens: self.prompt_tokens + other.prompt_tokens,
            shared_prefix_tokens: self.shared_prefix_tokens + other.shared_prefix_tokens,
            reply_tokens: self.reply_tokens.plus(other.reply_tokens),
            usd: self.usd.zip(other.usd).map(|(own, other)| own.plus(other)),
        }
    }
}

/// One part of a bill, and the whole: what is askable now, what is expected, what it can be at most.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Costs {
    pub(super) now: Cost,
    pub(super) expected: Cost,
    pub(super) at_most: Cost,
    /// The same with every reply unreadable for as long as it is asked for again.
    pub(super) with_repeats: Cost,
}

impl Costs {
    fn plus(self, other: Self) -> Self {
        Self {
            now: self.now.plus(other.now),
            expected: self.expected.plus(other.expected),
            at_most: self.at_most.plus(other.at_most),
            with_repeats: self.with_repeats.plus(other.with_repeats),
        }
    }
}

/// What one role asks of one judge.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Line {
    pub(super) role: String,
    pub(super) kind: &'static str,
    pub(super) judge: String,
    #[serde(flatten)]
    pub(super) costs: Costs,
}

/// How long one judge takes under its limits, for what is expected.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Time {
    pub(super) judge: String,
    pub(super) model: Option<String>,
    /// By the requests a minute.
    pub(super) seconds_by_rpm: Option<f64>,
    /// By the tokens a minute: prompts and reply limits, as providers count.
    pub(super) seconds_by_tpm: Option<f64>,
    /// For every second that a call takes, by the calls at once.
    pub(super) seconds_per_second_of_a_call: f64,
    pub(super) concurrency: usize,
    pub(super) has_price: bool,
}

/// The whole plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Bill {
    /// Answers: one that several scorers look at is one.
    pub(super) answers: u64,
    /// Scores: one an answer and scorer.
    pub(super) answer_scores: u64,
    /// Calls whose reply is paid.
    pub(super) cached: u64,
    pub(super) gate_rate: f64,
    pub(super) estimate_error: f64,
    /// How the prompt tokens of each judge were found.
    pub(super) counting: Vec<Counted>,
    pub(super) lines: Vec<Line>,
    pub(super) total: Costs,
    pub(super) time: Vec<Time>,
}

impl Bill {
    /// The bill of a plan, judges' terms by their identity; how prompt tokens were counted, and the error of each group.
    pub(super) fn of(
        planned: &PlanOutcome,
        terms: &BTreeMap<String, JudgeTerms>,
        gate_rate: f64,
        (counting, errors): (Vec<Counted>, &[f64]),
    ) -> Self {
        let line = |(group, error): (&PlanGroup, &f64)| {
            let price = terms.get(&*group.judge).and_then(|terms| terms.price);
            let numbers =
                |of: PlannedCalls| [of.calls, of.prompt_tokens, of.shared_tokens, of.reply_limit].map(|n| n as f64);
            Line {
                role: group.role.name().into_owned(),
                kind: group.kind.as_str(),
                judge: group.judge.to_string(),
                costs: Costs {
                    now: Cost::of(numbers(group.now), price, *error),
                    expected: Cost::of(group.expected(gate_rate), price, *error),
                    at_most: Cost::of(numbers(group.at_most()), price, *error),
                    with_repeats: Cost::of(numbers(group.at_most().plus(group.repeats)), price, *error),
                },
            }
        };
        let lines: Vec<Line> = planned.groups.iter().zip(errors).map(line).collect();
        let zero = Cost { usd: Some(Range::default()), ..Cost::default() };
        let zero = Costs { now: zero, expected: zero, at_most: zero, with_repeats: zero };
        let total = lines.iter().fold(zero, |sum, line| sum.plus(line.costs));
        let of_judge = |(judge, terms): (&String, &JudgeTerms)| {
            let own = lines.iter().filter(|line| line.judge == *judge).fold(zero, |sum, line| sum.plus(line.costs));
            time(judge, terms, &own.expected)
        };
        let time = terms.iter().filter(|(_, terms)| terms.model.is_some()).map(of_judge).collect();
        let Plan { answers, answer_scores, cached, .. } = planned.plan;
        Self { answers, answer_scores, cached, gate_rate, estimate_error: ESTIMATE_ERROR, counting, lines, total, time }
    }
}

fn time(judge: &str, terms: &JudgeTerms, expected: &Cost) -> Time {
    let concurrency = terms.limits.concurrency.get();
    let tokens = expected.prompt_tokens + expected.reply_tokens.high;
    Time {
        judge: judge.to_owned(),
        model: terms.model.clone(),
        seconds_by_rpm: terms.limits.rpm.map(|rpm| expected.calls * 60.0 / f64::from(rpm.get())),
        seconds_by_tpm: terms.limits.tpm.map(|tpm| tokens * 60.0 / tpm.get() as f64),
        seconds_per_second_of_a_call: expected.calls / concurrency as f64,
        concurrency,
        has_price: terms.price.is_some(),
    }
}

#[cfg(test)]
mod tests {
    use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};

    use super::*;
    use crate::domain::{CallKind, Role};

    fn planned() -> PlanOutcome {
        let calls = |calls, prompt_tokens| PlannedCalls {
            calls,
            prompt_tokens,
            shared_tokens: prompt_tokens / 2,
            reply_limit: 100 * calls,
        };
        let group = |kind, now: PlannedCalls, gated: &[PlannedCalls]| PlanGroup {
            role: Role::Rubric,
            kind,
            judge: "j".into(),
            now,
            gated: gated.to_vec(),
            repeats: PlannedCalls { calls: 2 * now.calls, prompt_tokens: 2 * now.prompt_tokens, ..now },
            sample: Vec::new(),
        };
        let groups = vec![
            group(CallKind::Property, calls(10, 1000), &[]),
            group(CallKind::Evidence, PlannedCalls::default(), &[calls(10, 2000)]),
        ];
        PlanOutcome { groups, ..PlanOutcome::default() }
    }

    fn terms(price: Option<Price>) -> BTreeMap<String, JudgeTerms> {
        let limits = LimitSettings {
            concurrency: NonZeroUsize::new(4).unwrap(),
            rpm: NonZeroU32::new(60),
            tpm: NonZeroU64::new(1000),
        };
        BTreeMap::from([("j".to_owned(), JudgeTerms { model: Some("m".into()), price, limits })])
    }

    #[test]
    fn the_range_of_the_cost_is_from_the_luckiest_to_the_unluckiest_run() {
        let price = Price { prompt: 1.0, completion: 10.0, cached_prompt: Some(0.5) };
        let bill = Bill::of(&planned(), &terms(Some(price)), 0.5, (Vec::new(), &[0.12; 2]));
        let now = bill.total.now;
        assert_eq!(
            (now.calls, now.prompt_tokens, now.reply_tokens.low, now.reply_tokens.high),
            (10.0, 1000.0, 10.0, 1000.0)
        );
        // low: 880 tokens, 440 of them cached: 440 + 220, and 10 replies of a token: 100; high: 1120 + 1000 * 10
        let usd = now.usd.unwrap();
        assert!((usd.low - 760e-6).abs() < 1e-12 && (usd.high - 11_120e-6).abs() < 1e-12, "{usd:?}");
        // half of the gates
        assert_eq!((bill.total.expected.calls, bill.total.expected.prompt_tokens), (15.0, 2000.0));
        assert_eq!((bill.total.at_most.calls, bill.total.at_most.prompt_tokens), (20.0, 3000.0));
        // the ten calls askable now twice more
        assert_eq!((bill.total.with_repeats.calls, bill.total.with_repeats.prompt_tokens), (40.0, 5000.0));
    }

    #[test]
    fn time_is_what_each_limit_takes() {
        let bill = Bill::of(&planned(), &terms(None), 0.5, (Vec::new(), &[0.0; 2]));
        let time = &bill.time[0];
        // 15 calls at 60 a minute; 2,000 prompt and 1,500 reply tokens at 1,000 a minute; 15 calls, 4 at once
        assert_eq!((time.seconds_by_rpm, time.seconds_by_tpm), (Some(15.0), Some(210.0)));
        assert_eq!(time.seconds_per_second_of_a_call, 3.75);
        assert!(bill.total.now.usd.is_none(), "one part without a price: the whole has none");
    }
}
