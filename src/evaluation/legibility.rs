//! Detects a judge whose replies are never readable, before the whole run is paid for.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use super::panel::Member;
use crate::domain::{UnscoredKind, UnscoredReason};
use crate::error::{Error, Result};
use crate::judge::chat::excerpt;
use crate::judge::streak::{Begun, Streak};
use crate::judge::{JudgeRequest, locked};
use crate::question::reading::{IN_REASONING_FIELD, INSIDE_REASONING};
use crate::question::{Kind, KindInfo};

/// Longest quotation of a reply, in characters.
const QUOTED: usize = 120;

/// What continues a run whose replies cannot be read.
const CONTINUES: &str =
    "the same command continues the run and does not pay for these replies again";

/// Cases with unreadable replies to each kind of call, and whether one was readable: then the judge can do it.
#[derive(Debug, Default)]
pub(super) struct Legibility {
    kinds: Mutex<BTreeMap<Kind, Arc<OfKind>>>,
    /// How many cases are asked about.
    cases_asked: usize,
}

#[derive(Debug, Default)]
struct OfKind {
    was_read: AtomicBool,
    streak: Streak,
    /// The first reply that could not be read, quoted.
    first: Mutex<Option<String>>,
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
    pub(super) fn begin(&self, info: &KindInfo) -> Begun {
        self.of_kind(info).streak.begin()
    }

    fn of_kind(&self, info: &KindInfo) -> Arc<OfKind> {
        Arc::clone(locked(&self.kinds).entry(info.kind()).or_default())
    }

    /// Records a call that is not asked again; `unreadable` is its reply and why that could not be read.
    ///
    /// # Errors
    /// [`Error::Unreadable`] when the replies about several different cases were unreadable, and no other one was
    /// readable.
    pub(super) fn note(
        &self,
        request: &JudgeRequest,
        member: &Member,
        unreadable: Option<&(UnscoredReason, String)>,
        call: Begun,
    ) -> Result<()> {
        let kind = request.call.question.info();
        let of_kind = self.of_kind(kind);
        let OfKind {
            was_read,
            streak,
            first,
        } = &*of_kind;
        let Some((reason, content)) = unreadable else {
            was_read.store(true, Ordering::Relaxed);
            return Ok(());
        };
        // The first one and not the last: what came later may be a consequence, such as a server in
        // trouble.
        let first = locked(first)
            .get_or_insert_with(|| format!("\"{}\" ({reason})", shortened(content)))
            .clone();
        let Some(extent) = streak
            .fail(request, "", call, self.cases_asked)
            // Checked after the streak is counted: one readable reply shows that the judge can do
            // it, and a hard case stays an unscored answer.
            .filter(|_| !was_read.load(Ordering::Relaxed))
        else {
            return Ok(());
        };
        let advice = advice(reason, kind, member);
        Err(Error::Unreadable(format!(
            "no reply to the {kind} calls about {extent} can be read; the first one is {first}; \
             {advice}"
        )))
    }
}

/// The beginning of a reply, on one line.
pub(super) fn shortened(content: &str) -> String {
    let text = excerpt(content);
    let mut quoted: String = text.chars().take(QUOTED).collect();
    if quoted.len() < text.len() {
        quoted.push_str("..");
    }
    quoted
}

