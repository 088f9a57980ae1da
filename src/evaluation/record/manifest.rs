//! `manifest.json`: what was run, with what, and how it ended.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::SCHEMA_VERSION;
use crate::domain::{EndpointUse, Fingerprint, Mode};
use crate::evaluation::Merge;

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

/// How unscored answers count.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PolicyEntry {
    /// True if what is missing counts as the lowest there is, false if it is left out.
    pub unscored_as_zero: bool,
    /// The share of unscored answers that is tolerated, 0..=1.
    pub max_unscored: f64,
}

/// Who has a role, and with which prompts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoleEntry {
    /// One judge, or the panel.
    pub judges: Vec<JudgeEntry>,
    /// Draws of every call by each of them.
    pub samples: Vec<u32>,
    /// How each one's draws become one verdict.
    pub merges: Vec<Merge>,
    /// Of whom the scores are expected scores.
    pub expected: Vec<bool>,
    /// How a panel's verdicts become one.
    pub panel_merge: Merge,
    /// The prompts; `None` where no prompt is read.
    pub prompts: Option<PromptsEntry>,
}

fn rubric_alone() -> Vec<String> {
    vec!["rubric".to_owned()]
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
    /// The run's name as it was given; `None`: that of its directory.
    #[serde(default)]
    pub label: Option<String>,
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
    /// The rubric's judge; `None` where the rubric was not asked.
    pub judge: Option<JudgeEntry>,
    /// The scorers that were run, in order.
    #[serde(default = "rubric_alone")]
    pub scorers: Vec<String>,
    /// The judges of the other roles.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<String, RoleEntry>,
    /// Seed of the resampling.
    pub seed: u64,
    /// Answers paired with a case.
    pub answers: u64,
    /// `[system, case_id]` pairs without an answer.
    pub missing: Vec<(String, String)>,
    /// Case ids that count, in file order.
    pub kept_cases: Vec<String>,
    /// Warnings about the input.
    pub warnings: Vec<String>,
    /// How unscored answers count; read when the record is scored again, no part of what the run is.
    #[serde(default)]
    pub policy: Option<PolicyEntry>,
    /// What the endpoints did in the last session that asked any; no part of what the run is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<EndpointUse>,
}

impl RoleEntry {
    /// Who judged, with which prompts: `judge gpt-4o; prompts scholareval@1a2b3c4d`.
    pub fn summary(&self) -> String {
        let judge = |(at, judge): (usize, &JudgeEntry)| {
            let samples = self.samples.get(at).copied().unwrap_or(1);
            let merged = match self.merges.get(at) {
                Some(merge) if samples > 1 => format!(", {} of {samples} samples", merge.as_str().replace('_', " ")),
                _ => String::new(),
            };
            let expected = if self.expected.get(at) == Some(&true) { ", expected scores" } else { "" };
            format!("{}{merged}{expected}", judge.id)
        };
        let judges: Vec<String> = self.judges.iter().enumerate().map(judge).collect();
        let panel =
            if judges.len() > 1 { format!(" ({} of the panel)", self.panel_merge.as_str()) } else { String::new() };
        let prompts = match &self.prompts {
            Some(prompts) if prompts.comparable_with_published => format!("; prompts {}", prompts.label),
            Some(prompts) => format!("; prompts {}, not comparable with published numbers", prompts.label),
            None => String::new(),
        };
        format!("judge {}{panel}{prompts}", judges.join(" and "))
    }

    /// Everything that makes its verdicts others than another entry's.
    fn identity(&self) -> String {
        let judges: Vec<&str> = self.judges.iter().map(|judge| judge.id.as_str()).collect();
        let prompts = self.prompts.as_ref().map(|prompts| prompts.fingerprint.to_string());
        json!([judges, self.samples, self.merges, self.expected, self.panel_merge, prompts]).to_string()
    }

    /// The same by name, for messages.
    fn told(&self) -> Value {
        let judges: Vec<&str> = self.judges.iter().map(|judge| judge.id.as_str()).collect();
        let prompts = self.prompts.as_ref().map(|prompts| prompts.fingerprint.to_string());
        json!({"judges": judges, "samples": self.samples, "merge": self.merges, "expected": self.expected,
               "panel merge": self.panel_merge, "prompts": prompts})
    }
}

impl Manifest {
    /// True if the built-in baseline judged the rubric.
    pub fn is_lexical(&self) -> bool {
        self.judge.as_ref().is_some_and(|judge| judge.lexical)
    }

