//! The record of a run: a directory from which every report and rescoring can be made without a judge.
//!
//! `manifest.json` has the settings, `inputs.jsonl` cases and answers, `calls.jsonl` every call with its raw reply,
//! `scores.jsonl` a line for every system and case. `docs/formats.md` describes them.
//!
//! `calls.jsonl` is only ever appended to while a run lasts: a call that is in it is not lost by a kill, and a
//! resumed run adds what is missing. The other files can be made again from it. Lines are the domain types by serde:
//! [`TestCase`](crate::domain::TestCase), [`Item`](crate::domain::Item), [`CallRecord`],
//! [`ScoredAnswer`](crate::domain::ScoredAnswer). The manifest of a finished run holds length and hash of each file, and
//! whoever reads a file to its end checks it against them.

mod answer_counts;
mod answered;
mod calls;
mod certificate;
mod event;
mod families;
mod inputs;
mod judge_check;
mod lines;
mod manifest;
mod remedy;
mod role;
mod run;
mod settings;
mod stamp;
#[cfg(test)]
mod tests;
mod writer;

pub use answered::{AnsweredJudge, AnsweringModel};
pub use calls::{RecordedReplies, for_each_call};
pub(crate) use certificate::sealed;
pub use certificate::{
    CERTIFICATE_VERSION, CertificateHead, CertifiedJudge, CertifiedRole, GivenCertificates,
};
pub use event::{CallRecord, EventSink, NoEvents, RunEvent, call_id};
pub use families::family_of;
pub(crate) use families::spelled_family;
pub use inputs::Inputs;
pub use manifest::{
    Headline, IMPORTED, KEPT_ERRORS, Manifest, PAIRS_SETTING, PERTURBATIONS, PolicyEntry,
    REASONING_TAGS, RunStatus, SELECTED_SETTING, THINKING,
};
pub(crate) use manifest::{SOURCES_INPUT, scorer_key};
pub use remedy::{decision_remedy, remedy};
pub(crate) use role::QUESTIONS_PER_REQUEST;
pub use role::{JudgeEntry, PromptsEntry, RoleEntry, RoomUse};
pub use run::{RecordedRun, load_run};
pub use settings::{SettingDifference, setting_differences};
pub use stamp::FileStamp;
pub use writer::{FILES, RunDir, RunRecord};

/// Version of all formats of a run directory.
pub const SCHEMA_VERSION: u32 = 2;
