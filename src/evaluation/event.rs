//! What a run tells while it goes on; progress and records consume it, nothing else prints or writes.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::domain::{
    CallId, CallKind, CaseId, Fingerprint, JudgeReply, Role, ScoredAnswer, SystemName, UnscoredReason, Verdict,
};
use crate::error;
use crate::judge::JudgeRequest;

use super::call_id;
use super::panel::Member;

/// What a run would ask, before it asks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Plan {
    /// Answers to be scored: one that several scorers look at is one.
    pub answers: u64,
    /// Scores to be made: one an answer and scorer.
    pub answer_scores: u64,
    /// Calls that can be asked now and are not in the cache (exact).
    pub askable_now: u64,
    /// Calls if every gate opens (an upper bound; retries of unreadable replies not counted).
    pub at_most: u64,
    /// Calls whose reply is in the cache.
    pub cached: u64,
    /// About how many prompt tokens `askable_now` has.
    pub prompt_tokens_now: u64,
    /// About how many prompt tokens `at_most` has.
    pub prompt_tokens_at_most: u64,
}

/// One call and its outcome: a line of `calls.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRecord {
    /// Identifies system, case, item, draw and attempt within a run; see [`call_id`].
    pub call_id: CallId,
    /// Whose answer it was about.
    pub system: SystemName,
    /// Which case.
    pub case_id: CaseId,
    /// Which component.
    pub item: Arc<str>,
    /// Which kind of question.
    pub kind: CallKind,
    /// Which judge was asked.
    pub role: Role,
    /// The judge's identity.
    pub judge: Arc<str>,
    /// Index of the draw.
    pub draw: u32,
    /// 0, or the n-th time of asking again after an unreadable reply.
    pub attempt: u32,
    /// Cache key; `None` for judges without one.
    pub fingerprint: Option<Fingerprint>,
    /// The raw reply, where one came.
    pub reply: Option<JudgeReply>,
    /// What was read, or why nothing was; in files under `verdict` or `unscored`.
    #[serde(flatten, with = "VerdictOrReason")]
    pub verdict: Result<Verdict, UnscoredReason>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Result<Verdict, UnscoredReason>")]
enum VerdictOrReason {
    #[serde(rename = "verdict")]
    Ok(Verdict),
    #[serde(rename = "unscored")]
    Err(UnscoredReason),
}

impl CallRecord {
    /// What became of this request to that judge.
    pub(super) fn of(
        request: &JudgeRequest,
        member: &Member,
        reply: Option<JudgeReply>,
        verdict: Result<Verdict, UnscoredReason>,
    ) -> Self {
        let call = &request.call;
        Self {
            call_id: call_id(&request.system, &request.case_id, call, request.attempt),
            system: request.system.clone(),
            case_id: request.case_id.clone(),
            item: Arc::clone(&call.item),
            kind: call.task.kind(),
            role: call.role.clone(),
            judge: Arc::clone(&member.judge_id),
            draw: call.draw,
            attempt: request.attempt,
            fingerprint: request.rendered.as_ref().map(|rendered| rendered.fingerprint),
            reply,
            verdict,
        }
    }
}

/// One thing that happened in a run.
#[derive(Debug, Clone, PartialEq)]
pub enum RunEvent {
    /// A call has an outcome.
    Call(Box<CallRecord>),
    /// An answer has its score.
    Scored(Arc<ScoredAnswer>),
    /// The run was told to stop; calls in flight are finished or dropped.
    Stopping(String),
}

/// Listens to a run.
pub trait EventSink {
    /// Takes one event.
    ///
    /// # Errors
    /// An error stops the run (a record that cannot be written must not go on paying).
    fn on_event(&mut self, event: &RunEvent) -> error::Result<()>;
}

/// Discards all events.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoEvents;

impl EventSink for NoEvents {
    fn on_event(&mut self, _event: &RunEvent) -> error::Result<()> {
        Ok(())
    }
}
