//! The record of a run: a directory from which every report and re-scoring can be made without a judge.
//!
//! `manifest.json` says what was run, `inputs.jsonl` holds cases and answers, `calls.jsonl` every call with its raw
//! reply, `scores.jsonl` a line for every system and case. All of it is described in `docs/formats.md`.
//!
//! `calls.jsonl` is only ever appended to while a run goes on: a call that is in it is not lost by a kill, and a
//! resumed run adds what is missing. The other files can be made again from it.

mod calls;
mod inputs;
mod lines;
mod manifest;
mod reader;
mod scores;
#[cfg(test)]
mod tests;
mod unfinished;
mod writer;

pub use calls::for_each_call;
pub use inputs::{ItemLists, load_inputs, load_item_lists, write_cases_and_items, write_inputs, write_item_lists};
pub use lines::{CallLine, ScoreLine};
pub use manifest::{InputFile, JudgeEntry, Manifest, PolicyEntry, PromptsEntry, RoleEntry, RunStatus, differences};
pub use reader::{RecordedReplies, load_manifest};
pub use scores::{RecordedRun, load_run};
pub use writer::{RunDir, RunRecord};

/// Version of all formats of a run directory.
pub const SCHEMA_VERSION: u32 = 1;
