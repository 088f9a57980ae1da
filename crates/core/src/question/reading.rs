//! What the kinds of questions have in common in reading replies.
//!
//! In default mode a reply counts only if it says exactly what was asked; anything else is [`Unreadable`], with a reason,
//! and never a silent zero.

use serde_json::{Value, json};

use crate::domain::python_json::{self, kind, outermost_braces};
use crate::domain::repeated_keys::{TWO_VALUES_NAME, has_two_values};
use crate::domain::{JudgeReply, Mode, UnscoredKind, UnscoredReason, after_thinking};

/// Maximum number of characters quoted from a reply.
const QUOTED_CHARS: usize = 40;

/// Keys of the judge's explanation, in order of preference.
const FEEDBACK_KEYS: [&str; 4] = ["feedback", "reason", "explanation", "reasoning"];

/// Why a reply that ended with all of its text as reasoning has no verdict.
pub const IN_REASONING_FIELD: &str = "the reply is empty, and its text is in the reasoning field: the server takes all of it for \
     reasoning (vLLM: --reasoning-parser missing, or not the one of this model)";

/// How the reason of a reply says that nothing but reasoning came.
pub const INSIDE_REASONING: &str = " inside its reasoning, before any verdict,";

/// Why a complete reply could not be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// What is wrong: `no JSON object`, `score 11 is outside 0..10`.
    pub what: String,
    /// Whether a retry may help (not for a reply cut at the token limit or compat exceptions).
    pub ask_again: bool,
    /// The kind of unscored value if it is not retried.
    pub kind: UnscoredKind,
}

impl Unreadable {
    /// An unreadable reply that is worth a retry.
    pub fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            ask_again: true,
            kind: UnscoredKind::Unreadable,
        }
    }

    /// A reply that another attempt would not change.
    pub(super) fn lasting(kind: UnscoredKind, what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            ask_again: false,
            kind,
        }
    }

    /// A reply on which the reference script raises an exception; it would not ask again.
    pub fn exception(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            ask_again: false,
            kind: UnscoredKind::Exception,
        }
    }

    /// A reply cut at the token limit.
    pub fn cut(reply: &JudgeReply) -> Self {
        let tokens = reply.usage.completion_tokens;
        let inside = if reply.is_all_reasoning() {
            INSIDE_REASONING
        } else {
            ""
        };
        let at = if tokens > 0 {
            format!("{tokens} tokens")
        } else {
            "the token limit".to_owned()
        };
        Self {
            what: format!("reply cut{inside} at {at}"),
            ask_again: false,
            kind: UnscoredKind::Cut,
        }
    }
}

impl From<Unreadable> for UnscoredReason {
    fn from(unreadable: Unreadable) -> Self {
        Self::new(unreadable.kind, unreadable.what)
    }
}

/// Why a reply contains no verdict, whatever was asked; `None` if it may.
pub(super) fn unusable(reply: &JudgeReply, mode: Mode) -> Option<Unreadable> {
    if mode == Mode::Default && reply.is_in_reasoning_field() {
        // Not read from there: it may be a draft. Worth a repeat as any reply that is empty.
        return Some(Unreadable::new(IN_REASONING_FIELD));
    }
    let what = match reply.finish_reason.as_deref()? {
        "refusal" => format!("the judge refused: \"{}\"", quoted(&reply.content)),
        "tool_calls" if reply.content.trim().is_empty() => {
            "the judge called a tool and gave no text".to_owned()
        }
        "content_filter" if mode == Mode::Default => {
            "the reply was stopped by a content_filter".to_owned()
        }
        "malformed_response" => {
            return Some(Unreadable::new("the service calls its reply malformed"));
        }
        "undecodable" => return Some(Unreadable::new("the reply is not valid JSON")),
        _ => return None,
    };
    Some(Unreadable {
        what,
        ask_again: false,
        kind: UnscoredKind::Refused,
    })
}

/// The JSON object of a reply: the whole text, or the outermost braces after the judge's thinking.
///
/// # Errors
/// A reply that was cut at the token limit before it was whole, or that holds no JSON object.
pub fn object(reply: &JudgeReply) -> Result<Value, Unreadable> {
    if is_cut_json(reply) {
        return Err(Unreadable::cut(reply));
    }
    outermost_object(&reply.content, Mode::Default).map_err(Unreadable::new)
}

