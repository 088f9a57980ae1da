//! What is measured of one answer: the metrics that a scorer's scores hold, their values, and the values of each draw.

use std::collections::HashSet;
use std::sync::Arc;

use super::super::section::{ASPECT_MEAN, CITATION_F1_MACRO, CITATION_PRECISION, CITATION_RECALL, range};
use super::{MetricId, Observation};
use crate::domain::{Component, ComponentKind, Score, ScoredAnswer, Unit, UnscoredKind};

/// Judges give points from 0 to this.
const MAX_POINTS: f64 = 10.0;

/// Scores of the lexical baseline go under a scorer and metrics with this before their names.
const LEXICAL_PREFIX: &str = "lexical_";

/// One metric of a scorer.
pub(super) struct Measure {
    pub(super) metric: MetricId,
    /// Whose scores it is read from.
    pub(super) scorers: Vec<&'static str>,
    pub(super) notes: Vec<String>,
    what: What,
}

/// Where the value stands in a score.
enum What {
    /// The weighted sum of all components.
    Score,
    /// That of the annotated ones.
    AnnScore,
    /// The component of this kind.
    Kind(ComponentKind),
    /// The component of this name.
    Component(String),
    /// The mean of the components of these names.
    Mean(Vec<String>),
}

impl Measure {
    fn new(scorer: &'static str, name: impl Into<String>, unit: Unit, what: What) -> Self {
        let higher_is_better = unit != Unit::Count;
        let metric = MetricId { scorer: scorer.to_owned(), name: name.into(), unit, higher_is_better };
        Self { metric, scorers: vec![scorer], notes: Vec::new(), what }
    }

