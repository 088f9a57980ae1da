//! The columns of one scorer in the scorecard: means over the answers of each system.

use std::collections::{BTreeMap, BTreeSet};

use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Serialize, Serializer};

use super::questions::{Questions, Sample, mean_intervals};
use super::summarize::{AggregateOptions, OnUnscored, count_notes, count_reasons};
use super::{Metric, NoteCount, ReasonCount};
use crate::domain::{CaseId, Component, MAX_GRADE, MIN_GRADE, Mode, ScoredAnswer, SystemName, Unit, UnscoredKind};
use crate::stats::{BcaOptions, bca_sums_intervals, mean};

/// The mean over a system's aspects.
pub const ASPECT_MEAN: &str = "aspect_mean";
/// The harmonic mean of a system's mean citation precision and mean citation recall.
pub const CITATION_F1: &str = "citation_f1";
/// The mean of the answers' own citation F1.
pub const CITATION_F1_MACRO: &str = "citation_f1_macro";
pub(super) const CITATION_PRECISION: &str = "citation_precision";
pub(super) const CITATION_RECALL: &str = "citation_recall";

/// One quantity of a scorer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Its name in tables and files.
    pub name: String,
    /// What its numbers are.
    pub unit: Unit,
}

/// The mean of one quantity over a system's answers, with what would move it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SectionMetric {
    /// Mean, interval, how many values, how many without one.
    pub metric: Metric,
    /// The mean if every value that is not there were the lowest or the highest there is; `None` if none is missing, and
    /// for counts, which have no highest.
    pub bounds: Option<(f64, f64)>,
    /// The mean over the cases that every system has a value for, and their number, where the systems' cases differ: the
    /// means themselves do not compare then.
    pub shared: Option<(f64, usize)>,
}

impl Serialize for SectionMetric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Metric { estimate, interval, n, unscored } = self.metric;
        let mut fields = serializer.serialize_struct("SectionMetric", 9)?;
        fields.serialize_field("estimate", &estimate)?;
        fields.serialize_field("low", &interval.map(|interval| interval.0))?;
        fields.serialize_field("high", &interval.map(|interval| interval.1))?;
        fields.serialize_field("n", &n)?;
        fields.serialize_field("unscored", &unscored)?;
        fields.serialize_field("lower_bound", &self.bounds.map(|bounds| bounds.0))?;
        fields.serialize_field("upper_bound", &self.bounds.map(|bounds| bounds.1))?;
        fields.serialize_field("shared_estimate", &self.shared.map(|shared| shared.0))?;
        fields.serialize_field("shared_n", &self.shared.map(|shared| shared.1))?;
        fields.end()
    }
}

/// One system in a section.
#[derive(Debug, Clone, PartialEq)]
pub struct SectionRow {
    /// Whose answers.
    pub system: SystemName,
    /// How many answers the scorer saw.
    pub items: usize,
    /// Answers with at least one component without a value.
    pub unscored: usize,
    /// Those of them that lack only what no judge has the role for.
    pub unjudged: usize,
    /// Why, by kind, most frequent first.
    pub unscored_reasons: Vec<ReasonCount>,
    /// A metric a column; without any value where the column does not apply to the system's answers.
    pub metrics: Vec<SectionMetric>,
}

/// The columns of one scorer.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// The scorer's name.
    pub scorer: &'static str,
    /// Its quantities.
    pub columns: Vec<Column>,
    /// The systems, in the order of the scorecard.
    pub rows: Vec<SectionRow>,
    /// What its scores say about how they came about, with the number of answers that say so.
    pub notes: Vec<NoteCount>,
}

impl Serialize for Section {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Rows<'a>(&'a Section);
        struct Row<'a>(&'a [Column], &'a SectionRow);
        impl Serialize for Rows<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_seq(self.0.rows.iter().map(|row| Row(&self.0.columns, row)))
            }
        }
        impl Serialize for Row<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(None)?;
                map.serialize_entry("system", &self.1.system)?;
                map.serialize_entry("items", &self.1.items)?;
                map.serialize_entry("unscored", &self.1.unscored)?;
                map.serialize_entry("unscored_reasons", &self.1.unscored_reasons)?;
                let metrics: BTreeMap<&str, &SectionMetric> =
                    self.0.iter().map(|column| column.name.as_str()).zip(&self.1.metrics).collect();
                map.serialize_entry("metrics", &metrics)?;
                map.end()
            }
        }
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("scorer", self.scorer)?;
        map.serialize_entry("columns", &self.columns)?;
        map.serialize_entry("rows", &Rows(self))?;
        map.serialize_entry("notes", &self.notes)?;
        map.end()
    }
}

