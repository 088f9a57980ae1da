//! `scholareval plan --anchors`: how exact means on the scale of an old judge are.

use std::path::PathBuf;
use std::slice;

use super::CommandContext;
use super::power::refuse_options_of_score;
use crate::analysis::comparison::{ComparisonOptions, SEED, plan_anchors};
use crate::cli::args::PlanArgs;
use crate::error::{Error, InputFault, Result};
use crate::report::{anchor_plan_table, anchor_plan_text};
use crate::runs::RunSet;

/// Runs the command.
///
/// # Errors
/// When an option of `score` is given, a run cannot be read, the runs hold other answers, or no system has two answers that both
/// judges scored.
pub(super) fn run(runs: &[PathBuf], args: &PlanArgs, context: &CommandContext<'_>) -> Result<()> {
    refuse_options_of_score("--anchors", context)?;
    let [new, old] = runs else {
        let message = "--anchors takes two runs: one by the new judge, and one by the old judge";
        return Err(Error::Usage(message.to_owned()));
    };
    let set = RunSet::open_on_old_scale(slice::from_ref(new), slice::from_ref(old), false)?;
    let observations = set.observe_each()?;
    let [by_new, by_old] = &observations[..] else {
        return Ok(());
    };
    let metrics = match &args.metric {
        Some(name) => by_new.metrics_named(name)?,
        None => by_new.headline(),
    };
    let options = ComparisonOptions::seeded(SEED);
    let table = metrics.first().map(|at| &by_new.metrics[*at]);
    let Some(plan) = table.and_then(|table| plan_anchors(by_new, table, by_old, &options)) else {
        let what = "no system has two answers that both judges scored";
        let hint = "let the old judge score some ten of them first: score NEW --selected FILE";
        return Err(InputFault::new(old, what).refuse(hint));
    };
    let table = anchor_plan_table(&plan);
    context.show(
        args.score.display.format,
        &plan,
        &table.notes,
        |style| Ok(anchor_plan_text(&plan, style)),
        || table.clone(),
    )
}
