//! Asks for one sample of a call: attempt after attempt until a reply can be read, or a repeat cannot help.
//!
//! An attempt goes to the judge in a run, and to the cached replies in planning. Each of its replies is recorded, readable
//! or not, before the next attempt is made.

use std::sync::Arc;

use tokio::sync::MutexGuard;

use super::answer::{Abort, AnswerRun, Pass};
use super::expected;
use super::panel::Member;
use super::units::{SampleCall, SampleResult};
use crate::domain::{JudgeReply, Judgment, Mode, Reading, UnscoredKind, UnscoredReason};
use crate::error::{Error, Result};
use crate::judge::parameter::Parameter;
use crate::judge::planner::recall;
use crate::judge::render::CallAttempt;
use crate::judge::reply_forms::Beginning;
use crate::judge::room::RUNGS;
use crate::judge::streak::Begun;
use crate::judge::{AskError, Judge, JudgeRequest, Outcome};
use crate::prompt::Prompt;
use crate::question::{JudgeCall, Unreadable};
use crate::record::{CallRecord, RunEvent};

/// The note on a reply that the strict parser cannot read.
pub(super) const MENDED_READING: &str = "a reply that is nearly JSON, or in a wrapper, was read";

/// What one attempt brought.
enum AttemptEnd {
    Reply(JudgeReply),
    /// There is no reply, for this reason.
    Failed(UnscoredReason),
    /// Not asked: no cached reply, and planning makes no call.
    Deferred,
    /// The server does not take a part of the request. It is left out of all requests from now on, and the attempt is
    /// made again.
    OtherForm,
}

/// A sample of a call, asked of one judge.
struct Asked<'a> {
    call: &'a JudgeCall,
    member: &'a Member,
    unit: &'a SampleCall<'a>,
    /// Rendered once for all requests; `None` for judges that answer the task itself.
    prompt: Option<Arc<Prompt>>,
}

impl<'a> Asked<'a> {
    fn new(unit: &'a SampleCall<'a>) -> Self {
        let (call, member) = (&unit.call, unit.member);
        let renderer = member.renderer.as_ref();
        Self {
            call,
            member,
            unit,
            prompt: renderer.map(|renderer| renderer.prompt(&*call.question)),
        }
    }
}

/// The attempts of a sample so far.
#[derive(Clone, Copy)]
struct Tries {
    beginning: Beginning,
    /// 0-based index of the current one.
    attempt: u32,
    /// How many were answered by a call, not from the cache.
    fresh: u32,
    /// The room for reasoning of the next one; `None`: what its judge has.
    room: Option<u64>,
    /// The room that the server refused.
    refused_room: u64,
    /// Whether the last reply was cut by its reasoning.
    is_starved: bool,
}

impl Asked<'_> {
    /// No attempt yet.
    fn tries(&self, beginning: Beginning) -> Tries {
        Tries {
            beginning,
            attempt: self.unit.attempt,
            fresh: 0,
            room: None,
            refused_room: u64::MAX,
            is_starved: false,
        }
    }
}

