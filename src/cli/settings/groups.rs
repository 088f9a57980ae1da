//! The settings as plain data, one struct for each room that needs some.

use std::collections::{BTreeMap, BTreeSet};
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use secrecy::SecretString;
use serde_json::{Map, Value};

use super::value::SettingValue;
use crate::domain::{CallKind, Mode, RubricParts};
use crate::judge::conversation::Conversation;
use crate::judge::kind::JudgeKind;

macro_rules! named_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub enum $name { $($(#[$vdoc])* $variant),* }

        impl $name {
            /// All of them, in the order they are documented.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The name in options and files.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),* }
            }
        }

        impl SettingValue for $name {
            fn parse(text: &str) -> Result<Self, String> {
                match text.trim() {
                    $($text => Ok(Self::$variant),)*
                    _ => Err(format!("not one of {}", [$($text),*].join(", "))),
                }
            }

            fn to_json(&self) -> Value {
                Value::from(self.as_str())
            }
        }
    };
}

named_enum! {
    /// What means do with unscored answers.
    OnUnscored {
        /// Leave them out.
        #[default]
        Exclude = "exclude",
        /// Count their missing components as 0.
        Zero = "zero",
    }
}

named_enum! {
    /// The form of what is printed on standard output.
    OutputFormat {
        /// For people.
        #[default]
        Table = "table",
        /// For programs.
        Json = "json",
        /// For spreadsheets.
        Csv = "csv",
    }
}

impl SettingValue for JudgeKind {
    fn parse(text: &str) -> Result<Self, String> {
        one_of(text)
    }

    fn to_json(&self) -> Value {
        Value::from(self.as_str())
    }
}

impl SettingValue for Conversation {
    fn parse(text: &str) -> Result<Self, String> {
        one_of(text)
    }

    fn to_json(&self) -> Value {
        Value::from(self.as_str())
    }
}

/// The value of that name of an enum.
fn one_of<T: ValueEnum>(text: &str) -> Result<T, String> {
    T::from_str(text.trim(), false).map_err(|_| {
        let names =
            T::value_variants().iter().filter_map(|value| Some(value.to_possible_value()?.get_name().to_owned()));
        format!("not one of {}", names.collect::<Vec<_>>().join(", "))
    })
}

named_enum! {
    /// Whether replies come token by token.
    Streaming {
        /// Where the server is known to stop when nobody reads any more: vLLM and llama.cpp.
        #[default]
        Auto = "auto",
        /// Always.
        On = "on",
        /// Never.
        Off = "off",
    }
}

named_enum! {
    /// A scorer of a run.
    ScorerName {
        /// The ScholarQA-CS rubric.
        #[default]
        Rubric = "rubric",
        /// Grades of 1 to 5 in aspects (Prometheus).
        Prometheus = "prometheus",
        /// Citation precision and recall by entailment.
        Entailment = "entailment",
        /// What can be told of citations without a judge.
        CitationAudit = "citation_audit",
        /// Short answers and ROUGE against gold.
        Overlap = "overlap",
    }
}

named_enum! {
    /// How several verdicts become one.
    MergeRule {
        /// Their mean.
        #[default]
        Mean = "mean",
        /// Their median.
        Median = "median",
        /// The most common one.
        MostCommon = "most-common",
    }
}

named_enum! {
    /// Whether a list of the cited sources stands behind an answer that is made from a prediction.
    ReferencesBlock {
        /// It does, as `convert` writes it; no length counts it.
        #[default]
        Append = "append",
        /// It does not.
        None = "none",
    }
}

named_enum! {
    /// What a claim is.
    EntailForm {
        /// Every sentence of the answer.
        #[default]
        Long = "long",
        /// The question with the whole answer.
        Short = "short",
    }
}

/// A judge with a name (`[judges.NAME]`; the one of `[judge]` and the flags is called `judge`).
#[derive(Clone)]
pub struct NamedJudge {
    /// Its name in the config file.
    pub name: String,
    /// Who it is and what is sent to it.
    pub judge: JudgeSettings,
    /// How fast it is asked.
    pub limits: LimitSettings,
    /// Draws of every question, >= 1.
    pub samples: u32,
    /// How its draws become one verdict.
    pub merge: MergeRule,
}

