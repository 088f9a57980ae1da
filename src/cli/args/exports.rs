//! Arguments of `import` and `export`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::DisplayOptions;
use crate::runs::ImportOptions;

/// Arguments of `import`.
#[derive(Debug, Clone, Args)]
pub struct ImportArgs {
    /// What is imported.
    #[command(flatten)]
    pub options: ImportOptions,
    /// How the summary is shown.
    #[command(flatten)]
    pub display: DisplayOptions,
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
    Parquet(ExportArgs),
    /// Write a log for each system that the viewer of inspect-ai opens
    #[command(after_long_help = "\
Examples:
  scholareval export inspect runs/mine --out logs
  inspect view --log-dir logs")]
    Inspect(ExportArgs),
}

/// The run and the output directory.
#[derive(Debug, Clone, Args)]
pub struct ExportArgs {
    /// Directory of the run record
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Directory for the files; created if missing, files of the same name are replaced
    #[arg(long, short, value_name = "DIR")]
    pub out: PathBuf,
}
