//! What is measured of one answer: the metrics of a scorer, their values, and the value of each sample.

use std::collections::HashSet;
use std::sync::Arc;

use super::super::options::{ASPECT_MEAN, CITATION_F1_MACRO, CITATION_PRECISION, CITATION_RECALL, range};
use super::{MetricId, Observation};
use crate::domain::{Component, ComponentKind, Note, Score, ScoredAnswer, Unit, UnscoredKind};
use crate::stats::{Interval, mean};

/// Judges give points from 0 to this.
const MAX_POINTS: f64 = 10.0;

/// Prefix of the scorers and metrics of the lexical baseline.
const LEXICAL_PREFIX: &str = "lexical_";

/// One metric of a scorer.
pub(super) struct Measure {
    pub(super) metric: MetricId,
    /// The scorers whose scores have it.
    pub(super) scorers: Vec<&'static str>,
    pub(super) notes: Vec<Note>,
    source: Source,
}

/// Where the value stands in a score.
enum Source {
    /// The weighted sum of all components.
    Score,
    /// The weighted sum of the annotated components.
    AnnScore,
    /// The component of this kind.
    Kind(ComponentKind),
    /// The component of this name.
    Component(String),
    /// The mean of the components of these names.
    Mean(Vec<String>),
}

impl Measure {
    fn new(scorer: &'static str, name: impl Into<String>, unit: Unit, source: Source) -> Self {
        let higher_is_better = unit != Unit::Count;
        let metric = MetricId { scorer: scorer.to_owned(), name: name.into(), unit, higher_is_better };
        Self { metric, scorers: vec![scorer], notes: Vec::new(), source }
    }

