//! What is known of the systems after a run: plain data, written as `summary.json`.

use serde::{Serialize, Serializer, ser::SerializeMap};

use super::{Metric, OnUnscored};
use crate::domain::{CaseId, Mode, SystemName, UnscoredKind};

/// One run, compared over its systems. Scores are 0..=1.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Whose arithmetic.
    pub mode: Mode,
    /// What was done with components that have no value.
    pub on_unscored: OnUnscored,
    /// True if the lexical baseline judged; the scores are then called `lexical_score` and `lexical_ann_score`.
    pub lexical: bool,
    /// The share of intervals that hold the true mean, 0.95.
    pub level: f64,
    /// Resamples of each interval.
    pub resamples: u32,
    /// Seed of the resamples.
    pub seed: u64,
    /// Cases of the run with an answer, by whichever system.
    pub cases: usize,
    /// The questions they ask: where fewer, cases of one question are drawn together for intervals.
    pub questions: usize,
    /// Answers that have been scored, or could not be.
    pub answers: usize,
    /// Those with at least one component without a value.
    pub unscored: usize,
    /// How many cases every (not wholly unscored) system has a score for: the ranks are over these.
    pub shared_cases: usize,
    /// True if the rows, ordered by rank, are not in the order of their own means.
    pub rank_differs_from_means: bool,
    /// One row a system, best first.
    pub rows: Vec<SystemRow>,
    /// Test cases that a system has no answer for.
    pub missing: Vec<AnswerId>,
    /// Answers that look as if they tried to steer the judge.
    pub steering: Vec<SteeringEntry>,
    /// What scores say about how they came about (weights scaled, ..), with the number of answers that say so.
    pub notes: Vec<NoteCount>,
}

impl Summary {
    /// The share of answers with a component that has no value, 0..=1 (0 for no answers).
    pub fn unscored_share(&self) -> f64 {
        if self.answers == 0 { 0.0 } else { self.unscored as f64 / self.answers as f64 }
    }

    /// True if more than that share (0..=1) of the answers is unscored.
    pub fn exceeds(&self, max_unscored: f64) -> bool {
        self.unscored_share() > max_unscored
    }

    /// The name of the main score: `score` or `lexical_score`.
    pub fn score_name(&self) -> &'static str {
        score_names(self.lexical).0
    }

    /// The name of the score over the annotator's criteria: `ann_score` or `lexical_ann_score`.
    pub fn ann_score_name(&self) -> &'static str {
        score_names(self.lexical).1
    }
}

fn score_names(lexical: bool) -> (&'static str, &'static str) {
    if lexical { ("lexical_score", "lexical_ann_score") } else { ("score", "ann_score") }
}

/// The means of one system, each over the answers that have a value.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Metrics {
    /// The rubric score.
    pub score: Metric,
    /// The score over the annotator's criteria and snippets only.
    pub ann_score: Metric,
    /// Length within bounds.
    pub length: Metric,
    /// Fits the expertise of a typical asker.
    pub expertise: Metric,
    /// Share of claims with a citation.
    pub citations: Metric,
    /// Share of citations with an excerpt.
    pub excerpts: Metric,
}

impl Metrics {
    /// The metrics with their names in files, in the order of the table.
    pub fn named(&self, lexical: bool) -> [(&'static str, Metric); 6] {
        let (score, ann_score) = score_names(lexical);
        [
            (score, self.score),
            (ann_score, self.ann_score),
            ("length", self.length),
            ("expertise", self.expertise),
            ("citations", self.citations),
            ("excerpts", self.excerpts),
        ]
    }
}

/// One system.
#[derive(Debug, Clone, PartialEq)]
pub struct SystemRow {
    /// Its name.
    pub system: SystemName,
    /// 1 is best; equal means share a rank; `None` where nothing is scored.
    pub rank: Option<usize>,
    /// The mean score over the shared cases, which the rank is made from.
    pub shared_mean: Option<f64>,
    /// As in [`Summary::lexical`]: decides the names of the scores.
    pub lexical: bool,
    /// Its means.
    pub metrics: Metrics,
    /// Cases with a score.
    pub cases_scored: usize,
    /// Cases it should have answered: scored, unscored and missing.
    pub cases_kept: usize,
    /// Cases without an answer.
    pub missing: usize,
    /// Answers with at least one component without a value.
    pub unscored: usize,
    /// Why, by kind, most frequent first.
    pub unscored_reasons: Vec<ReasonCount>,
    /// Where the means would lie if every missing value were 0 or 1; `None` if none is missing.
    pub bounds: Option<Bounds>,
    /// Answers that look as if they tried to steer the judge.
    pub steering: usize,
}

impl Serialize for SystemRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("system", &self.system)?;
        map.serialize_entry("rank", &self.rank)?;
        for (name, metric) in self.metrics.named(self.lexical) {
            map.serialize_entry(name, &metric)?;
        }
        map.serialize_entry("shared_mean", &self.shared_mean)?;
        map.serialize_entry("cases_scored", &self.cases_scored)?;
        map.serialize_entry("cases_kept", &self.cases_kept)?;
        map.serialize_entry("missing", &self.missing)?;
        map.serialize_entry("unscored", &self.unscored)?;
        map.serialize_entry("unscored_reasons", &self.unscored_reasons)?;
        map.serialize_entry("bounds", &self.bounds)?;
        map.serialize_entry("steering", &self.steering)?;
        map.end()
    }
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

/// The means if every value that is not there were 0 (low) or 1 (high), over all answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bounds {
    /// Lowest mean score.
    pub score_low: f64,
    /// Highest mean score.
    pub score_high: f64,
    /// Lowest mean `ann_score`; `None` if no answer has annotated components.
    pub ann_score_low: Option<f64>,
    /// Highest mean `ann_score`; `None` if no answer has annotated components.
    pub ann_score_high: Option<f64>,
}

/// One remark and how many answers it is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NoteCount {
    /// The remark.
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

/// An answer that looks as if it tried to steer the judge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SteeringEntry {
    /// Whose.
    pub system: SystemName,
    /// To which case.
    pub case_id: CaseId,
    /// What was seen.
    pub signs: Vec<String>,
}
