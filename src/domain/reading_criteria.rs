//! Parses replies about criteria: one level of the profile's scale for each.

use serde_json::Value;

use super::criteria::text_of;
use super::judge_reply::{after_thinking, feedback, outermost_object, quoted};
use super::python_json;
use super::reading_cs2;
use super::{
    CaseCriterion, CriterionVerdict, JudgeReply, Mode, Reading, ReplyForm, ReplyShape, Unreadable,
    UnscoredKind, Verdict,
};

/// Key of an entry's number.
const NUMBER_KEYS: [&str; 3] = ["criterion", "index", "number"];

/// Parses the verdicts on these criteria.
///
/// Default: every criterion has exactly one verdict, matched by its number (by position in lines), else nothing of the
/// reply counts. A reply cut at the token limit is not parsed. Compat: an object as simple-evals reads it (a fence
/// ` ```json ` is removed, the level is the exact value, any number is its own credit where levels are numbers), lines as
/// `ResearchQA` reads them (exact words; another one is an exception). With two scores as RACE does, but by number: a
/// criterion without a readable first score is left out, a missing second one is 0.
pub(super) fn verdicts(
    reply: &JudgeReply,
    shape: &ReplyShape,
    criteria: &[CaseCriterion],
    mode: Mode,
) -> Result<Reading, Unreadable> {
    let count = criteria.len();
    let verdicts = match (shape.form, mode) {
        (_, Mode::Default) if reply.is_cut() => return Err(Unreadable::cut(reply)),
        (ReplyForm::Lines, _) => lines(&reply.content, shape, count, mode),
        (ReplyForm::Object, Mode::Compat) if shape.list.is_some() => {
            reading_cs2::ingredients(reply, shape, criteria)
        }
        (ReplyForm::Object, Mode::Compat) if count == 1 && shape.second.is_empty() => {
            compat_object(&reply.content, shape).map(|one| vec![one])
        }
        (ReplyForm::Object, _) => {
            objects(&reply.content, shape, count, mode).map_err(Unreadable::new)
        }
    }?;
    Ok((Verdict::Criteria(verdicts.into()), None))
}

fn objects(
    content: &str,
    shape: &ReplyShape,
    count: usize,
    mode: Mode,
) -> Result<Vec<CriterionVerdict>, String> {
    let is_race = mode == Mode::Compat && !shape.second.is_empty();
    let object = outermost_object(content)?;
    // Where the object itself has a level, other lists in it are the judge's own.
    let is_list = |value: &&Value| object.get(&shape.key).is_none() && value.is_array();
    let (list_key, number_key) = shape.list_keys();
    let list = object
        .get(list_key)
        .or_else(|| object.as_object()?.values().find(is_list));
    let entries = match list {
        Some(Value::Array(entries)) => entries.as_slice(),
        _ => std::slice::from_ref(&object),
    };
    let mut found: Vec<Option<CriterionVerdict>> = vec![None; count];
    for entry in entries {
        let number = match NUMBER_KEYS
            .iter()
            .chain([&number_key])
            .find_map(|key| entry.get(*key))
        {
            _ if count == 1 => 1,
            None => return Err("a verdict has no number of its criterion".to_owned()),
            Some(number) => text_of(number).trim().parse::<usize>().unwrap_or(0),
        };
        let place = number.checked_sub(1).and_then(|place| found.get_mut(place));
        let place =
            place.ok_or_else(|| format!("a verdict is on criterion {number} of {count}"))?;
        let level = |key: &String| match entry.get(key).map(|level| credit(level, shape, mode)) {
            Some(Err(_)) | None if is_race => Ok(None),
            read => read.ok_or_else(|| format!("no \"{key}\" in a verdict"))?,
        };
        let second = if shape.second.is_empty() {
            None
        } else {
            Some(level(&shape.second)?)
        };
        // Without a second credit there is no share, but RACE takes it for 0.
        let credit = level(&shape.key)?.filter(|_| is_race || second != Some(None));
        let second = second.map(Option::unwrap_or_default);
        let verdict = CriterionVerdict {
            credit,
            second,
            feedback: feedback(entry),
        };
        if place.replace(verdict).is_some() {
            return Err(format!("criterion {number} has two verdicts"));
        }
    }
    let missing = found.iter().position(Option::is_none);
    match missing {
        Some(place) if !is_race => {
            Err(format!("criterion {} of {count} has no verdict", place + 1))
        }
        _ => Ok(found.into_iter().map(Option::unwrap_or_default).collect()),
    }
}

