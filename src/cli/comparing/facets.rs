//! What of a run its numbers hang on, by name: two runs that differ in one of these are no equals.
//!
//! Answers, systems, paths, times, seeds of resampling, limits, caches, labels and the policy for unscored answers are not
//! here: they may differ. A facet that a run lacks (the prompts of a judge that it did not ask) is no difference.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::cli::config_file::{ASPECT_ROLE, DEFAULT_JUDGE};
use crate::cli::settings::keys;
use crate::domain::Mode;
use crate::evaluation::Merge;
use crate::evaluation::record::{JudgeEntry, Manifest, PromptsEntry, RoleEntry};

/// A facet's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Facet {
    /// Equal facets have equal ones.
    pub(super) identity: String,
    /// As a person reads it.
    pub(super) shown: String,
}

impl Facet {
    fn plain(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { identity: text.clone(), shown: text }
    }

    fn of(value: &Value) -> Self {
        match value {
            Value::String(text) => Self::plain(text.clone()),
            Value::Null => Self::plain("unset"),
            other => Self::plain(other.to_string()),
        }
    }
}

/// The facets of a run, in a stable order.
pub(super) fn facets(manifest: &Manifest) -> BTreeMap<String, Facet> {
    let mut found = BTreeMap::new();
    let mode = if manifest.mode == Mode::Compat { "compat" } else { "default" };
    found.insert("mode (parser and arithmetic)".to_owned(), Facet::plain(mode));
    found.extend(inputs(manifest));
    if !manifest.kept_cases.is_empty() {
        found.insert("cases".to_owned(), kept_cases(manifest));
    }
    let settings = &manifest.settings;
    let has_rubric = manifest.scorers.iter().any(|scorer| scorer == "rubric");
    for (name, default) in score_settings(has_rubric) {
        found.insert(name.to_owned(), Facet::of(settings.get(name).unwrap_or(&default)));
    }
    for (name, value) in settings.iter().filter(|(name, _)| name.starts_with("scorer.")) {
        match value {
            Value::Object(parts) => {
                found.extend(parts.iter().map(|(part, value)| (format!("{name}.{part}"), Facet::of(value))));
            }
            other => _ = found.insert(name.clone(), Facet::of(other)),
        }
    }
    for (role, entry) in &role_entries(manifest) {
        found.extend(role_facets(manifest, role, entry));
    }
    found
}

/// Settings of the run that change scores, with their defaults: a record names the rarer ones only where they are others.
fn score_settings(has_rubric: bool) -> Vec<(&'static str, Value)> {
    let mut names = vec![("score.parse_retries", json!(2)), (keys::TRUNCATE.name, json!(false))];
    if has_rubric {
        names.extend([
            ("score.rubrics", json!(true)),
            ("score.snippets", json!(true)),
            (keys::REFERENCES_BLOCK.name, json!("append")),
        ]);
    }
    names
}

/// The hashes of the files that answers are held against.
fn inputs(manifest: &Manifest) -> Vec<(String, Facet)> {
    let of = |name: &str| {
        // A system may be called so, too; its file stands behind.
        let file = manifest.inputs.iter().find(|input| input.name == name);
        let known = |hash: String| Facet { shown: format!("{}..", &hash[..12.min(hash.len())]), identity: hash };
        (format!("input {name}"), file.map_or(Facet::plain("none"), |input| known(input.blake3.to_string())))
    };
    ["tests", "references", "questions"].into_iter().map(of).collect()
}

fn kept_cases(manifest: &Manifest) -> Facet {
    let mut cases: Vec<&str> = manifest.kept_cases.iter().map(String::as_str).collect();
    cases.sort_unstable();
    let identity = json!(cases).to_string();
    let hash = blake3::hash(identity.as_bytes()).to_hex();
    Facet { shown: format!("{} [{}..]", cases.len(), &hash[..6]), identity }
}

/// Every role that was judged, that of the rubric's among them where `[judge]` has it.
pub(super) fn role_entries(manifest: &Manifest) -> BTreeMap<String, RoleEntry> {
    let mut entries = manifest.roles.clone();
    if let Some(judge) = &manifest.judge {
        entries.entry("rubric".to_owned()).or_insert_with(|| rubric_entry(manifest, judge));
    }
    entries
}

