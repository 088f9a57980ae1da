//! Arguments of `agree`.

use std::path::PathBuf;

use clap::Args;

use super::{DisplayOptions, GateOutput};
use crate::analysis::rater_agreement::AgreementOptions;
use crate::report::AgreementTables;

/// Arguments of `agree`.
#[derive(Debug, Clone, Args)]
pub struct AgreeArgs {
    /// Run directories, or directories that hold several; each run is one rater
    #[arg(value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// Files of labels (CSV, JSON lines or a JSON list): scores, preferences, or pairs with both; or the directory of a sheet of
    /// label, with the files from its pages
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub labels: Vec<PathBuf>,
    /// How raters are compared.
    #[command(flatten)]
    pub options: AgreementOptions,
    /// Plan instead: how exact a system's mean on the human scale is by its number of labels, judged by the labels at hand
    #[arg(long, requires = "labels")]
    pub plan: bool,
    /// Require that a number of the judge with the people together reaches a value, "kappa>=0.6" or "sensitivity>=0.8" (of several
    /// levels "sensitivity:LEVEL>=0.8"), or that the judge's mean is near theirs, "abs(shift)<=0.05", in the unit of the ratings;
    /// JUDGE:kappa>=0.6 names one of several judges; can be repeated; exit 6 if one is missed, 8 if one is undecided
    #[arg(long, value_name = "CONDITION", conflicts_with = "plan")]
    #[arg(help_heading = "Gates")]
    pub require: Vec<String>,
    /// How gates are reported.
    #[command(flatten)]
    pub output: GateOutput,
    /// More tables: rater (every pair), item, system, group (of cases)
    #[arg(long, value_name = "TABLES", value_enum, value_delimiter = ',')]
    #[arg(hide_possible_values = true)]
    pub by: Vec<AgreementTables>,
    /// How the result is shown.
    #[command(flatten)]
    pub display: DisplayOptions,
}
