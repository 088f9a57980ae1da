//! `scholareval probe`: scores answers with and without changes of form, whose table replaces the scorecard.

use clap::ValueEnum as _;

use super::CommandContext;
use super::score::{evaluation, run_evaluation};
use crate::cli::ExitCode;
use crate::cli::args::ProbeArgs;
use crate::error::Result;
use crate::text::perturbation::Perturbation;

/// Runs the command.
///
/// # Errors
/// As `score`.
pub(super) fn run(args: &ProbeArgs, context: &CommandContext<'_>) -> Result<ExitCode> {
    let settings = context.settings(args)?;
    let mut chosen = Perturbation::value_variants().to_vec();
    chosen.retain(|perturbation| args.perturb.is_empty() || args.perturb.contains(perturbation));
    let evaluation = evaluation(&settings, context).perturbed(&chosen);
    run_evaluation(evaluation, &settings, context)
}
