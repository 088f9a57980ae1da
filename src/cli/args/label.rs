//! Arguments of `label`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::CsvArgs;
use crate::runs::LabelOptions;

/// The form of what is drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum LabelForm {
    /// A page for each rater.
    #[default]
    Page,
    /// A table of ids to fill in, on standard output.
    Csv,
}

/// Arguments of `label`.
#[derive(Debug, Clone, Args)]
pub struct LabelArgs {
    /// Run directories, or directories that hold several; with --adjudicate the files of labels
    #[arg(required = true, value_name = "RUN")]
    pub paths: Vec<PathBuf>,
    /// What is drawn, and who labels it.
    #[command(flatten)]
    pub options: LabelOptions,
    /// Directory of the pages, made new
    #[arg(long, value_name = "DIR", required_unless_present_any = ["adjudicate", "format"])]
    pub out: Option<PathBuf>,
    /// Instead make the page of the items on which raters differ, in the directory of their pages
    #[arg(long, value_name = "DIR")]
    #[arg(conflicts_with_all = ["answers", "verdicts", "raters", "overlap", "units", "pairs", "random", "metric", "seed", "out", "format"])]
    pub adjudicate: Option<PathBuf>,
    /// page, or csv: system, case and probability of the drawn answers, with a column to fill in
    #[arg(long, value_name = "FORM", value_enum, hide_possible_values = true)]
    pub format: Option<LabelForm>,
    /// How texts are written with --format csv.
    #[command(flatten)]
    pub csv: CsvArgs,
}
