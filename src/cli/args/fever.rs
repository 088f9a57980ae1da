//! Arguments of `fever`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::cli::settings::OutputFormat;
use crate::cli::settings::value::SettingValue;
use crate::dataset::fever::Join;

/// Commands about FEVER.
#[derive(Debug, Clone, Subcommand)]
pub enum FeverCommand {
    /// Score files of predictions; several make a leaderboard
    Score(FeverScoreArgs),
    /// Check a submission before anybody scores it
    Check {
        /// The file of predictions
        #[arg(value_name = "PREDICTIONS")]
        predictions: PathBuf,
        /// The claims, blind or not: every one is to be predicted, in their order
        #[arg(long, value_name = "FILE")]
        claims: Option<PathBuf>,
    },
}

/// Arguments of `fever score`.
#[derive(Debug, Clone, Args)]
pub struct FeverScoreArgs {
    /// Files of predictions, one a system
    #[arg(required = true, value_name = "PREDICTIONS")]
    pub predictions: Vec<PathBuf>,
    /// Gold labels and evidence, for predictions that do not bring their own
    #[arg(long, value_name = "FILE")]
    pub gold: Option<PathBuf>,
    /// How many predicted sentences count for a claim: a number, or all
    #[arg(long, value_name = "N", default_value = "5", value_parser = parse_max_evidence)]
    pub max_evidence: MaxEvidence,
    /// How predictions find their gold in FILE: by order or by id
    #[arg(long, value_name = "HOW", default_value = "order", value_parser = parse_join)]
    pub join: Join,
    /// CSV of file,user,team for the leaderboard
    #[arg(long, value_name = "FILE")]
    pub teams: Option<PathBuf>,
    /// Show the shared task's published leaderboard of 2018 in the same table
    #[arg(long)]
    pub beside_published: bool,
    /// Count as the reference script does, faults included
    #[arg(long)]
    pub compat: bool,
    /// Form of the result: table, json or csv [default: table]
    #[arg(long, value_name = "FORM", value_parser = OutputFormat::parse)]
    pub format: Option<OutputFormat>,
    /// Show instead why the prediction with this id scored as it did
    #[arg(long, value_name = "ID", conflicts_with = "beside_published")]
    pub explain: Option<String>,
    /// No notes; errors only
    #[arg(long, short)]
    pub quiet: bool,
}

/// How many predicted sentences count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxEvidence(pub Option<usize>);

fn parse_max_evidence(text: &str) -> Result<MaxEvidence, String> {
    match text {
        "all" => Ok(MaxEvidence(None)),
        _ => text.parse().map(|most| MaxEvidence(Some(most))).map_err(|_| "expected a number or all".to_owned()),
    }
}

fn parse_join(text: &str) -> Result<Join, String> {
    match text {
        "order" => Ok(Join::Order),
        "id" => Ok(Join::Id),
        _ => Err("expected order or id".to_owned()),
    }
}
