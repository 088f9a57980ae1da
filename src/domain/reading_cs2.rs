//! Parses replies about irrelevant paragraphs and about the claims of a section (ScholarQA-CS2).

use serde_json::Value;

use super::criteria::text_of;
use super::judge_reply::{list_of, outermost_object};
use super::python_json::kind;
use super::{CitedClaim, JudgeReply, Mode, Reading, Unreadable, Verdict};

/// Parses the texts under `irrelevant_paragraphs`: objects with an `answer_text`.
pub(super) fn irrelevant(reply: &JudgeReply, mode: Mode) -> Result<Reading, Unreadable> {
    let object = object_of(reply, mode)?;
    let text = |entry: &Value| {
        let text = entry.get("answer_text").and_then(Value::as_str);
        text.map(str::to_owned).ok_or_else(|| Unreadable::new("an irrelevant paragraph has no answer_text"))
    };
    let list = list_of(&object, "irrelevant_paragraphs", "").map_err(Unreadable::new)?;
    Ok((Verdict::Irrelevant(list.iter().map(text).collect::<Result<_, _>>()?), None))
}

/// Parses the list under `claims`.
pub(super) fn cited_claims(reply: &JudgeReply, mode: Mode) -> Result<Reading, Unreadable> {
    let object = object_of(reply, mode)?;
    let list = list_of(&object, "claims", "").map_err(Unreadable::new)?;
    let claims = list.iter().map(claim).collect::<Result<_, _>>().map_err(Unreadable::new)?;
    Ok((Verdict::CitedClaims(claims), None))
}

fn object_of(reply: &JudgeReply, mode: Mode) -> Result<Value, Unreadable> {
    match mode {
        Mode::Default if reply.is_cut() => Err(Unreadable::cut(reply)),
        _ => outermost_object(&reply.content).map_err(Unreadable::new),
    }
}

fn claim(claim: &Value) -> Result<CitedClaim, String> {
    let ids = |key| match claim.get(key) {
        None => Ok(Vec::new()),
        Some(_) => Ok::<_, String>(list_of(claim, key, "claim.")?.iter().map(text_of).collect()),
    };
    let is_fully_supported = match claim.get("is_fully_supported") {
        Some(Value::Bool(is_supported)) => *is_supported,
        Some(other) => return Err(format!("is_fully_supported is {}, not true or false", kind(other))),
        None => return Err("a claim has no is_fully_supported".to_owned()),
    };
    Ok(CitedClaim { supporting: ids("supporting")?, non_supporting: ids("non_supporting")?, is_fully_supported })
}
