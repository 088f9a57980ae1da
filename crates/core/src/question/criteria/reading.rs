//! Parses replies that say which level of a scale each criterion reaches: one object, a list of objects, or lines.
//!
//! Compat reads these as the reference of each profile does; [other forms](super::forms) it reads as the default mode.

use serde_json::Value;

use super::forms;
use super::ingredients::ingredients;
use super::levels::{exact, is_race, level_verdict, numbered, verdict_of};
use crate::domain::python_json;
use crate::domain::repeated_keys::has_two_values;
use crate::domain::{
    CaseCriterion, CriterionVerdict, JudgeReply, Mode, ReplyForm, ReplyShape, after_thinking,
    text_of,
};
use crate::question::reading::{Unreadable, is_cut_json, outermost_object, quoted};

/// Keys under which judges write the number of a criterion.
const NUMBER_KEYS: [&str; 3] = ["criterion", "index", "number"];

/// Parses the verdicts on these criteria.
///
/// Default: every criterion has exactly one verdict, matched by its number (by position in lines), else nothing of the
/// reply counts. What stands under the keys that were asked for is the verdict; under other keys, lists that contradict
/// each other are none. A reply cut at the token limit is not parsed. Compat: an object as simple-evals reads it (a fence
/// ` ```json ` is removed, the level is the exact value, any number is the credit where levels are numbers), lines as
/// `ResearchQA` reads them (exact words; another one is an exception). With two scores as RACE does, but by number: a
/// criterion without a readable first score is left out, a missing second one is 0, and a reply without any readable first
/// score in one of the dimensions is asked again. Lists of levels, maps, first words, marks and objects that name their
/// criterion by its text are read alike in both modes.
///
/// # Errors
/// If one of them has no readable verdict.
pub(super) fn verdicts(
    reply: &JudgeReply,
    shape: &ReplyShape,
    criteria: &[CaseCriterion],
    mode: Mode,
) -> Result<Vec<CriterionVerdict>, Unreadable> {
    let count = criteria.len();
    let content = &*reply.content;
    let mode = if shape.by_text { Mode::Default } else { mode };
    match (shape.form, mode) {
        (ReplyForm::Lines, Mode::Default) | (ReplyForm::FirstWord | ReplyForm::Mark, _)
            if reply.is_cut() =>
        {
            Err(Unreadable::cut(reply))
        }
        (ReplyForm::List | ReplyForm::Map, _) if is_cut_json(reply) => Err(Unreadable::cut(reply)),
        (ReplyForm::List, _) => forms::list(content, shape, count).map_err(Unreadable::new),
        (ReplyForm::Map, _) => forms::map(content, shape, count).map_err(Unreadable::new),
        (ReplyForm::FirstWord | ReplyForm::Mark, _) if count != 1 => Err(Unreadable::new(
            "a reply of this form is about one criterion",
        )),
        (ReplyForm::FirstWord, _) => forms::first_word(content, shape).map_err(Unreadable::new),
        (ReplyForm::Mark, _) => forms::mark(content, shape).map_err(Unreadable::new),
        (ReplyForm::Object, Mode::Default) if is_cut_json(reply) => Err(Unreadable::cut(reply)),
        (ReplyForm::Lines, _) => lines(content, shape, count, mode),
        (ReplyForm::Object, Mode::Compat) if shape.list.is_some() => {
            ingredients(reply, shape, criteria)
        }
        (ReplyForm::Object, Mode::Compat)
            if count == 1 && shape.second.is_empty() && !shape.only_levels =>
        {
            compat_object(content, shape).map(|verdict| vec![verdict])
        }
        (ReplyForm::Object, _) => objects(content, shape, criteria, mode).map_err(Unreadable::new),
    }
}

fn objects(
    content: &str,
    shape: &ReplyShape,
    criteria: &[CaseCriterion],
    mode: Mode,
) -> Result<Vec<CriterionVerdict>, String> {
    let object = outermost_object(content, mode)?;
    let mut agreed: Option<Vec<CriterionVerdict>> = None;
    for entries in lists_of_verdicts(&object, shape, criteria.len(), mode) {
        let verdicts = verdicts_in(entries, shape, criteria, mode)?;
        let first = agreed.as_deref().unwrap_or(&verdicts);
        if credits(first) != credits(&verdicts) {
            return Err("the reply has verdicts that contradict each other".to_owned());
        }
        agreed.get_or_insert(verdicts);
    }
    let verdicts = agreed.unwrap_or_default();
    if is_race(shape, mode)
        && let Some(dimension) = dimension_without_score(criteria, &verdicts)
    {
        return Err(format!("no readable score in {}", quoted(dimension)));
    }
    Ok(verdicts)
}

