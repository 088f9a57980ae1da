//! `scholareval rescore`: scores and tables again, from the raw replies of a recorded run.

use super::{CommandContext, runtime};
use crate::cli::ExitCode;
use crate::cli::args::RescoreArgs;
use crate::cli::summary::conclude;
use crate::domain::UnscoredKind;
use crate::error::Result;
use crate::record::RunStatus;
use crate::record::remedy;
use crate::report::{RunReport, write_items};
use crate::runs::{RescoredRun, rescore};

/// Runs the command.
///
/// # Errors
/// When the directory does not contain a run that can be rescored, or files cannot be written.
pub(super) fn run(args: &RescoreArgs, context: &CommandContext<'_>) -> Result<ExitCode> {
    let RescoredRun {
        manifest,
        scored,
        dir,
    } = runtime()?.block_on(rescore(&args.run, &args.options))?;
    let name = manifest.run_name(dir.as_ref().map_or(&args.run, |dir| dir.path()));
    let texts = context.csv_text();
    let report = RunReport::new(&manifest, &name, &scored, None, texts)?;
    if let Some(dir) = &dir {
        write_items(dir, &name, &scored, texts)?;
        report.write(dir)?;
    }
    if manifest.status != RunStatus::Complete {
        context.warn(&["the run did not finish; what is missing is unscored here (run score again to finish it)"]);
    }
    if dir.is_none() {
        context.note("note: scores of another mode; add --out DIR to write them to files");
    }
    conclude(
        &report,
        &manifest,
        args.display.format,
        &context.style(),
        remedy_of_score,
    )
}

/// What helps against unscored answers of a rescored run: `rescore` asks no judge, so that only `score` gets other replies.
fn remedy_of_score(kind: UnscoredKind) -> Option<&'static str> {
    match kind {
        UnscoredKind::NeedsOtherCalls => remedy(kind),
        UnscoredKind::Abstained
        | UnscoredKind::NoAnswer
        | UnscoredKind::DependsOnUnscored
        | UnscoredKind::Exception => None,
        _ => Some(
            "rescore asks no judge; for other replies run the score command of this run again, with --retry-unscored",
        ),
    }
}
