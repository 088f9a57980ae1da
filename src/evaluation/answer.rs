//! Scores one answer: runs the steps of its scorer, and asks for samples and repeats.
//!
//! A scorer steps, its calls are multiplied by samples and judges and asked at once; readings are
//! merged into verdicts, and the scorer steps again until it is done. Samples of a vote come in rounds (`votes`): those that it
//! needs in any case, then more while it is open.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::stream::{FuturesUnordered, StreamExt};
use tokio::sync::Mutex;

use super::Job;
use super::gates;
use super::lane::Lanes;
use super::legibility::Legibility;
use super::merge::{member_values, merge_members, no_judge};
use super::sender::EventSender;
use super::stop::StopHandle;
use super::tally::AnswerTally;
use super::units::{SampleCall, SampleResult, units};
use super::votes::{further_samples, sure_samples};
use crate::domain::{Item, Judgment, MemberValues, ScoredAnswer, UnscoredKind, UnscoredReason};
use crate::error::Error;
use crate::prompt::injection;
use crate::question::{JudgeCall, Question, Sample};
use crate::scorer::{Possible, Step, Subject, Verdicts};

/// Tokens that the prompts of an answer share at least where its first call goes alone: providers cache no shorter prefix
/// (OpenAI, and Anthropic's smallest), and a local server reads so few in a fraction of a second.
const WARMED_PREFIX: u64 = 1024;

/// Why an answer was abandoned.
#[derive(Debug)]
pub(super) enum Abort {
    /// The run was stopped.
    Stopped,
    /// The judge cannot be used any more.
    Fatal(Error),
}

impl From<Error> for Abort {
    fn from(error: Error) -> Self {
        Self::Fatal(error)
    }
}

/// How the scoring of an answer ended.
#[derive(Debug)]
pub(super) enum AnswerEnd {
    /// Its score, and the number of calls.
    Scored(Arc<ScoredAnswer>, u64),
    /// Calls were deferred; the number of calls with replies.
    Deferred(u64),
}

/// Everything needed to score one answer.
pub(super) struct AnswerRun<'a> {
    pub(super) job: &'a Job,
    pub(super) item: &'a Item,
    pub(super) lanes: &'a Lanes,
    pub(super) stop: &'a StopHandle,
    pub(super) legibility: &'a Legibility,
    pub(super) pass: Pass<'a>,
}

/// Where replies come from and where the records of calls go.
pub(super) enum Pass<'a> {
    /// Planning: from cached replies; other calls are deferred and counted.
    Plan(&'a AnswerTally<'a>),
    /// A run: from the judge; records are sent at once.
    Run(&'a EventSender),
}

/// The samples of one call.
#[derive(Default)]
struct CallSamples {
    /// By the indices of judge and sample: replies arrive in any order. Sums of floats and "the first sample wins a tie" depend
    /// on the order, and a run must give the same number twice.
    samples: BTreeMap<(u32, u32), CallSample>,
    deferred: bool,
    /// The samples of each judge of the panel.
    taken: BTreeMap<u32, Taken>,
}

/// One sample of a call.
#[derive(Default)]
struct CallSample {
    /// What it says of each item that has an end.
    judgments: BTreeMap<usize, Judgment>,
    /// The text of its first reply, as that of a [`SampleResult`].
    raw: Option<String>,
    flags: Vec<String>,
}

/// How many samples of one call were asked of one judge.
#[derive(Clone, Copy, Default)]
struct Taken {
    asked: u32,
    ended: u32,
    deferred: bool,
}

/// The verdicts of an answer so far.
#[derive(Default)]
struct State {
    verdicts: Verdicts,
    deferred: Vec<(Arc<str>, Arc<dyn Question>)>,
    members: BTreeMap<Arc<str>, Vec<MemberValues>>,
    /// Flags that become notes of the score.
    flags: BTreeSet<String>,
    /// Samples with a reply, even of calls whose other samples were deferred.
    replies: u64,
    /// Whether the first call has ended, so that the prefix of the prompts is in the cache of the provider.
    is_warm: bool,
}

