//! Arguments of `bench`.

use std::path::PathBuf;

use clap::Args;

use super::DisplayOptions;
use crate::evaluation::options::{OutputOptions, ScoringOptions};
use crate::judge::options::{CacheOptions, JudgeOptions, LimitOptions};
use crate::scorer::citation::IndexBase;

/// How the command is used, at the end of its help.
pub(super) const EXAMPLES: &str = "\
Examples:
  Accuracy on SciFact, without a judge:
    scholareval bench scifact predictions/ --data ScholarQABench/data
  Aspects and citations of ScholarQA-Multi, each by the judge that eval.toml gives the role:
    scholareval bench multi predictions/ --data ScholarQABench/data --config eval.toml";

/// The rows of the benchmark's own table.
const ROWS: [&str; 7] = ["scifact", "pubmedqa", "qasa", "cs", "multi", "bio", "neuro"];

/// A row, the predictions and the benchmark's data. It may hold secrets: it has no `Debug` on purpose.
#[derive(Clone, Default, Args)]
pub struct BenchArgs {
    /// The row: scifact, pubmedqa, qasa, cs, multi, bio or neuro
    #[arg(value_parser = ROWS, value_name = "NAME", hide_possible_values = true)]
    pub name: String,
    /// Predictions {input, output, ctxs}, JSON or JSONL, or directories of them; a system's name is the file's stem
    #[arg(value_name = "PREDICTIONS", required_unless_present = "config")]
    pub predictions: Vec<PathBuf>,
    /// The benchmark's data: a directory laid out as ScholarQABench's `data`, or the row's own data file
    #[arg(long, value_name = "DIR", help_heading = "Input")]
    pub data: PathBuf,
    /// Score systems that did not answer every question, and flag them
    #[arg(long, help_heading = "Input")]
    pub allow_missing: bool,
    /// Only these systems, with or without .jsonl [default: all]
    #[arg(long, value_name = "A,B", value_delimiter = ',', help_heading = "Input")]
    pub systems: Vec<String>,
    /// Settings in a TOML file, judges by role among them; flags and environment win
    #[arg(long, value_name = "FILE", env = "SCHOLAREVAL_CONFIG", help_heading = "Input")]
    pub config: Option<PathBuf>,
    /// Make warnings about the input errors
    #[arg(long, help_heading = "Input")]
    pub strict: bool,
    /// Number of the first source: 0 or 1 [default: 0, as in ScholarQABench]
    #[arg(long, value_name = "0|1", value_enum, hide_possible_values = true, help_heading = "Scorers")]
    pub index_base: Option<IndexBase>,
    /// Aspects with the descriptions of their scores, as released [default: built in]
    #[arg(long, value_name = "FILE", help_heading = "Scorers")]
    pub aspect_rubrics: Option<PathBuf>,
    /// Cut prompts that do not fit the judge's context, and flag them, instead of leaving them unscored
    #[arg(long, help_heading = "Scorers")]
    pub truncate: bool,
    /// How it is scored.
    #[command(flatten)]
    pub scoring: ScoringOptions,
    /// Who judges.
    #[command(flatten)]
    pub judge: JudgeOptions,
    /// How fast.
    #[command(flatten)]
    pub limits: LimitOptions,
    /// The reply cache.
    #[command(flatten)]
    pub cache: CacheOptions,
    /// What is written.
    #[command(flatten)]
    pub output: OutputOptions,
    /// How the table is shown.
    #[command(flatten)]
    pub display: DisplayOptions,
}
