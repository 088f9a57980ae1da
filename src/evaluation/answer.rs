//! Scores one answer: runs the steps of its scorer, and asks for samples and repeats.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::stream::{FuturesUnordered, StreamExt};
use tokio::sync::Mutex;

use super::expected;
use super::gates;
use super::lane::Lanes;
use super::legibility::Legibility;
use super::merge::{
    Sample, by_criterion, member_values, merge_members, merge_samples, merge_texts,
};
use super::panel::Member;
use super::sender::EventSender;
use super::stop::StopHandle;
use super::tally::AnswerTally;
use super::{Job, Options};
use crate::domain::{
    CallKind, GradeMerge, Item, JudgeCall, JudgeReply, JudgeTask, MemberValues, Mode, ScoredAnswer,
    UnscoredKind, UnscoredReason,
};
use crate::error::Error;
use crate::judge::planner::recall;
use crate::judge::render::Beginning;
use crate::judge::{AskError, Judge, JudgeRequest, Outcome};
use crate::prompt::injection;
use crate::record::{CallRecord, RunEvent};
use crate::scorer::{Judged, Possible, Step, Verdicts};

/// Why an answer was abandoned.
#[derive(Debug)]
pub(super) enum Abort {
    /// The run was stopped.
    Stopped,
    /// The judge cannot be used any more.
    Fatal(Error),
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

/// One sample of one call, from one judge.
struct Unit<'a> {
    member: &'a Member,
    call_index: usize,
    call: JudgeCall,
    /// Number of gates before it that are assumed to be open.
    gates: usize,
}

/// The result of a unit: its verdict, its first reply, and flags.
struct Answered {
    sample: Sample,
    /// Empty unless the text is merged: others are not held until the answer is scored.
    raw: Option<String>,
    flags: Vec<String>,
}

impl Answered {
    fn unscored(reason: UnscoredReason) -> Self {
        Self {
            sample: Err(reason),
            raw: None,
            flags: Vec::new(),
        }
    }
}

/// The samples of one call in the order they arrived, each with the indices of judge and sample.
#[derive(Default)]
struct Asked {
    samples: Vec<((u32, u32), Answered)>,
    deferred: bool,
}

/// The verdicts of an answer so far.
#[derive(Default)]
struct State {
    verdicts: Verdicts,
    deferred: Vec<(Arc<str>, CallKind)>,
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
                    score.notes.extend(std::mem::take(&mut state.flags));
                    let item = self.item;
                    let scored = ScoredAnswer {
                        members: std::mem::take(&mut state.members),
                        injection: injection::signs(&item.answer.answer_text),
                        ..ScoredAnswer::new(
                            item.answer.system.clone(),
                            Arc::clone(&item.case),
                            score,
                        )
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
        gates::forget(&mut state.verdicts, &deferred);
        let Some(mut possible) = self.possible(state) else {
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
        self.job
            .scorer
            .possible(&self.item.case, &self.item.answer, &state.verdicts)
    }

    fn step(&self, state: &State) -> Step {
        self.job
            .scorer
            .step(&self.item.case, &self.item.answer, &state.verdicts)
    }

    /// Asks for every sample of these calls. The first call of an answer goes alone, so that the others find the prefix
    /// of their prompts in the cache of the provider.
    async fn ask_all(
        &self,
        calls: Vec<JudgeCall>,
        state: &mut State,
        gates: usize,
    ) -> Result<(), Abort> {
        let mut asked: Vec<Asked> = calls.iter().map(|_| Asked::default()).collect();
        let mut units = units(self.job, &calls, gates).into_iter();
        let (own_slot, is_over) = (Mutex::new(()), AtomicBool::new(false));
        let ask = |unit| self.ask_unit(unit, &own_slot, &is_over);
        let mut in_flight = FuturesUnordered::new();
        in_flight.extend(
            units
                .by_ref()
                .take(if state.is_warm { usize::MAX } else { 1 })
                .map(ask),
        );
        let mut abort: Option<Abort> = None;
        while let Some((unit, end)) = in_flight.next().await {
            let asked = &mut asked[unit.call_index];
            match end {
                Ok(Some(answered)) => asked
                    .samples
                    .push(((unit.call.member, unit.call.sample), answered)),
                Ok(None) => asked.deferred = true,
                // Calls in flight are paid for: wait for them.
                Err(new) => {
                    abort = abort
                        .filter(|first| matches!(first, Abort::Fatal(_)))
                        .or(Some(new))
                }
            }
            state.is_warm = true;
            in_flight.extend(units.by_ref().map(ask));
        }
        if let Some(abort) = abort {
            return Err(abort);
        }
        calls
            .into_iter()
            .zip(asked)
            .for_each(|(call, asked)| state.merge_samples(call, asked, self.job));
        Ok(())
    }

    /// Asks once there is a slot, unless the answer is over.
    async fn ask_unit<'u>(
        &self,
        unit: Unit<'u>,
        own_slot: &Mutex<()>,
        is_over: &AtomicBool,
    ) -> (Unit<'u>, Result<Option<Answered>, Abort>) {
        let ask = async {
            match is_over.load(Ordering::Relaxed) {
                true => Err(Abort::Stopped),
                false => {
                    self.ask_until_read(&unit.call, unit.member, unit.gates)
                        .await
                }
            }
        };
        let end = self.lanes.in_slot(own_slot, ask).await;
        is_over.fetch_or(end.is_err(), Ordering::Relaxed);
        (unit, end)
    }

