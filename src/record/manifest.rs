//! `manifest.json`: settings, inputs, judges and status of a run.

use std::collections::{BTreeMap, HashSet};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::SCHEMA_VERSION;
use super::certificate::GivenCertificates;
use super::role::RoleEntry;
use super::stamp::FileStamp;
use crate::analysis::OnUnscored;
use crate::analysis::comparison::RunLooks;
use crate::dataset::InputFile;
use crate::domain::{
    AnswerSelection, Aspect, EndingModel, EndpointUse, Fingerprint, Mode, ModelEnd, RubricParts,
    RubricProfile, SavedPages, SubjectKind, Unit,
};
use crate::error::{Error, InputFault, Result};
use crate::judge::refusals::ReplyLimits;
use crate::scorer::criteria::{CRITERIA, CriteriaScorer};
use crate::scorer::prometheus::{PROMETHEUS, PrometheusScorer};
use crate::scorer::{InputNeed, RecordedSetup, Scorer, ScorerInfo, ScorerReference, scorer_named};
use crate::sources::{StoredPages, moment};
use crate::text::perturbation::Perturbation;

/// The setting of a run with imported scores.
pub const IMPORTED: &str = "imported";

/// The setting of a run with answers that begin with reasoning: `kept` or `removed`.
pub const THINKING: &str = "score.thinking";
/// The setting of runs that scored error texts of failed generations as answers.
pub const KEPT_ERRORS: &str = "score.keep_errors";

/// The setting of a run whose user named the forms of reasoning.
pub const REASONING_TAGS: &str = "score.reasoning_tags";

/// The setting of a run with perturbed answers: the perturbations.
pub const PERTURBATIONS: &str = "probe";
/// Setting of a run of pairs: which pairs were compared, and in which orders.
pub const PAIRS_SETTING: &str = "pairs";

/// Setting of a run of selected answers: their file, and how they were drawn.
pub const SELECTED_SETTING: &str = "selected";

/// What compat mode reproduces for the scorers of ScholarQABench.
const QABENCH: &str = "ScholarQABench 95e6fc52b0a8a0ce0a74956029991e3bb00c38b9";

/// The setting that holds what a scorer depends on.
pub(crate) fn scorer_key(name: &str) -> String {
    format!("scorer.{name}")
}

/// Names of inputs other than the answers of systems.
pub(super) const OTHER_INPUTS: [&str; 6] = [
    "tests",
    "references",
    "questions",
    "aspects",
    "results",
    SOURCES_INPUT,
];

/// The name of the store of saved pages among the inputs.
pub(crate) const SOURCES_INPUT: &str = "sources";

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

impl Manifest {
    /// The reply limits of its judges in every session, by their identity.
    pub fn reply_limits(&self) -> BTreeMap<String, ReplyLimits> {
        let mut by_judge = self.earlier_limits.clone();
        for judge in self.roles.values().flat_map(|role| &role.judges) {
            let known = by_judge.entry(judge.id.clone()).or_default();
            for (kind, limits) in judge.limits() {
                // A reply from under any limit that a session had may be found again, so that all
                // of them are kept.
                known.entry(kind).or_default().extend(limits);
            }
        }
        by_judge
    }

    /// The run with its judges and files of works under the identities that `now` gives them, where an earlier version gave
    /// them others or none.
    pub(crate) fn with_identities_of(mut self, now: &Self) -> Self {
        if let (Some(Value::Object(works)), Some(Value::Object(now))) =
            (self.settings.get_mut("works"), now.settings.get("works"))
            && let Some(files) = now.get("files")
        {
            works.entry("files").or_insert_with(|| files.clone());
        }
        for (role, entry) in &mut self.roles {
            let known = now.roles.get(role).map_or(&[][..], |entry| &entry.judges);
            for judge in &mut entry.judges {
                let known = known
                    .iter()
                    .find(|candidate| candidate.earlier_id.as_ref() == Some(&judge.id));
                let Some(known) = known else { continue };
                if let Some(limits) = self.earlier_limits.remove(&judge.id) {
                    self.earlier_limits.insert(known.id.clone(), limits);
                }
                judge.id.clone_from(&known.id);
            }
        }
        self
    }

