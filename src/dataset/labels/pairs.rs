//! Pairs of answers with preference and scores in one object, as released with ScholarQA's human evaluation
//! (allenai/ai2-scholarqa-eval): `question`, `models` of two systems, `preference_ranking_norm` of two numbers, and pairs
//! of numbers `human_..` and `model_..`.

use serde_json::Value;

use super::collect::{Collected, Rated};
use super::fields::{Row, finite, shown};
use crate::dataset::fields::describe;
use crate::domain::{CaseId, Preference, Preferred, RaterKind, Rating, SystemName};
use crate::error::InputFault;

/// The rater that `model_..` numbers are of: a judge, whatever the shape.
pub(super) const MODEL: &str = "model";
/// What stands for the answer as a whole.
const OVERALL: &str = "overall";
const RANKING: &str = "preference_ranking_norm";

/// Takes one object. The person is called by `rater`, else by the stem of the file's name; the question is the case.
///
/// # Errors
/// A field that is missing or of a wrong form; a label that contradicts an earlier one.
pub(super) fn read(row: &Row, collected: &mut Collected) -> Result<(), InputFault> {
    let question = if row.has("case_id") { row.text("case_id")? } else { row.text("question")? };
    let case_id = CaseId::from(question);
    let stem = row.path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let human = if row.has("rater") { row.text("rater")? } else { stem };
    let models = models(row)?;
    let human = (human.as_str(), RaterKind::Human);
    if row.has(RANKING) {
        let [a, b] = two_numbers(row, RANKING)?;
        let preferred = Preferred::of_difference(a - b, 0.0);
        let [first, second] = models.clone();
        let preference = Preference::new(case_id.clone(), first, second, preferred)
            .ok_or_else(|| row.fault("models: expected two systems, found one twice"))?;
        collected.add(row, human, Rated::Preference(preference))?;
    }
    let mut rate = |rater, item: &str, field: &str| -> Result<(), InputFault> {
        let item = (item != OVERALL).then(|| item.into());
        for (system, value) in models.iter().zip(two_numbers(row, field)?) {
            let rating = Rating { system: system.clone(), case_id: case_id.clone(), item: item.clone(), value };
            collected.add_repeatable(row, rater, Rated::Rating(rating))?;
        }
        Ok(())
    };
    for field in row.map.keys() {
        if let Some(item) = field.strip_prefix("human_") {
            rate(human, item, field)?;
        } else if let Some(item) = field.strip_prefix("model_") {
            rate((MODEL, RaterKind::Judge), item, field)?;
        }
    }
    if row.has(RANKING) && !row.has("human_overall") {
        rate(human, OVERALL, RANKING)?;
        collected.note(
            "preference_ranking_norm without human_overall: taken as the comparison and, number by number, as the \
             person's rating of each answer as a whole",
        );
    }
    Ok(())
}

fn models(row: &Row) -> Result<[SystemName; 2], InputFault> {
    let value = row.map.get("models").unwrap_or(&Value::Null);
    match value.as_array().map(Vec::as_slice) {
        Some([Value::String(a), Value::String(b)]) => Ok([a.as_str().into(), b.as_str().into()]),
        _ => Err(row.fault(format!("models: expected the names of two systems, found {}", described(value)))),
    }
}

fn two_numbers(row: &Row, field: &str) -> Result<[f64; 2], InputFault> {
    let value = row.map.get(field).unwrap_or(&Value::Null);
    let numbers = value.as_array().map(|list| list.iter().map(finite).collect::<Vec<_>>());
    match numbers.as_deref() {
        Some([Some(a), Some(b)]) => Ok([*a, *b]),
        _ => {
            Err(row.fault(format!("{field}: expected two numbers, one for each of models, found {}", described(value))))
        }
    }
}

fn described(value: &Value) -> String {
    match value.as_array() {
        Some(list) => format!("[{}]", list.iter().map(shown).collect::<Vec<_>>().join(", ")),
        None => describe(value),
    }
}