    /// The outcome of one attempt: from cached replies when planning, else from the judge.
    async fn ask(&self, member: &Member, request: &JudgeRequest) -> Result<Outcome, AskError> {
        match self.pass {
            Pass::Run(_) => member.judge.ask(request).await,
            Pass::Plan(_) => recall(&*member.source, request)
                .map(|recalled| recalled.unwrap_or(Outcome::Deferred)),
        }
    }

    async fn record(&self, record: CallRecord) {
        match self.pass {
            Pass::Plan(tally) => tally.recall(record),
            Pass::Run(sender) => sender.send(RunEvent::Call(Box::new(record))).await,
        }
    }

    /// Asks for one sample, and repeats while the reply cannot be read and a repeat may help; `None` if it was deferred.
    async fn ask_until_read(
        &self,
        call: &JudgeCall,
        member: &Member,
        gates: usize,
    ) -> Result<Option<Answered>, Abort> {
        let begun = self.legibility.begin(call.task.kind());
        let beginning = self.beginning(call, member).map_err(Abort::Fatal)?;
        let mut raw: Option<String> = None;
        let mut fresh_tries = 0;
        let mut attempt = 0;
        loop {
            if self.stop.is_set() {
                return Err(Abort::Stopped);
            }
            let request = self.request(call, member, attempt, beginning);
            let asked = match self.ask(member, &request).await {
                Ok(Outcome::Reply(reply)) => Ok(reply),
                Ok(Outcome::Deferred) => {
                    if let Pass::Plan(tally) = self.pass {
                        tally.count(&request, member, gates);
                    }
                    return Ok(None);
                }
                Ok(Outcome::Unscored(reason)) => Err(reason),
                Err(AskError::Fatal(error)) => return Err(Abort::Fatal(error)),
                Err(AskError::Transient { message, .. }) => {
                    Err(UnscoredReason::new(UnscoredKind::Unreachable, message))
                }
                Err(AskError::Refused { message, kind, .. }) => {
                    Err(UnscoredReason::new(kind, message))
                }
                Err(AskError::Unsupported { parameter, message }) => {
                    let Some(renderer) = &member.renderer else {
                        return Err(Abort::Fatal(Error::JudgeUnavailable(message)));
                    };
                    renderer.leave_out(parameter).map_err(Abort::Fatal)?;
                    continue;
                }
            };
            let mut reply = match asked {
                Ok(reply) => reply,
                Err(reason) => {
                    if let (Some(renderer), Some(rendered)) = (&member.renderer, &request.rendered)
                        && renderer
                            .drops_refused_schema(rendered, &reason)
                            .map_err(Abort::Fatal)?
                    {
                        continue;
                    }
                    self.record(CallRecord::of(
                        &request,
                        &member.judge_id,
                        None,
                        Err(reason.clone()),
                    ))
                    .await;
                    return Ok(Some(Answered::unscored(reason)));
                }
            };
            // A reply that shows that the server ignores schemas is one of the attempts that the reference counts.
            if self.job.options.mode == Mode::Default
                && let (Some(renderer), Some(rendered)) = (&member.renderer, &request.rendered)
                && renderer
                    .drops_schema(rendered, &reply)
                    .map_err(Abort::Fatal)?
            {
                continue;
            }
            let is_merged = merges_texts(self.job, member, call.task.kind());
            raw.get_or_insert_with(|| {
                if is_merged {
                    reply.content.clone()
                } else {
                    String::new()
                }
            });
            let read = call.task.parse(&reply, self.job.options.mode);
            fresh_tries += u32::from(!reply.cached);
            if let (Some(renderer), Some(rendered)) = (&member.renderer, &request.rendered) {
                renderer
                    .note_reading(call, rendered, attempt, read.is_ok())
                    .map_err(Abort::Fatal)?;
            }
            let again = match &read {
                Ok(_) => false,
                Err(unreadable) => {
                    let next = self.request(call, member, attempt + 1, beginning);
                    let may_help = unreadable.ask_again
                        || unreadable.kind == UnscoredKind::Cut
                            && self.repeats_cut(&request, &next, member, &reply)?;
                    self.asks_again(may_help, (attempt, fresh_tries), &next, member)?
                }
            };
            // The flag is recorded with the reply, since rescoring renders no prompt.
            let of_call = request
                .rendered
                .as_ref()
                .and_then(|call| call.note.as_ref());
            reply.note = match (of_call, reply.note.take()) {
                // A recorded reply has the notes of its call.
                (Some(of_call), Some(known)) if !known.contains(of_call) => {
                    Some(format!("{of_call}; {known}"))
                }
                (of_call, known) => known.or(of_call.cloned()),
            };
            let mut flags: Vec<String> = reply.note.clone().into_iter().collect();
            let sample: Sample = read.map_err(UnscoredReason::from);
            let sample = if member.expected {
                expected::weigh(call, &reply, sample, &mut flags)
            } else {
                sample
            };
            let verdict = sample
                .as_ref()
                .map(|(verdict, _)| verdict.clone())
                .map_err(Clone::clone);
            let is_fresh = !reply.cached;
            let unreadable = sample.as_ref().err().cloned();
            let unreadable = unreadable.map(|reason| (reason, reply.content.clone()));
            self.record(CallRecord::of(
                &request,
                &member.judge_id,
                Some(reply),
                verdict,
            ))
            .await;
            if !again {
                // With `retry_unscored`, new calls repeat unreadable replies, which is not a fair sample of the judge.
                // Of an unreadable reply about several criteria each is asked alone.
                let has_several = matches!(&call.task, JudgeTask::Criteria { criteria, .. } if criteria.len() > 1);
                let is_final = !has_several || self.job.options.mode == Mode::Compat;
                if sample.is_ok() || (is_fresh && is_final && !self.job.options.retry_unscored) {
                    self.legibility
                        .note(&request, member, unreadable.as_ref(), begun)
                        .map_err(Abort::Fatal)?;
                }
                return Ok(Some(Answered { sample, raw, flags }));
            }
            attempt += 1;
        }
    }

