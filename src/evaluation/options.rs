//! Options of an evaluation: input, scoring, judges, output.
//!
//! Each field defines a command-line flag (clap), a config-file key (serde), a default value and the help text.
//! [`EvaluationOptions`] holds all of them; [`EvaluationOptions::run_settings`] lists those that affect scores.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use clap::Args;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

use super::pairs::PairChoice;
pub(crate) use super::scorers::{AspectFileOptions, GoldOptions, ScorerOptions, WorksOptions};
use super::slice::Slice;
use crate::analysis::OnUnscored;
use crate::dataset::{ANSWER_PARTS, ReferencesBlock};
use crate::domain::{GradeMerge, Mode, parse_share};
use crate::error;
use crate::judge::endpoint::masked_json;
use crate::judge::kind::JudgeKind;
use crate::judge::layers::budgeted::Price;
use crate::judge::options::{
    BudgetOptions, CacheOptions, JudgeOptions, LimitOptions, OptionFault, defaults, from_map,
    name_and_text, one_or_more,
};
use crate::prompt::MANIFEST;
use crate::record::GivenCertificates;

/// The name of the judge of the table `[judge]` and the flags.
pub(crate) const DEFAULT_JUDGE: &str = "judge";

/// All options of an evaluation. It may hold secrets: it has no `Debug` on purpose.
#[derive(Clone, Args, Serialize, Deserialize)]
pub struct EvaluationOptions {
    /// What is read.
    #[command(flatten)]
    pub input: InputOptions,
    /// Which cases.
    #[command(flatten)]
    pub cases: CaseOptions,
    /// How scores are counted.
    #[command(flatten)]
    pub scoring: ScoringOptions,
    /// How judges are asked.
    #[command(flatten)]
    pub asking: AskingOptions,
    /// Which part is asked.
    #[command(flatten)]
    pub bounds: BoundOptions,
    /// Which scorers, and what each needs.
    #[command(flatten)]
    pub scorers: ScorerOptions,
    /// The judge of all roles that name no judge.
    #[command(flatten)]
    pub judge: JudgeOptions,
    /// Its limits.
    #[command(flatten)]
    pub limits: LimitOptions,
    /// The budget.
    #[command(flatten)]
    pub budget: BudgetOptions,
    /// The reply cache.
    #[command(flatten)]
    pub cache: CacheOptions,
    /// What is written.
    #[command(flatten)]
    pub output: OutputOptions,
    /// What is written for other programs.
    #[command(flatten)]
    pub results: ResultsOptions,
    /// Further judges by name (`[judges.NAME]`).
    #[arg(skip)]
    pub judges: BTreeMap<String, JudgeTable>,
    /// Judges by role (`[roles]`).
    #[arg(skip)]
    pub roles: RoleTable,
    /// Which answers are compared with which; `None`: answers are scored one by one.
    #[arg(skip)]
    pub pairs: Option<PairChoice>,
    /// Prices of models, by name (`[prices."MODEL"]`).
    #[arg(skip)]
    pub prices: BTreeMap<String, Price>,
}

impl Default for EvaluationOptions {
    fn default() -> Self {
        defaults()
    }
}

/// A further judge, `[judges.NAME]`: the keys of `[judge]` and `[limits]`, and its samples.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct JudgeTable {
    /// The model and its request settings.
    #[serde(flatten)]
    pub judge: JudgeOptions,
    /// Its limits.
    #[serde(flatten)]
    pub limits: LimitOptions,
    /// Samples per question; `None`: as in the run.
    pub samples: Option<NonZeroU32>,
    /// How its samples are merged; `None`: as in the run.
    pub merge: Option<GradeMerge>,
}

/// `[roles]`: names of judges by role, and how panels merge.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleTable {
    /// How the verdicts of a panel are merged.
    #[serde(default)]
    pub merge: GradeMerge,
    /// Names of judges by the name of their role: `rubric`, `criteria`, `citation`, `aspect`,
    /// `aspect.NAME`.
    #[serde(flatten)]
    pub judges: BTreeMap<String, JudgeNames>,
}

/// One judge, or the judges of a panel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JudgeNames(#[serde(deserialize_with = "one_or_more")] pub Vec<String>);

