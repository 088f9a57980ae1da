//! Numbers of a set of answers that are not means over its answers.
//!
//! An aspect mean is the mean of the aspects' means, a macro score that of the means of groups of cases, a citation F1 the harmonic
//! mean of mean precision and mean recall, a citation accuracy the share of all pairs of a statement and a page, and a micro score
//! that of the criteria of all answers. Each has one definition here, whatever the set is: all answers of a
//! system in a run's summary, those to shared cases in tables and on the page. Comparisons test a number of single answers in its
//! place, since only that has a difference in every question.

use std::collections::BTreeMap;

use super::quantity::{
    ASPECT_MEAN, CITATION_F1, CITATION_F1_MACRO, CITATION_PRECISION, CITATION_RECALL, MACRO_SCORE,
    MICRO, MetricColumn, Observation, OnUnscored, Quantity, component_value, distinct, tag_columns,
    unit_range,
};
use super::summary::Metric;
use scholareval_core::domain::{
    CaseGroup, ComponentKind, PageKind, ScoredAnswer, ScorerId, SupportState, Unit,
};
use scholareval_scorers::pages::{ACCURACY, ACCURACY_MACRO, PAGES};
use scholareval_stats::{
    BootstrapOptions, Interval, WeightedUnit, f1_of_means, harmonic_mean, mean, mean_of_means,
    weighted_share,
};

