//! Scorers: pure functions of a case, an answer and the verdicts so far.
//!
//! Scorers make no calls: [`Scorer::step`] returns the calls it needs next, or the finished score. Gated questions are
//! a second step. Tests of scorers need no async runtime, prompt or file.

pub mod answer_match;
pub mod citation;
pub mod criteria;
pub mod entailment;
pub mod overlap;
mod predicted;
pub mod prometheus;
mod report;
pub mod report_metrics;
pub mod rouge;
pub mod rubric;

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use crate::domain::{Answer, Judgment, Role, Score, TestCase};
use crate::question::JudgeCall;

/// The results of the questions so far, samples already merged, by component name.
pub type Verdicts = HashMap<Arc<str>, Judgment>;

/// Next step of a scorer.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Make these calls (sample 0 of each; the pipeline adds the others), then step again with their verdicts.
    Ask(Vec<JudgeCall>),
    /// The score is complete.
    Done(Score),
}

/// Scores one answer at a time.
pub trait Scorer: Send + Sync {
    /// The scorer's name in records.
    fn name(&self) -> &'static str;

    /// The next questions, or the score. Called with the same case and answer and growing `verdicts` until done;
    /// never asks for a component that `verdicts` already holds.
    fn step(&self, case: &TestCase, answer: &Answer, verdicts: &Verdicts) -> Step;

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
    fn possible(
        &self,
        _case: &TestCase,
        _answer: &Answer,
        _verdicts: &Verdicts,
    ) -> Option<Vec<Possible>> {
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
