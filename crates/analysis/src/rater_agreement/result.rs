//! Result of an agreement, serialized by `agree --format json`.

use super::reliability::Reliability;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::comparison::GateResult;
use crate::ratings::Estimate;
use scholareval_core::domain::{Note, RaterKind, SystemName, parse_amount};

/// The unit of agreement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum AgreementLevel {
    /// Whole answers.
    #[default]
    Answer,
    /// Criteria, aspects, components.
    Item,
}

/// Options of an agreement.
#[derive(Debug, Clone, PartialEq, Serialize, clap::Args)]
pub struct AgreementOptions {
    /// What is compared: answer or item
    #[arg(long, value_enum, default_value = "answer")]
    #[arg(hide_possible_values = true, value_name = "LEVEL")]
    pub level: AgreementLevel,
    /// Which number of a run, and which item of the labels: score, a component, an aspect, a tag, ann_score,
    /// SCORER.score [default: the score of the first scorer]
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// Differences of a judge's values up to X are ties [default: chosen to give it as many ties as people have]
    #[arg(long, value_name = "X", value_parser = parse_amount, allow_negative_numbers = true)]
    pub tie_threshold: Option<f64>,
    /// Level of all intervals, 0.95.
    #[arg(skip = 0.95)]
    pub confidence: f64,
    /// Number of resamples for the intervals
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub resamples: u32,
    /// Seed of the resampling for the intervals
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub seed: u64,
}

impl AgreementOptions {
    /// Whole answers, a chosen threshold, 10,000 resamples with this seed.
    pub fn seeded(seed: u64) -> Self {
        Self {
            level: AgreementLevel::Answer,
            metric: None,
            tie_threshold: None,
            confidence: 0.95,
            resamples: 10_000,
            seed,
        }
    }
}

/// Minimum number of systems for the agreement of two orders of them.
pub(super) const FEWEST_SYSTEMS: usize = 4;
/// The reason where there are fewer.
pub(super) const NO_ORDER: &str = "an order needs at least 4 systems";

/// Agreement of raters.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RaterAgreement {
    /// Version of this format.
    pub schema_version: u32,
    /// The options.
    pub options: AgreementOptions,
    /// Summary: people with people (an upper limit for any judge), then each judge with people.
    pub summary: Vec<SummaryRow>,
    /// The raters with their number of ratings.
    pub raters: Vec<RaterSummary>,
    /// Pairs of raters.
    pub pairs: Vec<RaterPair>,
    /// All raters together, all people, all judges.
    pub groups: Vec<RaterGroup>,
    /// How the levels of each judge fall on those of people, for scales of up to five levels (labels of a sheet only).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub confusions: Vec<Confusion>,
    /// Whether the judges err together, for two judges or more with labels of people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub panel_errors: Option<PanelErrors>,
    /// The probabilities of each decision model against people's labels of criteria with two levels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reliability: Vec<Reliability>,
    /// Means of systems on the human scale, then their differences.
    pub powered: Vec<PoweredMean>,
    /// Shares of met criteria of systems without labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rogan_gladen: Vec<RoganGladenShare>,
    /// Required conditions, if any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateResult>,
    /// Notes on these means; as sentences in JSON.
    #[serde(serialize_with = "texts")]
    pub powered_notes: Vec<Note>,
    /// Notes on the rest; as sentences in JSON, warnings first.
    #[serde(serialize_with = "texts")]
    pub notes: Vec<Note>,
}

fn texts<S: Serializer>(notes: &[Note], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(notes.iter().map(|note| &note.text))
}

