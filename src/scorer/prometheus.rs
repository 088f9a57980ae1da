//! Aspect grades (Prometheus): coverage, relevance, organization, or custom aspects.
//!
//! Source: `format_prompt` of ScholarQABench's `prometheus_eval.py` (95e6fc5); rules: `docs/metrics.md`. One call per
//! aspect. The sources that an aspect needs are appended to the answer; `prompt` renders the rest.

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::domain::{
    Answer, Aspect, Component, ComponentKind, GradeMerge, Judgment, Mode, Prediction, Reading,
    Role, Score, TestCase, Unit, UnscoredKind, UnscoredReason, Verdict,
};
use crate::question::{AspectGrade, JudgeCall};
use crate::scorer::citation::IndexBase;
use crate::scorer::{
    InputNeed, Scorer, ScorerInfo, ScorerReference, ScorerRoles, Step, Subject, Verdicts,
};

use super::predicted::{prediction_of, question_of};

/// Name of the mean of the aspects.
pub const ASPECT_MEAN: &str = "aspect_mean";

/// The scorer by aspects.
pub static PROMETHEUS: ScorerInfo = ScorerInfo {
    name: "prometheus",
    help: "Grades of 1 to 5 in aspects (Prometheus)",
    roles: ScorerRoles::Aspects,
    needs: InputNeed::Questions,
    unit: Unit::Grade,
    score_name: Some(ASPECT_MEAN),
    headline: &[ASPECT_MEAN],
    reference: ScorerReference::QaBench,
    make: |setup| {
        Arc::new(PrometheusScorer {
            aspects: setup.aspects.to_vec(),
            instruction: setup.instruction.into(),
            top_n: setup.top_n,
            index_base: setup.index_base,
            mode: setup.mode,
            use_reference: setup.use_reference,
        })
    },
    restore: |recorded| {
        Ok(Arc::new(PrometheusScorer {
            mode: recorded.mode,
            ..recorded.scorer()?
        }))
    },
};

/// Asks for a grade 1..=5 per aspect. The score is the mean of the grades.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrometheusScorer {
    /// The aspects; names are distinct.
    pub aspects: Vec<Arc<Aspect>>,
    /// Text before the question; may be empty.
    pub instruction: Arc<str>,
    /// Maximum number of cited sources to append; the published number is 10.
    pub top_n: usize,
    /// Whether markers count sources from 0 or 1.
    pub index_base: IndexBase,
    /// Scoring rules.
    #[serde(skip)]
    pub mode: Mode,
    /// Whether a reference answer, if there is one, illustrates grade 5.
    pub use_reference: bool,
}

impl PrometheusScorer {
    /// Every call that scoring this answer needs, one per aspect.
    pub fn all_calls(&self, case: &TestCase, answer: &Answer) -> Vec<JudgeCall> {
        let prediction = prediction_of(answer);
        let question: Arc<str> = question_of(case, &prediction).into();
        let reference = self.reference(answer, &prediction);
        let mut seen = HashSet::new();
        let distinct = self
            .aspects
            .iter()
            .filter(|aspect| seen.insert(Arc::clone(&aspect.name)));
        distinct
            .map(|aspect| {
                let question = AspectGrade {
                    aspect: Arc::clone(aspect),
                    instruction: Arc::clone(&self.instruction),
                    question: Arc::clone(&question),
                    answer: self.shown_answer(aspect, &prediction).into(),
                    reference: reference.clone(),
                };
                let item = Arc::clone(&aspect.name);
                let role = Role::Aspect(Arc::clone(&item));
                JudgeCall::new(item, role, question)
            })
            .collect()
    }

    fn reference(&self, answer: &Answer, prediction: &Prediction) -> Option<Arc<str>> {
        let given = || {
            answer
                .reference_answer
                .clone()
                .or_else(|| prediction.gold.answer.as_deref().map(Arc::from))
        };
        if self.use_reference { given() } else { None }
    }

    /// The output, followed by `final_passages` if present, else by the cited sources as far as the aspect needs them.
    /// The reference never appends sources, and puts no line break before the passages.
    fn shown_answer(&self, aspect: &Aspect, prediction: &Prediction) -> String {
        let output = prediction.output();
        match (&prediction.final_passages, self.mode) {
            (Some(passages), Mode::Compat) => format!("{output}References:\n{passages}"),
            (Some(passages), Mode::Default) => format!("{output}\n\nReferences:\n{passages}"),
            (None, Mode::Compat) => output.to_owned(),
            (None, Mode::Default) => format!("{output}{}", self.cited(aspect, prediction)),
        }
    }

