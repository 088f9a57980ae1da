//! The form of replies: which one is asked for (our schema, JSON mode), and what the replies of a judge show about it.
//!
//! Where neither the user nor the reference decides, the repeat of an unreadable reply asks for our schema, which small models
//! need to know the form. Once such repeats are readable and most first replies are not, first attempts carry it, too. A form
//! that a server takes and does not keep to is left out of all its calls.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::body::RequestOptions;
use super::forms::Structured;
use super::parameter::Parameter;
use super::protocol::Protocol;
use super::refusals::Refusals;
use super::{Rendered, locked};
use crate::prompt::PromptSet;
use scholareval_core::domain::{JudgeReply, UnscoredKind, UnscoredReason};
use scholareval_core::error::Result;
use scholareval_core::question::{JudgeCall, KindInfo, Question};

/// So many first replies must be unreadable, and more than are readable, before all first attempts carry our schema: a
/// judge that works replies unreadably now and then.
const UNREADABLE_FIRST: u64 = 3;
/// After so many repeats with our schema of which none was readable, cut replies are not asked again: most judges that are
/// cut need a higher limit.
const UNHELPED_REPEATS: u64 = 3;

/// How the attempts of a call begin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Beginning {
    /// The first attempt is as the options say; the following ones carry our schema, if it may help.
    #[default]
    Plain,
    /// All attempts carry our schema.
    Schema,
}

/// The schema of one attempt.
pub(super) struct AttemptSchema {
    /// `None`: it asks for none.
    pub(super) schema: Option<Value>,
    /// Whether it is ours, though nobody asked for one.
    pub(super) is_own: bool,
    /// The number of the attempt in its key.
    pub(super) attempt: u32,
}

/// How the judge did without our schema in this run, and with it.
#[derive(Default)]
struct FirstReplies {
    readable: AtomicU64,
    unreadable: AtomicU64,
    /// Repeats with our schema that were unreadable.
    unhelped: AtomicU64,
    /// A repeat with our schema was readable.
    was_helped: AtomicBool,
}

/// The forms of the replies of one judge.
pub struct ReplyForms {
    prompts: Arc<PromptSet>,
    protocol: &'static dyn Protocol,
    /// The form of replies; with `auto` a call whose reply was unreadable is asked again without a schema.
    structured: Structured,
    /// Whether the options ask for JSON mode.
    json_mode: bool,
    /// Whether the user's members of the request decide about the form.
    is_users: bool,
    refusals: Arc<Refusals>,
    /// Whether repeats may carry our schema.
    pub(super) adds_ours: bool,
    /// The forms to which a reply held a JSON object: one that does not is then the judge's choice, not the server's.
    kept: Mutex<BTreeSet<Parameter>>,
    first: FirstReplies,
}

impl ReplyForms {
    pub(super) fn new(
        prompts: Arc<PromptSet>,
        options: &RequestOptions,
        structured: Structured,
        refusals: Arc<Refusals>,
    ) -> Self {
        Self {
            prompts,
            protocol: options.endpoint.protocol(),
            structured,
            json_mode: options.json_mode,
            is_users: options.extra_body.contains_key("response_format"),
            refusals,
            adds_ours: false,
            kept: Mutex::default(),
            first: FirstReplies::default(),
        }
    }

    /// Whether JSON mode is asked for with this kind of question.
    pub(super) fn asks_json(&self, info: &KindInfo) -> bool {
        self.json_mode && self.prompts.json_mode(info)
    }

    /// Whether our schema may be added to this kind of question: published wordings are asked as they were published.
    fn adds_ours(&self, info: &KindInfo) -> bool {
        self.adds_ours && self.prompts.is_fenced(info)
    }

    /// Our schema of the reply, where a repeat may carry it though nobody asked for a schema: over chat in `auto`, for a
    /// reply in JSON, from a server that has not refused it.
    fn own_schema(&self, question: &dyn Question) -> Option<Value> {
        let info = question.info();
        let may_have_it = self.adds_ours(info)
            && self.structured == Structured::Auto
            && self.protocol.repeats_with_schema()
            && self.asks_json(info)
            && self.prompts.schema(info).is_none()
            && !self.is_users
            && !self.refusals.has(Parameter::Schema);
        if may_have_it { question.schema() } else { None }
    }

    /// Whether this call can begin in either way, so that its first reply may be stored under two keys.
    pub fn may_carry_schema(&self, call: &JudgeCall) -> bool {
        self.own_schema(&*call.question).is_some()
    }