    /// Whether to make attempt `attempt + 1`. The limit applies to new calls; a cached reply is used
    /// whenever a repeat may help.
    fn asks_again(
        &self,
        may_help: bool,
        (attempt, fresh_tries): (u32, u32),
        next: &JudgeRequest,
        member: &Member,
    ) -> Result<bool, Abort> {
        let Options {
            parse_retries,
            retry_unscored,
            ..
        } = *self.job.options;
        let may_call = attempt < parse_retries || (retry_unscored && fresh_tries <= parse_retries);
        if !may_help || may_call {
            return Ok(may_help);
        }
        is_stored(next, member).map_err(Abort::Fatal)
    }

    /// Whether a reply that was cut has, or is worth, a repeat in another form. Only the first one: the next would be cut
    /// as well. Compat reads cut replies as the reference does.
    fn repeats_cut(
        &self,
        request: &JudgeRequest,
        next: &JudgeRequest,
        member: &Member,
        reply: &JudgeReply,
    ) -> Result<bool, Abort> {
        if request.attempt > 0 || self.job.options.mode == Mode::Compat {
            return Ok(false);
        }
        if is_stored(next, member).map_err(Abort::Fatal)? {
            return Ok(true);
        }
        let (Some(renderer), Some(rendered)) = (&member.renderer, &request.rendered) else {
            return Ok(false);
        };
        Ok(renderer.repeats_cut(&request.call, rendered, reply))
    }

    /// Whether the attempts of this call begin with our schema. What is stored decides first, so that a run finds its
    /// replies whatever was learned of the judge after they were given.
    fn beginning(&self, call: &JudgeCall, member: &Member) -> crate::error::Result<Beginning> {
        let Some(renderer) = &member.renderer else {
            return Ok(Beginning::Plain);
        };
        if !renderer.may_carry_schema(call) {
            return Ok(Beginning::Plain);
        }
        let request = |beginning| self.request(call, member, 0, beginning);
        if is_stored(&request(Beginning::Plain), member)? {
            return Ok(Beginning::Plain);
        }
        if renderer.needs_schema() || is_stored(&request(Beginning::Schema), member)? {
            return Ok(Beginning::Schema);
        }
        Ok(Beginning::Plain)
    }

