//! Aspect grades (Prometheus): coverage, relevance, organization, or custom aspects.
//!
//! Source: `format_prompt` of ScholarQABench's `prometheus_eval.py` (95e6fc5); rules: `docs/metrics.md`. One call per
//! aspect. The sources that an aspect needs are appended to the answer; `prompt` renders the rest.

use std::collections::HashSet;
use std::sync::Arc;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::citation::IndexBase;
use crate::values::{self, ComponentValue};
use crate::{InputNeed, Scorer, ScorerInfo, ScorerReference, ScorerRoles, Step, Subject, Verdicts};
use scholareval_core::domain::{
    Answer, Aspect, Component, ComponentKind, GradeMerge, Mode, Prediction, Role, Score, TestCase,
    Unit, UnscoredKind, UnscoredReason, Verdict,
};
use scholareval_core::question::{AspectGrade, JudgeCall};

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
    binary: &[],
    means_named: &[],
    optional: &[],
    directions: &[],
    reference: ScorerReference::QaBench,
    make: |new| {
        let options = &new.options.aspects;
        Arc::new(PrometheusScorer {
            aspects: new.aspects.to_vec(),
            instruction: options.instruction.as_str().into(),
            top_n: options.top_n,
            index_base: new.options.markers.index_base,
            mode: new.mode,
            use_reference: !options.no_reference,
        })
    },
    restore: |recorded| {
        Ok(Arc::new(PrometheusScorer {
            mode: recorded.mode,
            ..recorded.scorer()?
        }))
    },
};

/// Options of the scorer.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Scorers")]
pub struct AspectOptions {
    /// Grade only these aspects [default: all of the rubrics]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub aspects: Vec<String>,
    /// Grade aspects without reference answers
    #[arg(long)]
    pub no_reference: bool,
    /// Text before the question in grading prompts; published: "Answer the question related to the most
    /// recent scientific literature." [default: nothing]
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    pub instruction: String,
    /// Show at most N of the cited sources to judges of aspects
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top_n: usize,
}

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
        let mut calls = Vec::new();
        for aspect in &self.aspects {
            if !seen.insert(&aspect.name) {
                continue;
            }
            let question = AspectGrade {
                aspect: Arc::clone(aspect),
                instruction: Arc::clone(&self.instruction),
                question: Arc::clone(&question),
                answer: self.shown_answer(aspect, &prediction).into(),
                reference: reference.clone(),
            };
            let item = Arc::clone(&aspect.name);
            let role = Role::Aspect(Arc::clone(&item));
            calls.push(JudgeCall::new(item, role, question));
        }
        calls
    }

    fn reference(&self, answer: &Answer, prediction: &Prediction) -> Option<Arc<str>> {
        if !self.use_reference {
            return None;
        }
        let gold = || prediction.gold.answer.as_deref().map(Arc::from);
        answer.reference_answer.clone().or_else(gold)
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
            .cited_sources(self.index_base, self.mode)
            .into_iter()
            // In the order of citation: the judge sees the sources that the answer leans on first.
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
            return Step::Done(self.score(vec![Err(reason); self.aspects.len()], Vec::new()));
        }
        let mut aspects = self.aspects.iter();
        // The calls hold whole texts; they are not made again for the score.
        let calls = if aspects.any(|aspect| !verdicts.contains_key(&aspect.name)) {
            values::without_verdict(self.all_calls(case, answer), verdicts)
        } else {
            Vec::new()
        };
        values::ask_or_score(calls, || {
            let mut notes = Vec::new();
            if has_no_reference {
                notes.push("no reference answer: none was shown to the judge".to_owned());
            }
            let aspects = self.aspects.iter();
            let grades = aspects.map(|aspect| grade(verdicts, aspect)).collect();
            self.score(grades, notes)
        })
    }
}

impl PrometheusScorer {
    /// The score of these grades, one for each aspect: the mean of those that are there.
    fn score(&self, grades: Vec<ComponentValue>, mut notes: Vec<String>) -> Score {
        let mut components = Vec::with_capacity(grades.len());
        let mut known = Vec::new();
        let mut missing: Vec<&str> = Vec::new();
        for (aspect, grade) in self.aspects.iter().zip(grades) {
            match &grade {
                Ok((grade, _)) => known.push(*grade),
                Err(_) => missing.push(&aspect.name),
            }
            let component = Component::new(&aspect.name, ComponentKind::Aspect)
                .with_text(&aspect.criteria_description);
            components.push(component.with(grade));
        }
        if !missing.is_empty() && !known.is_empty() {
            notes.push(format!(
                "no grade for {}: left out of the mean",
                missing.join(", ")
            ));
        }
        Score {
            scorer: PROMETHEUS.name.into(),
            value: GradeMerge::Mean.of(&known),
            components,
            notes,
            ..Score::default()
        }
    }
}

fn grade(verdicts: &Verdicts, aspect: &Aspect) -> ComponentValue {
    let reading = values::reading(verdicts, &aspect.name)?;
    let grade = match reading.verdict {
        Verdict::Grade(grade) => Some(grade),
        _ => None,
    };
    values::value_of(reading, grade)
}

#[cfg(test)]
mod tests;
