//! Arguments of `score`, `check` and `config`, one group a heading of the help.
//!
//! Everything is optional here: what a flag leaves open, the environment, the config file or the default decides
//! (see [`Settings`](crate::cli::settings::Settings)). Texts that may hold a secret (headers, queries, URLs, request
//! fields) stay raw, so that no message of the argument parser repeats them.

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::BudgetArgs;
use crate::cli::settings::value::{FirstIndex, Logprobs, Names, ScorerNames, SettingValue, Share, Temperature, TopP};
use crate::cli::settings::{Conversation, EntailForm, MergeRule, OnUnscored, OutputFormat, ReferencesBlock, Streaming};

/// What to score, by which judge, within which limits. It may hold secrets: it has no `Debug` on purpose.
#[derive(Clone, Default, Args)]
pub struct ScoreArgs {
    /// What is read.
    #[command(flatten)]
    pub input: InputArgs,
    /// How it is scored.
    #[command(flatten)]
    pub scoring: ScoringArgs,
    /// What each scorer needs to know.
    #[command(flatten)]
    pub scorers: ScorerArgs,
    /// Who judges.
    #[command(flatten)]
    pub judge: JudgeArgs,
    /// How fast.
    #[command(flatten)]
    pub limits: LimitArgs,
    /// How much of it, for how much.
    #[command(flatten)]
    pub budget: BudgetArgs,
    /// Where replies are kept.
    #[command(flatten)]
    pub cache: CacheArgs,
    /// What is written.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What is read.
#[derive(Clone, Default, Args)]
#[command(next_help_heading = "Input")]
pub struct InputArgs {
    /// JSONL files of answers, or directories of them (every *.jsonl; a system's name is the file's stem)
    #[arg(value_name = "ANSWERS", help_heading = None::<&'static str>)]
    pub answers: Vec<PathBuf>,
    /// The same as ANSWERS, as the reference script calls it
    #[arg(long, value_name = "DIR")]
    pub qa_dir: Vec<PathBuf>,
    /// Test cases with their rubrics (JSON)
    #[arg(long, visible_alias = "test-config", value_name = "FILE")]
    pub tests: Option<PathBuf>,
    /// Only these systems, with or without .jsonl [default: all]
    #[arg(long, visible_alias = "src-names", value_name = "A,B", value_parser = Names::parse)]
    pub systems: Option<Names>,
    /// Only these case ids [default: all]
    #[arg(long, value_name = "ID,..", value_parser = Names::parse)]
    pub cases: Option<Names>,
    /// Only the first N cases
    #[arg(long, value_name = "N", value_parser = NonZeroUsize::parse)]
    pub limit: Option<NonZeroUsize>,
    /// Settings in a TOML file; flags and environment win [env: SCHOLAREVAL_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Make warnings about the input errors
    #[arg(long)]
    pub strict: bool,
}

/// How it is scored.
#[derive(Clone, Default, Args)]
#[command(next_help_heading = "Scoring")]
pub struct ScoringArgs {
    /// Ask the criteria; with neither --rubrics nor --snippets both are asked
    #[arg(long)]
    pub rubrics: bool,
    /// Ask the snippets; with neither --rubrics nor --snippets both are asked
    #[arg(long)]
    pub snippets: bool,
    /// Ask every question K times and merge [default: 1]
    #[arg(long, value_name = "K", value_parser = NonZeroU32::parse)]
    pub samples: Option<NonZeroU32>,
    /// How the samples of a question become one verdict: mean, median or most-common [default: mean]
    #[arg(long, value_name = "RULE", value_parser = MergeRule::parse)]
    pub merge: Option<MergeRule>,
    /// Leave unscored answers out of the means, or count their missing parts as 0 [default: exclude]
    #[arg(long, value_name = "POLICY", value_parser = OnUnscored::parse)]
    pub on_unscored: Option<OnUnscored>,
    /// Share of unscored answers that is tolerated; above it exit code 5 [default: 0.01]
    #[arg(long, value_name = "SHARE", value_parser = Share::parse, allow_negative_numbers = true)]
    pub max_unscored: Option<Share>,
    /// Ask again this often where a reply cannot be read [default: 2]
    #[arg(long, value_name = "N", value_parser = u32::parse)]
    pub parse_retries: Option<u32>,
    /// Score questions annotated twice under both rubrics and report how far they agree
    #[arg(long)]
    pub agreement: bool,
    /// Pair, parse and count as the reference script does, faults included
    #[arg(long)]
    pub compat: bool,
    /// Seed of the resampling behind the intervals [default: 42]
    #[arg(long, value_name = "N", value_parser = u64::parse)]
    pub seed: Option<u64>,
    /// A prompt set made by `prompts export` or `prompts import` [default: built in; env: SCHOLAREVAL_PROMPTS]
    #[arg(long, value_name = "DIR")]
    pub prompts: Option<PathBuf>,
    /// Say how many calls it would take, and stop
    #[arg(long)]
    pub dry_run: bool,
}

/// What each scorer needs to know.
#[derive(Clone, Default, Args)]
#[command(next_help_heading = "Scorers")]
pub struct ScorerArgs {
    /// Of rubric, prometheus, entailment, citation_audit and overlap [default: those that the input supports]
    #[arg(long, value_name = "A,B", value_parser = ScorerNames::parse)]
    pub scorers: Option<ScorerNames>,
    /// Golds and reference answers, joined by question
    #[arg(long, value_name = "FILE")]
    pub references: Option<PathBuf>,
    /// Behind an answer made from a prediction, append a list of the sources it cites, or none; no length counts it
    /// [default: append]
    #[arg(long, value_name = "append|none", value_parser = ReferencesBlock::parse)]
    pub references_block: Option<ReferencesBlock>,
    /// The number that means the first source: 0 or 1 [default: 0]
    #[arg(long, value_name = "0|1", value_parser = FirstIndex::parse)]
    pub index_base: Option<FirstIndex>,
    /// Cut what does not fit the judge's context, and mark it, instead of leaving it unscored
    #[arg(long)]
    pub truncate: bool,
    /// Grade only these aspects [default: all of the rubrics]
    #[arg(long, value_name = "A,B", value_parser = Names::parse)]
    pub aspects: Option<Names>,
    /// Aspects with the descriptions of their scores, as released [default: built in]
    #[arg(long, value_name = "FILE")]
    pub aspect_rubrics: Option<PathBuf>,
    /// Grade aspects without reference answers
    #[arg(long)]
    pub no_reference: bool,
    /// What stands before the question where aspects are graded; published: "Answer the question related to the most
    /// recent scientific literature." [default: nothing]
    #[arg(long, value_name = "TEXT")]
    pub instruction: Option<String>,
    /// Show at most so many of the cited sources where aspects are graded [default: 10]
    #[arg(long, value_name = "N", value_parser = <usize as SettingValue>::parse)]
    pub top_n: Option<usize>,
    /// Judge citations sentence by sentence (long), or the question with the whole answer (short) [default: long]
    #[arg(long, value_name = "long|short", value_parser = EntailForm::parse)]
    pub entail: Option<EntailForm>,
    /// Count only the first so many citations of a claim [default: 3]
    #[arg(long, value_name = "N", value_parser = NonZeroUsize::parse)]
    pub at_most: Option<NonZeroUsize>,
    /// Compare only the first so many words of an output with its golds [default: all]
    #[arg(long, value_name = "N", value_parser = NonZeroUsize::parse)]
    pub max_words: Option<NonZeroUsize>,
}

/// Who judges.
#[derive(Clone, Default, Args)]
#[command(next_help_heading = "Judge")]
pub struct JudgeArgs {
    /// Model that judges; with neither --model nor --base-url the built-in lexical baseline [env: SCHOLAREVAL_MODEL]
    #[arg(long, value_name = "NAME", value_parser = <String as SettingValue>::parse)]
    pub model: Option<String>,
    /// OpenAI-compatible server, or several of one model (A,B,C), each within the limits below [default with --model:
    /// OPENAI_BASE_URL, else OpenAI; env: SCHOLAREVAL_BASE_URL]. OPENAI_BASE_URL alone chooses no judge
    #[arg(long, value_name = "URL,..")]
    pub base_url: Option<String>,
    /// Kind of judge: lexical (the built-in baseline: no LLM, offline), chat, completions (the conversation is written
    /// out here), or label (a model that answers with one label) [default: chat with --model or --base-url, else
    /// lexical]
    #[arg(long, value_name = "KIND", value_parser = <String as SettingValue>::parse)]
    pub judge: Option<String>,
    /// Environment variable that holds the API key [default: OPENAI_API_KEY; env: SCHOLAREVAL_API_KEY_ENV]
    #[arg(long, value_name = "NAME")]
    pub api_key_env: Option<String>,
    /// Wait this long for a server that is still loading, such as 20m [default: 0s; env: SCHOLAREVAL_WAIT_SERVER]
    #[arg(long, value_name = "TIME", value_parser = Duration::parse)]
    pub wait_server: Option<Duration>,
    /// Sampling temperature, 0 to 2; published for aspects: 0.01 [default: 0]
    #[arg(long, value_name = "T", value_parser = Temperature::parse, allow_negative_numbers = true)]
    pub temperature: Option<Temperature>,
    /// Send no temperature (for models that refuse it)
    #[arg(long, conflicts_with = "temperature")]
    pub no_temperature: bool,
    /// Nucleus sampling, above 0 to 1; published for aspects: 0.95 [default: none is sent]
    #[arg(long, value_name = "P", value_parser = TopP::parse, allow_negative_numbers = true)]
    pub top_p: Option<TopP>,
    /// Seed sent to the server [default: none is sent]
    #[arg(long, value_name = "N", value_parser = i64::parse, allow_negative_numbers = true)]
    pub judge_seed: Option<i64>,
    /// Do not ask the server for JSON mode
    #[arg(long)]
    pub no_json_mode: bool,
    /// Reply limits per kind, such as property=100,citations=16000 [default: 100 for scores, none for citations; for
    /// aspect and attribution that of the prompts, for attribution by a label judge 10]
    #[arg(long, value_name = "KIND=N,..")]
    pub max_tokens: Option<String>,
    /// Field that carries the limit, such as max_completion_tokens [default: max_tokens]
    #[arg(long, value_name = "NAME", value_parser = <String as SettingValue>::parse)]
    pub max_tokens_field: Option<String>,
    /// Ask for so many alternatives of each token, 1 to 20; scores become expected scores [default: none]
    #[arg(long, value_name = "N", value_parser = Logprobs::parse)]
    pub logprobs: Option<Logprobs>,
    /// How a conversation is written out for a judge of kind completions: llama-2, mistral, chatml or none [default:
    /// none]
    #[arg(long, value_name = "FORMAT", value_parser = Conversation::parse)]
    pub conversation: Option<Conversation>,
    /// Fields added to every request, a JSON object such as '{"top_k": 1}'
    #[arg(long, value_name = "JSON")]
    pub extra_body: Option<String>,
    /// Header added to every request; may be repeated
    #[arg(long = "header", value_name = "K:V")]
    pub headers: Vec<String>,
    /// Query parameter added to every request; may be repeated
    #[arg(long = "query", value_name = "K=V")]
    pub query: Vec<String>,
    /// Name of the judge in the cache, instead of the model and what the server reports
    #[arg(long, value_name = "NAME", value_parser = <String as SettingValue>::parse)]
    pub cache_id: Option<String>,
}

/// How fast, how patient.
#[derive(Clone, Default, Args)]
#[command(next_help_heading = "Limits")]
pub struct LimitArgs {
    /// Calls in flight at once [default: 32; env: SCHOLAREVAL_CONCURRENCY]
    #[arg(long, value_name = "N", value_parser = NonZeroUsize::parse)]
    pub concurrency: Option<NonZeroUsize>,
    /// Requests a minute [default: no limit; env: SCHOLAREVAL_RPM]
    #[arg(long, value_name = "N", value_parser = NonZeroU32::parse)]
    pub rpm: Option<NonZeroU32>,
    /// Tokens a minute [default: no limit; env: SCHOLAREVAL_TPM]
    #[arg(long, value_name = "N", value_parser = NonZeroU64::parse)]
    pub tpm: Option<NonZeroU64>,
    /// Attempts after the first for failures that pass (429, 5xx, resets, time-outs) [default: 8]
    #[arg(long, value_name = "N", value_parser = u32::parse)]
    pub retries: Option<u32>,
    /// Longest time for one request, such as 90s [default: 10m; env: SCHOLAREVAL_TIMEOUT]
    #[arg(long, value_name = "TIME", value_parser = Duration::parse)]
    pub timeout: Option<Duration>,
    /// Longest time until the first byte of a reply; tells something of streams only [default: that of the request]
    #[arg(long, value_name = "TIME", value_parser = Duration::parse)]
    pub first_byte_timeout: Option<Duration>,
    /// Have replies sent token by token, so that a server notices a time-out and stops: on, off or auto (vLLM and
    /// llama.cpp) [default: auto; env: SCHOLAREVAL_STREAM]
    #[arg(long, value_name = "WHEN", value_parser = Streaming::parse)]
    pub stream: Option<Streaming>,
}

/// Where replies are kept.
#[derive(Clone, Default, Args)]
#[command(next_help_heading = "Cache")]
pub struct CacheArgs {
    /// Replies that are paid already [default: .scholareval/cache.sqlite; env: SCHOLAREVAL_CACHE]
    #[arg(long, value_name = "FILE", conflicts_with = "no_cache")]
    pub cache: Option<PathBuf>,
    /// Neither read nor keep replies
    #[arg(long)]
    pub no_cache: bool,
    /// Ask again where a kept reply could not be read
    #[arg(long)]
    pub retry_unscored: bool,
}

/// What is written.
#[derive(Clone, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Directory of the run record [default: runs/HASH, a hash of inputs and settings]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace a run record of other settings
    #[arg(long)]
    pub overwrite: bool,
    /// Leave questions and answers out of the run record
    #[arg(long)]
    pub no_inputs: bool,
    /// Name of the run in items.csv [default: the name of its directory]
    #[arg(long, value_name = "NAME", value_parser = <String as SettingValue>::parse)]
    pub run_label: Option<String>,
    /// Also write the reference script's results file
    #[arg(long = "output", value_name = "FILE")]
    pub results_file: Option<PathBuf>,
    /// Form of the summary on standard output: table, json or csv [default: table; env: SCHOLAREVAL_FORMAT]
    #[arg(long, value_name = "FORM", value_parser = OutputFormat::parse)]
    pub format: Option<OutputFormat>,
    /// No progress, no notes; errors only [env: SCHOLAREVAL_QUIET]
    #[arg(long, short)]
    pub quiet: bool,
}
