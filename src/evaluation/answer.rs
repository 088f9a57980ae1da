//! Scores one answer: steps of its scorer, samples, repeats.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use futures::stream::{FuturesUnordered, StreamExt};

use super::event::CallRecord;
use super::expected;
use super::gates;
use super::lane::{Lanes, Place};
use super::legibility::Legibility;
use super::merge::{Draw, Merge, member_values, merge_draws, merge_members, merge_texts};
use super::panel::Member;
use super::sender::Records;
use super::stop::StopHandle;
use super::tally::AnswerTally;
use super::{Item, Job};
use crate::domain::{CallKind, JudgeCall, MemberValues, Mode, ScoredAnswer, UnscoredKind, UnscoredReason};
use crate::error::Error;
use crate::judge::planner::recall;
use crate::judge::{AskError, Judge, JudgeRequest, Outcome};
use crate::scorer::{Judged, Possible, Step, Verdicts};

/// Why an answer was abandoned.
#[derive(Debug)]
pub(super) enum Abort {
    /// The run was stopped.
    Stopped,
    /// The judge cannot be used any more.
    Fatal(Error),
}

impl Abort {
    /// The more informative of the two.
    fn worse(before: Option<Self>, new: Self) -> Self {
        match before {
            Some(Self::Fatal(error)) => Self::Fatal(error),
            _ => new,
        }
    }
}

/// How the scoring of an answer ended.
#[derive(Debug)]
pub(super) enum AnswerEnd {
    /// Its score, and the number of calls.
    Scored(Arc<ScoredAnswer>, u64),
    /// Calls were deferred; the number of the others, which have replies.
    Deferred(u64),
}

/// What it takes to score one answer.
pub(super) struct AnswerRun<'a> {
    pub(super) job: &'a Job,
    pub(super) item: &'a Item,
    /// `None` for planning: makes no calls, in sequence.
    pub(super) lanes: Option<&'a Lanes>,
    pub(super) stop: &'a StopHandle,
    pub(super) records: &'a Records,
    pub(super) legibility: &'a Legibility,
    /// Where deferred calls are counted (planning).
    pub(super) tally: Option<&'a AnswerTally<'a>>,
}

/// One sample of one call, from one judge.
struct Unit<'a> {
    /// The judge; `None` if the role has none.
    member: Option<&'a Member>,
    call_index: usize,
    call: JudgeCall,
    /// How many gates before it are only assumed to be open.
    gates: usize,
}

/// How a unit ended.
enum UnitEnd {
    Answered { draw: Draw, raw: Option<String>, marks: Vec<String> },
    Deferred,
}

/// Judge and index of a sample, its verdict, and the raw reply.
type AskedDraw = ((u32, u32), Draw, Option<String>);

/// The samples of one call in the order they arrived.
#[derive(Default)]
struct Asked {
    draws: Vec<AskedDraw>,
    deferred: bool,
    marks: Vec<String>,
}

/// The verdicts of an answer so far.
#[derive(Default)]
struct State {
    verdicts: Verdicts,
    deferred: Vec<(Arc<str>, CallKind)>,
    members: BTreeMap<Arc<str>, Vec<MemberValues>>,
    /// Flags that a reader of the score needs.
    marks: BTreeSet<String>,
    answered: u64,
    warm: bool,
}

