//! The result of an agreement, serialized as it is (`agree --format json`).

use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::analysis::ratings::Estimate;
use crate::domain::{Note, RaterKind, SystemName};

/// The unit of agreement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum AgreementLevel {
    /// Means of systems.
    System,
    /// Whole answers.
    #[default]
    Answer,
    /// Criteria, aspects, components.
    Item,
}

/// How raters are compared.
#[derive(Debug, Clone, PartialEq, Serialize, clap::Args)]
pub struct AgreementOptions {
    /// What is compared: system, answer or item
    #[arg(long, value_enum, default_value = "answer", hide_possible_values = true, value_name = "LEVEL")]
    pub level: AgreementLevel,
    /// Which number of a run, and which item of the labels: score, a component, an aspect, ann_score, SCORER.score
    /// [default: the score of the first scorer]
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// Differences of a judge's values up to X are ties [default: chosen to give it as many ties as people have]
    #[arg(long, value_name = "X", value_parser = tie_threshold, allow_negative_numbers = true)]
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

fn tie_threshold(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.trim().parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "expected a number of 0 or more, such as 0.05".to_owned())
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

/// With more raters than this two judges are not compared.
pub(super) const ALL_PAIRS: usize = 6;

/// The name of the mean of all people.
pub const HUMANS: &str = "humans";

/// Numbers of fewer units (answers, items, pairs; for numbers about systems the questions, which are drawn) have no
/// interval: resamples of so few repeat one another. ICC is exempt, its interval draws nothing.
pub const FEWEST_FOR_INTERVAL: usize = 10;

/// How raters agree.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RaterAgreement {
    /// Version of this format.
    pub schema_version: u32,
    /// How they were compared.
    pub options: AgreementOptions,
    /// The result in short: people with people (the ceiling of any judge), then each judge with people.
    pub summary: Vec<SummaryRow>,
    /// Who rated how much.
    pub raters: Vec<RaterSummary>,
    /// Raters by two.
    pub pairs: Vec<RaterPair>,
    /// All raters together, all people, all judges.
    pub groups: Vec<RaterGroup>,
    /// Means of systems on the human scale.
    pub powered: Vec<PoweredMean>,
    /// What a reader should know; as sentences in JSON, warnings first.
    #[serde(serialize_with = "texts")]
    pub notes: Vec<Note>,
}

fn texts<S: Serializer>(notes: &[Note], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(notes.iter().map(|note| &note.text))
}

/// Agreement as the mean over pairs of raters; of one pair with its intervals.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SummaryRow {
    /// `people with people`, or a judge's name and `with people`.
    pub who: String,
    /// Pairs of raters.
    pub pairs: usize,
    /// Kendall's tau-b of ratings.
    pub kendall_tau_b: Estimate,
    /// Agreement on which of two answers is better, with half a point where one rater has a tie.
    pub half_credit: Estimate,
    /// Kendall's tau-b of the orders of systems.
    pub systems: Estimate,
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
    /// Who this is the mean of; empty for a rater that was given.
    pub mean_of: Vec<Arc<str>>,
}

/// Two raters.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RaterPair {
    /// The first one; a judge before a person.
    pub first: Arc<str>,
    /// The second one.
    pub second: Arc<str>,
    /// Everything that both rated.
    pub overall: Measures,
    /// By item, at the level of items.
    pub items: Vec<PartMeasures>,
    /// By system.
    pub systems: Vec<PartMeasures>,
    /// Whose small differences count as ties, where one rater's do.
    pub tie_threshold: Option<TieThreshold>,
    /// The systems by the means of both.
    pub ranking: Option<Ranking>,
    /// The systems by how often they win, where a rater made comparisons.
    pub wins: Option<Wins>,
}

/// The measures of one item or one system.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartMeasures {
    /// Which item or system.
    pub name: String,
    /// Its measures.
    pub measures: Measures,
}

/// How two raters agree on some units.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measures {
    /// Units that both rated: answers, items, or systems.
    pub n: usize,
    /// Questions they belong to: intervals draw questions.
    pub questions: usize,
    /// Pearson's correlation.
    pub pearson: Estimate,
    /// Spearman's rank correlation.
    pub spearman: Estimate,
    /// Kendall's tau-b.
    pub kendall_tau_b: Estimate,
    /// Cohen's kappa, plain.
    pub kappa: Estimate,
    /// Cohen's kappa with squared differences as weights.
    pub quadratic_kappa: Estimate,
    /// Agreement on which of two answers is better; `None` where no two were rated by both.
    pub comparisons: Option<PairAgreement>,
}

