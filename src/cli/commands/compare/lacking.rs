//! What a run's manifest says is not there: answers that a table of scores cannot know of.

use std::collections::{BTreeMap, HashSet};

use crate::analysis::comparison::{Observation, Observed};
use crate::cli::comparing::unfinished;
use crate::domain::{MAX_GRADE, MIN_GRADE, Unit};
use crate::evaluation::record::RecordedRun;

/// What each run lacks, in the order of the runs.
pub(super) struct Lacking {
    runs: Vec<OfRun>,
}

struct OfRun {
    /// Why it holds a part only, if it does.
    unfinished: Option<String>,
    /// Pairs of system and case without an answer.
    pairs: HashSet<(String, String)>,
    /// How many of them each system has.
    unanswered: BTreeMap<String, usize>,
}

impl Lacking {
    pub(super) fn of(runs: &[RecordedRun]) -> Self {
        let of_run = |run: &RecordedRun| {
            let mut unanswered = BTreeMap::new();
            for (system, _) in &run.manifest.missing {
                *unanswered.entry(system.clone()).or_default() += 1;
            }
            OfRun { unfinished: unfinished(run), pairs: run.manifest.missing.iter().cloned().collect(), unanswered }
        };
        Self { runs: runs.iter().map(of_run).collect() }
    }

    /// Why each of these runs (all without a choice) holds a part of its answers only.
    pub(super) fn unfinished<'a>(&'a self, only: Option<&'a [usize]>) -> impl Iterator<Item = &'a str> {
        let runs = self.runs.iter().enumerate().filter(move |(run, _)| only.is_none_or(|only| only.contains(run)));
        runs.filter_map(|(_, of)| of.unfinished.as_deref())
    }

    /// How many cases a system of a run has no answer to: a case that nobody answered is in no table.
    pub(super) fn unanswered(&self, run: usize, system: &str) -> usize {
        self.runs.get(run).and_then(|of| of.unanswered.get(system)).copied().unwrap_or(0)
    }

    /// Systems that left cases unanswered, each with the place of its run.
    pub(super) fn systems(&self) -> impl Iterator<Item = (usize, &str)> {
        self.runs.iter().enumerate().flat_map(|(run, of)| of.unanswered.keys().map(move |name| (run, name.as_str())))
    }

    /// The table with every answer that is not there as one that could not be judged; `None` where it holds none of them.
    /// What all systems share, and so every verdict, stays as it is.
    pub(super) fn as_unscored(&self, table: &Observed) -> Option<Observed> {
        let (low, high) = match table.metric.unit {
            Unit::Share => (0.0, 1.0),
            Unit::Grade => (MIN_GRADE, MAX_GRADE),
            Unit::Count => return None,
        };
        let (mut filled, mut any) = (table.clone(), false);
        for (place, system) in table.systems.iter().enumerate() {
            let Some(of) = self.runs.get(system.run).filter(|of| !of.pairs.is_empty()) else { continue };
            for (case, cell) in table.cases.iter().zip(&mut filled.values[place]) {
                let pair = (system.system.to_string(), case.case_id.to_string());
                if *cell == Observation::Absent && of.pairs.contains(&pair) {
                    *cell = Observation::Unscored { low, high };
                    any = true;
                }
            }
        }
        any.then_some(filled)
    }
}
