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

use crate::domain::{
    Answer, Component, Mode, Reading, Role, Rubric, RubricParts, Score, ScorerId, TestCase, Unit,
    UnscoredKind, UnscoredReason, Verdict, WeightedSums,
};
use crate::question::{Citations, Expertise, JudgeCall, Property, SnippetEvidence};
use crate::scorer::{
    InputNeed, Scorer, ScorerInfo, ScorerReference, ScorerRoles, Step, Subject, Verdicts,
};
use crate::text::words::word_count;

use plan::{Part, Plan, Source};

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
    reference: ScorerReference::QaBench,
    make: |setup| {
        let scorer = RubricScorer::new(setup.parts, setup.mode);
        Arc::new(scorer.judged_by_baseline(setup.is_baseline))
    },
    restore: |recorded| {
        let scorer = RubricScorer::new(recorded.parts, recorded.mode);
        Ok(Arc::new(scorer.judged_by_baseline(recorded.is_baseline)))
    },
};

/// Scores answers by the rubric of their test case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RubricScorer {
    parts: RubricParts,
    mode: Mode,
    is_baseline: bool,
}

/// A value with the judge's feedback, or why it is missing.
type Value = Result<(f64, Option<String>), UnscoredReason>;

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

    fn id(&self) -> ScorerId {
        if self.is_baseline {
            ScorerId::baseline(RUBRIC.name)
        } else {
            ScorerId::new(RUBRIC.name)
        }
    }

    /// Every call that scoring this answer may need: those of [`Scorer::step`] if every gate opens.
    pub fn all_calls(&self, case: &TestCase, answer: &Answer) -> Vec<JudgeCall> {
        let plan = Plan::new(&case.rubric, self.parts, self.mode);
        if plan.refused.is_some() {
            return Vec::new();
        }
        plan.parts
            .iter()
            .filter_map(|part| call(part, &case.rubric, answer))
            .collect()
    }

    /// Every component of the case's score with its kind, weight (a share of 1) and text, without a value: a template
    /// for scores computed elsewhere. `ann_divisor` and notes follow the scorer's mode.
    ///
    /// ```
    /// use scholareval::domain::{Mode, RubricParts, TestCase};
    /// use scholareval::scorer::rubric::RubricScorer;
    ///
    /// let score = RubricScorer::new(RubricParts::BOTH, Mode::Default)
    ///     .unjudged(&TestCase::without_rubric("c1".into(), "why?"));
    /// let names: Vec<&str> = score.components.iter().map(|component| &*component.name).collect();
    /// assert_eq!(names, ["length", "expertise", "citations", "excerpts"]);
    /// assert_eq!(score.value, None);
    /// ```
    pub fn unjudged(&self, case: &TestCase) -> Score {
        let plan = Plan::new(&case.rubric, self.parts, self.mode);
        let reason = UnscoredReason::new(UnscoredKind::NotAsked, "not judged");
        let values = vec![Err(reason); plan.parts.len()];
        self.fold(plan, values)
    }

    /// Value of a component whose gate is open, from its verdict; `None` if there is none yet.
    fn value(part: &Part, case: &TestCase, verdicts: &Verdicts) -> Option<Value> {
        let (verdict, feedback) = match verdicts.get(part.item.as_str())? {
            Ok(Reading { verdict, feedback }) => (verdict.clone(), feedback.clone()),
            Err(reason) => return Some(Err(reason.clone())),
        };
        let value = match (part.source, verdict) {
            (Source::Expertise | Source::Criterion(_), Verdict::Points(points)) => {
                points / MAX_POINTS
            }
            (Source::Snippets(index), Verdict::Count(count)) => {
                let snippets = case
                    .rubric
                    .criteria
                    .get(index)
                    .map_or(0, |criterion| criterion.snippets.len());
                let share = count / snippets.max(1) as f64;
                // Python's `min(share, 1)`: NaN stays NaN.
                if share > 1.0 { 1.0 } else { share }
            }
            (Source::Citations, Verdict::Claims(shares)) => shares.citations,
            (Source::Excerpts, Verdict::Claims(shares)) => shares.excerpts,
            _ => return Some(Err(UnscoredReason::other_kind())),
        };
        Some(Ok((value, feedback)))
    }

    fn fold(&self, plan: Plan, values: Vec<Value>) -> Score {
        let mut components: Vec<Component> = Vec::with_capacity(values.len());
        for (part, value) in plan.parts.into_iter().zip(values) {
            let component = part.component.with(value);
            // Equal names (compat only): the first position, the last weight, the last value unless an earlier one is
            // missing.
            match components
                .iter_mut()
                .find(|earlier| earlier.name == component.name)
            {
                Some(earlier) if earlier.value.is_none() => earlier.weight = component.weight,
                Some(earlier) => *earlier = component,
                None => components.push(component),
            }
        }
        let is_complete = components.iter().all(|component| component.value.is_some());
        let is_annotated = match self.mode {
            Mode::Default => components
                .iter()
                .all(|c| !c.kind.is_annotated() || c.value.is_some()),
            // If the reference fails, there is no score of any kind.
            Mode::Compat => is_complete,
        };
        let sums = WeightedSums::of(&components, 0.0);
        Score {
            scorer: self.id(),
            value: is_complete.then_some(sums.all),
            ann_score: (is_annotated && plan.ann_divisor > 0.0)
                .then(|| sums.annotated / plan.ann_divisor),
            ann_divisor: plan.ann_divisor,
            components,
            notes: plan.notes,
            claims: Vec::new(),
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
        let plan = Plan::new(&case.rubric, self.parts, self.mode);
        if let Some(reason) = plan.refused.clone() {
            let values = vec![Err(reason); plan.parts.len()];
            return Step::Done(self.fold(plan, values));
        }
        let mut calls = Vec::new();
        let mut values: Vec<Option<Value>> = Vec::with_capacity(plan.parts.len());
        for (index, part) in plan.parts.iter().enumerate() {
            let value = match plan.gate(index).map(|gate| &values[gate]) {
                Some(None) => None,
                Some(Some(Err(_))) => Some(Err(UnscoredReason::new(
                    UnscoredKind::DependsOnUnscored,
                    "its criterion is unscored",
                ))),
                // NaN is not zero: the reference continues, and nothing else can be NaN.
                Some(Some(Ok((gate, _)))) if *gate == 0.0 => Some(Ok((0.0, None))),
                Some(Some(Ok(_))) | None => {
                    let value = Self::value(part, case, verdicts);
                    calls.extend(call(part, &case.rubric, answer).filter(|_| value.is_none()));
                    value
                }
            };
            values.push(value);
        }
        if !calls.is_empty() {
            return Step::Ask(calls);
        }
        // Compat mode alone counts an appended block of references.
        let text = if self.mode == Mode::Compat {
            &answer.answer_text
        } else {
            answer.own_text()
        };
        let without_verdict = |part: &Part| match part.source {
            Source::Length => Ok((length_score(&case.rubric, word_count(text)), None)),
            _ => Err(UnscoredReason::new(UnscoredKind::NotAsked, "not asked")),
        };
        let parts = values.into_iter().zip(&plan.parts);
        let values = parts
            .map(|(value, part)| value.unwrap_or_else(|| without_verdict(part)))
            .collect();
        Step::Done(self.fold(plan, values))
    }
}