    fn request(
        &self,
        call: &JudgeCall,
        member: &Member,
        attempt: u32,
        beginning: Beginning,
    ) -> JudgeRequest {
        JudgeRequest {
            call: call.clone(),
            system: self.item.answer.system.clone(),
            case_id: self.item.case.case_id.clone(),
            attempt,
            rendered: member
                .renderer
                .as_ref()
                .and_then(|renderer| renderer.render_from(call, attempt, beginning)),
        }
    }
}

fn is_stored(request: &JudgeRequest, member: &Member) -> crate::error::Result<bool> {
    Ok(member.source.find(request)?.is_some())
}

/// Every sample of these calls from every judge of its role, judge by judge, so that each judge finds the prefix of its
/// prompts in its cache.
fn units<'a>(job: &'a Job, calls: &[JudgeCall], gates: usize) -> Vec<Unit<'a>> {
    let mut units = Vec::new();
    for (call_index, call) in calls.iter().enumerate() {
        let members = job
            .panels
            .get(&call.role)
            .into_iter()
            .flat_map(|panel| &panel.members);
        for (index, member) in (0_u32..).zip(members) {
            for sample in 0..member.samples.max(1) {
                let call = JudgeCall {
                    sample,
                    member: index,
                    ..call.clone()
                };
                units.push(Unit {
                    member,
                    call_index,
                    call,
                    gates,
                });
            }
        }
    }
    units.sort_by_key(|unit| unit.call.member);
    units
}

impl State {
    /// Merges the samples of a call in the order of judge and index.
    fn merge_samples(&mut self, call: JudgeCall, mut asked: Asked, job: &Job) {
        // Samples with replies are paid for, even if others of the call were deferred.
        self.replies += asked
            .samples
            .iter()
            .filter(|(_, sample)| sample.raw.is_some())
            .count() as u64;
        if asked.deferred {
            let reason = UnscoredReason::new(UnscoredKind::NotAsked, "not asked yet");
            self.verdicts
                .insert(Arc::clone(&call.item), Judged::Unscored(reason));
            self.deferred.push((call.item, call.task.kind()));
            return;
        }
        self.flags.extend(
            asked
                .samples
                .iter()
                .flat_map(|(_, sample)| sample.flags.iter().cloned()),
        );
        asked.samples.sort_by_key(|(position, _)| *position);
        let Some(panel) = job.panels.get(&call.role) else {
            self.verdicts
                .insert(call.item, merge_members(Vec::new(), &[], GradeMerge::Mean));
            return;
        };
        let names: Vec<Arc<str>> = match &call.task {
            JudgeTask::Criteria { criteria, .. } => criteria
                .iter()
                .map(|one| one.name.as_str().into())
                .collect(),
            _ => vec![Arc::clone(&call.item)],
        };
        let mut merged: Vec<(Vec<Judged>, Vec<MemberValues>)> =
            vec![Default::default(); names.len()];
        for (index, member) in (0_u32..).zip(&panel.members) {
            let (mut raws, mut samples) = (Vec::new(), Vec::new());
            for (_, sample) in asked
                .samples
                .extract_if(.., |((judge, _), _)| *judge == index)
            {
                raws.extend(sample.raw);
                samples.push(sample.sample);
            }
            let parts = if names.len() > 1 {
                by_criterion(&samples, names.len())
            } else {
                vec![samples]
            };
            for ((judged, values), samples) in merged.iter_mut().zip(parts) {
                let own = match merges_texts(job, member, call.task.kind()) {
                    true => merge_texts(&raws, member.merge),
                    false => merge_samples(samples.clone(), member.merge),
                };
                if panel.members.len() > 1 || member.samples > 1 {
                    values.push(member_values(&member.judge_id, &own, &samples));
                }
                judged.push(own);
            }
        }
        let judges: Vec<&str> = panel
            .members
            .iter()
            .map(|member| &*member.judge_id)
            .collect();
        for (name, (judged, values)) in names.into_iter().zip(merged) {
            let judged = merge_members(judged, &judges, panel.merge);
            // A call about several criteria without a usable reply leaves each of them open.
            let item = if matches!(judged, Judged::Unscored(_)) {
                Arc::clone(&call.item)
            } else {
                Arc::clone(&name)
            };
            self.verdicts.insert(item, judged);
            if !values.is_empty() {
                self.members.insert(name, values);
            }
        }
    }
}

/// The reference merges the texts of several grades.
fn merges_texts(job: &Job, member: &Member, kind: CallKind) -> bool {
    job.options.mode == Mode::Compat && member.samples > 1 && kind == CallKind::Aspect
}
