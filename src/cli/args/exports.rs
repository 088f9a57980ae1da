//! Arguments of `import` and `export`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::OutputFormat;
use crate::domain::Mode;

/// Arguments of `import`.
#[derive(Debug, Clone, Args)]
pub struct ImportArgs {
    /// Results files, as rubric_eval.py and score --output write them; several of different systems become one run
    #[arg(required = true, value_name = "RESULTS")]
    pub files: Vec<PathBuf>,
    /// Test cases that the answers were scored by
    #[arg(long, value_name = "FILE")]
    pub tests: PathBuf,
    /// Directory of the new run
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// The answers, files or directories as for score: reports then show the texts behind the numbers
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub answers: Vec<PathBuf>,
    /// Who judged, as you know it: the run's judge is then imported:NAME [default: a hash of the files]
    #[arg(long, value_name = "NAME")]
    pub judge: Option<String>,
    /// How the scores were computed: compat (the reference script's) or default (ours) [default: compat, unless a
    /// score is null or the lexical baseline's, which the script never writes]
    #[arg(long, value_enum, value_name = "MODE", hide_possible_values = true)]
    pub mode: Option<ModeChoice>,
    /// The run's name [default: that of its directory]
    #[arg(long, value_name = "NAME")]
    pub run_label: Option<String>,
    /// Warnings are errors
    #[arg(long)]
    pub strict: bool,
    /// Replace the run record of another run in --out
    #[arg(long)]
    pub overwrite: bool,
    /// Format of the summary on standard output: table, json or csv [default: table]
    #[arg(long, value_name = "FORM", value_enum)]
    pub format: Option<OutputFormat>,
    /// No notes on standard error; errors only
    #[arg(long, short)]
    pub quiet: bool,
}

/// How the scores of an import were computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ModeChoice {
    /// The reference script's.
    Compat,
    /// Ours.
    Default,
}

impl From<ModeChoice> for Mode {
    fn from(choice: ModeChoice) -> Self {
        match choice {
            ModeChoice::Compat => Self::Compat,
            ModeChoice::Default => Self::Default,
        }
    }
}

/// Forms that a run is written in for other programs.
#[derive(Debug, Clone, Subcommand)]
pub enum ExportCommand {
    /// Write scores.parquet and calls.parquet, for data frames and DuckDB
    #[command(after_long_help = "\
Examples:
  scholareval export parquet runs/mine --out tables
  duckdb -c \"select system, avg(value) from 'tables/scores.parquet' where kind = 'score' group by all\"

The columns are in docs/formats.md. It needs a program built with `--features parquet`.")]
    Parquet(ParquetArgs),
    /// Write a log for each system that the viewer of inspect-ai opens
    #[command(after_long_help = "\
Examples:
  scholareval export inspect runs/mine --out logs
  inspect view --log-dir logs")]
    Inspect(ExportArgs),
}

/// Arguments of `export parquet`.
#[derive(Debug, Clone, Args)]
pub struct ParquetArgs {
    /// The run and the output directory.
    #[command(flatten)]
    pub export: ExportArgs,
    /// Replace tables of another run in --out
    #[arg(long)]
    pub overwrite: bool,
}

/// The run and the output directory.
#[derive(Debug, Clone, Args)]
pub struct ExportArgs {
    /// Directory of the run record
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Directory for the files; created if missing, files of the same run are replaced
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// No notes on standard error; errors only
    #[arg(long, short)]
    pub quiet: bool,
}
