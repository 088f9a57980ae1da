//! Which criteria of recorded runs discriminate, and which ones people read otherwise than the judge.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::people::RunLabels;
use super::run_set::RunSet;
use crate::analysis::{Criteria, criteria};
use crate::domain::{ScoredAnswer, SubjectKind, SystemName};
use crate::error::{InputFault, Result};
use crate::record::RecordedRun;

/// Statistics of every criterion, with its agreement with the item labels in these files.
///
/// # Errors
/// When labels cannot be read, are of no criterion in the run, or are given for several runs.
pub fn criteria_of(set: &RunSet, labels: &[PathBuf]) -> Result<Criteria> {
    let criteria = criteria_and_people(set, &RunLabels::load(labels, &set.runs)?);
    let is_labeled = criteria.criteria.iter().any(|row| row.labels > 0);
    if let Some(path) = labels.first()
        && !is_labeled
    {
        let fault = InputFault::new(path, "no label of a person is of a criterion in the run");
        let hint = "write system, case_id and item (the criterion's name) as in items.csv";
        return Err(fault.refuse(hint));
    }
    Ok(criteria)
}

/// Statistics of every criterion, with its agreement with those of these labels that are of criteria.
pub fn criteria_and_people(set: &RunSet, labels: &RunLabels) -> Criteria {
    let raters = match &labels.together {
        Some(together) => std::slice::from_ref(together),
        None => &labels.raters,
    };
    // What pairs are compared by says nothing of single answers.
    let runs = set.runs.iter();
    let single = runs.filter(|run| run.manifest.subject == SubjectKind::Answer);
    let scored: Vec<Vec<Arc<ScoredAnswer>>> = single.map(unperturbed).collect();
    let scored: Vec<&[Arc<ScoredAnswer>]> = scored.iter().map(Vec::as_slice).collect();
    let mut criteria = criteria(&scored, raters);
    criteria.notes.extend(labels.notes.iter().cloned());
    criteria
}

/// The answers of a run; of a probe only those that the systems gave, not what a perturbation made of them.
fn unperturbed(run: &RecordedRun) -> Vec<Arc<ScoredAnswer>> {
    let perturbations = run.manifest.perturbations();
    let mut perturbed: HashSet<SystemName> = HashSet::new();
    for answer in run.scored.iter().filter(|_| !perturbations.is_empty()) {
        let perturbations = perturbations.iter();
        let systems = perturbations.map(|perturbation| answer.system.perturbed(*perturbation));
        perturbed.extend(systems);
    }
    let mut answers = run.scored.clone();
    answers.retain(|answer| !perturbed.contains(&answer.system));
    answers
}
