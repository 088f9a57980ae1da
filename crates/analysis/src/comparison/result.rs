//! Options and result of a comparison, serialized by `compare --format json`.

use clap::Args;
use serde::Serialize;

use super::{
    ComparedCase, GateResult, JudgeChange, JudgeRanks, MetricId, ObservedSystem, OldScale,
    Pairwise, RunChange, RunLooks, SelfPreference,
};
use scholareval_core::domain::{Note, SubjectKind, parse_inner_share};
use scholareval_stats::{Interval, PairedMethod, Ties};

/// The seed of comparisons, unless another is chosen.
pub const SEED: u64 = 42;

/// Options of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Args)]
#[command(next_help_heading = "Statistics")]
pub struct ComparisonOptions {
    /// Level of intervals and tests: systems differ significantly at p below 1 - level
    #[arg(long, hide_short_help = true, value_name = "SHARE", default_value = "0.95", value_parser = parse_inner_share)]
    pub level: f64,
    /// Resamples behind intervals, tests and ranks
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(100..=1_000_000))]
    pub resamples: u32,
    /// Seed of the resamples
    #[arg(long, value_name = "N", default_value_t = SEED)]
    pub seed: u64,
    /// Test only the pairs with this system
    #[arg(long, value_name = "SYSTEM")]
    pub baseline: Option<String>,
    /// What a tie of two answers is, where answers were compared with each other: half a win, or an outcome of its own
    #[arg(long, hide_short_help = true, value_name = "half|davidson", value_enum)]
    #[arg(default_value_t, hide_possible_values = true)]
    pub ties: Ties,
    /// How much of the comparison is computed.
    #[arg(skip)]
    #[serde(skip)]
    pub depth: ComparisonDepth,
}

/// How much of a comparison is computed. What is left out changes no other number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ComparisonDepth {
    /// Means with their intervals: no pairs, groups and ranks.
    Means,
    /// Also the tests of pairs, with groups and letters.
    Verdicts,
    /// Also ranks over resamples, sensitivity to missing data and to length.
    #[default]
    Full,
}

impl ComparisonOptions {
    /// 95% intervals, 10,000 resamples, all pairs, with this seed.
    pub fn seeded(seed: u64) -> Self {
        Self {
            level: 0.95,
            resamples: 10_000,
            seed,
            baseline: None,
            ties: Ties::Half,
            depth: ComparisonDepth::Full,
        }
    }
}

impl Default for ComparisonOptions {
    fn default() -> Self {
        Self::seeded(SEED)
    }
}

/// Comparison of systems by some metrics.
///
/// ```
/// use scholareval_analysis::comparison::{ComparisonOptions, RunAnswers, compare, observe};
/// use std::sync::Arc;
/// use scholareval_core::domain::{Component, ComponentKind, Score, ScoredAnswer, TestCase};
///
/// let scored = |system: &str, case: usize, share: f64| {
///     let component = Component::new("cited", ComponentKind::Share).with(Ok((share, None)));
///     let score = Score { scorer: "citations".into(), components: vec![component], ..Score::default() };
///     let case = TestCase::without_rubric(format!("c{case}").into(), &format!("Question {case}?"));
///     Arc::new(ScoredAnswer::new(system.into(), Arc::new(case), score))
/// };
/// // The first system is better in each of 12 questions, by another amount in each.
/// let answers: Vec<Arc<ScoredAnswer>> = (0..12)
///     .flat_map(|case| [scored("good", case, 0.6 + 0.03 * case as f64), scored("poor", case, 0.4)])
///     .collect();
/// let observations = observe(&[RunAnswers { name: "run", scored: &answers, ..RunAnswers::default() }]);
/// let comparison = compare(&observations, &ComparisonOptions::seeded(1));
///
/// let metric = &comparison.metrics[0];
/// assert_eq!((metric.metric.name.as_str(), metric.systems[0].label.as_str()), ("cited", "good"));
/// assert!(metric.pairs[0].differs && metric.pairs[0].wins == 12);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Comparison {
    /// Version of this format.
    pub schema_version: u32,
    /// What was judged.
    #[serde(skip)]
    pub subject: SubjectKind,
    /// The runs.
    pub runs: Vec<ComparedRun>,
    /// The systems, in the given order.
    pub systems: Vec<ObservedSystem>,
    /// The options.
    pub options: ComparisonOptions,
    /// One entry for each metric.
    pub metrics: Vec<MetricComparison>,
    /// Run settings that affect scores and differ between the compared runs.
    pub differences: Vec<String>,
    /// The judges of each role.
    pub judged_by: Vec<JudgedRole>,
    /// With `--across prompts`: what the changes and ranks below are due to.
    #[serde(skip_serializing_if = "RunFactor::is_judges")]
    pub across: RunFactor,
    /// With `--across judges` or `--across prompts` of more than two runs: the ranks of the systems in each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub judge_ranks: Vec<JudgeRanks>,
    /// With `--across judges` or `--across prompts`, in place of metrics: what changes from each run to each later one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub judge_changes: Vec<JudgeChange>,
    /// With `--across judges`: whether each judge favors systems of its family.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub self_preference: Vec<SelfPreference>,
    /// With `--across runs`, in place of metrics: the change of each system from the first run to each other one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub run_changes: Vec<RunChange>,
    /// With `--corrected-by`, in place of metrics: means on the scale of the old judge.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub old_scales: Vec<OldScale>,
    /// With `--corrected-by` and drawn verdicts: by which judges the metric `corrected` is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correction: Option<VerdictCorrection>,
    /// Where answers were compared with each other: strengths, and what the place and the length of an answer do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairwise: Option<Pairwise>,
    /// The outcomes of the gates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateResult>,
    /// With `--across`: systems that are not in every run, which are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// What differs on purpose between runs of the same answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunFactor {
    /// The judges.
    #[default]
    Judges,
    /// The prompts.
    Prompts,
}