impl Section {
    /// The section of these scores of one scorer (answers by system, in the order of the rows). A component that an
    /// answer lacks does not apply to it; one without a value is unscored.
    pub(super) fn of(
        scorer: &'static str,
        systems: &[(&SystemName, Vec<&ScoredAnswer>)],
        questions: &Questions<'_>,
        options: AggregateOptions,
    ) -> Self {
        let all = || systems.iter().flat_map(|(_, answers)| answers.iter().copied());
        let mut columns: Vec<Column> = Vec::new();
        for component in all().flat_map(|answer| &answer.score.components) {
            if !columns.iter().any(|column| column.name == component.name) {
                columns.push(Column { name: component.name.clone(), unit: component.kind.unit() });
            }
        }
        // The order decides what a seed draws: that of the ids, as where systems are compared.
        let mut by_id = systems.to_vec();
        by_id.iter_mut().for_each(|(_, answers)| answers.sort_by(|a, b| a.case.case_id.cmp(&b.case.case_id)));
        let from = Made { questions, options };
        let rows = by_id.iter().map(|(system, answers)| row(system, answers, &columns, from)).collect();
        let mut section = Self { scorer, columns, rows, notes: count_notes(all()) };
        section.add_shared_means(&by_id, options);
        section.add_aspect_mean(&by_id, from);
        section.add_citation_f1(&by_id, from);
        section
    }

    /// Where the systems have values for different cases, the means over those that all have.
    fn add_shared_means(&mut self, systems: &[(&SystemName, Vec<&ScoredAnswer>)], options: AggregateOptions) {
        for (at, column) in self.columns.iter().enumerate() {
            let of_system = |answers: &Vec<&ScoredAnswer>| -> BTreeMap<CaseId, f64> {
                let value = |answer: &&ScoredAnswer| {
                    let component = answer.score.component(&column.name)?;
                    Some((answer.case.case_id.clone(), value_of(component, options)?))
                };
                answers.iter().filter_map(value).collect()
            };
            let values: Vec<BTreeMap<CaseId, f64>> = systems.iter().map(|(_, answers)| of_system(answers)).collect();
            let with_any = || values.iter().filter(|of| !of.is_empty());
            let Some(first) = with_any().next() else { continue };
            if with_any().all(|of| of.keys().eq(first.keys())) {
                continue;
            }
            let shared: Vec<&CaseId> = first.keys().filter(|case| with_any().all(|of| of.contains_key(case))).collect();
            for (row, of) in self.rows.iter_mut().zip(&values) {
                let own: Vec<f64> = shared.iter().filter_map(|case| of.get(*case).copied()).collect();
                if let Some(metric) = row.metrics.get_mut(at) {
                    metric.shared = mean(&own).map(|mean| (mean, own.len()));
                }
            }
        }
    }

