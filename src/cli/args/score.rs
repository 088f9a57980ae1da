//! Arguments of `score`, `check` and `config`: the options of an evaluation, and how its summary is shown.

use std::path::PathBuf;

use clap::Args;
use clap::builder::BoolishValueParser;
use serde::{Deserialize, Serialize};

use super::OutputFormat;
use crate::evaluation::options::EvaluationOptions;

/// What to score, by which judge, within which limits. It may hold secrets: it has no `Debug` on purpose.
#[derive(Clone, Default, Args, Serialize, Deserialize)]
pub struct ScoreArgs {
    /// The same as ANSWERS, as the reference script calls it
    #[arg(long, value_name = "DIR", help_heading = "Input")]
    #[serde(skip)]
    pub qa_dir: Vec<PathBuf>,
    /// Settings in a TOML file; flags and environment win
    #[arg(long, value_name = "FILE", env = "SCHOLAREVAL_CONFIG", help_heading = "Input")]
    #[serde(skip)]
    pub config: Option<PathBuf>,
    /// What is evaluated, and how.
    #[command(flatten)]
    #[serde(flatten)]
    pub options: EvaluationOptions,
    /// How the summary is shown.
    #[command(flatten)]
    pub display: DisplayOptions,
}

/// How the summary is shown.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Output")]
pub struct DisplayOptions {
    /// Format of the summary on standard output
    #[arg(long, value_name = "FORM", value_enum, env = "SCHOLAREVAL_FORMAT", default_value_t)]
    pub format: OutputFormat,
    /// No progress, no notes; errors only
    #[arg(long, short, env = "SCHOLAREVAL_QUIET", value_parser = BoolishValueParser::new())]
    pub quiet: bool,
}
