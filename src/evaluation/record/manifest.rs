//! `manifest.json`: settings, inputs, judges and status of a run.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::SCHEMA_VERSION;
use super::stamp::FileStamp;
use crate::dataset::InputFile;
use crate::domain::{EndpointUse, Fingerprint, GradeMerge, Mode};
use crate::error::{Error, InputFault, Result};

/// The setting of a run with imported scores.
pub const IMPORTED: &str = "imported";

/// The setting of a run with answers that begin with `<think>` blocks: `kept` or `removed`.
pub const THINKING: &str = "score.thinking";

/// The commits of the reference scripts that compat mode reproduces.
const REFERENCE: &str = "ScholarQABench 95e6fc52b0a8a0ce0a74956029991e3bb00c38b9";

/// Names of inputs other than the answers of systems.
const OTHER_INPUTS: [&str; 5] = ["tests", "references", "questions", "aspects", "results"];

/// The status of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Running, or killed.
    #[default]
    Running,
    /// Every answer was scored.
    Complete,
    /// Stopped early; the same command continues.
    Stopped,
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
    /// The identity in cache keys.
    pub id: String,
    /// The requested model; `None` for the lexical baseline.
    pub model: Option<String>,
    /// Its address, secrets masked; `None` for the lexical baseline.
    pub base_url: Option<String>,
    /// The model that the server reported, if it did.
    pub served: Option<Value>,
    /// True for the built-in baseline, which is not an LLM.
    pub lexical: bool,
}

impl JudgeEntry {
    /// The name for people: the model's (of a file its stem) or `cache_id`, without what the server reported.
    pub fn name(&self) -> &str {
        let name = self.id.split('|').next().unwrap_or_default();
        let stem = name.strip_suffix(".gguf").and_then(|stem| stem.rsplit(['/', '\\']).next());
        stem.unwrap_or(name)
    }
}

/// How unscored answers count.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PolicyEntry {
    /// Whether missing values count as the lowest possible, or are left out.
    pub unscored_as_zero: bool,
    /// Tolerated share of unscored answers, 0..=1.
    pub max_unscored: f64,
}

/// Judges and prompts of a role.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoleEntry {
    /// One judge, or the panel.
    pub judges: Vec<JudgeEntry>,
    /// Samples per call and judge.
    pub samples: Vec<u32>,
    /// How the samples of each judge are merged.
    pub merges: Vec<GradeMerge>,
    /// Judges whose scores are expected scores.
    pub expected: Vec<bool>,
    /// How the verdicts of a panel are merged.
    pub panel_merge: GradeMerge,
    /// The prompts; `None` if the role uses none.
    pub prompts: Option<PromptsEntry>,
}

/// The manifest of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the formats in this directory.
    pub schema_version: u32,
    /// This program's version.
    pub scholareval_version: String,
    /// Its status.
    pub status: RunStatus,
    /// The run's label; `None`: the name of its directory.
    pub label: Option<String>,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// RFC 3339, UTC; of the last session if the run was resumed.
    pub finished_at: Option<String>,
    /// Arithmetic and parser.
    pub mode: Mode,
    /// In compat mode: the pinned commits of the reference.
    pub reference: Option<String>,
    /// Every setting that affects scores, by name.
    pub settings: BTreeMap<String, Value>,
    /// Input files with hashes.
    pub inputs: Vec<InputFile>,
    /// The prompt set; `None` for the lexical baseline, which uses none.
    pub prompts: Option<PromptsEntry>,
    /// The rubric's judge; `None` if the rubric was not scored.
    pub judge: Option<JudgeEntry>,
    /// The scorers, in order.
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
    /// Ids of the cases in use, in file order.
    pub kept_cases: Vec<String>,
    /// Warnings about the input.
    pub warnings: Vec<String>,
    /// How unscored answers count. Used when the run is rescored; not part of its identity.
    pub policy: Option<PolicyEntry>,
    /// What the endpoints did in the last session that made calls; not part of the identity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<EndpointUse>,
    /// Stamps of `inputs.jsonl`, `calls.jsonl` and `scores.jsonl`; empty while the run is unfinished.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, FileStamp>,
    /// Lines of `scores.jsonl`; 0 while the run is unfinished.
    #[serde(default)]
    pub scores: usize,
}

