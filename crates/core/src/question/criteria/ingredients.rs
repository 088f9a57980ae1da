//! Parses replies about the ingredients of ScholarQA-CS2 as astabench 0.5.4 does (`evals/sqa`, with pydantic's conversions).

use std::collections::HashMap;

use serde_json::Value;

use crate::domain::python_json::kind;
use crate::domain::{CaseCriterion, CriterionVerdict, JudgeReply, Level, Mode, ReplyShape};
use crate::question::astabench::{object, whole_number};
use crate::question::reading::{Unreadable, list_of};

/// Parses the levels of all ingredients in compat mode: each number exactly once. Of ingredients with one id the last in the
/// reply counts.
pub(super) fn ingredients(
    reply: &JudgeReply,
    shape: &ReplyShape,
    criteria: &[CaseCriterion],
) -> Result<Vec<CriterionVerdict>, Unreadable> {
    let object = object(reply, Mode::Compat)?;
    let (list_key, number_key) = shape.list_keys();
    let mut levels: Vec<Option<&Level>> = vec![None; criteria.len()];
    let mut by_id: HashMap<&str, &Level> = HashMap::new();
    for entry in list_of(&object, list_key, "").map_err(Unreadable::new)? {
        let level = entry.get(&shape.key).and_then(whole_number);
        let level = shape
            .levels
            .iter()
            .find(|known| level.is_some() && known.level.as_f64() == level);
        let place = entry
            .get(number_key)
            .and_then(integer)
            .and_then(|number| number.checked_sub(1));
        let free = place.filter(|place| levels.get(*place).is_some_and(Option::is_none));
        let has_texts = shape.texts().iter().all(|key| is_text_under(key, entry));
        let (Some(level), Some(place), true) = (level, free, has_texts) else {
            return Err(Unreadable::new(format!(
                "an entry of {list_key} is not as asked for"
            )));
        };
        levels[place] = Some(level);
        by_id.extend(criteria[place].shared_id.as_deref().map(|id| (id, level)));
    }
    let mut verdicts: Vec<CriterionVerdict> = Vec::new();
    for (criterion, level) in criteria.iter().zip(levels) {
        let id = criterion.shared_id.as_deref();
        let last_with_id = id.and_then(|id| by_id.get(id).copied());
        let Some(level) = last_with_id.or(level) else {
            return Err(Unreadable::new("not every ingredient has an entry"));
        };
        verdicts.push(shape.verdict_of(level));
    }
    Ok(verdicts)
}

fn is_text_under(key: &str, entry: &Value) -> bool {
    entry.get(key).is_some_and(|text| kind(text) == "a string")
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
