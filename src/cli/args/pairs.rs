//! Arguments of `pairs`.

use clap::Args;
use serde::Serialize;

use super::{AnswerArgs, JudgingArgs};
use crate::evaluation::PairChoice;
use crate::evaluation::options::{BoundOptions, CaseOptions};
use crate::scorer::citation::MarkerOptions;

/// The answers of several systems, and which of them are compared. It may hold secrets: it has no `Debug` on purpose.
#[derive(Clone, Args, Serialize)]
pub struct PairsArgs {
    /// Which pairs are compared.
    #[command(flatten)]
    pub pairs: PairChoice,
    /// The answers.
    #[command(flatten)]
    #[serde(flatten)]
    pub answers: AnswerArgs,
    /// Which cases.
    #[command(flatten)]
    pub cases: CaseOptions,
    /// How many are asked about.
    #[command(flatten)]
    pub bounds: BoundOptions,
    /// How predictions are read.
    #[command(flatten)]
    pub scorers: MarkerOptions,
    /// Who judges.
    #[command(flatten)]
    #[serde(flatten)]
    pub judging: JudgingArgs,
}
