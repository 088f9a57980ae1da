//! Observations: a table of systems and cases for each metric.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;

use super::games::Game;
use super::set_table::SetTable;
use crate::headline::headline;
use crate::quantity::{Observation, distinct, unit_range};
use scholareval_core::domain::{CaseId, ScorerId, SubjectKind, SystemName, Unit};
use scholareval_core::error::{Error, Result};
use scholareval_core::text::names::nearest;
use scholareval_scorers::{is_better_higher, scorer_named};
use scholareval_stats::Interval;

/// Pairs of systems that are tested at most: each takes 80 kB for its resamples.
pub const MOST_PAIRS: usize = 5_000;

/// The number of pairs of so many systems: all, or those with a baseline.
pub fn pair_count(systems: usize, has_baseline: bool) -> usize {
    let others = systems.saturating_sub(1);
    if has_baseline {
        others
    } else {
        systems * others / 2
    }
}

/// A metric.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct MetricId {
    /// Its scorer (`rubric`, `prometheus`, ..).
    pub scorer: ScorerId,
    /// Its name in tables and on the command line: `score`, `ann_score`, `length`, `coverage`, ..; sums of the lexical
    /// baseline are called `lexical_..`, so that they are never mixed with an LLM's.
    pub name: String,
    /// Unit of its values.
    pub unit: Unit,
    /// Whether a higher value is better. Counts (dangling citations, verdicts) have no direction.
    pub higher_is_better: bool,
}

impl MetricId {
    pub(super) fn new(scorer: &ScorerId, name: String, unit: Unit) -> Self {
        Self {
            scorer: scorer.clone(),
            // More words or claims are not better by themselves, so counts get no verdicts of
            // better and worse, unless their scorer says so.
            higher_is_better: is_better_higher(scorer.name(), &name, unit),
            name,
            unit,
        }
    }

    /// The lowest and the highest value; `None` for counts.
    pub(super) fn range(&self) -> Option<Interval> {
        unit_range(self.unit)
    }

    /// Whether its values are 0 and 1, by what the metric is and not by those of a run.
    pub(super) fn is_binary(&self) -> bool {
        let scorer = scorer_named(self.scorer.name());
        scorer.is_some_and(|scorer| scorer.binary.contains(&&*self.name))
    }

    /// Whether a whole score may not have it.
    pub(super) fn is_optional(&self) -> bool {
        let scorer = scorer_named(self.scorer.name());
        scorer.is_some_and(|scorer| scorer.optional.contains(&&*self.name))
    }

    /// Whether it is called `name` or `scorer.name`.
    pub fn is_called(&self, name: &str) -> bool {
        let qualified = name.strip_prefix(self.scorer.as_str());
        let name_in_scorer = qualified.and_then(|rest| rest.strip_prefix('.'));
        self.name == name || name_in_scorer == Some(&self.name)
    }
}

/// A case in the comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedCase {
    /// Its id.
    pub case_id: CaseId,
    /// Its question; empty if not recorded (`--no-inputs`). Cases of one question are resampled together.
    pub question: Arc<str>,
}

/// A system under comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ObservedSystem {
    /// Its label: the name, prefixed by the run's name if two runs have a system with that name.
    pub label: String,
    /// Its name.
    pub system: SystemName,
    /// Index of its run.
    pub run: usize,
}

/// One metric over all systems and cases.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricTable {
    /// The metric.
    pub metric: MetricId,
    /// By system, then by case.
    pub values: Vec<Vec<Observation>>,
    /// What a net share can be in each answer, by system, then by case; empty for other units, which have one range.
    pub net_ranges: Vec<Vec<Option<Interval>>>,
    /// How many verdicts of a dear judge corrected each value, by system, then by case; empty for values that none corrects.
    pub drawn: Vec<Vec<usize>>,
    /// The value of each sample of each judge, if a judge was asked more than once: by system, case, judge, sample.
    /// Only samples that give the whole metric count; of votes that stop early the first two.
    pub samples: Option<Vec<Vec<Vec<Vec<f64>>>>>,
    /// Whether verdicts are votes of samples that stop early.
    pub votes: bool,
    /// By case the judged pairs of answers behind the values, by which pairs of systems are tested; empty where single answers were
    /// judged.
    pub games: Vec<Vec<Game>>,
    /// Numbers of each system's whole set of answers that this metric stands for in tests, the main one first.
    pub sets: Vec<SetTable>,
}

/// The value of an answer, corrected by verdicts of a dear judge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CorrectedValue {
    /// The value.
    pub value: f64,
    /// The verdicts of the dear judge on this answer.
    pub drawn: usize,
}

impl MetricTable {
    /// Whether the metric has a value, or an unscored one, of any answer.
    pub(super) fn has_answers(&self) -> bool {
        let mut values = self.values.iter().flatten();
        values.any(|observation| observation.range().is_some())
    }
}

/// The answers of some runs by every metric.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Observations {
    /// What was judged.
    pub subject: SubjectKind,
    /// The systems, in the given order.
    pub systems: Vec<ObservedSystem>,
    /// Every case with an answer, in order of first appearance, then the cases of the runs without any answer.
    pub cases: Vec<ComparedCase>,
    /// Words of each answer, by system, then by case, if answers are recorded.
    pub words: Option<Vec<Vec<Option<f64>>>>,
    /// The metrics, by scorer.
    pub metrics: Vec<MetricTable>,
    /// The row of a benchmark that all runs are, if they are.
    pub row: Option<String>,
}

impl Observations {
    /// The same systems and cases, without any metric.
    #[must_use]
    pub fn without_metrics(self) -> Self {
        Self {
            metrics: Vec::new(),
            ..self
        }
    }

