//! `scholareval runs`: the runs in a directory.

use super::Context;
use crate::cli::ExitCode;
use crate::cli::args::{OutputFormat, RunsArgs};
use crate::cli::terminal::write_stdout;
use crate::error::Result;
use crate::evaluation::list_runs;
use crate::report::{render_json, run_list};

pub(super) fn run(args: &RunsArgs, context: &Context<'_>) -> Result<ExitCode> {
    let runs = list_runs(&args.dir)?;
    let text = match args.display.format {
        OutputFormat::Table => run_list(&runs, true).terminal(&context.style()),
        OutputFormat::Json => render_json(&runs)?,
        OutputFormat::Csv => run_list(&runs, false).csv(context.global.csv_text())?,
    };
    write_stdout(text.as_bytes())?;
    if args.display.format != OutputFormat::Table {
        context.warn(&runs.iter().filter_map(|run| run.problem.as_ref()).collect::<Vec<_>>());
    }
    Ok(ExitCode::Ok)
}