impl RoleEntry {
    /// Judge and prompts: `gpt-4o; prompts scholareval@1a2b3c4d`.
    pub fn summary(&self) -> String {
        let judge = |(at, judge): (usize, &JudgeEntry)| {
            let samples = self.samples.get(at).copied().unwrap_or(1);
            let merged = match self.merges.get(at) {
                Some(merge) if samples > 1 => format!(", {} of {samples} samples", merge.as_str().replace('_', " ")),
                _ => String::new(),
            };
            let expected = if self.expected.get(at) == Some(&true) { ", expected scores" } else { "" };
            format!("{}{merged}{expected}", judge.name())
        };
        let judges: Vec<String> = self.judges.iter().enumerate().map(judge).collect();
        let panel =
            if judges.len() > 1 { format!(" ({} of the panel)", self.panel_merge.as_str()) } else { String::new() };
        let prompts = self.prompts.as_ref().map(|prompts| format!("; prompts {}", prompts.label));
        format!("{}{panel}{}", judges.join(" and "), prompts.unwrap_or_default())
    }

    /// What differs from the published numbers of this role: judge, prompts. `None` if nothing does, if it has no
    /// published numbers, and for the lexical baseline, which is never comparable.
    pub fn differs_from_published(&self, role: &str) -> Option<String> {
        let published = match role {
            "rubric" => "gpt-4o",
            "aspect.organization" | "aspect.coverage" => "prometheus-bgb-8x7b-v2.0",
            "aspect.relevance" => "prometheus-8x7b-v2.0",
            "citation" => "attrscore-flan-t5-xl",
            _ => return None,
        };
        let judges: Vec<&JudgeEntry> = self.judges.iter().filter(|judge| !judge.lexical).collect();
        // A version of the model by its date is the model.
        let is_version = |rest: &str| rest.is_empty() || rest.starts_with("-20");
        let is_published = |judge: &&JudgeEntry| {
            let model = judge.model.as_deref().and_then(|model| model.rsplit('/').next()).unwrap_or_default();
            model.to_lowercase().strip_prefix(published).is_some_and(is_version)
        };
        let mut differences = Vec::new();
        if !judges.iter().all(is_published) {
            let names: Vec<&str> = judges.iter().map(|judge| judge.name()).collect();
            differences.push(format!("judge {} instead of {published}", names.join(" and ")));
        }
        let prompts = self.prompts.as_ref().filter(|prompts| !prompts.comparable_with_published);
        differences.extend(prompts.map(|prompts| format!("prompts {}", prompts.label)));
        (!judges.is_empty() && !differences.is_empty()).then(|| differences.join(", "))
    }
}

