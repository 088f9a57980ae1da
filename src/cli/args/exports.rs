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
    /// Write the scores for a log of Inspect with the same samples (precomputed_scores)
    #[command(after_long_help = "\
Examples:
  Answers that come from a log go back into it as scores:
    scholareval score logs/eval.json --tests tests.json --model NAME --out runs/mine
    scholareval export inspect-scores runs/mine --out scores
    inspect score logs/eval.json --action append --scorer inspect_ai/precomputed_scores -S scores=scores/FILE.jsonl

It needs inspect-ai 0.3.259 or later. A file is of one system and one scorer; unscored answers count as unscored there.")]
    InspectScores(ExportArgs),
    /// Write evaluations and records in the schema of Every Eval Ever
    #[command(after_long_help = "\
Examples:
  scholareval export eee runs/mine --organization \"My Lab\" --id mine=my-lab/my-model-2 --out datastore
  every_eval_ever validate 'datastore/data/*/*/*/*.json*'

Each system is an evaluation with its metrics, intervals and judges; a record has a score, so that unscored answers have none and
are counted in the result. The datastore wants the developer of each model.")]
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
