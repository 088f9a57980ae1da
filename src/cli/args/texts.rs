//! Arguments of the commands that need no judge and no rubric.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use clap::Args;

use super::OutputFormat;
use crate::judge::options::{CacheOptions, JudgeOptions, LimitOptions};
use crate::scorer::citation::IndexBase;
use crate::scorer::convert::ReferencesBlock;
use crate::scorer::entailment::Form;
use crate::scorer::overlap::Measure;

/// Options of the commands that measure item by item.
#[derive(Debug, Clone, Args)]
pub struct PerItemArgs {
    /// Seed of the resampling behind the intervals
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub seed: u64,
    /// Show how the values of the item with this id (else its number in the file, from 1) were computed
    #[arg(long, value_name = "ID", conflicts_with_all = ["out", "format"])]
    pub explain: Option<String>,
    /// Write a run record: scores.jsonl, items.csv, summary.json, summary.csv, ..
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Format of the summary on standard output: table, json or csv [default: table]
    #[arg(long, value_name = "FORM", value_enum)]
    pub format: Option<OutputFormat>,
    /// No notes on standard error; errors only
    #[arg(long, short)]
    pub quiet: bool,
}

/// Arguments of `citations`. They may hold secrets: no `Debug` on purpose.
#[derive(Clone, Args)]
pub struct CitationsArgs {
    /// Prediction files, one per system (a JSON list, {"data": [..]} or JSON lines), or directories of *.jsonl
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Number of the first source [default: 0, or with --entail that of the config file]
    #[arg(long, value_enum, value_name = "N")]
    pub index_base: Option<IndexBase>,
    /// File with the gold sources, joined by equal input; its gold sources replace the predictions' own
    #[arg(long, value_name = "FILE")]
    pub references: Option<PathBuf>,
    /// Also ask a judge whether the sources support the claims: each sentence (long), or the question with the
    /// whole answer (short)
    #[arg(long, value_name = "long|short", value_enum, hide_possible_values = true, conflicts_with = "explain")]
    pub entail: Option<Form>,
    /// Count only the first N citations of a claim [default: 3]
    #[arg(long, value_name = "N", requires = "entail")]
    pub at_most: Option<NonZeroUsize>,
    /// Settings in a TOML file, the judge of role citation among them (with --entail)
    #[arg(long, value_name = "FILE", env = "SCHOLAREVAL_CONFIG")]
    pub config: Option<PathBuf>,
    /// A prompt set made by `prompts export` or `prompts import`, with --entail [default: built in]
    #[arg(long, value_name = "DIR", env = "SCHOLAREVAL_PROMPTS")]
    pub prompts: Option<PathBuf>,
    /// Ask every question K times and merge [default: 1]
    #[arg(long, value_name = "K", requires = "entail")]
    pub samples: Option<NonZeroU32>,
    /// Count as the reference script does, faults included
    #[arg(long, requires = "entail")]
    pub compat: bool,
    /// Output of the items.
    #[command(flatten)]
    pub items: PerItemArgs,
    /// Who judges, with --entail.
    #[command(flatten)]
    pub judge: JudgeOptions,
    /// How fast.
    #[command(flatten)]
    pub limits: LimitOptions,
    /// The reply cache.
    #[command(flatten)]
    pub cache: CacheOptions,
}

/// Arguments of `convert`.
#[derive(Debug, Clone, Args)]
pub struct ConvertArgs {
    /// Predictions (a JSON list, {"data": [..]} or JSON lines)
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Test cases; a question is looked up by its initial_prompt
    #[arg(long, value_name = "FILE")]
    pub tests: PathBuf,
    /// Answers to write: JSON lines of {case_id, answer_text}
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Whether cited sources are appended as a list
    #[arg(long, value_enum, default_value = "append", value_name = "HOW")]
    pub references_block: ReferencesBlock,
    /// Number of the first source
    #[arg(long, value_enum, default_value = "0", value_name = "N")]
    pub index_base: IndexBase,
    /// Convert as the reference script does: sources renumbered, the last of two equal cases kept
    #[arg(long)]
    pub compat: bool,
    /// No notes on standard error; errors only
    #[arg(long, short)]
    pub quiet: bool,
}

/// Arguments of `build-tests`.
#[derive(Debug, Clone, Args)]
pub struct BuildTestsArgs {
    /// Annotated ingredients (a JSON list, {"data": [..]} or JSON lines)
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Test cases to write
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

/// Arguments of `overlap`.
#[derive(Debug, Clone, Args)]
pub struct OverlapArgs {
    /// Prediction files, one per system (a JSON list, {"data": [..]} or JSON lines), or directories of *.jsonl
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// File with the gold answers, joined by equal input; they replace the predictions' own
    #[arg(long, value_name = "FILE")]
    pub references: Option<PathBuf>,
    /// Which measures: words, match, exact, f1, str-em, rouge [default: all that the input supports]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "LIST", hide_possible_values = true)]
    pub metrics: Vec<Measure>,
    /// Count only the first N words of each output
    #[arg(long, value_name = "N")]
    pub max_words: Option<usize>,
    /// Match gold answers anywhere, also within words, as the reference script does
    #[arg(long)]
    pub compat: bool,
    /// Output of the items.
    #[command(flatten)]
    pub items: PerItemArgs,
}