/// Whether a reply was cut before its JSON was whole: where it is nothing but a whole object or list, its last token came
/// with the limit.
pub(super) fn is_cut_json(reply: &JudgeReply) -> bool {
    let text = &*reply.content;
    reply.is_cut() && !is_whole_json(text) && !after_thinking(text).is_ok_and(is_whole_json)
}

fn is_whole_json(text: &str) -> bool {
    let text = text.trim().trim_matches('`').trim_start_matches("json");
    python_json::parse(text).is_ok_and(|json| json.is_object() || json.is_array())
}

/// [`object`] of a text. In default mode a key with two different values has none that can be read.
pub(super) fn outermost_object(content: &str, mode: Mode) -> Result<Value, String> {
    let parse = match mode {
        Mode::Default => python_json::parse_distinct,
        Mode::Compat => python_json::parse,
    };
    // The whole text first: a brace or a tag of thinking inside a string of the object is then no
    // end of it.
    if let Ok(object @ Value::Object(_)) = parse(content.trim()) {
        return Ok(object);
    }
    let object = outermost_braces(after_thinking(content)?).ok_or("no JSON object in the reply")?;
    parse(object).map_err(|fault| format!("no JSON object in the reply: {fault}"))
}

/// The number under `score`; infinite beyond the range of floats, which no range allows.
///
/// # Errors
/// If there is none, or something else.
pub fn score(object: &Value) -> Result<f64, Unreadable> {
    let score = single(object, "score")
        .map_err(Unreadable::new)?
        .ok_or_else(|| Unreadable::new("no \"score\" in the reply's object"))?;
    match (python_json::number(score), score) {
        (Some(number), _) if number.is_nan() => Err(Unreadable::new("score is NaN")),
        (Some(number), _) => Ok(number),
        // "7/10" and "about 7" are texts as well; a judge that writes texts is asked again for a
        // number.
        (None, Value::String(text)) => Err(Unreadable::new(format!(
            "score is the string \"{}\", not a number",
            quoted(text)
        ))),
        (None, other) => Err(Unreadable::new(format!(
            "score is {}, not a number",
            kind(other)
        ))),
    }
}

/// The value under `key`, if there is one.
///
/// # Errors
/// When there are two.
pub(super) fn single<'a>(object: &'a Value, key: &str) -> Result<Option<&'a Value>, String> {
    match object.get(key) {
        _ if has_two_values(object) => Err(format!("what holds {key} has {TWO_VALUES_NAME}")),
        Some(value) if has_two_values(value) => Err(format!("{key} has {TWO_VALUES_NAME}")),
        value => Ok(value),
    }
}

/// The judge's explanation, where the object has one.
pub fn feedback(object: &Value) -> Option<String> {
    let mut texts = FEEDBACK_KEYS
        .into_iter()
        .filter_map(|key| object.get(key)?.as_str());
    texts
        .find(|text| !text.trim().is_empty())
        .map(str::to_owned)
}

/// The list under `key`. `place` is the object's path with a full stop, empty for the reply.
pub(super) fn list_of<'a>(
    object: &'a Value,
    key: &str,
    place: &str,
) -> Result<&'a [Value], String> {
    match single(object, key)? {
        Some(Value::Array(list)) => Ok(list),
        Some(other) => Err(format!("{place}{key} is {}, not a list", kind(other))),
        None if object.is_object() => Err(format!("{place}{key} is missing")),
        None => Err(format!(
            "{} is {}, not an object",
            place.trim_end_matches('.'),
            kind(object)
        )),
    }
}

/// The first characters of an untrusted text, escaped, for messages, without the mark of [numbers](python_json) like NaN.
pub(super) fn quoted(text: &str) -> String {
    let text = text.strip_prefix('\0').unwrap_or(text);
    let mut out: String = text
        .chars()
        .take(QUOTED_CHARS)
        .flat_map(char::escape_debug)
        .collect();
    if text.chars().nth(QUOTED_CHARS).is_some() {
        out.push_str("..");
    }
    out
}

/// The schema of an object with these properties: every one is required, and there are no others.
pub fn object_schema(properties: &Value) -> Value {
    let names: Vec<&String> = properties
        .as_object()
        .into_iter()
        .flat_map(|properties| properties.keys())
        .collect();
    json!({"type": "object", "properties": properties, "required": names, "additionalProperties": false})
}

/// The schema of a list.
pub(super) fn list_schema(items: &Value) -> Value {
    json!({"type": "array", "items": items})
}

/// The schema of a text.
pub(super) fn text_schema() -> Value {
    json!({"type": "string"})
}

#[cfg(test)]
mod tests;