impl AnswerRun<'_> {
    /// Steps the scorer until it is done, or until only deferred calls are left.
    pub(super) async fn score(&self) -> Result<AnswerEnd, Abort> {
        let mut state = State::default();
        loop {
            match self.step(&state) {
                Step::Ask(calls) => self.ask_all(calls, &mut state, 0).await?,
                Step::Done(mut score) if state.deferred.is_empty() => {
                    score.notes.extend(std::mem::take(&mut state.marks));
                    let item = self.item;
                    let scored = ScoredAnswer {
                        members: std::mem::take(&mut state.members),
                        steering: item.steering.clone(),
                        ..ScoredAnswer::new(item.answer.system.clone(), Arc::clone(&item.case), score)
                    };
                    return Ok(AnswerEnd::Scored(Arc::new(scored), state.answered));
                }
                Step::Done(_) => break,
            }
        }
        // In a run a deferred call means that no more calls are possible: those behind it are only counted.
        if self.lanes.is_none() {
            self.count_gated(&mut state).await?;
        }
        Ok(AnswerEnd::Deferred(state.answered))
    }

    /// Counts the calls that would follow if every deferred call opened its gate or, for scorers that list the possible
    /// verdicts, by any of these.
    async fn count_gated(&self, state: &mut State) -> Result<(), Abort> {
        let mut deferred = std::mem::take(&mut state.deferred);
        gates::forget(&mut state.verdicts, &deferred);
        let Some(mut possible) = self.possible(state) else {
            for gates in 1.. {
                gates::open(&mut state.verdicts, &deferred);
                let Step::Ask(calls) = self.step(state) else { break };
                self.ask_all(calls, state, gates).await?;
                deferred = std::mem::take(&mut state.deferred);
            }
            return Ok(());
        };
        // The nearest first: a cached reply among them decides what can follow.
        let mut seen: BTreeSet<Arc<str>> = deferred.into_iter().map(|(item, _)| item).collect();
        loop {
            possible.retain(|possible| !seen.contains(&possible.call.item));
            let Some(gates) = possible.iter().map(|possible| possible.gates).min() else { return Ok(()) };
            let nearest = possible.into_iter().filter(|possible| possible.gates == gates);
            let calls: Vec<JudgeCall> = nearest.map(|possible| possible.call).collect();
            seen.extend(calls.iter().map(|call| Arc::clone(&call.item)));
            self.ask_all(calls, state, gates).await?;
            gates::forget(&mut state.verdicts, &std::mem::take(&mut state.deferred));
            possible = self.possible(state).unwrap_or_default();
        }
    }

    fn possible(&self, state: &State) -> Option<Vec<Possible>> {
        self.job.scorer.possible(&self.item.case, &self.item.answer, &state.verdicts)
    }

    fn step(&self, state: &State) -> Step {
        self.job.scorer.step(&self.item.case, &self.item.answer, &state.verdicts)
    }

    /// Asks for every sample of these calls; the very first call of an answer goes alone and warms the prefix.
    async fn ask_all(&self, calls: Vec<JudgeCall>, state: &mut State, gates: usize) -> Result<(), Abort> {
        let mut asked: Vec<Asked> = calls.iter().map(|_| Asked::default()).collect();
        let mut queue = units(self.job, &calls, gates);
        let mut flying = FuturesUnordered::new();
        // An answer's own slot is not in `flying`: it is free when nothing, or only widened calls, are in flight.
        let mut own_place_free = true;
        let mut abort: Option<Abort> = None;
        while !(queue.is_empty() && flying.is_empty()) {
            if own_place_free && let Some(unit) = queue.pop_front() {
                own_place_free = false;
                flying.push(self.ask_unit(unit, None));
            }
            if state.warm {
                while !queue.is_empty()
                    && let Some(place) = self.lanes.and_then(Lanes::widen)
                    && let Some(unit) = queue.pop_front()
                {
                    flying.push(self.ask_unit(unit, Some(place)));
                }
            }
            let may_widen = state.warm && !queue.is_empty();
            tokio::select! {
                biased;
                Some((unit, end, place)) = flying.next() => {
                    own_place_free |= place.is_none();
                    state.warm = true;
                    let asked = &mut asked[unit.call_index];
                    match end {
                        Ok(UnitEnd::Answered { draw, raw, marks }) => {
                            asked.marks.extend(marks);
                            asked.draws.push(((unit.call.member, unit.call.draw), draw, raw));
                        }
                        Ok(UnitEnd::Deferred) => asked.deferred = true,
                        // Calls in flight are paid for: wait for them, and start nothing new.
                        Err(new) => {
                            queue.clear();
                            abort = Some(Abort::worse(abort, new));
                        }
                    }
                }
                Some(place) = widen_at_the_end(self.lanes), if may_widen => {
                    if let Some(unit) = queue.pop_front() {
                        flying.push(self.ask_unit(unit, Some(place)));
                    }
                }
            }
        }
        if let Some(abort) = abort {
            return Err(abort);
        }
        calls.into_iter().zip(asked).for_each(|(call, asked)| state.take(call, asked, self.job));
        Ok(())
    }

    async fn ask_unit<'u>(
        &self,
        unit: Unit<'u>,
        place: Option<Place>,
    ) -> (Unit<'u>, Result<UnitEnd, Abort>, Option<Place>) {
        let end = match unit.member {
            Some(member) => self.ask_until_read(&unit.call, member, unit.gates).await,
            None => {
                let what = format!("no judge has the role {}", unit.call.role.name());
                let reason = UnscoredReason::new(UnscoredKind::NoJudge, what);
                Ok(UnitEnd::Answered { draw: Err(reason), raw: None, marks: Vec::new() })
            }
        };
        (unit, end, place)
    }

    /// The outcome of one attempt: from cached replies when planning, else from the judge.
    async fn ask(&self, member: &Member, request: &JudgeRequest) -> Result<Outcome, AskError> {
        match self.lanes {
            Some(_) => member.judge.ask(request).await,
            None => recall(&*member.source, request).map(|recalled| recalled.unwrap_or(Outcome::Deferred)),
        }
    }

    /// Asks for one sample, and repeats while the reply cannot be read and a repeat may help.
    async fn ask_until_read(&self, call: &JudgeCall, member: &Member, gates: usize) -> Result<UnitEnd, Abort> {
        let mut raw: Option<String> = None;
        let mut fresh_tries = 0;
        let mut attempt = 0;
        loop {
            if self.stop.is_set() {
                return Err(Abort::Stopped);
            }
            let request = self.request(call, member, attempt);
            let mut reply = match self.ask(member, &request).await {
                Ok(Outcome::Reply(reply)) => reply,
                Ok(Outcome::Deferred) => {
                    if let Some(tally) = self.tally {
                        tally.count(&request, member, gates);
                    }
                    return Ok(UnitEnd::Deferred);
                }
                Ok(Outcome::Unscored(reason)) => return Ok(self.unscored(&request, member, reason).await),
                Err(AskError::Fatal(error)) => return Err(Abort::Fatal(error)),
                Err(AskError::Transient { message, .. }) => {
                    let reason = UnscoredReason::new(UnscoredKind::Unreachable, message);
                    return Ok(self.unscored(&request, member, reason).await);
                }
                Err(AskError::Refused { message, kind, .. }) => {
                    let reason = UnscoredReason::new(kind, message);
                    return Ok(self.unscored(&request, member, reason).await);
                }
            };
            let raw = raw.get_or_insert_with(|| reply.content.clone()).clone();
            let read = call.task.parse(&reply, self.job.options.mode);
            fresh_tries += u32::from(!reply.cached);
            let again = match &read {
                Ok(_) => false,
                Err(unreadable) => self.asks_again(unreadable.ask_again, (attempt, fresh_tries), call, member)?,
            };
            // A record keeps the flag with the reply, since rescoring renders no prompt.
            reply.note = request.rendered.as_ref().and_then(|call| call.note.clone()).or(reply.note);
            let mut marks: Vec<String> = reply.note.clone().into_iter().collect();
            let draw: Draw = read.map_err(UnscoredReason::from);
            let draw = if member.expected { expected::weigh(call, &reply, draw, &mut marks) } else { draw };
            let verdict = draw.as_ref().map(|(verdict, _)| *verdict).map_err(Clone::clone);
            let is_fresh = !reply.cached;
            self.records.push(CallRecord::of(&request, member, Some(reply), verdict)).await;
            // Repeats follow unreadable replies: they say nothing about the judge in general.
            if is_fresh && !self.job.options.retry_unscored {
                self.legibility.note(call.task.kind(), draw.as_ref().err()).map_err(Abort::Fatal)?;
            }
            if !again {
                return Ok(UnitEnd::Answered { draw, raw: Some(raw), marks });
            }
            attempt += 1;
        }
    }

    /// Whether to make attempt `attempt + 1`. Cached replies are used whatever the limit.
    fn asks_again(
        &self,
        may_help: bool,
        (attempt, fresh_tries): (u32, u32),
        call: &JudgeCall,
        member: &Member,
    ) -> Result<bool, Abort> {
        let options = &self.job.options;
        let fresh_left = fresh_tries <= options.parse_retries;
        if may_help && attempt < options.parse_retries {
            return Ok(true);
        }
        if options.retry_unscored && fresh_left && may_help {
            return Ok(true);
        }
        let next = self.request(call, member, attempt + 1);
        member.source.find(&next).map(|found| found.is_some()).map_err(Abort::Fatal)
    }

    async fn unscored(&self, request: &JudgeRequest, member: &Member, reason: UnscoredReason) -> UnitEnd {
        self.records.push(CallRecord::of(request, member, None, Err(reason.clone()))).await;
        UnitEnd::Answered { draw: Err(reason), raw: None, marks: Vec::new() }
    }

    fn request(&self, call: &JudgeCall, member: &Member, attempt: u32) -> JudgeRequest {
        JudgeRequest {
            call: call.clone(),
            system: self.item.answer.system.clone(),
            case_id: self.item.case.case_id.clone(),
            attempt,
            rendered: member.renderer.render(call, attempt),
        }
    }
}