    /// The hash of the run settings under the identities that earlier versions gave its judges.
    pub(crate) fn earlier_identity(&self) -> Fingerprint {
        let mut earlier = self.clone();
        for judge in earlier.roles.values_mut().flat_map(|role| &mut role.judges) {
            judge.id = judge.earlier_id.take().unwrap_or_else(|| judge.id.clone());
        }
        earlier.identity()
    }
}

/// How unscored answers count.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PolicyEntry {
    /// In means.
    pub on_unscored: OnUnscored,
    /// Tolerated share of unscored answers, 0..=1.
    pub max_unscored: f64,
}

impl Default for PolicyEntry {
    fn default() -> Self {
        Self {
            on_unscored: OnUnscored::default(),
            // For a manifest that sets no tolerance: an import tolerates what its source left out.
            max_unscored: 1.0,
        }
    }
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
    /// What the run scores. [`Manifest::load`] finds it for runs that do not record it.
    #[serde(default)]
    pub subject: SubjectKind,
    /// In compat mode: what each scorer reproduces, with its commit or version.
    #[serde(default, deserialize_with = "reference_by_scorer")]
    pub reference: BTreeMap<String, String>,
    /// Every setting that affects scores, by name.
    pub settings: BTreeMap<String, Value>,
    /// Input files with hashes.
    pub inputs: Vec<InputFile>,
    /// The scorers, in order.
    pub scorers: Vec<String>,
    /// The judges of each role that was scored: `rubric`, `aspect.NAME`, `citation`.
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
    /// Sentences about test cases and answers that were read and do not count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncounted: Vec<String>,
    /// How unscored answers count. Used when the run is rescored; not part of its identity.
    pub policy: PolicyEntry,
    /// Certificates of its judges; not part of the identity.
    #[serde(default, skip_serializing_if = "GivenCertificates::is_empty")]
    pub certificates: GivenCertificates,
    /// What the endpoints did in the last session that made calls; not part of the identity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<EndpointUse>,
    /// Reply limits of earlier sessions under other ones, by the judge's identity: their replies count, and are found by
    /// these limits. Not part of the identity.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub earlier_limits: BTreeMap<String, ReplyLimits>,
    /// Stamps of `inputs.jsonl`, `calls.jsonl` and `scores.jsonl`; empty while the run is unfinished.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, FileStamp>,
    /// Lines of `scores.jsonl`; 0 while the run is unfinished.
    #[serde(default)]
    pub scores: usize,
    /// The score of a complete run in a list of runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headline: Option<Headline>,
    /// The looks at a run that ends when it is decided (`--until`), and its decisions. Not part of the identity: without
    /// `--until` the same command asks the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looks: Option<RunLooks>,
    /// What `--until` decides, and the seed of the order of its questions. Not part of the identity, but a run that is continued
    /// with `--until` has the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// The first headline metric, with the lowest and the highest mean of a system, as `compare` has them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Headline {
    /// The metric.
    pub metric: String,
    /// Its unit.
    pub unit: Unit,
    /// The lowest mean of a system over the shared cases.
    pub lowest: f64,
    /// The highest.
    pub highest: f64,
}

/// The fields of a manifest of any format.
#[derive(Deserialize)]
struct Version {
    schema_version: u32,
    scholareval_version: String,
    subject: Option<SubjectKind>,
}