    /// Whether calls without a stored reply begin with our schema.
    pub fn begins_with_schema(&self) -> bool {
        self.refusals.is_schema_kept || self.refusals.needs_schema()
    }

    /// The schema of this attempt. A repeat with our schema has the key of a call that begins with it, so that its reply is
    /// found by either. Of the repeats of a plain call every second one is plain as well, since a server may not take schemas.
    pub(super) fn schema(
        &self,
        question: &dyn Question,
        attempt: u32,
        beginning: Beginning,
    ) -> AttemptSchema {
        let (asks_ours, attempt_in_key) = match beginning {
            Beginning::Plain => (attempt % 2 == 1, attempt.saturating_sub(1)),
            Beginning::Schema => (true, attempt),
        };
        if asks_ours && let Some(schema) = self.own_schema(question) {
            return AttemptSchema {
                schema: Some(schema),
                is_own: true,
                attempt: attempt_in_key,
            };
        }
        let info = question.info();
        let schema = match self.structured {
            Structured::Auto => self.prompts.schema(info),
            Structured::Schema => self.prompts.schema(info).or_else(|| question.schema()),
            Structured::Json | Structured::Off => None,
        };
        AttemptSchema {
            schema,
            is_own: false,
            attempt,
        }
    }

    /// Takes the schema from the options where this attempt goes without it, and says how the form differs from that of a first
    /// attempt; `is_own`: the schema is ours.
    pub(super) fn change(
        &self,
        is_own: bool,
        options: &mut RequestOptions,
        attempt: u32,
        beginning: Beginning,
    ) -> Option<&'static str> {
        if is_own && (beginning == Beginning::Plain || self.refusals.needs_schema()) {
            return Some(
                "a reply schema was asked for, since replies without one were unreadable (--structured json asks without)",
            );
        }
        let goes_without = attempt % 2 == 1 && self.structured == Structured::Auto;
        if !goes_without || options.schema.is_none() {
            return None;
        }
        // Every second attempt, since a judge may need the schema to know the form.
        options.schema = None;
        Some(
            "unreadable replies to a schema were asked again without it (--structured json asks without)",
        )
    }

    /// Whether this reply shows that the server cannot keep to the form of the call, a schema or JSON mode: it is empty, or
    /// holds no JSON object though `--structured auto` sends a declared schema, and no reply to that form held one before. Only
    /// new replies show it. All calls are then made without the form, this one again.
    ///
    /// # Errors
    /// When the cache cannot be written.
    pub fn drops_form(&self, call: &Rendered, reply: &JudgeReply) -> Result<bool> {
        let mut forms = [Parameter::Schema, Parameter::ResponseFormat].into_iter();
        let Some(form) = forms.find(|form| call.parameters.contains(form)) else {
            return Ok(false);
        };
        if reply.content.contains('{') {
            locked(&self.kept).insert(form);
        }
        // Cached replies come in no order: an empty one that is read first would change the calls of a run that has all replies.
        if reply.cached {
            return Ok(false);
        }
        // The repeat with our schema is one of several attempts anyway.
        let lacks_object = form == Parameter::Schema
            && self.structured == Structured::Auto
            && !call.is_own_schema
            && !reply.is_cut()
            && !reply.content.contains('{');
        // One reply with an object shows that the server takes the form; then a reply without one is
        // the model's, and dropping the form would cost its other replies theirs.
        let is_dropped =
            (lacks_object || is_empty_by_form(reply)) && !locked(&self.kept).contains(&form);
        if is_dropped {
            self.refusals.add(form)?;
        }
        Ok(is_dropped)
    }

    /// Whether this refusal may be one of our schema, which the user did not ask for: all calls are then made without it,
    /// this one again. A server that gave a reply to it before refuses something else.
    ///
    /// # Errors
    /// When the cache cannot be written.
    pub fn drops_refused_schema(&self, call: &Rendered, reason: &UnscoredReason) -> Result<bool> {
        let is_dropped = call.is_own_schema
            && reason.kind == UnscoredKind::Refused
            && !self.refusals.needs_schema()
            && !self.first.was_helped.load(Ordering::Relaxed);
        if is_dropped {
            self.refusals.add(Parameter::Schema)?;
        }
        Ok(is_dropped)
    }

    /// Counts how the judge does without our schema and with it. Once a repeat with it was readable, and most first replies
    /// are not, first attempts carry it.
    ///
    /// # Errors
    /// When the cache cannot be written.
    pub fn note_reading(
        &self,
        call: &JudgeCall,
        rendered: &Rendered,
        attempt: u32,
        is_read: bool,
    ) -> Result<()> {
        if !self.adds_ours(call.question.info()) {
            return Ok(());
        }
        let first = &self.first;
        if !rendered.is_own_schema {
            if attempt == 0 && self.may_carry_schema(call) {
                let counter = if is_read {
                    &first.readable
                } else {
                    &first.unreadable
                };
                counter.fetch_add(1, Ordering::Relaxed);
            }
            return Ok(());
        }
        if is_read {
            first.was_helped.store(true, Ordering::Relaxed);
        } else {
            first.unhelped.fetch_add(1, Ordering::Relaxed);
        }
        let unreadable = first.unreadable.load(Ordering::Relaxed);
        if first.was_helped.load(Ordering::Relaxed)
            && unreadable >= UNREADABLE_FIRST
            // Most, and not merely some: with a schema all calls get other keys, and what is cached
            // without one would be asked again.
            && unreadable > first.readable.load(Ordering::Relaxed)
        {
            return self.refusals.add_need_of_schema();
        }
        Ok(())
    }

    /// Whether a reply that was cut is worth a repeat with our schema: the judge began an object of another form. A stored
    /// reply is repeated only where a schema is known to help, so that a run from the cache asks nothing new.
    pub fn repeats_cut(&self, call: &JudgeCall, rendered: &Rendered, reply: &JudgeReply) -> bool {
        if !self.adds_ours(call.question.info()) {
            return false;
        }
        let may_help = !rendered.is_own_schema
            && self
                .own_schema(&*call.question)
                .is_some_and(|schema| begins_another_object(&reply.content, &schema));
        if !may_help || reply.cached {
            return may_help && self.refusals.needs_schema();
        }
        self.first.was_helped.load(Ordering::Relaxed)
            || self.first.unhelped.load(Ordering::Relaxed) < UNHELPED_REPEATS
    }

    /// What the user can change about replies of this kind that cannot be read.
    pub fn form_advice(&self, info: &KindInfo) -> &'static str {
        let has_schema = match self.structured {
            Structured::Schema => true,
            Structured::Auto => self.adds_ours(info) && !self.refusals.has(Parameter::Schema),
            Structured::Json | Structured::Off => false,
        };
        if !self.protocol.repeats_with_schema() {
            self.protocol.form_advice()
        } else if has_schema {
            "they were asked for with a schema, too: try another model, or --structured off"
        } else if self.refusals.has(Parameter::Schema) {
            "the server keeps to no reply schema: try another model, or --structured off"
        } else {
            "try --structured schema, or another model"
        }
    }
}