/// What is read.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Input")]
pub struct InputOptions {
    /// Files of answers, one per system, or directories of them; or a run, whose answers another judge scores
    #[arg(value_name = "ANSWERS", help_heading = None::<&'static str>)]
    pub answers: Vec<PathBuf>,
    /// Fields of the answers: answer_text=FIELD,case_id=FIELD or question=FIELD [default: as documented, else guessed]
    #[arg(long, value_name = "NAME=FIELD,..", value_delimiter = ',', value_parser = name_and_text)]
    #[serde(
        serialize_with = "crate::judge::options::as_map",
        deserialize_with = "from_map"
    )]
    pub fields: Vec<(String, String)>,
    /// Judge answers with the reasoning they begin with (think tags)
    #[arg(long)]
    pub keep_thinking: bool,
    /// Score answers that are only the error text of a failed generation ("Error code: 429 - ..")
    #[arg(long)]
    pub keep_errors: bool,
    /// Tags of reasoning in answers and replies besides the known ones, such as "<plan> </plan>"; may be repeated
    #[arg(long, value_name = "OPEN CLOSE")]
    pub reasoning_tags: Option<Vec<String>>,
    /// Take what unfinished Inspect logs hold, and the first epoch of several
    #[arg(long)]
    pub partial_logs: bool,
    /// Only these systems [default: all]
    #[arg(long, alias = "src-names", value_name = "A,B", value_delimiter = ',')]
    pub systems: Vec<String>,
    /// Treat warnings about the input as errors, and exit with 4 if several models answered as one judge
    #[arg(long)]
    pub strict: bool,
}

/// Which cases of the answers are scored, and by what test cases.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Input")]
pub struct CaseOptions {
    /// Test cases with their rubrics (JSON)
    #[arg(long, alias = "test-config", value_name = "FILE")]
    pub tests: Option<PathBuf>,
    /// How criteria are read, asked and counted: a name that `rubrics list` shows, or a directory with a
    /// profile.toml [default: criteria]
    #[arg(long, value_name = "NAME|DIR")]
    pub rubric: Option<String>,
    /// Only these case ids [default: all]
    #[arg(long, value_name = "ID,..", value_delimiter = ',')]
    pub cases: Vec<String>,
    /// Only the first N cases
    #[arg(long, short = 'n', value_name = "N")]
    pub limit: Option<NonZeroUsize>,
    /// Only the answers in this file, such as those that label --format csv draws
    #[arg(long, value_name = "FILE")]
    pub selected: Option<PathBuf>,
}

/// How scores are counted.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Scoring")]
pub struct ScoringOptions {
    /// Leave unscored answers out of the means, or count their missing components as 0
    #[arg(long, value_name = "POLICY", value_enum, default_value_t)]
    pub on_unscored: OnUnscored,
    /// Unscored answers that are tolerated, such as 5%; above it the exit code is 5
    #[arg(long, value_name = "SHARE", value_parser = parse_share, allow_negative_numbers = true, default_value = "1%")]
    #[serde(deserialize_with = "share_of_file")]
    pub max_unscored: f64,
    /// Pair, parse and count as the reference script does, faults included
    #[arg(long)]
    pub compat: bool,
    /// Seed of the resampling behind the intervals
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub seed: u64,
}

/// How judges are asked.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Scoring")]
pub struct AskingOptions {
    /// Ask every question K times and merge
    #[arg(long, value_name = "K", default_value = "1")]
    pub samples: NonZeroU32,
    /// How the samples of a question become one verdict
    #[arg(long, value_name = "RULE", value_enum, default_value_t)]
    pub merge: GradeMerge,
    /// Repeats of a call whose reply cannot be read
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub parse_retries: u32,
    /// Make all calls of an answer at once; else the first one goes alone where it fills the provider's prefix cache for the
    /// others (prompts that share 1,024 tokens or more)
    #[arg(long, help_heading = "Limits")]
    pub at_once: bool,
    /// A prompt set made by `prompts export` or `prompts import` [default: built in]
    #[arg(long, value_name = "DIR", env = "SCHOLAREVAL_PROMPTS")]
    pub prompts: Option<PathBuf>,
    /// Cut prompts that do not fit the judge's context, and flag them, instead of leaving them unscored
    #[arg(long)]
    pub truncate: bool,
    /// Certificates of the judges (made by certify), which tables then show; may be repeated
    #[arg(long, value_name = "FILE")]
    pub certificate: Vec<PathBuf>,
    /// Days after the check for which a certificate counts
    #[arg(long, value_name = "N", default_value_t = 180, hide_short_help = true)]
    pub certificate_days: u32,
    /// Append a list of the cited sources to answers made from predictions; not counted in lengths
    #[arg(long, value_name = "append|none", value_enum, default_value_t)]
    #[arg(hide_possible_values = true)]
    pub references_block: ReferencesBlock,
}

