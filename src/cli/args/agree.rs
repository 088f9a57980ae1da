//! Arguments of `agree`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::analysis::rater_agreement::AgreementLevel;
use crate::cli::settings::OutputFormat;
use crate::cli::settings::value::SettingValue;

/// Examples below the long help.
pub(super) const EXAMPLES: &str = "\
Examples:
  A run against what people said, whole answers:
    scholareval agree --runs runs/mine --labels labels.csv
  Criterion by criterion, as JSON:
    scholareval agree --runs runs/mine --labels labels.csv --level item --format json
  One aspect, with ratings up to half a grade apart counted as ties:
    scholareval agree --runs runs/mine --labels grades.csv --metric coverage --tie-threshold 0.5
  Two judges, without people:
    scholareval agree --runs runs/gpt runs/llama
  Annotators with each other, and with a model whose scores stand in the same files:
    scholareval agree --labels ann1.json ann2.json

Which of two is better: an outcome is the first, the second, or a tie.
  strict         share of pairs with the same outcome
  half for ties  the same, with half a point where only one rater has a tie
  decided        share with the same winner among the pairs that neither ties
                 (how many in brackets)
  kappa          Cohen's kappa of the three outcomes
Below the number of pairs stand the ties of the first and the second rater.

Intervals need at least 10 units (answers, items, pairs; for numbers about
systems the questions): numbers of fewer stand alone.";

/// What a unit of agreement is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum LevelChoice {
    /// Means of systems.
    System,
    /// Whole answers.
    #[default]
    Answer,
    /// Criteria, aspects, components.
    Item,
}

impl From<LevelChoice> for AgreementLevel {
    fn from(choice: LevelChoice) -> Self {
        match choice {
            LevelChoice::System => Self::System,
            LevelChoice::Answer => Self::Answer,
            LevelChoice::Item => Self::Item,
        }
    }
}

/// Arguments of `agree`.
#[derive(Debug, Clone, Args)]
pub struct AgreeArgs {
    /// Directories of runs; each is one rater
    #[arg(long, value_name = "RUN", num_args = 1..)]
    pub runs: Vec<PathBuf>,
    /// Files of labels (CSV, JSON lines or a JSON list): scores, preferences, or pairs with both
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub labels: Vec<PathBuf>,
    /// What is compared: system, answer or item
    #[arg(long, value_enum, default_value = "answer", hide_possible_values = true, value_name = "LEVEL")]
    pub level: LevelChoice,
    /// Which number of a run, and which item of the labels: score, a component, an aspect, ann_score, SCORER.score
    /// [default: the score of the first scorer]
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// Differences of a judge's values up to X are ties [default: chosen to give it as many ties as people have]
    #[arg(long, value_name = "X", value_parser = threshold, allow_negative_numbers = true)]
    pub tie_threshold: Option<f64>,
    /// How many resamples are drawn for the intervals
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub resamples: u32,
    /// Seed of the resampling behind the intervals
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub seed: u64,
    /// Form of the result on standard output: table, json or csv [default: table]
    #[arg(long, value_name = "FORM", value_parser = OutputFormat::parse)]
    pub format: Option<OutputFormat>,
    /// No notes on standard error; errors only
    #[arg(long, short)]
    pub quiet: bool,
}

fn threshold(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.trim().parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "expected a number of 0 or more, such as 0.05".to_owned())
}
