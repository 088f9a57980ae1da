//! Parses replies about the ingredients, the irrelevant paragraphs and the cited claims of ScholarQA-CS2.
//!
//! In compat mode as astabench 0.5.4 does (`evals/sqa`, with pydantic's conversions): what it asks again for is unreadable,
//! what raises an exception at once is not asked again.

use std::collections::HashMap;

use serde_json::Value;

use super::criteria::text_of;
use super::judge_reply::{list_of, outermost_object};
use super::python_json::{self, kind, outermost_braces};
use super::{
    CaseCriterion, CitedClaim, CriterionVerdict, JudgeReply, Mode, Reading, ReplyShape, Unreadable,
    UnscoredKind, Verdict,
};

/// Words that pydantic reads as false and as true.
const WORDS: [[&str; 6]; 2] = [
    ["0", "off", "f", "false", "n", "no"],
    ["1", "on", "t", "true", "y", "yes"],
];

/// Parses the levels of all ingredients in compat mode: each number exactly once. Of ingredients with one id the last in the
/// reply counts.
pub(super) fn ingredients(
    reply: &JudgeReply,
    shape: &ReplyShape,
    criteria: &[CaseCriterion],
) -> Result<Vec<CriterionVerdict>, Unreadable> {
    let object = object_of(reply, Mode::Compat)?;
    let (list_key, number_key) = shape.list_keys();
    let mut credits: Vec<Option<f64>> = vec![None; criteria.len()];
    let mut by_id: HashMap<&str, f64> = HashMap::new();
    for entry in list_of(&object, list_key, "").map_err(Unreadable::new)? {
        let is_text = |key: &&str| entry.get(*key).is_some_and(|text| kind(text) == "a string");
        let level = entry.get(&shape.key).and_then(whole_number);
        let level = shape
            .levels
            .iter()
            .find(|known| level.is_some() && known.level.as_f64() == level);
        let place = entry
            .get(number_key)
            .and_then(integer)
            .and_then(|number| number.checked_sub(1));
        let free = place.filter(|place| credits.get(*place).is_some_and(Option::is_none));
        let (Some(level), Some(place), true) = (level, free, shape.texts().iter().all(is_text))
        else {
            return Err(Unreadable::new(format!(
                "an entry of {list_key} is not as asked for"
            )));
        };
        credits[place] = Some(level.credit);
        by_id.extend(
            criteria[place]
                .shared_id
                .as_deref()
                .map(|id| (id, level.credit)),
        );
    }
    let verdict = |(criterion, credit): (&CaseCriterion, Option<f64>)| {
        let last = criterion
            .shared_id
            .as_deref()
            .and_then(|id| by_id.get(id).copied());
        Some(CriterionVerdict {
            credit: Some(last.or(credit)?),
            ..CriterionVerdict::default()
        })
    };
    let all: Option<Vec<CriterionVerdict>> = criteria.iter().zip(credits).map(verdict).collect();
    all.ok_or_else(|| Unreadable::new("not every ingredient has an entry"))
}

/// A number without a fraction, true as 1, false as 0.
fn whole_number(value: &Value) -> Option<f64> {
    value
        .as_f64()
        .or_else(|| value.as_bool().map(|is_true| f64::from(u8::from(is_true))))
        .filter(|own| own.fract() == 0.0)
}

/// A whole number, also as a text.
fn integer(value: &Value) -> Option<usize> {
    if let Some(text) = value.as_str().map(str::trim) {
        return text
            .trim_end_matches('0')
            .strip_suffix('.')
            .unwrap_or(text)
            .parse()
            .ok();
    }
    whole_number(value)
        .filter(|number| (0.0..1e9).contains(number))
        .map(|number| number as usize)
}

/// Parses the texts under `irrelevant_paragraphs`: objects with an `answer_text`.
pub(super) fn irrelevant(reply: &JudgeReply, mode: Mode) -> Result<Reading, Unreadable> {
    let object = object_of(reply, mode)?;
    let fault = |what: String| match mode {
        Mode::Default => Unreadable::new(what),
        Mode::Compat => Unreadable {
            what,
            ask_again: false,
            kind: UnscoredKind::Exception,
        },
    };
    let text = |entry: &Value| {
        let text = entry
            .get("answer_text")
            .filter(|text| kind(text) == "a string")
            .and_then(Value::as_str);
        text.map(str::to_owned)
            .ok_or_else(|| fault("an irrelevant paragraph has no answer_text".to_owned()))
    };
    let list = match object.get("irrelevant_paragraphs") {
        // Python iterates over these, too.
        Some(Value::String(empty)) if mode == Mode::Compat && empty.is_empty() => &[],
        Some(Value::Object(empty)) if mode == Mode::Compat && empty.is_empty() => &[],
        _ => list_of(&object, "irrelevant_paragraphs", "").map_err(fault)?,
    };
    let texts = list.iter().map(text).collect::<Result<_, _>>()?;
    Ok(Reading::new(Verdict::Irrelevant(texts)))
}

/// Parses the list under `claims`.
pub(super) fn cited_claims(reply: &JudgeReply, mode: Mode) -> Result<Reading, Unreadable> {
    let object = object_of(reply, mode)?;
    let list = list_of(&object, "claims", "").map_err(Unreadable::new)?;
    let claims = list
        .iter()
        .map(|own| claim(own, mode))
        .collect::<Result<_, _>>()
        .map_err(Unreadable::new)?;
    Ok(Reading::new(Verdict::CitedClaims(claims)))
}

fn object_of(reply: &JudgeReply, mode: Mode) -> Result<Value, Unreadable> {
    match mode {
        Mode::Default if reply.is_cut() => Err(Unreadable::cut(reply)),
        Mode::Default => outermost_object(&reply.content).map_err(Unreadable::new),
        Mode::Compat => {
            let object = outermost_braces(&reply.content)
                .ok_or_else(|| Unreadable::new("no JSON object in the reply"))?;
            python_json::parse(object)
                .map_err(|fault| Unreadable::new(format!("no JSON object in the reply: {fault}")))
        }
    }
}

/// A claim, with the conversions of pydantic: ids become texts as Python prints them, words such as `yes` are true.
fn claim(claim: &Value, mode: Mode) -> Result<CitedClaim, String> {
    if mode == Mode::Compat
        && claim
            .get("text")
            .is_none_or(|text| kind(text) != "a string")
    {
        return Err("a claim has no text".to_owned());
    }
    let id = |id: &Value| match id {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        _ => text_of(id),
    };
    let ids = |key| match claim.get(key) {
        None => Ok(Vec::new()),
        Some(_) => Ok::<_, String>(list_of(claim, key, "claim.")?.iter().map(id).collect()),
    };
    let word = |text: &str| {
        WORDS
            .iter()
            .position(|words| words.contains(&&*text.to_ascii_lowercase()))
    };
    let found = claim
        .get("is_fully_supported")
        .ok_or("a claim has no is_fully_supported")?;
    let truth = match found {
        Value::String(text) => word(text).map(|at| at == 1),
        other => whole_number(other)
            .filter(|number| matches!(number, 0.0 | 1.0))
            .map(|number| number == 1.0),
    };
    let is_fully_supported = truth.ok_or_else(|| {
        format!(
            "is_fully_supported is {}, not true or false",
            text_of(found)
        )
    })?;
    Ok(CitedClaim {
        supporting: ids("supporting")?,
        non_supporting: ids("non_supporting")?,
        is_fully_supported,
    })
}