/// Every sample of these calls from every judge of its role, judge by judge, so that each prefix stays warm.
fn units<'a>(job: &'a Job, calls: &[JudgeCall], gates: usize) -> VecDeque<Unit<'a>> {
    let mut units = VecDeque::new();
    for (call_index, call) in calls.iter().enumerate() {
        let members = job.panels.of(&call.role).map_or(&[][..], |panel| &panel.members);
        if members.is_empty() {
            units.push_back(Unit { member: None, call_index, call: call.clone(), gates });
        }
        for (place, member) in (0_u32..).zip(members) {
            for draw in 0..member.samples.max(1) {
                let call = JudgeCall { draw, member: place, ..call.clone() };
                units.push_back(Unit { member: Some(member), call_index, call, gates });
            }
        }
    }
    units.make_contiguous().sort_by_key(|unit| unit.call.member);
    units
}

impl State {
    /// Merges the samples of a call in the order of judge and index.
    fn take(&mut self, call: JudgeCall, mut asked: Asked, job: &Job) {
        // If some samples are missing, the others are paid for all the same.
        self.answered += asked.draws.len() as u64;
        if asked.deferred {
            let reason = UnscoredReason::new(UnscoredKind::NotAsked, "not asked yet");
            self.verdicts.insert(Arc::clone(&call.item), Judged::Unscored(reason));
            self.deferred.push((call.item, call.task.kind()));
            return;
        }
        self.marks.append(&mut asked.marks.drain(..).collect());
        asked.draws.sort_by_key(|(place, ..)| *place);
        let Some(panel) = job.panels.of(&call.role) else {
            let draws = asked.draws.into_iter().map(|(_, draw, _)| draw).collect();
            self.verdicts.insert(call.item, merge_draws(draws, Merge::Mean));
            return;
        };
        let (mut of_members, mut values) = (Vec::new(), Vec::new());
        for (place, member) in (0_u32..).zip(&panel.members) {
            let own = asked.draws.extract_if(.., |((of, _), ..)| *of == place).collect::<Vec<_>>().into_iter();
            let mut raws = Vec::new();
            let mut draws = Vec::new();
            for (_, draw, raw) in own {
                raws.extend(raw);
                draws.push(draw);
            }
            let merged = match job.options.mode {
                // The reference merges several grades by their texts.
                Mode::Compat if member.samples > 1 && call.task.kind() == CallKind::Aspect => {
                    merge_texts(&raws, member.merge)
                }
                _ => merge_draws(draws.clone(), member.merge),
            };
            if panel.members.len() > 1 || member.samples > 1 {
                values.push(member_values(&member.judge_id, &merged, &draws));
            }
            of_members.push(merged);
        }
        let judges: Vec<&str> = panel.members.iter().map(|member| &*member.judge_id).collect();
        self.verdicts.insert(Arc::clone(&call.item), merge_members(of_members, &judges, panel.merge));
        if !values.is_empty() {
            self.members.insert(call.item, values);
        }
    }
}

/// Waits for another slot at the end of a run; never resolves without lanes.
async fn widen_at_the_end(lanes: Option<&Lanes>) -> Option<Place> {
    match lanes {
        Some(lanes) => lanes.widen_at_the_end().await,
        None => std::future::pending().await,
    }
}