    /// The identity of the rubric's judge; empty where there is none.
    pub fn judge_id(&self) -> &str {
        self.judge.as_ref().map_or("", |judge| &judge.id)
    }

    /// A hash of everything that makes this run another than others: settings, inputs, prompts, judge. Paths, times,
    /// seeds of resampling and versions are no part of it.
    pub fn identity(&self) -> Fingerprint {
        let inputs = self.input_hashes(usize::MAX);
        let prompts = self.prompts.as_ref().map(|prompts| prompts.fingerprint.to_string());
        let judge = self.judge.as_ref().map(|judge| &judge.id);
        let mut parts = vec![json!(SCHEMA_VERSION), json!(self.settings), json!(inputs), json!(prompts), json!(judge)];
        if self.scorers != rubric_alone() || !self.roles.is_empty() {
            parts.push(json!(self.scorers));
            parts.extend(self.roles.iter().map(|(role, entry)| json!([role, entry.identity()])));
        }
        let parts = Value::Array(parts);
        blake3::hash(parts.to_string().as_bytes()).into()
    }

    /// So many digits of each input's hash, by name. A system may be called `tests`, too: then the name has both.
    fn input_hashes(&self, digits: usize) -> BTreeMap<&str, String> {
        let mut hashes: BTreeMap<&str, String> = BTreeMap::new();
        for input in &self.inputs {
            let hash: String = input.blake3.to_string().chars().take(digits).collect();
            hashes.entry(&input.name).and_modify(|both| *both += &format!("+{hash}")).or_insert(hash);
        }
        hashes
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
    let judge = |manifest: &Manifest| manifest.judge.as_ref().map_or("none", |judge| &judge.id).to_owned();
    compare("judge", judge(there), judge(here));
    compare("scorers", there.scorers.join(","), here.scorers.join(","));
    for role in union(there.roles.keys(), here.roles.keys()) {
        let entry = |manifest: &Manifest| manifest.roles.get(role).map_or(json!("nobody"), RoleEntry::told);
        for (name, there, here) in unequal_parts(&format!("role {role}"), &entry(there), &entry(here)) {
            compare(&name, there, here);
        }
    }
    let prompts = |manifest: &Manifest| {
        manifest.prompts.as_ref().map_or_else(|| "none".to_owned(), |prompts| prompts.fingerprint.to_string())
    };
    compare("prompts", prompts(there), prompts(here));
    let (old_inputs, new_inputs) = (there.input_hashes(12), here.input_hashes(12));
    for name in union(old_inputs.keys(), new_inputs.keys()) {
        let hash = |of: &BTreeMap<&str, String>| of.get(name).cloned().unwrap_or_else(|| "absent".to_owned());
        compare(&format!("input {name}"), hash(&old_inputs), hash(&new_inputs));
    }
    for name in union(there.settings.keys(), here.settings.keys()) {
        let value = |manifest: &Manifest| manifest.settings.get(name).cloned().unwrap_or_else(|| json!("unset"));
        for (name, there, here) in unequal_parts(name, &value(there), &value(here)) {
            compare(&name, there, here);
        }
    }
    lines
}

/// The parts of two values that differ, in words: of two objects only the fields that do, each by its name.
fn unequal_parts(name: &str, there: &Value, here: &Value) -> Vec<(String, String, String)> {
    match (there, here) {
        _ if there == here => Vec::new(),
        (Value::Object(old), Value::Object(new)) => {
            let field = |of: &serde_json::Map<String, Value>, key: &str| of.get(key).cloned().unwrap_or(json!("unset"));
            let parts = union(old.keys(), new.keys()).into_iter();
            parts.flat_map(|key| unequal_parts(&format!("{name}.{key}"), &field(old, key), &field(new, key))).collect()
        }
        _ => {
            let (mut old, mut new) = (in_words(there), in_words(here));
            if old == new {
                (old, new) = (there.to_string(), here.to_string());
            }
            vec![(name.to_owned(), old, new)]
        }
    }
}

/// A value without the marks of JSON.
fn in_words(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(values) if values.is_empty() => "nothing".to_owned(),
        Value::Array(values) => values.iter().map(in_words).collect::<Vec<_>>().join(","),
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| format!("{key} {}", in_words(value))).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

fn union<'a, T: Ord + ?Sized>(
    left: impl Iterator<Item = &'a T>,
    right: impl Iterator<Item = &'a T>,
) -> std::collections::BTreeSet<&'a T> {
    left.chain(right).collect()
}
