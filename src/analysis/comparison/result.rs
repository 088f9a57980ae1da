//! The result of a comparison. Serialized as it is, it is the output of `compare --format json`.

use serde::Serialize;

use super::{ComparedCase, ComparisonOptions, MetricId, ObservedSystem};
use crate::domain::Note;
use crate::stats::{Interval, VarianceComponents};

/// Systems compared by some metrics.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Version of this form.
    pub schema_version: u32,
    /// The runs.
    pub runs: Vec<ComparedRun>,
    /// The systems, in the order they were given.
    pub systems: Vec<ObservedSystem>,
    /// How they were compared.
    pub options: ComparisonOptions,
    /// One entry for each metric.
    pub metrics: Vec<MetricComparison>,
    /// Run settings that affect scores and differ between runs, where these were compared anyway.
    pub differences: Vec<String>,
    /// Who judged what, with which prompts.
    pub judged_by: Vec<String>,
}

/// A run whose systems are compared.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ComparedRun {
    /// Its name.
    pub name: String,
    /// Why it has scores for a part of its answers only; `None` for a complete run.
    pub unfinished: Option<String>,
    /// Whether `score` counted unscored answers as 0; a comparison leaves them out.
    pub unscored_as_zero: bool,
}

/// Systems compared by one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricComparison {
    /// What was measured.
    pub metric: MetricId,
    /// The shared cases, those with a value of every system: means, intervals, tests and ranks are over these.
    pub cases: Vec<ComparedCase>,
    /// Distinct questions among them.
    pub questions: usize,
    /// All cases that the metric applies to.
    pub cases_in_all: usize,
    /// The systems, best first.
    pub systems: Vec<SystemMean>,
    /// Pairs, the better system first, in table order.
    pub pairs: Vec<PairComparison>,
    /// Systems without a significant difference among them, as places in `systems`; empty with a baseline (not all pairs
    /// are tested) and without pairs.
    pub groups: Vec<Vec<usize>>,
    /// How often each system (row, as the first of `systems`: those with a value) takes each rank (column) over resamples;
    /// rows and columns sum to 1. `None` for fewer than two.
    pub ranks: Option<Vec<Vec<f64>>>,
    /// How noisy the judge is, where it was asked more than once.
    pub noise: Option<JudgeNoise>,
    /// Limits of the observations and of their comparison.
    pub notes: Vec<Note>,
}

/// The mean of a system.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SystemMean {
    /// Its place in `Comparison::systems`.
    pub system: usize,
    /// Its label.
    pub label: String,
    /// 1 is best; equal means share a rank; `None` without a mean.
    pub rank: Option<usize>,
    /// Letters of its groups (`a`, `ab`), empty with a baseline.
    pub letters: String,
    /// Mean over the shared cases; `None` if there are none.
    pub mean: Option<f64>,
    /// Its interval (BCa, questions resampled).
    pub interval: Option<Interval>,
    /// Mean over all cases with a value of this system; not comparable with other systems'.
    pub own_mean: Option<f64>,
    /// Cases behind `own_mean`.
    pub own_cases: usize,
    /// Answers without a value.
    pub unscored: usize,
    /// Cases that the system was asked and has no answer or no value for.
    pub missing: usize,
    /// The mean over all its answers with every unscored component at its lowest and at its highest; `None` if nothing is
    /// unscored or the metric has no bounds.
    pub bounds: Option<Interval>,
}

/// Two systems compared over the shared cases.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairComparison {
    /// The better one: a place in `MetricComparison::systems`.
    pub first: usize,
    /// The other one.
    pub second: usize,
    /// Mean of first minus second.
    pub difference: f64,
    /// Its interval (BCa, questions resampled); not corrected for the number of pairs.
    pub interval: Option<Interval>,
    /// Two-sided p of the paired permutation test; `None` without a test (no cases).
    pub p: Option<f64>,
    /// Whether every assignment was visited.
    pub exact: bool,
    /// The same corrected by Holm for all pairs of this metric.
    pub p_holm: Option<f64>,
    /// Whether the difference is significant: `p_holm` below alpha.
    pub differs: bool,
    /// Cases where the first is better.
    pub wins: usize,
    /// Cases where both are equal.
    pub ties: usize,
    /// Cases where the second is better.
    pub losses: usize,
    /// Cohen's d_z.
    pub cohens_dz: Option<f64>,
    /// Cliff's delta.
    pub cliffs_delta: Option<f64>,
    /// The difference over every case that both were asked, with all that has no value against the first and in favor of
    /// it; `None` if these are the shared cases or there are no bounds.
    pub bounds: Option<Interval>,
    /// Whether the verdict (significant or not, and which is better) could change over these cases.
    pub sensitive: bool,
    /// The length-adjusted difference; `None` where length does not apply to the metric, words are not recorded, there are
    /// fewer than 20 questions, or one system is longer throughout.
    pub length: Option<LengthEffect>,
    /// The smallest difference that these cases detect with 80% power (paired t test at alpha, this pair alone); `None` if
    /// all differences are equal.
    pub detectable: Option<f64>,
    /// With how many questions that test detects [`ComparisonOptions::wanted_difference`].
    pub questions_needed: Option<usize>,
}

impl PairComparison {
    /// `*` for a significant difference, `!` for a verdict that could change.
    pub fn flags(&self) -> &'static str {
        match (self.differs, self.sensitive) {
            (true, true) => "*!",
            (true, false) => "*",
            (false, true) => "!",
            (false, false) => "",
        }
    }
}

/// The difference of two systems regressed on the difference of their answers' lengths.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LengthEffect {
    /// The difference where both answers are equally long.
    pub adjusted: f64,
    /// Its t interval.
    pub interval: Interval,
    /// Mean difference in words.
    pub words: f64,
    /// Whether the adjusted interval includes 0 and the unadjusted does not, or the reverse, or they lie on opposite
    /// sides of 0. Neither interval is corrected for the number of pairs.
    pub changes_conclusion: bool,
}

/// How noisy the judge is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgeNoise {
    /// Variance of one judged value, over all systems: between questions, judges, and the rest.
    pub components: VarianceComponents,
    /// Judges with a sample.
    pub judges: usize,
    /// Samples of a judge on an answer, the most there are.
    pub samples: usize,
    /// Standard error of a system's mean from asking the judge again alone.
    pub standard_error: Option<f64>,
    /// With how many samples [`ComparisonOptions::wanted_difference`] is found on these questions; `None` if no number is
    /// enough, or none is wanted.
    pub samples_needed: Option<usize>,
}
