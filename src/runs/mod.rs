//! What is done with finished runs: they are opened, listed, compared, merged with others, imported and scored again.
//!
//! A [`RunSet`] is what `report` and `compare` read: one run directory or several, with the check that they are
//! comparable. [`rescore`] computes a run's scores again from its recorded replies, without a judge. [`import()`] makes a
//! run of results that other programs computed. [`agree()`] compares a run's scores with people's labels, for which
//! [`label_round`] draws the answers and prepares the pages.

mod agree;
mod anchors;
mod boards;
mod certify;
mod comparable;
mod completeness;
mod correction;
mod criteria;
mod directories;
mod import;
mod import_logs;
mod label;
mod people;
mod prompts;
mod random_draw;
mod rescore;
mod run_list;
mod run_set;
mod self_preference;
mod verdict_frame;
mod verdict_plan;

pub use agree::{agree, plan_labels};
pub use certify::{
    Certificate, CertifiedCost, CertifiedPanel, CertifyOptions, PanelMember, certify,
};
pub use correction::DearVerdicts;
pub use criteria::{criteria_and_people, criteria_of};
pub use directories::run_directories;
pub use import::{ImportOptions, ImportedRun};
pub use import_logs::import;
pub use label::{
    Dispute, DisputedLabel, LabelCandidate, LabelCandidates, LabelOptions, LabelRound, disputes,
    label_round, mentions, plain_name,
};
pub use people::RunLabels;
pub use prompts::{LineRange, RunPrompts};
pub use rescore::{RescoreOptions, RescoredRun, rescore};
pub use run_list::{ListedRun, list_runs};
pub use run_set::{RunSet, judged_by};
pub use verdict_frame::{FrameVerdict, VerdictFrame};
pub use verdict_plan::{PlannedDraw, VerdictPlan};
