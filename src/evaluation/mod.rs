//! Evaluations, from options to a run with its record.
//!
//! [`Evaluation`] is the entry: it is built, [prepared](Evaluation::prepare), and gives a plan, an estimate, a batch or a
//! [`Run`]. [`rescore`] scores a recorded run again, [`RunSet`] compares several, [`agree`] compares judges with people.
//!
//! Below that is the loop: it asks what scorers need, merges samples, asks again, and reports [`RunEvent`]s. A run has two
//! passes over the same code. [`plan`] drives every answer with a judge that has cached replies only: answers it can finish
//! are finished, the calls of the others are counted. [`run`] drives the others with the real judge. Nothing here prints,
//! and nothing but [`record`] writes.

mod agree;
mod answer;
mod builder;
mod choice;
mod cost;
mod event;
mod expected;
mod gates;
mod import;
mod inputs;
mod judges;
mod lane;
mod legibility;
mod merge;
pub mod options;
mod panel;
mod preset;
pub mod record;
mod rescore;
pub mod roles;
mod run;
mod run_set;
mod run_settings;
mod scorers;
mod sender;
mod slice;
mod spending;
mod stop;
mod tally;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use agree::agree;
pub use builder::{Evaluation, Prepared, Run, run_name, summary};
pub use choice::Choice;
pub use cost::{Cost, JudgePlan, JudgeTerms, PlanEstimate, PlanLine, estimate};
pub use event::{CallRecord, EventSink, NoEvents, Plan, RunEvent};
pub use import::{ImportOptions, ImportedRun, import};
pub use inputs::LoadedInputs;
pub use judges::{Endpoints, Judges, NamedJudge};
pub use merge::Merge;
pub use panel::{Member, Panel, Panels};
pub use preset::{Coverage, Preset};
pub use rescore::{RescoreOptions, RescoredRun, rescore};
pub use run::{PlanOutcome, RunOutcome, plan, plan_collecting, plan_sampling, run};
pub use run_set::RunSet;
pub use slice::Slice;
pub use stop::StopHandle;
pub use tally::{Collect, DeferredCall, PlanGroup, PlannedCalls, SampledCall};

use crate::domain::{Answer, CallId, CaseId, JudgeCall, Role, SystemName, TestCase};
use crate::scorer::Scorer;

/// One answer with the case it answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// The question and its rubric; in files the answer has its id.
    #[serde(skip, default = "no_case")]
    pub case: Arc<TestCase>,
    /// What the system wrote.
    #[serde(flatten)]
    pub answer: Answer,
    /// Signs that the answer tries to steer the judge; carried into its score.
    pub steering: Vec<String>,
}

/// Stands for the case of an answer that has been read alone.
fn no_case() -> Arc<TestCase> {
    Arc::new(TestCase::without_rubric("".into(), ""))
}

/// How a run asks.
#[derive(Debug, Clone)]
pub struct Options {
    /// Calls at once, at most (>= 1).
    pub concurrency: usize,
    /// How often an unreadable reply is asked again.
    pub parse_retries: u32,
    /// Ask again where the cache holds only replies that could not be read.
    pub retry_unscored: bool,
    /// How replies are read.
    pub mode: crate::domain::Mode,
}

/// One scorer's part of a run: the answers it scores and the judges it asks. The jobs of a run go on side by side, each
/// with its own places, so that a slow judge holds up nobody else's calls.
#[derive(Clone)]
pub struct Job {
    /// The answers to be scored.
    pub items: Arc<[Item]>,
    /// Who scores them.
    pub scorer: Arc<dyn Scorer>,
    /// Who is asked, by role.
    pub panels: Arc<Panels>,
    /// How it asks.
    pub options: Arc<Options>,
}

/// The identifier of a call within a run: a hash of system, case, item, draw and attempt, and, but for the first judge of
/// the rubric, of role and place in the panel.
pub fn call_id(system: &SystemName, case_id: &CaseId, call: &JudgeCall, attempt: u32) -> CallId {
    let mut hasher = blake3::Hasher::new();
    let mut part = |text: &str| {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    part(system.as_str());
    part(case_id.as_str());
    part(&call.item);
    if call.role != Role::Rubric || call.member > 0 {
        part(&call.role.name());
        hasher.update(&call.member.to_le_bytes());
    }
    hasher.update(&call.draw.to_le_bytes());
    hasher.update(&attempt.to_le_bytes());
    hasher.finalize().into()
}
