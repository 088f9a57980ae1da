//! Run settings that affect scores. Runs that differ in any of them are not comparable.
//!
//! Answers, systems, paths, times, resampling seeds, limits, caches and labels may differ. A setting that one run does
//! not have (such as the prompts of a judge it did not use) is not a difference.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::record::{JudgeEntry, Manifest, PromptsEntry, RoleEntry};
use crate::domain::Mode;
use crate::evaluation::Merge;

/// Longest value in a message, in characters.
const SHOWN: usize = 80;

/// The value of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Setting {
    /// Compared for equality.
    identity: String,
    /// Shown in messages.
    shown: String,
}

impl Setting {
    fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { identity: text.clone(), shown: text }
    }

    fn of(value: &Value) -> Self {
        match value {
            Value::String(text) => Self::text(text.clone()),
            Value::Null => Self::text("unset"),
            other => Self::text(other.to_string()),
        }
    }
}

/// A setting with more than one value among some runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SettingDifference {
    /// `judge of rubric differs: a (run1, run2), b (run3)`.
    pub(super) text: String,
    /// The first run that differs from those before it.
    pub(super) run: usize,
    /// Whether the setting concerns the judge.
    pub(super) is_judge: bool,
}

/// Every setting that differs between these runs (name and manifest), among those that have it.
pub(super) fn setting_differences(runs: &[(&str, &Manifest)]) -> Vec<SettingDifference> {
    let mut by_name: BTreeMap<String, Vec<(Setting, Vec<usize>)>> = BTreeMap::new();
    for (run, (_, manifest)) in runs.iter().enumerate() {
        for (name, setting) in settings(manifest) {
            let values = by_name.entry(name).or_default();
            match values.iter_mut().find(|(known, _)| known.identity == setting.identity) {
                Some((_, of)) => of.push(run),
                None => values.push((setting, vec![run])),
            }
        }
    }
    let value = |(setting, of): &(Setting, Vec<usize>)| {
        let mut shown: String = setting.shown.chars().take(SHOWN).collect();
        if shown.len() < setting.shown.len() {
            shown.push_str("..");
        }
        let names: Vec<&str> = of.iter().map(|run| runs[*run].0).collect();
        format!("{shown} ({})", names.join(", "))
    };
    let difference = |(name, values): (String, Vec<(Setting, Vec<usize>)>)| SettingDifference {
        text: format!("{name} differs: {}", values.iter().map(value).collect::<Vec<_>>().join(", ")),
        run: values.iter().filter_map(|(_, of)| of.first()).max().copied().unwrap_or_default(),
        is_judge: name.starts_with("judge of "),
    };
    by_name.into_iter().filter(|(_, values)| values.len() > 1).map(difference).collect()
}

/// Every role that was judged, the rubric's included.
pub(super) fn judged_roles(manifest: &Manifest) -> BTreeMap<String, RoleEntry> {
    let mut entries = manifest.roles.clone();
    if let Some(judge) = &manifest.judge {
        entries.entry("rubric".to_owned()).or_insert_with(|| rubric_entry(manifest, judge));
    }
    entries
}

/// The rubric's judge, if it is that of `[judge]` with the run's settings.
fn rubric_entry(manifest: &Manifest, judge: &JudgeEntry) -> RoleEntry {
    let settings = &manifest.settings;
    let samples = settings.get("score.samples").and_then(Value::as_u64).and_then(|samples| samples.try_into().ok());
    let merge = settings.get("score.merge").and_then(|merge| serde_json::from_value(merge.clone()).ok());
    RoleEntry {
        judges: vec![judge.clone()],
        samples: vec![samples.unwrap_or(1)],
        merges: vec![merge.unwrap_or_default()],
        expected: vec![settings.get("judge.logprobs").is_some_and(|count| !count.is_null())],
        panel_merge: Merge::default(),
        prompts: manifest.prompts.clone(),
    }
}

