//! Evaluations, from options to a run with its record.
//!
//! [`Evaluation`] is the entry point: it is built, [prepared](Evaluation::prepare), and gives a plan, an estimate, a
//! batch or a [`Run`]. [`rescore`] rescores a recorded run, [`RunSet`] compares several, [`agree`] compares judges with
//! people.
//!
//! Below that is the loop: it makes the calls that scorers need, merges samples, repeats unreadable ones, and reports
//! [`RunEvent`]s. A run has two passes over the same code. [`plan`] uses cached replies only: it finishes the answers
//! that need no others, and counts the calls of the rest. [`run`] makes these calls. Nothing here prints, and nothing
//! but [`record`] writes.

mod agree;
mod answer;
mod builder;
mod case_order;
mod choice;
mod cost;
mod event;
mod expected;
mod gates;
mod import;
mod import_logs;
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
mod run_list;
mod run_set;
mod scorers;
mod selection;
mod sender;
mod slice;
mod spending;
mod stop;
mod tally;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use agree::{agree, plan_labels};
pub use builder::{Evaluation, Prepared, Run, summary};
pub use choice::Choice;
pub use cost::{Cost, JudgeTerms, PlanEstimate, PlanLine};
pub use event::{CallRecord, EventSink, NoEvents, Plan, RunEvent};
pub use import::{ImportOptions, ImportedRun};
pub use import_logs::import;
pub use inputs::LoadedInputs;
pub use judges::{Endpoints, Judges, NamedJudge};
pub use legibility::remedy;
pub use panel::{Member, Panel, Panels};
pub use preset::{Coverage, Preset};
pub use rescore::{RescoreOptions, RescoredRun, rescore};
pub use run::{PlanOutcome, RunOutcome, plan, plan_collecting, run};
pub use run_list::{ListedRun, list_runs};
pub use run_set::{RunSet, judged_by, run_directories};
pub use selection::{SelectedAnswer, Selection, select_answers};
pub use slice::Slice;
pub use stop::StopHandle;
pub use tally::{Collect, DeferredCall, PlanGroup, PlannedCalls};

use crate::domain::{CallId, CaseId, Item, JudgeCall, Role, SystemName};
use crate::judge::answering::Answering;
use crate::scorer::Scorer;

/// Limits of a job.
#[derive(Debug, Clone)]
pub struct Options {
    /// Calls at once, at most (>= 1).
    pub concurrency: usize,
    /// Repeats of an unreadable reply.
    pub parse_retries: u32,
    /// Repeat calls for which the cache holds only unreadable replies.
    pub retry_unscored: bool,
    /// How replies are parsed.
    pub mode: crate::domain::Mode,
}

/// One scorer's part of a run: the answers it scores and its judges. The jobs of a run are concurrent, each with its
/// own slots, so that a slow judge does not delay the others.
#[derive(Clone)]
pub struct Job {
    /// The answers to score.
    pub items: Arc<[Item]>,
    /// The scorer.
    pub scorer: Arc<dyn Scorer>,
    /// The judges by role.
    pub panels: Arc<Panels>,
    /// Its limits.
    pub options: Arc<Options>,
}

impl Job {
    /// Which cached replies of its judges count.
    fn answering(&self) -> impl Iterator<Item = &Arc<Answering>> {
        let members = self.panels.values().flat_map(|panel| &panel.members);
        members.filter_map(|member| member.answering.as_ref())
    }

    /// Whether another model answers than the one whose cached replies were used: what was scored is scored again.
    fn is_contradicted(&self) -> bool {
        self.answering()
            .any(|answering| answering.is_contradicted())
    }
}

/// The identifier of a call within a run: a hash of system, case, item, sample and attempt and, except for the first
/// judge of the rubric, of the role and the index in the panel.
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
