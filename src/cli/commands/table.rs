//! `scholareval table`: systems by metrics, for a paper.

use super::CommandContext;
use super::compare::check_pairs;
use crate::analysis::comparison::{
    Comparison, ComparisonDepth, ComparisonOptions, SEED, compare_named,
};
use crate::cli::args::{TableArgs, TableFormat};
use crate::cli::terminal::write_stdout;
use crate::error::{Error, InputFault, Result};
use crate::report::{DEFAULT_LABEL, paper_table};
use crate::runs::RunSet;
use crate::text::names::list;

/// Runs the command.
///
/// # Errors
/// When a run cannot be read, runs are not comparable, or a name is unknown.
pub(super) fn run(args: &TableArgs, context: &CommandContext<'_>) -> Result<()> {
    if args.label.is_some() && args.format != TableFormat::Latex {
        return Err(Error::Usage("--label is for --format latex".to_owned()));
    }
    if args.caption.is_some() && args.format == TableFormat::Csv {
        return Err(Error::Usage(
            "--caption: a CSV file has no caption".to_owned(),
        ));
    }
    // `true`: which differences matter depends on the metrics, and `check_metrics` refuses them
    // below.
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
    let mut options = ComparisonOptions::seeded(SEED);
    // Only letters need the pairs, whose tests take most of the time.
    options.depth = if args.options.letters {
        ComparisonDepth::Verdicts
    } else {
        ComparisonDepth::Means
    };
    let metrics = compare_named(&observations, &args.options.metric_names(), &options)?;
    runs.check_metrics(&metrics, &observations.systems, args.options.anyway)?;
    let comparison = runs.corrected(Comparison {
        metrics,
        ..runs.compare(&observations.without_metrics(), &options)
    });
    let mut table = paper_table(
        &comparison,
        &comparison.metrics.iter().collect::<Vec<_>>(),
        &args.options,
    )?;
    if !table.has_values() {
        return Err(no_values(args, &comparison).into());
    }
    if let Some(caption) = &args.caption {
        table.title.clone_from(caption);
    }
    if args.no_notes || args.format == TableFormat::Csv {
        for note in std::mem::take(&mut table.notes) {
            context.note(&format!("note: {}", note.text));
        }
    }
    let text = match args.format {
        TableFormat::Terminal => table.terminal(&context.style()),
        TableFormat::Latex => table.latex(args.label.as_deref().unwrap_or(DEFAULT_LABEL)),
        TableFormat::Markdown => table.markdown(),
        TableFormat::Csv => table.csv(context.csv_text())?,
    };
    write_stdout(text.as_bytes())
}

/// The error for a table of which every cell is missing: nobody should publish it.
fn no_values(args: &TableArgs, comparison: &Comparison) -> InputFault {
    let metrics = comparison.metrics.iter();
    let metrics: Vec<&str> = metrics.map(|metric| metric.metric.name.as_str()).collect();
    let what = format!(
        "the table is empty: no system has a mean of {} over cases that all systems have a value for",
        list(metrics, 5)
    );
    InputFault::new(&args.runs[0], what)
        .hint("compare --notes shows what is missing; choose runs over the same cases, or score the missing answers")
}