/// A number of a set of answers.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum SetNumber {
    /// The mean of the means of these aspects.
    AspectMean(Vec<String>),
    /// The harmonic mean of mean citation precision and mean citation recall.
    CitationF1,
    /// The mean of the mean scores of these groups of cases; with the column of the score.
    GroupMean(Vec<CaseGroup>, MetricColumn),
    /// The share of all criteria, or of those with this tag, that are met or, of faults, avoided; with the column of the score, or
    /// of the tag.
    CriteriaShare(Option<String>, String),
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
            numbers.push(Self::GroupMean(groups, score.clone()));
        }
        let mut scores = answers.iter().map(|answer| &answer.score);
        if let Some(score) = columns
            .first()
            .filter(|_| scores.any(|score| score.is_pooled))
        {
            numbers.push(Self::CriteriaShare(None, score.name.clone()));
            for (tag, column) in tag_columns(answers) {
                numbers.push(Self::CriteriaShare(Some(tag), column));
            }
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
            Self::CriteriaShare(None, _) => MICRO.to_owned(),
            Self::CriteriaShare(Some(_), column) => format!("{MICRO} {column}"),
            Self::CitationAccuracy(None) => ACCURACY.to_owned(),
            Self::CitationAccuracy(Some(kind)) => format!("{ACCURACY}_{}", kind.name()),
        }
    }

    pub(super) fn unit(&self) -> Unit {
        match self {
            Self::AspectMean(_) => Unit::Grade,
            Self::GroupMean(_, score) => score.unit,
            Self::CitationF1 | Self::CitationAccuracy(_) | Self::CriteriaShare(..) => Unit::Share,
        }
    }

    /// The metric of single answers that comparisons test in its place.
    pub(super) fn of_answers(&self) -> &str {
        match self {
            Self::AspectMean(_) => ASPECT_MEAN,
            Self::CitationF1 => CITATION_F1_MACRO,
            Self::GroupMean(_, score) => &score.name,
            Self::CriteriaShare(_, column) => column,
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
            Self::CriteriaShare(tag, _) => vec![criteria(answer, tag.as_ref(), on_unscored)],
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

    /// Whether it is a share of what all answers have together.
    fn is_pooled(&self) -> bool {
        matches!(self, Self::CitationAccuracy(_) | Self::CriteriaShare(..))
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
            Self::CitationAccuracy(_) | Self::CriteriaShare(..) => 1,
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
        let has_value: Vec<bool> = parts.iter().map(|(_, count)| *count > 0.0).collect();
        if !has_value.contains(&true) {
            return Vec::new();
        }
        let weights = self.part_weights(&has_value);
        let whole: f64 = weights.iter().sum();
        let weighted = parts.iter().zip(&weights);
        let center = weighted
            .map(|((mean, _), weight)| mean * weight)
            .sum::<f64>()
            / whole;
        let mut values = Vec::with_capacity(answers.len());
        for answer in answers {
            let mut moved = 0.0;
            for (part, (mean, count)) in parts.iter().enumerate() {
                if let Some(value) = answer.value(part) {
                    moved += weights[part] * (value - mean) / count;
                }
            }
            values.push(center + moved * answers.len() as f64 / whole);
        }
        values
    }

    fn estimate(
        &self,
        answers: &[(usize, &SetAnswer)],
        options: BootstrapOptions,
    ) -> (Option<f64>, Option<Interval>) {
        if self.is_pooled() {
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
                let weights = self.part_weights(&of_parts_with_value(&values, self.parts()));
                mean_of_means(&values, &weights, range, &questions, options)
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
        if let Self::CitationF1 = self {
            return means[0].zip(means[1]).map(|(p, r)| harmonic_mean(p, r));
        }
        let has_value: Vec<bool> = means.iter().map(Option::is_some).collect();
        let weights = self.part_weights(&has_value);
        let whole: f64 = weights.iter().sum();
        let mut sum = 0.0;
        for (mean, weight) in means.into_iter().zip(&weights) {
            sum += weight * mean.unwrap_or_default();
        }
        (whole > 0.0).then(|| sum / whole)
    }

    /// The weight of the mean of each part in the number: 1, but groups within another one share its weight. A part without a
    /// value has none.
    fn part_weights(&self, has_value: &[bool]) -> Vec<f64> {
        let outer = |part: usize| match self {
            Self::GroupMean(groups, _) => {
                let group = &groups[part];
                group.within.as_ref().unwrap_or(&group.name).to_string()
            }
            _ => part.to_string(),
        };
        let mut counts: BTreeMap<String, f64> = BTreeMap::new();
        for part in (0..has_value.len()).filter(|part| has_value[*part]) {
            *counts.entry(outer(part)).or_default() += 1.0;
        }
        let parts = has_value.iter().enumerate();
        parts
            .map(|(part, has_value)| match counts.get(&outer(part)) {
                Some(count) if *has_value => 1.0 / count,
                _ => 0.0,
            })
            .collect()
    }
}

/// The score of an answer as the part of its group.
fn of_groups(
    answer: &ScoredAnswer,
    groups: &[CaseGroup],
    on_unscored: OnUnscored,
) -> Vec<Vec<Observation>> {
    let score = Quantity::Score.observe(answer).by_policy(on_unscored);
    let is_group = |group: &CaseGroup| answer.score.group.as_ref() == Some(group);
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

/// Which parts have a value in any of these answers.
fn of_parts_with_value(values: &[Vec<Option<f64>>], parts: usize) -> Vec<bool> {
    (0..parts)
        .map(|part| values.iter().any(|answer| answer[part].is_some()))
        .collect()
}

/// The criteria of an answer with a tag, or all: 1 for one that is met or, of a fault, avoided. Those that the judge cannot
/// assess are left out.
fn criteria(
    answer: &ScoredAnswer,
    tag: Option<&String>,
    on_unscored: OnUnscored,
) -> Vec<Observation> {
    let mut observations = Vec::new();
    for component in &answer.score.components {
        let is_counted = component.kind == ComponentKind::Criterion
            && tag.is_none_or(|tag| component.tags.contains(tag));
        if !is_counted || component.is_abstained() {
            continue;
        }
        observations.push(match component.value {
            Some(value) if component.is_fault() => Observation::Value(1.0 - value),
            Some(value) => Observation::Value(value),
            None => Observation::Unscored(Interval::new(0.0, 1.0)).by_policy(on_unscored),
        });
    }
    observations
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

/// The judged pairs, or criteria, as units of a share; of a part of a criterion, that part is met.
fn units(answers: &[(usize, &SetAnswer)]) -> Vec<WeightedUnit> {
    let mut units = Vec::new();
    for (question, answer) in answers {
        let observations = answer.parts.iter().flatten();
        let values = observations.filter_map(|observation| observation.value());
        for value in values {
            let parts = [(value, true), (1.0 - value, false)];
            units.extend(parts.map(|(weight, is_hit)| WeightedUnit {
                weight,
                is_hit,
                question: *question,
            }));
        }
    }
    units
}