impl AnswerRun<'_> {
    /// Steps the scorer until it is done, or until only deferred calls are left.
    pub(super) async fn score(&self) -> Result<AnswerEnd, Abort> {
        let mut state = State::default();
        loop {
            match self.step(&state) {
                Step::Ask(calls) => self.ask_all(calls, &mut state, 0).await?,
                Step::Done(mut score) if state.deferred.is_empty() => {
                    self.believe(&mut score, &state.verdicts);
                    score.notes.extend(std::mem::take(&mut state.flags));
                    let item = self.item;
                    if let Some(reason) = item.missing_answer(self.job.options.mode) {
                        score = score.without_values(&reason);
                    }
                    let scored = ScoredAnswer {
                        members: std::mem::take(&mut state.members),
                        // Scanned once an answer, when it is scored: each of its calls shows the
                        // same text.
                        injection: injection::signs_of(item),
                        ..ScoredAnswer::of_item(item, score)
                    };
                    return Ok(AnswerEnd::Scored(Arc::new(scored), state.replies));
                }
                Step::Done(_) => break,
            }
        }
        // In a run, a deferred call means that no more calls can be made. Only planning counts the calls that depend on
        // it.
        if matches!(self.pass, Pass::Plan(_)) {
            self.count_gated(&mut state).await?;
        }
        Ok(AnswerEnd::Deferred(state.replies))
    }

    /// Counts the calls that depend on deferred ones: for scorers that list their possible calls, those; for others,
    /// the calls that follow if every deferred call opens its gate.
    async fn count_gated(&self, state: &mut State) -> Result<(), Abort> {
        let mut deferred = std::mem::take(&mut state.deferred);
        // Their verdicts are placeholders ("not asked yet"). A scorer would take them for unscored
        // answers and close the gates behind them.
        gates::forget(&mut state.verdicts, &deferred);
        let Some(mut possible) = self.possible(state) else {
            // A gate may stand behind another one: one round of assumed verdicts does not reach
            // every call.
            for gates in 1.. {
                gates::open(&mut state.verdicts, &deferred);
                let Step::Ask(calls) = self.step(state) else {
                    break;
                };
                self.ask_all(calls, state, gates).await?;
                deferred = std::mem::take(&mut state.deferred);
            }
            return Ok(());
        };
        // Those with the fewest gates first: a cached reply to one of them decides which others are possible.
        let mut seen: BTreeSet<Arc<str>> = deferred.into_iter().map(|(item, _)| item).collect();
        loop {
            possible.retain(|possible| !seen.contains(&possible.call.item));
            let Some(gates) = possible.iter().map(|possible| possible.gates).min() else {
                return Ok(());
            };
            let nearest = possible
                .into_iter()
                .filter(|possible| possible.gates == gates);
            let calls: Vec<JudgeCall> = nearest.map(|possible| possible.call).collect();
            seen.extend(calls.iter().map(|call| Arc::clone(&call.item)));
            self.ask_all(calls, state, gates).await?;
            gates::forget(&mut state.verdicts, &std::mem::take(&mut state.deferred));
            possible = self.possible(state).unwrap_or_default();
        }
    }

    fn possible(&self, state: &State) -> Option<Vec<Possible>> {
        let subject = Subject::of(self.item);
        self.job.scorer.possible(&subject, &state.verdicts)
    }

    fn step(&self, state: &State) -> Step {
        let subject = Subject::of(self.item);
        self.job.scorer.step(&subject, &state.verdicts)
    }

    /// Asks for every sample of these calls. The first call of an answer goes alone where the others then find the prefix of
    /// their prompts in the cache of the provider.
    async fn ask_all(
        &self,
        calls: Vec<JudgeCall>,
        state: &mut State,
        gates: usize,
    ) -> Result<(), Abort> {
        let calls = self.selected(calls, state);
        let mut by_call: Vec<CallSamples> = calls.iter().map(|_| CallSamples::default()).collect();
        let mut units = VecDeque::from(units(self.job, &calls, gates));
        for unit in &units {
            for (call_index, item) in &unit.places {
                // Counted with its first item: the others may be asked in other requests.
                if *item == 0 {
                    let taken = by_call[*call_index].taken.entry(unit.call.member);
                    taken.or_default().asked += 1;
                }
            }
        }
        // The slot that the answer holds already. The mutex serializes the calls in it: a server
        // keeps the prefix of one answer in one slot.
        let own_slot = Mutex::new(());
        let is_over = AtomicBool::new(false);
        let ask = |unit| self.ask_unit(unit, &own_slot, &is_over);
        let mut in_flight = FuturesUnordered::new();
        let at_first = if !state.is_warm && self.shares_a_prefix(&units) {
            1
        } else {
            units.len()
        };
        in_flight.extend(units.drain(..at_first).map(ask));
        let mut abort: Option<Abort> = None;
        while let Some((unit, end)) = in_flight.next().await {
            let end = match end {
                Ok(end) => end,
                // Calls in flight are paid for: wait for them.
                Err(new) => {
                    // A fatal error outlives a stop: the stop is often its consequence, and the
                    // user needs the cause.
                    abort = abort
                        .filter(|first| matches!(first, Abort::Fatal(_)))
                        .or(Some(new));
                    None
                }
            };
            state.is_warm = true;
            state.replies += u64::from(end.as_ref().is_some_and(|end| end.raw.is_some()));
            let (ended, further) = unit.end(end);
            for (call_index, item, end) in ended {
                by_call[call_index].end(unit.key(), item, end, calls[call_index].items().len());
            }
            units.extend(further);
            if unit.member.decider.is_none() {
                let (call_index, _) = unit.places[0];
                units.extend(self.next_round(unit, &mut by_call[call_index]));
            }
            in_flight.extend(units.drain(..).map(ask));
        }
        if let Some(abort) = abort {
            return Err(abort);
        }
        for (call, call_samples) in calls.into_iter().zip(by_call) {
            state.merge_samples(call, call_samples, self.job);
        }
        Ok(())
    }

    /// The calls for selected items, and those behind which these are asked; the others get the verdict that they were not asked for.
    /// A call about several items of which only some are selected is dropped, so that the scorer asks for those alone in its next
    /// step.
    fn selected(&self, calls: Vec<JudgeCall>, state: &mut State) -> Vec<JudgeCall> {
        let key = (self.item.system(), self.item.case.case_id.clone());
        let selected_items = &self.job.options.selected_items;
        let Some(selected) = selected_items
            .get(&key)
            .filter(|_| !selected_items.is_empty())
        else {
            return calls;
        };
        let mut kept = Vec::new();
        for call in calls {
            let mut others = call.items();
            let count = others.len();
            others.retain(|item| !selected.contains(&**item));
            let is_on_the_way = call
                .opens
                .as_ref()
                .is_some_and(|item| selected.contains(&**item));
            if others.is_empty() || is_on_the_way {
                kept.push(call);
                continue;
            }
            // A scorer that asks for the same items again cannot be asked for a part of them.
            let is_repeated = others
                .iter()
                .all(|item| state.verdicts.contains_key(&**item));
            if others.len() == count || is_repeated {
                others.push(Arc::clone(&call.item));
            }
            for item in others {
                let reason = UnscoredReason::new(UnscoredKind::NotAsked, "not asked");
                state.verdicts.entry(item).or_insert(Err(reason));
            }
        }
        kept
    }

    /// Whether calls that start together would all miss the provider's prefix cache, and all pay the full price for the
    /// answer's text.
    fn shares_a_prefix(&self, units: &VecDeque<SampleCall<'_>>) -> bool {
        let (Some(first), Some(second)) = (units.front(), units.get(1)) else {
            return false;
        };
        let is_asked_at_once = self.job.options.at_once || first.member.decider.is_some();
        if is_asked_at_once || first.call.member != second.call.member {
            return false;
        }
        let renderer = first.member.renderer.as_ref();
        let shared = renderer.map(|renderer| renderer.shared_tokens(&first.call, &second.call));
        shared.is_some_and(|tokens| tokens >= WARMED_PREFIX)
    }

    /// The samples to take next of a call from a judge, after this one; none before all that were asked have ended.
    fn next_round<'u>(
        &self,
        last: SampleCall<'u>,
        call_samples: &mut CallSamples,
    ) -> Vec<SampleCall<'u>> {
        let member = last.call.member;
        let Some(Taken {
            asked: first,
            ended,
            deferred,
        }) = call_samples.taken.get(&member).copied()
        else {
            return Vec::new();
        };
        let left = last.member.samples.max(1).saturating_sub(first);
        if left == 0 || ended < first {
            return Vec::new();
        }
        let mut gates = last.gates;
        let mut further = left;
        if !deferred {
            let items = call_samples.by_item(member, last.places.len());
            let mode = self.job.options.mode;
            further = further_samples(&last.call, last.member, mode, &items, left);
        } else if matches!(self.pass, Pass::Plan(_)) {
            // How many more there are depends on the replies: they count as behind a gate.
            gates += 1;
        } else {
            // In a run, a deferred call means that no more calls can be made.
            return Vec::new();
        }
        call_samples.taken.entry(member).or_default().asked += further;
        let mut units = Vec::new();
        for sample in first..first + further {
            units.push(SampleCall {
                member: last.member,
                call: JudgeCall {
                    sample,
                    ..last.call.clone()
                },
                gates,
                places: last.places.clone(),
                attempt: 0,
            });
        }
        units
    }

    /// Asks once there is a slot, unless the answer is over.
    async fn ask_unit<'u>(
        &self,
        unit: SampleCall<'u>,
        own_slot: &Mutex<()>,
        is_over: &AtomicBool,
    ) -> (SampleCall<'u>, Result<Option<SampleResult>, Abort>) {
        let ask = async {
            // Sibling calls queue for the slot: those that begin after one has failed would be paid for
            // in vain.
            if is_over.load(Ordering::Relaxed) {
                return Err(Abort::Stopped);
            }
            if let Some(reason) = self.item.missing_answer(self.job.options.mode) {
                return Ok(Some(SampleResult::unscored(reason)));
            }
            self.ask_until_read(&unit).await
        };
        let end = self.lanes.in_slot(own_slot, ask).await;
        is_over.fetch_or(end.is_err(), Ordering::Relaxed);
        (unit, end)
    }
}

