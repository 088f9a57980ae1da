//! Has the tokens of prompts counted by who can, so that a plan need not estimate them.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::stream::{self, StreamExt};
use serde::Serialize;
use tokio::time::Instant;

use super::bill::ESTIMATE_ERROR;
use super::fit::{Fit, Pair, Sum};
use crate::evaluation::{PlanGroup, PlanOutcome};
use crate::judge::prompt_counter::PromptCounter;

/// Calls of each role and kind that a server is asked to count; more where the first do not tell closely [`ENOUGH`].
const SERVER_COUNTS: [usize; 2] = [64, 512];
/// The same of a vocabulary that is built in, which takes a thousandth of a second for each.
const BUILT_IN_COUNTS: [usize; 1] = [2048];
/// An error that needs no more counts; half of what is promised.
const ENOUGH: f64 = 0.01;
/// Requests at once.
const AT_ONCE: usize = 8;
/// What is counted until then is used; the rest is told from it.
const TIME_LIMIT: Duration = Duration::from_secs(30);
/// When the first so many requests fail, the others would.
const FIRST_FAILURES: usize = 4;
/// How chats are framed for OpenAI's models is documented, but not what JSON mode or newer models add.
const FRAME_ERROR: f64 = 0.01;

/// How the prompt tokens of one judge were found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Counted {
    pub(super) judge: String,
    /// `llama.cpp`, `vllm`, the name of an encoding; `None`: they are estimated.
    pub(super) by: Option<&'static str>,
    /// Who was asked to count, and did not.
    pub(super) failed: Option<&'static str>,
    /// Calls that were counted, of all calls at most.
    pub(super) counted: u64,
    pub(super) of: u64,
    /// The sums may be off by this share either way (95%).
    pub(super) error: f64,
}

/// Calls to be kept of each group, for these counters.
pub(super) fn sample_size<'a>(counters: impl IntoIterator<Item = &'a PromptCounter>) -> usize {
    counters.into_iter().flat_map(counts_of).copied().max().unwrap_or(0)
}

fn counts_of(counter: &PromptCounter) -> &'static [usize] {
    if counter.is_built_in() { &BUILT_IN_COUNTS } else { &SERVER_COUNTS }
}

/// Corrects the prompt tokens of `planned` by what the counters say, judge by judge, and tells of every judge of `judges`
/// how it was done; also the error of each group, in their order.
pub(super) async fn count(
    planned: &mut PlanOutcome,
    judges: impl IntoIterator<Item = String>,
    counters: &BTreeMap<String, PromptCounter>,
) -> (Vec<Counted>, Vec<f64>) {
    let mut errors = vec![ESTIMATE_ERROR; planned.groups.len()];
    let mut told = Vec::new();
    for judge in judges {
        let counter = counters.get(&judge);
        let own: Vec<&PlanGroup> = planned.groups.iter().filter(|group| *group.judge == judge).collect();
        let of = own.iter().map(|group| group.at_most().calls).sum();
        let floor = if counter.is_some_and(PromptCounter::is_built_in) { FRAME_ERROR } else { 0.0 };
        let pairs = match counter {
            Some(counter) => Asking { groups: &own, counter, deadline: Instant::now() + TIME_LIMIT }.pairs().await,
            None => vec![Vec::new(); own.len()],
        };
        let error = total_error(&own, &pairs).max(floor);
        let counted: usize = pairs.iter().map(Vec::len).sum();
        let name = counter.map(PromptCounter::name);
        let (by, failed) = if counted > 0 { (name, None) } else { (None, name.filter(|_| of > 0)) };
        let own = planned.groups.iter_mut().zip(&mut errors).filter(|(group, _)| *group.judge == judge);
        for ((group, error), pairs) in own.zip(&pairs) {
            let fit = Fit::of(pairs, group);
            *error = sums(group, fit.as_ref()).map(share).into_iter().fold(floor, f64::max);
            if let Some(fit) = fit {
                fit.correct(group);
            }
        }
        told.push(Counted { judge, by, failed, counted: counted as u64, of, error });
    }
    (told, errors)
}

