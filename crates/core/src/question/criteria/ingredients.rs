//! Parses replies about the ingredients of ScholarQA-CS2 as astabench 0.5.4 does (`evals/sqa`, with pydantic's conversions).

use std::collections::HashMap;

use serde_json::Value;

use crate::domain::python_json::kind;
use crate::domain::{CaseCriterion, CriterionVerdict, JudgeReply, Mode, ReplyShape};
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
    let mut credits: Vec<Option<f64>> = vec![None; criteria.len()];
    let mut by_id: HashMap<&str, f64> = HashMap::new();
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
        let free = place.filter(|place| credits.get(*place).is_some_and(Option::is_none));
        let has_texts = shape.texts().iter().all(|key| is_text_under(key, entry));
        let (Some(level), Some(place), true) = (level, free, has_texts) else {
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
    let mut verdicts: Vec<CriterionVerdict> = Vec::new();
    for (criterion, credit) in criteria.iter().zip(credits) {
        let id = criterion.shared_id.as_deref();
        let last_with_id = id.and_then(|id| by_id.get(id).copied());
        let Some(credit) = last_with_id.or(credit) else {
            return Err(Unreadable::new("not every ingredient has an entry"));
        };
        verdicts.push(CriterionVerdict {
            credit: Some(credit),
            ..CriterionVerdict::default()
        });
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