/// Which part of the questions is asked.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Bounds")]
pub struct BoundOptions {
    /// Only the I-th of N parts of the answers, such as 2/5, with about equally many calls; their caches can be merged
    #[arg(long, value_name = "I/N", value_parser = Slice::from_text)]
    pub slice: Option<Slice>,
    /// Ask in random order and end when it is decided: "A>=B-0.02" (or "METRIC:A>=B"), "baseline" (all systems against --baseline)
    /// or "all" (all pairs); the same command without --until asks the rest
    #[arg(long, value_name = "WHAT")]
    pub until: Option<String>,
    /// The system that the others are compared with, by --until baseline and in pairs
    #[arg(long, value_name = "SYSTEM")]
    pub baseline: Option<String>,
}

impl Default for ScoringOptions {
    fn default() -> Self {
        defaults()
    }
}

impl Default for AskingOptions {
    fn default() -> Self {
        defaults()
    }
}

impl AskingOptions {
    /// The certificates, read.
    ///
    /// # Errors
    /// As [`CertificateHead::load`](crate::record::CertificateHead::load).
    pub(super) fn certificates(&self) -> error::Result<GivenCertificates> {
        GivenCertificates::load(&self.certificate, self.certificate_days)
    }
}

impl ScoringOptions {
    /// The scoring rules: the default ones, or those of the reference script.
    pub fn mode(&self) -> Mode {
        Mode::of(self.compat)
    }
}

/// Reads a share of the config file: a number, or a text such as `5%`.
fn share_of_file<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = Value::deserialize(deserializer)?;
    parse_share(value.as_str().unwrap_or(&value.to_string())).map_err(D::Error::custom)
}

/// What is written.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Output")]
pub struct OutputOptions {
    /// Directory of the run record [default: runs/HASH, a hash of inputs and settings]
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Begin a new run record in place of the one there, whatever its settings
    #[arg(long)]
    pub overwrite: bool,
    /// Leave questions and answers out of the run record
    #[arg(long)]
    pub no_inputs: bool,
    /// The run is deleted as soon as it was read, as that of a reward is: its files are not synced to the disk
    #[arg(skip)]
    #[serde(skip)]
    pub temporary: bool,
    /// Name of the run in items.csv [default: the name of its directory]
    #[arg(long = "run-label", value_name = "NAME")]
    pub label: Option<String>,
}

/// What is written for programs that read the output of the reference script.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Output")]
pub struct ResultsOptions {
    /// Also write the reference script's results file
    #[arg(long = "output", value_name = "FILE")]
    pub results_file: Option<PathBuf>,
}

/// Options that do not affect scores. Runs that differ only in them are comparable and share a directory:
///
/// - where files are (the hashes of their contents are recorded), and where outputs are written;
/// - how a model is reached, how fast and at what cost, and whether replies come from the cache;
/// - how scores are summarized, which rescoring can change.
///
/// Every other option is part of the run settings.
const NOT_RUN_SETTINGS: &str = include_str!("not_run_settings.txt");

impl EvaluationOptions {
    /// Checks every value.
    ///
    /// # Errors
    /// The first value that cannot be used.
    pub fn check(&self) -> Result<(), OptionFault> {
        for (part, _) in &self.input.fields {
            if !ANSWER_PARTS.contains(&part.as_str()) {
                let expected = ANSWER_PARTS.join(", ");
                let what = format!("expected {expected}, found {}", part.escape_debug());
                return Err(OptionFault::new("score.fields", what));
            }
        }
        for tags in self.input.reasoning_tags.iter().flatten() {
            if tags.split_whitespace().count() != 2 {
                let found = tags.escape_debug();
                let what = format!("expected an opening and a closing tag, found {found}");
                return Err(OptionFault::new("score.reasoning_tags", what));
            }
        }
        self.judge.check()?;
        self.limits.check()?;
        self.budget.check()?;
        for (name, table) in &self.judges {
            let judge = &table.judge;
            if judge.kind.is_none() && judge.model.is_none() && judge.base_url.is_empty() {
                let what = "neither model nor base_url; add one of them, or kind = \"lexical\" for the built-in baseline";
                return Err(OptionFault::new(&format!("judges.{name}.model"), what));
            }
            judge.check().map_err(|fault| in_table(fault, name))?;
            let limits = table.limits.check();
            limits.map_err(|fault| in_table(fault, name))?;
        }
        for (model, price) in &self.prices {
            if !price.is_valid() {
                let what = "not a price; write USD per million tokens, such as 2.5";
                return Err(OptionFault::new(&format!("prices.{model}"), what));
            }
        }
        self.check_roles()
    }

