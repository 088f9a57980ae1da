//! Scorers: pure functions of a subject (a case with its answer) and the verdicts so far.
//!
//! Scorers make no calls: [`Scorer::step`] returns the calls it needs next, or the finished score. Gated questions are
//! a second step. Tests of scorers need no async runtime, prompt or file.
//!
//! A built-in scorer is one file with its [`ScorerInfo`], and its line in [`SCORERS`].

#[doc(hidden)]
pub mod answer_match;
mod built_in;
pub mod citation;
pub mod criteria;
pub mod entailment;
mod info;
pub mod overlap;
pub mod pages;
pub mod pairs;
mod predicted;
pub mod prometheus;
pub mod provenance;
#[doc(hidden)]
pub mod report_metrics;
#[doc(hidden)]
pub mod rouge;
pub mod rubric;
mod values;
pub mod works;

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use scholareval_core::domain::{
    Answer, CriteriaLayout, Item, Judgment, Role, Score, TestCase, Unit,
};
use scholareval_core::question::JudgeCall;

pub use info::{
    BuiltInOptions, InputNeed, NewScorer, RecordedSetup, ScorerInfo, ScorerReference, ScorerRoles,
};

/// The built-in scorers, in the order of the scorecard.
pub static SCORERS: &[&ScorerInfo] = &[
    &rubric::RUBRIC,
    &criteria::CRITERIA,
    &prometheus::PROMETHEUS,
    &entailment::ENTAILMENT,
    &pages::PAGES,
    &citation::CITATION_AUDIT,
    &overlap::OVERLAP,
    &works::WORKS,
    &pairs::PAIRS,
];

/// The built-in scorer of that name; `None` for one that a user defined.
pub fn scorer_named(name: &str) -> Option<&'static ScorerInfo> {
    SCORERS.iter().find(|scorer| scorer.name == name).copied()
}

/// Whether more of a metric of this scorer is better; of a scorer that a user defined the unit says it.
pub fn is_better_higher(scorer: &str, metric: &str, unit: Unit) -> bool {
    scorer_named(scorer).map_or(unit != Unit::Count, |info| {
        info.is_better_higher(metric, unit)
    })
}

/// What a scorer scores: the answer to a case, or the two answers of a pair.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The case.
    pub case: &'a TestCase,
    /// The answer; of a pair the first.
    pub answer: &'a Answer,
    /// The second answer of a pair.
    pub other: Option<&'a Answer>,
    /// How the criteria of the case are asked.
    pub layout: CriteriaLayout,
}

impl<'a> Subject<'a> {
    /// The answer to a case.
    pub fn new(case: &'a TestCase, answer: &'a Answer) -> Self {
        Self {
            case,
            answer,
            other: None,
            layout: CriteriaLayout::AsWritten,
        }
    }

    /// Two answers to a case, in this order.
    pub fn pair(case: &'a TestCase, answer: &'a Answer, other: &'a Answer) -> Self {
        Self {
            case,
            answer,
            other: Some(other),
            layout: CriteriaLayout::AsWritten,
        }
    }

    /// What this item holds.
    pub fn of(item: &'a Item) -> Self {
        Self {
            case: &item.case,
            answer: &item.answer,
            other: item.other.as_deref(),
            layout: item.layout,
        }
    }
}

/// The results of the questions so far, samples already merged, by component name.
pub type Verdicts = HashMap<Arc<str>, Judgment>;

/// Next step of a scorer.
#[expect(
    clippy::large_enum_variant,
    reason = "an answer has one score, which is moved where it is made"
)]
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Make these calls (sample 0 of each; the pipeline adds the others), then step again with their verdicts.
    Ask(Vec<JudgeCall>),
    /// The score is complete.
    Done(Score),
}

/// Scores one subject at a time.
///
/// ```
/// use scholareval_core::domain::{Answer, CaseId, Component, ComponentKind, Score, TestCase};
/// use scholareval_scorers::{Scorer, Step, Subject, Verdicts};
///
/// /// Whether an answer names a source; no judge is asked.
/// struct Sourced;
///
/// impl Scorer for Sourced {
///     fn name(&self) -> &str {
///         "sourced"
///     }
///
///     fn step(&self, subject: &Subject<'_>, _verdicts: &Verdicts) -> Step {
///         let share = f64::from(u8::from(subject.answer.answer_text.contains("doi.org")));
///         let component = Component::new("sourced", ComponentKind::Share).with(Ok((share, None)));
///         Step::Done(Score { scorer: self.name().into(), components: vec![component], ..Score::default() })
///     }
/// }
///
/// let case = TestCase::without_rubric(CaseId::from("sky"), "Why is the sky blue?");
/// let answer = Answer::new("mine".into(), case.case_id.clone(), "Rayleigh, https://doi.org/10.1080/14786447108640452");
/// let Step::Done(score) = Sourced.step(&Subject::new(&case, &answer), &Verdicts::new()) else {
///     panic!("it asks nothing");
/// };
/// assert_eq!(score.component("sourced").and_then(|part| part.value), Some(1.0));
/// ```
pub trait Scorer: Send + Sync {
    /// The scorer's name in records.
    fn name(&self) -> &str;

    /// The next questions, or the score. Called with the same subject and growing `verdicts` until done;
    /// never asks for a component that `verdicts` already holds.
    fn step(&self, subject: &Subject<'_>, verdicts: &Verdicts) -> Step;

    /// The judge roles it uses.
    fn roles(&self) -> Vec<Role> {
        vec![Role::Rubric]
    }

    /// Settings for the run record: everything that its scores depend on, except the mode; null for none.
    fn settings(&self) -> Value {
        Value::Null
    }

    /// Every call that may still be needed, whatever the missing replies say: an upper bound for plans, calls of the
    /// next step included. Each question occurs once, under its earliest key. `None` if one verdict opens every gate at
    /// once (points above 0): planning finds such calls by itself.
    fn possible(&self, _subject: &Subject<'_>, _verdicts: &Verdicts) -> Option<Vec<Possible>> {
        None
    }

    /// Whether a judge is asked otherwise about this subject than about the same one with its criteria as written; `is_decided`
    /// says that a decision model judges.
    fn depends_on_layout(&self, _subject: &Subject<'_>, _is_decided: bool) -> bool {
        false
    }

    /// The score of this case without any value, if the case alone says which components it has. It is the entry of an
    /// answer that an unfinished run did not reach.
    fn template(&self, _case: &TestCase) -> Option<Score> {
        None
    }
}

/// A call that may be needed.
#[derive(Debug, Clone, PartialEq)]
pub struct Possible {
    /// The call (sample 0).
    pub call: JudgeCall,
    /// Number of replies this call waits for; 0 can be sent now.
    pub gates: usize,
}