impl State {
    /// Merges the samples of a call in the order of judge and index.
    fn merge_samples(&mut self, call: JudgeCall, mut call_samples: CallSamples, job: &Job) {
        if call_samples.deferred {
            let reason = UnscoredReason::new(UnscoredKind::NotAsked, "not asked yet");
            self.verdicts.insert(Arc::clone(&call.item), Err(reason));
            self.deferred.push((call.item, call.question));
            return;
        }
        for sample in call_samples.samples.values_mut() {
            self.flags.extend(std::mem::take(&mut sample.flags));
        }
        let Some(panel) = job.panels.get(&call.role) else {
            self.verdicts.insert(call.item, no_judge());
            return;
        };
        let names = call.items();
        let mode = job.options.mode;
        let mut merged: Vec<(Vec<Judgment>, Vec<MemberValues>)> =
            vec![Default::default(); names.len()];
        for (index, member) in (0_u32..).zip(&panel.members) {
            let items = call_samples.by_item(index, names.len());
            let stops_early = member.samples > sure_samples(&call, member, mode);
            for ((judgments, values), samples) in merged.iter_mut().zip(items) {
                let judgment = call.question.merge(&samples, member.merge, mode);
                // A single sample of a single judge is the verdict itself: recording it again would
                // double the lines of most runs.
                if panel.members.len() > 1 || member.samples > 1 {
                    values.push(member_values(
                        &member.judge_id,
                        &judgment,
                        &samples,
                        stops_early,
                    ));
                }
                judgments.push(judgment);
            }
        }
        let members = panel.members.iter();
        let judges: Vec<&str> = members.map(|member| &*member.judge_id).collect();
        for (name, (judgments, values)) in names.into_iter().zip(merged) {
            let judgment = merge_members(&*call.question, judgments, &judges, panel.merge);
            // A call about several criteria without a usable reply leaves each of them open.
            let item = if judgment.is_err() {
                Arc::clone(&call.item)
            } else {
                Arc::clone(&name)
            };
            self.verdicts.insert(item, judgment);
            if !values.is_empty() {
                self.members.insert(name, values);
            }
        }
    }
}