    /// The metrics of a scorer with these answers, in the order of a summary. `scorers` are all there are.
    pub(super) fn all_of(scorer: &'static str, answers: &[&ScoredAnswer], scorers: &[&'static str]) -> Vec<Self> {
        if answers.iter().any(|answer| answer.score.is_weighted_sum()) {
            return Self::of_a_rubric(scorer, scorers);
        }
        Self::of_components(scorer, answers)
    }

    fn of_a_rubric(scorer: &'static str, scorers: &[&'static str]) -> Vec<Self> {
        let plain = scorer.strip_prefix(LEXICAL_PREFIX);
        let share = |name: &str, what| {
            let prefix = if plain.is_some() { LEXICAL_PREFIX } else { "" };
            Self::new(scorer, format!("{prefix}{name}"), Unit::Share, what)
        };
        // No judge touches the length: it is one metric whoever judged the rest.
        let family =
            |other: &&&'static str| other.strip_prefix(LEXICAL_PREFIX).unwrap_or(other) == plain.unwrap_or(scorer);
        let relatives: Vec<&'static str> = scorers.iter().filter(family).copied().collect();
        let first = relatives.first().copied().unwrap_or(scorer);
        let length =
            Self { scorers: relatives, ..Self::new(first, "length", Unit::Share, What::Kind(ComponentKind::Length)) };
        vec![
            share("score", What::Score),
            share("ann_score", What::AnnScore),
            length,
            share("expertise", What::Kind(ComponentKind::Expertise)),
            share("citations", What::Kind(ComponentKind::Citations)),
            share("excerpts", What::Kind(ComponentKind::Excerpts)),
        ]
    }

    fn of_components(scorer: &'static str, answers: &[&ScoredAnswer]) -> Vec<Self> {
        let mut seen = HashSet::new();
        let all = answers.iter().flat_map(|answer| &answer.score.components);
        let columns: Vec<&Component> = all.filter(|component| seen.insert(component.name.as_str())).collect();
        let is_entailment = seen.contains(CITATION_PRECISION) && seen.contains(CITATION_RECALL);
        let own = |component: &&Component| {
            let what = What::Component(component.name.clone());
            if !is_entailment || component.name != "citation_f1" {
                return Self::new(scorer, component.name.clone(), component.kind.unit(), what);
            }
            let note = "a system's citation_f1 is made of its two means and no answer has one: compared is the mean of the \
                        answers' own F1";
            Self { notes: vec![note.to_owned()], ..Self::new(scorer, CITATION_F1_MACRO, Unit::Share, what) }
        };
        let mut measures: Vec<Self> = columns.iter().map(own).collect();
        let grades = columns.iter().filter(|component| component.kind.unit() == Unit::Grade);
        let grades: Vec<String> = grades.map(|component| component.name.clone()).collect();
        if grades.len() >= 2 {
            measures.push(Self::new(scorer, ASPECT_MEAN, Unit::Grade, What::Mean(grades)));
        }
        measures
    }

    /// What a reader must know of the draws of these answers, where there are any.
    pub(super) fn note_on_draws<'a>(&self, mut answers: impl Iterator<Item = &'a ScoredAnswer>) -> Option<String> {
        let has_excerpts = |answer: &ScoredAnswer| {
            answer.members.contains_key("citations")
                && answer.score.components.iter().any(|part| part.kind == ComponentKind::Excerpts && part.weight != 0.0)
        };
        let note = "of each draw about claims the share of cited claims is known, not that of quoted citations: excerpts \
                    have their merged value in every draw";
        (matches!(self.what, What::Score) && answers.any(has_excerpts)).then(|| note.to_owned())
    }

    /// The components that the metric is made of.
    pub(super) fn parts<'a>(&'a self, answer: &'a ScoredAnswer) -> impl Iterator<Item = &'a Component> {
        answer.score.components.iter().filter(|component| match &self.what {
            What::Score => component.kind.is_weighted(),
            What::AnnScore => component.kind.is_annotated(),
            What::Kind(kind) => component.kind == *kind,
            What::Component(name) => component.name == *name,
            What::Mean(names) => names.contains(&component.name),
        })
    }

    /// The value of an answer.
    pub(super) fn observation(&self, answer: &ScoredAnswer) -> Observation {
        let score = &answer.score;
        match &self.what {
            What::Score => or_filled(score.value, score, |score, fill| Some(score.filled(fill).0)),
            What::AnnScore => or_filled(score.ann_score, score, |score, fill| score.filled(fill).1),
            What::Kind(_) | What::Component(_) => self.parts(answer).next().map_or(Observation::Absent, of_component),
            What::Mean(names) => {
                let parts: Vec<Observation> = self.parts(answer).map(of_component).collect();
                // The mean of other aspects is another quantity.
                if parts.len() == names.len() { mean_of(&parts) } else { Observation::Absent }
            }
        }
    }

    /// The values of each draw, by judge: the metric as it would be with that draw of that judge in every judged
    /// component. Draws that do not give the whole metric are left out.
    pub(super) fn draws(&self, answer: &ScoredAnswer, judges: &mut Judges) -> Vec<Vec<f64>> {
        let parts: Vec<&Component> = self.parts(answer).collect();
        let complete = if let What::Mean(names) = &self.what { parts.len() == names.len() } else { !parts.is_empty() };
        let said = || parts.iter().filter_map(|part| answer.members.get(part.name.as_str())).flatten();
        let mut by_judge: Vec<Vec<f64>> = Vec::new();
        let mut seen: HashSet<&str> = HashSet::new();
        for member in said().filter(|member| complete && seen.insert(&member.judge)) {
            let most = said().filter(|other| other.judge == member.judge).map(|other| other.draws.len()).max();
            let drawn = |draw: usize| {
                let value = |part: &&Component| drawn_value(part, answer, &member.judge, draw);
                let values: Option<Vec<f64>> = parts.iter().map(value).collect();
                self.fold(&parts, &values?, &answer.score).filter(|value| value.is_finite())
            };
            let values: Vec<f64> = (0..most.unwrap_or(0)).filter_map(drawn).collect();
            if !values.is_empty() {
                let place = judges.place(&member.judge);
                by_judge.resize(by_judge.len().max(place + 1), Vec::new());
                by_judge[place] = values;
            }
        }
        by_judge
    }

    fn fold(&self, parts: &[&Component], values: &[f64], score: &Score) -> Option<f64> {
        let weighted = || parts.iter().zip(values).map(|(part, value)| part.weight * value).sum::<f64>();
        match &self.what {
            What::Score => Some(weighted()),
            What::AnnScore => (score.ann_divisor > 0.0).then(|| weighted() / score.ann_divisor),
            What::Kind(_) | What::Component(_) => values.first().copied(),
            What::Mean(_) => Some(values.iter().sum::<f64>() / values.len() as f64),
        }
    }
}

