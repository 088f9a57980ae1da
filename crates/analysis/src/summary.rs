//! Summary of a run: means by scorer and system, as written to `summary.json`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::panel::{PanelAgreement, SampleNoise};
use super::quantity::{MetricColumn, OnUnscored, distinct};
use scholareval_core::domain::{CaseId, Mode, ScorerId, SystemName, UnscoredKind};
use scholareval_stats::Interval;

/// Options of a summary.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AggregateOptions {
    /// The mode of the scores.
    pub mode: Mode,
    /// How components without a value count.
    pub on_unscored: OnUnscored,
    /// Seed of the intervals.
    pub seed: u64,
    /// Whether compat mode clips means of scores by criteria to 0..=1, as HealthBench does.
    pub clip: bool,
}

/// Summary of a run.
///
/// ```
/// use scholareval_analysis::{AggregateOptions, summarize};
/// use std::sync::Arc;
/// use scholareval_core::domain::{Component, ComponentKind, Score, ScoredAnswer, TestCase};
///
/// let scored = |system: &str, case: usize, share: f64| {
///     let component = Component::new("cited", ComponentKind::Share).with(Ok((share, None)));
///     let score = Score { scorer: "citations".into(), components: vec![component], ..Score::default() };
///     let case = TestCase::without_rubric(format!("c{case}").into(), &format!("Question {case}?"));
///     Arc::new(ScoredAnswer::new(system.into(), Arc::new(case), score))
/// };
/// let answers = [scored("mine", 0, 0.25), scored("mine", 1, 0.75)];
/// let summary = summarize(&answers, &[], AggregateOptions::default());
///
/// let cited = summary.scorer("citations").and_then(|scorer| scorer.metric(&"mine".into(), "cited"));
/// assert_eq!(cited.and_then(|metric| metric.estimate), Some(0.5));
/// assert!(cited.and_then(|metric| metric.interval).is_some_and(|interval| interval.low < 0.5));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// The mode of the scores.
    pub mode: Mode,
    /// How components without a value count.
    pub on_unscored: OnUnscored,
    /// The confidence level of the intervals, 0.95.
    pub level: f64,
    /// Resamples of each interval.
    pub resamples: u32,
    /// Seed of the resamples.
    pub seed: u64,
    /// Cases with an answer of any system.
    pub cases: usize,
    /// Their questions. If there are fewer than cases, intervals resample whole questions.
    pub questions: usize,
    /// Share of answers with an unscored component, 0..=1, of the scorer with the most. Components whose role no judge
    /// has do not count.
    pub unscored_share: f64,
    /// The scorers: the rubric first, the others in run order.
    pub scorers: Vec<ScorerSummary>,
    /// Test cases without an answer.
    pub missing: Vec<AnswerId>,
    /// Answers with signs of prompt injection.
    pub injections: Vec<Injection>,
    /// Agreement of the judges of each panel; empty without panels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub panels: Vec<PanelAgreement>,
    /// Noise of each judge with repeated samples.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub noise: Vec<SampleNoise>,
}

impl Summary {
    /// The summary of this scorer (`rubric`; `lexical_rubric` for the baseline).
    pub fn scorer(&self, id: &str) -> Option<&ScorerSummary> {
        self.scorers.iter().find(|scorer| scorer.scorer == id)
    }

    /// The systems by rank.
    pub fn systems(&self) -> Vec<&SystemName> {
        let rows = self.scorers.iter().flat_map(|scorer| &scorer.rows);
        distinct(rows.map(|row| &row.system))
    }

    /// The kinds of reasons for unscored components.
    pub fn unscored_kinds(&self) -> impl Iterator<Item = UnscoredKind> {
        let rows = self.scorers.iter().flat_map(|scorer| &scorer.rows);
        rows.flat_map(|row| &row.unscored_reasons)
            .map(|reason| reason.kind)
    }
}

/// The means of one scorer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScorerSummary {
    /// The scorer.
    pub scorer: ScorerId,
    /// Its metrics, in order.
    pub columns: Vec<MetricColumn>,
    /// The systems: for a rubric by rank, for other scorers in the same order.
    pub rows: Vec<SystemSummary>,
    /// Notes of the scores, most frequent first.
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

/// One system's means by one scorer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SystemSummary {
    /// Its name.
    pub system: SystemName,
    /// The rank by the rubric score over the cases with a score of every system: 1 is best, equal means share a rank.
    /// `None` without such a case, and for other scorers.
    pub rank: Option<usize>,
    /// Answers scored.
    pub answers: usize,
    /// Test cases without an answer.
    pub missing: usize,
    /// Answers with at least one component without a value.
    pub unscored: usize,
    /// Reasons for unscored components, most frequent kind first.
    pub unscored_reasons: Vec<ReasonCount>,
    /// Answers with signs of prompt injection.
    pub injections: usize,
    /// The metrics by the name of their column.
    pub metrics: BTreeMap<String, Metric>,
}

/// The mean of one metric over the answers of one system. Shares are 0..=1, grades 1..=5.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Metric {
    /// The mean; `None` if nothing was scored.
    pub estimate: Option<f64>,
    /// 95% interval of the mean over questions; `None` for fewer than two of them.
    #[serde(flatten)]
    pub interval: Option<Interval>,
    /// Number of values.
    pub n: usize,
    /// Missing values: left out of the mean, or counted as the lowest value, by policy.
    pub unscored: usize,
    /// The mean with every missing value at its lowest and at its highest; `None` if none is missing, and for counts,
    /// which are unbounded.
    pub bounds: Option<Interval>,
    /// The mean clipped to 0..=1, if it lies outside, as negative weights can make it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clipped: Option<f64>,
    /// With clipping, the standard deviation (n) of 1,000 clipped means of resamples, HealthBench's `bootstrap_std`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootstrap_sd: Option<f64>,
    /// The mean over the cases with a value of every system (except systems without any).
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

/// Frequency of one kind of reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReasonCount {
    /// The kind.
    pub kind: UnscoredKind,
    /// Number of components.
    pub components: usize,
    /// Number of answers.
    pub answers: usize,
    /// The first message of this kind, in case order.
    pub example: String,
}

/// A note of scores with its number of answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NoteCount {
    /// The note.
    pub note: String,
    /// Number of answers.
    pub answers: usize,
}

/// Identifies an answer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct AnswerId {
    /// The system.
    pub system: SystemName,
    /// The test case.
    pub case_id: CaseId,
}

/// An answer with signs of prompt injection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Injection {
    /// The system.
    pub system: SystemName,
    /// The test case.
    pub case_id: CaseId,
    /// The signs.
    pub signs: Vec<String>,
}