/// What each scorer reproduces; earlier versions had one text, that of [`QABENCH`], whatever the scorers were.
fn reference_by_scorer<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, String>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(BTreeMap::new()),
        Value::String(text) => Ok(BTreeMap::from([("rubric".to_owned(), text)])),
        other => BTreeMap::deserialize(other).map_err(serde::de::Error::custom),
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
            ..Self::default()
        }
    }

    /// The manifest with what its scorers reproduce.
    #[must_use]
    pub(crate) fn with_reference(mut self) -> Self {
        self.reference.clear();
        if self.mode == Mode::Default {
            return self;
        }
        for scorer in &self.scorers {
            if let Some(reference) = scorer_named(scorer).and_then(|info| self.reference_of(info)) {
                self.reference.insert(scorer.clone(), reference);
            }
        }
        self
    }

    /// What the scorer reproduces in compat mode.
    fn reference_of(&self, scorer: &ScorerInfo) -> Option<String> {
        match scorer.reference {
            ScorerReference::QaBench => Some(QABENCH.to_owned()),
            ScorerReference::InSettings => {
                let reference = self.scorer_settings(scorer.name)?.get("reference")?;
                reference.as_str().map(str::to_owned)
            }
        }
    }

    /// What the scorer of this name depends on.
    pub(super) fn scorer_settings(&self, name: &str) -> Option<&Value> {
        self.settings.get(&scorer_key(name))
    }

    /// The manifest of the run while it is unfinished.
    pub(super) fn unfinished(self) -> Self {
        Self {
            status: RunStatus::Running,
            finished_at: None,
            files: BTreeMap::new(),
            scores: 0,
            headline: None,
            looks: None,
            ..self
        }
    }

    /// The cases that were asked, if the run ended before all were; `None` for all.
    pub fn asked_cases(&self) -> Option<HashSet<&str>> {
        let looks = self.looks.as_ref().filter(|looks| looks.is_early())?;
        Some(looks.cases.iter().map(String::as_str).collect())
    }

    /// The looks at the run, if it ended before all was asked.
    pub fn ending_looks(&self) -> Option<&RunLooks> {
        self.looks.as_ref().filter(|looks| looks.leaves_out())
    }

    /// The looks at the run, if one was made before its end: p values and plain intervals do not hold then.
    pub fn early_looks(&self) -> Option<&RunLooks> {
        self.looks
            .as_ref()
            .filter(|looks| !looks.schedule.is_single())
    }

    /// The pairs of system and case without an answer, of the cases that were asked.
    pub fn missing_asked(&self) -> Vec<&(String, String)> {
        let asked_cases = self.asked_cases();
        let mut missing: Vec<&(String, String)> = self.missing.iter().collect();
        missing.retain(|(_, case)| {
            asked_cases
                .as_ref()
                .is_none_or(|asked_cases| asked_cases.contains(&**case))
        });
        missing
    }

    /// The command that repairs a damaged file of the run in `dir`.
    pub(super) fn remedy(&self, dir: &Path, name: &str) -> String {
        if self.is_set(IMPORTED) {
            return "run the same import command again".to_owned();
        }
        if name == "scores.jsonl" && self.files.contains_key("inputs.jsonl") {
            let dir = dir.display();
            return format!(
                "`scholareval rescore {dir} --out NEW` makes the scores again from its calls"
            );
        }
        "run the same score command again, which mends it from the recorded and cached replies"
            .to_owned()
    }

    /// Reads `manifest.json` of a run directory; `None` if it does not exist.
    ///
    /// # Errors
    /// When it cannot be read, is not a manifest, or has another format.
    pub fn load(run_dir: &Path) -> Result<Option<Self>> {
        let path = run_dir.join("manifest.json");
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            // Files are completed by the shell more often than directories: `runs/a/scores.jsonl`.
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                let fault = InputFault::new(run_dir, "is a file, not the directory of a run");
                return Err(fault
                    .hint("name the run's directory, mostly the one that the file is in")
                    .into());
            }
            Err(error) => return Err(Error::io(&path, "read")(error)),
        };
        // First, so that a manifest of another format is called that, and not a file with missing
        // fields.
        let version: Version = parse(&path, &text)?;
        if version.schema_version != SCHEMA_VERSION {
            let what = format!(
                "written by scholareval {} in format {}; this program reads format {SCHEMA_VERSION}",
                version.scholareval_version, version.schema_version
            );
            return Err(InputFault::new(&path, what)
                .hint("use that version, or run score again")
                .into());
        }
        let mut manifest: Self = parse(&path, &text)?;
        // Runs of before `subject` was recorded: those of pairs have the setting of their design.
        if version.subject.is_none() && manifest.settings.contains_key(PAIRS_SETTING) {
            manifest.subject = SubjectKind::Pair;
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
            let what = if run_dir.exists() {
                "is not a run directory: manifest.json is missing"
            } else {
                "no such directory"
            };
            InputFault::new(run_dir, what).hint(hint).into()
        })
    }

    /// The label of the run in this directory, else the name of the directory.
    pub fn run_name(&self, dir: &Path) -> String {
        if let Some(label) = &self.label {
            return label.clone();
        }
        directory_name(dir).unwrap_or_else(|| dir.display().to_string())
    }

    /// The models of its judges whose services stated when they end, each once.
    pub fn ending_models(&self) -> Vec<EndingModel> {
        let mut models: Vec<EndingModel> = Vec::new();
        for judge in self.roles.values().flat_map(|role| &role.judges) {
            if let Some(ending) = judge.ending()
                && !models.contains(&ending)
            {
                models.push(ending);
            }
        }
        models
    }

    /// Records what a service states about the end of a judge's model, in each of its roles.
    pub(crate) fn note_end(&mut self, judge_id: &str, end: ModelEnd) {
        for judge in self.roles.values_mut().flat_map(|role| &mut role.judges) {
            if judge.id == judge_id {
                judge.end = Some(end);
            }
        }
    }

    /// Takes over the ends that an earlier session of the run recorded.
    pub(crate) fn keep_ends(&mut self, earlier: &Self) {
        for judge in earlier.roles.values().flat_map(|role| &role.judges) {
            if let Some(end) = judge.end {
                self.note_end(&judge.id, end);
            }
        }
    }

    /// The systems whose answers are inputs.
    pub fn systems(&self) -> impl Iterator<Item = &str> {
        let names = self.inputs.iter().map(|input| input.name.as_str());
        names.filter(|name| !OTHER_INPUTS.contains(name))
    }

    /// The scorer of the run, with its settings and the run's mode.
    ///
    /// # Errors
    /// When settings are missing or invalid.
    pub(crate) fn scorer(&self, scorer: &ScorerInfo) -> Result<Arc<dyn Scorer>> {
        let pages = self.saved_pages(scorer)?;
        let recorded = RecordedSetup {
            settings: self.scorer_settings(scorer.name).unwrap_or(&Value::Null),
            parts: RubricParts {
                rubrics: self.is_scored("score.rubrics"),
                snippets: self.is_scored("score.snippets"),
            },
            pages: pages.as_ref(),
            mode: self.mode,
            is_baseline: self.is_lexical(),
        };
        (scorer.restore)(&recorded).map_err(|error| {
            let what = format!("setting {}: {error}", scorer_key(scorer.name));
            InputFault::new("manifest.json", what)
                .hint("score the answers anew")
                .into()
        })
    }

    /// The saved pages that the run read, from the store where the run found it; `None` for a run without any.
    ///
    /// # Errors
    /// When the store is not there, or holds other pages now.
    fn saved_pages(&self, scorer: &ScorerInfo) -> Result<Option<Arc<dyn SavedPages>>> {
        let mut inputs = self.inputs.iter();
        let store = inputs.find(|input| input.name == SOURCES_INPUT);
        let Some(store) = store.filter(|_| scorer.needs == InputNeed::Pages) else {
            return Ok(None);
        };
        let settings = self.scorer_settings(scorer.name);
        let as_of = settings.and_then(|settings| settings["pages"]["as_of"].as_str());
        let pages = StoredPages::open(Path::new(&store.path), as_of.and_then(moment))?;
        if pages.hash() != store.blake3 {
            let what = "the store holds other pages than the run read";
            return Err(InputFault::new(&store.path, what)
                .hint(
                    "bring the old store back, or score the answers again: their replies are kept",
                )
                .into());
        }
        Ok(Some(Arc::new(pages)))
    }

    /// Whether a half of the rubrics was scored, which it is unless the settings say otherwise.
    fn is_scored(&self, half: &str) -> bool {
        self.settings
            .get(half)
            .and_then(Value::as_bool)
            .unwrap_or(true)
    }

    /// How the run asked and counted criteria; `None` for a run without that scorer.
    pub(crate) fn criteria_profile(&self) -> Option<RubricProfile> {
        let settings = self.scorer_settings(CRITERIA.name)?;
        let scorer = CriteriaScorer::deserialize(settings).ok()?;
        Some(scorer.profile)
    }

    /// The aspects that the run graded; none for a run without that scorer.
    pub(crate) fn aspects(&self) -> Vec<Arc<Aspect>> {
        let settings = self.scorer_settings(PROMETHEUS.name);
        let scorer = settings.and_then(|settings| PrometheusScorer::deserialize(settings).ok());
        scorer.map_or_else(Vec::new, |scorer| scorer.aspects)
    }

    /// The number of the first source in citations, as the scorers of citations recorded it; 0 for a run without one, which has
    /// no numbers to resolve.
    pub(crate) fn index_base(&self) -> u64 {
        let mut settings = self.settings.values();
        let base = settings.find_map(|setting| setting.get("index_base")?.as_u64());
        base.unwrap_or(0)
    }

    /// Which answers the run scored, if it was given a selection.
    pub fn selection(&self) -> Option<AnswerSelection> {
        let recorded = self.settings.get(SELECTED_SETTING)?;
        AnswerSelection::deserialize(recorded).ok()
    }

    /// True if the built-in baseline judged rubrics or criteria.
    pub fn is_lexical(&self) -> bool {
        let mut roles = self.roles.values();
        roles.any(|entry| entry.judges.iter().any(|judge| judge.lexical))
    }

    /// The row of a benchmark that the run is, if it is one.
    pub fn row(&self) -> Option<&str> {
        self.settings.get("bench")?.as_str()
    }

    /// The perturbations whose effect on the judge the run measures; empty for other runs.
    pub fn perturbations(&self) -> Vec<Perturbation> {
        let setting = self.settings.get(PERTURBATIONS).cloned();
        setting
            .and_then(|names| serde_json::from_value(names).ok())
            .unwrap_or_default()
    }

    /// The forms of reasoning that the user named.
    pub fn reasoning_tags(&self) -> Vec<String> {
        let setting = self.settings.get(REASONING_TAGS).cloned();
        setting
            .and_then(|tags| serde_json::from_value(tags).ok())
            .unwrap_or_default()
    }

    /// The boolean setting of that name; false if missing.
    pub fn is_set(&self, name: &str) -> bool {
        self.settings
            .get(name)
            .and_then(Value::as_bool)
            .unwrap_or(false)
    }
}

/// Parses the manifest, or some of its fields.
fn parse<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| {
        InputFault::new(path, format!("no manifest of a run: {error}"))
            .hint("name a run directory")
            .into()
    })
}

/// The name of the directory itself, whatever path leads to it.
fn directory_name(dir: &Path) -> Option<String> {
    // `.` and `runs/a/..` have no last component that names the run.
    let path = dir.canonicalize().ok()?;
    Some(path.file_name()?.to_string_lossy().into_owned())
}

/// RFC 3339, UTC.
pub(super) fn now() -> String {
    crate::domain::timestamp(std::time::SystemTime::now())
}
