//! Arguments of `overlap`.

use clap::Args;
use serde::Serialize;

use super::AnswerArgs;
use crate::evaluation::options::{CaseOptions, GoldOptions};
use crate::scorer::overlap::OverlapOptions;

/// Answers, and what they are compared with.
#[derive(Clone, Args, Serialize)]
pub struct OverlapArgs {
    /// The answers.
    #[command(flatten)]
    #[serde(flatten)]
    pub answers: AnswerArgs,
    /// Which cases.
    #[command(flatten)]
    pub cases: CaseOptions,
    /// What they are compared with.
    #[command(flatten)]
    pub scorers: OverlapScorers,
}

/// What answers are compared with, and how.
#[derive(Debug, Clone, Args, Serialize)]
pub struct OverlapScorers {
    /// Gold answers.
    #[command(flatten)]
    #[serde(flatten)]
    pub gold: GoldOptions,
    /// How they are compared.
    #[command(flatten)]
    #[serde(flatten)]
    pub overlap: OverlapOptions,
}