impl AnswerRun<'_> {
    /// Asks for one sample, and repeats while the reply cannot be read and a repeat may help; `None` if it was deferred.
    pub(super) async fn ask_until_read(
        &self,
        unit: &SampleCall<'_>,
    ) -> Result<Option<SampleResult>, Abort> {
        let SampleCall { call, member, .. } = unit;
        // Before the first attempt: calls that are in flight when the first one proves unreadable
        // may still be readable, and the judge is not given up before they have ended.
        let begun = self.legibility.begin(call.question.info());
        let asked = Asked::new(unit);
        let (beginning, first) = self.beginning(&asked)?;
        let mut first = Some(first);
        let mut raw: Option<String> = None;
        let mut tries = asked.tries(beginning);
        // Held while this call alone is asked with more room than any whole reply had.
        let mut climb = None;
        loop {
            // Checked at each attempt: the repeats of a call that was in flight at the stop would
            // be new, paid calls.
            if self.stop.is_set() {
                return Err(Abort::Stopped);
            }
            let request = first.take().unwrap_or_else(|| self.request(&asked, tries));
            self.begin_climb(&request, member, &mut climb).await?;
            let mut reply = match self
                .attempt(&request, &asked, unit.gates, &mut tries)
                .await?
            {
                AttemptEnd::Reply(reply) => reply,
                AttemptEnd::OtherForm => continue,
                AttemptEnd::Deferred => return Ok(None),
                AttemptEnd::Failed(reason) => {
                    self.record(&request, &asked, None, &Err(reason.clone()))
                        .await;
                    return Ok(Some(SampleResult::unscored(reason)));
                }
            };
            tries.fresh += u32::from(!reply.cached);
            let options = &self.job.options;
            let shown = reply.without_reasoning(&options.reasoning_tags, options.mode);
            let read = call.question.parse(&shown, options.mode);
            tries.is_starved = reply.is_starved(&shown, read.is_ok());
            let gives_room = self.gives_room(&request, &asked, &reply, &mut tries, &mut climb);
            if gives_room.await? {
                continue;
            }
            // A reference that merges texts makes one attempt a sample: our repeats are not among
            // them.
            raw.get_or_insert_with(|| self.text_to_merge(call, member, &reply));
            note_reading(&request, member, read.is_ok())?;
            let again = self.repeats(&request, &asked, &reply, read.as_ref().err(), tries)?;
            let note = with_further_notes(&request, &shown, options.mode, read.is_ok());
            let (sample, flags) = sample_of(call, member, &shown, read, note.clone());
            reply.note = note;
            // Before the next attempt is made: a crash in between must not lose a reply that was
            // paid for.
            self.record(&request, &asked, Some(reply.clone()), &sample)
                .await;
            note_room(&request, member, &reply, tries.is_starved, true)?;
            climb = None;
            if again {
                tries.attempt += 1;
                continue;
            }
            self.note_legibility(&request, &asked, &reply, &sample, begun)?;
            return Ok(Some(SampleResult {
                sample,
                raw,
                flags,
                attempt: tries.attempt,
            }));
        }
    }

    /// Notes whether the last reply to a call can be read, so that a judge that cannot be read is given up.
    fn note_legibility(
        &self,
        request: &JudgeRequest,
        asked: &Asked<'_>,
        reply: &JudgeReply,
        sample: &Judgment,
        begun: Begun,
    ) -> Result<(), Abort> {
        let fault = match sample {
            Ok(reading) => reading.verdict.failure(),
            Err(reason) => Some(reason),
        };
        // Readable replies count even from the cache, since they show that the judge can be read. The judge of a re-run is
        // not blamed for the unreadable ones of an earlier run.
        if fault.is_some_and(|reason| reply.cached || !self.is_final(asked, sample, reason)) {
            return Ok(());
        }
        let unreadable = fault.map(|reason| (reason.clone(), reply.content.clone()));
        let unreadable = unreadable.as_ref();
        Ok(self
            .legibility
            .note(request, asked.member, unreadable, begun)?)
    }

    /// Makes one attempt: with cached replies when planning, else by the judge.
    async fn attempt(
        &self,
        request: &JudgeRequest,
        asked: &Asked<'_>,
        gates: usize,
        tries: &mut Tries,
    ) -> Result<AttemptEnd, Abort> {
        let member = asked.member;
        let outcome = match self.pass {
            Pass::Run(_) => member.judge.ask(request).await,
            Pass::Plan(_) => recall(&*member.source, request)
                .map(|recalled| recalled.unwrap_or(Outcome::Deferred)),
        };
        let failed = match outcome {
            Ok(Outcome::Reply(reply)) => {
                if self.drops_form(request, member, &reply)? {
                    return Ok(AttemptEnd::OtherForm);
                }
                return Ok(AttemptEnd::Reply(reply));
            }
            Ok(Outcome::Deferred) => {
                if let Pass::Plan(tally) = self.pass {
                    tally.count(request, member, gates);
                }
                return Ok(AttemptEnd::Deferred);
            }
            Ok(Outcome::Unscored(reason)) => reason,
            Err(AskError::Fatal(error)) => return Err(Abort::Fatal(error)),
            // The layers below have repeated it in vain. The run continues: the next answer may get a
            // reply.
            Err(AskError::Transient { message, .. }) => {
                UnscoredReason::new(UnscoredKind::Unreachable, message)
            }
            Err(AskError::Refused { message, kind, .. }) => UnscoredReason::new(kind, message),
            Err(AskError::Unsupported {
                parameter: Parameter::Room,
                message,
            }) => {
                learn_most(request, member, &message)?;
                let next = self.request(asked, *tries);
                // What the refusal states may be less than the reply itself needs, or nothing.
                if limit_of(&next) >= limit_of(request) {
                    tries.lower_room(request);
                }
                return Ok(AttemptEnd::OtherForm);
            }
            Err(AskError::Unsupported { parameter, message }) => {
                let Some(renderer) = &member.renderer else {
                    return Err(Abort::Fatal(Error::JudgeUnavailable(message)));
                };
                // Learned for all calls of the run, so that the refusal is paid for once and not
                // once a call.
                renderer.leave_out(parameter)?;
                return Ok(AttemptEnd::OtherForm);
            }
        };
        if drops_refused_schema(request, member, &failed)? {
            return Ok(AttemptEnd::OtherForm);
        }
        Ok(AttemptEnd::Failed(failed))
    }

    /// Whether the reply shows that the server cannot keep to the form that was asked for, so that it is not sent any more.
    /// In compat mode, such a reply is one of the attempts that the reference counts.
    fn drops_form(
        &self,
        request: &JudgeRequest,
        member: &Member,
        reply: &JudgeReply,
    ) -> Result<bool, Abort> {
        match (&member.renderer, &request.rendered) {
            (Some(renderer), Some(rendered)) if self.job.options.mode == Mode::Default => {
                Ok(renderer.forms().drops_form(rendered, reply)?)
            }
            _ => Ok(false),
        }
    }

    /// The text of the reply where the texts of samples are merged, else nothing.
    fn text_to_merge(&self, call: &JudgeCall, member: &Member, reply: &JudgeReply) -> String {
        if member.samples > 1 && call.question.merges_texts(self.job.options.mode) {
            reply.content.clone()
        } else {
            String::new()
        }
    }

    /// Records the outcome of an attempt: at once in a run, with the answer in planning.
    async fn record(
        &self,
        request: &JudgeRequest,
        asked: &Asked<'_>,
        reply: Option<JudgeReply>,
        sample: &Judgment,
    ) {
        let verdict = match sample {
            Ok(reading) => Ok(reading.verdict.clone()),
            Err(reason) => Err(reason.clone()),
        };
        let mode = self.job.options.mode;
        let record = CallRecord {
            is_replaced: asked.unit.is_replaced(sample, mode),
            ..CallRecord::of(request, &asked.member.judge_id, reply, verdict)
        };
        match self.pass {
            Pass::Plan(tally) => tally.recall(record),
            Pass::Run(sender) => sender.send(RunEvent::Call(Box::new(record))).await,
        }
    }

    /// Whether a last reply to this call without any verdict counts against the judge.
    ///
    /// With `--retry-unscored`, new calls repeat unreadable replies, which is not a fair sample of the judge. After an
    /// unreadable reply about several criteria each of them is asked alone; a judge that writes text is not in compat mode. That a
    /// request is too long says nothing of the judge.
    fn is_final(&self, asked: &Asked<'_>, sample: &Judgment, reason: &UnscoredReason) -> bool {
        let is_asked_alone = match asked.unit.chunk() {
            Some(chunk) => asked.unit.asks_some_alone(chunk, sample),
            None => asked.call.question.unit_count() > 1 && self.job.options.mode == Mode::Default,
        };
        let is_too_long = reason.kind == UnscoredKind::ContextOverflow;
        !is_asked_alone && !is_too_long && !self.job.options.retry_unscored
    }

    /// Whether to make the attempt `next`. The limit of repeats applies to new calls; a cached reply is used whenever a
    /// repeat may help.
    fn asks_again(
        &self,
        may_help: bool,
        tries: Tries,
        next: &JudgeRequest,
        member: &Member,
    ) -> Result<bool, Abort> {
        if !may_help {
            return Ok(false);
        }
        let repeats = self.job.options.parse_retries;
        // All stored attempts were unreadable, so that `attempt` is past the limit already: the
        // limit counts the new calls alone.
        let retries_unscored = self.job.options.retry_unscored && tries.fresh <= repeats;
        if tries.attempt < repeats || retries_unscored {
            return Ok(true);
        }
        // A run with a lower limit than an earlier one still finds what the earlier one paid for.
        Ok(is_stored(next, member)?)
    }

    /// Whether a reply that was cut has, or is worth, a repeat in another form. Only the first one: the next would be cut
    /// as well. Compat reads cut replies as the reference does.
    fn repeats_cut(
        &self,
        request: &JudgeRequest,
        next: &JudgeRequest,
        member: &Member,
        reply: &JudgeReply,
        unreadable: &Unreadable,
    ) -> Result<bool, Abort> {
        let is_cut = unreadable.kind == UnscoredKind::Cut;
        if !is_cut || request.attempt > 0 || self.job.options.mode == Mode::Compat {
            return Ok(false);
        }
        if is_stored(next, member)? {
            return Ok(true);
        }
        let (Some(renderer), Some(rendered)) = (&member.renderer, &request.rendered) else {
            return Ok(false);
        };
        Ok(renderer.forms().repeats_cut(&request.call, rendered, reply))
    }

    /// Whether another attempt is made after this reply, which was `unreadable` for some reason, or read.
    fn repeats(
        &self,
        request: &JudgeRequest,
        asked: &Asked<'_>,
        reply: &JudgeReply,
        unreadable: Option<&Unreadable>,
        tries: Tries,
    ) -> Result<bool, Abort> {
        let member = asked.member;
        // With the same room the next reply would be starved as well.
        let Some(unreadable) = unreadable.filter(|_| !tries.is_starved) else {
            return Ok(false);
        };
        let attempt = tries.attempt + 1;
        let next = self.request(asked, Tries { attempt, ..tries });
        let may_help =
            unreadable.ask_again || self.repeats_cut(request, &next, member, reply, unreadable)?;
        self.asks_again(may_help, tries, &next, member)
    }

    /// Waits until a new call with much room may be asked: a judge that never ends costs one such limit at a time.
    async fn begin_climb<'m>(
        &self,
        request: &JudgeRequest,
        member: &'m Member,
        climb: &mut Option<MutexGuard<'m, ()>>,
    ) -> Result<(), Abort> {
        let (Pass::Run(_), Some(renderer)) = (&self.pass, &member.renderer) else {
            return Ok(());
        };
        let room = request.rendered.as_ref().map_or(0, |call| call.room);
        let needs_no_turn = room <= RUNGS[0] || climb.is_some() || renderer.room().is_proven(room);
        if needs_no_turn || is_stored(request, member)? {
            return Ok(());
        }
        *climb = renderer.room().climb(room).await;
        if renderer.room().is_given_up() {
            return Err(Abort::Stopped);
        }
        Ok(())
    }

    /// Whether a call whose reply was starved is tried again with more room: as the same attempt, so that neither its seed nor
    /// the repeats of unreadable replies change. Waits until it may be asked; a stored reply, and a plan, need no wait.
    async fn gives_room<'m>(
        &self,
        request: &JudgeRequest,
        asked: &Asked<'m>,
        reply: &JudgeReply,
        tries: &mut Tries,
        climb: &mut Option<MutexGuard<'m, ()>>,
    ) -> Result<bool, Abort> {
        let member = asked.member;
        let more_room = self.more_room(request, asked, *tries);
        let (Some(room), Some(renderer)) = (more_room, &member.renderer) else {
            return Ok(false);
        };
        let sample = Err(Unreadable::cut(reply).into());
        self.record(request, asked, Some(reply.clone()), &sample)
            .await;
        note_room(request, member, reply, true, false)?;
        tries.room = Some(room);
        let next = self.request(asked, *tries);
        let is_run = matches!(self.pass, Pass::Run(_));
        if is_run && climb.is_none() && !is_stored(&next, member)? {
            *climb = renderer.room().climb(room).await;
            if renderer.room().is_given_up() {
                return Err(Abort::Stopped);
            }
            // Calls before this one may have shown that the judge needs more.
            let judges = Some(renderer.room().tokens()).filter(|room| *room < tries.refused_room);
            tries.room = tries.room.max(judges);
        }
        Ok(true)
    }

    /// The room with which a starved call is asked again; `None` if it was not starved, or no more can be given.
    fn more_room(&self, request: &JudgeRequest, asked: &Asked<'_>, tries: Tries) -> Option<u64> {
        let tried = request.rendered.as_ref().filter(|_| tries.is_starved)?;
        let mut rungs = RUNGS.into_iter().filter(|room| *room > tried.room);
        rungs.find(|room| {
            let room = Some(*room);
            let next = self.request(asked, Tries { room, ..tries });
            // The total limit, the context or a field that the user sets may leave it no higher limit.
            room < Some(tries.refused_room)
                && next.rendered.and_then(|next| next.max_tokens) > tried.max_tokens
        })
    }

    /// Whether the attempts of this call begin with our schema, and the first of them. What is stored decides first, so that
    /// a run finds its replies whatever was learned of the judge after they were given.
    fn beginning(&self, asked: &Asked<'_>) -> Result<(Beginning, JudgeRequest)> {
        // The plain form first: the key without a schema is the one that most runs have stored.
        let plain = self.request(asked, asked.tries(Beginning::Plain));
        let Some(renderer) = &asked.member.renderer else {
            return Ok((Beginning::Plain, plain));
        };
        let forms = renderer.forms();
        if !forms.may_carry_schema(asked.call) || is_stored(&plain, asked.member)? {
            return Ok((Beginning::Plain, plain));
        }
        let with_schema = self.request(asked, asked.tries(Beginning::Schema));
        if forms.begins_with_schema() || is_stored(&with_schema, asked.member)? {
            return Ok((Beginning::Schema, with_schema));
        }
        Ok((Beginning::Plain, plain))
    }

    fn request(&self, asked: &Asked<'_>, tries: Tries) -> JudgeRequest {
        let attempt = CallAttempt {
            attempt: tries.attempt,
            beginning: tries.beginning,
            room: tries.room,
        };
        let renderer = asked.member.renderer.as_ref().zip(asked.prompt.as_ref());
        let rendered =
            renderer.map(|(renderer, prompt)| renderer.render_prompt(asked.call, prompt, attempt));
        JudgeRequest {
            call: asked.call.clone(),
            system: self.item.system(),
            case_id: self.item.case.case_id.clone(),
            attempt: tries.attempt,
            rendered,
        }
    }
}

