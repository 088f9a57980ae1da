//! `scholareval plan --verdicts`: how exact means are that a few dear verdicts correct.

use std::path::Path;

use super::CommandContext;
use super::power::refuse_options_of_score;
use crate::cli::args::PlanArgs;
use crate::error::{InputFault, Result};
use crate::report::{verdict_plan_table, verdict_plan_text};
use crate::runs::{RunSet, VerdictFrame};

/// Runs the command.
///
/// # Errors
/// When an option of `score` is given, the run cannot be read, its scores cannot be corrected, or no system has two answers.
pub(super) fn run(run: &Path, args: &PlanArgs, context: &CommandContext<'_>) -> Result<()> {
    refuse_options_of_score("--verdicts", context)?;
    let runs = RunSet::open(&context.runs(&[run.to_path_buf()])?.0, false)?;
    let frame = VerdictFrame::of_one(&runs)?;
    let Some(plan) = frame.plan(args.half_width) else {
        let fault = InputFault::new(run, "no system has two answers with all verdicts");
        return Err(fault.refuse("score more answers first"));
    };
    if let (Some(wanted), None) = (args.half_width, &plan.fewest) {
        context.note(&format!(
            "even all verdicts by the dear judge do not reach ±{wanted}: score more answers"
        ));
    }
    let table = verdict_plan_table(&plan);
    context.show(
        args.score.display.format,
        &plan,
        &table.notes,
        |style| Ok(verdict_plan_text(&plan, style)),
        || table.clone(),
    )
}
