//! Reads replies to the rubric's questions in default mode: a reply counts only if it says exactly what was asked; anything
//! else is unreadable, with the reason, and never a silent zero.

use super::python_json::{self, Value};
use super::{ClaimShares, JudgeReply, JudgeTask, Unreadable, UnscoredKind, Verdict};

/// What a readable reply holds: the verdict, and what the judge said besides it.
pub type Reading = (Verdict, Option<String>);

/// Points are asked for on a scale of 0 to this.
const MAX_POINTS: f64 = 10.0;

/// At most this many characters of a reply are quoted in a message.
const QUOTED_CHARS: usize = 40;

/// Keys under which judges explain themselves, best first.
const FEEDBACK_KEYS: [&str; 3] = ["feedback", "reason", "explanation"];

/// The verdict of a reply to one of the rubric's questions in default mode, with the judge's feedback.
pub(super) fn read(task: &JudgeTask, reply: &JudgeReply) -> Result<Reading, Unreadable> {
    if reply.is_cut() {
        return Err(cut(reply.usage.completion_tokens));
    }
    let object = outermost_object(&reply.content).map_err(unreadable)?;
    let verdict = match task {
        JudgeTask::Expertise { .. } | JudgeTask::Property { .. } => points(&object).map(Verdict::Points),
        JudgeTask::Evidence { .. } => count(&object).map(Verdict::Count),
        JudgeTask::Citations { .. } | JudgeTask::Aspect { .. } | JudgeTask::Attribution { .. } => {
            claim_shares(&object).map(Verdict::Claims)
        }
    };
    Ok((verdict.map_err(unreadable)?, feedback(&object)))
}

pub(super) fn unreadable(what: String) -> Unreadable {
    Unreadable { what, ask_again: true, kind: UnscoredKind::Unreadable }
}

pub(super) fn cut(tokens: u64) -> Unreadable {
    let what =
        if tokens > 0 { format!("reply cut at {tokens} tokens") } else { "reply cut at the token limit".to_owned() };
    Unreadable { what, ask_again: false, kind: UnscoredKind::Cut }
}

/// The JSON object of a reply: the whole text, or the outermost braces of what follows the judge's thinking.
fn outermost_object(content: &str) -> Result<Value, String> {
    let text = content.trim();
    if text.is_empty() {
        return Err("the reply is empty".to_owned());
    }
    if let Ok(object @ Value::Dict(_)) = python_json::parse(text) {
        return Ok(object);
    }
    let text = after_thinking(text)?;
    let (Some(start), Some(end)) = (text.find('{'), text.rfind('}')) else {
        return Err("no JSON object in the reply".to_owned());
    };
    if end < start {
        return Err("no JSON object in the reply".to_owned());
    }
    python_json::parse(&text[start..=end]).map_err(|fault| format!("no JSON object in the reply: {fault}"))
}

/// What follows a leading `<think>` block. A chat template may have swallowed the opening tag: then everything up to
/// the closing one is thinking.
pub(super) fn after_thinking(text: &str) -> Result<&str, String> {
    const OPEN: &str = "<think>";
    const CLOSE: &str = "</think>";
    match (text.strip_prefix(OPEN), text.split_once(CLOSE)) {
        (_, Some((_, rest))) => Ok(rest),
        (Some(_), None) => Err("the reply ends inside its <think> block".to_owned()),
        (None, None) => Ok(text),
    }
}

/// The number under `score`.
fn number(object: &Value) -> Result<f64, String> {
    match object.get("score") {
        None => Err("no \"score\" in the reply's object".to_owned()),
        // An integer beyond range reads as infinity, which no range allows.
        Some(Value::Int(digits)) => digits.parse().map_err(|_| format!("score {} is no number", quoted(digits))),
        Some(Value::Float(value)) if value.is_nan() => Err("score is NaN".to_owned()),
        Some(Value::Float(value)) => Ok(*value),
        Some(Value::Str(text)) => Err(format!("score is the string \"{}\", not a number", quoted(text))),
        Some(other) => Err(format!("score is {}, not a number", other.kind())),
    }
}

fn points(object: &Value) -> Result<f64, String> {
    let points = number(object)?;
    if (0.0..=MAX_POINTS).contains(&points) { Ok(points) } else { Err(format!("score {points} is outside 0..10")) }
}

fn count(object: &Value) -> Result<f64, String> {
    let count = number(object)?;
    if count < 0.0 {
        Err(format!("count {count} is negative"))
    } else if count.is_infinite() {
        Err("count is infinite".to_owned())
    } else {
        Ok(count)
    }
}

/// The list under `key` of the `index`-th object of `list`; `of` names that list in messages.
fn list_of<'a>(item: &'a Value, key: &str, of: &str, index: usize) -> Result<&'a [Value], String> {
    if !matches!(item, Value::Dict(_)) {
        return Err(format!("{of}[{index}] is {}, not an object", item.kind()));
    }
    match item.get(key) {
        Some(Value::List(list)) => Ok(list),
        Some(other) => Err(format!("{of}[{index}].{key} is {}, not a list", other.kind())),
        None => Err(format!("{of}[{index}] has no {key}")),
    }
}

fn claim_shares(object: &Value) -> Result<ClaimShares, String> {
    let claims = match object.get("claims") {
        Some(Value::List(claims)) => claims,
        Some(other) => return Err(format!("claims is {}, not a list", other.kind())),
        None => return Err("no \"claims\" in the reply's object".to_owned()),
    };
    let (mut cited, mut citations, mut quoted) = (0, 0, 0);
    for (i, claim) in claims.iter().enumerate() {
        let list = list_of(claim, "citations", "claims", i)?;
        cited += usize::from(!list.is_empty());
        citations += list.len();
        for (j, citation) in list.iter().enumerate() {
            let of = format!("claims[{i}].citations");
            quoted += usize::from(!list_of(citation, "excerpts", &of, j)?.is_empty());
        }
    }
    Ok(shares_of(Tally { claims: claims.len(), cited, citations, quoted }))
}

/// Counts of one claims reply.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tally {
    pub(super) claims: usize,
    /// Claims with a citation.
    pub(super) cited: usize,
    pub(super) citations: usize,
    /// Citations with an excerpt.
    pub(super) quoted: usize,
}

/// `cited / max(claims, 1)` and `quoted / max(citations, 1)`.
pub(super) fn shares_of(tally: Tally) -> ClaimShares {
    let share = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
    ClaimShares {
        citations: share(tally.cited, tally.claims),
        excerpts: share(tally.quoted, tally.citations),
        claim_count: tally.claims as u64,
        citation_count: tally.citations as u64,
    }
}

fn feedback(object: &Value) -> Option<String> {
    FEEDBACK_KEYS.into_iter().find_map(|key| match object.get(key) {
        Some(Value::Str(text)) if !text.trim().is_empty() => Some(text.clone()),
        _ => None,
    })
}

/// The first characters of hostile text, escaped.
pub(super) fn quoted(text: &str) -> String {
    let mut out: String = text.chars().take(QUOTED_CHARS).flat_map(char::escape_debug).collect();
    if text.chars().nth(QUOTED_CHARS).is_some() {
        out.push_str("..");
    }
    out
}

#[cfg(test)]
mod tests;
