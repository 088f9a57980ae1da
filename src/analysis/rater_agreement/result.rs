//! What an agreement says. Everything here is serialised as it stands (`agree --format json`).

use std::sync::Arc;

use serde::Serialize;

use crate::domain::{RaterKind, SystemName};

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AgreementLevel {
    /// Means of systems.
    System,
    /// Answers, each as a whole.
    Answer,
    /// Items: criteria, aspects, components.
    Item,
}

/// How it is compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgreementOptions {
    /// What a unit is.
    pub level: AgreementLevel,
    /// The item that stands for the answer as a whole, or the only one at the level of items; `None`: ratings of whole
    /// answers, or all items.
    pub metric: Option<String>,
    /// Up to which difference two answers are a tie for a judge; `None`: chosen where a person is compared with.
    pub tie_threshold: Option<f64>,
    /// Level of all intervals, 0.95.
    pub confidence: f64,
    /// Resamples behind the intervals, 10,000.
    pub resamples: u32,
    /// Seeds them.
    pub seed: u64,
}

impl AgreementOptions {
    /// Whole answers, a threshold chosen, 10,000 resamples with that seed.
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

/// Fewer units than this (answers, items, pairs; of a number about systems the questions that are drawn) give a number
/// without an interval: resamples of so few repeat one another, and the interval of a single pair would be a point. Not of
/// ICC, whose interval draws nothing.
pub const FEWEST_FOR_INTERVAL: usize = 10;

/// A number with its interval, or why there is none.
///
/// There is no interval where fewer than [`FEWEST_FOR_INTERVAL`] units stand behind the number.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Estimate {
    /// The number; never NaN.
    pub estimate: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// Why there is no number.
    pub undefined: Option<String>,
}

/// How raters agree.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RaterAgreement {
    /// Version of this form.
    pub schema_version: u32,
    /// How it was compared.
    pub options: AgreementOptions,
    /// Who rated how much.
    pub raters: Vec<RaterSummary>,
    /// Raters by two.
    pub pairs: Vec<RaterPair>,
    /// All raters together, all people, all judges.
    pub groups: Vec<RaterGroup>,
    /// Means of systems on the human scale.
    pub powered: Vec<PoweredMean>,
    /// What a reader must know besides.
    pub notes: Vec<String>,
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
