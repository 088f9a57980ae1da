//! `scholareval plan`: what a run would ask and cost, as `score --dry-run` shows it; or the size of a study, or anchors.

use super::{CommandContext, anchors, power, score, verdicts};
use crate::cli::ExitCode;
use crate::cli::args::PlanArgs;
use crate::error::Result;

/// Runs the command: the plan of a run, of a study, or of anchors.
///
/// # Errors
/// As `score`; for options that the plan does not use.
pub(super) fn run(mut args: PlanArgs, context: &CommandContext<'_>) -> Result<ExitCode> {
    if let Some(pilot) = &args.power {
        power::run(pilot, &args, context)?;
    } else if !args.anchors.is_empty() {
        anchors::run(&args.anchors, &args, context)?;
    } else if let Some(run) = &args.verdicts {
        verdicts::run(run, &args, context)?;
    } else {
        args.score.dry_run = true;
        return score::run(&context.settings(&args.score)?, context);
    }
    Ok(ExitCode::Ok)
}
