//! Scorers: pure functions of a case, an answer and the verdicts so far.
//!
//! A scorer asks, it never calls: [`Scorer::step`] gives the calls it needs next, or the finished score. Gated
//! questions are a second step. No scorer needs an async runtime, a prompt or a file to be tested.

pub mod answer_match;
pub mod citation;
pub mod convert;
pub mod entailment;
pub mod overlap;
mod predicted;
pub mod prometheus;
pub mod rouge;
pub mod rubric;

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use crate::domain::{Answer, JudgeCall, Role, Score, TestCase, UnscoredReason, Verdict};

/// The result of one question, samples already merged.
#[derive(Debug, Clone, PartialEq)]
pub enum Judged {
    /// The merged verdict, with the judge's feedback.
    Verdict(Verdict, Option<String>),
    /// No verdict, for this reason.
    Unscored(UnscoredReason),
}

/// The verdicts so far, by component name.
pub type Verdicts = HashMap<Arc<str>, Judged>;

/// What a scorer wants next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Ask these (draw 0 of each; the pipeline expands draws), then step again with their verdicts.
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

    /// The roles whose judges it asks.
    fn roles(&self) -> Vec<Role> {
        vec![Role::Rubric]
    }

    /// What a record keeps of it: everything that its scores depend on, except the mode; null for nothing.
    fn settings(&self) -> Value {
        Value::Null
    }

    /// Every call that can still be needed, whatever the replies that are not in `verdicts` will say: an upper bound for
    /// plans. Each question comes once, under its name nearest to being asked; those that could be asked now are among
    /// them. `None` where one verdict opens every gate at once (points above 0): planning finds such calls by itself.
    fn possible(&self, _case: &TestCase, _answer: &Answer, _verdicts: &Verdicts) -> Option<Vec<Possible>> {
        None
    }
}

/// A call that may be needed.
#[derive(Debug, Clone, PartialEq)]
pub struct Possible {
    /// What would be asked (draw 0).
    pub call: JudgeCall,
    /// Behind so many replies that are not known yet; 0 can be asked now.
    pub gates: usize,
}