    fn cited(&self, aspect: &Aspect, prediction: &Prediction) -> String {
        if !aspect.use_title && !aspect.use_docs {
            return String::new();
        }
        let mut block = String::new();
        for place in prediction
            .cited_sources(self.index_base)
            .into_iter()
            .take(self.top_n)
        {
            let Some(source) = prediction.sources.get(place) else {
                continue;
            };
            let title = source.title.as_deref().unwrap_or_default().trim();
            let text = if aspect.use_docs {
                source.text.as_deref().unwrap_or_default().trim()
            } else {
                ""
            };
            let between = if title.is_empty() || text.is_empty() {
                ""
            } else {
                ": "
            };
            block.push_str(&format!(
                "\n[{}] {title}{between}{text}",
                self.index_base.number_of(place)
            ));
        }
        if block.is_empty() {
            block
        } else {
            format!("\n\nReferences:{block}")
        }
    }
}

impl Scorer for PrometheusScorer {
    fn name(&self) -> &str {
        PROMETHEUS.name
    }

    fn roles(&self) -> Vec<Role> {
        self.aspects
            .iter()
            .map(|aspect| Role::Aspect(Arc::clone(&aspect.name)))
            .collect()
    }

    fn settings(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn step(&self, subject: &Subject<'_>, verdicts: &Verdicts) -> Step {
        let Subject { case, answer, .. } = *subject;
        let has_no_reference =
            self.use_reference && self.reference(answer, &prediction_of(answer)).is_none();
        if has_no_reference && self.mode == Mode::Compat {
            let what = "the reference needs a reference answer";
            let reason = UnscoredReason::new(UnscoredKind::Exception, what);
            return Step::Done(self.score(|_| Err(reason.clone()), Vec::new()));
        }
        let open = |aspect: &Arc<Aspect>| !verdicts.contains_key(&aspect.name);
        if self.aspects.iter().any(open) {
            let mut calls = self.all_calls(case, answer);
            calls.retain(|call| !verdicts.contains_key(&call.item));
            return Step::Ask(calls);
        }
        let note = "no reference answer: none was shown to the judge".to_owned();
        let notes = if has_no_reference {
            vec![note]
        } else {
            Vec::new()
        };
        Step::Done(self.score(|aspect| grade(verdicts.get(&aspect.name)), notes))
    }
}

/// A grade with the judge's feedback.
type Graded = Result<(f64, Option<String>), UnscoredReason>;

impl PrometheusScorer {
    fn score(&self, graded: impl Fn(&Aspect) -> Graded, mut notes: Vec<String>) -> Score {
        let component = |aspect: &Arc<Aspect>| {
            let component = Component::new(&aspect.name, ComponentKind::Aspect);
            component
                .with_text(&aspect.criteria_description)
                .with(graded(aspect))
        };
        let components: Vec<Component> = self.aspects.iter().map(component).collect();
        let missing: Vec<&str> = components
            .iter()
            .filter(|c| c.value.is_none())
            .map(|c| &*c.name)
            .collect();
        if !missing.is_empty() && missing.len() < components.len() {
            notes.push(format!(
                "no grade for {}: left out of the mean",
                missing.join(", ")
            ));
        }
        let grades: Vec<f64> = components
            .iter()
            .filter_map(|component| component.value)
            .collect();
        let value = GradeMerge::Mean.of(&grades);
        Score {
            scorer: PROMETHEUS.name.into(),
            value,
            components,
            notes,
            ..Score::default()
        }
    }
}

fn grade(judged: Option<&Judgment>) -> Graded {
    match judged {
        Some(Ok(Reading {
            verdict: Verdict::Grade(grade),
            feedback,
        })) => Ok((*grade, feedback.clone())),
        Some(Ok(_)) => Err(UnscoredReason::other_kind()),
        Some(Err(reason)) => Err(reason.clone()),
        None => Err(UnscoredReason::new(UnscoredKind::NotAsked, "not asked")),
    }
}

#[cfg(test)]
mod tests;
