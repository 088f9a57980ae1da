//! What a comparison says. Everything here is serialised as it stands (`compare --format json`).

use serde::Serialize;

use super::{ComparedCase, MetricId, ObservedSystem};
use crate::stats::VarianceComponents;

/// How it is compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparisonOptions {
    /// Level of all intervals, 0.95.
    pub level: f64,
    /// Below this corrected p two systems are told apart, 0.05.
    pub alpha: f64,
    /// Resamples behind intervals and ranks, 10,000.
    pub resamples: u32,
    /// Random sign assignments behind a p where not all can be visited, 100,000.
    pub flips: u32,
    /// Seeds all of it.
    pub seed: u64,
    /// Only pairs with this system are tested (by label).
    pub baseline: Option<String>,
    /// The difference that one wants to find, for the number of draws and questions it needs; `None`: the observed one.
    pub wanted_difference: Option<f64>,
}

impl ComparisonOptions {
    /// 95% intervals, alpha 0.05, 10,000 resamples, 100,000 flips, all pairs, that seed.
    pub fn seeded(seed: u64) -> Self {
        Self {
            level: 0.95,
            alpha: 0.05,
            resamples: 10_000,
            flips: 100_000,
            seed,
            baseline: None,
            wanted_difference: None,
        }
    }
}

/// Everything that was compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Version of this form.
    pub schema_version: u32,
    /// The runs, by name.
    pub runs: Vec<String>,
    /// The systems, in the order they were given.
    pub systems: Vec<ObservedSystem>,
    /// How it was compared.
    pub options: ComparisonOptions,
    /// One entry a metric.
    pub metrics: Vec<MetricComparison>,
    /// What makes the runs no equals, where they were compared anyway.
    pub marks: Vec<String>,
}

/// One metric compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricComparison {
    /// What was measured.
    pub metric: MetricId,
    /// The cases that every system has a value for: means, intervals, tests and ranks are over these.
    pub cases: Vec<ComparedCase>,
    /// Distinct questions among them.
    pub questions: usize,
    /// All cases that any system has the metric of or, asked by its run, should have.
    pub cases_in_all: usize,
    /// The systems, best first.
    pub systems: Vec<SystemMean>,
    /// Pairs, the better system first, in table order.
    pub pairs: Vec<PairComparison>,
    /// Systems that cannot be told apart, as places in `systems`; empty with a baseline (not all pairs are tested) and
    /// without pairs.
    pub groups: Vec<Vec<usize>>,
    /// How often each system (row, as the first of `systems`: those with a value) takes each rank (column) over resamples;
    /// rows and columns sum to 1. `None` for fewer than two.
    pub ranks: Option<Vec<Vec<f64>>>,
    /// How noisy the judge is, where it was asked more than once.
    pub noise: Option<JudgeNoise>,
    /// What a reader must know.
    pub notes: Vec<String>,
}

/// A system's mean.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SystemMean {
    /// Its place in `Comparison::systems`.
    pub system: usize,
    /// Its label.
    pub label: String,
    /// 1 is best; equal means share a rank; `None` where there is no mean.
    pub rank: Option<usize>,
    /// Letters of its groups (`a`, `ab`), empty with a baseline.
    pub letters: String,
    /// Mean over the shared cases; `None` where there is none.
    pub mean: Option<f64>,
    /// Its interval (BCa, questions resampled).
    pub interval: Option<(f64, f64)>,
    /// Mean over all cases it has a value for, and how many.
    pub own_mean: Option<f64>,
    /// Cases behind `own_mean`.
    pub own_cases: usize,
    /// Answers without a value.
    pub unscored: usize,
    /// Cases without an answer or a value: of those that the system's run asked or, where a run does not tell what it
    /// asked, of those where the metric applies to any system.
    pub absent: usize,
    /// The mean over all its answers with every unscored part at the lowest and at the highest; `None` where nothing is
    /// unscored or the metric has no bounds.
    pub bounds: Option<(f64, f64)>,
    /// Spearman's correlation of score and length over its answers, with its interval.
    pub length_correlation: Option<(f64, Option<(f64, f64)>)>,
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
    /// Its interval (BCa, questions resampled).
    pub interval: Option<(f64, f64)>,
    /// Two-sided p of the paired permutation test; `None` where there is no test (no cases).
    pub p: Option<f64>,
    /// Whether every assignment was visited.
    pub exact: bool,
    /// The same corrected by Holm for all pairs of this metric.
    pub p_holm: Option<f64>,
    /// Whether the two are told apart: `p_holm` below alpha.
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
    /// The difference over all cases both answered with every unscored part against and in favour of the first; `None`
    /// where nothing is unscored.
    pub missing_bounds: Option<(f64, f64)>,
    /// Whether the verdict (told apart or not, and which is better if so) could be another with what is missing.
    pub depends_on_missing: bool,
    /// The same over all cases with a value of both; `None` where all systems share these.
    pub in_common: Option<InCommon>,
    /// The difference at equal length; `None` where length has no part in the metric, words are not known, or as
    /// `length_left_out` says.
    pub length: Option<LengthEffect>,
    /// Why there is no difference at equal length, where words are known.
    pub length_left_out: Option<LengthLeftOut>,
    /// The smallest difference that these cases resolve with 80% power (paired t test at alpha, this pair alone); `None`
    /// where all differences are equal.
    pub detectable: Option<f64>,
    /// With how many questions that test finds [`ComparisonOptions::wanted_difference`]; `None` where none is wanted, or all
    /// differences are equal.
    pub questions_needed: Option<usize>,
}

