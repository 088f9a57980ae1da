//! Renders calls to requests by the prompt set and the judge's options. Texts that do not fit are cut with `--truncate`
//! only.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Rendered;
use super::body::RequestOptions;
use super::capacity::Capacity;
use super::forms::{Effort, Structured, schema_of};
use super::kind::JudgeKind;
use super::parameter::Parameter;
use super::refusals::Refusals;
use crate::domain::{CallKind, JudgeCall, JudgeReply, JudgeTask, ReplyForm};
use crate::error::Result;
use crate::prompt::{InsertMode, PromptSet};

/// Renders the calls to one judge.
pub struct Renderer {
    prompts: Arc<PromptSet>,
    /// What is sent with each kind of call.
    options: BTreeMap<CallKind, RequestOptions>,
    /// The form of replies; with `auto` a call whose reply was unreadable is asked again without a schema.
    structured: Structured,
    /// The context that texts are cut to; `None`: they are not cut.
    capacity: Option<Capacity>,
    /// Parameters that are left out.
    refusals: Arc<Refusals>,
    /// Whether a reply to a schema held a JSON object: one that does not is then the judge's choice, not the server's.
    keeps_schema: AtomicBool,
}

impl Renderer {
    /// JSON mode is requested only where the prompts ask for JSON. Control tokens inside texts are neutralized, except in
    /// published wordings, which are sent byte for byte. With a `capacity`, texts that do not fit are cut. What the
    /// server refuses is left out.
    pub fn new(
        prompts: Arc<PromptSet>,
        options: &RequestOptions,
        structured: Structured,
        capacity: Option<Capacity>,
        refusals: Arc<Refusals>,
    ) -> Self {
        let of_kind = |kind: CallKind| RequestOptions {
            json_mode: options.json_mode && prompts.json_mode(kind),
            neutralize: prompts.family(kind).mode == InsertMode::Fenced,
            ..options.clone()
        };
        let options = CallKind::ALL
            .into_iter()
            .map(|kind| (kind, of_kind(kind)))
            .collect();
        Self {
            prompts,
            options,
            structured,
            capacity,
            refusals,
            keeps_schema: AtomicBool::new(false),
        }
    }

    fn rendered(&self, task: &JudgeTask, call: &JudgeCall, attempt: u32) -> Option<Rendered> {
        let kind = task.kind();
        let schema = match self.structured {
            Structured::Auto => self.prompts.schema(kind),
            Structured::Schema => self.prompts.schema(kind).or_else(|| schema_of(task)),
            Structured::Json | Structured::Off => None,
        };
        let options = RequestOptions {
            schema,
            ..self.options.get(&kind)?.clone()
        };
        let (mut options, mut note) = self.refusals.apply(&options);
        // Every second attempt, since a judge may need the schema to know the form.
        if attempt % 2 == 1 && self.structured == Structured::Auto && options.schema.is_some() {
            options.to_mut().schema = None;
            let again = "unreadable replies to a schema were asked again without it (--structured json asks without)";
            note = Some(
                note.iter()
                    .fold(again.to_owned(), |again, note| format!("{again}; {note}")),
            );
        }
        if let JudgeTask::Criteria {
            criteria, shape, ..
        } = task
        {
            let own = options.to_mut();
            let reasoning = own.reasoning_effort.map_or(0, Effort::tokens);
            own.max_tokens.entry(kind).and_modify(|limit| {
                // The room for the reasoning, which a given limit does not have, is that of one reply.
                let is_given = self
                    .prompts
                    .max_tokens(kind)
                    .is_none_or(|own| *limit != own + reasoning);
                let room = if is_given { 0 } else { reasoning };
                *limit = (*limit - room)
                    .saturating_mul(criteria.len() as u64)
                    .saturating_add(room);
            });
            if shape.form == ReplyForm::Lines {
                (own.json_mode, own.schema) = (false, None);
            }
        }
        let rendered = options.render(kind, self.prompts.render(task), call.draw, attempt);
        Some(Rendered { note, ..rendered })
    }

    /// Leaves this parameter out of all calls from now on.
    ///
    /// # Errors
    /// When the cache cannot be written.
    pub fn leave_out(&self, parameter: Parameter) -> Result<()> {
        self.refusals.add(parameter)
    }