impl Manifest {
    /// The manifest of a new run.
    pub fn begin(mode: Mode) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            scholareval_version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: now(),
            mode,
            reference: (mode == Mode::Compat).then(|| REFERENCE.to_owned()),
            ..Self::default()
        }
    }

    /// The manifest of the run while it is unfinished.
    pub(super) fn unfinished(self) -> Self {
        Self { status: RunStatus::Running, finished_at: None, files: BTreeMap::new(), scores: 0, ..self }
    }

    /// The command that repairs a damaged file of the run in `dir`.
    pub(super) fn remedy(&self, dir: &Path, name: &str) -> String {
        let can_rescore = name == "scores.jsonl" && self.files.contains_key("inputs.jsonl");
        match self.is_set(IMPORTED) {
            true => "run the same import command again".to_owned(),
            false if can_rescore => {
                format!("`scholareval rescore {} --out NEW` makes the scores again from its calls", dir.display())
            }
            false => "run the same score command again, which mends it from the recorded and cached replies".to_owned(),
        }
    }

    /// Reads `manifest.json` of a run directory; `None` if it does not exist.
    ///
    /// # Errors
    /// When it cannot be read, is not a manifest, or has a newer format.
    pub fn load(run_dir: &Path) -> Result<Option<Self>> {
        let path = run_dir.join("manifest.json");
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                let what = InputFault::new(run_dir, "is a file, not the directory of a run");
                return Err(what.hint("name the run's directory, mostly the one that the file is in").into());
            }
            Err(error) => return Err(Error::io(&path, "read")(error)),
        };
        let manifest: Self = serde_json::from_str(&text).map_err(|error| {
            InputFault::new(&path, format!("no manifest of a run: {error}")).hint("name a run directory")
        })?;
        if manifest.schema_version > SCHEMA_VERSION {
            let (format, writer) = (manifest.schema_version, &manifest.scholareval_version);
            let what = format!(
                "written by scholareval {writer} in format {format}; this program reads up to {SCHEMA_VERSION}"
            );
            return Err(InputFault::new(&path, what).hint("use that version or a newer one").into());
        }
        Ok(Some(manifest))
    }

    /// The manifest of a run directory.
    ///
    /// # Errors
    /// As [`Manifest::load`], and when it does not exist.
    pub fn of_run(run_dir: &Path) -> Result<Self> {
        Self::load(run_dir)?.ok_or_else(|| {
            let hint = "name the directory of a run (score prints it at the end)";
            InputFault::new(run_dir, "holds no manifest.json").hint(hint).into()
        })
    }

    /// The label of the run in this directory, else the directory's own name.
    pub fn run_name(&self, dir: &Path) -> String {
        let directory = || dir.canonicalize().ok()?.file_name().map(|name| name.to_string_lossy().into_owned());
        self.label.clone().or_else(directory).unwrap_or_else(|| dir.display().to_string())
    }

    /// The systems whose answers are inputs.
    pub fn systems(&self) -> impl Iterator<Item = &str> {
        let names = self.inputs.iter().map(|input| input.name.as_str());
        names.filter(|name| !OTHER_INPUTS.contains(name))
    }

    /// True if the built-in baseline judged the rubric.
    pub fn is_lexical(&self) -> bool {
        self.judge.as_ref().is_some_and(|judge| judge.lexical)
    }

    /// The identity of the rubric's judge; empty without one.
    pub fn judge_id(&self) -> &str {
        self.judge.as_ref().map_or("", |judge| &judge.id)
    }

    /// The row of a benchmark that the run is, if it is one.
    pub fn row(&self) -> Option<&str> {
        self.settings.get("bench")?.as_str()
    }

    /// The boolean setting of that name; false if missing.
    pub fn is_set(&self, name: &str) -> bool {
        self.settings.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    /// A hash of everything that identifies a run: settings, inputs, prompts, judges. Paths, times, resampling seeds
    /// and versions are not part of it.
    pub fn identity(&self) -> Fingerprint {
        blake3::hash(json!(self.identity_parts(64)).to_string().as_bytes()).into()
    }

    /// The parts of [`Manifest::identity`] by name, with this many digits of each hash.
    fn identity_parts(&self, digits: usize) -> BTreeMap<String, Value> {
        let prompts = |of: &Option<PromptsEntry>| json!(of.as_ref().map(|prompts| prompts.fingerprint.short(digits)));
        let mut parts = self.settings.clone();
        parts.insert("format".to_owned(), SCHEMA_VERSION.into());
        parts.insert("judge".to_owned(), json!(self.judge.as_ref().map(|judge| &judge.id)));
        parts.insert("scorers".to_owned(), json!(self.scorers));
        parts.insert("prompts".to_owned(), prompts(&self.prompts));
        for (role, entry) in &self.roles {
            let judges: Vec<&str> = entry.judges.iter().map(|judge| judge.id.as_str()).collect();
            let value = json!({
                "judges": judges, "samples": entry.samples, "merge": entry.merges, "expected": entry.expected,
                "panel merge": entry.panel_merge, "prompts": prompts(&entry.prompts),
            });
            parts.insert(format!("role {role}"), value);
        }
        for input in &self.inputs {
            // A system may be called `tests`: then the name has both hashes.
            let hashes = parts.entry(format!("input {}", input.name)).or_insert_with(|| json!([]));
            if let Value::Array(hashes) = hashes {
                hashes.push(input.blake3.short(digits).into());
            }
        }
        parts
    }
}

/// RFC 3339, UTC.
pub(super) fn now() -> String {
    crate::domain::timestamp(std::time::SystemTime::now())
}

