//! `scholareval agree`: agreement of judges with people, among judges, and among people.

use super::CommandContext;
use crate::cli::args::{AgreeArgs, OutputFormat};
use crate::cli::terminal::write_form;
use crate::error::{Error, Result};
use crate::report::table::shown_notes;
use crate::report::{label_plan_table, render_agreement_csv, render_agreement_table, render_json};
use crate::runs::{agree, plan_labels};

/// Runs the command.
///
/// # Errors
/// As [`agree`].
pub(super) fn run(args: &AgreeArgs, context: &CommandContext<'_>) -> Result<()> {
    if args.runs.is_empty() && args.labels.is_empty() {
        let message = "agree needs two raters: RUN --labels FILE, two runs, or --labels A B (two files of labels)";
        return Err(Error::Usage(message.to_owned()));
    }
    if args.plan {
        return plan(args, context);
    }
    let agreement = agree(&context.runs(&args.runs)?.0, &args.labels, &args.options)?;
    let format = args.display.format;
    let text = match format {
        OutputFormat::Table => render_agreement_table(&agreement, &args.by, &context.style()),
        OutputFormat::Json => render_json(&agreement)?,
        OutputFormat::Csv => render_agreement_csv(&agreement, context.csv_text())?,
    };
    write_form(&text, format)?;
    if format != OutputFormat::Table {
        // Formats for programs have no place for what a person must know.
        let notes = [&agreement.notes[..], &agreement.powered_notes].concat();
        for warning in shown_notes(&notes, false) {
            context.note(&format!("warning: {}", warning.text));
        }
    }
    Ok(())
}

/// Shows how many labels the means of systems need.
fn plan(args: &AgreeArgs, context: &CommandContext<'_>) -> Result<()> {
    let plans = plan_labels(&context.runs(&args.runs)?.0, &args.labels, &args.options)?;
    let table = label_plan_table(&plans);
    context.show(
        args.display.format,
        &plans,
        &[],
        |style| Ok(table.terminal(style)),
        || table.clone(),
    )
}