/// The lists that a reply gives its verdicts in: the one that was asked for, else every one whose entries have levels. An
/// object without any is a list of one.
fn lists_of_verdicts<'a>(
    object: &'a Value,
    shape: &ReplyShape,
    count: usize,
    mode: Mode,
) -> Vec<&'a [Value]> {
    let itself = std::slice::from_ref(object);
    let (list_key, _) = shape.list_keys();
    let has_level = object.get(&shape.key).is_some();
    if let Some(list) = object.get(list_key) {
        let Some(list) = list.as_array() else {
            // Two different lists cannot be read as one, whatever else the object says.
            let unreadable = if has_two_values(list) { list } else { object };
            return vec![std::slice::from_ref(unreadable)];
        };
        // One criterion is asked for without a list, so that the object's level may be the verdict as well.
        let is_asked_itself = count == 1 && shape.list.is_none() && mode == Mode::Default;
        if is_asked_itself && has_level {
            return vec![itself, list];
        }
        return vec![list];
    }
    // Where the object itself has a level, other lists in it are additions of the judge.
    if has_level {
        return vec![itself];
    }
    let lists: Vec<&[Value]> = object
        .as_object()
        .into_iter()
        .flat_map(|fields| fields.values())
        .filter_map(|value| value.as_array().map(Vec::as_slice))
        .collect();
    let mut with_verdicts = lists.clone();
    with_verdicts.retain(|list| list.iter().any(|entry| entry.get(&shape.key).is_some()));
    if mode == Mode::Compat || with_verdicts.is_empty() {
        return vec![lists.first().copied().unwrap_or(itself)];
    }
    with_verdicts
}

/// What verdicts are compared by: the judge may explain each list in other words.
fn credits(verdicts: &[CriterionVerdict]) -> Vec<CriterionVerdict> {
    let mut credits = verdicts.to_vec();
    for verdict in &mut credits {
        verdict.feedback = None;
    }
    credits
}

/// A dimension (a tag) of these criteria without a readable score: RACE asks again unless every dimension is there.
fn dimension_without_score<'a>(
    criteria: &'a [CaseCriterion],
    verdicts: &[CriterionVerdict],
) -> Option<&'a str> {
    if verdicts.iter().all(|verdict| verdict.credit.is_none()) {
        return Some("any dimension");
    }
    for tag in criteria.iter().flat_map(|criterion| &criterion.tags) {
        let mut of_tag = criteria
            .iter()
            .zip(verdicts)
            .filter(|(criterion, _)| criterion.tags.contains(tag));
        if of_tag.all(|(_, verdict)| verdict.credit.is_none()) {
            return Some(tag);
        }
    }
    None
}

/// The verdicts of a list, in the order of the criteria.
fn verdicts_in(
    entries: &[Value],
    shape: &ReplyShape,
    criteria: &[CaseCriterion],
    mode: Mode,
) -> Result<Vec<CriterionVerdict>, String> {
    let count = criteria.len();
    let named_key = shape.list_keys().1;
    let number_keys = number_keys(entries, named_key);
    let mut texts: Vec<String> = Vec::new();
    for criterion in criteria {
        texts.push(comparable_text(&criterion.text));
    }
    let mut verdicts: Vec<Option<CriterionVerdict>> = vec![None; count];
    for entry in entries {
        // With one criterion judges leave the number out or count from elsewhere, and nothing can
        // be confused.
        let number = match entry.get(named_key) {
            Some(text) if shape.by_text => number_of_text(text, &texts, &verdicts)?,
            _ if count == 1 => 1,
            _ if shape.by_text => return Err("a verdict has no text of its criterion".to_owned()),
            _ => number_of(entry, &number_keys, count)?,
        };
        let verdict = verdict_of(entry, shape, mode)?;
        if verdicts[number - 1].replace(verdict).is_some() {
            return Err(format!("criterion {number} has two verdicts"));
        }
    }
    let missing = verdicts.iter().position(Option::is_none);
    if let Some(place) = missing.filter(|_| !is_race(shape, mode)) {
        return Err(format!("criterion {} of {count} has no verdict", place + 1));
    }
    Ok(verdicts
        .into_iter()
        .map(Option::unwrap_or_default)
        .collect())
}

/// The keys under which these entries have the numbers of their criteria: the one that was asked for, and others only
/// where no entry has it. A judge may use them for other numbers.
fn number_keys<'a>(entries: &[Value], asked_key: &'a str) -> Vec<&'a str> {
    if entries.iter().any(|entry| entry.get(asked_key).is_some()) {
        vec![asked_key]
    } else {
        NUMBER_KEYS.to_vec()
    }
}

