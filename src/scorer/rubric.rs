//! The ScholarQA-CS rubric score.
//!
//! Formulas: `docs/metrics.md`, section 1; reference: `RubricCorpusQaGenericMetric.score_output` of ScholarQABench
//! 95e6fc5. A score is the weighted sum of
//!
//! - `length`, counted: 1 - (clamp(words, low, high) - low) / (high - low);
//! - `expertise` and every property: the judge's points / 10;
//! - `citations` and `excerpts`: shares of cited claims and of quoted citations, from one claims reply;
//! - `<property>_evidence`: min(snippets counted / snippets, 1), asked only where the property has no criterion or its
//!   points are not 0; else 0.

mod plan;
mod unjudged;

use crate::domain::{
    Answer, Component, JudgeCall, Mode, Rubric, RubricParts, Score, TestCase, UnscoredKind, UnscoredReason, Verdict,
    WeightedSums,
};
use crate::scorer::{Judged, Scorer, Step, Verdicts};
use crate::text::words::word_count;

use plan::{Part, Plan, Source};

/// Judges give points from 0 to this.
const MAX_POINTS: f64 = 10.0;

/// Name of the scorer where the built-in baseline judged: its numbers are never called `score`.
pub use crate::domain::LEXICAL;

/// Scores answers by the rubric of their test case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RubricScorer {
    parts: RubricParts,
    mode: Mode,
    name: &'static str,
}

/// What is known of one part.
#[derive(Debug, Clone, PartialEq)]
enum State {
    /// It must be asked.
    Open(JudgeCall),
    /// Its gate, or the call that also answers it, is still open.
    Waiting,
    /// Its value, and what the judge said besides it.
    Known(f64, Option<String>),
    /// It has no value.
    Unscored(UnscoredReason),
}

impl RubricScorer {
    /// A scorer of these halves of rubrics.
    ///
    /// In [`Mode::Compat`] the verdicts must have been parsed in that mode too: numbers are taken as they are, and a
    /// score that the reference would have died on is unscored with the exception's name.
    pub fn new(parts: RubricParts, mode: Mode) -> Self {
        Self { parts, mode, name: "rubric" }
    }

    /// The same, for verdicts of the lexical baseline: its scores go under another name ([`LEXICAL`]).
    #[must_use]
    pub fn for_lexical_judge(self) -> Self {
        Self { name: LEXICAL, ..self }
    }

    /// Every call that scoring this answer can need: what [`Scorer::step`] asks if every gate opens.
    pub fn all_calls(&self, case: &TestCase, answer: &Answer) -> Vec<JudgeCall> {
        let plan = Plan::new(&case.rubric, self.parts, self.mode);
        if plan.refused.is_some() {
            return Vec::new();
        }
        (0..plan.parts.len()).filter_map(|index| plan.call(index, &case.rubric, answer)).collect()
    }

    /// The text whose words are counted: what the system wrote; with an appended block of references in compat mode.
    fn counted<'a>(&self, answer: &'a Answer) -> &'a str {
        if self.mode == Mode::Compat { &answer.answer_text } else { answer.own_text() }
    }

    /// The value of the component `length`.
    fn length(&self, case: &TestCase, answer: &Answer) -> f64 {
        length_score(&case.rubric, word_count(self.counted(answer)))
    }

    /// What is known of each part; [`Source::Length`] waits for [`RubricScorer::length`].
    fn states(&self, plan: &Plan<'_>, case: &TestCase, answer: &Answer, verdicts: &Verdicts) -> Vec<State> {
        let mut states: Vec<State> = Vec::with_capacity(plan.parts.len());
        for (index, part) in plan.parts.iter().enumerate() {
            if part.source == Source::Length {
                states.push(State::Waiting);
                continue;
            }
            let state = match part.gate.and_then(|gate| states.get(gate)) {
                Some(State::Open(_) | State::Waiting) => State::Waiting,
                Some(State::Unscored(_)) => unscored(UnscoredKind::DependsOnUnscored, "its criterion is unscored"),
                // NaN is not zero: the reference asks on, and nothing else can be NaN.
                Some(State::Known(value, _)) if *value == 0.0 => State::Known(0.0, None),
                Some(State::Known(..)) | None => judged(part, verdicts, &case.rubric)
                    .unwrap_or_else(|| plan.call(index, &case.rubric, answer).map_or(State::Waiting, State::Open)),
            };
            states.push(state);
        }
        states
    }
}

