//! `scholareval runs`: the runs in a directory.

use super::CommandContext;
use crate::cli::args::RunsArgs;
use crate::error::Result;
use crate::report::run_list;
use crate::runs::list_runs;

/// Runs the command.
///
/// # Errors
/// When the directory cannot be read.
pub(super) fn run(args: &RunsArgs, context: &CommandContext<'_>) -> Result<()> {
    let runs = list_runs(&args.dir)?;
    let table = run_list(&runs, false);
    context.show(
        args.display.format,
        &runs,
        &table.notes,
        |style| Ok(run_list(&runs, true).terminal(style)),
        || table.clone(),
    )
}
