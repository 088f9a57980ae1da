//! Advice for answers without a score, by the kind of failure.

use crate::domain::UnscoredKind;

/// What may help against failures of this kind.
pub fn remedy(kind: UnscoredKind) -> Option<&'static str> {
    match kind {
        UnscoredKind::Unreadable => Some(
            "see the replies in calls.jsonl; --retry-unscored asks again, and in a new run (--out) --structured schema (or off), or another model, may help",
        ),
        UnscoredKind::Missing => {
            Some("the judge left these questions out of its replies; --retry-unscored asks again")
        }
        UnscoredKind::Cut => Some(
            "replies that were cut need a higher limit: --max-tokens KIND=N with the same command continues the run",
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
        UnscoredKind::Moderated => Some(
            "the server refuses these texts, whatever is asked about them; another judge may take them, and \
             --retry-unscored asks again",
        ),
        UnscoredKind::NeedsOtherCalls => {
            Some("score --compat asks the calls that this run did not")
        }
        UnscoredKind::Abstained
        | UnscoredKind::NoAnswer
        | UnscoredKind::DependsOnUnscored
        | UnscoredKind::Exception
        | UnscoredKind::NotAsked => None,
    }
}

/// What may help against failures of this kind by a decision model.
pub fn decision_remedy(kind: UnscoredKind) -> Option<&'static str> {
    match kind {
        UnscoredKind::Unreadable => Some(
            "see the replies in calls.jsonl; `scholareval check` shows how the server answers, --retry-unscored asks again, and in a \
             new run (--out) another kind of --judge, or fewer questions a request (--criteria-per-call N), may help",
        ),
        other => remedy(other),
    }
}