    /// The metrics of a scorer with these answers, in the order of a summary. `scorers` are all there are.
    pub(super) fn all_of(scorer: &'static str, answers: &[&ScoredAnswer], scorers: &[&'static str]) -> Vec<Self> {
        if answers.iter().any(|answer| answer.score.is_weighted_sum()) {
            return Self::of_rubric(scorer, scorers);
        }
        Self::of_components(scorer, answers)
    }

    fn of_rubric(scorer: &'static str, scorers: &[&'static str]) -> Vec<Self> {
        let judged = scorer.strip_prefix(LEXICAL_PREFIX);
        let prefix = if judged.is_some() { LEXICAL_PREFIX } else { "" };
        let share = |name: &str, source| Self::new(scorer, format!("{prefix}{name}"), Unit::Share, source);
        // No judge affects the length: it is one metric whoever judged the rest.
        let judged = judged.unwrap_or(scorer);
        let is_relative = |other: &&&'static str| other.strip_prefix(LEXICAL_PREFIX).unwrap_or(other) == judged;
        let relatives: Vec<&'static str> = scorers.iter().filter(is_relative).copied().collect();
        let first = relatives.first().copied().unwrap_or(scorer);
        let length = Self::new(first, "length", Unit::Share, Source::Kind(ComponentKind::Length));
        vec![
            share("score", Source::Score),
            share("ann_score", Source::AnnScore),
            Self { scorers: relatives, ..length },
            share("expertise", Source::Kind(ComponentKind::Expertise)),
            share("citations", Source::Kind(ComponentKind::Citations)),
            share("excerpts", Source::Kind(ComponentKind::Excerpts)),
        ]
    }

    fn of_components(scorer: &'static str, answers: &[&ScoredAnswer]) -> Vec<Self> {
        let mut seen = HashSet::new();
        let all = answers.iter().flat_map(|answer| &answer.score.components);
        let columns: Vec<&Component> = all.filter(|component| seen.insert(component.name.as_str())).collect();
        let is_entailment = seen.contains(CITATION_PRECISION) && seen.contains(CITATION_RECALL);
        let own = |component: &&Component| {
            let name = component.name.clone();
            if !is_entailment || name != "citation_f1" {
                return Self::new(scorer, name.clone(), component.kind.unit(), Source::Component(name));
            }
            let note = "Compared is the mean of the answers' own F1; a system's citation_f1 is made of its two means.";
            let macro_f1 = Self::new(scorer, CITATION_F1_MACRO, Unit::Share, Source::Component(name));
            Self { notes: vec![Note::info(note)], ..macro_f1 }
        };
        let mut measures: Vec<Self> = columns.iter().map(own).collect();
        let grades = columns.iter().filter(|component| component.kind.unit() == Unit::Grade);
        let grades: Vec<String> = grades.map(|component| component.name.clone()).collect();
        if grades.len() >= 2 {
            measures.push(Self::new(scorer, ASPECT_MEAN, Unit::Grade, Source::Mean(grades)));
        }
        measures
    }

    /// A limit of the samples of these answers, if they have it.
    pub(super) fn note_on_samples<'a>(&self, mut answers: impl Iterator<Item = &'a ScoredAnswer>) -> Option<Note> {
        let has_excerpts = |answer: &ScoredAnswer| {
            answer.members.contains_key("citations")
                && answer.score.components.iter().any(|part| part.kind == ComponentKind::Excerpts && part.weight != 0.0)
        };
        let note = "Samples have their own share of cited claims, but excerpts keep their merged value.";
        (matches!(self.source, Source::Score) && answers.any(has_excerpts)).then(|| Note::info(note))
    }

    /// The components that the metric is made of.
    pub(super) fn parts<'a>(&'a self, answer: &'a ScoredAnswer) -> impl Iterator<Item = &'a Component> {
        answer.score.components.iter().filter(|component| match &self.source {
            Source::Score => component.kind.is_weighted(),
            Source::AnnScore => component.kind.is_annotated(),
            Source::Kind(kind) => component.kind == *kind,
            Source::Component(name) => component.name == *name,
            Source::Mean(names) => names.contains(&component.name),
        })
    }

    /// The mean of some of the aspects is another quantity than the mean of all.
    fn is_whole(&self, parts: usize) -> bool {
        if let Source::Mean(names) = &self.source { parts == names.len() } else { parts > 0 }
    }

    /// The value of an answer.
    pub(super) fn observation(&self, answer: &ScoredAnswer) -> Observation {
        let score = &answer.score;
        match &self.source {
            Source::Score => weighted_sum(score.value, score, |filled| Some(filled.0)),
            Source::AnnScore => weighted_sum(score.ann_score, score, |filled| filled.1),
            Source::Kind(_) | Source::Component(_) | Source::Mean(_) => {
                let parts: Vec<Observation> = self.parts(answer).map(of_component).collect();
                match &self.source {
                    _ if !self.is_whole(parts.len()) => Observation::NotApplicable,
                    Source::Mean(_) => mean_of(&parts),
                    _ => parts[0],
                }
            }
        }
    }

    /// The values of each sample, by judge: the metric with that sample of that judge in every judged component. Samples
    /// that do not give the whole metric are left out.
    pub(super) fn samples(&self, answer: &ScoredAnswer, judges: &mut Judges) -> Vec<Vec<f64>> {
        let parts: Vec<&Component> = self.parts(answer).collect();
        let mut by_judge: Vec<Vec<f64>> = Vec::new();
        if !self.is_whole(parts.len()) {
            return by_judge;
        }
        let members = || parts.iter().filter_map(|part| answer.members.get(part.name.as_str())).flatten();
        let mut seen: HashSet<&str> = HashSet::new();
        for judge in members().map(|member| &member.judge).filter(|judge| seen.insert(judge)) {
            let most = members().filter(|member| member.judge == *judge).map(|member| member.draws.len()).max();
            let sampled = |sample: usize| {
                let value = |part: &&Component| sampled_value(part, answer, judge, sample);
                let values: Option<Vec<f64>> = parts.iter().map(value).collect();
                self.fold(&parts, &values?, &answer.score).filter(|value| value.is_finite())
            };
            let values: Vec<f64> = (0..most.unwrap_or(0)).filter_map(sampled).collect();
            if !values.is_empty() {
                let place = judges.place(judge);
                by_judge.resize(by_judge.len().max(place + 1), Vec::new());
                by_judge[place] = values;
            }
        }
        by_judge
    }

    fn fold(&self, parts: &[&Component], values: &[f64], score: &Score) -> Option<f64> {
        let weighted = || parts.iter().zip(values).map(|(part, value)| part.weight * value).sum::<f64>();
        match &self.source {
            Source::Score => Some(weighted()),
            Source::AnnScore => (score.ann_divisor > 0.0).then(|| weighted() / score.ann_divisor),
            Source::Kind(_) | Source::Component(_) => values.first().copied(),
            Source::Mean(_) => mean(values),
        }
    }
}

