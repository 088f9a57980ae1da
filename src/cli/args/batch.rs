//! Arguments of `batch`.

use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::ScoreArgs;
use crate::judge::options::{header, name_and_text};

/// Commands about batches.
#[derive(Clone, Subcommand)]
pub enum BatchCommand {
    /// Write the calls that score would make now as request files (takes the same options as score)
    #[command(after_long_help = include_str!("examples/batch_export.txt"))]
    Export(Box<BatchExportArgs>),
    /// Import results into the cache
    #[command(after_long_help = include_str!("examples/batch_import.txt"))]
    Import(BatchImportArgs),
    /// Submit the request files to the batch services of OpenAI, Anthropic or Google, at half of the price
    #[command(after_long_help = include_str!("examples/batch_submit.txt"))]
    Submit(BatchServiceArgs),
    /// Show the progress of the service, and download finished results
    #[command(after_long_help = include_str!("examples/batch_fetch.txt"))]
    Fetch(BatchServiceArgs),
    /// Cancel batches that are not over; what is answered already is paid and can be fetched
    #[command(after_long_help = include_str!("examples/batch_cancel.txt"))]
    Cancel(BatchServiceArgs),
}

/// Arguments of `batch export`. They may hold secrets: no `Debug` on purpose.
#[derive(Clone, Args)]
pub struct BatchExportArgs {
    /// Maximum requests per file [default: what its service takes, such as 50000 at OpenAI]
    #[arg(long, value_name = "N")]
    pub max_requests: Option<NonZeroU64>,
    /// Maximum bytes per file [default: what its service takes, such as 200000000 at OpenAI]
    #[arg(long, value_name = "N")]
    pub max_bytes: Option<NonZeroU64>,
    /// What is scored, and by whom; --out is the batch's directory.
    #[command(flatten)]
    pub score: ScoreArgs,
}

/// Arguments of `batch import`.
#[derive(Debug, Clone, Args)]
pub struct BatchImportArgs {
    /// Directory that batch export wrote
    pub dir: PathBuf,
    /// Files of its results [default: those that were fetched]
    #[arg(value_name = "RESULTS")]
    pub files: Vec<PathBuf>,
    /// The reply cache [default: that of the export]
    #[arg(long, value_name = "FILE")]
    pub cache: Option<PathBuf>,
}

/// Arguments of `batch submit`, `batch fetch` and `batch cancel`. They may hold secrets: no `Debug` on purpose.
#[derive(Clone, Args)]
pub struct BatchServiceArgs {
    /// Directory that batch export wrote
    pub dir: PathBuf,
    /// Address of the service [default: that of the judge of each file]
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// Environment variable that holds the API key [default: that of the service, such as OPENAI_API_KEY]
    #[arg(long, value_name = "NAME")]
    pub api_key_env: Option<String>,
    /// Header added to every request; may be repeated
    #[arg(long = "header", value_name = "K:V", value_parser = header)]
    pub headers: Vec<(String, String)>,
    /// Header whose value is that of an environment variable, for secrets; may be repeated
    #[arg(long, value_name = "K=VARIABLE", value_parser = name_and_text)]
    pub header_env: Vec<(String, String)>,
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_batch_command_has_examples() {
        use clap::CommandFactory as _;
        let mut program = crate::cli::args::Cli::command();
        let batch = program.find_subcommand_mut("batch").expect("batch");
        for command in batch.get_subcommands_mut() {
            let help = command.render_long_help().to_string();
            let name = command.get_name();
            assert!(
                help.contains(&format!("scholareval batch {name} ")),
                "{help}"
            );
        }
    }
}
