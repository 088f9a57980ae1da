//! Events of a run, consumed by progress display and records. Nothing else prints or writes.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::domain::{
    CallId, CallKind, CaseId, Fingerprint, JudgeReply, Role, ScoredAnswer, SystemName,
    UnscoredReason, Verdict,
};
use crate::error;
use crate::judge::JudgeRequest;

use super::call_id;
use super::panel::Member;

/// The calls of a run, before it starts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Plan {
    /// Answers to score; one that several scorers score counts once.
    pub answers: u64,
    /// Scores to compute: one per answer and scorer.
    pub answer_scores: u64,
    /// Calls that can be asked now and are not in the cache (exact).
    pub askable_now: u64,
    /// Calls if every gate opens (an upper bound; retries of unreadable replies not counted).
    pub at_most: u64,
    /// Calls whose reply is in the cache.
    pub cached: u64,
}

/// One call and its outcome: a line of `calls.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRecord {
    /// Identifies system, case, item, draw and attempt within a run; see [`call_id`].
    pub call_id: CallId,
    /// The system.
    pub system: SystemName,
    /// The case.
    pub case_id: CaseId,
    /// The component.
    pub item: Arc<str>,
    /// The kind of call.
    pub kind: CallKind,
    /// The judge's name.
    pub role: Role,
    /// The judge's identity.
    pub judge: Arc<str>,
    /// Index of the sample.
    pub draw: u32,
    /// 0, or n for the n-th repeat after an unreadable reply.
    pub attempt: u32,
    /// Cache key; `None` for judges without one.
    pub fingerprint: Option<Fingerprint>,
    /// The raw reply, if there was one.
    pub reply: Option<JudgeReply>,
    /// The verdict, or why there is none; in files under `verdict` or `unscored`.
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
    /// The outcome of this request.
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
            fingerprint: request
                .rendered
                .as_ref()
                .map(|rendered| rendered.fingerprint),
            reply,
            verdict,
        }
    }
}

/// An event of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum RunEvent {
    /// A call has an outcome.
    Call(Box<CallRecord>),
    /// An answer has its score.
    Scored(Arc<ScoredAnswer>),
    /// The run is stopping; calls in flight are finished or dropped.
    Stopping(String),
}

/// Receives the events of a run.
pub trait EventSink {
    /// Handles one event.
    ///
    /// # Errors
    /// An error stops the run: it must not continue to pay for replies that cannot be recorded.
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
