//! Reads one level of a scale, and one entry of a reply that names it.

use serde_json::Value;

use crate::domain::{CriterionVerdict, Mode, ReplyShape, comparable_level, python_json, text_of};
use crate::question::reading::{feedback, quoted, single};

/// Whether replies are read as RACE does.
pub(super) fn is_race(shape: &ReplyShape, mode: Mode) -> bool {
    mode == Mode::Compat && !shape.second.is_empty()
}

/// The verdict of one entry.
pub(super) fn verdict_of(
    entry: &Value,
    shape: &ReplyShape,
    mode: Mode,
) -> Result<CriterionVerdict, String> {
    let mut verdict = level_under(&shape.key, entry, shape, mode)?;
    if !shape.second.is_empty() {
        let second = level_under(&shape.second, entry, shape, mode)?.credit;
        // Without a second credit there is no share, but RACE takes it for 0.
        if second.is_none() && !is_race(shape, mode) {
            verdict = CriterionVerdict::default();
        }
        verdict.second = Some(second.unwrap_or_default());
    }
    verdict.feedback = feedback(entry);
    Ok(verdict)
}

/// The verdict of the level under a key. RACE leaves out what it cannot read.
fn level_under(
    key: &str,
    entry: &Value,
    shape: &ReplyShape,
    mode: Mode,
) -> Result<CriterionVerdict, String> {
    let read = match single(entry, key) {
        Err(what) => Err(what),
        Ok(Some(level)) => level_verdict(level, shape, mode),
        Ok(None) => Err(format!("no \"{key}\" in a verdict")),
    };
    if is_race(shape, mode) {
        return Ok(read.unwrap_or_default());
    }
    read
}

/// A line without the number of its criterion, which must be right if it is there.
pub(super) fn numbered(line: &str, number: usize) -> Result<&str, String> {
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let behind = &line[digits..];
    // 1.5 is not level 5 of the first criterion.
    let fraction = behind.strip_prefix('.').unwrap_or_default();
    if fraction.starts_with(char::is_numeric) {
        return Ok(line);
    }
    match behind.strip_prefix(['.', ')', ':']) {
        Some(rest) if digits > 0 && line[..digits].parse() == Ok(number) => Ok(rest.trim_start()),
        Some(_) if digits > 0 => Err(format!("line {number} is numbered {}", &line[..digits])),
        _ => Ok(line),
    }
}

/// The verdict of a level, without a credit for an abstention: the level that is written exactly so, else a number on a
/// continuous scale, else the level that is [the same](comparable_level) but for its form. On a continuous scale compat takes
/// numbers beyond its ends as well.
pub(super) fn level_verdict(
    value: &Value,
    shape: &ReplyShape,
    mode: Mode,
) -> Result<CriterionVerdict, String> {
    if let Some(level) = shape.levels.iter().find(|level| level.level == *value) {
        return Ok(shape.verdict_of(level));
    }
    if let Some(number) = number_in(value, mode)
        && (mode == Mode::Compat || shape.spans(number))
        && shape.credit_at(number).is_some()
    {
        return Ok(shape.verdict_at(number));
    }
    let level_text = comparable_level(value);
    if !shape.abstain.is_empty() && level_text == comparable_level(&shape.abstain.as_str().into()) {
        return Ok(CriterionVerdict::default());
    }
    shape
        .levels
        .iter()
        .find(|level| comparable_level(&level.level) == level_text)
        .map(|level| shape.verdict_of(level))
        .ok_or_else(|| {
            format!(
                "\"{}\" is not a level of the scale",
                quoted(&text_of(value))
            )
        })
}

/// A finite number, also as a text; in compat mode true and false are 1 and 0, as in Python.
fn number_in(value: &Value, mode: Mode) -> Option<f64> {
    let number = match mode {
        Mode::Default => python_json::number(value),
        Mode::Compat => python_number(value),
    };
    number
        .or_else(|| value.as_str()?.trim().parse().ok())
        .filter(|number| number.is_finite())
}

/// A number for Python's arithmetic, where true and false are 1 and 0.
fn python_number(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(truth) => Some(f64::from(u8::from(*truth))),
        _ => python_json::number(value),
    }
}

/// The verdict of a level that is written exactly so; any number has one where levels are numbers: its place on a continuous
/// scale, else itself.
pub(super) fn exact(value: &Value, shape: &ReplyShape) -> Option<CriterionVerdict> {
    if let Some(level) = shape.levels.iter().find(|level| level.level == *value) {
        return Some(shape.verdict_of(level));
    }
    if !shape.levels.iter().any(|level| level.level.is_number()) {
        return None;
    }
    python_number(value).map(|number| shape.verdict_at(number))
}
