//! `scholareval agree`: agreement of judges with people, among judges, and among people.

use super::Context;
use crate::cli::ExitCode;
use crate::cli::args::{AgreeArgs, OutputFormat};
use crate::cli::terminal::write_form;
use crate::error::{Error, Result};
use crate::evaluation::agree;
use crate::report::table::shown_notes;
use crate::report::{render_agreement_csv, render_agreement_table, render_json};

/// Runs the command.
///
/// # Errors
/// As [`agree`].
pub(super) fn run(args: &AgreeArgs, context: &Context<'_>) -> Result<ExitCode> {
    if args.runs.is_empty() && args.labels.is_empty() {
        let what = "agree needs two raters: RUN --labels FILE, two runs, or --labels A B (two files of labels)";
        return Err(Error::Usage(what.to_owned()));
    }
    let agreement = agree(&context.runs(&args.runs)?.0, &args.labels, &args.options)?;
    let format = args.display.format;
    let text = match format {
        OutputFormat::Table => render_agreement_table(&agreement, &args.by, &context.style()),
        OutputFormat::Json => render_json(&agreement)?,
        OutputFormat::Csv => render_agreement_csv(&agreement, context.global.csv_text())?,
    };
    write_form(&text, format)?;
    if format != OutputFormat::Table {
        shown_notes(&agreement.notes, false)
            .iter()
            .for_each(|warning| context.note(&format!("warning: {}", warning.text)));
    }
    Ok(ExitCode::Ok)
}
