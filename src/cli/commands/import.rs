//! `scholareval import`: converts the reference script's results file into a run.

use super::Context;
use crate::cli::ExitCode;
use crate::cli::args::ImportArgs;
use crate::cli::summary::conclude;
use crate::error::Result;
use crate::evaluation::{ImportedRun, import};
use crate::report::{RunReport, write_items};

/// Warnings that are printed in full.
const WARNINGS_SHOWN: usize = 20;

const MODE_UNKNOWN: &str =
    "mode unknown, taken as compat (the reference script's); --mode default for files of scholareval's default mode";

/// Runs the command.
///
/// # Errors
/// Every fault of the files, and when the run cannot be written.
pub(super) fn run(args: &ImportArgs, context: &Context<'_>) -> Result<ExitCode> {
    let ImportedRun { record, scored, is_mode_guessed } = import(&args.options)?;
    let warnings = &record.manifest().warnings;
    context.warn(&warnings[..warnings.len().min(WARNINGS_SHOWN)]);
    if let Some(more) = warnings.len().checked_sub(WARNINGS_SHOWN).filter(|more| *more > 0) {
        context.note(&format!("warning: and {more} more; the manifest of the run has them all"));
    }
    let name = record.manifest().run_name(record.dir().path());
    let remarks: &[&str] = if is_mode_guessed { &[MODE_UNKNOWN] } else { &[] };
    let texts = context.global.csv_text();
    let report = RunReport::new(record.manifest(), &name, &scored, None, remarks, texts)?;
    write_items(record.dir(), &name, &scored, texts)?;
    report.write(record.dir())?;
    let code = conclude(&report, record.manifest(), args.display.format, &context.style())?;
    if is_mode_guessed {
        context.note(&format!("note: {MODE_UNKNOWN}"));
    }
    context.note(&format!("record of the run: {}", args.options.out.display()));
    Ok(code)
}