/// How two raters agree on which of two is better. Where one of them has only ties there is no such agreement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairAgreement {
    /// Pairs that both compared.
    pub n: usize,
    /// Questions they belong to.
    pub questions: usize,
    /// Ties of the first rater.
    pub first_ties: usize,
    /// Ties of the second rater.
    pub second_ties: usize,
    /// Share of pairs with the same outcome, a tie being one of three.
    pub strict: Estimate,
    /// The same with half a point where one of the two has a tie.
    pub half_credit: Estimate,
    /// Pairs that are no tie for either.
    pub decided: usize,
    /// Share of those with the same winner.
    pub decided_agreement: Estimate,
    /// Cohen's kappa of the three outcomes.
    pub kappa: Estimate,
}

/// Up to which difference two ratings count as a tie.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TieThreshold {
    /// Of which rater's ratings.
    pub rater: Arc<str>,
    /// The largest difference that is a tie.
    pub value: f64,
    /// True if it was chosen so that the rater has as many ties as the other one; false if it was given.
    pub chosen: bool,
}

/// Systems by the means of two raters over the units that both rated.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ranking {
    /// Best first by the second rater (the person, where a judge is compared with one).
    pub systems: Vec<RankedSystem>,
    /// Kendall's tau-b of the means.
    pub kendall_tau_b: Estimate,
}

/// One system in two rankings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RankedSystem {
    /// Which one.
    pub system: SystemName,
    /// Units behind both means.
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

/// Systems by the share of comparisons they win, ties by half.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Wins {
    /// Best first by the second rater.
    pub systems: Vec<SystemWins>,
    /// Kendall's tau-b of the two raters' win rates.
    pub kendall_tau_b: Estimate,
    /// Kendall's tau-b of the first rater's means with the second's win rates.
    pub first_means_second_wins: Estimate,
}

/// One system's wins.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SystemWins {
    /// Which one.
    pub system: SystemName,
    /// Comparisons that it was in.
    pub n: usize,
    /// Its share of wins by the first rater, 0..=1.
    pub first_rate: f64,
    /// Its share of wins by the second rater.
    pub second_rate: f64,
    /// The first rater's mean of its answers in those comparisons, where all were rated.
    pub first_mean: Option<f64>,
}

/// Several raters together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RaterGroup {
    /// `all raters`, `people` or `judges`.
    pub name: String,
    /// What they rated: `ratings` or `preferences` (1 for the first system by name, -1 for the second, 0 for a tie).
    pub of: &'static str,
    /// Who.
    pub raters: Vec<Arc<str>>,
    /// Units with two ratings or more: what alpha is about.
    pub n: usize,
    /// Questions they belong to.
    pub questions: usize,
    /// Krippendorff's alpha, nominal.
    pub alpha_nominal: Estimate,
    /// Krippendorff's alpha, ordinal.
    pub alpha_ordinal: Estimate,
    /// Krippendorff's alpha, interval.
    pub alpha_interval: Estimate,
    /// Units rated by all: what ICC is about.
    pub complete: usize,
    /// ICC(2,1).
    pub icc_2_1: Estimate,
}

/// A system's mean on the human scale.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PoweredMean {
    /// Whose verdicts.
    pub judge: Arc<str>,
    /// Whose labels.
    pub human: Arc<str>,
    /// Which system.
    pub system: SystemName,
    /// Answers with a label and a verdict.
    pub labelled: usize,
    /// Answers with a verdict only.
    pub unlabelled: usize,
    /// The mean of the labels alone.
    pub labels_only: Estimate,
    /// The prediction-powered mean.
    pub powered: Estimate,
    /// How far the judge was trusted, 0..=1.
    pub lambda: Option<f64>,
}

impl Measures {
    /// Name, units and value of every estimate.
    pub fn estimates(&self) -> Vec<(&'static str, usize, &Estimate)> {
        let mut all = vec![
            ("pearson", self.n, &self.pearson),
            ("spearman", self.n, &self.spearman),
            ("kendall_tau_b", self.n, &self.kendall_tau_b),
            ("kappa", self.n, &self.kappa),
            ("quadratic_kappa", self.n, &self.quadratic_kappa),
        ];
        if let Some(of) = &self.comparisons {
            all.push(("pairs_strict", of.n, &of.strict));
            all.push(("pairs_half_credit", of.n, &of.half_credit));
            all.push(("pairs_decided", of.decided, &of.decided_agreement));
            all.push(("pairs_kappa", of.n, &of.kappa));
        }
        all
    }
}