    /// The prompt set: the one given, else that of the rubric's directory.
    pub fn prompts_dir(&self) -> Option<PathBuf> {
        if let Some(dir) = &self.asking.prompts {
            return Some(dir.clone());
        }
        let rubric = PathBuf::from(self.cases.rubric.as_ref()?);
        let is_prompt_set = rubric.join(MANIFEST).is_file();
        is_prompt_set.then_some(rubric)
    }

    /// The settings that affect scores, by config-file key, except those of judges, and without anything specific to the
    /// machine. They determine the default run directory; a run record with other settings is rejected.
    pub fn run_settings(&self) -> BTreeMap<String, Value> {
        let groups = [
            as_map(&self.input),
            as_map(&self.cases),
            as_map(&self.scoring),
            as_map(&self.asking),
            as_map(&self.bounds),
            as_map(&self.scorers),
        ];
        let mut settings: BTreeMap<String, Value> = BTreeMap::new();
        for (key, value) in groups.into_iter().flatten() {
            let key = format!("score.{key}");
            if is_run_setting(&key) {
                settings.insert(key, value);
            }
        }
        let parts = self.scorers.built_in.rubric.parts();
        settings.insert("score.rubrics".to_owned(), json!(parts.rubrics));
        settings.insert("score.snippets".to_owned(), json!(parts.snippets));
        for name in [
            "score.systems",
            "score.cases",
            "score.aspects",
            "score.scorers",
        ] {
            settings
                // `--systems a,b` and `--systems b.jsonl,a` are one run and share its directory.
                .entry(name.to_owned())
                .and_modify(|names| *names = sorted_names(names));
        }
        // An option that is added later is null in old runs and must not make them incomparable.
        settings.retain(|_, value| !value.is_null());
        settings
    }
}

/// A fault of a judge's options as one of the table `[judges.NAME]`.
fn in_table(fault: OptionFault, name: &str) -> OptionFault {
    OptionFault {
        key: table_key(&fault.key, name),
        contradicts: fault.contradicts.as_ref().map(|key| table_key(key, name)),
        ..fault
    }
}

/// `judge.temperature` as `judges.NAME.temperature`
fn table_key(key: &str, name: &str) -> String {
    let last = key.rsplit('.').next().unwrap_or_default();
    format!("judges.{name}.{last}")
}

/// Whether this option, as `TABLE.KEY`, is part of the run settings.
fn is_run_setting(key: &str) -> bool {
    !NOT_RUN_SETTINGS.lines().any(|line| line == key)
}

/// The settings that affect the replies of a judge, besides its identity. Strings in request fields that look like API
/// keys are masked: they authenticate and do not affect replies.
pub(super) fn judge_settings(judge: &JudgeOptions) -> Map<String, Value> {
    let mut settings = as_map(judge);
    settings.insert("kind".to_owned(), json!(judge.kind()));
    // The baseline ignores every option, so that none of them may separate two of its runs.
    let is_lexical = judge.kind() == JudgeKind::Lexical;
    settings.retain(|key, _| {
        let affects_replies = is_run_setting(&format!("judge.{key}"));
        key == "kind" || !is_lexical && affects_replies
    });
    settings
        .entry("extra_body")
        // Sorted, since the order of keys in a TOML file does not reach the model's answer.
        .and_modify(|fields| *fields = with_sorted_keys(&masked_json(fields)));
    settings
}

/// The options as JSON by key. Serializing plain data into memory does not fail.
pub(crate) fn as_map(options: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(options) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

/// Sorted names without `.jsonl`, each once, so that order, repeats and suffix do not matter.
fn sorted_names(names: &Value) -> Value {
    let as_array = names.as_array().into_iter();
    let names = as_array.flatten().filter_map(Value::as_str);
    let names = names.map(|name| name.strip_suffix(".jsonl").unwrap_or(name));
    let names: std::collections::BTreeSet<&str> = names.collect();
    json!(names)
}

/// The value, with sorted keys in every object.
fn with_sorted_keys(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let pairs: BTreeMap<&String, Value> = map
                .iter()
                .map(|(key, inner)| (key, with_sorted_keys(inner)))
                .collect();
            json!(pairs)
        }
        Value::Array(items) => Value::Array(items.iter().map(with_sorted_keys).collect()),
        other => other.clone(),
    }
}
