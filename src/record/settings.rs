//! Run settings: everything that affects scores, by name. A directory with other run settings holds another run; runs
//! that differ in a setting of all answers are not comparable.
//!
//! Paths, times, resampling seeds and versions are not run settings. Systems, their answers and the choice of cases and
//! scorers may differ between runs that are compared.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::SCHEMA_VERSION;
use super::answered;
use super::manifest::{KEPT_ERRORS, Manifest, OTHER_INPUTS, REASONING_TAGS, THINKING};
use super::role::{JudgeEntry, RoleEntry};
use crate::domain::Fingerprint;
use crate::scorer::rubric::RUBRIC;

/// How the names of settings about answering models begin.
const ANSWERED: &str = "models that answered for ";

/// How the names of settings about prompts begin.
const PROMPTS: &str = "prompts of ";

/// The name of the profile by which criteria are scored, and how the names of its settings begin.
const RUBRIC_NAME: &str = "scorer.criteria.name";
const OF_RUBRIC: &str = "scorer.criteria.";

/// Maximum length of a value in a message, in characters.
const MAX_CHARS: usize = 80;

/// Settings that concern all answers, whatever is scored, and those of the rubric.
const OF_ALL_ANSWERS: [&str; 6] = [
    "score.compat",
    "score.parse_retries",
    "score.truncate",
    THINKING,
    KEPT_ERRORS,
    REASONING_TAGS,
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
    /// Whether the prompts differ.
    pub is_prompts: bool,
    /// Whether only reply limits differ, which decide nothing about a reply that was not cut.
    pub is_reply_limit: bool,
}

/// The settings that differ between runs, which are given by name and manifest; the judges first. With `all`, every
/// setting counts, otherwise only those that make runs incomparable, among the runs that have them.
pub fn setting_differences(runs: &[(&str, &Manifest)], all: bool) -> Vec<SettingDifference> {
    let mut differences = Vec::new();
    let by_name = values_by_setting(runs, all);
    let of_other_rubrics = by_name
        .get(RUBRIC_NAME)
        .is_some_and(|values| values.len() > 1);
    for (name, mut values) in by_name {
        // Another rubric has other fields, replies and credits: its name says it all.
        if of_other_rubrics && name.starts_with(OF_RUBRIC) && name != RUBRIC_NAME {
            continue;
        }
        let mut without: Vec<usize> = (0..runs.len()).collect();
        without.retain(|run| !values.iter().any(|value| value.runs.contains(run)));
        // Another kind of judge has other settings.
        let has_missing = !without.is_empty() && !is_of_judge(&name);
        if all && has_missing {
            values.push(ValueOfRuns {
                setting: Setting::new(&"none".into(), false),
                runs: without,
            });
            values.sort_by_key(|value| value.runs[0]);
        }
        if values.len() > 1 {
            differences.push(difference(&name, &values, runs));
        }
    }
    // Another judge is the gravest difference, and long lists are cut.
    differences.sort_by_key(|difference| !difference.is_judge);
    differences
}

/// A value of a setting, with the runs that have it (indices, ascending, at least one).
struct ValueOfRuns {
    setting: Setting,
    runs: Vec<usize>,
}

/// The different values of every setting, each in the order of its first run.
fn values_by_setting(runs: &[(&str, &Manifest)], all: bool) -> BTreeMap<String, Vec<ValueOfRuns>> {
    let mut by_name: BTreeMap<String, Vec<ValueOfRuns>> = BTreeMap::new();
    for (run, (_, manifest)) in runs.iter().enumerate() {
        let mut settings = manifest.run_settings();
        if !all {
            // A run that is continued does not know yet who will answer.
            settings.retain(|_, setting| setting.is_compared);
            add_answering_models(&mut settings, manifest);
        }
        for (name, setting) in settings {
            let values = by_name.entry(name).or_default();
            let known = values
                .iter_mut()
                .find(|known| known.setting.value == setting.value);
            match known {
                Some(known) => known.runs.push(run),
                None => values.push(ValueOfRuns {
                    setting,
                    runs: vec![run],
                }),
            }
        }
    }
    by_name
}

/// `different samples of the judge of rubric: 1 (one), 3 (two)`
fn difference(name: &str, values: &[ValueOfRuns], runs: &[(&str, &Manifest)]) -> SettingDifference {
    let is_batch = name == "scorer.criteria.batch";
    let label = match name {
        _ if is_batch => "criteria per call",
        RUBRIC_NAME => "rubric of the criteria",
        other => other,
    };
    let mut shown = Vec::new();
    for value in values {
        let names: Vec<&str> = value.runs.iter().map(|run| runs[*run].0).collect();
        let text = if is_batch && value.setting.value == "0" {
            "all"
        } else {
            &value.setting.shown
        };
        shown.push(format!("{text} ({})", names.join(", ")));
    }
    // Values are in the order of their first run, so that the last of these is the run to blame.
    let first_runs = values.iter().map(|value| value.runs[0]);
    SettingDifference {
        text: format!("different {label}: {}", shown.join(", ")),
        run: first_runs.max().unwrap_or_default(),
        is_judge: name.starts_with("judge ")
            || name.starts_with(ANSWERED)
            || name.starts_with("merge of ")
            || is_of_judge(name),
        is_prompts: name.starts_with(PROMPTS),
        is_reply_limit: is_reply_limit(name),
    }
}