impl Tries {
    /// The next try has less room than this request, which the server refused for the length of its reply.
    fn lower_room(&mut self, refused: &JudgeRequest) {
        let room = refused.rendered.as_ref().map_or(0, |call| call.room);
        self.refused_room = room;
        let lower = RUNGS.into_iter().rev().find(|rung| *rung < room);
        self.room = Some(lower.unwrap_or(0));
    }
}

/// What was read of a reply as a sample, weighed by token probabilities where the member's scores are expected ones, with its
/// notes.
fn sample_of(
    call: &JudgeCall,
    member: &Member,
    shown: &JudgeReply,
    read: Result<Reading, Unreadable>,
    note: Option<String>,
) -> (Judgment, Vec<String>) {
    let mut flags = Vec::from_iter(note);
    let mut sample: Judgment = read.map_err(UnscoredReason::from);
    if member.expected {
        sample = expected::weigh(&*call.question, shown, sample, &mut flags);
    }
    (sample, flags)
}

/// Lets the renderer learn the highest limit that the server states to take: all calls keep to it from now on.
fn learn_most(request: &JudgeRequest, member: &Member, refusal: &str) -> Result<()> {
    match (&member.renderer, &request.rendered) {
        (Some(renderer), Some(rendered)) => renderer.room().learn_most(rendered, refusal),
        _ => Ok(()),
    }
}

