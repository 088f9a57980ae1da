//! `scholareval export parquet`: scores and calls as tables.

use crate::cli::ExitCode;
use crate::cli::args::ParquetArgs;
use crate::error::Result;

/// Runs the command.
///
/// # Errors
/// That this program cannot do it.
#[cfg(not(feature = "parquet"))]
pub(super) fn run(_args: &ParquetArgs) -> Result<ExitCode> {
    let what = "export parquet: this program was built without it; build it with `cargo install --path .` (the cargo feature `parquet`)";
    Err(crate::error::Error::Settings(what.to_owned()))
}

/// Runs the command.
///
/// # Errors
/// When the directory is no run, or a file cannot be written.
#[cfg(feature = "parquet")]
pub(super) fn run(args: &ParquetArgs) -> Result<ExitCode> {
    tables::run(args)
}

#[cfg(feature = "parquet")]
mod tables;