/// Agreement as the mean over pairs of raters; for one pair with its intervals.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SummaryRow {
    /// `people with people`, or a judge's name and `with people`.
    pub who: String,
    /// Pairs of raters in the mean.
    pub pairs: usize,
    /// Pairs that share fewer than half as many units as another one: a mean of both is not one number.
    pub left_out: usize,
    /// Kendall's tau-b of ratings.
    pub kendall_tau_b: Estimate,
    /// Agreement on which of two answers is better; a tie of one rater counts half.
    pub half_credit: Estimate,
    /// Kendall's tau-b of answers to one question, pooled over questions.
    pub within_question_tau_b: Estimate,
    /// Kendall's tau-b of the orders of systems.
    pub systems: Estimate,
    /// For a judge: the row of people with people, the most that a judge can reach.
    pub ceiling: Option<Box<SummaryRow>>,
    /// What agreement by chance would be: on which is better, else tau-b 0.
    pub chance: f64,
    /// Whether the interval of every pair excludes agreement by chance.
    pub is_above_chance: bool,
}

/// One rater.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RaterSummary {
    /// The name.
    pub name: Arc<str>,
    /// A judge or a person.
    pub kind: RaterKind,
    /// Ratings at the level of the comparison (answers or items).
    pub ratings: usize,
    /// Comparisons made.
    pub preferences: usize,
    /// The people in this mean; empty for a given rater.
    pub mean_of: Vec<Arc<str>>,
}

/// Two raters.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RaterPair {
    /// The first one; a judge before a person.
    pub first: Arc<str>,
    /// The second one.
    pub second: Arc<str>,
    /// Measures over everything that both rated.
    pub overall: Measures,
    /// By item, at the level of items.
    pub items: Vec<PartMeasures>,
    /// By system, if there are several.
    pub systems: Vec<PartMeasures>,
    /// By group of cases, if there are several.
    pub groups: Vec<PartMeasures>,
    /// The rater whose small differences count as ties, if any.
    pub tie_threshold: Option<TieThreshold>,
    /// The systems by both raters' means.
    pub ranking: Option<Ranking>,
    /// The systems by both raters' shares of wins, if a rater made comparisons.
    pub wins: Option<Ranking>,
}

/// The measures of one item, one system or one group of cases.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartMeasures {
    /// The item, system or group.
    pub name: String,
    /// Its measures.
    pub measures: Measures,
}

/// Agreement of two raters on some units.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Measures {
    /// Units that both rated: answers or items.
    pub n: usize,
    /// Their questions, which intervals resample.
    pub questions: usize,
    /// The larger of the two raters' shares of their most frequent values, 0..=1; `None` without units.
    pub most_frequent: Option<f64>,
    /// Pearson's correlation.
    pub pearson: Estimate,
    /// Spearman's rank correlation.
    pub spearman: Estimate,
    /// Kendall's tau-b.
    pub kendall_tau_b: Estimate,
    /// Kendall's tau-b of answers to one question, pooled over questions: concordant minus discordant pairs of answers over
    /// the geometric mean of the pairs untied by either rater, without a tie threshold.
    pub within_question_tau_b: Estimate,
    /// Cohen's kappa, plain. It and the next three take labels of two values by majority and leave out splits.
    pub kappa: Estimate,
    /// Cohen's kappa with squared differences as weights.
    pub quadratic_kappa: Estimate,
    /// Share of units with the same rating, 0..=1.
    pub raw_agreement: Estimate,
    /// Gwet's AC1.
    pub ac1: Estimate,
    /// Mean of the first rater's ratings minus the second's (judge minus people), in the unit of the ratings.
    pub shift: Estimate,
    /// Agreement on which of two answers is better; `None` without common pairs.
    pub comparisons: Option<PairAgreement>,
}

/// Agreement of two raters on which of two is better. Undefined if one of them has only ties.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct PairAgreement {
    /// Pairs compared by both.
    pub n: usize,
    /// Their questions.
    pub questions: usize,
    /// Ties of the first rater.
    pub first_ties: usize,
    /// Ties of the second rater.
    pub second_ties: usize,
    /// Share of pairs with the same of the three outcomes (first, second, tie).
    pub strict: Estimate,
    /// The same, with half credit if one of the two has a tie.
    pub half_credit: Estimate,
    /// Pairs without a tie.
    pub decided: usize,
    /// Share of those with the same winner.
    pub decided_agreement: Estimate,
    /// Cohen's kappa of the three outcomes.
    pub kappa: Estimate,
}

