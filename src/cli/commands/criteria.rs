//! `scholareval criteria`: which criteria discriminate.

use super::Context;
use crate::analysis::comparison::{ComparisonOptions, Observations};
use crate::cli::ExitCode;
use crate::cli::args::{CriteriaArgs, OutputFormat};
use crate::cli::terminal::write_form;
use crate::error::{InputFault, Result};
use crate::evaluation::RunSet;
use crate::report::{criteria_csv, criteria_text, render_json, run_warnings};

/// Runs the command.
///
/// # Errors
/// When a run or labels cannot be read, runs are not comparable, or no run has criteria.
pub(super) fn run(args: &CriteriaArgs, context: &Context<'_>) -> Result<ExitCode> {
    let set = RunSet::open(&context.runs(&args.runs)?.0, args.anyway)?;
    let mut criteria = set.criteria(&args.labels)?;
    if criteria.criteria.is_empty() {
        let fault = InputFault::new(&args.runs[0], "no criteria: neither a rubric nor aspects were scored");
        return Err(fault.hint("score with test cases (--tests), or aspects (--scorers prometheus)").into());
    }
    let comparison = set.compare(&Observations::default(), &ComparisonOptions::seeded(0));
    criteria.notes.splice(..0, run_warnings(&comparison));
    let format = args.display.format;
    let text = match format {
        OutputFormat::Table => criteria_text(&criteria, &context.style()),
        OutputFormat::Json => render_json(&criteria)?,
        OutputFormat::Csv => criteria_csv(&criteria, context.global.csv_text())?,
    };
    if format != OutputFormat::Table {
        criteria.notes.iter().for_each(|note| context.note(&format!("warning: {}", note.text)));
    }
    write_form(&text, format)?;
    Ok(ExitCode::Ok)
}