    /// The place of the column of that name.
    pub fn place(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// The mean of the aspects' means, as a column. Its interval stands only where every answer has every aspect: then
    /// it is that of a mean over answers.
    fn add_aspect_mean(&mut self, systems: &[(&SystemName, Vec<&ScoredAnswer>)], from: Made<'_>) {
        let aspects: Vec<usize> =
            (0..self.columns.len()).filter(|place| self.columns[*place].unit == Unit::Grade).collect();
        if aspects.len() < 2 {
            return;
        }
        for (row, (_, answers)) in self.rows.iter_mut().zip(systems) {
            let means: Vec<f64> = aspects.iter().filter_map(|place| row.metrics[*place].metric.estimate).collect();
            let complete = aspects.iter().all(|place| row.metrics[*place].metric.n == answers.len());
            // With the policy's values for missing grades, as in the columns.
            let own = answers.iter().map(|answer| {
                let grades = answer.score.components.iter().filter(|component| component.kind.unit() == Unit::Grade);
                let own = mean(&grades.filter_map(|grade| value_of(grade, from.options)).collect::<Vec<_>>());
                Some((from.questions.number(&answer.case.case_id), own?))
            });
            let own: Sample = own.flatten().collect();
            let is_whole = complete && own.values.len() == answers.len();
            let interval = if is_whole { mean_intervals(&[&own], from.bca())[0] } else { None };
            let n = answers.iter().filter(|answer| answer.score.is_complete()).count();
            // An aspect without any grade makes the reference's average NaN.
            let is_undefined = from.options.mode == Mode::Compat && means.len() < aspects.len();
            let estimate = if is_undefined { None } else { mean(&means) };
            let metric = Metric { estimate, interval, n, unscored: answers.len() - n };
            let bounds = self.columns.iter().zip(&row.metrics).filter(|(column, _)| column.unit == Unit::Grade);
            let bounds: Vec<(f64, f64)> = bounds
                .filter_map(|(_, metric)| metric.bounds.or_else(|| metric.metric.estimate.map(|mean| (mean, mean))))
                .collect();
            let (lows, highs): (Vec<f64>, Vec<f64>) = bounds.into_iter().unzip();
            let bounds = if metric.unscored > 0 { mean(&lows).zip(mean(&highs)) } else { None };
            row.metrics.push(SectionMetric { metric, bounds, shared: None });
        }
        self.columns.push(Column { name: ASPECT_MEAN.to_owned(), unit: Unit::Grade });
    }

    /// A system's citation F1 is the harmonic mean of its two means; the mean of the answers' own F1 stands beside it.
    fn add_citation_f1(&mut self, systems: &[(&SystemName, Vec<&ScoredAnswer>)], from: Made<'_>) {
        let (Some(precision), Some(recall)) = (self.place(CITATION_PRECISION), self.place(CITATION_RECALL)) else {
            return;
        };
        let macro_f1 = self.place(CITATION_F1);
        if let Some(own) = macro_f1 {
            CITATION_F1_MACRO.clone_into(&mut self.columns[own].name);
        }
        let place = macro_f1.unwrap_or(recall + 1).min(self.columns.len());
        self.columns.insert(place, Column { name: CITATION_F1.to_owned(), unit: Unit::Share });
        for (row, (_, answers)) in self.rows.iter_mut().zip(systems) {
            let metric = harmonic_metric(row, (precision, recall), answers, from);
            row.metrics.insert(place, metric);
        }
    }
}

fn harmonic(precision: f64, recall: f64) -> f64 {
    if precision + recall > 0.0 { 2.0 * precision * recall / (precision + recall) } else { 0.0 }
}

fn harmonic_metric(
    row: &SectionRow,
    (precision, recall): (usize, usize),
    answers: &[&ScoredAnswer],
    from: Made<'_>,
) -> SectionMetric {
    let (precision, recall) = (row.metrics[precision], row.metrics[recall]);
    let of = |p: Option<f64>, r: Option<f64>| p.zip(r).map(|(p, r)| harmonic(p, r));
    let estimate = of(precision.metric.estimate, recall.metric.estimate);
    // A question is drawn with all its cases: one row of sums.
    let mut by_question: BTreeMap<usize, [f64; 4]> = BTreeMap::new();
    for answer in answers {
        let value = |name| answer.score.component(name).and_then(|component| value_of(component, from.options));
        let pair = |value: Option<f64>| (value.unwrap_or(0.0), f64::from(u8::from(value.is_some())));
        let ((p, has_p), (r, has_r)) = (pair(value(CITATION_PRECISION)), pair(value(CITATION_RECALL)));
        let sums = by_question.entry(from.questions.number(&answer.case.case_id)).or_default();
        sums.iter_mut().zip([p, has_p, r, has_r]).for_each(|(sum, own)| *sum += own);
    }
    let sums: Vec<[f64; 4]> = by_question.into_values().collect();
    let share = |sum: f64, count: f64| if count > 0.0 { sum / count } else { 0.0 };
    let statistic = |sums: &[f64; 4]| [harmonic(share(sums[0], sums[1]), share(sums[2], sums[3]))];
    let [interval] = bca_sums_intervals(&sums, statistic, from.bca());
    let ends = |which: fn((f64, f64)) -> f64| {
        let end = |metric: SectionMetric| metric.bounds.map(which).or(metric.metric.estimate);
        of(end(precision), end(recall))
    };
    let has_bounds = precision.bounds.is_some() || recall.bounds.is_some();
    let metric = Metric {
        estimate,
        interval: estimate.and(interval).map(|interval| (interval.low, interval.high)),
        n: precision.metric.n.min(recall.metric.n),
        unscored: precision.metric.unscored.max(recall.metric.unscored),
    };
    let bounds = if has_bounds { ends(|bounds| bounds.0).zip(ends(|bounds| bounds.1)) } else { None };
    SectionMetric { metric, bounds, shared: None }
}

/// What the numbers of a section are made with.
#[derive(Clone, Copy)]
struct Made<'a> {
    questions: &'a Questions<'a>,
    options: AggregateOptions,
}