    /// With `--structured auto`, whether this reply shows that the server does not keep to the schema of the call: it holds
    /// no JSON object, and no reply before did. All calls are then made without one, this one again.
    ///
    /// # Errors
    /// When the cache cannot be written.
    pub fn drops_schema(&self, call: &Rendered, reply: &JudgeReply) -> Result<bool> {
        let is_asked =
            self.structured == Structured::Auto && call.parameters.contains(&Parameter::Schema);
        let has_object = reply.content.contains('{');
        if is_asked && has_object {
            self.keeps_schema.store(true, Ordering::Relaxed);
        }
        let is_dropped = is_asked
            && !has_object
            && !reply.is_cut()
            && !self.keeps_schema.load(Ordering::Relaxed);
        if is_dropped {
            self.leave_out(Parameter::Schema)?;
        }
        Ok(is_dropped)
    }

    /// The call with its text cut to the room there is; `None` if it fits, or nothing of its text would.
    fn cut(&self, call: &JudgeCall, whole: &Rendered) -> Option<JudgeTask> {
        // An eighth stays free: tokens are estimated.
        let room = self.capacity?.prompt_room(whole.max_tokens) / 8 * 7;
        let count = |task: &JudgeTask| {
            self.rendered(task, call, 0)
                .map_or(0, |rendered| rendered.body.prompt_tokens)
        };
        (whole.body.prompt_tokens > room)
            .then(|| cut_to_fit(&call.task, room, count))
            .flatten()
    }

    /// The rendered call, with a note if its text was cut.
    pub fn render(&self, call: &JudgeCall, attempt: u32) -> Option<Rendered> {
        let whole = self.rendered(&call.task, call, attempt)?;
        let Some(task) = self.cut(call, &whole) else {
            return Some(whole);
        };
        let what = if matches!(task, JudgeTask::Attribution { .. }) {
            "document"
        } else {
            "answer"
        };
        let cut = format!("the judge saw {what}s cut to fit its context (--truncate)");
        let rendered = self.rendered(&task, call, attempt)?;
        let note = rendered
            .note
            .iter()
            .fold(cut, |cut, note| format!("{cut}; {note}"));
        Some(Rendered {
            note: Some(note),
            ..rendered
        })
    }

    /// The route of rendered calls.
    pub fn route(&self) -> Option<JudgeKind> {
        self.options.values().next().map(|options| options.endpoint)
    }
}

/// The task with the longest beginning of its text that fits into `room` tokens; `count` gives the tokens of a task's
/// whole prompt, reply not included. `None` if no beginning fits. Cut is the answer, or the document of an attribution, at
/// the end of a word; the question, the criterion and the claim stay whole.
///
/// `count` is called about as often as the text's length has binary digits.
fn cut_to_fit(task: &JudgeTask, room: u64, count: impl Fn(&JudgeTask) -> u64) -> Option<JudgeTask> {
    let text = Arc::clone(cut_text(&mut task.clone()));
    let ends = word_ends(&text);
    let fitting = ends.partition_point(|end| count(&with_text(task, &text[..*end])) <= room);
    Some(with_text(
        task,
        &text[..*ends.get(fitting.checked_sub(1)?)?],
    ))
}

fn with_text(task: &JudgeTask, text: &str) -> JudgeTask {
    let mut task = task.clone();
    *cut_text(&mut task) = text.into();
    task
}

/// The text that may be cut.
fn cut_text(task: &mut JudgeTask) -> &mut Arc<str> {
    match task {
        JudgeTask::Attribution { document, .. } => document,
        JudgeTask::Expertise { answer, .. }
        | JudgeTask::Property { answer, .. }
        | JudgeTask::Evidence { answer, .. }
        | JudgeTask::Citations { answer, .. }
        | JudgeTask::Aspect { answer, .. }
        | JudgeTask::Criteria { answer, .. }
        | JudgeTask::Precision { answer, .. }
        | JudgeTask::CitationGroup { text: answer, .. } => answer,
    }
}

