//! `scholareval plan --power`: the size of a study, from a pilot run.

use std::path::Path;

use clap::Args as _;

use super::CommandContext;
use crate::analysis::comparison::{ComparisonOptions, SEED, plan_power};
use crate::cli::args::{PlanArgs, ScoreArgs};
use crate::error::{Error, Result};
use crate::report::{no_pilot, power_table, power_text};
use crate::runs::RunSet;

/// Runs the command.
///
/// # Errors
/// When an option of `score` is given, the run cannot be read or has too few systems or questions, or has no such metric.
pub(super) fn run(pilot: &Path, args: &PlanArgs, context: &CommandContext<'_>) -> Result<()> {
    refuse_options_of_score("--power", context)?;
    let runs = RunSet::open(&context.runs(&[pilot.to_path_buf()])?.0, false)?;
    let observations = runs.observe()?;
    let metrics = match &args.metric {
        Some(name) => observations.metrics_named(name)?,
        None => observations.headline(),
    };
    let metric = metrics.first().copied().unwrap_or_default();
    let options = ComparisonOptions::seeded(SEED);
    let Some(plan) = plan_power(&observations, metric, args.difference, &options) else {
        return Err(no_pilot(pilot));
    };
    let table = power_table(&plan);
    context.show(
        args.score.display.format,
        &plan,
        &table.notes,
        |style| Ok(power_text(&plan, style)),
        || table.clone(),
    )
}

/// # Errors
/// [`Error::Usage`] for an option of a run: one command has all plans, so that its help has these, too, and with `plan`, an
/// option such as `--power`, they would be ignored. `--format` has a meaning there, too.
pub(super) fn refuse_options_of_score(plan: &str, context: &CommandContext<'_>) -> Result<()> {
    let Some(option) = option_of_score(context) else {
        return Ok(());
    };
    Err(Error::Usage(format!(
        "{option} cannot be used with {plan}, which plans from recorded runs and scores nothing"
    )))
}

/// An option that only scoring has, if one is given.
fn option_of_score(context: &CommandContext<'_>) -> Option<String> {
    let of_score = ScoreArgs::augment_args(clap::Command::new("plan"));
    for arg in of_score.get_arguments() {
        let id = arg.get_id().as_str();
        if id != "format" && context.is_flag(id) {
            return Some(match arg.get_long() {
                Some(long) => format!("--{long}"),
                None => "ANSWERS".to_owned(),
            });
        }
    }
    None
}
