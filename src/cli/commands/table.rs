//! `scholareval table`: systems by metrics, for a paper.

use super::Context;
use super::compare::check_pairs;
use crate::analysis::comparison::{Comparison, ComparisonOptions, SEED, compare_named};
use crate::cli::args::{TableArgs, TableFormat};
use crate::cli::terminal::write_stdout;
use crate::error::{InputFault, Result};
use crate::evaluation::RunSet;
use crate::report::paper_table;

/// Runs the command.
///
/// # Errors
/// When a run cannot be read, runs are not comparable, or a name is unknown.
pub(super) fn run(args: &TableArgs, context: &Context<'_>) -> Result<()> {
    let mut runs = RunSet::open(&context.runs(&args.runs)?.0, true)?;
    let observations = runs.observe()?;
    if observations.metrics.is_empty() {
        let fault =
            InputFault::new(&args.runs[0], "no scores to show").hint("score some answers first");
        return Err(fault.into());
    }
    if args.options.letters {
        check_pairs(observations.systems.len(), false)?;
    }
    let options = ComparisonOptions {
        means_only: !args.options.letters,
        ..ComparisonOptions::seeded(SEED)
    };
    let metrics = compare_named(&observations, &args.options.metric_names(), &options)?;
    runs.check_metrics(&metrics, &observations.systems, args.options.anyway)?;
    let comparison = Comparison {
        metrics,
        ..runs.compare(&observations.without_metrics(), &options)
    };
    let table = paper_table(
        &comparison,
        &comparison.metrics.iter().collect::<Vec<_>>(),
        &args.options,
    )?;
    let text = match args.format {
        TableFormat::Terminal => table.terminal(&context.style()),
        TableFormat::Latex => table.latex(),
        TableFormat::Markdown => table.markdown(),
        TableFormat::Csv => table.csv(context.global.csv_text())?,
    };
    if args.format == TableFormat::Csv {
        table
            .notes
            .iter()
            .for_each(|note| context.note(&format!("note: {}", note.text)));
    }
    write_stdout(text.as_bytes())
}