/// Ends of the words except the last; text without white space may be cut after any character.
fn word_ends(text: &str) -> Vec<usize> {
    let is_end = |(at, c): &(usize, char)| {
        c.is_whitespace() && !text[..*at].ends_with(char::is_whitespace) && *at > 0
    };
    let ends: Vec<usize> = text
        .char_indices()
        .filter(is_end)
        .map(|(at, _)| at)
        .collect();
    if ends.is_empty() {
        text.char_indices().map(|(at, _)| at).skip(1).collect()
    } else {
        ends
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::{CaseCriterion, ReplyShape, Role};

    fn task(answer: &str) -> JudgeTask {
        JudgeTask::Property {
            question: "q".into(),
            answer: answer.into(),
            criterion: "c".into(),
        }
    }

    #[test]
    fn limits_of_criteria_grow_with_their_number_and_the_room_for_reasoning_does_not() {
        let criterion = |name: &str| CaseCriterion {
            name: name.to_owned(),
            text: "t".into(),
            weight: 1.0,
            ..CaseCriterion::default()
        };
        let (form, key, abstain) = (ReplyForm::default(), "verdict".to_owned(), String::new());
        let shape = Arc::new(ReplyShape {
            form,
            key,
            levels: Vec::new(),
            abstain,
            ..ReplyShape::default()
        });
        let criteria = [criterion("a"), criterion("b"), criterion("c")].into();
        let task = JudgeTask::Criteria {
            question: "q".into(),
            answer: "a".into(),
            criteria,
            shape,
            reference: None,
        };
        let call = JudgeCall {
            item: "c".into(),
            role: Role::Rubric,
            task,
            draw: 0,
            member: 0,
        };
        let prompts = Arc::new(PromptSet::builtin());
        let own = prompts.max_tokens(CallKind::Criteria).unwrap();
        let limit = |limit: u64, reasoning_effort: Option<Effort>| {
            let max_tokens = [(CallKind::Criteria, limit)].into();
            let options = RequestOptions {
                reasoning_effort,
                max_tokens,
                ..RequestOptions::new("m")
            };
            let structured = Structured::default();
            let renderer = Renderer::new(
                Arc::clone(&prompts),
                &options,
                structured,
                None,
                Arc::default(),
            );
            renderer.render(&call, 0).unwrap().max_tokens
        };
        assert_eq!(limit(own, None), Some(3 * own));
        assert_eq!(limit(own + 4000, Some(Effort::Low)), Some(3 * own + 4000));
        assert_eq!(
            limit(77, Some(Effort::Low)),
            Some(3 * 77),
            "a given limit is one of a criterion"
        );
    }

    /// Ten tokens around an answer of one token a word.
    fn words(task: &JudgeTask) -> u64 {
        10 + task.answer().split_whitespace().count() as u64
    }

    #[test]
    fn an_answer_is_cut_to_the_last_word_that_fits() {
        let of = task("one two  three four");
        assert_eq!(cut_to_fit(&of, 13, words), Some(task("one two  three")));
        assert_eq!(cut_to_fit(&of, 11, words), Some(task("one")));
        assert_eq!(cut_to_fit(&of, 10, words), None, "an empty answer is none");
    }

    #[test]
    fn of_an_attribution_the_document_is_cut() {
        let of = |document: &str| JudgeTask::Attribution {
            claim: "a b c".into(),
            document: document.into(),
        };
        let count = |task: &JudgeTask| task.question().len() as u64;
        assert_eq!(cut_to_fit(&of("d\u{e9} fg"), 4, count), Some(of("d\u{e9}")));
    }

    #[test]
    fn text_without_spaces_is_cut_between_characters() {
        let count = |task: &JudgeTask| task.answer().chars().count() as u64;
        let whole = task("\u{8a9e}\u{8a9e}\u{8a9e}\u{8a9e}");
        assert_eq!(cut_to_fit(&whole, 2, count), Some(task("\u{8a9e}\u{8a9e}")));
    }

    proptest! {
        #[test]
        fn what_is_cut_is_a_beginning_that_fits(text in "([a-z\u{e9}]{0,4}[ \n]{0,2}){0,30}", room in 0_u64..40) {
            let whole = task(&text);
            prop_assume!(words(&whole) > room);
            match cut_to_fit(&whole, room, words) {
                Some(cut) => {
                    prop_assert!(text.starts_with(&**cut.answer()));
                    prop_assert_eq!(words(&cut), room, "the longest");
                }
                None => prop_assert!(room <= 10 || text.split_whitespace().count() < 2),
            }
        }
    }
}