fn limit_of(request: &JudgeRequest) -> Option<u64> {
    request.rendered.as_ref().and_then(|call| call.max_tokens)
}

/// Lets the renderer learn how much room for reasoning this judge's replies need.
fn note_room(
    request: &JudgeRequest,
    member: &Member,
    reply: &JudgeReply,
    is_starved: bool,
    is_last: bool,
) -> Result<()> {
    match (&member.renderer, &request.rendered) {
        (Some(renderer), Some(rendered)) if !reply.cached => {
            let kind = request.call.question.info().kind();
            let room = renderer.room();
            room.note(rendered, &kind, reply, is_starved, is_last)
        }
        _ => Ok(()),
    }
}

/// Lets the renderer learn whether this judge's replies can be read in the form in which they are asked for.
fn note_reading(request: &JudgeRequest, member: &Member, is_readable: bool) -> Result<()> {
    match (&member.renderer, &request.rendered) {
        (Some(renderer), Some(rendered)) => {
            let forms = renderer.forms();
            forms.note_reading(&request.call, rendered, request.attempt, is_readable)
        }
        _ => Ok(()),
    }
}

/// Whether the call failed because of our schema, so that it is not sent any more.
fn drops_refused_schema(
    request: &JudgeRequest,
    member: &Member,
    reason: &UnscoredReason,
) -> Result<bool> {
    match (&member.renderer, &request.rendered) {
        (Some(renderer), Some(rendered)) => renderer.forms().drops_refused_schema(rendered, reason),
        _ => Ok(false),
    }
}

/// The note of a reply together with those of its call and of its reading. They are recorded with the reply, since
/// rescoring renders no prompt; a recorded reply has them already.
fn with_further_notes(
    request: &JudgeRequest,
    reply: &JudgeReply,
    mode: Mode,
    is_readable: bool,
) -> Option<String> {
    let rendered = request.rendered.as_ref();
    let of_call = rendered.and_then(|rendered| rendered.note.as_deref());
    let is_mended = is_readable && request.call.question.read(reply, mode).is_err();
    let of_reading = is_mended.then_some(MENDED_READING);
    let mut notes = Vec::from_iter(reply.note.as_deref());
    for further in [of_reading, of_call].into_iter().flatten() {
        if !notes.iter().any(|note| note.contains(further)) {
            notes.insert(0, further);
        }
    }
    (!notes.is_empty()).then(|| notes.join("; "))
}

fn is_stored(request: &JudgeRequest, member: &Member) -> Result<bool> {
    Ok(member.source.find(request)?.is_some())
}
