//! The ScholarQA-CS rubric score.
//!
//! Formulas: `docs/metrics.md`, section 1; reference: `RubricCorpusQaGenericMetric.score_output` of ScholarQABench
//! 95e6fc5. A score is the weighted sum of
//!
//! - `length`, counted: 1 - (clamp(words, low, high) - low) / (high - low);
//! - `expertise` and every property: the judge's points / 10;
//! - `citations` and `excerpts`: shares of cited claims and of quoted citations, from one claims reply;
//! - `<property>_evidence`: min(snippets counted / snippets, 1), asked only if the property has no criterion or its
//!   points are not 0; else 0.

mod plan;

use std::sync::Arc;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::values::{self, ComponentValue};
use crate::{InputNeed, Scorer, ScorerInfo, ScorerReference, ScorerRoles, Step, Subject, Verdicts};
use scholareval_core::domain::{
    Answer, BatchSize, Component, Mode, Role, Rubric, RubricParts, Score, TestCase, Unit,
    UnscoredKind, UnscoredReason, Verdict, WeightedSums,
};
use scholareval_core::question::{Citations, Expertise, JudgeCall, Property, SnippetEvidence};
use scholareval_core::text::words::word_count;

use plan::{ComponentSource, PlannedComponent, RubricPlan};

/// Judges give 0 to this many points.
const MAX_POINTS: f64 = 10.0;

/// The scorer by the rubric of ScholarQA-CS.
pub static RUBRIC: ScorerInfo = ScorerInfo {
    name: "rubric",
    help: "The ScholarQA-CS rubric of the test case",
    roles: ScorerRoles::One(Role::Rubric),
    needs: InputNeed::Rubric,
    unit: Unit::Share,
    score_name: Some("score"),
    headline: &["score"],
    binary: &[],
    means_named: &[],
    optional: &[],
    directions: &[],
    reference: ScorerReference::QaBench,
    make: |new| {
        let scorer = RubricScorer::new(new.options.rubric.parts(), new.mode);
        Arc::new(scorer.judged_by_baseline(new.is_baseline))
    },
    restore: |recorded| {
        let scorer = RubricScorer::new(recorded.parts, recorded.mode);
        Ok(Arc::new(scorer.judged_by_baseline(recorded.is_baseline)))
    },
};

/// A half of a ScholarQA-CS rubric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RubricPart {
    /// What answers should say.
    Criteria,
    /// Supporting texts that answers should convey.
    Snippets,
}

/// Options of the scorers of test cases.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Scorers")]
pub struct RubricOptions {
    /// Score only the criteria or only the snippets of ScholarQA-CS rubrics [default: both]
    #[arg(long, value_name = "PART", value_enum)]
    pub only: Option<RubricPart>,
    /// Score questions annotated twice under both rubrics and report their agreement
    #[arg(long)]
    pub agreement: bool,
    /// Criteria asked in one call [default: as the rubric says]
    #[arg(long, value_name = "N|all", value_parser = BatchSize::from_text)]
    pub criteria_per_call: Option<BatchSize>,
}

impl RubricOptions {
    /// Which halves of the rubrics are scored.
    pub fn parts(&self) -> RubricParts {
        RubricParts {
            rubrics: self.only != Some(RubricPart::Snippets),
            snippets: self.only != Some(RubricPart::Criteria),
        }
    }
}

/// Scores answers by the rubric of their test case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RubricScorer {
    parts: RubricParts,
    mode: Mode,
    is_baseline: bool,
}

impl RubricScorer {
    /// A scorer for these halves of a rubric.
    ///
    /// In [`Mode::Compat`] the verdicts must have been parsed in that mode too: numbers are not range-checked, and a
    /// score for which the reference has no number is unscored.
    pub fn new(parts: RubricParts, mode: Mode) -> Self {
        Self {
            parts,
            mode,
            is_baseline: false,
        }
    }

    /// Sets whether the built-in baseline judges: its scores are never called `score`.
    #[must_use]
    pub fn judged_by_baseline(self, is_baseline: bool) -> Self {
        Self {
            is_baseline,
            ..self
        }
    }

    /// Every call that scoring this answer may need: those of [`Scorer::step`] if every gate opens.
    pub fn all_calls(&self, case: &TestCase, answer: &Answer) -> Vec<JudgeCall> {
        let plan = RubricPlan::new(&case.rubric, self.parts, self.mode);
        if plan.refused.is_some() {
            return Vec::new();
        }
        plan.components
            .iter()
            .filter_map(|planned| call(planned, &case.rubric, answer))
            .collect()
    }

