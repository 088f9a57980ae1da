//! Arguments of the commands that evaluate answers, in groups: each command takes those that it uses.

use std::path::PathBuf;

use clap::Args;
use serde::{Deserialize, Serialize};

use super::OutputFormat;
use crate::evaluation::options::{
    AskingOptions, EvaluationOptions, InputOptions, OutputOptions, ScoringOptions,
};
use crate::judge::options::{BudgetOptions, CacheOptions, JudgeOptions, LimitOptions};

/// All options of an evaluation, in the form of [`ScoreArgs`], whose names of groups the other commands have, too.
///
/// It may hold secrets: it has no `Debug` on purpose.
#[derive(Clone, Default, Args, Serialize, Deserialize)]
pub struct ScoreArgs {
    /// The same as ANSWERS, as the reference script calls it
    #[arg(long, hide = true, value_name = "DIR", help_heading = "Input")]
    pub qa_dir: Vec<PathBuf>,
    /// The config file.
    #[command(flatten)]
    pub file: ConfigArgs,
    /// The run is deleted as soon as it was read: its files are not synced to the disk
    #[arg(long, hide = true, help_heading = "Output")]
    pub temporary: bool,
    /// Estimate calls, tokens and cost, as plan does, and exit
    #[arg(long, hide_short_help = true, help_heading = "Bounds")]
    pub dry_run: bool,
    /// What is evaluated, and how.
    #[command(flatten)]
    #[serde(flatten)]
    pub options: EvaluationOptions,
    /// How the summary is shown.
    #[command(flatten)]
    pub display: DisplayOptions,
}

/// The config file.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Input")]
pub struct ConfigArgs {
    /// Options in a TOML file; flags and environment win
    #[arg(long, value_name = "FILE", env = "SCHOLAREVAL_CONFIG")]
    pub config: Option<PathBuf>,
    /// Send keys to the servers that the config file names, now and until the file changes
    #[arg(long, hide_short_help = true, requires = "config")]
    pub trust_config: bool,
}

/// What every command takes that evaluates answers.
#[derive(Clone, Args, Serialize)]
pub struct AnswerArgs {
    /// The config file.
    #[command(flatten)]
    pub file: ConfigArgs,
    /// The answers.
    #[command(flatten)]
    pub input: InputOptions,
    /// How scores are counted.
    #[command(flatten)]
    pub scoring: ScoringOptions,
    /// What is written.
    #[command(flatten)]
    pub output: OutputOptions,
    /// How the summary is shown.
    #[command(flatten)]
    pub display: DisplayOptions,
}

/// What every command takes that asks judges. It may hold secrets: it has no `Debug` on purpose.
#[derive(Clone, Args, Serialize)]
pub struct JudgingArgs {
    /// How judges are asked.
    #[command(flatten)]
    pub asking: AskingOptions,
    /// The judge.
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
    /// Estimate calls, tokens and cost, as plan does, and exit
    #[arg(long, hide_short_help = true, help_heading = "Bounds")]
    pub dry_run: bool,
}

/// How the summary is shown.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Output")]
pub struct DisplayOptions {
    /// Format of standard output: table, json or csv
    #[arg(long, value_name = "FORM", value_enum, default_value_t)]
    #[arg(hide_possible_values = true)]
    #[arg(env = "SCHOLAREVAL_FORMAT", hide_env = true)]
    pub format: OutputFormat,
    /// How much is shown.
    #[command(flatten)]
    #[serde(skip)]
    pub shown: ShownArgs,
}

/// How much of a result is shown.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "General")]
pub struct ShownArgs {
    /// Show all tables and notes, not just the most important ones
    #[arg(long)]
    pub notes: bool,
    /// How texts are written.
    #[command(flatten)]
    pub csv: CsvArgs,
}

/// How texts are written to CSV.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "General")]
pub struct CsvArgs {
    /// Leave text in CSV unchanged; else text that a spreadsheet could read as a formula begins with an apostrophe
    #[arg(long, hide_short_help = true)]
    pub raw_csv: bool,
}