/// The judges of a table, each with its place, in the order they are met.
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

/// The component as that draw has it; what was not drawn (counted, or behind a closed gate) keeps its value.
fn drawn_value(part: &Component, answer: &ScoredAnswer, judge: &Arc<str>, draw: usize) -> Option<f64> {
    let Some(said) = answer.members.get(part.name.as_str()) else { return finite(part.value) };
    let number = (*said.iter().find(|member| member.judge == *judge)?.draws.get(draw)?)?;
    match part.kind {
        ComponentKind::Property | ComponentKind::Expertise => Some(number / MAX_POINTS),
        ComponentKind::Evidence => snippets(part, answer).map(|snippets| (number / snippets).min(1.0)),
        ComponentKind::Citations | ComponentKind::Aspect => Some(number),
        // What a scorer of one's own makes of a verdict is not known here.
        ComponentKind::Length | ComponentKind::Excerpts | ComponentKind::Share | ComponentKind::Count => None,
    }
}

/// How many snippets a criterion has: by the rubric, or as the component tells it where the run does not keep inputs.
fn snippets(part: &Component, answer: &ScoredAnswer) -> Option<f64> {
    let of_criterion = part.name.strip_suffix("_evidence");
    let criteria = &answer.case.rubric.criteria;
    let by_rubric = criteria.iter().rev().find(|criterion| Some(criterion.name.as_str()) == of_criterion);
    let told = || part.text.split_whitespace().next()?.parse::<usize>().ok();
    let count = by_rubric.map(|criterion| criterion.snippets.len()).or_else(told)?;
    (count > 0).then_some(count as f64)
}

pub(super) fn lacks_a_judge(component: &Component) -> bool {
    component.reason.as_ref().is_some_and(|reason| reason.kind == UnscoredKind::NoJudge)
}

fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite())
}

fn of_component(component: &Component) -> Observation {
    let (low, high) = range(component.kind.unit()).unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
    finite(component.value).map_or(Observation::Unscored { low, high }, Observation::Value)
}

fn mean_of(parts: &[Observation]) -> Observation {
    let ends = |part: &Observation| match *part {
        Observation::Value(value) => (value, value),
        Observation::Unscored { low, high } => (low, high),
        Observation::Absent => (f64::NEG_INFINITY, f64::INFINITY),
    };
    let (lows, highs): (Vec<f64>, Vec<f64>) = parts.iter().map(ends).unzip();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let is_known = parts.iter().all(|part| part.value().is_some());
    if is_known {
        Observation::Value(mean(&lows))
    } else {
        Observation::Unscored { low: mean(&lows), high: mean(&highs) }
    }
}

/// The value, or what it would be with what is missing at its lowest and at its highest; absent where the score has no
/// such sum.
fn or_filled(value: Option<f64>, score: &Score, filled: impl Fn(&Score, f64) -> Option<f64>) -> Observation {
    if let Some(value) = finite(value) {
        return Observation::Value(value);
    }
    let mut known = score.clone();
    known.components.iter_mut().for_each(|component| component.value = finite(component.value));
    match (filled(&known, 0.0), filled(&known, 1.0)) {
        (Some(low), Some(high)) if low.is_finite() && high.is_finite() => {
            Observation::Unscored { low: low.min(high), high: low.max(high) }
        }
        _ => Observation::Absent,
    }
}
