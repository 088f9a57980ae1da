//! Run settings: everything that affects scores, by name. A directory with other run settings holds another run; runs
//! that differ in a setting of all answers are not comparable.
//!
//! Paths, times, resampling seeds and versions are not run settings. Systems, their answers and the choice of cases and
//! scorers may differ between runs that are compared.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::SCHEMA_VERSION;
use super::answered;
use super::manifest::{JudgeEntry, Manifest, OTHER_INPUTS, RoleEntry, THINKING};
use crate::domain::Fingerprint;

/// How the names of settings about answering models begin.
const ANSWERED: &str = "models that answered for ";

/// Maximum length of a value in a message, in characters.
const MAX_CHARS: usize = 80;

/// Settings that concern all answers, whatever is scored, and those of the rubric.
const OF_ALL_ANSWERS: [&str; 4] = [
    "score.compat",
    "score.parse_retries",
    "score.truncate",
    THINKING,
];
const OF_RUBRICS: [&str; 3] = ["score.rubrics", "score.snippets", "score.references_block"];

/// Inputs that concern all answers.
const SHARED_INPUTS: [&str; 3] = ["test cases", "references", "questions"];

/// The value of a run setting.
#[derive(Debug, Default)]
struct Setting {
    value: String,
    /// In messages; files and prompts by their hash.
    shown: String,
    /// Whether runs with different values are not comparable.
    is_compared: bool,
}

impl Setting {
    fn new(value: &Value, is_compared: bool) -> Self {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Null => "unset".to_owned(),
            other => other.to_string(),
        };
        let mut shown: String = text.chars().take(MAX_CHARS).collect();
        if shown.len() < text.len() {
            shown.push_str("..");
        }
        Self {
            value: text,
            shown,
            is_compared,
        }
    }
}

/// A setting with more than one value among some runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingDifference {
    /// A message: `different judge of rubric: a (run1, run2), b (run3)`.
    pub text: String,
    /// The first run that differs from those before it.
    pub run: usize,
    /// Whether the judges differ, or what they are asked for: samples, temperature, their merging.
    pub is_judge: bool,
    /// Whether only reply limits differ, which decide nothing about a reply that was not cut.
    pub is_reply_limit: bool,
}

/// The settings that differ between runs, which are given by name and manifest; the judges first. With `all`, every
/// setting counts, otherwise only those that make runs incomparable, among the runs that have them.
pub fn setting_differences(runs: &[(&str, &Manifest)], all: bool) -> Vec<SettingDifference> {
    let mut by_name: BTreeMap<String, Vec<(Setting, Vec<usize>)>> = BTreeMap::new();
    for (run, (_, manifest)) in runs.iter().enumerate() {
        let mut settings = manifest.run_settings();
        if !all {
            // A run that is continued does not know yet who will answer.
            settings.retain(|_, setting| setting.is_compared);
            add_answering_models(&mut settings, manifest);
        }
        for (name, setting) in settings {
            let values = by_name.entry(name).or_default();
            match values
                .iter_mut()
                .find(|(known, _)| known.value == setting.value)
            {
                Some((_, its_runs)) => its_runs.push(run),
                None => values.push((setting, vec![run])),
            }
        }
    }
    let mut differences = Vec::new();
    for (name, mut values) in by_name {
        let without: Vec<usize> = (0..runs.len())
            .filter(|run| values.iter().all(|(_, its_runs)| !its_runs.contains(run)))
            .collect();
        // Another kind of judge has other settings.
        if all && !without.is_empty() && !name.contains(" of the judge ") {
            values.push((Setting::new(&"none".into(), false), without));
            values.sort_by_key(|(_, its_runs)| its_runs[0]);
        }
        if values.len() > 1 {
            let (label, of_zero) = match name.as_str() {
                "scorer.criteria.batch" => ("criteria per call", "all"),
                other => (other, "0"),
            };
            let value = |(setting, its_runs): &(Setting, Vec<usize>)| {
                let names: Vec<&str> = its_runs.iter().map(|run| runs[*run].0).collect();
                let shown = if setting.value == "0" {
                    of_zero
                } else {
                    &setting.shown
                };
                format!("{shown} ({})", names.join(", "))
            };
            let text = format!(
                "different {label}: {}",
                values.iter().map(value).collect::<Vec<_>>().join(", ")
            );
            let run = values
                .iter()
                .map(|(_, its_runs)| its_runs[0])
                .max()
                .unwrap_or_default();
            let is_judge = name.starts_with("judge ")
                || name.starts_with(ANSWERED)
                || name.starts_with("merge of ")
                || name.contains(" of the judge ");
            differences.push(SettingDifference {
                text,
                run,
                is_judge,
                is_reply_limit: is_reply_limit(&name),
            });
        }
    }
    differences.sort_by_key(|difference| !difference.is_judge);
    differences
}

