//! Run settings that affect scores. Runs that differ in any of them are not comparable.
//!
//! Answers, systems, paths, times, resampling seeds, limits, caches and labels may differ. A setting that one run does
//! not have (such as the prompts of a judge it did not use) is not a difference.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::record::{JudgeEntry, Manifest, PromptsEntry, RoleEntry, THINKING};
use crate::domain::{GradeMerge, Mode};

/// Maximum length of a value in a message, in characters.
const MAX_CHARS: usize = 80;

/// A setting with more than one value among some runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SettingDifference {
    /// A message: `judge of rubric differs: a (run1, run2), b (run3)`.
    pub(super) text: String,
    /// The first run that differs from those before it.
    pub(super) run: usize,
    /// Whether the setting concerns the judge.
    pub(super) is_judge: bool,
}

/// Settings that differ between runs, which are given by name and manifest. Runs without a setting are not compared by
/// it.
pub(super) fn setting_differences(runs: &[(&str, &Manifest)]) -> Vec<SettingDifference> {
    let mut by_name: BTreeMap<String, Vec<(String, Vec<usize>)>> = BTreeMap::new();
    for (run, (_, manifest)) in runs.iter().enumerate() {
        for (name, setting) in settings(manifest) {
            let values = by_name.entry(name).or_default();
            match values.iter_mut().find(|(known, _)| *known == setting) {
                Some((_, run_indices)) => run_indices.push(run),
                None => values.push((setting, vec![run])),
            }
        }
    }
    let value = |(setting, run_indices): &(String, Vec<usize>)| {
        let mut display: String = setting.chars().take(MAX_CHARS).collect();
        if display.len() < setting.len() {
            display.push_str("..");
        }
        let names: Vec<&str> = run_indices.iter().map(|run| runs[*run].0).collect();
        format!("{display} ({})", names.join(", "))
    };
    let difference = |(name, values): (String, Vec<(String, Vec<usize>)>)| SettingDifference {
        text: format!("{name} differs: {}", values.iter().map(value).collect::<Vec<_>>().join(", ")),
        run: values.iter().filter_map(|(_, run_indices)| run_indices.first()).max().copied().unwrap_or_default(),
        is_judge: name.starts_with("judge of "),
    };
    by_name.into_iter().filter(|(_, values)| values.len() > 1).map(difference).collect()
}

/// The judged roles, the rubric among them.
pub fn judged_roles(manifest: &Manifest) -> BTreeMap<String, RoleEntry> {
    let mut entries = manifest.roles.clone();
    if let Some(judge) = &manifest.judge {
        entries.entry("rubric".to_owned()).or_insert_with(|| rubric_entry(manifest, judge));
    }
    entries
}

/// The entry of a rubric judge that `roles` does not list: the judge of `[judge]` with the settings of the run.
fn rubric_entry(manifest: &Manifest, judge: &JudgeEntry) -> RoleEntry {
    let settings = &manifest.settings;
    let samples = settings.get("score.samples").and_then(Value::as_u64).and_then(|samples| samples.try_into().ok());
    let merge = settings.get("score.merge").and_then(|merge| serde_json::from_value(merge.clone()).ok());
    RoleEntry {
        judges: vec![judge.clone()],
        samples: vec![samples.unwrap_or(1)],
        merges: vec![merge.unwrap_or_default()],
        expected: vec![settings.get("judge.logprobs").is_some_and(|count| !count.is_null())],
        panel_merge: GradeMerge::default(),
        prompts: manifest.prompts.clone(),
    }
}

/// The value in words; files and prompts are shown by the start of their hash.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "unset".to_owned(),
        other => other.to_string(),
    }
}

