//! Parses replies that are a list of levels, a map, a word or a text that ends in a level.
//!
//! References read these with patterns that take other words for a level, or fewer verdicts than criteria. None is imitated:
//! both modes read alike.

use serde_json::Value;

use super::levels::{level_verdict, numbered, verdict_of};
use crate::domain::python_json::kind;
use crate::domain::{CriterionVerdict, Mode, ReplyShape, after_thinking, nearly_json, text_of};
use crate::question::reading::{outermost_object, quoted, single};

/// Before a number that is not alone: `7/10`, `6-7`, `6 or 7`.
const FURTHER_NUMBER: [&str; 7] = ["/", "-", "\u{2013}", "\u{2014}", "~", "or ", "to "];

/// Parses a list of levels, one for each criterion.
pub(super) fn list(
    content: &str,
    shape: &ReplyShape,
    count: usize,
) -> Result<Vec<CriterionVerdict>, String> {
    let text = after_thinking(content)?;
    // A list within an object, or before one, may be another list than was asked for.
    let ends = text.find(['[', '{']).zip(text.rfind([']', '}']));
    let levels = match ends.and_then(|(start, end)| nearly_json::parse(text.get(start..=end)?)) {
        Some(Value::Array(levels)) => levels,
        _ => return Err("no JSON list in the reply".to_owned()),
    };
    if levels.len() != count {
        return Err(format!("{} levels for {count} criteria", levels.len()));
    }
    levels
        .iter()
        .map(|level| level_verdict(level, shape, Mode::Default))
        .collect()
}

/// Parses an object with an object for each criterion, under its number and nothing else.
pub(super) fn map(
    content: &str,
    shape: &ReplyShape,
    count: usize,
) -> Result<Vec<CriterionVerdict>, String> {
    let object = outermost_object(content, Mode::Default)?;
    let (map_key, before_number) = shape.list_keys();
    let map = single(&object, map_key)?.unwrap_or(&object);
    let Value::Object(entries) = map else {
        return Err(format!("{map_key} is {}, not an object", kind(map)));
    };
    let mut verdicts: Vec<CriterionVerdict> = Vec::new();
    for number in 1..=count {
        let key = format!("{before_number}{number}");
        let entry = entries.get(&key);
        let entry = entry.ok_or_else(|| format!("{key} of {count} has no verdict"))?;
        verdicts.push(verdict_of(entry, shape, Mode::Default)?);
    }
    if entries.len() > count {
        return Err(format!("{} verdicts for {count} criteria", entries.len()));
    }
    Ok(verdicts)
}

/// Parses a text that begins with a level; the number of the criterion may stand before it.
pub(super) fn first_word(
    content: &str,
    shape: &ReplyShape,
) -> Result<Vec<CriterionVerdict>, String> {
    let text = after_thinking(content)?;
    let behind_number = numbered(text, 1).unwrap_or(text);
    let mut verdict =
        leading_level(text, shape).or_else(|_| leading_level(behind_number, shape))?;
    verdict.feedback = Some(text.to_owned()).filter(|text| text.contains(char::is_whitespace));
    Ok(vec![verdict])
}

/// Parses a text with a level behind the last mark.
pub(super) fn mark(content: &str, shape: &ReplyShape) -> Result<Vec<CriterionVerdict>, String> {
    let text = without_emphasis(after_thinking(content)?);
    // Of the same length: what is found in it has the same place in the text.
    let lower = text.to_ascii_lowercase();
    for mark in &shape.marks {
        let mark = without_emphasis(mark).to_ascii_lowercase();
        if let Some(start) = lower.rfind(&mark) {
            let mut verdict = leading_level(&text[start + mark.len()..], shape)?;
            let reasons = text[..start].trim();
            verdict.feedback = Some(reasons.to_owned()).filter(|reasons| !reasons.is_empty());
            return Ok(vec![verdict]);
        }
    }
    Err(format!("no {} in the reply", shape.marks.join(" or ")))
}

/// A text without Markdown's marks of emphasis and code, which may stand within a mark: `**VERDICT**: 7`.
fn without_emphasis(text: &str) -> String {
    text.replace("**", "").replace('`', "")
}

/// The verdict of the level that a text begins with, whatever punctuation is around it.
fn leading_level(text: &str, shape: &ReplyShape) -> Result<CriterionVerdict, String> {
    // Not a minus: -1 is not level 1.
    let is_opening =
        |c: char| c.is_whitespace() || "*_`\"'\u{201c}\u{2018}([{#>:=\u{ff1a}\u{2022}".contains(c);
    let text = text.trim_start_matches(is_opening);
    let text = text.strip_prefix("- ").unwrap_or(text);
    let text = text.trim_start_matches(is_opening);
    let number = leading_number(text);
    if !number.is_empty()
        && !goes_on(&text[number.len()..])
        && let Ok(verdict) = level_verdict(&number.into(), shape, Mode::Default)
    {
        return Ok(verdict);
    }
    let lengths = shape.words();
    let lengths = lengths
        .iter()
        .map(|level| text_of(level).split_whitespace().count());
    let words: Vec<&str> = text
        .split_whitespace()
        .take(lengths.max().unwrap_or(1))
        .collect();
    // The longest first: "not" is not "not at all".
    for count in (1..=words.len()).rev() {
        let level = words[..count].join(" ");
        let end = level.find(ends_word).unwrap_or(level.len());
        let level = level[..end].trim_end_matches(['.', ',', '_', '\'', '\u{2019}']);
        let is_number = level.parse::<f64>().is_ok();
        if let Ok(verdict) = level_verdict(&level.into(), shape, Mode::Default)
            && !is_number
        {
            return Ok(verdict);
        }
    }
    Err(format!(
        "\"{}\" does not begin with a level of the scale",
        quoted(text)
    ))
}

/// Whether a word ends before this character. Those that join words, as in `yes/no` and `yes-and-no`, end none.
fn ends_word(c: char) -> bool {
    !c.is_alphanumeric() && !" .,/-_'\u{2019}|&+%".contains(c)
}

/// The number at the start of a text; empty if there is none.
fn leading_number(text: &str) -> &str {
    let digits_from = |start: usize| {
        let digits = text[start..].bytes().take_while(u8::is_ascii_digit);
        start + digits.count()
    };
    let sign = usize::from(text.starts_with(['-', '+']));
    let whole = digits_from(sign);
    if whole == sign {
        return "";
    }
    let fraction = text[whole..]
        .starts_with('.')
        .then(|| digits_from(whole + 1));
    let end = fraction.filter(|end| *end > whole + 1);
    &text[..end.unwrap_or(whole)]
}

/// Whether what stands behind a number belongs to it, so that it is not the number alone: `7.5.1`, `7,5`, `70%`, `7th`, `7/10`.
fn goes_on(behind: &str) -> bool {
    let begins_with_digit = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    let is_joined = behind.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '%');
    let fraction = behind.strip_prefix(['.', ',']).unwrap_or_default();
    // On the next line a dash begins an item of a list.
    let behind = behind.trim_start_matches(' ');
    let mut further = FURTHER_NUMBER
        .iter()
        .filter_map(|joint| behind.strip_prefix(joint));
    is_joined
        || begins_with_digit(fraction)
        || further.any(|further| begins_with_digit(further.trim_start()))
}
