//! `scholareval plan --power`: the size of a study, from a pilot run.

use std::path::Path;

use clap::Args as _;

use super::Context;
use crate::analysis::comparison::{ComparisonOptions, SEED, plan_power};
use crate::cli::args::{PlanArgs, ScoreArgs};
use crate::error::{Error, InputFault, Result};
use crate::report::{TableStyle, power_table, power_text};
use crate::runs::RunSet;

/// Runs the command.
///
/// # Errors
/// When an option of `score` is given, the run cannot be read or has too few systems or questions, or has no such metric.
pub(super) fn run(pilot: &Path, args: &PlanArgs, context: &Context<'_>) -> Result<()> {
    let of_score = ScoreArgs::augment_args(clap::Command::new("plan"));
    let is_given =
        |arg: &&clap::Arg| context.is_flag(arg.get_id().as_str()) && arg.get_id() != "format";
    if let Some(arg) = of_score.get_arguments().find(is_given) {
        let name = arg
            .get_long()
            .map_or("ANSWERS".to_owned(), |long| format!("--{long}"));
        let what = format!(
            "{name} cannot be used with --power, which plans from a recorded run and scores nothing"
        );
        return Err(Error::Usage(what));
    }
    let runs = RunSet::open(&context.runs(&[pilot.to_path_buf()])?.0, false)?;
    let observations = runs.observe()?;
    let metrics = match &args.metric {
        Some(name) => observations.metrics_named(name)?,
        None => observations.headline(),
    };
    let metric = metrics.first().copied().unwrap_or_default();
    let plan =
        plan_power(&observations, metric, args.difference, &ComparisonOptions::seeded(SEED)).ok_or_else(|| {
            let what = "no pilot: it takes two systems that differ by varying amounts on two or more shared questions";
            InputFault::new(pilot, what).hint("score two systems on some 20 questions first")
        })?;
    let (table, text) = (power_table(&plan), |style: &TableStyle| {
        Ok(power_text(&plan, style))
    });
    context.show(args.score.display.format, &plan, &table.notes, text, || {
        table.clone()
    })
}
