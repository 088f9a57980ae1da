//! Arguments of `scifact` and `fever`.

use std::path::PathBuf;

use clap::Subcommand;

use super::DisplayOptions;
use crate::facts::{FeverOptions, ScifactFiles, ScifactLabels, ScifactOptions};

/// Commands about SciFact. None of them needs a judge.
#[derive(Debug, Clone, Subcommand)]
pub enum ScifactCommand {
    /// Score submissions by abstract and by sentence; several files give a leaderboard
    Score {
        /// What is scored and how.
        #[command(flatten)]
        options: ScifactOptions,
        /// Show for this claim why it scored as it did
        #[arg(long, value_name = "ID")]
        explain: Option<String>,
        /// How it is shown.
        #[command(flatten)]
        display: DisplayOptions,
    },
    /// Score retrieved abstracts ({claim_id, doc_ids}): hit one, hit all
    Retrieval {
        /// What is scored.
        #[command(flatten)]
        files: ScifactFiles,
        /// How it is shown.
        #[command(flatten)]
        display: DisplayOptions,
    },
    /// Score selected rationale sentences ({claim_id, evidence}): precision, recall, F1
    Rationales {
        /// What is scored.
        #[command(flatten)]
        files: ScifactFiles,
        /// How it is shown.
        #[command(flatten)]
        display: DisplayOptions,
    },
    /// Score predicted labels ({claim_id, labels}): accuracy, macro F1
    Labels {
        /// What is scored and how.
        #[command(flatten)]
        options: ScifactLabels,
        /// How it is shown.
        #[command(flatten)]
        display: DisplayOptions,
    },
    /// Check a submission before it is sent (a blind claims file is enough)
    Check {
        /// The submission
        #[arg(value_name = "PREDICTIONS")]
        predictions: PathBuf,
        /// Claims it is for, with or without evidence
        #[arg(long, value_name = "FILE")]
        claims: Option<PathBuf>,
        /// Abstracts, to check ids and sentence positions
        #[arg(long, value_name = "FILE")]
        corpus: Option<PathBuf>,
    },
}

/// Commands about FEVER.
#[derive(Debug, Clone, Subcommand)]
pub enum FeverCommand {
    /// Score files of predictions; several make a leaderboard
    Score {
        /// What is scored and how.
        #[command(flatten)]
        options: FeverOptions,
        /// Show instead why the prediction with this id scored as it did
        #[arg(long, value_name = "ID")]
        explain: Option<String>,
        /// How it is shown.
        #[command(flatten)]
        display: DisplayOptions,
    },
    /// Check a submission before it is sent
    Check {
        /// The file of predictions
        #[arg(value_name = "PREDICTIONS")]
        predictions: PathBuf,
        /// The claims, blind or not: each needs a prediction, in this order
        #[arg(long, value_name = "FILE")]
        claims: Option<PathBuf>,
    },
}