impl Made<'_> {
    fn bca(self) -> BcaOptions {
        BcaOptions::seeded(self.options.seed)
    }
}

fn row(system: &SystemName, answers: &[&ScoredAnswer], columns: &[Column], from: Made<'_>) -> SectionRow {
    let of_column = |column: &Column| -> Vec<&Component> {
        answers.iter().filter_map(|answer| answer.score.component(&column.name)).collect()
    };
    let sample = |column: &Column| -> Sample {
        let own = answers.iter().filter_map(|answer| {
            let value = value_of(answer.score.component(&column.name)?, from.options)?;
            Some((from.questions.number(&answer.case.case_id), value))
        });
        own.collect()
    };
    let components: Vec<Vec<&Component>> = columns.iter().map(of_column).collect();
    // Of a column that nobody judges the answers that happened to need no judge would stand for all.
    let known = |(column, of): (&Column, &Vec<&Component>)| {
        if is_unjudged(of) { Sample::default() } else { sample(column) }
    };
    let samples: Vec<Sample> = columns.iter().zip(&components).map(known).collect();
    let intervals = mean_intervals(&samples.iter().collect::<Vec<_>>(), from.bca());
    let metrics = columns.iter().zip(&components).zip(samples.iter().zip(intervals)).map(
        |((column, components), (Sample { values, .. }, interval))| {
            let unscored = components.iter().filter(|component| finite(component.value).is_none()).count();
            let metric = Metric { estimate: mean(values), interval, n: values.len(), unscored };
            let is_unjudged = is_unjudged(components);
            let bounds = if unscored > 0 && !is_unjudged { bounds(components, column.unit) } else { None };
            SectionMetric { metric, bounds, shared: None }
        },
    );
    SectionRow {
        system: system.clone(),
        items: answers.len(),
        unscored: answers.iter().filter(|answer| !answer.score.is_complete()).count(),
        unjudged: answers.iter().filter(|answer| lacks_only_judges(answer)).count(),
        unscored_reasons: count_reasons(answers),
        metrics: metrics.collect(),
    }
}

fn lacks_a_judge(component: &Component) -> bool {
    component.reason.as_ref().is_some_and(|reason| reason.kind == UnscoredKind::NoJudge)
}

fn is_unjudged(components: &[&Component]) -> bool {
    components.iter().any(|component| lacks_a_judge(component))
}

fn lacks_only_judges(answer: &ScoredAnswer) -> bool {
    let mut missing = answer.score.components.iter().filter(|component| finite(component.value).is_none()).peekable();
    missing.peek().is_some() && missing.all(lacks_a_judge)
}

fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite())
}

/// The lowest and the highest value there is.
pub(super) fn range(unit: Unit) -> Option<(f64, f64)> {
    match unit {
        Unit::Share => Some((0.0, 1.0)),
        Unit::Grade => Some((MIN_GRADE, MAX_GRADE)),
        Unit::Count => None,
    }
}

/// A component's value under the policy: `zero` fills in the lowest value there is.
fn value_of(component: &Component, options: AggregateOptions) -> Option<f64> {
    let fill = || match options.on_unscored {
        OnUnscored::Exclude => None,
        OnUnscored::Zero => range(component.kind.unit()).map(|range| range.0),
    };
    finite(component.value).or_else(fill)
}

fn bounds(components: &[&Component], unit: Unit) -> Option<(f64, f64)> {
    let (low, high) = range(unit)?;
    let filled = |fill: f64| {
        let values: Vec<f64> = components.iter().map(|component| finite(component.value).unwrap_or(fill)).collect();
        mean(&values)
    };
    filled(low).zip(filled(high))
}

/// Scorers in the order of their first score.
pub(super) fn scorers_of<'a>(scored: impl Iterator<Item = &'a ScoredAnswer>) -> Vec<&'static str> {
    let mut seen = BTreeSet::new();
    scored.map(|answer| answer.score.scorer).filter(|scorer| seen.insert(*scorer)).collect()
}

#[cfg(test)]
mod tests;
