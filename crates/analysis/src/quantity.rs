//! Quantities of an answer: the values that summaries, comparisons and gates share.
//!
//! `quantities` lists what the scores of some answers hold; `Quantity::observe` reads one of them
//! off an answer: a value, a range where a component is unscored, or nothing where it does not
//! apply.

use clap::ValueEnum;
use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use scholareval_core::domain::{Component, REPORT_METRICS, Score, ScoredAnswer, ScorerId, Unit};
use scholareval_scorers::scorer_named;
use scholareval_stats::{BootstrapOptions, Interval, mean, mean_interval, mean_interval_within};

/// Mean over a system's aspects.
pub use scholareval_scorers::prometheus::ASPECT_MEAN;
/// Harmonic mean of a system's mean citation precision and mean citation recall.
pub const CITATION_F1: &str = "citation_f1";
/// Mean of the citation F1 of each answer.
pub const CITATION_F1_MACRO: &str = "citation_f1_macro";
pub(super) const CITATION_PRECISION: &str = "citation_precision";
pub(super) const CITATION_RECALL: &str = "citation_recall";

/// The mean of the mean scores of the groups of cases.
pub(super) const MACRO_SCORE: &str = "macro_score";
/// The share of the criteria of all answers that are met.
pub(super) const MICRO: &str = "micro";

/// Columns of `summary.csv` that are not metrics, and the sums of other judges, which runs are compared by.
const TAKEN: [&str; 12] = [
    "system",
    "rank",
    "answers",
    "missing",
    "unscored",
    "score",
    "ann_score",
    "lexical_score",
    "lexical_ann_score",
    EXPECTED,
    MACRO_SCORE,
    MICRO,
];

/// The expected score of a decision model; of a component this behind its name.
pub(crate) const EXPECTED: &str = "expected";

/// What `summary.csv` calls the columns of a metric, behind its name.
const COLUMNS: [&str; 5] = ["", "_low", "_high", "_n", "_unscored"];

/// How a component without a value counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum OnUnscored {
    /// The answer is left out of the mean.
    #[default]
    Exclude,
    /// The component counts as the lowest value of its range.
    Zero,
}

/// A metric of a scorer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MetricColumn {
    /// Its name in tables and files.
    pub name: String,
    /// Unit of its values.
    pub unit: Unit,
}

/// Where a score holds the value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Quantity {
    /// The weighted sum of all components.
    Score,
    /// The weighted sum of the annotated components.
    AnnScore,
    /// The score with the expected value of every component.
    Expected,
    /// The component of this name.
    Component(String),
    /// Its expected value.
    ExpectedComponent(String),
    /// The score over the criteria with this tag.
    Tag(String),
    /// The mean of the components with these names, if an answer has all of them.
    Mean(Vec<String>),
}

/// The value of one answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Observation {
    /// Its value, finite.
    Value(f64),
    /// An unscored answer, with its values at the lowest and at the highest of every unscored component; infinite if
    /// unbounded, as for counts.
    Unscored(Interval),
    /// An unscored answer that counts as this value within its range: as the lowest, by its run's policy, or of judged pairs as the
    /// verdicts at hand say.
    Counted(f64, Interval),
    /// The system was asked, but has no answer, or no value although the metric applies.
    Missing,
    /// The metric does not apply to the case, or the system was not asked.
    NotApplicable,
}

impl Observation {
    /// The value that counts in means, if there is one.
    pub fn value(self) -> Option<f64> {
        match self {
            Self::Value(value) | Self::Counted(value, _) => Some(value),
            Self::Unscored(_) | Self::Missing | Self::NotApplicable => None,
        }
    }

    /// Whether the answer is unscored, whatever it counts as.
    pub fn is_unscored(self) -> bool {
        matches!(self, Self::Unscored(_) | Self::Counted(..))
    }

    /// The observation by this policy. What is unscored and has no lowest value, as counts, stays left out.
    #[must_use]
    pub fn by_policy(self, on_unscored: OnUnscored) -> Self {
        match self {
            Self::Unscored(range) if on_unscored == OnUnscored::Zero && range.low.is_finite() => {
                Self::Counted(range.low, range)
            }
            other => other,
        }
    }

    /// The lowest and highest possible value; `None` without an answer.
    pub fn range(self) -> Option<Interval> {
        match self {
            Self::Value(value) => Some(Interval::new(value, value)),
            Self::Unscored(range) | Self::Counted(_, range) => Some(range),
            Self::Missing | Self::NotApplicable => None,
        }
    }
}

