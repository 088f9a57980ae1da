//! `scholareval batch export|import|submit|status|fetch`.

mod export;
mod import;
mod service;

use super::{Context, told};
use crate::cli::ExitCode;
use crate::cli::args::BatchCommand;
use crate::cli::settings::Settings;
use crate::error::Result;

/// Runs the command.
///
/// # Errors
/// Whatever stopped it; what is done already is not done again by the same command.
pub(super) fn run(command: BatchCommand, context: &Context<'_>) -> Result<ExitCode> {
    match command {
        BatchCommand::Export(args) => {
            let settings = told(Settings::load(&args.score, context.environment)?);
            export::run(&args, &settings)
        }
        BatchCommand::Import(args) => import::run(&args, context),
        BatchCommand::Submit(args) => service::submit(&args, context),
        BatchCommand::Status(args) => service::status(&args, context),
        BatchCommand::Fetch(args) => service::fetch(&args, context),
    }
}