    /// Every component of the case's score with its kind, weight (a share of 1) and text, without a value: a template
    /// for scores computed elsewhere. `ann_divisor` and notes follow the scorer's mode.
    ///
    /// ```
    /// use scholareval_core::domain::{Mode, RubricParts, TestCase};
    /// use scholareval_scorers::rubric::RubricScorer;
    ///
    /// let score = RubricScorer::new(RubricParts::BOTH, Mode::Default)
    ///     .unjudged(&TestCase::without_rubric("c1".into(), "why?"));
    /// let names: Vec<&str> = score.components.iter().map(|component| &*component.name).collect();
    /// assert_eq!(names, ["length", "expertise", "citations", "excerpts"]);
    /// assert_eq!(score.value, None);
    /// ```
    pub fn unjudged(&self, case: &TestCase) -> Score {
        let plan = RubricPlan::new(&case.rubric, self.parts, self.mode);
        self.unscored(plan, &values::not_judged())
    }

    /// The score without any value, for this reason.
    fn unscored(&self, plan: RubricPlan, reason: &UnscoredReason) -> Score {
        let values = vec![Err(reason.clone()); plan.components.len()];
        self.fold(plan, values)
    }

    /// The value of a component that has no verdict when all calls are made.
    fn value_without_verdict(
        &self,
        source: ComponentSource,
        rubric: &Rubric,
        answer: &Answer,
    ) -> ComponentValue {
        if source != ComponentSource::Length {
            return Err(values::not_asked());
        }
        // Compat mode alone counts an appended block of references.
        let text = match self.mode {
            Mode::Default => answer.own_text(),
            Mode::Compat => &answer.answer_text,
        };
        Ok((length_score(rubric, word_count(text)), None))
    }

    fn fold(&self, plan: RubricPlan, values: Vec<ComponentValue>) -> Score {
        let mut components: Vec<Component> = Vec::with_capacity(values.len());
        for (planned, value) in plan.components.into_iter().zip(values) {
            add(planned.component.with(value), &mut components);
        }
        let is_complete = components.iter().all(|component| component.value.is_some());
        let is_annotated = match self.mode {
            Mode::Default => components
                .iter()
                .all(|component| !component.kind.is_annotated() || component.value.is_some()),
            // If the reference fails, there is no score of any kind.
            Mode::Compat => is_complete,
        };
        let has_ann_score = is_annotated && plan.ann_divisor > 0.0;
        let sums = WeightedSums::of(&components, 0.0);
        Score {
            scorer: RUBRIC.score_id(self.is_baseline),
            value: is_complete.then_some(sums.all),
            ann_score: has_ann_score.then(|| sums.annotated / plan.ann_divisor),
            ann_divisor: plan.ann_divisor,
            components,
            notes: plan.notes,
            ..Score::default()
        }
    }
}

impl Scorer for RubricScorer {
    fn name(&self) -> &str {
        RUBRIC.name
    }

    fn template(&self, case: &TestCase) -> Option<Score> {
        Some(self.unjudged(case))
    }

    fn step(&self, subject: &Subject<'_>, verdicts: &Verdicts) -> Step {
        let Subject { case, answer, .. } = *subject;
        let rubric = &case.rubric;
        let plan = RubricPlan::new(rubric, self.parts, self.mode);
        if let Some(reason) = plan.refused.clone() {
            return Step::Done(self.unscored(plan, &reason));
        }
        let mut calls = Vec::new();
        let mut known: Vec<Option<ComponentValue>> = Vec::with_capacity(plan.components.len());
        for (index, planned) in plan.components.iter().enumerate() {
            let gate = match plan.gate(index) {
                Some(criterion) => SnippetGate::behind(known[criterion].as_ref()),
                None => SnippetGate::Open,
            };
            let value = match gate {
                SnippetGate::Closed(value) => Some(value),
                SnippetGate::Waiting => None,
                SnippetGate::Open if verdicts.contains_key(planned.item.as_str()) => {
                    Some(judged_value(planned, rubric, verdicts))
                }
                SnippetGate::Open => {
                    let call = call(planned, rubric, answer);
                    calls.extend(call.map(|call| call.opening(plan.behind(index))));
                    None
                }
            };
            known.push(value);
        }
        values::ask_or_score(calls, || {
            let mut all: Vec<ComponentValue> = Vec::with_capacity(known.len());
            for (value, planned) in known.into_iter().zip(&plan.components) {
                all.push(
                    value.unwrap_or_else(|| {
                        self.value_without_verdict(planned.source, rubric, answer)
                    }),
                );
            }
            self.fold(plan, all)
        })
    }
}