fn settings(manifest: &Manifest) -> BTreeMap<String, Setting> {
    let mut found = BTreeMap::new();
    let mode = if manifest.mode == Mode::Compat { "compat" } else { "default" };
    found.insert("mode (parser and arithmetic)".to_owned(), Setting::text(mode));
    for name in ["tests", "references", "questions"] {
        // A system may also have this name; its file follows.
        let file = manifest.inputs.iter().find(|input| input.name == name);
        let hash = file.map(|input| input.blake3.to_string());
        let shown = |hash: String| Setting { shown: format!("{}..", &hash[..12.min(hash.len())]), identity: hash };
        found.insert(format!("input {name}"), hash.map_or(Setting::text("none"), shown));
    }
    if !manifest.kept_cases.is_empty() {
        found.insert("cases".to_owned(), kept_cases(manifest));
    }
    // The record has the less common settings only where they differ from the default.
    let mut defaults = vec![("score.parse_retries", json!(2)), ("score.truncate", json!(false))];
    if manifest.scorers.iter().any(|scorer| scorer == "rubric") {
        let on = json!(true);
        defaults.extend([("score.rubrics", on.clone()), ("score.snippets", on)]);
        defaults.push(("score.references_block", json!("append")));
    }
    for (name, default) in defaults {
        found.insert(name.to_owned(), Setting::of(manifest.settings.get(name).unwrap_or(&default)));
    }
    for (name, value) in manifest.settings.iter().filter(|(name, _)| name.starts_with("scorer.")) {
        match value {
            Value::Object(parts) => {
                found.extend(parts.iter().map(|(part, value)| (format!("{name}.{part}"), Setting::of(value))));
            }
            other => _ = found.insert(name.clone(), Setting::of(other)),
        }
    }
    for (role, entry) in &judged_roles(manifest) {
        found.extend(role_settings(role, entry));
        found.extend(judge_settings(manifest, role));
    }
    found
}

fn kept_cases(manifest: &Manifest) -> Setting {
    let mut cases: Vec<&str> = manifest.kept_cases.iter().map(String::as_str).collect();
    cases.sort_unstable();
    let identity = json!(cases).to_string();
    let hash = blake3::hash(identity.as_bytes()).to_hex();
    Setting { shown: format!("{} [{}..]", cases.len(), &hash[..6]), identity }
}

fn role_settings(role: &str, entry: &RoleEntry) -> [(String, Setting); 5] {
    // A merge of one value changes nothing.
    let own = entry.samples.iter().zip(&entry.merges).map(|(samples, merge)| (*samples > 1).then_some(merge));
    let of_panel = (entry.judges.len() > 1).then_some(entry.panel_merge);
    let merges = json!({"samples": own.collect::<Vec<_>>(), "judges": of_panel});
    let judges: Vec<&str> = entry.judges.iter().map(|judge| judge.id.as_str()).collect();
    let prompts = |prompts: &PromptsEntry| Setting {
        shown: format!("{} [{}..]", prompts.label, prompts.fingerprint.short(8)),
        identity: prompts.fingerprint.to_string(),
    };
    [
        (format!("judge of {role}"), Setting::text(judges.join(" + "))),
        (format!("samples of {role}"), Setting::of(&json!(entry.samples))),
        (format!("expected scores of {role}"), Setting::of(&json!(entry.expected))),
        (format!("merge of {role}"), Setting::of(&merges)),
        (format!("prompts of {role}"), entry.prompts.as_ref().map_or(Setting::text("none"), prompts)),
    ]
}

/// How the judges of a role are called (temperature, reply limits, ..), whatever their names in the config file.
fn judge_settings(manifest: &Manifest, role: &str) -> Vec<(String, Setting)> {
    let settings = &manifest.settings;
    let of_role = |name: &str| settings.get(&format!("roles.{name}"));
    let own = of_role(role).or_else(|| role.starts_with("aspect.").then(|| of_role("aspect")).flatten());
    let list = own.and_then(|own| own.get("judges").unwrap_or(own).as_array());
    let names: Vec<&str> = list.map_or(vec!["judge"], |list| list.iter().filter_map(Value::as_str).collect());
    let mut found = Vec::new();
    for (at, name) in names.iter().enumerate() {
        let whose = if names.len() == 1 { format!("judge of {role}") } else { format!("judge {} of {role}", at + 1) };
        let values: Vec<(&str, &Value)> = match settings.get(&format!("judges.{name}")) {
            Some(Value::Object(named)) => named.iter().map(|(key, value)| (key.as_str(), value)).collect(),
            _ => settings.iter().filter_map(|(key, value)| Some((key.strip_prefix("judge.")?, value))).collect(),
        };
        // These are in the role's entry.
        let values = values.into_iter().filter(|(key, _)| !["samples", "merge", "model", "cache_id"].contains(key));
        found.extend(values.map(|(key, value)| (format!("{key} of the {whose}"), Setting::of(value))));
    }
    found
}