/// The quantities of a scorer with these answers: for rubrics the two sums and the components of every case, for other
/// scorers all components, in order of first appearance. Without any answer, the sums.
pub(super) fn quantities(answers: &[&ScoredAnswer]) -> Vec<(MetricColumn, Quantity)> {
    let mut all: Vec<(MetricColumn, Quantity)> = Vec::new();
    let first = answers.first().map(|answer| &answer.score);
    if first.is_none_or(Score::is_weighted_sum) {
        let (name, ann_name) = first.map_or(("score", "ann_score"), Score::sum_names);
        let mut units = answers.iter().map(|answer| answer.score.unit());
        let is_net = units.any(|unit| unit == Unit::Net);
        let unit = if is_net { Unit::Net } else { Unit::Share };
        all.push((column(name, unit), Quantity::Score));
        if first.is_none_or(Score::has_ann_score) {
            all.push((column(ann_name, Unit::Share), Quantity::AnnScore));
        }
        if answers.iter().any(|answer| answer.score.is_decided()) {
            all.push((column(EXPECTED, unit), Quantity::Expected));
        }
        let components = answers.iter().flat_map(|answer| &answer.score.components);
        let mut taken = HashSet::new();
        let metrics = components
            .clone()
            .filter(|component| !component.kind.is_of_case());
        let metrics: HashSet<&str> = metrics.map(|component| component.name.as_str()).collect();
        for metric in metrics {
            taken.extend(names_of_columns(metric));
        }
        for (column, _) in &all {
            taken.extend(names_of_columns(&column.name));
        }
        let mut seen = HashSet::new();
        let tags = components.flat_map(|component| &component.tags);
        // A tree has a tag for each node.
        for tag in tags.filter(|tag| seen.insert(*tag)) {
            // A name that another column has, or may have, is taken.
            let mut metric = tag.clone();
            while is_reserved(&metric) || taken.contains(&metric) {
                metric = format!("tag {metric}");
            }
            taken.extend(names_of_columns(&metric));
            all.push((column(&metric, unit), Quantity::Tag(tag.clone())));
        }
    }
    let mut seen = HashSet::new();
    for component in answers.iter().flat_map(|answer| &answer.score.components) {
        if !component.kind.is_of_case() && seen.insert(&*component.name) {
            let name = match first {
                Some(score) => metric_of(&score.scorer, &component.name),
                None => &component.name,
            };
            let (unit, of) = (component.kind.unit(), component.name.clone());
            let is_decided = answers.iter().any(|answer| {
                let component = answer.score.component(&of);
                component.is_some_and(|component| component.belief.is_some())
            });
            all.push((column(name, unit), Quantity::Component(of.clone())));
            if is_decided {
                let expected = format!("{name}_{EXPECTED}");
                all.push((column(&expected, unit), Quantity::ExpectedComponent(of)));
            }
        }
    }
    all
}

/// Whether this is the name of a column that is not a tag.
fn is_reserved(name: &str) -> bool {
    let is_of_pooled = name
        .strip_prefix(MICRO)
        .is_some_and(|tag| tag.starts_with(' '));
    is_of_pooled || TAKEN.contains(&name) || REPORT_METRICS.contains(&name)
}

/// The columns of a metric of this name.
fn names_of_columns(metric: &str) -> [String; COLUMNS.len()] {
    COLUMNS.map(|ending| format!("{metric}{ending}"))
}

pub(super) fn column(name: &str, unit: Unit) -> MetricColumn {
    MetricColumn {
        name: name.to_owned(),
        unit,
    }
}

/// The name of a component as a metric: the mean of the citation F1 of each answer is not the F1 of a system.
pub fn metric_of<'a>(scorer: &ScorerId, component: &'a str) -> &'a str {
    scorer_named(scorer.name()).map_or(component, |info| info.name_of_mean(component))
}

