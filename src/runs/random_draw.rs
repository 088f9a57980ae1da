//! Random draws from the answers of a run, which can be repeated to check them.

use std::collections::{BTreeSet, HashSet};

use crate::domain::{CaseId, SystemName};
use crate::record::RecordedRun;
use crate::stats::random_sample;

/// The answers of a run by system, then by case, each once: of a probe without those that differ only in how their criteria are
/// asked.
pub(super) fn answers_of(run: &RecordedRun) -> BTreeSet<(SystemName, CaseId)> {
    let copies = run.items.iter().filter(|item| !item.layout.is_as_written());
    let copies: HashSet<&SystemName> = copies.map(|item| &item.answer.system).collect();
    let mut answers = BTreeSet::new();
    let scored = run.scored.iter();
    for answer in scored.filter(|answer| !copies.contains(&answer.system)) {
        answers.insert((answer.system.clone(), answer.case.case_id.clone()));
    }
    answers
}

/// The `n` answers that this seed draws at random from all of these; empty if there are fewer.
pub(super) fn draw_again(
    all: &BTreeSet<(SystemName, CaseId)>,
    n: usize,
    seed: u64,
) -> Vec<(SystemName, CaseId)> {
    if n > all.len() {
        return Vec::new();
    }
    let drawn = random_places(all.iter().map(|(system, _)| system), n, seed);
    let answers: Vec<&(SystemName, CaseId)> = all.iter().collect();
    drawn.into_iter().map(|at| answers[at].clone()).collect()
}

/// The places of the `n` answers that this seed draws at random, by the systems of all answers in order: a system has its share
/// of them.
pub(super) fn random_places<'a>(
    systems: impl IntoIterator<Item = &'a SystemName>,
    n: usize,
    seed: u64,
) -> Vec<usize> {
    let mut groups: Vec<usize> = Vec::new();
    let mut last: Option<&SystemName> = None;
    for system in systems {
        let group = groups.last().copied().unwrap_or_default();
        let is_next = last.is_some_and(|last| last != system);
        groups.push(group + usize::from(is_next));
        last = Some(system);
    }
    random_sample(&groups, n, seed)
}
