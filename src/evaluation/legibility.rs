//! Detects a judge whose replies are never readable, before the whole run is paid for.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::domain::{CallKind, UnscoredKind, UnscoredReason};
use crate::error::{Error, Result};

/// A run stops when the first replies to one kind of call, this many, all hold no verdict.
const FIRST_REPLIES: u32 = 30;

/// Unreadable replies of each kind before the first readable one.
#[derive(Debug, Default)]
pub(super) struct Legibility([AtomicU32; CallKind::ALL.len()]);

/// Means that a reply was readable: the count never grows from there to the limit.
const READ: u32 = u32::MAX / 2;

impl Legibility {
    /// Records a new reply; `reason` says why it could not be read.
    ///
    /// # Errors
    /// [`Error::JudgeUnavailable`] when the first replies are complete and none was readable.
    pub(super) fn note(&self, kind: CallKind, reason: Option<&UnscoredReason>) -> Result<()> {
        let count = &self.0[kind as usize];
        let Some(reason) = reason else {
            count.store(READ, Ordering::Relaxed);
            return Ok(());
        };
        if count.load(Ordering::Relaxed) >= READ || count.fetch_add(1, Ordering::Relaxed) + 1 != FIRST_REPLIES {
            return Ok(());
        }
        let remedy = match reason.kind {
            UnscoredKind::Cut => format!("give them more room with --max-tokens {kind}=1000"),
            _ => "see `raw` in calls.jsonl; another model, or --no-json-mode, may help".to_owned(),
        };
        Err(Error::JudgeUnavailable(format!(
            "none of the first {FIRST_REPLIES} replies to {kind} calls holds a verdict (the last one: {reason}); {remedy}; \
             they are kept, the same command continues after them"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut() -> UnscoredReason {
        UnscoredReason::new(UnscoredKind::Cut, "reply cut at 100 tokens")
    }

    #[test]
    fn a_judge_without_readable_replies_stops_the_run_with_advice() {
        let legibility = Legibility::default();
        for _ in 1..FIRST_REPLIES {
            legibility.note(CallKind::Property, Some(&cut())).unwrap();
            legibility.note(CallKind::Citations, None).unwrap();
        }
        let error = legibility.note(CallKind::Property, Some(&cut())).unwrap_err().to_string();
        assert!(error.contains("reply cut at 100 tokens") && error.contains("--max-tokens property=1000"), "{error}");
    }

    #[test]
    fn one_readable_reply_is_enough_to_continue() {
        let legibility = Legibility::default();
        legibility.note(CallKind::Property, None).unwrap();
        for _ in 0..2 * FIRST_REPLIES {
            legibility.note(CallKind::Property, Some(&cut())).unwrap();
        }
    }
}
