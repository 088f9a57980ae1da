//! Arguments of `bench`.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::{AnswerArgs, JudgingArgs};
use crate::evaluation::options::AspectFileOptions;
use crate::scorer::citation::MarkerOptions;

/// The rows of the benchmark's table.
const ROWS: [&str; 7] = ["scifact", "pubmedqa", "qasa", "cs", "multi", "bio", "neuro"];

/// A row, the benchmark's data and the predictions. It may hold secrets: it has no `Debug` on purpose.
#[derive(Clone, Args, Serialize)]
pub struct BenchArgs {
    /// The row: scifact, pubmedqa, qasa, cs, multi, bio or neuro
    #[arg(value_parser = ROWS, value_name = "NAME", hide_possible_values = true)]
    #[serde(skip)]
    pub name: String,
    /// The benchmark's data: a directory laid out as ScholarQABench's `data`, or the row's own data file
    #[arg(long, value_name = "DIR", help_heading = "Input")]
    #[serde(skip)]
    pub data: PathBuf,
    /// Score systems that did not answer every question, and flag them
    #[arg(long, help_heading = "Input")]
    #[serde(skip)]
    pub allow_missing: bool,
    /// The predictions.
    #[command(flatten)]
    #[serde(flatten)]
    pub answers: AnswerArgs,
    /// What the row leaves open about its scorers.
    #[command(flatten)]
    pub scorers: BenchScorers,
    /// Who judges.
    #[command(flatten)]
    #[serde(flatten)]
    pub judging: JudgingArgs,
}

/// What a row leaves open about its scorers.
#[derive(Debug, Clone, Args, Serialize)]
pub struct BenchScorers {
    /// The aspects.
    #[command(flatten)]
    #[serde(flatten)]
    pub aspects: AspectFileOptions,
    /// How predictions are read.
    #[command(flatten)]
    #[serde(flatten)]
    pub markers: MarkerOptions,
}
