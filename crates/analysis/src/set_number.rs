//! Numbers of a set of answers that are not means over its answers.
//!
//! An aspect mean is the mean of the aspects' means, a macro score that of the means of groups of cases, a citation F1 the harmonic mean of mean precision and mean recall, and a citation
//! accuracy the share of all pairs of a statement and a page. Each has one definition here, whatever the set is: all answers of a
//! system in a run's summary, those to shared cases in tables and on the page. Comparisons test a number of single answers in its
//! place, since only that has a difference in every question.

use std::sync::Arc;

use super::quantity::{
    ASPECT_MEAN, CITATION_F1, CITATION_F1_MACRO, CITATION_PRECISION, CITATION_RECALL, MetricColumn,
    Observation, OnUnscored, Quantity, component_value, distinct, unit_range,
};
use super::summary::Metric;
use scholareval_core::domain::{PageKind, ScoredAnswer, ScorerId, SupportState, Unit};
use scholareval_scorers::pages::{ACCURACY, ACCURACY_MACRO, PAGES};
use scholareval_stats::{
    BootstrapOptions, Interval, WeightedUnit, f1_of_means, harmonic_mean, mean, mean_of_means,
    weighted_share,
};

/// The mean of the mean scores of the groups of cases.
pub(super) const MACRO_SCORE: &str = "macro_score";

/// A number of a set of answers.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum SetNumber {
    /// The mean of the means of these aspects.
    AspectMean(Vec<String>),
    /// The harmonic mean of mean citation precision and mean citation recall.
    CitationF1,
    /// The mean of the mean scores of these groups of cases.
    GroupMean(Vec<Arc<str>>, Unit),
    /// The supported share of the judged pairs of a statement and a page, with one kind of page or with any.
    CitationAccuracy(Option<PageKind>),
}

/// What an answer gives to a number of its set.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SetAnswer {
    /// Whether any of its components has no value.
    pub(super) is_unscored: bool,
    /// Its values by part of the number: one for an aspect, for precision or recall, and one for each pair.
    pub(super) parts: Vec<Vec<Observation>>,
}

impl SetAnswer {
    /// The first value of a part.
    fn value(&self, part: usize) -> Option<f64> {
        let mut observations = self.parts[part].iter();
        observations.find_map(|observation| observation.value())
    }
}

impl SetNumber {
    /// The numbers of a scorer with these columns and answers.
    pub(super) fn all(
        scorer: &ScorerId,
        columns: &[MetricColumn],
        answers: &[&ScoredAnswer],
    ) -> Vec<Self> {
        let mut numbers = Vec::new();
        let has = |name: &str| columns.iter().any(|column| column.name == name);
        let aspects = columns.iter().filter(|column| column.unit == Unit::Grade);
        let aspects: Vec<String> = aspects.map(|column| column.name.clone()).collect();
        if aspects.len() >= 2 {
            numbers.push(Self::AspectMean(aspects));
        }
        if has(CITATION_PRECISION) && has(CITATION_RECALL) {
            numbers.push(Self::CitationF1);
        }
        let groups = distinct(
            answers
                .iter()
                .filter_map(|answer| answer.score.group.as_ref()),
        );
        if let Some(score) = columns.first().filter(|_| !groups.is_empty()) {
            let groups = groups.into_iter().cloned().collect();
            numbers.push(Self::GroupMean(groups, score.unit));
        }
        if scorer.name() == PAGES.name {
            numbers.push(Self::CitationAccuracy(None));
            let kinds = PageKind::ALL.map(|kind| Self::CitationAccuracy(Some(kind)));
            let mut kinds = kinds.to_vec();
            kinds.retain(|number| answers.iter().any(|answer| number.has_pairs(answer)));
            if kinds.len() > 1 {
                numbers.append(&mut kinds);
            }
        }
        numbers
    }

    fn has_pairs(&self, answer: &ScoredAnswer) -> bool {
        let parts = self.observe(answer, OnUnscored::Exclude).parts;
        let mut values = parts.iter().flatten();
        values.any(|value| value.value().is_some())
    }

    /// Its name as a column.
    pub(super) fn name(&self) -> String {
        match self {
            Self::AspectMean(_) => ASPECT_MEAN.to_owned(),
            Self::CitationF1 => CITATION_F1.to_owned(),
            Self::GroupMean(..) => MACRO_SCORE.to_owned(),
            Self::CitationAccuracy(None) => ACCURACY.to_owned(),
            Self::CitationAccuracy(Some(kind)) => format!("{ACCURACY}_{}", kind.name()),
        }
    }