/// What continues the run, and what the user can change about unreadable replies of this judge; nothing of that for a judge
/// that answers the task itself, such as an imported one.
fn advice(failure: &UnscoredReason, kind: &KindInfo, member: &Member) -> String {
    match (failure.kind, &member.renderer) {
        // Nobody can be asked again: any advice about options would be wrong.
        (_, None) => CONTINUES.to_owned(),
        // More for the reply would go to the reasoning, too.
        (UnscoredKind::Cut, Some(renderer)) if failure.message.contains(INSIDE_REASONING) => {
            renderer.room().advice()
        }
        (UnscoredKind::Cut, _) => format!(
            "replies that were cut need a higher limit: the same command with --max-tokens {kind}=1000 continues the run and \
             asks these calls again"
        ),
        (UnscoredKind::Unreadable, Some(_)) if failure.message == IN_REASONING_FIELD => {
            format!(
                "start the server with another one: {CONTINUES}, and with --retry-unscored asks these calls again"
            )
        }
        (_, Some(renderer)) if member.decider.is_some() => format!(
            "`scholareval check` shows how the server answers; {}, which is another run (add --out NEW_RUN); {CONTINUES}, and \
             with --retry-unscored asks these calls again",
            renderer.forms().form_advice(kind)
        ),
        (_, Some(renderer)) => format!(
            "{}, which is another run (add --out NEW_RUN); {CONTINUES}, and with \
             --retry-unscored asks these calls again",
            renderer.forms().form_advice(kind)
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::Role;
    use crate::judge::body::RequestOptions;
    use crate::judge::forms::Structured;
    use crate::judge::render::Renderer;
    use crate::judge::{AskFuture, Judge, Outcome};
    use crate::prompt::PromptSet;
    use crate::question::{JudgeCall, PROPERTY, Property};

    fn cut() -> UnscoredReason {
        UnscoredReason::new(UnscoredKind::Cut, "reply cut at 100 tokens")
    }

    struct Silent;

    impl Judge for Silent {
        fn ask<'a>(&'a self, _: &'a JudgeRequest) -> AskFuture<'a> {
            Box::pin(std::future::ready(Ok(Outcome::Deferred)))
        }
    }

    /// A chat judge whose prompts were imported, or ours.
    fn member(structured: Structured) -> Member {
        let prompts = Arc::new(PromptSet::builtin());
        let options = RequestOptions::new("m");
        let renderer = Renderer::new(prompts, &options, structured, None, Arc::default());
        Member {
            renderer: Some(Arc::new(renderer)),
            ..Member::new(Arc::new(Silent), "m")
        }
    }

    fn note(legibility: &Legibility, case_id: &str, reason: Option<&UnscoredReason>) -> Result<()> {
        note_of(&member(Structured::Auto), legibility, case_id, reason)
    }

    fn note_of(
        member: &Member,
        legibility: &Legibility,
        case_id: &str,
        reason: Option<&UnscoredReason>,
    ) -> Result<()> {
        let task = Property {
            question: "q".into(),
            answer: "a".into(),
            criterion: "c".into(),
        };
        let call = JudgeCall::new("p0", Role::Rubric, task);
        let request = JudgeRequest {
            call,
            system: "s".into(),
            case_id: case_id.into(),
            attempt: 0,
            rendered: None,
        };
        let begun = legibility.begin(&PROPERTY);
        let content = format!("{{\"id\": \u{1b}{case_id}}}");
        let unreadable = reason.map(|reason| (reason.clone(), content));
        legibility.note(&request, member, unreadable.as_ref(), begun)
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
            error.contains("reply cut at 100 tokens")
                && error.contains("--max-tokens property=1000"),
            "{error}"
        );
    }

    #[test]
    fn the_first_reply_is_shown_with_the_option_that_helps() {
        let error = |member: &Member| {
            let legibility = Legibility::over(3);
            let reason = UnscoredReason::new(UnscoredKind::Unreadable, "no \"score\"");
            let note = |case_id| note_of(member, &legibility, case_id, Some(&reason));
            note("a").unwrap();
            note("b").unwrap();
            note("c").unwrap_err().to_string()
        };
        let shown = error(&member(Structured::Auto));
        assert!(
            shown.contains("the first one is \"{\"id\": ") && shown.contains("a}\" (no \"score\")"),
            "{shown}"
        );
        assert!(shown.contains("try --structured schema"), "{shown}");
        assert!(!shown.contains('\u{1b}'), "{shown}");
        let shown = error(&member(Structured::Schema));
        assert!(
            shown.contains("another model, or --structured off"),
            "{shown}"
        );
        let imported = Member::new(Arc::new(Silent), "imported:m");
        let shown = error(&imported);
        assert!(!shown.contains("another model"), "{shown}");
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
