//! `scholareval compare`: systems over the cases they share, and gates.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::CommandContext;
use super::gates::{LeftOutRuns, finish, read_each};
use crate::analysis::comparison::{
    Comparison, ComparisonOptions, Gate, GateOutcome, GateResult, MOST_PAIRS, Observations, REMEDY,
    RunFactor, drift_gates, gate_results, pair_count,
};
use crate::cli::ExitCode;
use crate::cli::args::{Across, CompareArgs};
use crate::cli::terminal::grouped;
use crate::error::{Error, InputFault, Result};
use crate::report::{comparison_table, comparison_text, run_warnings};
use crate::runs::{DearVerdicts, RunSet};

/// Runs the command.
///
/// # Errors
/// When a run cannot be read, runs are not comparable, or a name is not among their metrics and systems.
pub(super) fn run(args: &CompareArgs, context: &CommandContext<'_>) -> Result<ExitCode> {
    let compared = compare(args, context);
    if let Err(error) = &compared {
        args.output
            .write_error(&args.runs, &args.gates.require, error)?;
    }
    compared?
}

/// Compares and checks the gates. The inner error is that of a condition that cannot be read; the file of `--junit` has the others.
fn compare(args: &CompareArgs, context: &CommandContext<'_>) -> Result<Result<ExitCode>> {
    let (directories, skipped) = context.runs(&args.runs)?;
    if let Some(old) = &args.corrected_by {
        return on_old_scale(&directories, old, args, context).map(Ok);
    }
    let runs = open(&directories, args)?;
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
    let read = read_each(&args.gates.require, &args.output, |condition| {
        Gate::all(condition, &observations, baseline)
    })?;
    let gates = &read.gates;
    select(&mut observations, &args.metric, gates, context)?;
    match args.across {
        Some(Across::Runs) => {}
        // Each run has the same systems, which are compared within it.
        Some(Across::Judges | Across::Prompts) => {
            check_pairs(observations.systems.len() / runs.runs.len(), false)?;
        }
        None => check_pairs(observations.systems.len(), options.baseline.is_some())?,
    }
    let tolerates = args.gates.tolerate_missing;
    let comparison = match args.across {
        Some(Across::Judges | Across::Prompts) => {
            across_judges(&runs, observations, args, &options)?
        }
        Some(Across::Runs) => runs.compare_runs(observations, &options)?,
        None => {
            let mut comparison = runs.compare(&observations, &options);
            comparison.gates = gate_results(gates, &comparison, &observations, tolerates);
            comparison
        }
    };
    context.show(
        args.display.format,
        &comparison,
        &run_warnings(&comparison),
        |style| comparison_text(&comparison, args.length_adjusted, style),
        || comparison_table(&comparison, args.length_adjusted),
    )?;
    let passes = comparison.gates.is_empty() || tolerates;
    let left_out = LeftOutRuns {
        lines: if passes { &[] } else { &skipped },
        remedy: REMEDY,
    };
    warn_without_margin(&comparison.gates, context);
    let gates = &comparison.gates;
    finish(&args.output, &args.runs, gates, read, &left_out)
}

/// What changes between the judges of these runs, and what they give systems of their families.
fn across_judges(
    runs: &RunSet,
    observations: Observations,
    args: &CompareArgs,
    options: &ComparisonOptions,
) -> Result<Comparison> {
    let preferences = runs.self_preferences(&observations, &args.families, options)?;
    let mut comparison = runs.compare_judges(observations, options)?;
    comparison.self_preference = preferences;
    if let Some(margin) = args.gates.margin {
        comparison.gates = drift_gates(&comparison.judge_changes, margin, options.level)?;
    }
    Ok(comparison)
}