impl RunFactor {
    /// Whether it is the judges.
    pub fn is_judges(&self) -> bool {
        *self == Self::Judges
    }

    /// What a run stands for: `judge`.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Judges => "judge",
            Self::Prompts => "prompt set",
        }
    }
}

/// What the metric `corrected` was computed from: all verdicts of a cheap judge, and those of a dear judge on some of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VerdictCorrection {
    /// The cheap judge.
    pub cheap: String,
    /// The dear judge, or the people.
    pub dear: String,
    /// Verdicts that were drawn for the dear judge.
    pub drawn: usize,
    /// Verdicts that they were drawn from.
    pub of: usize,
    /// Drawn verdicts that the dear judge did not give: they correct nothing.
    pub missing: usize,
    /// Answers without a verdict of the cheap judge on one of their criteria, which have no corrected value.
    pub left_out: usize,
}

/// A role with its judge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JudgedRole {
    /// `rubric`, `aspect.coverage`, `citation`.
    pub role: String,
    /// Judge and prompts: `gpt-oss-120b; prompts scholareval@1a2b3c4d`.
    pub judge: String,
    /// `checked on 60 labels, kappa 0.71 [0.60, 0.80], 2026-11-12`, or `not checked against people` with the reason if a certificate does
    /// not count; `None` for the built-in baseline.
    pub check: Option<String>,
    /// How they differ from those of the published numbers; `None` if they do not, or if there are none.
    pub differs_from_published: Option<String>,
    /// The runs with this judge, if the role has several.
    pub runs: Vec<String>,
}

/// A compared run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ComparedRun {
    /// Its name.
    pub name: String,
    /// With ranks under several judges: the earlier run by the same one, which counts for both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_judge_as: Option<String>,
    /// Why only part of its answers is scored; `None` for a complete run.
    pub unfinished: Option<String>,
    /// The looks at it (`--until`), if it was looked at before its end: p, letters and plain intervals do not hold then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub looks: Option<RunLooks>,
    /// Whether it has unscored answers that count as the lowest value (`--on-unscored zero`).
    pub unscored_as_zero: bool,
    /// Sentences about test cases and answers that were read and do not count.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uncounted: Vec<String>,
    /// That other models than the requested ones answered, one sentence for each judge.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answered_by_others: Vec<String>,
    /// That judges and systems are of one family, a sentence for each judge.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shared_families: Vec<String>,
}

/// Comparison of systems by one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricComparison {
    /// The metric.
    pub metric: MetricId,
    /// The shared cases, with a value of every system: means, intervals, tests and ranks are over these.
    pub cases: Vec<ComparedCase>,
    /// Distinct questions among them.
    pub questions: usize,
    /// All cases that the metric applies to.
    pub cases_in_all: usize,
    /// The systems, best first.
    pub systems: Vec<SystemMean>,
    /// Pairs, the better system first, in table order.
    pub pairs: Vec<PairComparison>,
    /// How p values and intervals of most pairs were made; `None` without pairs and for a single question.
    pub method: Option<PairedMethod>,
    /// The smallest p that the nonzero differences of these pairs can give.
    pub smallest_p: Option<f64>,
    /// Groups of systems without a significant difference, as indices into `systems`; empty with a baseline (not all
    /// pairs are tested) and without pairs.
    pub groups: Vec<Vec<usize>>,
    /// Share of resamples in which each system (row, as the first of `systems`: those with a value) takes each rank
    /// (column); rows and columns sum to 1. `None` for fewer than two, and below 10 questions.
    pub ranks: Option<Vec<Vec<f64>>>,
    /// Notes on the observations and their comparison.
    pub notes: Vec<Note>,
}