/// The rubric's judge where it is the one of `[judge]`, asked as the run's settings say.
fn rubric_entry(manifest: &Manifest, judge: &JudgeEntry) -> RoleEntry {
    let settings = &manifest.settings;
    let samples = settings.get(keys::SAMPLES.name).and_then(Value::as_u64).and_then(|samples| samples.try_into().ok());
    let merge = settings.get(keys::MERGE.name).and_then(Value::as_str).map(|name| name.replace('-', "_"));
    let merge = Merge::ALL.into_iter().find(|known| merge.as_deref() == Some(known.as_str()));
    RoleEntry {
        judges: vec![judge.clone()],
        samples: vec![samples.unwrap_or(1)],
        merges: vec![merge.unwrap_or_default()],
        expected: vec![settings.get("judge.logprobs").is_some_and(|count| !count.is_null())],
        panel_merge: Merge::default(),
        prompts: manifest.prompts.clone(),
    }
}

fn role_facets(manifest: &Manifest, role: &str, entry: &RoleEntry) -> Vec<(String, Facet)> {
    // What merges nothing changes nothing.
    let own = entry.samples.iter().zip(&entry.merges).map(|(samples, merge)| (*samples > 1).then_some(merge));
    let of_panel = (entry.judges.len() > 1).then_some(entry.panel_merge);
    let merges = json!({"draws": own.collect::<Vec<_>>(), "judges": of_panel});
    let mut found = vec![
        (format!("judge of {role}"), judges(&entry.judges)),
        (format!("draws of {role}"), Facet::of(&json!(entry.samples))),
        (format!("expected scores of {role}"), Facet::of(&json!(entry.expected))),
        (format!("merge of {role}"), Facet::of(&merges)),
        (format!("prompts of {role}"), prompts(entry.prompts.as_ref())),
    ];
    found.extend(judge_settings(manifest, role));
    found
}

fn judges(judges: &[JudgeEntry]) -> Facet {
    Facet::plain(judges.iter().map(|judge| judge.id.as_str()).collect::<Vec<_>>().join(" + "))
}

fn prompts(prompts: Option<&PromptsEntry>) -> Facet {
    let of = |prompts: &PromptsEntry| {
        let hash = prompts.fingerprint.to_string();
        Facet { shown: format!("{} [{}..]", prompts.label, prompts.fingerprint.short(8)), identity: hash }
    };
    prompts.map_or(Facet::plain("none"), of)
}

/// What the judges of a role are asked with (temperature, reply limits, ..), whatever they are called in the config.
fn judge_settings(manifest: &Manifest, role: &str) -> Vec<(String, Facet)> {
    let settings = &manifest.settings;
    let of_role = |name: &str| settings.get(&format!("{}.{name}", keys::ROLES));
    let own = of_role(role).or_else(|| role.starts_with("aspect.").then(|| of_role(ASPECT_ROLE)).flatten());
    let list = own.and_then(|own| own.get("judges").unwrap_or(own).as_array());
    let names: Vec<&str> = list.map_or(vec![DEFAULT_JUDGE], |list| list.iter().filter_map(Value::as_str).collect());
    let mut found = Vec::new();
    for (at, name) in names.iter().enumerate() {
        let whose = if names.len() == 1 { format!("judge of {role}") } else { format!("judge {} of {role}", at + 1) };
        // How often it is asked and how draws are merged stands in the entry of the role.
        let is_told = |key: &str| ["samples", "merge", "model", "cache_id"].contains(&key);
        let values: Vec<(&str, &Value)> = match settings.get(&format!("{}.{name}", keys::JUDGES)) {
            Some(Value::Object(named)) => named.iter().map(|(key, value)| (key.as_str(), value)).collect(),
            _ => settings.iter().filter_map(|(key, value)| Some((default_judge(key)?, value))).collect(),
        };
        let told = values.into_iter().filter(|(key, _)| !is_told(key));
        found.extend(told.map(|(key, value)| (format!("{key} of the {whose}"), Facet::of(value))));
    }
    found
}

/// The name of a setting of `[judge]`.
fn default_judge(key: &str) -> Option<&str> {
    key.strip_prefix(DEFAULT_JUDGE)?.strip_prefix('.')
}
