//! A row of scores or of preferences.

use std::sync::Arc;

use super::collect::{Collected, Rated};
use super::fields::{Row, finite, shown};
use super::pairs::MODEL;
use crate::domain::{CaseId, Preference, Preferred, RaterKind, Rating, SystemName};
use crate::error::InputFault;

/// Takes one row: a preference where it has a field `preference`, else a score. A rater called `model` is a judge, as in
/// pairs.
///
/// # Errors
/// A field that is missing or of a wrong form; a label that contradicts an earlier one.
pub(super) fn read(row: &Row, collected: &mut Collected) -> Result<(), InputFault> {
    let case_id = CaseId::from(row.text("case_id")?);
    let rater = row.text("rater").map_err(|fault| fault.of_case(case_id.as_str()))?;
    let of_case = |fault: InputFault| fault.of_case(case_id.as_str());
    let label = if row.has("preference") || row.has("system_a") {
        Rated::Preference(preference(row, &case_id).map_err(of_case)?)
    } else {
        Rated::Rating(Rating {
            system: SystemName::from(row.text("system").map_err(of_case)?),
            case_id: case_id.clone(),
            item: if row.has("item") { Some(Arc::from(row.text("item").map_err(of_case)?)) } else { None },
            value: row.number("value").map_err(of_case)?,
        })
    };
    let kind = if rater == MODEL { RaterKind::Judge } else { RaterKind::Human };
    collected.add(row, (&rater, kind), label).map_err(of_case)
}

/// `a`, `b` or `tie`; the name of one of the two systems; or a number: above 0 the first is better, below 0 the second,
/// 0 is a tie. A system that is called `a`, `b` or `tie` goes first.
fn preference(row: &Row, case_id: &CaseId) -> Result<Preference, InputFault> {
    let (a, b) = (row.text("system_a")?, row.text("system_b")?);
    let Some(said) = row.map.get("preference") else {
        return Err(row.fault("preference is missing").hint("give a, b, tie, a system's name or a number"));
    };
    let word = said.as_str().map(str::trim);
    let lower = word.map(str::to_lowercase);
    let preferred = match (word, lower.as_deref(), finite(said)) {
        (Some(word), ..) if word == a => Preferred::First,
        (Some(word), ..) if word == b => Preferred::Second,
        (_, Some("a"), _) => Preferred::First,
        (_, Some("b"), _) => Preferred::Second,
        (_, Some("tie"), _) => Preferred::Tie,
        (.., Some(number)) => Preferred::of_difference(number, 0.0),
        _ => {
            let what = format!("preference: expected a, b, tie, {a:?}, {b:?} or a number, found {}", shown(said));
            return Err(row.fault(what));
        }
    };
    Preference::new(case_id.clone(), a.as_str().into(), b.as_str().into(), preferred)
        .ok_or_else(|| row.fault(format!("system_a and system_b are both {a:?}")).hint("name two systems"))
}