/// Whether a component can be asked about now; only snippets ever wait.
enum SnippetGate {
    /// It can.
    Open,
    /// The criterion of these snippets has no verdict yet.
    Waiting,
    /// The snippets have this value without being asked about.
    Closed(ComponentValue),
}

impl SnippetGate {
    /// The gate behind a criterion: it must have earned something.
    fn behind(criterion: Option<&ComponentValue>) -> Self {
        match criterion {
            None => Self::Waiting,
            Some(Err(_)) => Self::Closed(Err(UnscoredReason::new(
                UnscoredKind::DependsOnUnscored,
                "its criterion is unscored",
            ))),
            // NaN is not zero: the reference continues, and nothing else can be NaN.
            Some(Ok((value, _))) if *value == 0.0 => Self::Closed(Ok((0.0, None))),
            Some(Ok(_)) => Self::Open,
        }
    }
}

/// The value of a component from its verdict.
fn judged_value(
    planned: &PlannedComponent,
    rubric: &Rubric,
    verdicts: &Verdicts,
) -> ComponentValue {
    let reading = values::reading(verdicts, &planned.item)?;
    let value = match (planned.source, &reading.verdict) {
        (ComponentSource::Expertise | ComponentSource::Criterion(_), Verdict::Points(points)) => {
            Some(points / MAX_POINTS)
        }
        (ComponentSource::Snippets(index), Verdict::Count(count)) => {
            Some(snippet_share(*count, rubric, index))
        }
        (ComponentSource::Citations, Verdict::Claims(shares)) => Some(shares.citations),
        (ComponentSource::Excerpts, Verdict::Claims(shares)) => Some(shares.excerpts),
        _ => None,
    };
    values::value_of(reading, value)
}

/// The share of a criterion's snippets that the judge counted, at most 1.
fn snippet_share(count: f64, rubric: &Rubric, criterion: usize) -> f64 {
    let criterion = rubric.criteria.get(criterion);
    let snippets = criterion.map_or(0, |criterion| criterion.snippets.len());
    let share = count / snippets.max(1) as f64;
    // Python's `min(share, 1)`: NaN stays NaN.
    if share > 1.0 { 1.0 } else { share }
}

/// Adds a component. Of equal names (compat only) it keeps the first position, the last weight, and the last value unless
/// an earlier one is missing.
fn add(component: Component, components: &mut Vec<Component>) {
    let earlier = components
        .iter_mut()
        .find(|earlier| earlier.name == component.name);
    match earlier {
        Some(earlier) if earlier.value.is_none() => earlier.weight = component.weight,
        Some(earlier) => *earlier = component,
        None => components.push(component),
    }
}

/// The call for a component's verdict, if it needs one.
fn call(planned: &PlannedComponent, rubric: &Rubric, answer: &Answer) -> Option<JudgeCall> {
    let question = Arc::clone(&rubric.question);
    let answer = Arc::clone(&answer.answer_text);
    let item = planned.item.as_str();
    let role = Role::Rubric;
    let call = match planned.source {
        ComponentSource::Expertise => JudgeCall::new(item, role, Expertise { question, answer }),
        ComponentSource::Citations => JudgeCall::new(item, role, Citations { question, answer }),
        ComponentSource::Criterion(index) => {
            let criterion = Arc::clone(&rubric.criteria.get(index)?.criterion);
            let property = Property {
                question,
                answer,
                criterion,
            };
            JudgeCall::new(item, role, property)
        }
        ComponentSource::Snippets(index) => {
            let snippets = Arc::clone(&rubric.criteria.get(index)?.snippets);
            let evidence = SnippetEvidence {
                question,
                answer,
                snippets,
            };
            JudgeCall::new(item, role, evidence)
        }
        ComponentSource::Length | ComponentSource::Excerpts | ComponentSource::Nothing => {
            return None;
        }
    };
    Some(call)
}

/// 1 up to `low_length` words, falling to 0 at `high_length`; a step if both are equal.
fn length_score(rubric: &Rubric, words: usize) -> f64 {
    // Bounds of a rubric may be any 64-bit number; their difference must not overflow.
    let words = i128::try_from(words).unwrap_or(i128::MAX);
    let low = i128::from(rubric.low_length);
    let high = i128::from(rubric.high_length);
    if low == high {
        return if words <= low { 1.0 } else { 0.0 };
    }
    1.0 - (words.min(high).max(low) - low) as f64 / (high - low) as f64
}

#[cfg(test)]
mod tests;
