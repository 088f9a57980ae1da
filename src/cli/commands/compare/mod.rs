//! `scholareval compare`: systems over the cases they share, and whether demands on them are met.

mod gates;
mod lacking;
mod selection;

use std::collections::BTreeSet;

use super::Context;
use crate::analysis::comparison::{Comparison, ComparisonOptions, MetricId, compare, observe};
use crate::cli::ExitCode;
use crate::cli::args::{CompareArgs, CompareFormat};
use crate::cli::comparing::{answers_of, comparable, load_runs, made_by};
use crate::cli::terminal::{self, stdout_width, write_stdout};
use crate::domain::{MAX_GRADE, MIN_GRADE, Unit};
use crate::error::{Error, Result};
use crate::evaluation::record::RecordedRun;
use crate::report::{self, ComparisonContext, TableStyle};
use gates::{Gates, Looked};
use lacking::Lacking;
use selection::Selection;

/// Whether the means that `score` showed of a run are others than those compared.
fn counts_unscored_as_zero(run: &RecordedRun) -> bool {
    let is_zero = run.manifest.policy.is_some_and(|policy| policy.unscored_as_zero);
    is_zero && run.scored.iter().any(|answer| !answer.score.is_complete())
}

/// Where intervals are not looked at.
const FEW_RESAMPLES: u32 = 2;

/// Runs the command.
///
/// # Errors
/// When a run cannot be read, runs are no equals, or a name is not among their metrics and systems.
pub(super) fn run(args: &CompareArgs, context: &Context<'_>) -> Result<ExitCode> {
    let runs = load_runs(&args.runs)?;
    let marks = comparable(&runs, args.anyway)?.all();
    if !args.quiet {
        for mark in &marks {
            terminal::note(&format!("warning: {mark}"));
        }
        for run in runs.iter().filter(|run| counts_unscored_as_zero(run)) {
            let name = &run.name;
            let text = "was made with --on-unscored zero; here what is unscored is left out of the means, and told";
            terminal::note(&format!("warning: {name} {text}"));
        }
    }
    let answers = answers_of(&runs);
    let selection = Selection::of(observe(&answers), &args.runs)?;
    let gates = Gates::resolve(args, &selection)?;
    let options = ComparisonOptions {
        level: args.level,
        alpha: args.alpha,
        resamples: args.resamples,
        flips: args.flips,
        seed: args.seed,
        baseline: args.baseline.as_deref().map(|name| selection.system(name)).transpose()?,
        wanted_difference: args.wanted_difference,
    };
    let chosen: BTreeSet<usize> = selection.metrics(&args.metric)?.into_iter().chain(gates.metrics()).collect();
    wanted_is_possible(args.wanted_difference, chosen.iter().map(|at| &selection.tables[*at].metric))?;
    let tables: Vec<_> = chosen.iter().map(|at| selection.tables[*at].clone()).collect();
    let comparison =
        Comparison { runs: runs.iter().map(|run| run.name.clone()).collect(), marks, ..compare(&tables, &options) };
    let made = ComparisonContext { made: made_by(&runs) };
    write_stdout(rendered(&comparison, &made, args.format, context)?.as_bytes())?;
    let lacking = Lacking::of(&runs);
    // An order must hold whatever the answers are that are not there; p values and verdicts are those of the comparison.
    let filled = tables.iter().map(|table| lacking.as_unscored(table).unwrap_or_else(|| table.clone()));
    let worst = gates.has_orders().then(|| {
        compare(&filled.collect::<Vec<_>>(), &ComparisonOptions { resamples: FEW_RESAMPLES, ..options.clone() })
    });
    let looked = Looked { comparison: &comparison, worst: worst.as_ref(), lacking: &lacking };
    let unmet = gates.unmet(&looked, args.tolerate_missing);
    for line in &unmet {
        terminal::note(&format!("error: not met: {line}"));
    }
    Ok(if unmet.is_empty() { ExitCode::Ok } else { ExitCode::BelowThreshold })
}

/// A difference as large as the range of a metric is between no two systems.
fn wanted_is_possible<'a>(wanted: Option<f64>, metrics: impl Iterator<Item = &'a MetricId>) -> Result<()> {
    let Some(wanted) = wanted else { return Ok(()) };
    for metric in metrics {
        let (most, hint) = match metric.unit {
            Unit::Share => (1.0, "0.02 is two points"),
            Unit::Grade => (MAX_GRADE - MIN_GRADE, "grades are from 1 to 5"),
            Unit::Count => continue,
        };
        if wanted >= most {
            let name = &metric.name;
            let what = format!("--wanted-difference {wanted}: systems differ by less than {most} in {name}; {hint}");
            return Err(Error::Usage(what));
        }
    }
    Ok(())
}

fn rendered(
    comparison: &Comparison,
    made: &ComparisonContext,
    format: CompareFormat,
    context: &Context<'_>,
) -> Result<String> {
    Ok(match format {
        CompareFormat::Table => {
            let style = TableStyle { width: stdout_width().unwrap_or(80), color: context.color, all_notes: false };
            report::render_comparison_table(comparison, made, &style)
        }
        CompareFormat::Csv => report::render_comparison_csv(comparison),
        CompareFormat::Json => report::render_comparison_json(comparison, made)?,
        CompareFormat::Markdown => report::render_comparison_markdown(comparison, made),
        CompareFormat::Latex => report::render_comparison_latex(comparison, made),
    })
}
