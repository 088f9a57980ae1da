//! Problems of a run, reported when they begin.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::domain::UnscoredKind;
use crate::judge::chat::excerpt;
use crate::judge::meters::{TimeOuts, Waiting};
use crate::question::Kind;
use crate::record::CallRecord;

/// Failures of a kind that are reported.
// A few failures are normal in a long run; five of one kind are worth a look while it can still be
// stopped.
const FAILURES: u64 = 5;
/// A wait for another process that is reported.
// Shorter waits are usual where two runs share a cache.
const LONG_WAIT: Duration = Duration::from_secs(3);
/// Longest example, in columns.
const EXAMPLE: usize = 80;

/// Failures by kind; each kind is reported once.
#[derive(Default)]
pub(super) struct Problems {
    failures: BTreeMap<ProblemKind, u64>,
    /// Whether attempts fail one after the other.
    is_failing: bool,
    /// Reported time-outs by the kind of question.
    time_outs: BTreeMap<Kind, u64>,
    /// Whether the wait for another process is reported.
    is_waiting: bool,
}

/// The failure and, where it is one of reading, the kind of call.
type ProblemKind = (UnscoredKind, Option<Kind>);

impl Problems {
    /// The line to print after this call.
    pub(super) fn call(&mut self, record: &CallRecord) -> Option<String> {
        let reason = record.failure()?;
        let remedy = record.remedy(reason.kind)?;
        let reply = record.reply.as_ref();
        // A cached reply was reported when it came, and one that was cut in its reasoning is asked again with more room.
        if reply.is_some_and(|reply| reply.cached || reply.is_starved(reply, false)) {
            return None;
        }
        let is_read = matches!(reason.kind, UnscoredKind::Unreadable | UnscoredKind::Cut);
        let kind = (reason.kind, is_read.then(|| record.kind.clone()));
        let failures = self.failures.entry(kind.clone()).or_default();
        *failures += 1;
        // Equal, not at least: each kind is reported once.
        if *failures != FAILURES {
            return None;
        }
        let example = shortened(reply.map_or(&reason.message, |reply| &reply.content));
        Some(format!(
            "warning: {FAILURES} {}, such as {example:?}; {remedy}",
            name(kind)
        ))
    }

    /// The line to print where so many attempts failed since the last reply, the last one for this reason.
    pub(super) fn attempts(&mut self, (failures, message): &(u64, String)) -> Option<String> {
        match (self.is_failing, *failures) {
            (false, FAILURES..) => {
                self.is_failing = true;
                let why = shortened(message);
                Some(format!(
                    "warning: {failures} attempts in a row failed ({why}); they are repeated (--retries)"
                ))
            }
            (true, 0) => {
                self.is_failing = false;
                Some("note: the judge replies again".to_owned())
            }
            _ => None,
        }
    }

    /// The lines to print for attempts that timed out: at the first one for a kind of question, and whenever their number
    /// has doubled.
    pub(super) fn time_outs(&mut self, time_outs: TimeOuts) -> Vec<String> {
        let mut lines = Vec::new();
        for (kind, (count, last)) in time_outs {
            let reported = self.time_outs.entry(kind).or_default();
            if count >= (2 * *reported).max(1) {
                *reported = count;
                lines.push(format!("warning: timed out ({count} so far): {last}"));
            }
        }
        lines
    }

    /// The line to print where calls wait for another process; once for each wait.
    pub(super) fn waiting(&mut self, waiting: &Waiting) -> Option<String> {
        let is_long = waiting
            .since
            .is_some_and(|since| since.elapsed() > LONG_WAIT);
        let was_long = std::mem::replace(&mut self.is_waiting, is_long);
        if !is_long || was_long {
            return None;
        }
        Some(format!(
            "note: waiting for {}, which asks the same calls (same cache); its replies are used here, too",
            waiting.process
        ))
    }
}

/// The beginning of an example: whatever a judge or a server wrote, on one line and without secrets.
fn shortened(text: &str) -> String {
    console::truncate_str(&excerpt(text), EXAMPLE, "..").into_owned()
}

