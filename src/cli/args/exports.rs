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
    #[command(after_long_help = include_str!("examples/export_parquet.txt"))]
    Parquet(ExportArgs),
    /// Write a log for each system that the viewer of inspect-ai opens
    #[command(after_long_help = include_str!("examples/export_inspect.txt"))]
    Inspect(ExportArgs),
    /// Write the scores for a log of Inspect with the same samples (precomputed_scores)
    #[command(after_long_help = include_str!("examples/export_inspect_scores.txt"))]
    InspectScores(ExportArgs),
    /// Write evaluations and records in the schema of Every Eval Ever
    #[command(after_long_help = include_str!("examples/export_eee.txt"))]
    Eee(EeeArgs),
}

/// The run, and whose evaluation it is.
#[derive(Debug, Clone, Args)]
pub struct EeeArgs {
    /// What is exported, and where to.
    #[command(flatten)]
    pub export: ExportArgs,
    /// Who made the evaluation
    #[arg(long, value_name = "NAME")]
    pub organization: String,
    /// Folder of the datastore and name of the data set [default: the run's name]
    #[arg(long, value_name = "NAME")]
    pub collection: Option<String>,
    /// The model behind a system, as the datastore files it; may be repeated
    #[arg(long = "id", value_name = "SYSTEM=DEVELOPER/MODEL", value_parser = system_and_model)]
    pub ids: Vec<(String, String)>,
}

/// A system with its model.
fn system_and_model(text: &str) -> Result<(String, String), String> {
    let named = text
        .split_once('=')
        .filter(|(system, model)| !system.is_empty() && model.split('/').count() == 2);
    let Some((system, model)) = named else {
        return Err("write SYSTEM=DEVELOPER/MODEL, such as mine=my-lab/my-model-2".to_owned());
    };
    Ok((system.to_owned(), model.to_owned()))
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
