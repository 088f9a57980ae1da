//! `scholareval compare`: systems over the cases they share, and gates.

use std::collections::BTreeSet;

use super::CommandContext;
use crate::analysis::comparison::{
    ComparisonOptions, Gate, MOST_PAIRS, Observations, REMEDY, pair_count, unmet_gates,
};
use crate::cli::ExitCode;
use crate::cli::args::{Across, CompareArgs};
use crate::cli::terminal::{self, grouped};
use crate::error::{Error, InputFault, Result};
use crate::report::{comparison_table, comparison_text, run_warnings};
use crate::runs::RunSet;

/// Runs the command.
///
/// # Errors
/// When a run cannot be read, runs are not comparable, or a name is not among their metrics and systems.
pub(super) fn run(args: &CompareArgs, context: &CommandContext<'_>) -> Result<ExitCode> {
    let (directories, skipped) = context.runs(&args.runs)?;
    let runs = match args.across {
        Some(Across::Judges) => RunSet::open_across_judges(&directories, args.anyway)?,
        Some(Across::Runs) => RunSet::open_across_runs(&directories, args.anyway)?,
        None => RunSet::open(&directories, args.anyway)?,
    };
    let mut observations = runs.observe()?;
    if observations.metrics.is_empty() {
        let fault = InputFault::new(&args.runs[0], "no scores that can be compared")
            .hint("score some answers first");
        return Err(fault.into());
    }
    let baseline = match &args.options.baseline {
        Some(name) => Some(observations.system_named(name)?),
        None => None,
    };
    let options = ComparisonOptions {
        baseline: baseline.map(str::to_owned),
        ..args.options.clone()
    };
    // Before the metrics are selected, since a gate may be about a metric that is not shown.
    let gates = Gate::all(&args.gates, &observations, baseline)?;
    select(&mut observations, &args.metric, &gates)?;
    match args.across {
        Some(Across::Runs) => {}
        // Each run has the same systems, which are compared within it.
        Some(Across::Judges) => check_pairs(observations.systems.len() / runs.runs.len(), false)?,
        None => check_pairs(observations.systems.len(), options.baseline.is_some())?,
    }
    let comparison = match args.across {
        Some(Across::Judges) => runs.compare_judges(observations, &options)?,
        Some(Across::Runs) => runs.compare_runs(observations, &options)?,
        None => runs.compare(&observations, &options),
    };
    context.show(
        args.display.format,
        &comparison,
        &run_warnings(&comparison),
        |style| comparison_text(&comparison, args.length_adjusted, style),
        || comparison_table(&comparison, args.length_adjusted),
    )?;
    let mut unmet = unmet_gates(&gates, &comparison, args.gates.tolerate_missing);
    // Without its unfinished runs, a directory could pass by its good ones.
    if !gates.is_empty() && !args.gates.tolerate_missing {
        unmet.extend(skipped.iter().map(|line| format!("{line}; {REMEDY}")));
    }
    for line in &unmet {
        terminal::note(&format!("error: not met: {line}"));
    }
    Ok(if unmet.is_empty() {
        ExitCode::Ok
    } else {
        ExitCode::BelowThreshold
    })
}

/// Checks that the pairs of so many systems can be tested, all or those with a baseline.
///
/// # Errors
/// When there are too many; the message says how to choose.
pub(super) fn check_pairs(systems: usize, has_baseline: bool) -> Result<()> {
    let pairs = pair_count(systems, has_baseline);
    if pairs <= MOST_PAIRS {
        return Ok(());
    }
    Err(Error::Settings(format!(
        "{} systems make {} pairs, more than the {} that are tested; compare --baseline SYSTEM tests the pairs of one system, \
         scholareval table shows means without tests, or name fewer runs",
        grouped(systems as u64),
        grouped(pairs as u64),
        grouped(MOST_PAIRS as u64),
    )))
}

/// Keeps the metrics of these names (the headline metrics without names), then those of the gates, in this order.
fn select(observations: &mut Observations, names: &[String], gates: &[Gate]) -> Result<()> {
    let mut chosen = Vec::new();
    for name in names.iter().map(|name| name.trim()) {
        if !name.is_empty() {
            chosen.extend(observations.metrics_named(name)?);
        }
    }
    if chosen.is_empty() {
        chosen = observations.headline();
    }
    for gate in gates {
        let mut metrics = observations.metrics.iter();
        chosen.extend(metrics.position(|own| own.metric == *gate.metric()));
    }
    let mut seen = BTreeSet::new();
    chosen.retain(|at| seen.insert(*at));
    observations.metrics = chosen
        .into_iter()
        .map(|at| observations.metrics[at].clone())
        .collect();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_pairs_are_refused_with_what_to_choose() {
        // 100 systems make 4,950 pairs, 101 make 5,050.
        assert!(check_pairs(100, false).is_ok());
        assert!(check_pairs(5_001, true).is_ok());
        let message = check_pairs(1_500, false).unwrap_err().to_string();
        assert!(
            message.contains("1,500 systems make 1,124,250 pairs")
                && message.contains("--baseline SYSTEM")
                && message.contains("scholareval table"),
            "{message}"
        );
        assert!(check_pairs(5_002, true).is_err());
    }
}