/// The mean of a system.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SystemMean {
    /// Its index in `Comparison::systems`.
    pub system: usize,
    /// Its label.
    pub label: String,
    /// 1 is best; equal means share a rank; `None` without a mean.
    pub rank: Option<usize>,
    /// Letters of its groups (`a`, `ab`), empty with a baseline.
    pub letters: String,
    /// Mean over the shared cases; `None` if there are none.
    pub mean: Option<f64>,
    /// Its interval: Wilson's for shares, net shares and grades, bootstrap-t for counts, Student's for corrected values.
    pub interval: Option<Interval>,
    /// Mean over all cases with a value of this system; not comparable with other systems'.
    pub own_mean: Option<f64>,
    /// Cases behind `own_mean`.
    pub own_cases: usize,
    /// Answers without a value.
    pub unscored: usize,
    /// Cases of the system without an answer or a value.
    pub missing: usize,
    /// The mean over all its answers with every unscored component at its lowest and at its highest; `None` if nothing
    /// is unscored or the metric is unbounded.
    pub bounds: Option<Interval>,
}

/// Two systems compared over the shared cases.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct PairComparison {
    /// The better one: an index into `MetricComparison::systems`.
    pub first: usize,
    /// The other one.
    pub second: usize,
    /// Mean of first minus second.
    pub difference: f64,
    /// Its interval, simultaneous over all pairs of the metric; `None` if it is unbounded, or all differences are equal.
    pub interval: Option<Interval>,
    /// How p and intervals were made; `None` for a single question.
    pub method: Option<PairedMethod>,
    /// Standard error of the difference over questions; `None` if all differences are equal, or for a single question.
    pub standard_error: Option<f64>,
    /// Two-sided p, adjusted for all pairs of the metric; `None` for a single question.
    pub p: Option<f64>,
    /// The interval of this pair alone.
    pub pointwise: Option<Interval>,
    /// Two-sided p of this pair alone.
    pub pointwise_p: Option<f64>,
    /// Whether the difference is significant: `p` below 1 - level, or the same: `interval` excludes 0.
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
    /// The difference over every case of both systems, with all missing values against the first and in favor of it;
    /// `None` if these are the shared cases or there are no bounds.
    pub bounds: Option<Interval>,
    /// Whether the verdict (significant or not, and which is better) could change over these cases.
    pub sensitive: bool,
    /// Whether the run was looked at before its end: `interval` is the repeated one, where there is one, and there is no p.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_at_look: bool,
    /// The length-adjusted difference; `None` if length does not apply to the metric, words are not recorded, there are
    /// fewer than 20 questions, or the shorter system is longer in less than a tenth of them.
    pub length: Option<LengthEffect>,
    /// The smallest difference that the verdict finds with 80% power: (critical value + 0.84) standard errors; `None` if
    /// nothing can be significant.
    pub detectable: Option<f64>,
}

impl PairComparison {
    /// Whether there is a test of the two. A run that was looked at before its end has one only of the pairs that it was to decide, and
    /// one question gives none.
    pub fn is_tested(&self) -> bool {
        if self.is_at_look {
            self.interval.is_some()
        } else {
            self.p.is_some()
        }
    }

    /// `p = 0.011`, `p < 0.001`, never `p = 1.000`.
    pub fn p_text(&self) -> String {
        self.p.map_or_else(|| "no test".to_owned(), p_text)
    }

    /// `*` for a significant difference, `!` for a verdict that could change.
    pub fn flags(&self) -> String {
        let significant = if self.differs { "*" } else { "" };
        let sensitive = if self.sensitive { "!" } else { "" };
        format!("{significant}{sensitive}")
    }
}

/// `p = 0.011`, `p < 0.001`, never `p = 1.000`.
pub fn p_text(p: f64) -> String {
    if p < 0.0005 {
        "p < 0.001".to_owned()
    } else if p > 0.9995 {
        "p > 0.999".to_owned()
    } else {
        format!("p = {p:.3}")
    }
}

/// The difference of two systems regressed on the difference of their answers' lengths.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LengthEffect {
    /// The difference at equal length.
    pub adjusted: f64,
    /// Its t interval.
    pub interval: Interval,
    /// Mean difference in words.
    pub words: f64,
    /// Whether only one of the adjusted and unadjusted intervals of this pair alone includes 0, or they lie on opposite
    /// sides of 0; false if `less_precise`.
    pub changes_conclusion: bool,
    /// Whether only the adjusted interval includes 0, and only because it is wider: the estimate moves by at most a quarter
    /// of the unadjusted margin of error.
    pub less_precise: bool,
}