impl Scorer for RubricScorer {
    fn name(&self) -> &'static str {
        self.name
    }

    fn step(&self, case: &TestCase, answer: &Answer, verdicts: &Verdicts) -> Step {
        let plan = Plan::new(&case.rubric, self.parts, self.mode);
        if let Some(reason) = plan.refused.clone() {
            let states = plan.parts.iter().map(|_| State::Unscored(reason.clone())).collect();
            return Step::Done(self.fold(plan, states));
        }
        let mut states = self.states(&plan, case, answer, verdicts);
        if self.mode == Mode::Compat && states.iter().any(is_exception) {
            // What the reference script does not reach is not paid for.
            let message = "the reference script raises an exception before this is asked";
            for state in &mut states {
                if matches!(state, State::Open(_) | State::Waiting) {
                    *state = unscored(UnscoredKind::NotAsked, message);
                }
            }
        }
        let calls: Vec<JudgeCall> = states
            .iter()
            .filter_map(|state| match state {
                State::Open(call) => Some(call.clone()),
                _ => None,
            })
            .collect();
        if !calls.is_empty() {
            return Step::Ask(calls);
        }
        // Words are counted once, at the end.
        for (part, state) in plan.parts.iter().zip(&mut states) {
            if part.source == Source::Length {
                *state = State::Known(self.length(case, answer), None);
            }
        }
        Step::Done(self.fold(plan, states))
    }
}

impl RubricScorer {
    fn fold(&self, plan: Plan<'_>, states: Vec<State>) -> Score {
        let components = collapse(plan.parts, plan.has_twins, states);
        let is_null = |component: &&Component| component.value.is_none();
        let complete = !components.iter().any(|component| component.value.is_none());
        let annotated = match self.mode {
            Mode::Default => !components.iter().filter(|c| c.kind.is_annotated()).any(|c| is_null(&c)),
            // Where the reference raises there is no score of any kind.
            Mode::Compat => complete,
        };
        let sums = WeightedSums::of(&components, 0.0);
        Score {
            scorer: self.name(),
            value: complete.then_some(sums.all),
            ann_score: (annotated && plan.ann_divisor > 0.0).then(|| sums.annotated / plan.ann_divisor),
            ann_divisor: plan.ann_divisor,
            components,
            notes: plan.notes,
            claims: Vec::new(),
        }
    }
}

/// Components from parts and their states: of equal names the first place, the last value, and no value at all if
/// any of them has none.
fn collapse(parts: Vec<Part<'_>>, has_twins: bool, states: Vec<State>) -> Vec<Component> {
    let mut components: Vec<Component> = Vec::with_capacity(parts.len());
    for (part, state) in parts.into_iter().zip(states) {
        let (value, reason, feedback) = match state {
            State::Known(value, feedback) => (Some(value), None, feedback),
            State::Unscored(reason) => (None, Some(reason), None),
            State::Open(_) | State::Waiting => {
                (None, Some(UnscoredReason::new(UnscoredKind::NotAsked, "not asked")), None)
            }
        };
        let Part { name, kind, weight, text, .. } = part;
        let (name, text) = (name.into_owned(), text.into_owned());
        let component = Component { name, kind, text, weight, value, reason, feedback };
        match components.iter_mut().find(|earlier| has_twins && earlier.name == component.name) {
            Some(earlier) if earlier.value.is_none() => {}
            Some(earlier) => *earlier = component,
            None => components.push(component),
        }
    }
    components
}

fn unscored(kind: UnscoredKind, message: &str) -> State {
    State::Unscored(UnscoredReason::new(kind, message))
}

fn is_exception(state: &State) -> bool {
    matches!(state, State::Unscored(reason) if reason.kind == UnscoredKind::Exception)
}

/// The state of a part whose gate is open; `None` if there is no verdict yet.
fn judged(part: &Part<'_>, verdicts: &Verdicts, rubric: &Rubric) -> Option<State> {
    let (verdict, feedback) = match verdicts.get(part.item())? {
        Judged::Verdict(verdict, feedback) => (*verdict, feedback.clone()),
        Judged::Unscored(reason) => return Some(State::Unscored(reason.clone())),
    };
    let value = match (part.source, verdict) {
        (Source::Expertise | Source::Criterion(_), Verdict::Points(points)) => points / MAX_POINTS,
        (Source::Snippets(index), Verdict::Count(count)) => {
            share_present(count, rubric.criteria.get(index).map_or(0, |criterion| criterion.snippets.len()))
        }
        (Source::Citations, Verdict::Claims(shares)) => shares.citations,
        (Source::Excerpts, Verdict::Claims(shares)) => shares.excerpts,
        _ => return Some(unscored(UnscoredKind::Unreadable, "the verdict is of another kind than was asked for")),
    };
    Some(State::Known(value, feedback))
}

/// `min(count / n, 1)` with Python's order of arguments: NaN stays NaN.
fn share_present(count: f64, snippets: usize) -> f64 {
    let share = count / snippets.max(1) as f64;
    if share > 1.0 { 1.0 } else { share }
}

/// 1 up to `low_length` words, falling to 0 at `high_length`; where both are equal, 1 up to them and 0 above.
fn length_score(rubric: &Rubric, words: usize) -> f64 {
    let words = i128::try_from(words).unwrap_or(i128::MAX);
    let (low, high) = (i128::from(rubric.low_length), i128::from(rubric.high_length));
    if low == high {
        return if words <= low { 1.0 } else { 0.0 };
    }
    1.0 - (words.min(high).max(low) - low) as f64 / (high - low) as f64
}

#[cfg(test)]
mod tests;
