//! Arguments of `scifact`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::cli::settings::value::SettingValue;
use crate::cli::settings::{DEFAULT_SEED, OutputFormat};
use crate::domain::Mode;
use crate::scorer::scifact::SentenceCap;

/// Commands about SciFact. None of them needs a judge.
#[derive(Debug, Clone, Subcommand)]
pub enum ScifactCommand {
    /// Score submissions by abstract and by sentence; several files give a leaderboard
    Score(ScifactScoreArgs),
    /// Score retrieved abstracts ({claim_id, doc_ids}): hit one, hit all
    Retrieval(FilesArgs),
    /// Score selected rationale sentences ({claim_id, evidence}): precision, recall, F1
    Rationales(FilesArgs),
    /// Score predicted labels ({claim_id, labels}): accuracy, macro F1, confusion matrix
    Labels(LabelsArgs),
    /// Join a rationale file and a label file into a submission
    Merge(MergeArgs),
    /// Write the submission that scores 1
    Oracle(OracleArgs),
    /// Check a submission before it is sent; a blind claims file will do
    Check(CheckArgs),
}

/// How results are made and shown.
#[derive(Debug, Clone, Default, Args)]
pub struct OutArgs {
    /// Count as the reference scripts do, faults included
    #[arg(long)]
    pub compat: bool,
    /// Form of the result: table, json or csv [default: table]
    #[arg(long, value_name = "FORM", value_parser = OutputFormat::parse)]
    pub format: Option<OutputFormat>,
    /// Seed of the resampling behind the intervals
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub seed: u64,
}

impl OutArgs {
    /// The mode that was asked for.
    pub fn mode(&self) -> Mode {
        if self.compat { Mode::Compat } else { Mode::Default }
    }
}

/// How many predicted sentences of an abstract count towards rationalized.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Cap {
    /// The first 3.
    #[default]
    #[value(name = "3")]
    Three,
    /// The first max(3, length of the shortest rationale).
    ShortestRationale,
}

impl From<Cap> for SentenceCap {
    fn from(cap: Cap) -> Self {
        match cap {
            Cap::Three => Self::Three,
            Cap::ShortestRationale => Self::ShortestRationale,
        }
    }
}

/// Arguments of `scifact score`.
#[derive(Debug, Clone, Args)]
pub struct ScifactScoreArgs {
    /// Claims with their evidence
    #[arg(long, value_name = "FILE")]
    pub gold: PathBuf,
    /// Abstracts; then ids and sentence positions are checked
    #[arg(long, value_name = "FILE")]
    pub corpus: Option<PathBuf>,
    /// Submissions, one a system
    #[arg(required = true, value_name = "PREDICTIONS")]
    pub predictions: Vec<PathBuf>,
    /// Sentences that count towards rationalized: 3 as in the paper, or shortest-rationale as on the leaderboard
    #[arg(long, value_name = "CAP", value_enum, default_value_t, hide_possible_values = true)]
    pub sentence_cap: Cap,
    /// Show for this claim why it scored as it did
    #[arg(long, value_name = "ID")]
    pub explain: Option<String>,
    /// How results are made and shown.
    #[command(flatten)]
    pub out: OutArgs,
}

/// Arguments of `scifact retrieval` and `scifact rationales`.
#[derive(Debug, Clone, Args)]
pub struct FilesArgs {
    /// Claims with their evidence
    #[arg(long, value_name = "FILE")]
    pub gold: PathBuf,
    /// Outputs of the module, one a system
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// How results are made and shown.
    #[command(flatten)]
    pub out: OutArgs,
}

/// Which abstracts of the corpus count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Structure {
    /// Those with headed sections.
    Structured,
    /// Those without.
    Unstructured,
}

/// Arguments of `scifact labels`.
#[derive(Debug, Clone, Args)]
pub struct LabelsArgs {
    /// Gold and files.
    #[command(flatten)]
    pub files: FilesArgs,
    /// Count only these abstracts: structured or unstructured
    #[arg(long, value_name = "WHICH", value_enum, requires = "corpus", hide_possible_values = true)]
    pub filter: Option<Structure>,
    /// Abstracts; says which are structured
    #[arg(long, value_name = "FILE")]
    pub corpus: Option<PathBuf>,
}

/// Arguments of `scifact merge`.
#[derive(Debug, Clone, Args)]
pub struct MergeArgs {
    /// Selected sentences, {claim_id, evidence} a line
    #[arg(long, value_name = "FILE")]
    pub rationales: PathBuf,
    /// Predicted labels, {claim_id, labels} a line
    #[arg(long, value_name = "FILE")]
    pub labels: PathBuf,
    /// Submission to be written; - is standard output
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

/// Arguments of `scifact oracle`.
#[derive(Debug, Clone, Args)]
pub struct OracleArgs {
    /// Claims with their evidence
    #[arg(long, value_name = "FILE")]
    pub gold: PathBuf,
    /// Submission to be written; - is standard output
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

/// Arguments of `scifact check`.
#[derive(Debug, Clone, Args)]
pub struct CheckArgs {
    /// The submission
    #[arg(value_name = "PREDICTIONS")]
    pub predictions: PathBuf,
    /// Claims it is for, with or without evidence
    #[arg(long, value_name = "FILE")]
    pub claims: Option<PathBuf>,
    /// Abstracts; then ids and sentence positions are checked
    #[arg(long, value_name = "FILE")]
    pub corpus: Option<PathBuf>,
}