    pub(super) fn unit(&self) -> Unit {
        match self {
            Self::AspectMean(_) => Unit::Grade,
            Self::GroupMean(_, unit) => *unit,
            Self::CitationF1 | Self::CitationAccuracy(_) => Unit::Share,
        }
    }

    /// The metric of single answers that comparisons test in its place.
    pub(super) fn of_answers(&self) -> &'static str {
        match self {
            Self::AspectMean(_) => ASPECT_MEAN,
            Self::CitationF1 => CITATION_F1_MACRO,
            Self::GroupMean(..) => "score",
            Self::CitationAccuracy(_) => ACCURACY_MACRO,
        }
    }

    /// What this answer gives, by this policy for components without a value. Open pairs have no value by any policy.
    pub(super) fn observe(&self, answer: &ScoredAnswer, on_unscored: OnUnscored) -> SetAnswer {
        let component =
            |name: &str| vec![component_value(&answer.score, name).by_policy(on_unscored)];
        let parts = match self {
            Self::AspectMean(names) => names.iter().map(|name| component(name)).collect(),
            Self::CitationF1 => [CITATION_PRECISION, CITATION_RECALL]
                .map(component)
                .to_vec(),
            Self::GroupMean(groups, _) => of_groups(answer, groups, on_unscored),
            Self::CitationAccuracy(kind) => vec![pairs(answer, *kind)],
        };
        SetAnswer {
            is_unscored: !answer.score.is_complete(),
            parts,
        }
    }

    /// Whether a case counts in a part only if it has a value of every system there: pairs are as many as an answer cites.
    pub(super) fn needs_values(&self) -> bool {
        !matches!(self, Self::CitationAccuracy(_))
    }

    /// The number of these answers, each with its question.
    pub(super) fn measure(
        &self,
        answers: &[(usize, &SetAnswer)],
        options: BootstrapOptions,
    ) -> Metric {
        let (estimate, interval) = self.estimate(answers, options);
        let has_value =
            |part: &Vec<Observation>| part.iter().any(|observation| observation.value().is_some());
        let all = answers.iter().map(|(_, answer)| answer);
        let counted = all
            .clone()
            .filter(|answer| self.is_counted(answer, has_value));
        Metric {
            estimate,
            interval: estimate.and(interval),
            n: counted.count(),
            unscored: all.filter(|answer| answer.is_unscored).count(),
            bounds: self.bounds(answers),
            ..Metric::default()
        }
    }

    /// Whether an answer has what it can give to the number: a score to one of the groups, and to other numbers each part.
    fn is_counted(&self, answer: &SetAnswer, has_value: fn(&Vec<Observation>) -> bool) -> bool {
        let mut parts = answer.parts.iter();
        match self {
            Self::GroupMean(..) => parts.any(has_value),
            _ => parts.all(has_value),
        }
    }

    /// The number of its parts.
    pub(super) fn parts(&self) -> usize {
        match self {
            Self::AspectMean(names) => names.len(),
            Self::GroupMean(groups, _) => groups.len(),
            Self::CitationF1 => 2,
            Self::CitationAccuracy(_) => 1,
        }
    }

    /// Whether a part of the number has no value in any of these answers.
    pub(super) fn lacks_part(&self, answers: &[&SetAnswer]) -> bool {
        (0..self.parts()).any(|part| {
            let mut values = answers.iter().flat_map(|answer| &answer.parts[part]);
            values.all(|observation| observation.value().is_none())
        })
    }

    /// A value for each of these answers: the mean of its parts' means, moved by its deviation in each part it has, so that the mean of
    /// the values is that mean, and without gaps each is the mean of that answer.
    pub(super) fn values_of(&self, answers: &[&SetAnswer]) -> Vec<f64> {
        let mut parts: Vec<(f64, f64)> = Vec::new();
        for part in 0..self.parts() {
            let values = answers.iter().filter_map(|answer| answer.value(part));
            let values: Vec<f64> = values.collect();
            parts.push((mean(&values).unwrap_or_default(), values.len() as f64));
        }
        let known = parts.iter().filter(|(_, count)| *count > 0.0);
        let means: Vec<f64> = known.map(|(mean, _)| *mean).collect();
        let Some(center) = mean(&means) else {
            return Vec::new();
        };
        let mut values = Vec::with_capacity(answers.len());
        for answer in answers {
            let mut moved = 0.0;
            for (part, (mean, count)) in parts.iter().enumerate() {
                if let Some(value) = answer.value(part) {
                    moved += (value - mean) / count;
                }
            }
            values.push(center + moved * answers.len() as f64 / means.len() as f64);
        }
        values
    }

    fn estimate(
        &self,
        answers: &[(usize, &SetAnswer)],
        options: BootstrapOptions,
    ) -> (Option<f64>, Option<Interval>) {
        if let Self::CitationAccuracy(_) = self {
            let share = weighted_share(&units(answers), options.level);
            return (
                share.map(|share| share.share),
                share.and_then(|share| share.interval),
            );
        }
        let mut questions: Vec<usize> = Vec::new();
        let mut values: Vec<Vec<Option<f64>>> = Vec::new();
        for (question, answer) in answers {
            let parts: Vec<Option<f64>> =
                (0..self.parts()).map(|part| answer.value(part)).collect();
            // An answer without any value says nothing, and does not count as a question of the interval.
            if parts.iter().any(Option::is_some) {
                questions.push(*question);
                values.push(parts);
            }
        }
        let estimate = self.of_parts(answers, |observation| observation.value());
        let interval = match self {
            Self::AspectMean(_) | Self::GroupMean(..) => {
                let unbounded = Interval::new(f64::NEG_INFINITY, f64::INFINITY);
                let range = unit_range(self.unit()).unwrap_or(unbounded);
                mean_of_means(&values, range, &questions, options)
            }
            _ => {
                let both = values.iter().map(|means| [means[0], means[1]]);
                f1_of_means(&both.collect::<Vec<_>>(), &questions, options).1
            }
        };
        (estimate, interval)
    }

    /// The number with everything that is unscored at its lowest, and at its highest; `None` if nothing is.
    fn bounds(&self, answers: &[(usize, &SetAnswer)]) -> Option<Interval> {
        let parts = answers.iter().flat_map(|(_, answer)| &answer.parts);
        if !parts.flatten().any(|observation| observation.is_unscored()) {
            return None;
        }
        let low = self.of_parts(answers, |observation| Some(observation.range()?.low))?;
        let high = self.of_parts(answers, |observation| Some(observation.range()?.high))?;
        Some(Interval { low, high })
    }

    /// The number by these values; parts without any are left out of a mean, and leave no F1.
    fn of_parts(
        &self,
        answers: &[(usize, &SetAnswer)],
        value: impl Fn(Observation) -> Option<f64>,
    ) -> Option<f64> {
        let mut means = Vec::new();
        for part in 0..self.parts() {
            let values = answers.iter().flat_map(|(_, answer)| &answer.parts[part]);
            let values = values.filter_map(|observation| value(*observation));
            means.push(mean(&values.collect::<Vec<_>>()));
        }
        match self {
            Self::CitationF1 => means[0].zip(means[1]).map(|(p, r)| harmonic_mean(p, r)),
            _ => mean(&means.into_iter().flatten().collect::<Vec<_>>()),
        }
    }
}

