//! The step loop: asks what scorers need, merges draws, asks again, and tells what happened as events.
//!
//! A run has two passes over the same code. [`plan`] drives every answer with a judge that only knows replies
//! already paid: answers it can finish are finished, the rest are counted. [`run`] drives the rest with the real
//! judge. Nothing here prints, and nothing but [`record`] writes.

mod answer;
mod event;
mod lane;
mod legibility;
mod merge;
pub mod record;
mod run;
mod stop;
mod tally;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use event::{CallRecord, EventSink, Plan, RunEvent};
pub use run::{PlanOutcome, RunOutcome, plan, run};
pub use stop::{StopHandle, StopSignal};

use crate::domain::{Answer, CaseId, JudgeCall, SystemName, TestCase};
use crate::judge::Rendered;
use crate::judge::planner::ReplySource;
use crate::scorer::Scorer;

/// One answer with the case it answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// The question and its rubric.
    pub case: Arc<TestCase>,
    /// What the system wrote.
    pub answer: Answer,
    /// Signs that the answer tries to steer the judge; carried into its score.
    pub steering: Vec<String>,
}

/// Turns a call into what goes over the wire.
pub trait Renderer: Send + Sync {
    /// The rendered call; `None` for judges that answer the task itself.
    fn render(&self, call: &JudgeCall, attempt: u32) -> Option<Rendered>;
}

/// Renders nothing: for judges that answer the task itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoRendering;

impl Renderer for NoRendering {
    fn render(&self, _call: &JudgeCall, _attempt: u32) -> Option<Rendered> {
        None
    }
}

/// How a run asks.
#[derive(Debug, Clone)]
pub struct Options {
    /// Calls at once, at most (>= 1).
    pub concurrency: usize,
    /// Draws of every call (>= 1).
    pub samples: u32,
    /// How often an unreadable reply is asked again.
    pub parse_retries: u32,
    /// Ask again where the cache holds only replies that could not be read.
    pub retry_unscored: bool,
    /// Wait until the sink has taken a reply before the next call: for runs whose record is the only place where paid
    /// replies are kept.
    pub acknowledge: bool,
    /// How replies are read.
    pub mode: crate::domain::Mode,
    /// The judge's identity, for records.
    pub judge_id: Arc<str>,
}

/// Everything a run needs besides its judge.
#[derive(Clone)]
pub struct Job {
    /// The answers to be scored.
    pub items: Arc<[Item]>,
    /// Who scores them.
    pub scorer: Arc<dyn Scorer>,
    /// The compat scorer that is fed with the same replies, where wanted.
    pub reference: Option<Arc<dyn Scorer>>,
    /// Calls to bytes.
    pub renderer: Arc<dyn Renderer>,
    /// Replies already paid.
    pub source: Arc<dyn ReplySource>,
    /// How it asks.
    pub options: Arc<Options>,
}

/// The identifier of a call within a run: 32 hexadecimal digits of a blake3 over system, case, item, draw and attempt.
pub fn call_id(system: &SystemName, case_id: &CaseId, item: &str, draw: u32, attempt: u32) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in [system.as_str(), case_id.as_str(), item] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.update(&draw.to_le_bytes());
    hasher.update(&attempt.to_le_bytes());
    let mut hex = hasher.finalize().to_hex().to_string();
    hex.truncate(32);
    hex
}