impl PairAgreement {
    /// The expected [`half_credit`](Self::half_credit) of independent raters with these numbers of ties: (1 + t1 t2) / 2,
    /// where t1 and t2 are their shares of ties.
    pub fn chance(&self) -> f64 {
        let share = |ties: usize| ties as f64 / self.n as f64;
        (1.0 + share(self.first_ties) * share(self.second_ties)) / 2.0
    }
}

/// Largest difference of two ratings that counts as a tie.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TieThreshold {
    /// The rater.
    pub rater: Arc<str>,
    /// The largest difference that is a tie.
    pub value: f64,
    /// Whether it was chosen to give the rater as many ties as the other one; otherwise it was given.
    pub chosen: bool,
}

/// Systems by two raters' means over the same units: of ratings, or of wins (1), ties (1/2) and losses (0).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ranking {
    /// Ordered by the second rater (in a judge-person pair the person), best first.
    pub systems: Vec<RankedSystem>,
    /// Kendall's tau-b of the means.
    pub kendall_tau_b: Estimate,
}

/// One system in two rankings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RankedSystem {
    /// The system.
    pub system: SystemName,
    /// Units in both means.
    pub n: usize,
    /// The first rater's mean.
    pub first_mean: f64,
    /// The second rater's mean.
    pub second_mean: f64,
    /// Its rank by the first, 1 for the best; ties share the better rank.
    pub first_rank: usize,
    /// Its rank by the second.
    pub second_rank: usize,
}

/// Agreement of several raters.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RaterGroup {
    /// `all raters`, `people` or `judges`.
    pub name: String,
    /// Kind of data: `ratings` or `preferences` (1, -1 or 0 for a tie, of each pair in both orders).
    pub of: &'static str,
    /// The raters.
    pub raters: Vec<Arc<str>>,
    /// Units with at least two ratings, the basis of alpha.
    pub n: usize,
    /// Their questions.
    pub questions: usize,
    /// Krippendorff's alpha, nominal.
    pub alpha_nominal: Estimate,
    /// Krippendorff's alpha, ordinal.
    pub alpha_ordinal: Estimate,
    /// Krippendorff's alpha, interval.
    pub alpha_interval: Estimate,
    /// Units rated by all, the basis of ICC.
    pub complete: usize,
    /// ICC(2,1).
    pub icc_2_1: Estimate,
}

/// A system's mean on the human scale, or the difference of two.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PoweredMean {
    /// The judge.
    pub judge: Arc<str>,
    /// The source of the labels.
    pub human: Arc<str>,
    /// The system.
    pub system: SystemName,
    /// For a difference: the system that is subtracted, over the cases that the judge rated for both.
    pub minus: Option<SystemName>,
    /// Answers with a label and a verdict; for a difference, cases with labels of both systems.
    pub labeled: usize,
    /// Answers (cases) with a verdict only.
    pub unlabeled: usize,
    /// The mean of the labels alone.
    pub labels_only: Estimate,
    /// The prediction-powered mean.
    pub powered: Estimate,
    /// Weight of the judge, 0..=1.
    pub lambda: Option<f64>,
    /// For a difference: two-sided p of 0, of this pair alone, below 0.05 exactly if the interval excludes 0.
    pub p: Option<f64>,
    /// Whether there are at least 50 labels, at most 80% of them equal: then the intervals were found to hold.
    pub reliable: bool,
}

/// A system's share of met criteria as people would judge, from a judge's verdicts and its sensitivity and specificity on labels of
/// other answers (Rogan and Gladen).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RoganGladenShare {
    /// The run.
    pub judge: Arc<str>,
    /// The run with the labels; it may be the same one.
    pub labels_of: Arc<str>,
    /// The system.
    pub system: SystemName,
    /// Verdicts on its answers.
    pub verdicts: usize,
    /// Further ones that are left out, since samples or a panel are split evenly.
    pub split: usize,
    /// Their questions.
    pub questions: usize,
    /// The share of verdicts that say met, 0..=1.
    pub judged_met: f64,
    /// Labels that say met, on which sensitivity rests.
    pub met_labels: usize,
    /// Labels that say unmet, on which specificity rests.
    pub unmet_labels: usize,
    /// The corrected share, 0..=1.
    pub met: Estimate,
}