/// The failures in words.
fn name((failure, call): ProblemKind) -> String {
    match (failure, call) {
        (UnscoredKind::Cut, Some(call)) => format!("{call} replies cut at their limit"),
        (_, Some(call)) => format!("unreadable {call} replies"),
        (UnscoredKind::ContextOverflow, None) => {
            "prompts beyond the context of the judge".to_owned()
        }
        (UnscoredKind::Missing, None) => "replies without an answer to any question".to_owned(),
        (UnscoredKind::Refused, None) => "refused calls".to_owned(),
        (UnscoredKind::Moderated, None) => "calls whose text the server refuses".to_owned(),
        (_, None) => "calls without a reply".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{JudgeReply, Role, UnscoredReason, Verdict};
    use crate::question::{CITATIONS, EVIDENCE, EXPERTISE, KindInfo, PROPERTY};

    fn record(kind: Kind, failure: Option<(UnscoredKind, &str)>) -> CallRecord {
        CallRecord {
            call_id: [0; 16].into(),
            system: "s".into(),
            case_id: "c".into(),
            item: "p0".into(),
            kind,
            role: Role::Rubric,
            judge: "judge".into(),
            sample: 0,
            attempt: 0,
            fingerprint: None,
            prompt: None,
            room: 0,
            reply: Some(JudgeReply::of_text(failure.map_or("7", |(_, reply)| reply))),
            is_decision: false,
            is_replaced: false,
            verdict: failure.map_or(Ok(Verdict::Points(7.0)), |(kind, _)| {
                Err(UnscoredReason::new(kind, "no JSON object"))
            }),
        }
    }

    fn lines(problems: &mut Problems, count: usize, record: &CallRecord) -> Vec<String> {
        (0..count).flat_map(|_| problems.call(record)).collect()
    }

    #[test]
    fn five_failures_of_a_kind_are_one_line() {
        let mut problems = Problems::default();
        let hostile = "I can\u{1b}[2Jnot say \u{202e}so, sk-abcdefgh12345\nand ".to_owned()
            + &"x".repeat(500);
        let bad = record(PROPERTY.kind(), Some((UnscoredKind::Unreadable, &hostile)));
        assert!(lines(&mut problems, 4, &bad).is_empty());
        let reported = lines(&mut problems, 50, &bad);
        assert_eq!(reported.len(), 1, "{reported:?}");
        let start =
            "warning: 5 unreadable property replies, such as \"I can [2Jnot say so, *** and xxx";
        assert!(
            reported[0].starts_with(start)
                && reported[0].contains("; see the replies in calls.jsonl"),
            "{reported:?}"
        );
        assert!(reported[0].len() < 300, "{}", reported[0].len());
        assert!(lines(&mut problems, 100, &record(PROPERTY.kind(), None)).is_empty());
        // each kind of call has a separate line
        let bad = record(CITATIONS.kind(), Some((UnscoredKind::Unreadable, "?")));
        assert_eq!(lines(&mut problems, 5, &bad).len(), 1);
    }

    #[test]
    fn refusals_of_all_kinds_of_calls_are_one_problem_with_the_message_of_the_server() {
        let mut problems = Problems::default();
        let kinds = [&PROPERTY, &CITATIONS, &EXPERTISE, &EVIDENCE].map(KindInfo::kind);
        let refused = |kind| {
            let reason = UnscoredReason::new(UnscoredKind::Refused, "status 400: no");
            CallRecord {
                reply: None,
                verdict: Err(reason),
                ..record(kind, None)
            }
        };
        let reported: Vec<String> = kinds
            .iter()
            .cycle()
            .take(8)
            .flat_map(|kind| problems.call(&refused(kind.clone())))
            .collect();
        assert_eq!(reported.len(), 1, "{reported:?}");
        assert!(
            reported[0].starts_with(
                "warning: 5 refused calls, such as \"status 400: no\"; `scholareval check`"
            ),
            "{reported:?}"
        );
    }

    #[test]
    fn time_outs_are_reported_at_the_first_and_when_they_have_doubled() {
        let mut problems = Problems::default();
        let mut after = |citations: u64, properties: u64| {
            let entry = |kind: &KindInfo, count| (kind.kind(), (count, "what".to_owned()));
            let all = [entry(&CITATIONS, citations), entry(&PROPERTY, properties)];
            problems.time_outs(
                all.into_iter()
                    .filter(|(_, (count, _))| *count > 0)
                    .collect(),
            )
        };
        assert!(after(0, 0).is_empty());
        assert_eq!(after(1, 0), ["warning: timed out (1 so far): what"]);
        assert!(after(1, 0).is_empty());
        // 32 calls in flight are one line
        assert_eq!(after(2, 32).len(), 2);
        assert!(after(3, 63).is_empty());
        assert_eq!(after(4, 63), ["warning: timed out (4 so far): what"]);
    }

    #[test]
    fn attempts_that_fail_in_a_row_are_reported_once_until_a_reply_comes() {
        let mut problems = Problems::default();
        let mut after =
            |failures| problems.attempts(&(failures, "status 500: out of memory".to_owned()));
        assert_eq!([after(0), after(4)], [None, None]);
        let line = "warning: 7 attempts in a row failed (status 500: out of memory); they are repeated (--retries)";
        assert_eq!([after(7), after(9)], [Some(line.to_owned()), None]);
        assert_eq!(
            [after(0), after(1)],
            [Some("note: the judge replies again".to_owned()), None]
        );
    }
}