impl PairComparison {
    /// Whether the verdict could be another: with what is missing of the two, or over the cases that other systems lack.
    pub fn is_open_to_change(&self) -> bool {
        self.depends_on_missing || self.in_common.is_some_and(|own| own.changes_verdict)
    }
}

/// Two systems over all cases that have a value of both, more than the comparison has where other systems lack some.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct InCommon {
    /// How many cases.
    pub cases: usize,
    /// Mean of first minus second over them.
    pub difference: f64,
    /// Two-sided p of the paired permutation test.
    pub p: Option<f64>,
    /// The same corrected by Holm, every pair over its own cases.
    pub p_holm: Option<f64>,
    /// Whether the verdict is another than over the cases that all systems share.
    pub changes_verdict: bool,
}

/// The difference of two systems regressed on the difference of their answers' lengths.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LengthEffect {
    /// The difference where both are equally long.
    pub at_equal_length: f64,
    /// Its t interval.
    pub interval: (f64, f64),
    /// Difference per 100 words more.
    pub per_100_words: f64,
    /// Its t interval.
    pub per_100_words_interval: (f64, f64),
    /// Mean difference in words.
    pub words: f64,
    /// What becomes of the interval of the plain difference; `None` where both hold 0, or both lie on the same side of it.
    /// Neither interval is corrected for the number of pairs.
    pub change: Option<LengthChange>,
}

/// How the interval at equal length stands to 0 where that of the plain difference stands otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LengthChange {
    /// It holds 0.
    HoldsZero,
    /// It no longer holds 0.
    NoLongerHoldsZero,
    /// It lies on the other side.
    OtherSide,
}

/// Why a difference at equal length is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LengthLeftOut {
    /// Too few questions with known words for a line through them.
    FewQuestions,
    /// One system's answers are longer in every question: equal length lies outside of what was seen.
    Extrapolated,
}

/// How noisy the judge is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgeNoise {
    /// Variance of one judged value, over all systems: between questions, judges, and the rest.
    #[serde(serialize_with = "components")]
    pub components: VarianceComponents,
    /// Judges and draws (at most) behind it.
    pub judges: usize,
    /// Draws of a judge on an answer, the most there are.
    pub draws: usize,
    /// Standard error of a system's mean by drawing anew alone.
    pub draw_standard_error: Option<f64>,
    /// The smallest difference between two systems that this set resolves with 80% power, as it was judged.
    pub detectable: Option<f64>,
    /// What a wanted difference needs.
    pub needed: Option<DrawsNeeded>,
}

/// What it takes to find a difference with 80% power.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DrawsNeeded {
    /// The difference.
    pub difference: f64,
    /// The pair that differs so much, as places in `systems` (the two best or, with a baseline, it and the best other one);
    /// `None` where the difference is the wanted one.
    pub pair: Option<(usize, usize)>,
    /// Draws on these questions; `None`: no number of draws is enough.
    pub draws: Option<usize>,
    /// Questions with the draws there are.
    pub questions: Option<usize>,
}

fn components<S: serde::Serializer>(parts: &VarianceComponents, serializer: S) -> Result<S::Ok, S::Error> {
    use serde::ser::SerializeMap;
    let mut map = serializer.serialize_map(Some(5))?;
    map.serialize_entry("question", &parts.question)?;
    map.serialize_entry("judge", &parts.judge)?;
    map.serialize_entry("question_judge", &parts.question_judge)?;
    map.serialize_entry("draw", &parts.draw)?;
    map.serialize_entry("balanced", &parts.balanced)?;
    map.end()
}
