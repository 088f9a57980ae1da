//! Arguments of `probe`.

use clap::Args;
use serde::Serialize;

use super::{AnswerArgs, JudgingArgs};
use crate::evaluation::options::{CaseOptions, ScorerOptions};
use crate::text::perturbation::Perturbation;

/// How `probe` is used, at the end of its help.
pub(super) const EXAMPLES: &str = "\
Examples:
  What 20 questions cost, then the probe (the same command continues where it stopped):
    scholareval probe answers.jsonl --tests tests.json --model NAME -n 20 --out runs/probe --dry-run
    scholareval probe answers.jsonl --tests tests.json --model NAME -n 20 --out runs/probe
  Filler and a planted verdict only:
    scholareval probe answers.jsonl --tests tests.json --model NAME --perturb padded,injected
  One system after another, from the record:
    scholareval compare runs/probe --baseline answers --metric all";

/// Perturbations, and the answers. It may hold secrets: it has no `Debug` on purpose.
#[derive(Clone, Args, Serialize)]
pub struct ProbeArgs {
    /// Only these perturbations [default: all]
    #[arg(
        long,
        value_name = "A,B",
        value_enum,
        value_delimiter = ',',
        help_heading = "Input"
    )]
    #[serde(skip)]
    pub perturb: Vec<Perturbation>,
    /// The answers.
    #[command(flatten)]
    #[serde(flatten)]
    pub answers: AnswerArgs,
    /// Which cases.
    #[command(flatten)]
    pub cases: CaseOptions,
    /// Which scorers.
    #[command(flatten)]
    pub scorers: ScorerOptions,
    /// Who judges.
    #[command(flatten)]
    #[serde(flatten)]
    pub judging: JudgingArgs,
}
