//! `scholareval agree`: agreement of judges with people, among judges, and among people.

use super::CommandContext;
use super::gates::{LeftOutRuns, finish, read_each};
use crate::analysis::rater_agreement::agreement_gates;
use crate::cli::ExitCode;
use crate::cli::args::{AgreeArgs, OutputFormat};
use crate::cli::terminal::write_form;
use crate::error::{Error, Result};
use crate::report::table::shown_notes;
use crate::report::{label_plan_table, render_agreement_csv, render_agreement_table, render_json};
use crate::runs::{agree, plan_labels};

/// Runs the command.
///
/// # Errors
/// As [`agree`], and for conditions that cannot be read.
pub(super) fn run(args: &AgreeArgs, context: &CommandContext<'_>) -> Result<ExitCode> {
    if args.plan {
        plan(args, context)?;
        return Ok(ExitCode::Ok);
    }
    let checked = check(args, context);
    if let Err(error) = &checked {
        args.output.write_error(&args.runs, &args.require, error)?;
    }
    checked?
}

/// Shows the agreement and checks the gates. The inner error is that of a condition that cannot be read; the file of `--junit` has the
/// others.
fn check(args: &AgreeArgs, context: &CommandContext<'_>) -> Result<Result<ExitCode>> {
    if args.runs.is_empty() && args.labels.is_empty() {
        let message = "agree needs two raters: RUN --labels FILE, two runs, or --labels A B (two files of labels)";
        return Err(Error::Usage(message.to_owned()));
    }
    let (runs, skipped) = context.runs(&args.runs)?;
    let mut agreement = agree(&runs, &args.labels, &args.options)?;
    let mut read = read_each(&args.require, &args.output, |condition| {
        agreement_gates(condition, &agreement)
    })?;
    agreement.gates = std::mem::take(&mut read.gates);
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
    let left_out = LeftOutRuns {
        lines: if args.require.is_empty() {
            &[]
        } else {
            &skipped
        },
        remedy: "name the finished runs alone",
    };
    finish(&args.output, &args.runs, &agreement.gates, read, &left_out)
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