/// Whether the setting of this name is the reply limits of a judge. A run continues under other ones.
fn is_reply_limit(name: &str) -> bool {
    name.starts_with("max_tokens of the ")
}

impl Manifest {
    /// A hash of the run settings, reply limits left out.
    pub fn identity(&self) -> Fingerprint {
        let settings = self
            .run_settings()
            .into_iter()
            .filter(|(name, _)| !is_reply_limit(name))
            .map(|(name, setting)| (name, setting.value));
        let settings: BTreeMap<String, String> = settings.collect();
        blake3::hash(json!([SCHEMA_VERSION, settings]).to_string().as_bytes()).into()
    }

    fn run_settings(&self) -> BTreeMap<String, Setting> {
        let mut settings = BTreeMap::from([(
            "scorers".to_owned(),
            Setting::new(&json!(self.scorers), false),
        )]);
        let has_rubric = self.scorers.iter().any(|scorer| scorer == "rubric");
        for (name, value) in &self.settings {
            let is_compared = name.starts_with("scorer.")
                || OF_ALL_ANSWERS.contains(&name.as_str())
                || has_rubric && OF_RUBRICS.contains(&name.as_str());
            match value {
                Value::Object(parts) => settings.extend(parts.iter().map(|(part, value)| {
                    (format!("{name}.{part}"), Setting::new(value, is_compared))
                })),
                value => _ = settings.insert(name.clone(), Setting::new(value, is_compared)),
            }
        }
        self.add_inputs(&mut settings);
        for (role, entry) in &self.roles {
            add_role(&mut settings, role, entry);
        }
        settings
    }

    fn add_inputs(&self, settings: &mut BTreeMap<String, Setting>) {
        for input in &self.inputs {
            let name = match input.name.as_str() {
                "tests" => "test cases".to_owned(),
                other if OTHER_INPUTS.contains(&other) => other.to_owned(),
                system => format!("answers of {system}"),
            };
            let is_compared = SHARED_INPUTS.contains(&name.as_str());
            // The answers of a system may have the name of another input.
            let setting = settings.entry(name).or_default();
            let and = if setting.shown.is_empty() {
                ""
            } else {
                " and "
            };
            setting.shown += &format!("{and}{} [{}..]", input.path, input.blake3.short(8));
            setting.value += &input.blake3.short(64);
            setting.is_compared = is_compared;
        }
        for name in SHARED_INPUTS {
            settings
                .entry(name.to_owned())
                .or_insert_with(|| Setting::new(&"none".into(), true));
        }
        if !self.kept_cases.is_empty() {
            let mut cases = self.kept_cases.clone();
            cases.sort_unstable();
            let hash = blake3::hash(json!(cases).to_string().as_bytes()).to_hex();
            let shown = format!("{} [{}..]", cases.len(), &hash[..8]);
            settings.insert(
                "cases".to_owned(),
                Setting {
                    value: hash.to_string(),
                    shown,
                    is_compared: true,
                },
            );
        }
    }
}

/// The models that answered for each judge, if their names are known: by another model it is another judge. Runs with
/// other judges differ in these already, so the judge is a part of the name.
fn add_answering_models(settings: &mut BTreeMap<String, Setting>, manifest: &Manifest) {
    for (role, entry) in &manifest.roles {
        for judge in &entry.judges {
            let models = answered::names(&judge.answered_by);
            if models.is_empty() {
                continue;
            }
            let name = format!("{ANSWERED}{} as judge of {role}", judge.name());
            settings.insert(name, Setting::new(&models.join(" and ").into(), true));
        }
    }
}

fn add_role(settings: &mut BTreeMap<String, Setting>, role: &str, entry: &RoleEntry) {
    let mut add = |name: String, value: &Value| settings.insert(name, Setting::new(value, true));
    let ids: Vec<&str> = entry.judges.iter().map(|judge| judge.id.as_str()).collect();
    add(format!("judge of {role}"), &ids.join(" + ").into());
    let is_panel = entry.judges.len() > 1;
    if is_panel {
        add(format!("merge of {role}"), &json!(entry.merge));
    }
    for (
        at,
        JudgeEntry {
            samples,
            merge,
            settings,
            ..
        },
    ) in entry.judges.iter().enumerate()
    {
        let judge = if is_panel {
            format!("judge {} of {role}", at + 1)
        } else {
            format!("judge of {role}")
        };
        for (key, value) in settings {
            add(format!("{key} of the {judge}"), value);
        }
        add(format!("samples of the {judge}"), &json!(samples));
        // The merge rule has no effect on a single value.
        if *samples > 1 {
            add(format!("merge of the {judge}"), &json!(merge));
        }
    }
    if let Some(prompts) = &entry.prompts {
        let (value, shown) = (prompts.fingerprint.short(64), prompts.fingerprint.short(8));
        let shown = format!("{} [{shown}..]", prompts.label);
        settings.insert(
            format!("prompts of {role}"),
            Setting {
                value,
                shown,
                is_compared: true,
            },
        );
    }
}