impl Quantity {
    /// The components of the quantity.
    pub(super) fn components<'a>(
        &'a self,
        answer: &'a ScoredAnswer,
    ) -> impl Iterator<Item = &'a Component> {
        let components = answer.score.components.iter();
        components.filter(move |component| match self {
            Self::Score | Self::Expected => component.kind.is_weighted(),
            Self::AnnScore => component.kind.is_annotated(),
            Self::Component(name) | Self::ExpectedComponent(name) => *component.name == **name,
            Self::Tag(tag) => component.tags.contains(tag),
            Self::Mean(names) => names.iter().any(|name| **name == *component.name),
        })
    }

    /// The quantity's value in this answer.
    pub(super) fn observe(&self, answer: &ScoredAnswer) -> Observation {
        let score = &answer.score;
        match self {
            Self::Score => weighted_sum(score.value, score, |filled| Some(filled.0)),
            Self::AnnScore => weighted_sum(score.ann_score, score, |filled| filled.1),
            Self::Expected => expected_score(score),
            Self::Component(name) => component_value(score, name),
            Self::ExpectedComponent(name) => expected_value(score, name),
            Self::Tag(_) => tagged(score, &self.components(answer).collect::<Vec<_>>()),
            Self::Mean(names) => {
                let parts = names.iter().map(|name| component_value(score, name));
                mean_of(&parts.collect::<Vec<_>>())
            }
        }
    }

    /// What a net share can be in this answer: from all faults and nothing earned to everything earned without a fault. `None`
    /// where no point can be earned, and for other units, which have one range for all answers.
    pub(super) fn net_range(&self, unit: Unit, answer: &ScoredAnswer) -> Option<Interval> {
        if unit != Unit::Net || matches!(self, Self::Component(_)) {
            return None;
        }
        let mut faults = 0.0;
        let mut earned = 0.0;
        for component in &answer.score.components {
            // The score is the sum over all components; those of other kinds have no weight.
            let counts = match self {
                Self::Tag(tag) => component.tags.contains(tag),
                _ => true,
            };
            if counts {
                faults += component.weight.min(0.0);
                earned += component.weight.max(0.0);
            }
        }
        let whole = match self {
            Self::Tag(_) => earned,
            _ => 1.0,
        };
        (earned > 0.0).then(|| Interval::new(faults / whole, tidy(earned / whole)))
    }
}

/// Distinct values, in order of first appearance.
pub fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut values = Vec::new();
    for value in all {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

/// Compat mode can give NaN, which cannot be averaged.
pub(super) fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite())
}

/// The lowest and the highest value of a unit.
pub(super) fn unit_range(unit: Unit) -> Option<Interval> {
    let (low, high) = unit.range();
    high.is_finite().then_some(Interval { low, high })
}

/// The values whose mean is taken, with the question of each.
#[derive(Debug, Default)]
pub(super) struct MeanValues {
    pub(super) values: Vec<f64>,
    pub(super) questions: Vec<usize>,
    /// The range of each net share; of other units none.
    ranges: Vec<Interval>,
}

impl MeanValues {
    pub(super) fn push(&mut self, value: f64, question: usize, net_range: Option<Interval>) {
        self.values.push(value);
        self.questions.push(question);
        self.ranges.extend(net_range);
    }

    /// The interval of the mean, which for counts does not reach below 0.
    pub(super) fn interval(&self, unit: Unit, options: BootstrapOptions) -> Option<Interval> {
        let questions = Some(&*self.questions);
        let interval = match unit_range(unit) {
            Some(range) => mean_interval(&self.values, questions, Some(range), options)?,
            None => mean_interval_within(&self.values, questions, &self.ranges, options)?,
        };
        Some(Interval {
            low: interval.low.max(unit.range().0),
            ..interval
        })
    }
}

/// The means with all unscored values at their lowest and highest; `None` if nothing is unscored or unbounded.
pub(super) fn bounds(observed: &[Observation]) -> Option<Interval> {
    if !observed.iter().any(|observation| observation.is_unscored()) {
        return None;
    }
    let observed = observed.iter();
    let ranges = observed.filter_map(|observation| observation.range());
    let (lows, highs): (Vec<f64>, Vec<f64>) = ranges.map(|range| (range.low, range.high)).unzip();
    Some(Interval::new(tidy(mean(&lows)?), tidy(mean(&highs)?)))
}

/// Weights sum to 1 up to rounding: a bound of all ones is 1.
fn tidy(bound: f64) -> f64 {
    // Weights such as 0.1 sum to 0.9999999999999999, which would print as 99.9%.
    if (bound - 1.0).abs() < 1e-12 {
        1.0
    } else {
        bound
    }
}