/// The judges of a table, each with its place, in order of first appearance.
#[derive(Default)]
pub(super) struct Judges {
    known: Vec<Arc<str>>,
}

impl Judges {
    pub(super) fn count(&self) -> usize {
        self.known.len()
    }

    fn place(&mut self, judge: &Arc<str>) -> usize {
        self.known.iter().position(|known| known == judge).unwrap_or_else(|| {
            self.known.push(Arc::clone(judge));
            self.known.len() - 1
        })
    }
}

/// The component's value in that sample; what was not sampled (counted, or behind a closed gate) keeps its value.
fn sampled_value(part: &Component, answer: &ScoredAnswer, judge: &Arc<str>, sample: usize) -> Option<f64> {
    let Some(members) = answer.members.get(part.name.as_str()) else { return finite(part.value) };
    let number = (*members.iter().find(|member| member.judge == *judge)?.draws.get(sample)?)?;
    match part.kind {
        ComponentKind::Property | ComponentKind::Expertise => Some(number / MAX_POINTS),
        ComponentKind::Evidence => snippets(part, answer).map(|snippets| (number / snippets).min(1.0)),
        ComponentKind::Citations | ComponentKind::Aspect => Some(number),
        // How a custom scorer turns a verdict into a value is unknown here.
        ComponentKind::Length | ComponentKind::Excerpts | ComponentKind::Share | ComponentKind::Count => None,
    }
}

/// How many snippets a criterion has: by the rubric, or by the component's text if the run has no inputs.
fn snippets(part: &Component, answer: &ScoredAnswer) -> Option<f64> {
    let of_criterion = part.name.strip_suffix("_evidence");
    let criteria = &answer.case.rubric.criteria;
    let by_rubric = criteria.iter().rev().find(|criterion| Some(criterion.name.as_str()) == of_criterion);
    let by_text = || part.text.split_whitespace().next()?.parse::<usize>().ok();
    let count = by_rubric.map(|criterion| criterion.snippets.len()).or_else(by_text)?;
    (count > 0).then_some(count as f64)
}

pub(super) fn lacks_a_judge(component: &Component) -> bool {
    component.reason.as_ref().is_some_and(|reason| reason.kind == UnscoredKind::NoJudge)
}

/// Compat mode can give NaN.
fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite())
}

fn of_component(component: &Component) -> Observation {
    let (low, high) = range(component.kind.unit()).unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
    finite(component.value).map_or(Observation::Unscored(Interval { low, high }), Observation::Value)
}

fn mean_of(parts: &[Observation]) -> Observation {
    let ranges = || parts.iter().filter_map(|part| part.range());
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    let low = mean(ranges().map(|range| range.low).collect());
    let high = mean(ranges().map(|range| range.high).collect());
    let is_known = parts.iter().all(|part| part.value().is_some());
    if is_known { Observation::Value(low) } else { Observation::Unscored(Interval { low, high }) }
}

/// The value, or the values with every unscored component at its lowest and at its highest; not applicable if the score
/// has no such sum.
fn weighted_sum(value: Option<f64>, score: &Score, of: impl Fn((f64, Option<f64>)) -> Option<f64>) -> Observation {
    if let Some(value) = finite(value) {
        return Observation::Value(value);
    }
    let mut known = score.clone();
    known.components.iter_mut().for_each(|component| component.value = finite(component.value));
    match (of(known.filled(0.0)), of(known.filled(1.0))) {
        (Some(low), Some(high)) if low.is_finite() && high.is_finite() => {
            Observation::Unscored(Interval { low: low.min(high), high: low.max(high) })
        }
        _ => Observation::NotApplicable,
    }
}