/// Whether the setting of this name is one of a judge, such as its temperature.
fn is_of_judge(name: &str) -> bool {
    name.contains(" of the judge ")
}

/// Whether the setting of this name is the reply limits of a judge. A run continues under other ones.
fn is_reply_limit(name: &str) -> bool {
    name.starts_with("max_tokens of the ")
}

impl Manifest {
    /// A hash of the run settings, reply limits left out.
    pub fn identity(&self) -> Fingerprint {
        let mut settings: BTreeMap<String, String> = BTreeMap::new();
        for (name, setting) in self.run_settings() {
            if !is_reply_limit(&name) {
                settings.insert(name, setting.value);
            }
        }
        // With the format's version: a directory of an older format is never taken for the same
        // run.
        blake3::hash(json!([SCHEMA_VERSION, settings]).to_string().as_bytes()).into()
    }

    fn run_settings(&self) -> BTreeMap<String, Setting> {
        let mut settings = BTreeMap::new();
        let scorers = Setting::new(&json!(self.scorers), false);
        settings.insert("scorers".to_owned(), scorers);
        let has_rubric = self.scorers.iter().any(|scorer| scorer == RUBRIC.name);
        for (name, value) in &self.settings {
            // Options of a scorer that did not run may differ.
            let is_compared = name.starts_with("scorer.")
                || OF_ALL_ANSWERS.contains(&name.as_str())
                || has_rubric && OF_RUBRICS.contains(&name.as_str());
            let Value::Object(parts) = value else {
                settings.insert(name.clone(), Setting::new(value, is_compared));
                continue;
            };
            for (part, value) in parts {
                let setting = Setting::new(value, is_compared);
                settings.insert(format!("{name}.{part}"), setting);
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
            if !setting.shown.is_empty() {
                setting.shown.push_str(" and ");
            }
            setting.shown += &format!("{} [{}..]", input.path, input.blake3.short(8));
            // By content: a file that was moved or renamed is still the same input.
            setting.value += &input.blake3.short(64);
            setting.is_compared = is_compared;
        }
        for name in SHARED_INPUTS {
            settings
                .entry(name.to_owned())
                // A run without test cases differs from one with some, although it has no entry to
                // compare.
                .or_insert_with(|| Setting::new(&"none".into(), true));
        }
        if !self.kept_cases.is_empty() {
            settings.insert("cases".to_owned(), self.cases_setting());
        }
    }

    /// The choice of cases, whatever their order.
    fn cases_setting(&self) -> Setting {
        let mut cases = self.kept_cases.clone();
        cases.sort_unstable();
        let hash = blake3::hash(json!(cases).to_string().as_bytes()).to_hex();
        Setting {
            shown: format!("{} [{}..]", cases.len(), &hash[..8]),
            value: hash.to_string(),
            is_compared: true,
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
    let ids: Vec<&str> = entry.judges.iter().map(|judge| judge.id.as_str()).collect();
    add(
        settings,
        format!("judge of {role}"),
        &ids.join(" + ").into(),
    );
    let is_panel = entry.judges.len() > 1;
    if is_panel {
        add(settings, format!("merge of {role}"), &json!(entry.merge));
    }
    // By number and not by name: the names differ between the runs that are compared.
    for (number, judge) in (1..).zip(&entry.judges) {
        let name = if is_panel {
            format!("judge {number} of {role}")
        } else {
            format!("judge of {role}")
        };
        add_judge(settings, &name, judge);
    }
    if let Some(prompts) = &entry.prompts {
        let fingerprint = &prompts.fingerprint;
        let setting = Setting {
            value: fingerprint.short(64),
            shown: format!("{} [{}..]", prompts.label, fingerprint.short(8)),
            is_compared: true,
        };
        settings.insert(format!("{PROMPTS}{role}"), setting);
    }
}

/// The settings of one judge; `name` is such as `judge of rubric`.
fn add_judge(settings: &mut BTreeMap<String, Setting>, name: &str, judge: &JudgeEntry) {
    for (key, value) in &judge.settings {
        add(settings, format!("{key} of the {name}"), value);
    }
    let samples = json!(judge.samples);
    add(settings, format!("samples of the {name}"), &samples);
    // The merge rule has no effect on a single value.
    if judge.samples > 1 {
        add(
            settings,
            format!("merge of the {name}"),
            &json!(judge.merge),
        );
    }
}

fn add(settings: &mut BTreeMap<String, Setting>, name: String, value: &Value) {
    settings.insert(name, Setting::new(value, true));
}