/// What differs between the run in a directory and the new one, the model first and other settings last: lines `different
/// model: gpt-4o in the run, gpt-4.1 now`. Paths and times may differ; contents, settings, prompts and judges may not.
pub fn differences(there: &Manifest, here: &Manifest) -> Vec<String> {
    let parts = |of: &Manifest| {
        let mut parts = BTreeMap::new();
        of.identity_parts(12).into_iter().for_each(|(name, value)| flatten(name, &value, &mut parts));
        parts
    };
    let (old, new) = (parts(there), parts(here));
    let differs = |name: &str| old.get(name) != new.get(name);
    let mut names: Vec<&str> = old.keys().chain(new.keys()).map(String::as_str).filter(|name| differs(name)).collect();
    names.retain(|name| match *name {
        "judge.model" => true,
        "judge" => !differs("judge.model"),
        "score.scorers" => !differs("scorers"),
        // Another kind of judge has other settings.
        name => !name.starts_with("judge.") || (old.contains_key(name) && new.contains_key(name)),
    });
    names.sort_unstable_by_key(|name| (*name != "judge.model", name.contains('.'), *name));
    names.dedup();
    let shown = |of: &Manifest, parts: &BTreeMap<String, String>, name: &str| {
        let files = of.inputs.iter().filter(|input| name.strip_prefix("input ") == Some(&input.name));
        let files: Vec<String> = files.map(|file| format!("{} [{}..]", file.path, file.blake3.short(8))).collect();
        match (name, &of.judge, &of.prompts) {
            ("judge.model", Some(judge), _) => judge.model.as_ref().unwrap_or(&judge.id).clone(),
            ("prompts", _, Some(prompts)) => format!("{} [{}..]", prompts.label, prompts.fingerprint.short(8)),
            _ if !files.is_empty() => files.join(" and "),
            _ => parts.get(name).map_or("none", String::as_str).to_owned(),
        }
    };
    let line = |name: &str| {
        let what = match name.strip_prefix("input ") {
            Some("tests") => "test cases".to_owned(),
            Some(input) if OTHER_INPUTS.contains(&input) => input.to_owned(),
            Some(system) => format!("answers of {system}"),
            None => name.strip_prefix("judge.").filter(|name| *name == "model").unwrap_or(name).to_owned(),
        };
        format!("different {what}: {} in the run, {} now", shown(there, &old, name), shown(here, &new, name))
    };
    names.into_iter().map(line).collect()
}

/// Every value that is not an object, by its path of keys.
fn flatten(name: String, value: &Value, parts: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(key, value)| flatten(format!("{name}.{key}"), value, parts));
        }
        Value::String(text) => drop(parts.insert(name, text.clone())),
        other => drop(parts.insert(name, other.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(id: &str, model: &str, published_prompts: bool) -> RoleEntry {
        let judge = json!({"id": id, "model": model, "base_url": null, "served": null, "lexical": false});
        let prompts =
            json!({"label": "p", "fingerprint": "ab".repeat(32), "comparable_with_published": published_prompts});
        serde_json::from_value(json!({
            "judges": [judge], "samples": [1], "merges": ["mean"], "expected": [false], "panel_merge": "mean",
            "prompts": prompts,
        }))
        .unwrap()
    }

    #[test]
    fn a_judge_is_called_by_its_model_and_a_file_by_its_stem() {
        let name = |id: &str| role(id, "m", true).judges[0].name().to_owned();
        let ids = ["gpt-4o", "org/m|root=/w", "/models/qwen-7b.gguf|path=/models/qwen-7b.gguf", "C:\\m\\a.gguf"];
        assert_eq!(ids.map(name), ["gpt-4o", "org/m", "qwen-7b", "a"]);
    }

    #[test]
    fn only_the_published_judge_with_the_published_prompts_is_comparable() {
        let differs =
            |role_name: &str, model: &str, prompts| role(model, model, prompts).differs_from_published(role_name);
        assert_eq!(differs("rubric", "gpt-4o-2024-08-06", true), None);
        assert_eq!(differs("rubric", "gpt-4o-mini", true).unwrap(), "judge gpt-4o-mini instead of gpt-4o");
        assert_eq!(differs("rubric", "gpt-4o", false).unwrap(), "prompts p");
        assert_eq!(differs("citation", "osunlp/attrscore-flan-t5-xl", true), None);
        assert_eq!(differs("aspect.depth", "m", false), None, "no published numbers");
    }
}
