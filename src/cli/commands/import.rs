//! `scholareval import`: converts the reference script's results file, or logs of ScholarQA-CS2, into a run.

use super::{CommandContext, runtime};
use crate::cli::ExitCode;
use crate::cli::args::ImportArgs;
use crate::cli::outcome::report_run;
use crate::cli::summary::conclude;
use crate::domain::UnscoredKind;
use crate::error::Result;
use crate::report::{RunReport, write_items};
use crate::runs::{ImportedRun, import};

/// Warnings that are printed in full.
const WARNINGS_SHOWN: usize = 20;

/// Runs the command.
///
/// # Errors
/// Every fault of the files, and when the run cannot be written.
pub(super) fn run(args: &ImportArgs, context: &CommandContext<'_>) -> Result<ExitCode> {
    let ImportedRun { record, scored } = runtime()?.block_on(import(&args.options))?;
    let warnings = &record.manifest().warnings;
    context.warn(&warnings[..warnings.len().min(WARNINGS_SHOWN)]);
    if let Some(more) = warnings
        .len()
        .checked_sub(WARNINGS_SHOWN)
        .filter(|more| *more > 0)
    {
        context.note(&format!(
            "warning: and {more} more; the manifest of the run has them all"
        ));
    }
    let name = record.manifest().run_name(record.dir().path());
    let texts = context.csv_text();
    let report = RunReport::new(record.manifest(), &name, &scored, None, texts)?;
    write_items(record.dir(), &name, &scored, texts)?;
    report.write(record.dir())?;
    let code = conclude(
        &report,
        record.manifest(),
        args.display.format,
        &context.style(),
        nothing_helps,
    )?;
    context.note(&format!(
        "record of the run: {}",
        args.options.out.display()
    ));
    report_run(context.environment, &args.options.out);
    Ok(code)
}

/// An import asks no judge, so that no option of it, and no other model, gives other replies.
fn nothing_helps(_: UnscoredKind) -> Option<&'static str> {
    None
}
