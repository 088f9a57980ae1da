//! Where no value is a lack: what runs asked, and what a metric applies to.

use std::collections::HashSet;

use super::observe::{Frame, RunAnswers};
use super::{ComparedCase, Observation};
use crate::domain::{CaseId, SystemName};

/// What a run asked.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// The cases that the run kept.
    pub kept: HashSet<CaseId>,
    /// Systems and cases without an answer, of those that the run (or its slice) holds.
    pub unanswered: HashSet<(SystemName, CaseId)>,
}

/// Who was to answer what, over all metrics.
pub(super) struct Lacks {
    /// By system, then by case.
    asked: Vec<Vec<bool>>,
    /// How many cases have an answer: they stand first.
    answered: usize,
    /// Of those the ones that a run with a list kept.
    kept: Vec<usize>,
}

impl Lacks {
    /// Adds to the frame's cases those that runs asked and nobody answered; `None` where no run tells what it asked.
    pub(super) fn of(frame: &mut Frame, runs: &[RunAnswers<'_>]) -> Option<Self> {
        let lists: Vec<&Asked> = runs.iter().filter_map(|run| run.asked.as_ref()).collect();
        if lists.is_empty() {
            return None;
        }
        let answered = frame.cases.len();
        let is_kept = |case: &ComparedCase| lists.iter().any(|list| list.kept.contains(&case.case_id));
        let kept = (0..answered).filter(|case| is_kept(&frame.cases[*case])).collect();
        let mut unseen: Vec<&CaseId> = lists.iter().flat_map(|list| &list.unanswered).map(|(_, case)| case).collect();
        unseen.retain(|case| !frame.case_places.contains_key(*case));
        unseen.sort();
        unseen.dedup();
        for case_id in unseen {
            frame.case_places.insert(case_id.clone(), frame.cases.len());
            frame.cases.push(ComparedCase { case_id: case_id.clone(), question: "".into() });
        }
        let mut asked = vec![vec![false; frame.cases.len()]; frame.systems.len()];
        for (place, system) in frame.systems.iter().enumerate() {
            let Some(list) = runs[system.run].asked.as_ref() else {
                asked[place][..answered].fill(true);
                continue;
            };
            for (_, case) in list.unanswered.iter().filter(|(name, _)| *name == system.system) {
                asked[place][frame.case_places[case]] = true;
            }
        }
        // An answer without a value is a lack where others have one; so is one that only another system of the run gave to
        // a case outside of the list.
        for (run, answers) in runs.iter().enumerate() {
            let Some(list) = &answers.asked else { continue };
            for answer in answers.scored {
                let Some(case) = frame.case_places.get(&answer.case.case_id) else { continue };
                let is_listed = list.kept.contains(&answer.case.case_id);
                for (place, system) in frame.systems.iter().enumerate().filter(|(_, system)| system.run == run) {
                    asked[place][*case] |= !is_listed || system.system == answer.system;
                }
            }
        }
        Some(Self { asked, answered, kept })
    }

    /// For one metric: of a case that nobody answered only where the metric has every kept case that somebody did.
    pub(super) fn of_table(&self, values: &[Vec<Observation>]) -> Vec<Vec<bool>> {
        let applies = |case: usize| values.iter().any(|row| row[case] != Observation::Absent);
        let is_general = !self.kept.is_empty() && self.kept.iter().all(|case| applies(*case));
        let counts = |case: usize| if case < self.answered { applies(case) } else { is_general };
        let counts: Vec<bool> = (0..self.asked.first().map_or(0, Vec::len)).map(counts).collect();
        let of_system = |row: &Vec<bool>| row.iter().zip(&counts).map(|(asked, counts)| *asked && *counts).collect();
        self.asked.iter().map(of_system).collect()
    }
}