/// Whether a reply is empty though the judge ended it: constrained decoding that found no token, or white space up to the
/// limit. A judge that was cut while it reasoned is not meant.
fn is_empty_by_form(reply: &JudgeReply) -> bool {
    let is_ended = match reply.finish_reason.as_deref() {
        Some("stop") => !reply.is_in_reasoning_field(),
        Some("length") => !reply.content.is_empty() && !reply.is_all_reasoning(),
        _ => false,
    };
    is_ended && reply.content.trim().is_empty()
}

/// Whether the text has the beginning of an object without any of the members that the schema asks for.
fn begins_another_object(text: &str, schema: &Value) -> bool {
    let members = schema["properties"].as_object();
    let has_member = members.is_some_and(|members| {
        members
            .keys()
            .any(|name| text.contains(&format!("\"{name}\"")))
    });
    text.contains('{') && !has_member
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_reply_shows_that_json_mode_fails_only_when_it_is_new_and_the_first() {
        let empty = JudgeReply {
            finish_reason: Some("stop".into()),
            ..JudgeReply::of_text("")
        };
        let cached = JudgeReply {
            cached: true,
            ..empty.clone()
        };
        let prompts = Arc::new(PromptSet::builtin());
        let options = RequestOptions::new("m");
        let structured = Structured::default();
        let forms = ReplyForms::new(prompts, &options, structured, Arc::default());
        let mut call = Rendered::new([1; 32].into(), crate::Body::default);
        call.parameters = vec![Parameter::ResponseFormat];
        // Those of a finished run are read in any order.
        assert!(!forms.drops_form(&call, &cached).unwrap());
        assert!(forms.drops_form(&call, &empty).unwrap());
        forms.drops_form(&call, &JudgeReply::of_text("{}")).unwrap();
        assert!(!forms.drops_form(&call, &empty).unwrap());
    }
}