fn settings(manifest: &Manifest) -> BTreeMap<String, String> {
    let mut settings = BTreeMap::new();
    let mode = if manifest.mode == Mode::Compat { "compat" } else { "default" };
    settings.insert("mode (parser and arithmetic)".to_owned(), mode.to_owned());
    for name in ["tests", "references", "questions"] {
        // The answers of a system may have the same name, but come later in the list.
        let file = manifest.inputs.iter().find(|input| input.name == name);
        let hash = file.map_or_else(|| "none".to_owned(), |input| format!("{}..", input.blake3.short(12)));
        settings.insert(format!("input {name}"), hash);
    }
    if !manifest.kept_cases.is_empty() {
        settings.insert("cases".to_owned(), kept_cases(manifest));
    }
    // A manifest omits these settings where they have their default value.
    let mut defaults = vec![("score.parse_retries", json!(2)), ("score.truncate", json!(false))];
    if manifest.scorers.iter().any(|scorer| scorer == "rubric") {
        let on = json!(true);
        defaults.extend([("score.rubrics", on.clone()), ("score.snippets", on)]);
        defaults.push(("score.references_block", json!("append")));
    }
    for (name, default) in defaults {
        settings.insert(name.to_owned(), text_of(manifest.settings.get(name).unwrap_or(&default)));
    }
    for (name, value) in manifest.settings.iter().filter(|(name, _)| name.starts_with("scorer.") || *name == THINKING) {
        match value {
            Value::Object(parts) => {
                settings.extend(parts.iter().map(|(part, value)| (format!("{name}.{part}"), text_of(value))));
            }
            other => _ = settings.insert(name.clone(), text_of(other)),
        }
    }
    for (role, entry) in &judged_roles(manifest) {
        settings.extend(role_settings(role, entry));
        settings.extend(judge_settings(manifest, role));
    }
    settings
}

fn kept_cases(manifest: &Manifest) -> String {
    let mut cases = manifest.kept_cases.clone();
    cases.sort_unstable();
    let hash = blake3::hash(json!(cases).to_string().as_bytes()).to_hex();
    format!("{} [{}..]", cases.len(), &hash[..12])
}

fn role_settings(role: &str, entry: &RoleEntry) -> [(String, String); 5] {
    // The merge rule has no effect on a single value.
    let sample_merges = entry.samples.iter().zip(&entry.merges).map(|(samples, merge)| (*samples > 1).then_some(merge));
    let panel_merge = (entry.judges.len() > 1).then_some(entry.panel_merge);
    let merges = json!({"samples": sample_merges.collect::<Vec<_>>(), "judges": panel_merge});
    let judges: Vec<&str> = entry.judges.iter().map(|judge| judge.id.as_str()).collect();
    let prompts = |prompts: &PromptsEntry| format!("{} [{}..]", prompts.label, prompts.fingerprint.short(8));
    [
        (format!("judge of {role}"), judges.join(" + ")),
        (format!("samples of {role}"), text_of(&json!(entry.samples))),
        (format!("expected scores of {role}"), text_of(&json!(entry.expected))),
        (format!("merge of {role}"), text_of(&merges)),
        (format!("prompts of {role}"), entry.prompts.as_ref().map_or("none".to_owned(), prompts)),
    ]
}

/// Request settings of the judges of a role (temperature, reply limits, ..), independent of their names in the config
/// file.
fn judge_settings(manifest: &Manifest, role: &str) -> Vec<(String, String)> {
    let settings = &manifest.settings;
    let role_setting = |name: &str| settings.get(&format!("roles.{name}"));
    let judges = role_setting(role).or_else(|| role.starts_with("aspect.").then(|| role_setting("aspect")).flatten());
    let list = judges.and_then(|judges| judges.get("judges").unwrap_or(judges).as_array());
    let names: Vec<&str> = list.map_or(vec!["judge"], |list| list.iter().filter_map(Value::as_str).collect());
    let mut entries = Vec::new();
    for (at, name) in names.iter().enumerate() {
        let judge = if names.len() == 1 { format!("judge of {role}") } else { format!("judge {} of {role}", at + 1) };
        let values: Vec<(&str, &Value)> = match settings.get(&format!("judges.{name}")) {
            Some(Value::Object(named)) => named.iter().map(|(key, value)| (key.as_str(), value)).collect(),
            _ => settings.iter().filter_map(|(key, value)| Some((key.strip_prefix("judge.")?, value))).collect(),
        };
        // `role_settings` has these.
        let values = values.into_iter().filter(|(key, _)| !["samples", "merge", "model", "cache_id"].contains(key));
        entries.extend(values.map(|(key, value)| (format!("{key} of the {judge}"), text_of(value))));
    }
    entries
}
