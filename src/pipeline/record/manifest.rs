//! `manifest.json`: what was run, with what, and how it ended.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::SCHEMA_VERSION;
use crate::domain::{Fingerprint, Mode};

/// How far a run came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Begun; still going on, or ended without a word (killed).
    Running,
    /// Every answer has been through its scorer.
    Complete,
    /// Stopped early; the same command goes on.
    Stopped,
}

/// One input file and the hash of its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputFile {
    /// `tests` or the system's name.
    pub name: String,
    /// As the user named it.
    pub path: String,
    /// blake3 of its bytes.
    pub blake3: Fingerprint,
}

/// The prompt set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptsEntry {
    /// Its label (`scholareval@1a2b3c4d`, `scholarqabench@95e6fc5`).
    pub label: String,
    /// blake3 over its contents.
    pub fingerprint: Fingerprint,
    /// True only for the published wording.
    pub comparable_with_published: bool,
}

/// The judge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgeEntry {
    /// The identity that cache keys carry.
    pub id: String,
    /// The model asked for; `None` for the lexical baseline.
    pub model: Option<String>,
    /// Where it was asked, secrets masked; `None` for the lexical baseline.
    pub base_url: Option<String>,
    /// What the server said it serves, where it said so.
    pub served: Option<Value>,
    /// True for the built-in baseline, whose scores are no LLM's.
    pub lexical: bool,
}

/// What was run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the formats in this directory.
    pub schema_version: u32,
    /// This program's version.
    pub scholareval_version: String,
    /// How far it came.
    pub status: RunStatus,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// RFC 3339, UTC; of the last session where a run was resumed.
    pub finished_at: Option<String>,
    /// Arithmetic and parser.
    pub mode: Mode,
    /// In compat mode: the pinned commits of the reference.
    pub reference: Option<String>,
    /// Everything that changes a score, by name.
    pub settings: BTreeMap<String, Value>,
    /// Input files with hashes.
    pub inputs: Vec<InputFile>,
    /// The prompt set; `None` for the lexical baseline, which reads no prompts.
    pub prompts: Option<PromptsEntry>,
    /// The judge.
    pub judge: JudgeEntry,
    /// Seed of the resampling.
    pub seed: u64,
    /// Answers paired with a case.
    pub answers: u64,
    /// `[system, case_id]` pairs without an answer.
    pub missing: Vec<(String, String)>,
    /// Case ids that count, in file order.
    pub kept_cases: Vec<String>,
    /// Where the reference script would have paired other answers than this run.
    #[serde(default)]
    pub pairing_differences: Vec<String>,
    /// Warnings about the input.
    pub warnings: Vec<String>,
}

impl Manifest {
    /// A hash of everything that makes this run another than others: settings, inputs, prompts, judge. Paths, times,
    /// seeds of resampling and versions are no part of it.
    pub fn identity(&self) -> Fingerprint {
        let inputs: BTreeMap<&str, String> =
            self.inputs.iter().map(|input| (input.name.as_str(), input.blake3.to_string())).collect();
        let prompts = self.prompts.as_ref().map(|prompts| prompts.fingerprint.to_string());
        let parts = serde_json::json!([SCHEMA_VERSION, self.settings, inputs, prompts, self.judge.id]);
        blake3::hash(parts.to_string().as_bytes()).into()
    }
}

/// What differs between the run that is in a directory and the one that is to be: lines `name: there .., here ..`.
/// Paths and times may differ; contents, settings, prompts and judge may not.
pub fn differences(there: &Manifest, here: &Manifest) -> Vec<String> {
    let mut lines = Vec::new();
    let mut compare = |name: &str, there: String, here: String| {
        if there != here {
            lines.push(format!("{name}: there {there}, here {here}"));
        }
    };
    compare("format", there.schema_version.to_string(), here.schema_version.to_string());
    compare("judge", there.judge.id.clone(), here.judge.id.clone());
    let prompts = |manifest: &Manifest| {
        manifest.prompts.as_ref().map_or_else(|| "none".to_owned(), |prompts| prompts.fingerprint.to_string())
    };
    compare("prompts", prompts(there), prompts(here));
    let inputs = |manifest: &Manifest| -> BTreeMap<String, String> {
        manifest.inputs.iter().map(|input| (input.name.clone(), input.blake3.to_string())).collect()
    };
    let (old_inputs, new_inputs) = (inputs(there), inputs(here));
    for name in union(old_inputs.keys(), new_inputs.keys()) {
        let hash = |of: &BTreeMap<String, String>| {
            of.get(name).map_or("absent".to_owned(), |hash| hash.chars().take(12).collect())
        };
        compare(&format!("input {name}"), hash(&old_inputs), hash(&new_inputs));
    }
    for name in union(there.settings.keys(), here.settings.keys()) {
        let value = |manifest: &Manifest| manifest.settings.get(name).map_or("unset".to_owned(), ToString::to_string);
        compare(name, value(there), value(here));
    }
    lines
}

fn union<'a>(
    left: impl Iterator<Item = &'a String>,
    right: impl Iterator<Item = &'a String>,
) -> std::collections::BTreeSet<&'a String> {
    left.chain(right).collect()
}
