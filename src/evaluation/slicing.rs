//! Keeps the answers of a slice: they are dealt out by the calls that each of them takes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::gates;
use super::inputs::LoadedInputs;
use super::judges::Judges;
use super::slice::Slice;
use crate::dataset::with_text;
use crate::domain::{CaseId, Item, SystemName};
use crate::error::Result;
use crate::scorer::Scorer;

/// An answer by its system and its case.
type AnswerKey<'a> = (SystemName, &'a CaseId);

/// Keeps the answers of this slice, and an even part of the pairs without an answer.
///
/// # Errors
/// When the text of an answer cannot be read.
pub(super) fn keep_slice(
    inputs: &mut LoadedInputs,
    slice: Slice,
    scorers: &[Arc<dyn Scorer>],
    judges: &Judges,
) -> Result<()> {
    let mut keys: Vec<AnswerKey<'_>> = Vec::new();
    let mut calls: HashMap<AnswerKey<'_>, u64> = HashMap::new();
    for item in inputs.rubric.iter().chain(inputs.plain.iter()) {
        let key = (item.system(), &item.case.case_id);
        // An answer with a rubric and without is one unit: all its scores come from one machine.
        if calls.insert(key.clone(), 0).is_none() {
            keys.push(key);
        }
    }
    for scorer in scorers {
        for item in inputs.items(&**scorer).iter() {
            let key = (item.system(), &item.case.case_id);
            *calls.entry(key).or_default() += calls_of(&**scorer, &with_text(item)?, judges);
        }
    }
    let numbers: Vec<u64> = keys.iter().map(|key| calls[key]).collect();
    let mut kept: HashSet<(SystemName, CaseId)> = HashSet::new();
    for ((system, case), is_held) in keys.into_iter().zip(slice.holds(&numbers)) {
        if is_held {
            kept.insert((system, case.clone()));
        }
    }
    inputs.retain(|item| kept.contains(&(item.system(), item.case.case_id.clone())));
    // Each missing answer is reported by one slice, so that merged slices report it once.
    let mut held = slice.holds(&vec![0; inputs.missing.len()]).into_iter();
    inputs.missing.retain(|_| held.next().unwrap_or(false));
    Ok(())
}

/// How many calls the answer takes if every gate opens and nothing is cached.
fn calls_of(scorer: &dyn Scorer, item: &Item, judges: &Judges) -> u64 {
    let mut calls = 0;
    gates::assumed_score(scorer, item, |call| {
        calls += judges.calls_a_question(&call.role);
    });
    calls
}
