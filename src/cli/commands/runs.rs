//! `scholareval runs`: the runs in a directory.

use super::Context;
use crate::cli::args::RunsArgs;
use crate::error::Result;
use crate::report::{TableStyle, run_list};
use crate::runs::list_runs;

pub(super) fn run(args: &RunsArgs, context: &Context<'_>) -> Result<()> {
    let runs = list_runs(&args.dir)?;
    let table = run_list(&runs, false);
    let text = |style: &TableStyle| Ok(run_list(&runs, true).terminal(style));
    context.show(args.display.format, &runs, &table.notes, text, || {
        table.clone()
    })
}
