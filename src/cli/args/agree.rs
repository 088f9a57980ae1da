//! Arguments of `agree`.

use std::path::PathBuf;

use clap::Args;

use super::{DisplayOptions, GateOutput};
use crate::analysis::rater_agreement::AgreementOptions;
use crate::report::AgreementTables;

/// Examples below the long help.
pub(super) const EXAMPLES: &str = "\
Examples:
  A run and the labels of people, whole answers:
    scholareval agree runs/mine --labels labels.csv
  Criterion by criterion, as JSON:
    scholareval agree runs/mine --labels labels.csv --level item --format json
  Labels from the pages of scholareval label, in the directory of their sheet:
    scholareval agree runs/mine --labels labels/round1
  One aspect, with ratings up to half a grade apart counted as ties:
    scholareval agree runs/mine --labels grades.csv --metric coverage --tie-threshold 0.5
  Two judges, without people:
    scholareval agree runs/gpt runs/llama
  Annotators with each other, and with a model whose scores are in the same files:
    scholareval agree --labels ann1.json ann2.json
  A gate for CI:
    scholareval agree runs/mine --labels labels.csv --require \"kappa>=0.6\" --require \"abs(shift)<=0.05\"
  See how many more labels help (scholareval label makes pages to label on):
    scholareval agree runs/mine --labels labels.csv --plan

Which of two is better: an outcome is the first, the second, or a tie.
  better of two  pairs with the same outcome; half where only one rater has a tie
  strict         pairs with the same outcome
  decided        pairs with the same winner, of those that neither rater ties
  kappa          Cohen's kappa of the three outcomes

Intervals need at least 10 units (answers, items, pairs; for numbers about
systems: questions).";

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
    #[arg(
        long,
        value_name = "CONDITION",
        conflicts_with = "plan",
        help_heading = "Gates"
    )]
    pub require: Vec<String>,
    /// How gates are reported.
    #[command(flatten)]
    pub output: GateOutput,
    /// More tables: rater (every pair), item, system, group (of cases)
    #[arg(
        long,
        value_name = "TABLES",
        value_enum,
        value_delimiter = ',',
        hide_possible_values = true
    )]
    pub by: Vec<AgreementTables>,
    /// How the result is shown.
    #[command(flatten)]
    pub display: DisplayOptions,
}
