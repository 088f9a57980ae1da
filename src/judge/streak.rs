//! Failures in a row, counted by answers: one answer may be at fault itself, several different ones are not.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, Weak};

use super::{JudgeRequest, locked};
use crate::domain::{CaseId, SystemName};

/// Number of different answers with equal failures, and no success in between, after which a judge is given up.
const ANSWERS: usize = 3;
/// The same, where calls from before the first failure are still in flight and may succeed.
const MANY_ANSWERS: usize = 30;

/// A call in flight, as [`Streak::begin`] gives it.
pub(crate) type Begun = Arc<()>;

/// Equal failures of different answers without a success in between.
#[derive(Debug, Default)]
pub(crate) struct Streak(Mutex<Row>);

#[derive(Debug, Default)]
struct Row {
    what: String,
    answers: HashSet<(SystemName, CaseId)>,
    /// Held by every call that has begun since the row did.
    later: Begun,
    /// Held by those from before it: they may still succeed.
    earlier: Weak<()>,
}

impl Streak {
    /// A call begins; keep what this gives until the call has ended.
    pub(crate) fn begin(&self) -> Begun {
        Arc::clone(&locked(&self.0).later)
    }

    /// A success ends the row.
    pub(crate) fn end(&self) {
        locked(&self.0).answers.clear();
    }

    /// Counts a failure of `call`, equal to others with the same `what`, numbers apart. The number of answers in the row
    /// if they are enough to give up: failures are fast, so calls from before the row get the time to succeed.
    pub(crate) fn fail(&self, request: &JudgeRequest, what: &str, call: Begun) -> Option<usize> {
        drop(call);
        let what = what.replace(|c: char| c.is_ascii_digit(), "");
        let mut row = locked(&self.0);
        if row.answers.is_empty() || row.what != what {
            let begun = std::mem::take(&mut row.later);
            (row.earlier, row.what) = (Arc::downgrade(&begun), what);
            row.answers.clear();
        }
        row.answers
            .insert((request.system.clone(), request.case_id.clone()));
        let least = if row.earlier.strong_count() == 0 {
            ANSWERS
        } else {
            MANY_ANSWERS
        };
        Some(row.answers.len()).filter(|answers| *answers >= least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{JudgeCall, JudgeTask, Role};

    /// A call about the answer to this case.
    fn about(case_id: &str) -> JudgeRequest {
        let task = JudgeTask::Expertise {
            question: "q".into(),
            answer: "a".into(),
        };
        let call = JudgeCall {
            item: "expertise".into(),
            role: Role::Rubric,
            task,
            draw: 0,
            member: 0,
        };
        JudgeRequest {
            call,
            system: "s".into(),
            case_id: case_id.into(),
            attempt: 0,
            rendered: None,
        }
    }

    fn fails(streak: &Streak, case_id: &str, what: &str) -> Option<usize> {
        streak.fail(&about(case_id), what, streak.begin())
    }

    #[test]
    fn one_answer_may_fail_as_often_as_it_has_calls() {
        let streak = Streak::default();
        assert!((0..100).all(|_| fails(&streak, "a", "no").is_none()));
        assert_eq!(fails(&streak, "b", "no"), None);
        assert_eq!(fails(&streak, "c", "no"), Some(3));
        let numbered = Streak::default();
        let counts = ["a", "b", "c"]
            .map(|case_id| fails(&numbered, case_id, &format!("no {}", case_id.as_bytes()[0])));
        assert_eq!(counts, [None, None, Some(3)]);
    }

    #[test]
    fn a_success_or_another_failure_in_between_starts_another_row() {
        let streak = Streak::default();
        for what in ["x", "y", "x"] {
            assert_eq!(
                [fails(&streak, "a", what), fails(&streak, "b", what)],
                [None, None]
            );
        }
        streak.end();
        assert_eq!(
            [fails(&streak, "c", "x"), fails(&streak, "d", "x")],
            [None, None]
        );
        assert_eq!(fails(&streak, "e", "x"), Some(3));
    }

    #[test]
    fn slow_calls_from_before_the_row_may_still_succeed() {
        let streak = Streak::default();
        let slow = streak.begin();
        for case_id in ["a", "b", "c", "d"] {
            assert_eq!(fails(&streak, case_id, "no"), None);
        }
        let later = streak.begin();
        drop(slow);
        assert_eq!(
            fails(&streak, "e", "no"),
            Some(5),
            "a later call proves nothing"
        );
        drop(later);
        let streak = Streak::default();
        let _hanging = streak.begin();
        let given_up = (0..40).find(|case_id| fails(&streak, &case_id.to_string(), "no").is_some());
        assert_eq!(
            given_up,
            Some(29),
            "a call that hangs is not waited for: 30 answers are enough"
        );
    }
}