/// What is askable now, and what there is at most.
fn sums(group: &PlanGroup, fit: Option<&Fit<'_>>) -> [Sum; 2] {
    let estimated = |tokens: u64| Sum { tokens: tokens as f64, half_width: tokens as f64 * ESTIMATE_ERROR };
    match fit {
        Some(fit) => [fit.sum(group.now, |gates| gates == 0), fit.sum(group.at_most(), |_| true)],
        None => [group.now, group.at_most()].map(|calls| estimated(calls.prompt_tokens)),
    }
}

/// To a millionth: 12% is 0.12, however it came about.
fn share(sum: Sum) -> f64 {
    if sum.tokens > 0.0 { (1e6 * sum.half_width / sum.tokens).round() / 1e6 } else { 0.0 }
}

/// How far the sums over these groups may be off: errors of samples are independent, those of the estimate are one and
/// the same.
fn total_error(groups: &[&PlanGroup], pairs: &[Vec<Pair>]) -> f64 {
    let (mut tokens, mut squares, mut estimated) = ([0.0; 2], [0.0; 2], [0.0; 2]);
    for (group, pairs) in groups.iter().zip(pairs) {
        let fit = Fit::of(pairs, group);
        for (at, sum) in sums(group, fit.as_ref()).into_iter().enumerate() {
            tokens[at] += sum.tokens;
            match &fit {
                Some(_) => squares[at] += sum.half_width.powi(2),
                None => estimated[at] += sum.half_width,
            }
        }
    }
    let error = |at: usize| share(Sum { tokens: tokens[at], half_width: squares[at].sqrt() + estimated[at] });
    error(0).max(error(1))
}

/// Groups of one judge on their way to who counts them.
struct Asking<'a> {
    groups: &'a [&'a PlanGroup],
    counter: &'a PromptCounter,
    deadline: Instant,
}

impl Asking<'_> {
    /// What could be counted of each group's sample within the time.
    async fn pairs(&self) -> Vec<Vec<Pair>> {
        let mut found = vec![Vec::new(); self.groups.len()];
        let mut from = 0;
        for size in counts_of(self.counter) {
            let all_went_well = self.count(from, *size, &mut found).await;
            from = *size;
            if !all_went_well || total_error(self.groups, &found) <= ENOUGH {
                break;
            }
        }
        found
    }

    /// Counts this part of every sample, the groups in turns, so that none goes without; false if time or patience ended.
    async fn count(&self, from: usize, to: usize, found: &mut [Vec<Pair>]) -> bool {
        let part = |group: &PlanGroup| from..group.sample.len().min(to);
        let mut order: Vec<(usize, usize)> =
            self.groups.iter().enumerate().flat_map(|(at, group)| part(group).map(move |n| (n, at))).collect();
        order.sort_unstable();
        let asked = stream::iter(order).map(|(n, at)| async move {
            let call = self.groups.get(at).and_then(|group| group.sample.get(n))?;
            let counted = self.counter.count(&call.body).await? as f64;
            Some((at, Pair { estimated: call.prompt_tokens as f64, counted, gates: call.gates }))
        });
        let mut asked = std::pin::pin!(asked.buffer_unordered(AT_ONCE));
        let (mut succeeded, mut failed) = (0, 0);
        loop {
            match tokio::time::timeout_at(self.deadline, asked.next()).await {
                Err(_) => return false,
                Ok(None) => return true,
                Ok(Some(None)) => failed += 1,
                Ok(Some(Some((at, pair)))) => {
                    succeeded += 1;
                    found[at].push(pair);
                }
            }
            if succeeded == 0 && failed >= FIRST_FAILURES {
                return false;
            }
        }
    }
}