/// The number of an entry's criterion, from 1 to `count`.
fn number_of(entry: &Value, keys: &[&str], count: usize) -> Result<usize, String> {
    let given: Vec<&Value> = keys.iter().filter_map(|key| entry.get(*key)).collect();
    let first = given
        .first()
        .ok_or("a verdict has no number of its criterion")?;
    let mut numbers = given.iter().filter_map(|value| whole_number(value));
    let number = numbers
        .next()
        .filter(|number| (1..=count).contains(number))
        .ok_or_else(|| {
            let number = quoted(&text_of(first));
            format!("a verdict is on criterion {number} of {count}")
        })?;
    if numbers.any(|other| other != number) {
        return Err(format!("a verdict on criterion {number} has two numbers"));
    }
    Ok(number)
}

/// The number of the criterion with this text, also behind its number as in the prompt; of equal ones the first without a
/// verdict.
fn number_of_text(
    text: &Value,
    texts: &[String],
    verdicts: &[Option<CriterionVerdict>],
) -> Result<usize, String> {
    let copied = text_of(text);
    let given = comparable_text(&copied);
    let mut numbers: Vec<usize> = Vec::new();
    numbers.extend((1..=texts.len()).filter(|number| texts[number - 1] == given));
    if numbers.is_empty() {
        let is_numbered = |number: &usize| format!("{number}.{}", texts[number - 1]) == given;
        numbers.extend((1..=texts.len()).filter(is_numbered));
    }
    if numbers.is_empty() {
        let unlabeled = comparable_text(without_labels(&copied));
        numbers.extend((1..=texts.len()).filter(|number| texts[number - 1] == unlabeled));
        // Equal texts may differ by their labels.
        if numbers.len() > 1 {
            numbers.clear();
        }
    }
    let open = numbers
        .iter()
        .find(|number| verdicts[**number - 1].is_none());
    let number = open.or(numbers.last());
    number.copied().ok_or_else(|| {
        let text = quoted(&copied);
        format!("a verdict is on \"{text}\", which is not the text of a criterion")
    })
}

/// A criterion without the weight and the sign that stand before it in prompts: `[7 points] [merit] Names ..`.
fn without_labels(mut text: &str) -> &str {
    while let Some((_, rest)) = text
        .trim_start()
        .strip_prefix('[')
        .and_then(|label| label.split_once(']'))
    {
        text = rest;
    }
    text
}

/// A text without its white space, and without the difference between brackets and those that stand for them in prompts.
fn comparable_text(text: &str) -> String {
    let visible = text.chars().filter(|c| !c.is_whitespace());
    let bracket = |c: char| match c {
        '\u{2039}' | '\u{ff1c}' | '\u{fe64}' => '<',
        '\u{27e6}' | '\u{ff3b}' => '[',
        c => c,
    };
    visible.map(bracket).collect()
}

/// A whole number, also written as 1.0 or as a text.
fn whole_number(value: &Value) -> Option<usize> {
    let number: f64 = text_of(value).trim().parse().ok()?;
    (number.fract() == 0.0 && (0.0..1e9).contains(&number)).then_some(number as usize)
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
    let mut verdicts: Vec<CriterionVerdict> = Vec::new();
    for (number, line) in (1..).zip(lines) {
        verdicts.push(verdict_in_line(number, line, shape, mode)?);
    }
    Ok(verdicts)
}

/// The verdict of the level in a line. Compat takes exact levels only.
fn verdict_in_line(
    number: usize,
    line: &str,
    shape: &ReplyShape,
    mode: Mode,
) -> Result<CriterionVerdict, Unreadable> {
    if mode == Mode::Compat {
        let Some(verdict) = exact(&line.into(), shape) else {
            return Err(Unreadable::exception(format!(
                "the reference stops at the level \"{}\"",
                quoted(line)
            )));
        };
        return Ok(verdict);
    }
    // The whole line first: a level may begin with a number itself, as 1.5 does.
    if let Ok(verdict) = level_verdict(&line.into(), shape, mode) {
        return Ok(verdict);
    }
    numbered(line, number)
        .and_then(|level| level_verdict(&level.into(), shape, mode))
        .map_err(Unreadable::new)
}

fn compat_object(content: &str, shape: &ReplyShape) -> Result<CriterionVerdict, Unreadable> {
    let text = content.trim();
    let text = text.strip_prefix("```json").map_or(text, str::trim_start);
    let text = text.strip_suffix("```").map_or(text, str::trim_end);
    let object =
        python_json::parse(text).map_err(|fault| Unreadable::new(format!("no JSON: {fault}")))?;
    let level = match &object {
        Value::Object(fields) => fields.get(&shape.key),
        // Python's `key in value` is false for these, and indexing the others raises.
        Value::Array(values) if !values.iter().any(|value| *value == shape.key) => None,
        Value::String(text) if !text.contains(&shape.key) => None,
        _ => {
            return Err(Unreadable::exception(format!(
                "the reference raises an exception on \"{}\"",
                quoted(text)
            )));
        }
    };
    level
        .and_then(|level| exact(level, shape))
        .ok_or_else(|| Unreadable::new(format!("no level under \"{}\"", shape.key)))
}

#[cfg(test)]
mod tests;
