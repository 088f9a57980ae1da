//! Arguments of `compare`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::DisplayOptions;
use crate::analysis::comparison::{ComparisonOptions, GateOptions};

/// How the command is used, at the end of its help.
pub(super) const EXAMPLES: &str = "\
Columns:
  group    systems that share a letter do not differ significantly (over all pairs)
  first    % of the resamples of the questions in which the system has the highest mean
  cases    shared cases, those that all systems have a value for
  missing  cases of the run without an answer or value
  p        adjusted for all pairs of the metric, as is the interval of the difference
  W/T/L    cases where the first system is better (win), equal (tie), worse (loss)
  d_z      Cohen's d of the paired differences: their mean by their standard deviation
  alone    the interval and p of this pair, not adjusted for the others
  *        significantly different: p below 1 - level; ! with missing data the verdict could change

A gate that holds only if missing data are ignored is not met (exit 6), unless --tolerate-missing.
Examples:
  The systems of a run, by its headline metrics:
    scholareval compare runs/1
  Two runs of one judge on other systems, every metric, against one of them:
    scholareval compare runs/1 runs/2 --metric all --baseline gpt
  Before a judge is replaced: the same answers by both, the old one first:
    scholareval compare runs/gpt-4o runs/gpt-5 --across judges
  A gate for CI:
    scholareval compare runs/1 --fail-under new:score=0.5 --require \"new>=old\"";

/// What differs between compared runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Across {
    /// The judge.
    Judges,
}

/// Which runs are compared, and how.
#[derive(Debug, Clone, Args)]
pub struct CompareArgs {
    /// Run directories, or directories that hold several (unfinished ones are skipped)
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// Metrics to compare: names with commas between, or all [default: the headline metric of each scorer, or the benchmark's columns]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub metric: Vec<String>,
    /// Compare runs whose judge, prompts, tests or settings differ, and flag it
    #[arg(long)]
    pub anyway: bool,
    /// judges: what another judge of the same answers changes, from the first run to each other one
    #[arg(long, value_name = "WHAT", value_enum, hide_possible_values = true)]
    #[arg(conflicts_with_all = ["baseline", "fail_under", "require", "tolerate_missing"])]
    pub across: Option<Across>,
    /// How the comparison is shown.
    #[command(flatten)]
    pub display: DisplayOptions,
    /// What must hold for exit code 0.
    #[command(flatten)]
    pub gates: GateOptions,
    /// The statistics.
    #[command(flatten)]
    pub options: ComparisonOptions,
}