/// The value of the component of this name.
pub(super) fn component_value(score: &Score, name: &str) -> Observation {
    let Some(component) = score.component(name) else {
        return Observation::NotApplicable;
    };
    let unbounded = Interval::new(f64::NEG_INFINITY, f64::INFINITY);
    let range = unit_range(component.kind.unit()).unwrap_or(unbounded);
    finite(component.value).map_or(Observation::Unscored(range), Observation::Value)
}

/// The expected score; not applicable to what no decision model judged. Where it gave no probabilities of a component, the
/// score could be anything.
fn expected_score(score: &Score) -> Observation {
    if !score.is_decided() {
        return Observation::NotApplicable;
    }
    let unjudged = |component: &Component| Component {
        value: None,
        ..component.clone()
    };
    let unjudged = Score {
        components: score.components.iter().map(unjudged).collect(),
        ..score.clone()
    };
    weighted_sum(score.expected, &unjudged, |filled| Some(filled.0))
}

/// The expected value of the component of this name, as [`expected_score`].
fn expected_value(score: &Score, name: &str) -> Observation {
    let Some(component) = score.component(name).filter(|_| score.is_decided()) else {
        return Observation::NotApplicable;
    };
    match &component.belief {
        Some(belief) => Observation::Value(belief.expected),
        None => match unit_range(component.kind.unit()) {
            Some(range) => Observation::Unscored(range),
            None => Observation::NotApplicable,
        },
    }
}

/// The tags of the criteria of these answers, each with the column of its score.
pub(super) fn tag_columns(answers: &[&ScoredAnswer]) -> Vec<(String, String)> {
    let mut tags = Vec::new();
    for (column, quantity) in quantities(answers) {
        if let Quantity::Tag(tag) = quantity {
            tags.push((tag, column.name));
        }
    }
    tags
}

/// The score over the criteria with a tag: their weighted credits divided by their positive weights; not applicable
/// without positive ones.
fn tagged(score: &Score, criteria: &[&Component]) -> Observation {
    let weights = criteria.iter().map(|criterion| criterion.weight.max(0.0));
    let positive: f64 = weights.sum();
    if positive <= 0.0 {
        return Observation::NotApplicable;
    }
    let [low, high] = [0.0, 1.0].map(|fill| score.cut(filled(criteria, fill) / positive));
    let is_known =
        |criterion: &&Component| finite(criterion.value).is_some() || criterion.is_abstained();
    if criteria.iter().all(is_known) {
        Observation::Value(low)
    } else {
        Observation::Unscored(Interval { low, high })
    }
}

/// The weighted credits, with `fill` of what a criterion without a value could earn: of a fault, the rest of it.
fn filled(criteria: &[&Component], fill: f64) -> f64 {
    let credits = criteria.iter().map(|criterion| {
        let missing = if criterion.weight < 0.0 {
            // Of a fault the worst is that it is met.
            1.0 - fill
        } else {
            fill
        };
        criterion.weight * finite(criterion.value).unwrap_or(missing)
    });
    credits.sum()
}

fn mean_of(parts: &[Observation]) -> Observation {
    let ranges: Option<Vec<Interval>> = parts.iter().map(|part| part.range()).collect();
    let Some(ranges) = ranges else {
        return Observation::NotApplicable;
    };
    let count = ranges.len() as f64;
    let low = ranges.iter().map(|range| range.low).sum::<f64>() / count;
    let high = ranges.iter().map(|range| range.high).sum::<f64>() / count;
    let is_known = parts.iter().all(|part| part.value().is_some());
    if is_known {
        Observation::Value(low)
    } else {
        Observation::Unscored(Interval { low, high })
    }
}

/// The value, or its bounds over every unscored component; not applicable if the score has no such sum.
fn weighted_sum(
    value: Option<f64>,
    score: &Score,
    of: impl Fn((f64, Option<f64>)) -> Option<f64>,
) -> Observation {
    if let Some(value) = finite(value) {
        return Observation::Value(value);
    }
    // If no point can be earned, there is no score to be bounded.
    let mut components = score.components.iter();
    if !components.any(|component| component.weight > 0.0) {
        return Observation::NotApplicable;
    }
    let mut known = score.clone();
    for component in &mut known.components {
        component.value = finite(component.value);
    }
    match (of(known.filled(0.0)), of(known.filled(1.0))) {
        (Some(low), Some(high)) if low.is_finite() && high.is_finite() => {
            Observation::Unscored(Interval::new(low.min(high), low.max(high)))
        }
        _ => Observation::NotApplicable,
    }
}