/// A judge with its name: the one of `[judge]` and the flags, or a further one.
#[derive(Clone, Copy)]
pub struct JudgeRef<'a> {
    /// Its name in the config file; `judge` is the one of `[judge]`.
    pub name: &'a str,
    /// Who it is and what is sent to it.
    pub judge: &'a JudgeSettings,
    /// How fast it is asked.
    pub limits: LimitSettings,
    /// Draws of every question, >= 1.
    pub samples: u32,
    /// How its draws become one verdict.
    pub merge: MergeRule,
}

/// Who has a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleSettings {
    /// Names of judges; several are a panel. Not empty.
    pub judges: Vec<String>,
    /// How the verdicts of a panel become one.
    pub merge: MergeRule,
}

/// Which scorers, and what each of them needs to know.
#[derive(Debug, Clone, PartialEq)]
pub struct ScorerSettings {
    /// The scorers asked for; `None`: those that the input supports.
    pub names: Option<Vec<ScorerName>>,
    /// Golds and reference answers, joined by question.
    pub references: Option<PathBuf>,
    /// True if aspects are graded without reference answers.
    pub no_reference: bool,
    /// Only these aspects, in this order; `None`: all of the file.
    pub aspects: Option<Vec<String>>,
    /// Aspects with their descriptions; `None`: the built-in ones.
    pub aspect_rubrics: Option<PathBuf>,
    /// What stands before the question in a grading prompt.
    pub instruction: String,
    /// How many of the cited sources a grading prompt lists at most.
    pub top_n: usize,
    /// Which number means the first source: 0 or 1.
    pub index_base: u8,
    /// What a claim is.
    pub entail: EntailForm,
    /// How many citations of a claim count.
    pub at_most: usize,
    /// Whether a list of cited sources is appended to predictions.
    pub references_block: ReferencesBlock,
    /// Only the first so many words of an output count in overlap.
    pub max_words: Option<usize>,
    /// True if a text that does not fit the judge's context is cut, and marked.
    pub truncate: bool,
}

/// The judge and what is sent to it. It holds secrets (key, headers, perhaps the URL): it has no `Debug` on purpose.
#[derive(Clone)]
pub struct JudgeSettings {
    /// Who judges. For [`JudgeKind::Lexical`] nothing else here has a meaning.
    pub kind: JudgeKind,
    /// The model's name; `None` means the only one that the server has.
    pub model: Option<String>,
    /// The servers as they were typed, at least one, each once (perhaps bare hosts; perhaps with secrets: show them through
    /// `masking::masked_url`).
    pub base_urls: Vec<String>,
    /// Name of the environment variable for the key; messages about a wrong key name it.
    pub api_key_env: String,
    /// The key, where that variable is set.
    pub api_key: Option<SecretString>,
    /// The judge's name in the cache, in place of model and server.
    pub cache_id: Option<String>,
    /// Sampling temperature, 0..=2; `None`: not sent.
    pub temperature: Option<f64>,
    /// Seed for the server; `None`: not sent.
    pub seed: Option<i64>,
    /// True if the server is asked for JSON mode.
    pub json_mode: bool,
    /// Reply limits in tokens, >= 1; a kind without an entry has none.
    pub max_tokens: BTreeMap<CallKind, u64>,
    /// The kinds whose limit was given, or is a matter of the judge's kind (labels are short); for the others a prompt
    /// set's own limit wins over our default.
    pub max_tokens_given: BTreeSet<CallKind>,
    /// The request field that carries the limit.
    pub max_tokens_field: String,
    /// How a conversation is written out (completions only).
    pub conversation: Conversation,
    /// Nucleus sampling, above 0 to 1; `None`: not sent.
    pub top_p: Option<f64>,
    /// So many alternatives of each token are asked for, and scores become expected scores; `None`: none.
    pub logprobs: Option<u32>,
    /// Fields added to every request.
    pub extra_body: Map<String, Value>,
    /// Headers added to every request, values perhaps secret.
    pub headers: Vec<(String, String)>,
    /// Query parameters added to every request, values perhaps secret.
    pub query: Vec<(String, String)>,
    /// How long to wait for a server that is loading; `None`: not at all.
    pub wait_server: Option<Duration>,
    /// Whether replies are sent token by token.
    pub stream: Streaming,
    /// Longest time for one request, > 0.
    pub timeout: Duration,
    /// Longest time until the first byte of a reply, > 0; `None`: no limit of its own.
    pub first_byte_timeout: Option<Duration>,
    /// Attempts after the first for failures that pass.
    pub retries: u32,
}

