//! Events of a run, consumed by progress display and records. Nothing else prints or writes.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::remedy::{decision_remedy, remedy};
use crate::domain::{
    CallId, CaseId, Fingerprint, JudgeReply, Role, ScoredAnswer, SystemName, UnscoredKind,
    UnscoredReason, Verdict,
};
use crate::error;
use crate::judge::JudgeRequest;
use crate::question::{DecisionChunk, JudgeCall, Kind};

/// One call and its outcome: a line of `calls.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRecord {
    /// Identifies system, case, item, sample and attempt within a run; see [`call_id`].
    pub call_id: CallId,
    /// The system.
    pub system: SystemName,
    /// The case.
    pub case_id: CaseId,
    /// The component.
    pub item: Arc<str>,
    /// The kind of call.
    pub kind: Kind,
    /// The judge's name.
    pub role: Role,
    /// The judge's identity.
    pub judge: Arc<str>,
    /// Index of the sample.
    pub sample: u32,
    /// 0, or n for the n-th repeat after an unreadable reply.
    pub attempt: u32,
    /// Cache key; `None` for judges without one.
    pub fingerprint: Option<Fingerprint>,
    /// The hash of the prompt's texts; `None` for judges without prompts, and in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Fingerprint>,
    /// Tokens of room for reasoning in its reply limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub room: u64,
    /// The raw reply, if there was one.
    pub reply: Option<JudgeReply>,
    /// The verdict, or why there is none; in files under `verdict` or `unscored`.
    #[serde(flatten, with = "VerdictOrReason")]
    pub verdict: Result<Verdict, UnscoredReason>,
    /// Whether a decision model was asked; not in files.
    #[serde(skip)]
    pub is_decision: bool,
    /// Whether other requests ask everything again that this one asked; not in files.
    #[serde(skip)]
    pub is_replaced: bool,
}

fn is_zero(tokens: &u64) -> bool {
    *tokens == 0
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
    /// The outcome of this request to the judge with this identity.
    pub(crate) fn of(
        request: &JudgeRequest,
        judge_id: &Arc<str>,
        reply: Option<JudgeReply>,
        verdict: Result<Verdict, UnscoredReason>,
    ) -> Self {
        let call = &request.call;
        let rendered = request.rendered.as_ref();
        Self {
            call_id: call_id(&request.system, &request.case_id, call, request.attempt),
            system: request.system.clone(),
            case_id: request.case_id.clone(),
            item: Arc::clone(&call.item),
            kind: call.question.info().kind(),
            role: call.role.clone(),
            judge: Arc::clone(judge_id),
            sample: call.sample,
            attempt: request.attempt,
            fingerprint: rendered.map(|rendered| rendered.fingerprint),
            prompt: rendered.and_then(|call| Some(call.prompt.as_ref()?.hash())),
            room: rendered.map_or(0, |call| call.room),
            reply,
            verdict,
            is_decision: call.question.downcast_ref::<DecisionChunk>().is_some(),
            is_replaced: false,
        }
    }

    /// What may help against failures of this kind.
    pub fn remedy(&self, kind: UnscoredKind) -> Option<&'static str> {
        if self.is_decision {
            decision_remedy(kind)
        } else {
            remedy(kind)
        }
    }

    /// Why nothing that it asked has a verdict; `None` also where other requests ask it again.
    pub fn failure(&self) -> Option<&UnscoredReason> {
        if self.is_replaced {
            return None;
        }
        match &self.verdict {
            Ok(verdict) => verdict.failure(),
            Err(reason) => Some(reason),
        }
    }
}

/// The identifier of a call within a run: a hash of system, case, item, sample and attempt and, except for the first
/// judge of the rubric, of the role and the index in the panel.
pub fn call_id(system: &SystemName, case_id: &CaseId, call: &JudgeCall, attempt: u32) -> CallId {
    let mut hasher = blake3::Hasher::new();
    let mut part = |text: &str| {
        // Lengths first: `ab` + `c` and `a` + `bc` are different calls.
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    part(system.as_str());
    part(case_id.as_str());
    part(&call.item);
    // Without a role for the first judge of the rubric, for good: recorded ids find paid replies,
    // so that they never change.
    if call.role != Role::Rubric || call.member > 0 {
        part(&call.role.name());
        hasher.update(&call.member.to_le_bytes());
    }
    hasher.update(&call.sample.to_le_bytes());
    hasher.update(&attempt.to_le_bytes());
    hasher.finalize().into()
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