/// The runs, which must agree in what is compared.
fn open(directories: &[PathBuf], args: &CompareArgs) -> Result<RunSet> {
    if !args.families.is_empty() && args.across != Some(Across::Judges) {
        let message =
            "--family is about judges that favor systems of their family: give --across judges";
        return Err(Error::Usage(message.to_owned()));
    }
    if args.gates.margin.is_some() && matches!(args.across, None | Some(Across::Runs)) {
        let message = "--margin is about the shift between judges or prompts: give --across judges or --across prompts";
        return Err(Error::Usage(message.to_owned()));
    }
    match args.across {
        Some(Across::Judges) => RunSet::open_across(directories, RunFactor::Judges, args.anyway),
        Some(Across::Prompts) => RunSet::open_across(directories, RunFactor::Prompts, args.anyway),
        Some(Across::Runs) => RunSet::open_across_runs(directories, args.anyway),
        None => RunSet::open(directories, args.anyway),
    }
}

/// Shows the means of runs on the scale of the judge of `old`, a run or a directory of runs.
fn on_old_scale(
    directories: &[PathBuf],
    old: &Path,
    args: &CompareArgs,
    context: &CommandContext<'_>,
) -> Result<ExitCode> {
    let cheap = RunSet::open(directories, args.anyway)?;
    if let Some(dear) = DearVerdicts::load(old, &cheap)? {
        if directories.len() > 1 {
            return Err(Error::Usage(format!(
                "drawn verdicts correct one run, but {} are named: compare NEW --corrected-by OLD",
                directories.len()
            )));
        }
        if !args.without.is_empty() {
            let message = "--without is about systems that both judges scored, and the dear judge gave single verdicts";
            return Err(Error::Usage(message.to_owned()));
        }
        if !args.metric.is_empty() {
            let message =
                "--metric: drawn verdicts correct the score and nothing else; leave it out";
            return Err(Error::Usage(message.to_owned()));
        }
        show(
            &cheap.corrected_by(&dear, old, &args.options)?,
            args,
            context,
        )?;
        return Ok(ExitCode::Ok);
    }
    let (by_old, _) = context.runs(&[old.to_path_buf()])?;
    let runs = RunSet::open_on_old_scale(directories, &by_old, args.anyway)?;
    let mut observations = runs.observe_each()?;
    let (Some(by_old), Some(mut by_new)) = (observations.pop(), observations.pop()) else {
        return Ok(ExitCode::Ok);
    };
    select(&mut by_new, &args.metric, &[], context)?;
    let comparison = runs.on_old_scale([by_new, by_old], &args.without, &args.options)?;
    show(&comparison, args, context)?;
    Ok(ExitCode::Ok)
}

/// Shows a comparison without gates.
fn show(comparison: &Comparison, args: &CompareArgs, context: &CommandContext<'_>) -> Result<()> {
    context.show(
        args.display.format,
        comparison,
        &run_warnings(comparison),
        |style| comparison_text(comparison, false, style),
        || comparison_table(comparison, false),
    )
}

/// Recommends a margin where a gate without one is met.
fn warn_without_margin(gates: &[GateResult], context: &CommandContext<'_>) {
    let mut without_margin = gates.iter().filter(|gate| gate.is_not_worse);
    if let Some(gate) = without_margin.find(|gate| gate.outcome == GateOutcome::Met) {
        let condition = &gate.condition;
        context.note(&format!(
            "note: {condition} is met by any system that is not significantly worse; a margin, such as \"{condition}-0.02\", limits how \
             much worse it may be"
        ));
    }
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
fn select(
    observations: &mut Observations,
    names: &[String],
    gates: &[Gate],
    context: &CommandContext<'_>,
) -> Result<()> {
    let mut chosen = Vec::new();
    for name in names.iter().map(|name| name.trim()) {
        if let Some(at) = observations.tested_for(name) {
            let tested = &observations.metrics[at].metric.name;
            context.note(&format!(
                "note: {name} is one number of all answers of a system and has no test; tested: {tested}, the mean over answers"
            ));
            chosen.push(at);
        } else if !name.is_empty() {
            chosen.extend(observations.metrics_named(name)?);
        }
    }
    if chosen.is_empty() {
        chosen = observations.headline();
    }
    for gate in gates {
        let mut metrics = observations.metrics.iter();
        chosen.extend(metrics.position(|metric| metric.metric == *gate.metric()));
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
