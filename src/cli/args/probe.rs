//! Arguments of `probe`.

use clap::Args;
use serde::Serialize;

use super::{AnswerArgs, JudgingArgs};
use crate::evaluation::options::{CaseOptions, ScorerOptions};
use crate::text::perturbation::Perturbation;

/// Perturbations, and the answers. It may hold secrets: it has no `Debug` on purpose.
#[derive(Clone, Args, Serialize)]
pub struct ProbeArgs {
    /// Only these perturbations [default: all]
    #[arg(long, value_name = "A,B", value_enum, value_delimiter = ',')]
    #[arg(help_heading = "Input")]
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
