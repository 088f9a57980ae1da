//! Detects a judge whose replies are never readable, before the whole run is paid for.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::domain::{CallKind, UnscoredKind, UnscoredReason};
use crate::error::{Error, Result};
use crate::judge::JudgeRequest;
use crate::judge::streak::{Begun, Streak};

/// Cases with unreadable replies to each kind of call, and whether one was readable: then the judge can do it.
#[derive(Debug, Default)]
pub(super) struct Legibility {
    kinds: [(AtomicBool, Streak); CallKind::ALL.len()],
    /// How many cases are asked about.
    cases_asked: usize,
}

impl Legibility {
    /// For calls about so many cases.
    pub(super) fn over(cases_asked: usize) -> Self {
        Self {
            cases_asked,
            ..Self::default()
        }
    }

    /// A call begins; keep what this gives until it is noted.
    pub(super) fn begin(&self, kind: CallKind) -> Begun {
        self.kinds[kind as usize].1.begin()
    }

    /// Records a call that is not asked again; `reason` says why its replies could not be read.
    ///
    /// # Errors
    /// [`Error::Unreadable`] when the replies about several different cases were unreadable, and no other one was
    /// readable.
    pub(super) fn note(
        &self,
        request: &JudgeRequest,
        reason: Option<&UnscoredReason>,
        call: Begun,
    ) -> Result<()> {
        let kind = request.call.task.kind();
        let (was_read, streak) = &self.kinds[kind as usize];
        let Some(reason) = reason else {
            was_read.store(true, Ordering::Relaxed);
            return Ok(());
        };
        let Some(extent) = streak
            .fail(request, "", call, self.cases_asked)
            .filter(|_| !was_read.load(Ordering::Relaxed))
        else {
            return Ok(());
        };
        Err(Error::Unreadable(format!(
            "no reply to the {kind} calls about {extent} holds a verdict (the last one: {reason}); \
             {}they are kept, the same command continues after them",
            remedy(reason.kind).map_or_else(String::new, |remedy| format!("{remedy}; "))
        )))
    }
}

/// What may help against failures of this kind.
pub fn remedy(kind: UnscoredKind) -> Option<&'static str> {
    match kind {
        UnscoredKind::Unreadable => Some(
            "see the replies in calls.jsonl; another model, or --structured off, may help, and --retry-unscored asks again",
        ),
        UnscoredKind::Cut => Some(
            "replies that were cut need more room: --max-tokens KIND=1000, or --reasoning-effort LEVEL for a judge that reasons",
        ),
        UnscoredKind::ContextOverflow => {
            Some("prompts that do not fit need a judge with a longer context")
        }
        UnscoredKind::Unreachable => {
            Some("check the server; the same command repeats calls that got no reply")
        }
        UnscoredKind::Refused => Some(
            "`scholareval check` shows what the server refuses; the same command repeats calls that it refused",
        ),
        UnscoredKind::NeedsOtherCalls => {
            Some("score --compat asks the calls that this run did not")
        }
        UnscoredKind::Abstained
        | UnscoredKind::DependsOnUnscored
        | UnscoredKind::Exception
        | UnscoredKind::NotAsked => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{JudgeCall, JudgeTask, Role};

    fn cut() -> UnscoredReason {
        UnscoredReason::new(UnscoredKind::Cut, "reply cut at 100 tokens")
    }

    fn note(legibility: &Legibility, case_id: &str, reason: Option<&UnscoredReason>) -> Result<()> {
        let task = JudgeTask::Property {
            question: "q".into(),
            answer: "a".into(),
            criterion: "c".into(),
        };
        let call = JudgeCall {
            item: "p0".into(),
            role: Role::Rubric,
            task,
            draw: 0,
            member: 0,
        };
        let request = JudgeRequest {
            call,
            system: "s".into(),
            case_id: case_id.into(),
            attempt: 0,
            rendered: None,
        };
        legibility.note(&request, reason, legibility.begin(CallKind::Property))
    }

    #[test]
    fn a_judge_without_readable_replies_stops_the_run_with_advice() {
        let legibility = Legibility::over(3);
        for case_id in ["a", "a", "a", "b"] {
            note(&legibility, case_id, Some(&cut())).unwrap();
        }
        let error = note(&legibility, "c", Some(&cut()))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("reply cut at 100 tokens") && error.contains("--max-tokens KIND=1000"),
            "{error}"
        );
    }

    #[test]
    fn one_readable_reply_is_enough_to_continue() {
        let legibility = Legibility::over(60);
        note(&legibility, "a", None).unwrap();
        for number in 0..60 {
            note(&legibility, &number.to_string(), Some(&cut())).unwrap();
        }
    }
}
