//! A run summed up: the means of every scorer for every system, as written to `summary.json`.

use std::collections::BTreeMap;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::panel::{DrawNoise, PanelAgreement};
use super::quantity::MetricColumn;
use crate::domain::{CaseId, Mode, SystemName, UnscoredKind};
use crate::stats::Interval;

/// How a component without a value counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnUnscored {
    /// The answer is left out of the mean.
    #[default]
    Exclude,
    /// The component counts as the lowest value of its range.
    Zero,
}

/// How answers are summed up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AggregateOptions {
    /// The mode that the scores were made in.
    pub mode: Mode,
    /// How components without a value count.
    pub on_unscored: OnUnscored,
    /// Seeds the intervals.
    pub seed: u64,
    /// True if the lexical baseline judged the rubric: its scores are then called `lexical_score` and
    /// `lexical_ann_score`.
    pub lexical: bool,
}

/// A run summed up over its systems.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Whose arithmetic.
    pub mode: Mode,
    /// How components without a value are treated.
    pub on_unscored: OnUnscored,
    /// The confidence level of the intervals, 0.95.
    pub level: f64,
    /// Resamples of each interval.
    pub resamples: u32,
    /// Seed of the resamples.
    pub seed: u64,
    /// Cases of the run that any system answered.
    pub cases: usize,
    /// The questions that these cases ask. Where fewer than the cases, intervals resample whole questions.
    pub questions: usize,
    /// The highest share, over the scorers, of answers with an unscored component, 0..=1. Components that no judge has
    /// the role for do not count.
    pub unscored_share: f64,
    /// The scorers: the rubric first, the others in the order they were run.
    pub scorers: Vec<ScorerSummary>,
    /// Test cases without an answer.
    pub missing: Vec<AnswerId>,
    /// Answers with signs of prompt injection.
    pub injections: Vec<Injection>,
    /// Agreement of the judges of each panel; empty where no role had several judges.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub panels: Vec<PanelAgreement>,
    /// Noise of each judge that was sampled several times.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub noise: Vec<DrawNoise>,
}

impl Summary {
    /// The summary of that scorer.
    pub fn scorer(&self, name: &str) -> Option<&ScorerSummary> {
        self.scorers.iter().find(|scorer| scorer.scorer == name)
    }

    /// The systems in order of rank, each once.
    pub fn systems(&self) -> Vec<&SystemName> {
        let mut systems: Vec<&SystemName> = Vec::new();
        for row in self.scorers.iter().flat_map(|scorer| &scorer.rows) {
            if !systems.contains(&&row.system) {
                systems.push(&row.system);
            }
        }
        systems
    }

    /// The kinds of reasons why components are unscored.
    pub fn unscored_kinds(&self) -> impl Iterator<Item = UnscoredKind> {
        let rows = self.scorers.iter().flat_map(|scorer| &scorer.rows);
        rows.flat_map(|row| &row.unscored_reasons).map(|reason| reason.kind)
    }
}

/// The means of one scorer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScorerSummary {
    /// The scorer's name.
    pub scorer: &'static str,
    /// Its metrics, in order.
    pub columns: Vec<MetricColumn>,
    /// The systems: of a rubric by rank, of other scorers in the same order.
    pub rows: Vec<SystemSummary>,
    /// Notes that scores carry, most frequent first.
    pub notes: Vec<NoteCount>,
}

impl ScorerSummary {
    /// The row of that system.
    pub fn row(&self, system: &SystemName) -> Option<&SystemSummary> {
        self.rows.iter().find(|row| row.system == *system)
    }

    /// The metric of that system.
    pub fn metric(&self, system: &SystemName, name: &str) -> Option<&Metric> {
        self.row(system)?.metrics.get(name)
    }
}

/// One system by one scorer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SystemSummary {
    /// Its name.
    pub system: SystemName,
    /// The rank by the rubric score over the cases that all systems have a score for: 1 is best, equal means share a
    /// rank. `None` without such a case, and by other scorers.
    pub rank: Option<usize>,
    /// Answers that the scorer saw.
    pub answers: usize,
    /// Test cases without an answer.
    pub missing: usize,
    /// Answers with at least one component without a value.
    pub unscored: usize,
    /// Those of them in which all such components lack a judge for their role.
    pub without_judge: usize,
    /// Why components are unscored, most frequent kind first.
    pub unscored_reasons: Vec<ReasonCount>,
    /// Answers with signs of prompt injection.
    pub injections: usize,
    /// The metrics by the name of their column.
    pub metrics: BTreeMap<String, Metric>,
}

/// The mean of one metric over the answers of one system. Shares are 0..=1, grades 1..=5.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Metric {
    /// The mean; `None` where nothing was scored.
    pub estimate: Option<f64>,
    /// 95% BCa bootstrap interval of the mean over questions; `None` for fewer than two of them.
    #[serde(flatten)]
    pub interval: Option<Interval>,
    /// How many values the mean is over.
    pub n: usize,
    /// Values that are missing: left out of the mean, or counted as the lowest value where the policy says so.
    pub unscored: usize,
    /// The mean with every missing value at its lowest and at its highest; `None` where none is missing, and for counts,
    /// which have no highest value.
    pub bounds: Option<Interval>,
    /// The mean over the cases that all systems (but those without any value) have a value for.
    pub shared: Option<SharedMean>,
}

/// A mean over shared cases.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SharedMean {
    /// The mean.
    pub estimate: f64,
    /// The number of shared cases.
    pub n: usize,
}

/// How often one kind of reason left a component without a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReasonCount {
    /// The kind.
    pub kind: UnscoredKind,
    /// Components concerned.
    pub components: usize,
    /// Answers concerned.
    pub answers: usize,
    /// The first message of that kind, in the order of the cases.
    pub example: String,
}

/// A note of scores and how many answers carry it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NoteCount {
    /// The note.
    pub note: String,
    /// Answers concerned.
    pub answers: usize,
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct AnswerId {
    /// Whose.
    pub system: SystemName,
    /// To which case.
    pub case_id: CaseId,
}

/// An answer with signs of prompt injection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Injection {
    /// Whose.
    pub system: SystemName,
    /// To which case.
    pub case_id: CaseId,
    /// The signs.
    pub signs: Vec<String>,
}
