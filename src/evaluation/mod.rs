//! Evaluations, from options to a run with its record.
//!
//! [`Evaluation`] is the entry point: it is built, [prepared](Evaluation::prepare), and gives a plan, an estimate, a
//! batch or a [`Run`].
//!
//! Below that is the loop: it makes the calls that scorers need, merges samples, repeats unreadable ones, and reports
//! [`RunEvent`](crate::record::RunEvent)s. A run has two passes over the same code. [`plan`] uses cached replies only: it
//! finishes the answers that need no others, and counts the calls of the rest. [`run`] makes these calls. Nothing here
//! prints, and only [`record`](crate::record) writes; what is done with finished runs is in [`runs`](crate::runs).

mod answer;
mod attempts;
mod beliefs;
mod builder;
mod case_order;
mod check;
mod choice;
mod cost;
mod decidable;
mod expected;
mod flips;
mod gates;
mod inputs;
mod judges;
mod lane;
mod legibility;
mod looks;
mod merge;
pub(crate) mod options;
mod pairs;
mod panel;
mod perturbed;
mod prepared;
mod preset;
mod recorded;
pub(crate) mod roles;
mod run;
mod scorer_files;
mod scorers;
mod sender;
mod session;
mod slice;
mod slicing;
mod spending;
mod stop;
mod tally;
#[cfg(test)]
mod tests;
mod units;
mod votes;
mod works;

use std::sync::Arc;

pub use builder::Evaluation;
pub use check::{CheckedServer, RoleReplies};
pub use choice::Choice;
pub use cost::{Cost, JudgeTerms, PlanEstimate, PlanLine};
pub use flips::{Changed, Flips};
pub use inputs::LoadedInputs;
pub use judges::{Endpoints, Judges, NamedJudge};
pub use pairs::{ChosenPairs, PairChoice, PairDesign, PairOrders};
pub use panel::{Member, Panel, Panels};
pub use prepared::Prepared;
pub use preset::{Preset, QuestionCoverage};
pub use run::{PlanOutcome, RunOutcome, plan, plan_collecting, run};
pub(crate) use scorers::{needs_rubric, recorded_scorers};
pub(crate) use session::in_input_order;
pub use session::{Run, summary};
pub use slice::Slice;
pub use stop::StopHandle;
pub use tally::{Collect, DeferredCall, PlanGroup, PlannedCalls};
pub use works::{LookedUpReferences, OnBytes, look_up_references};

use crate::dataset::SelectedItems;
use crate::domain::Item;
use crate::judge::answering::Answering;
use crate::judge::render::Renderer;
use crate::scorer::Scorer;

/// The calls of a run, before it starts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Plan {
    /// Answers to score; one that several scorers score counts once.
    pub answers: u64,
    /// Scores to compute: one per answer and scorer.
    pub answer_scores: u64,
    /// Calls that can be asked now and are not in the cache (exact).
    pub askable_now: u64,
    /// Calls if every gate opens (an upper bound; retries of unreadable replies not counted).
    pub at_most: u64,
    /// Calls whose reply is in the cache.
    pub cached: u64,
}

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
    /// Forms of reasoning besides the known ones, each as `OPEN CLOSE`.
    pub reasoning_tags: Vec<String>,
    /// No call of an answer waits for its first one.
    pub at_once: bool,
    /// The items of each answer that are asked for; empty if all of them are.
    pub selected_items: Arc<SelectedItems>,
}

/// One scorer's part of a run: the answers it scores and its judges. The jobs of a run are concurrent, each with
/// separate slots, so that a slow judge does not delay the others.
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

    /// The renderers of its judges.
    fn renderers(&self) -> impl Iterator<Item = &Arc<Renderer>> {
        let members = self.panels.values().flat_map(|panel| &panel.members);
        members.filter_map(|member| member.renderer.as_ref())
    }

    /// Lets a request to its decision models ask at most so many questions.
    fn cut_requests(&mut self, questions: usize) {
        let mut panels = (*self.panels).clone();
        let members = panels.values_mut().flat_map(|panel| &mut panel.members);
        for decider in members.filter_map(|member| member.decider.as_mut()) {
            *decider = decider.at_most(questions);
        }
        self.panels = Arc::new(panels);
    }

    /// Whether another model answers than the one whose cached replies were used: what was scored is scored again.
    fn is_contradicted(&self) -> bool {
        self.answering()
            .any(|answering| answering.is_contradicted())
    }
}
