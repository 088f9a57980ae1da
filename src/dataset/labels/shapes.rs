//! The shapes of a row: a score, a preference, or a pair with both.

use std::sync::Arc;

use serde_json::Value;

use super::collector::{Collector, Label};
use super::row::{Row, finite, shown};
use crate::domain::{CaseId, Note, Preference, Preferred, RaterKind, Rating, SystemName};
use crate::error::InputFault;

/// The rater of `model_..` numbers: a judge, whatever the shape.
const MODEL: &str = "model";
/// The item that is the answer as a whole.
const OVERALL: &str = "overall";
const RANKING: &str = "preference_ranking_norm";

/// Reads one row of any shape.
///
/// # Errors
/// A field that is missing or of a wrong form; a label that contradicts an earlier one.
pub(super) fn read_row(row: &Row, collector: &mut Collector) -> Result<(), InputFault> {
    if row.has("models") {
        return read_pair(row, collector);
    }
    let case_id = row.text("case_id")?;
    read_score_or_preference(row, case_id.as_str().into(), collector).map_err(|fault| fault.of_case(case_id))
}

fn read_score_or_preference(row: &Row, case_id: CaseId, collector: &mut Collector) -> Result<(), InputFault> {
    let rater = row.text("rater")?;
    let label = if row.has("preference") || row.has("system_a") {
        Label::Preference(preference(row, case_id)?)
    } else {
        Label::Rating(Rating {
            system: SystemName::from(row.text("system")?),
            case_id,
            item: if row.has("item") { Some(Arc::from(row.text("item")?)) } else { None },
            value: row.number("value")?,
        })
    };
    let kind = if rater == MODEL { RaterKind::Judge } else { RaterKind::Human };
    collector.add(row, (&rater, kind), label)
}

/// `a`, `b` or `tie`; the name of one of the two systems; or a number: above 0 the first is better, below 0 the second,
/// 0 is a tie. The name of a system wins over the letters.
fn preference(row: &Row, case_id: CaseId) -> Result<Preference, InputFault> {
    let (a, b) = (row.text("system_a")?, row.text("system_b")?);
    let Some(value) = row.map.get("preference") else {
        return Err(row.fault("preference is missing").hint("give a, b, tie, a system's name or a number"));
    };
    let word = value.as_str().map(str::trim).unwrap_or_default();
    let preferred = match (word.to_lowercase().as_str(), finite(value)) {
        _ if word == a => Preferred::First,
        _ if word == b => Preferred::Second,
        ("a", _) => Preferred::First,
        ("b", _) => Preferred::Second,
        ("tie", _) => Preferred::Tie,
        (_, Some(number)) => Preferred::of_difference(number, 0.0),
        _ => {
            let what = format!("preference: expected a, b, tie, {a:?}, {b:?} or a number, found {}", shown(value));
            return Err(row.fault(what));
        }
    };
    Preference::new(case_id, a.as_str().into(), b.as_str().into(), preferred)
        .ok_or_else(|| row.fault(format!("system_a and system_b are both {a:?}")).hint("name two systems"))
}

/// A pair as released with ScholarQA's human evaluation (allenai/ai2-scholarqa-eval): `question`, `models` of two
/// systems, `preference_ranking_norm` of two numbers, and pairs of numbers `human_..` and `model_..`. The person is
/// `rater`, or the stem of the file's name; the question is the case.
fn read_pair(row: &Row, collector: &mut Collector) -> Result<(), InputFault> {
    let case_id = CaseId::from(row.text(if row.has("case_id") { "case_id" } else { "question" })?);
    let stem = || row.path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let human = if row.has("rater") { row.text("rater")? } else { stem() };
    let human = (human.as_str(), RaterKind::Human);
    let models: [SystemName; 2] = match row.map.get("models").and_then(Value::as_array).map(Vec::as_slice) {
        Some([Value::String(a), Value::String(b)]) => [a.as_str().into(), b.as_str().into()],
        _ => {
            let found = row.map.get("models").map(shown).unwrap_or_default();
            return Err(row.fault(format!("models: expected the names of two systems, found {found}")));
        }
    };
    if row.has(RANKING) {
        let [a, b] = row.two_numbers(RANKING)?;
        let [first, second] = models.clone();
        let preference = Preference::new(case_id.clone(), first, second, Preferred::of_difference(a - b, 0.0))
            .ok_or_else(|| row.fault("models: expected two systems, found one twice"))?;
        collector.add(row, human, Label::Preference(preference))?;
    }
    let mut rate = |rater, item: &str, field: &str| -> Result<(), InputFault> {
        let item = (item != OVERALL).then(|| item.into());
        for (system, value) in models.iter().zip(row.two_numbers(field)?) {
            let rating = Rating { system: system.clone(), case_id: case_id.clone(), item: Option::clone(&item), value };
            collector.add_repeatable(row, rater, Label::Rating(rating))?;
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
        collector.note(Note::warning(
            "preference_ranking_norm without human_overall: used as the comparison and as the person's ratings of the two \
             answers.",
        ));
    }
    Ok(())
}