/// The call for a component's verdict, if it needs one.
fn call(part: &Part, rubric: &Rubric, answer: &Answer) -> Option<JudgeCall> {
    let question = Arc::clone(&rubric.question);
    let answer = Arc::clone(&answer.answer_text);
    let item = part.item.as_str();
    let role = Role::Rubric;
    let call = match part.source {
        Source::Expertise => JudgeCall::new(item, role, Expertise { question, answer }),
        Source::Citations => JudgeCall::new(item, role, Citations { question, answer }),
        Source::Criterion(i) => {
            let criterion = Arc::clone(&rubric.criteria.get(i)?.criterion);
            let property = Property {
                question,
                answer,
                criterion,
            };
            JudgeCall::new(item, role, property)
        }
        Source::Snippets(i) => {
            let snippets = Arc::clone(&rubric.criteria.get(i)?.snippets);
            let evidence = SnippetEvidence {
                question,
                answer,
                snippets,
            };
            JudgeCall::new(item, role, evidence)
        }
        Source::Length | Source::Excerpts | Source::Nothing => return None,
    };
    Some(call)
}

/// 1 up to `low_length` words, falling to 0 at `high_length`; a step if both are equal.
fn length_score(rubric: &Rubric, words: usize) -> f64 {
    let words = i128::try_from(words).unwrap_or(i128::MAX);
    let (low, high) = (
        i128::from(rubric.low_length),
        i128::from(rubric.high_length),
    );
    if low == high {
        return if words <= low { 1.0 } else { 0.0 };
    }
    1.0 - (words.min(high).max(low) - low) as f64 / (high - low) as f64
}

#[cfg(test)]
mod tests;