/// The score of an answer as the part of its group.
fn of_groups(
    answer: &ScoredAnswer,
    groups: &[Arc<str>],
    on_unscored: OnUnscored,
) -> Vec<Vec<Observation>> {
    let score = Quantity::Score.observe(answer).by_policy(on_unscored);
    let is_group = |group: &Arc<str>| answer.score.group.as_ref() == Some(group);
    let parts = groups.iter();
    parts
        .map(|group| {
            if is_group(group) {
                vec![score]
            } else {
                Vec::new()
            }
        })
        .collect()
}

/// The pairs of an answer with one kind of page, or with any.
fn pairs(answer: &ScoredAnswer, kind: Option<PageKind>) -> Vec<Observation> {
    let share = Interval::new(0.0, 1.0);
    let mut pairs = Vec::new();
    for page in &answer.score.pages {
        let page_kind = page.read.as_ref().map(|read| read.page_kind);
        if kind.is_some() && page_kind != kind {
            continue;
        }
        for statement in &page.statements {
            pairs.push(match statement.verdict {
                SupportState::Supported => Observation::Value(1.0),
                SupportState::Unsupported => Observation::Value(0.0),
                SupportState::Open => Observation::Unscored(share),
            });
        }
    }
    pairs
}

/// The judged pairs as units of a share.
fn units(answers: &[(usize, &SetAnswer)]) -> Vec<WeightedUnit> {
    let mut units = Vec::new();
    for (question, answer) in answers {
        let observations = answer.parts.iter().flatten();
        let values = observations.filter_map(|observation| observation.value());
        units.extend(values.map(|value| WeightedUnit {
            weight: 1.0,
            is_hit: value > 0.0,
            question: *question,
        }));
    }
    units
}