fn lines(
    content: &str,
    shape: &ReplyShape,
    count: usize,
    mode: Mode,
) -> Result<Vec<CriterionVerdict>, Unreadable> {
    let text = match mode {
        Mode::Default => after_thinking(content).map_err(Unreadable::new)?,
        Mode::Compat => content,
    };
    let lines: Vec<&str> = text
        .split('\n')
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    if lines.len() != count {
        return Err(Unreadable::new(format!(
            "{} lines for {count} criteria",
            lines.len()
        )));
    }
    let line = |(place, line): (usize, &&str)| match mode {
        // A level may begin with a number itself, as 1.5 does.
        Mode::Default => credit(&(*line).into(), shape, mode)
            .or_else(|_| {
                numbered(line, place + 1).and_then(|word| credit(&word.into(), shape, mode))
            })
            .map_err(Unreadable::new),
        Mode::Compat => exact(&Value::from(*line), shape)
            .map(Some)
            .ok_or_else(|| Unreadable {
                what: format!("the reference stops at the level \"{}\"", quoted(line)),
                ask_again: false,
                kind: UnscoredKind::Exception,
            }),
    };
    let verdict = |credit| CriterionVerdict {
        credit,
        ..CriterionVerdict::default()
    };
    lines
        .iter()
        .enumerate()
        .map(line)
        .map(|credit| credit.map(verdict))
        .collect()
}

/// A line without the number of its criterion, which must be right if it is there.
fn numbered(line: &str, number: usize) -> Result<&str, String> {
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    match line[digits..].strip_prefix(['.', ')', ':']) {
        Some(rest) if digits > 0 && line[..digits].parse() == Ok(number) => Ok(rest.trim_start()),
        Some(_) if digits > 0 => Err(format!("line {number} is numbered {}", &line[..digits])),
        _ => Ok(line),
    }
}

/// The credit of a level, `None` for an abstention. Case, a full stop at the end, and `_` or `-` for a space do not matter.
/// On a continuous scale compat takes numbers beyond its ends as well.
fn credit(found: &Value, shape: &ReplyShape, mode: Mode) -> Result<Option<f64>, String> {
    let number = python_json::number(found).or_else(|| found.as_str()?.trim().parse().ok());
    if let Some(credit) = number
        .filter(|number| number.is_finite())
        .and_then(|number| shape.credit_at(number))
        && (mode == Mode::Compat || (0.0..=1.0).contains(&credit))
    {
        return Ok(Some(credit));
    }
    let words = |level: &Value| match level.as_f64() {
        Some(number) => number.to_string(),
        None => text_of(level)
            .trim()
            .trim_end_matches('.')
            .to_lowercase()
            .replace(['_', '-'], " "),
    };
    let said = words(found);
    if !shape.abstain.is_empty() && said == words(&shape.abstain.as_str().into()) {
        return Ok(None);
    }
    let level = shape
        .levels
        .iter()
        .find(|level| words(&level.level) == said);
    let fault = || {
        format!(
            "\"{}\" is not a level of the scale",
            quoted(&text_of(found))
        )
    };
    level.map(|level| Some(level.credit)).ok_or_else(fault)
}

/// The credit of a level that is written exactly so; any number has one where levels are numbers: its place on a continuous
/// scale, else itself.
fn exact(found: &Value, shape: &ReplyShape) -> Option<f64> {
    let number = || {
        python_json::number(found)
            .filter(|_| shape.levels.iter().any(|level| level.level.is_number()))
    };
    let number = || number().map(|number| shape.credit_at(number).unwrap_or(number));
    shape
        .levels
        .iter()
        .find(|level| level.level == *found)
        .map(|level| level.credit)
        .or_else(number)
}

fn compat_object(content: &str, shape: &ReplyShape) -> Result<CriterionVerdict, Unreadable> {
    let text = content.trim();
    let text = text.strip_prefix("```json").map_or(text, str::trim_start);
    let text = text.strip_suffix("```").map_or(text, str::trim_end);
    let raises = || Unreadable {
        what: format!("the reference raises an exception on \"{}\"", quoted(text)),
        ask_again: false,
        kind: UnscoredKind::Exception,
    };
    let object =
        python_json::parse(text).map_err(|fault| Unreadable::new(format!("no JSON: {fault}")))?;
    let level = match &object {
        Value::Object(fields) => fields.get(&shape.key),
        // Python's `key in value` is false for these, and indexing the others raises.
        Value::Array(values) if !values.iter().any(|value| *value == shape.key) => None,
        Value::String(text) if !text.contains(&shape.key) => None,
        _ => return Err(raises()),
    };
    let credit = level.and_then(|level| exact(level, shape));
    let fault = || Unreadable::new(format!("no level under \"{}\"", shape.key));
    credit
        .map(|credit| CriterionVerdict {
            credit: Some(credit),
            ..CriterionVerdict::default()
        })
        .ok_or_else(fault)
}

#[cfg(test)]
mod tests;