impl CallSamples {
    /// Keeps the end of an item of the sample of this judge and index; the sample has ended with the last of its `count` items.
    fn end(&mut self, key: (u32, u32), item: usize, end: Option<SampleResult>, count: usize) {
        let taken = self.taken.entry(key.0).or_default();
        let Some(end) = end else {
            taken.deferred = true;
            self.deferred = true;
            // The sample of a judge that writes text is about all items, and deferred as a whole.
            taken.ended += u32::from(item + 1 == count);
            return;
        };
        let sample = self.samples.entry(key).or_default();
        sample.judgments.insert(item, end.sample);
        sample.raw = end.raw;
        sample.flags.extend(end.flags);
        taken.ended += u32::from(sample.judgments.len() == count);
    }

    /// The samples of a judge that have arrived, by item, in their order: of equally common verdicts the first seen counts.
    fn by_item(&self, judge: u32, count: usize) -> Vec<Vec<Sample>> {
        let mut items: Vec<Vec<Sample>> = vec![Vec::new(); count];
        for sample in self
            .samples
            .range((judge, 0)..=(judge, u32::MAX))
            .map(|(_, sample)| sample)
        {
            for (item, judgment) in &sample.judgments {
                items[*item].push(Sample {
                    judgment: judgment.clone(),
                    text: sample.raw.clone(),
                });
            }
        }
        items
    }
}