impl Measures {
    /// The names of all estimates.
    pub(super) fn names() -> Vec<&'static str> {
        let measures = Self {
            comparisons: Some(PairAgreement::default()),
            ..Self::default()
        };
        let estimates = measures.estimates().into_iter();
        estimates.map(|(name, ..)| name).collect()
    }

    /// Name, number of units and of questions, and value of every estimate.
    pub fn estimates(&self) -> Vec<(&'static str, [usize; 2], &Estimate)> {
        let counts = [self.n, self.questions];
        let compared = self.comparisons.as_ref();
        let compared = compared.map_or([0, 0], |of| [of.n, of.questions]);
        let within = &self.within_question_tau_b;
        let mut all = vec![
            ("pearson", counts, &self.pearson),
            ("spearman", counts, &self.spearman),
            ("kendall_tau_b", counts, &self.kendall_tau_b),
            ("within_question_tau_b", compared, within),
            ("kappa", counts, &self.kappa),
            ("quadratic_kappa", counts, &self.quadratic_kappa),
            ("raw_agreement", counts, &self.raw_agreement),
            ("ac1", counts, &self.ac1),
            ("shift", counts, &self.shift),
        ];
        for (_, [units, _], estimate) in &mut all {
            // Some leave out splits.
            *units = estimate.n.unwrap_or(*units);
        }
        all.extend(self.comparisons.iter().flat_map(PairAgreement::estimates));
        all
    }

    /// The estimate of this name in [`estimates`](Self::estimates).
    pub fn named(&self, name: &str) -> Option<&Estimate> {
        let mut estimates = self.estimates().into_iter();
        let named = estimates.find(|(key, ..)| *key == name);
        named.map(|(.., estimate)| estimate)
    }
}

impl PairAgreement {
    /// Name, number of units and of questions, and value of every estimate.
    pub fn estimates(&self) -> [(&'static str, [usize; 2], &Estimate); 4] {
        let counts = [self.n, self.questions];
        let decided = [self.decided, self.questions];
        [
            ("pairs_strict", counts, &self.strict),
            ("pairs_half_credit", counts, &self.half_credit),
            ("pairs_decided", decided, &self.decided_agreement),
            ("pairs_kappa", counts, &self.kappa),
        ]
    }
}

/// Several judges against the same labels.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PanelErrors {
    /// How many judges.
    pub judges: usize,
    /// Units that people and all of the judges rated.
    pub units: usize,
    /// Their questions.
    pub questions: usize,
    /// The mean correlation of the errors of two judges, -1..=1: an error is the judge's value less the people's, less the judge's mean
    /// error.
    pub correlation: Option<f64>,
    /// The number of independent judges whose mean varies as much, 1..=`judges`.
    pub effective: Estimate,
}

/// The levels of a judge against those of people, on one scale.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Confusion {
    /// The judge.
    pub judge: Arc<str>,
    /// The names of the levels, from the lowest.
    pub levels: Vec<String>,
    /// Items that both rated.
    pub items: usize,
    /// Items left out because raters, or samples of the judge, are split between two levels.
    pub split: usize,
    /// Their questions.
    pub questions: usize,
    /// By level of the people, then of the judge: the number of items.
    pub counts: Vec<Vec<usize>>,
    /// The same as weighted shares of all items, which sum to 1.
    pub shares: Vec<Vec<f64>>,
    /// For each level; of two levels for the upper one only, of which the lower one is the opposite.
    pub accuracy: Vec<LevelAccuracy>,
}

/// How well a judge recognizes a level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LevelAccuracy {
    /// The level.
    pub level: String,
    /// The share of items with this level by people that have it by the judge.
    pub sensitivity: Estimate,
    /// The share of items with another level by people that have another one by the judge.
    pub specificity: Estimate,
    /// The labels of equal weight that those of sensitivity and of specificity are worth (Kish).
    #[serde(skip)]
    pub worth: [usize; 2],
}
