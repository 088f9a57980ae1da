//! Failures in a row, counted by cases: one case may be at fault itself, several different ones are not.
//!
//! All systems answer the same question, and a run asks about these answers one after the other: if the question is what
//! a server or a model balks at, every call about that case fails, with any number of systems.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, Weak};

use super::{JudgeRequest, locked};
use scholareval_core::domain::{CaseId, SystemName};

/// Number of different cases with equal failures, and no success in between, after which a judge is given up. Without it a
/// run with a wrong setting would go on for hours and score nothing.
const CASES: usize = 3;
/// Number of different answers, where a run asks about fewer cases.
const ANSWERS: usize = 3;
/// The least number of different answers, where calls from before the first failure are still in flight and may succeed.
const MANY_ANSWERS: usize = 30;

/// A call in flight, as [`Streak::begin`] gives it.
pub type Begun = Arc<()>;

/// Equal failures of different cases without a success in between.
#[derive(Debug, Default)]
pub struct Streak(Mutex<EqualFailures>);

/// A row of equal failures.
#[derive(Debug, Default)]
struct EqualFailures {
    /// What all of them say, without digits: request ids and times differ.
    what: String,
    answers: HashSet<(SystemName, CaseId)>,
    /// Held by every call that has begun since the row did.
    later: Begun,
    /// Held by those from before it: they may still succeed.
    earlier: Weak<()>,
}

impl Streak {
    /// A call begins; keep what this gives until the call has ended.
    pub fn begin(&self) -> Begun {
        Arc::clone(&locked(&self.0).later)
    }

    /// A success ends the row.
    pub fn end(&self) {
        locked(&self.0).answers.clear();
    }

    /// Counts a failure of `call`, equal to others with the same `what`, numbers apart. The extent of the row (`3 different
    /// cases`) if it is enough to give up: failures are fast, so calls from before the row get the time to succeed.
    /// `cases_asked` is the number of cases that the run asks about.
    pub fn fail(
        &self,
        request: &JudgeRequest,
        what: &str,
        call: Begun,
        cases_asked: usize,
    ) -> Option<String> {
        drop(call);
        let what = what.replace(|c: char| c.is_ascii_digit(), "");
        let mut row = locked(&self.0);
        if row.answers.is_empty() || row.what != what {
            let begun = std::mem::take(&mut row.later);
            row.earlier = Arc::downgrade(&begun);
            row.what = what;
            row.answers.clear();
        }
        row.answers
            .insert((request.system.clone(), request.case_id.clone()));
        // Refusals come back at once and replies after seconds: with 32 calls in flight the first
        // three results may all be refusals of a judge that works.
        if row.earlier.strong_count() > 0 && row.answers.len() < MANY_ANSWERS {
            return None;
        }
        row.extent(cases_asked)
    }
}

impl EqualFailures {
    /// How many cases have failed, or answers where few cases are asked; `None` if these are too few to blame the judge.
    fn extent(&self, cases_asked: usize) -> Option<String> {
        if cases_asked < CASES {
            let answers = self.answers.len();
            return (answers >= ANSWERS).then(|| format!("{answers} different answers"));
        }
        let cases: HashSet<&CaseId> = self.answers.iter().map(|(_, case)| case).collect();
        let cases = cases.len();
        (cases >= CASES).then(|| format!("{cases} different cases"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scholareval_core::domain::Role;
    use scholareval_core::question::{Expertise, JudgeCall};

    /// A call about the answer to this case.
    fn about(case_id: &str) -> JudgeRequest {
        let task = Expertise {
            question: "q".into(),
            answer: "a".into(),
        };
        let call = JudgeCall::new("expertise", Role::Rubric, task);
        JudgeRequest {
            call,
            system: "s".into(),
            case_id: case_id.into(),
            attempt: 0,
            rendered: None,
        }
    }

    fn fails(streak: &Streak, case_id: &str, what: &str) -> Option<String> {
        streak.fail(&about(case_id), what, streak.begin(), 100)
    }

    fn of_cases(number: usize) -> Option<String> {
        Some(format!("{number} different cases"))
    }

    #[test]
    fn a_case_that_fails_for_every_system_says_nothing_about_the_judge() {
        let fails = |streak: &Streak, number: usize, case_id: &str, cases_asked: usize| {
            let request = JudgeRequest {
                system: number.to_string().as_str().into(),
                ..about(case_id)
            };
            streak.fail(&request, "no", streak.begin(), cases_asked)
        };
        let streak = Streak::default();
        for case_id in ["a", "b"] {
            assert!((0..50).all(|number| fails(&streak, number, case_id, 3).is_none()));
        }
        assert_eq!(fails(&streak, 0, "c", 3), of_cases(3));

        // Of two cases there is nothing else to count than answers.
        let few = Streak::default();
        let ends: Vec<_> = (0..3).map(|number| fails(&few, number, "a", 2)).collect();
        assert_eq!(ends, [None, None, Some("3 different answers".to_owned())]);
    }

    #[test]
    fn one_answer_may_fail_as_often_as_it_has_calls() {
        let streak = Streak::default();
        assert!((0..100).all(|_| fails(&streak, "a", "no").is_none()));
        assert_eq!(fails(&streak, "b", "no"), None);
        assert_eq!(fails(&streak, "c", "no"), of_cases(3));
        let numbered = Streak::default();
        let counts = ["a", "b", "c"]
            .map(|case_id| fails(&numbered, case_id, &format!("no {}", case_id.as_bytes()[0])));
        assert_eq!(counts, [None, None, of_cases(3)]);
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
        assert_eq!(fails(&streak, "e", "x"), of_cases(3));
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
            of_cases(5),
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
