//! What was measured: a table of systems and cases for each metric.

use std::sync::Arc;

use serde::Serialize;

use crate::domain::{CaseId, SystemName, Unit};

/// One quantity that every answer may have.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct MetricId {
    /// The scorer it comes from (`rubric`, `prometheus`, ..).
    pub scorer: String,
    /// Its name in tables and on the command line: `score`, `ann_score`, `length`, `coverage`, ..; what the lexical
    /// baseline judged is called `lexical_..`, so that it is never mixed with what an LLM judged.
    pub name: String,
    /// What its numbers are.
    pub unit: Unit,
    /// Whether a higher value is the better one. Counts (dangling citations, verdicts) are neither good nor bad by
    /// themselves: systems are then ordered by value, and nobody should be called better.
    pub higher_is_better: bool,
}

/// A case that is compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedCase {
    /// Its id.
    pub case_id: CaseId,
    /// Its question; empty where the run does not tell (`--no-inputs`). Cases of one question are resampled together.
    pub question: Arc<str>,
}

/// One answer by one metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Observation {
    /// Its value.
    Value(f64),
    /// No value, since something could not be judged: what it would be if all that is missing were the lowest or the
    /// highest there is (of a weighted sum the known parts count). Infinite for what has no bounds, as counts.
    Unscored {
        /// With what is missing at its lowest.
        low: f64,
        /// With what is missing at its highest.
        high: f64,
    },
    /// The system gave no answer to this case, or the metric does not apply to it.
    Absent,
}

impl Observation {
    /// The value, if there is one.
    pub fn value(self) -> Option<f64> {
        match self {
            Self::Value(value) => Some(value),
            Self::Unscored { .. } | Self::Absent => None,
        }
    }
}

/// A system under comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ObservedSystem {
    /// How it is called here: its own name, with the run's name before it where two runs have a system of that name.
    pub label: String,
    /// Its own name.
    pub system: SystemName,
    /// The place of its run among those compared.
    pub run: usize,
}

/// One metric over all systems and cases.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// What was measured.
    pub metric: MetricId,
    /// The systems, in the order they were given.
    pub systems: Vec<ObservedSystem>,
    /// Every case that any of them answered, in order of first appearance, then those that nobody answered though a run
    /// asked them.
    pub cases: Vec<ComparedCase>,
    /// By system, then by case.
    pub values: Vec<Vec<Observation>>,
    /// Where no value is a lack, by system, then by case: the system's run asked the case, and the metric applies to it.
    /// `None`: wherever another system has the metric.
    pub asked: Option<Vec<Vec<bool>>>,
    /// Words of each answer, by system, then by case, where the answers are known.
    pub words: Option<Vec<Vec<Option<f64>>>>,
    /// The values of each draw of each judge, where the judge was asked more than once: by system, case, judge, draw. Only
    /// draws that give the whole metric count.
    pub draws: Option<Vec<Vec<Vec<Vec<f64>>>>>,
    /// What a reader must know of how it was measured.
    pub notes: Vec<String>,
}