/// How fast the judge is asked: each of its endpoints, where it has several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitSettings {
    /// Calls in flight at once.
    pub concurrency: NonZeroUsize,
    /// Requests a minute; `None`: no limit.
    pub rpm: Option<NonZeroU32>,
    /// Tokens a minute; `None`: no limit.
    pub tpm: Option<NonZeroU64>,
}

impl LimitSettings {
    /// What so many endpoints take together.
    pub fn of_all(self, endpoints: usize) -> Self {
        let (factor, most) = (NonZeroUsize::new(endpoints).unwrap_or(NonZeroUsize::MIN), u32::try_from(endpoints));
        let factor_32 = most.ok().and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN);
        Self {
            concurrency: self.concurrency.saturating_mul(factor),
            rpm: self.rpm.map(|rpm| rpm.saturating_mul(factor_32)),
            tpm: self.tpm.map(|tpm| tpm.saturating_mul(factor_32.into())),
        }
    }
}

/// Where replies are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheSettings {
    /// The cache file; `None`: no cache.
    pub path: Option<PathBuf>,
    /// True if kept replies that could not be read are asked for again.
    pub retry_unscored: bool,
}

/// What is scored, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoreSettings {
    /// Files and directories of answers, in the order given; may be empty (see [`Settings::inputs`](super::Settings::inputs)).
    pub answers: Vec<PathBuf>,
    /// The test cases, where given (see [`Settings::inputs`](super::Settings::inputs)).
    pub tests: Option<PathBuf>,
    /// Which halves of the rubrics are asked.
    pub parts: RubricParts,
    /// Only these systems, perhaps with `.jsonl`.
    pub systems: Option<Vec<String>>,
    /// Only these cases.
    pub cases: Option<Vec<String>>,
    /// Only the first so many cases.
    pub limit: Option<usize>,
    /// Draws of every question, >= 1.
    pub samples: u32,
    /// How draws become one verdict.
    pub merge: MergeRule,
    /// True if questions annotated twice are scored under both rubrics.
    pub agreement: bool,
    /// Ours or the reference's arithmetic.
    pub mode: Mode,
    /// True if warnings about the input are errors.
    pub strict: bool,
    /// What means do with unscored answers.
    pub on_unscored: OnUnscored,
    /// Tolerated share of unscored answers, 0..=1.
    pub max_unscored: f64,
    /// How often an unreadable reply is asked for again.
    pub parse_retries: u32,
    /// Seed of the resampling.
    pub seed: u64,
    /// Directory of the prompt set; `None`: the built-in one.
    pub prompts: Option<PathBuf>,
    /// True if the run stops after saying what it would ask.
    pub dry_run: bool,
}

/// What is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputSettings {
    /// Directory of the run record; `None`: `runs/<hash>`.
    pub out: Option<PathBuf>,
    /// True if a record of other settings may be replaced.
    pub overwrite: bool,
    /// True if questions and answers go into the record.
    pub inputs: bool,
    /// Name of the run in `items.csv`; `None`: the name of its directory.
    pub label: Option<String>,
    /// Where the reference's results file goes, if it is wanted.
    pub results_file: Option<PathBuf>,
    /// Form of the summary on standard output.
    pub format: OutputFormat,
    /// True if only errors are told.
    pub quiet: bool,
}

impl Default for ScorerSettings {
    fn default() -> Self {
        Self {
            names: None,
            references: None,
            no_reference: false,
            aspects: None,
            aspect_rubrics: None,
            instruction: String::new(),
            top_n: 10,
            index_base: 0,
            entail: EntailForm::Long,
            at_most: 3,
            references_block: ReferencesBlock::Append,
            max_words: None,
            truncate: false,
        }
    }
}
