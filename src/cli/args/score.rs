//! Arguments of `score` and of the commands that take the same options: what is evaluated, and how its summary is shown.

use std::path::PathBuf;

use clap::Args;
use serde::{Deserialize, Serialize};

use super::OutputFormat;
use crate::evaluation::PairChoice;
use crate::evaluation::options::EvaluationOptions;
use crate::text::perturbation::Perturbation;

/// What to score, by which judge, within which limits. It may hold secrets: it has no `Debug` on purpose.
#[derive(Clone, Default, Args, Serialize, Deserialize)]
pub struct ScoreArgs {
    /// The same as ANSWERS, as the reference script calls it
    #[arg(long, hide = true, value_name = "DIR", help_heading = "Input")]
    #[serde(skip)]
    pub qa_dir: Vec<PathBuf>,
    /// Options in a TOML file; flags and environment win
    #[arg(
        long,
        value_name = "FILE",
        env = "SCHOLAREVAL_CONFIG",
        help_heading = "Input"
    )]
    #[serde(skip)]
    pub config: Option<PathBuf>,
    /// Send keys to the servers that the config file names, now and until the file changes
    #[arg(
        long,
        hide_short_help = true,
        requires = "config",
        help_heading = "Input"
    )]
    #[serde(skip)]
    pub trust_config: bool,
    /// The run is deleted as soon as it was read: its files are not synced to the disk
    #[arg(long, hide = true, help_heading = "Output")]
    #[serde(skip)]
    pub temporary: bool,
    /// Estimate calls, tokens and cost, as plan does, and exit
    #[arg(long, hide_short_help = true, help_heading = "Bounds")]
    #[serde(skip)]
    pub dry_run: bool,
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
    /// Format of standard output: table, json or csv
    #[arg(
        long,
        value_name = "FORM",
        value_enum,
        default_value_t,
        hide_possible_values = true
    )]
    #[arg(env = "SCHOLAREVAL_FORMAT", hide_env = true)]
    pub format: OutputFormat,
}

/// How `probe` is used, at the end of its help.
pub(super) const PROBE_EXAMPLES: &str = "\
Examples:
  What 20 questions cost, then the probe (the same command continues where it stopped):
    scholareval probe answers.jsonl --tests tests.json --model NAME -n 20 --out runs/probe --dry-run
    scholareval probe answers.jsonl --tests tests.json --model NAME -n 20 --out runs/probe
  Filler and a planted verdict only:
    scholareval probe answers.jsonl --tests tests.json --model NAME --perturb padded,injected
  One system after another, from the record:
    scholareval compare runs/probe --baseline answers --metric all";

/// Perturbations, and the answers. It may hold secrets: it has no `Debug` on purpose.
#[derive(Clone, Args)]
pub struct ProbeArgs {
    /// Only these perturbations [default: all]
    #[arg(
        long,
        value_name = "A,B",
        value_enum,
        value_delimiter = ',',
        help_heading = "Input"
    )]
    pub perturb: Vec<Perturbation>,
    /// The answers, and how they are scored.
    #[command(flatten)]
    pub score: ScoreArgs,
}

/// How `pairs` is used, at the end of its help.
pub(super) const PAIRS_EXAMPLES: &str = "\
Examples:
  What three systems cost in both orders, then the comparison (the same command continues where it stopped):
    scholareval pairs answers/ --tests tests.json --model MODEL --out runs/pairs --dry-run
    scholareval pairs answers/ --tests tests.json --model MODEL --out runs/pairs
  A new system against the old one, each question in one order, half of the calls:
    scholareval pairs answers/ --tests tests.json --model MODEL --baseline old --orders one --out runs/pairs
  The same until it is decided, both orders only where one is not enough:
    scholareval pairs answers/ --tests tests.json --model MODEL --until \"new>=old-0.05\" --orders auto --out runs/pairs
  By the criteria of the rubric, each weighted as there:
    scholareval pairs answers/ --tests tests.json --model MODEL --by-criteria --out runs/pairs
  Gates, people's preferences, the page:
    scholareval compare runs/pairs --require \"new>=old-0.05\"
    scholareval agree runs/pairs --labels preferences.csv
    scholareval report runs/pairs --out report.html";

/// The answers of several systems, and which of them are compared. It may hold secrets: it has no `Debug` on purpose.
#[derive(Clone, Args)]
pub struct PairsArgs {
    /// Which pairs are compared.
    #[command(flatten)]
    pub pairs: PairChoice,
    /// The answers, and who judges them.
    #[command(flatten)]
    pub score: ScoreArgs,
}

/// Examples at the end of the help of `bench`.
pub(super) const BENCH_EXAMPLES: &str = "\
Examples:
  Accuracy on SciFact, without a judge:
    scholareval bench scifact predictions/ --data ScholarQABench/data
  Aspects and citations of ScholarQA-Multi, each by the judge that eval.toml gives the role:
    scholareval bench multi predictions/ --data ScholarQABench/data --config eval.toml";

/// The rows of the benchmark's table.
const ROWS: [&str; 7] = ["scifact", "pubmedqa", "qasa", "cs", "multi", "bio", "neuro"];

/// A row, the benchmark's data and the predictions. It may hold secrets: it has no `Debug` on purpose.
#[derive(Clone, Args)]
pub struct BenchArgs {
    /// The row: scifact, pubmedqa, qasa, cs, multi, bio or neuro
    #[arg(value_parser = ROWS, value_name = "NAME", hide_possible_values = true)]
    pub name: String,
    /// The benchmark's data: a directory laid out as ScholarQABench's `data`, or the row's own data file
    #[arg(long, value_name = "DIR", help_heading = "Input")]
    pub data: PathBuf,
    /// Score systems that did not answer every question, and flag them
    #[arg(long, help_heading = "Input")]
    pub allow_missing: bool,
    /// The predictions, and how they are scored; the row decides the scorers.
    #[command(flatten)]
    pub score: ScoreArgs,
}