    /// Only the score of the answers that have one of these values, and the values as the metric `corrected` after it.
    #[must_use]
    pub fn with_corrected(
        mut self,
        values: &HashMap<(SystemName, CaseId), CorrectedValue>,
    ) -> Self {
        let is_score = |table: &&MetricTable| {
            let name = &table.metric.name;
            let scorer = table.metric.scorer.name();
            (scorer == "criteria" || scorer == "rubric")
                && matches!(&**name, "score" | "lexical_score")
        };
        let Some(score) = self.metrics.iter().find(is_score).cloned() else {
            return self.without_metrics();
        };
        let mut corrected = MetricTable {
            metric: MetricId {
                name: "corrected".to_owned(),
                // A single correction by a small probability may lead an answer out of any range.
                unit: Unit::Net,
                ..score.metric.clone()
            },
            net_ranges: Vec::new(),
            samples: None,
            votes: false,
            games: Vec::new(),
            sets: Vec::new(),
            ..score.clone()
        };
        for (row, system) in corrected.values.iter_mut().zip(&self.systems) {
            let mut drawn = Vec::with_capacity(self.cases.len());
            for (cell, case) in row.iter_mut().zip(&self.cases) {
                let value = values.get(&(system.system.clone(), case.case_id.clone()));
                *cell = value.map_or(Observation::NotApplicable, |corrected| {
                    Observation::Value(corrected.value)
                });
                drawn.push(value.map_or(0, |corrected| corrected.drawn));
            }
            corrected.drawn.push(drawn);
        }
        self.metrics = vec![score, corrected];
        self
    }

    /// Indices of the metrics called `name` or `scorer.name`; for `all`, of every metric, the headline metrics first.
    ///
    /// # Errors
    /// [`Error::Settings`] if there is none, with the known names.
    pub fn metrics_named(&self, name: &str) -> Result<Vec<usize>> {
        if name == "all" {
            let headline = self.headline().into_iter();
            return Ok(distinct(headline.chain(0..self.metrics.len())));
        }
        match self.find_metrics(name) {
            none if none.is_empty() => Err(self.no_metric(name)),
            metrics => Ok(metrics),
        }
    }

    /// Indices of the headline metrics, most important first.
    pub fn headline(&self) -> Vec<usize> {
        let ids = self.metrics.iter().map(|table| &table.metric);
        let ids = ids.map(|id| (&id.scorer, id.name.as_str(), id.unit));
        headline(self.row.as_deref(), &ids.collect::<Vec<_>>())
    }

    /// The index of the metric that is tested for the number of a whole set with this name; `None` if no number has it.
    pub fn tested_for(&self, name: &str) -> Option<usize> {
        self.set_named(name).map(|(at, _)| at)
    }

    /// The metric and the number among those of its table with this name, as [`MetricId::is_called`]. A number with the name of its
    /// metric is shown in its place, and has no separate name.
    pub(super) fn set_named(&self, name: &str) -> Option<(usize, usize)> {
        for (at, table) in self.metrics.iter().enumerate() {
            let mut sets = table.sets.iter();
            let set = sets.position(|set| set.metric.is_called(name));
            if let Some(set) = set.filter(|_| !table.metric.is_called(name)) {
                return Some((at, set));
            }
        }
        None
    }

    /// The place of the number that is the headline where this metric is tested, if it is another one.
    pub(super) fn headline_set(&self, at: usize) -> Option<usize> {
        let table = &self.metrics[at];
        let first = table.sets.first()?;
        (first.metric != table.metric).then_some(0)
    }

    pub(super) fn find_metrics(&self, name: &str) -> Vec<usize> {
        (0..self.metrics.len())
            .filter(|at| self.metrics[*at].metric.is_called(name))
            .collect()
    }

    /// Label of the system with this label, or with this name if it is unique.
    ///
    /// # Errors
    /// [`Error::Settings`] for an unknown or ambiguous name.
    pub fn system_named(&self, name: &str) -> Result<&str> {
        let name = name.trim();
        let labels = || self.systems.iter().map(|system| system.label.as_str());
        if let Some(label) = labels().find(|label| *label == name) {
            return Ok(label);
        }
        let systems = self.systems.iter();
        let same_name = systems.filter(|system| system.system.as_str() == name);
        let same_name: Vec<&str> = same_name.map(|system| &*system.label).collect();
        match &same_name[..] {
            [label] => Ok(label),
            [] => {
                let known: Vec<&str> = labels().collect();
                Err(unknown_name("system", name, &known, None))
            }
            several => Err(Error::Settings(format!(
                "{name} is in several runs; write one of {}",
                several.join(", ")
            ))),
        }
    }

    fn no_metric(&self, name: &str) -> Error {
        if let Some((at, _)) = self.set_named(name) {
            let tested = &self.metrics[at].metric.name;
            return Error::Settings(format!(
                "{name} has no test: it is one number of all answers of a system; name {tested}, the mean over answers"
            ));
        }
        let metrics = self.metrics.iter();
        let known: Vec<&str> = metrics.map(|table| table.metric.name.as_str()).collect();
        // The lexical baseline's score is not `score`: the user must choose it explicitly.
        let lexical = format!("lexical_{name}");
        let lexical = Some(&*lexical).filter(|name| known.contains(name));
        unknown_name("metric", name, &known, lexical)
    }
}

/// The error for an unknown name: suggests the nearest name (or `meant`), and lists all.
pub fn unknown_name(kind: &str, name: &str, known: &[&str], meant: Option<&str>) -> Error {
    let meant = meant
        .or_else(|| nearest(name, known.iter().copied()))
        .map_or(String::new(), |meant| format!(" (did you mean {meant}?)"));
    Error::Settings(format!(
        "no {kind} is called {name}{meant}; the runs have {}",
        known.join(", ")
    ))
}
