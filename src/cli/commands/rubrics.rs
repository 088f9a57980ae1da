//! `scholareval rubrics list|show|check`.

use std::path::Path;

use crate::cli::args::RubricsCommand;
use crate::cli::origin::escape_controls;
use crate::cli::terminal::{path_text, write_stdout};
use crate::dataset::{load_tests, profile_source, rubric_profile, shipped_profiles};
use crate::domain::Mode;
use crate::error::Result;
use crate::text::names::counted;

/// Runs the command.
///
/// # Errors
/// When there is no such profile, or every fault of a file that is checked.
pub(super) fn run(command: &RubricsCommand) -> Result<()> {
    let text = match command {
        RubricsCommand::List => list()?,
        RubricsCommand::Show { rubric } => profile_source(rubric)?.1,
        RubricsCommand::Check { file, rubric } => check(file, rubric.as_deref())?,
    };
    write_stdout(text.as_bytes())
}

/// The profiles of the program, a line each.
fn list() -> Result<String> {
    let mut text = String::new();
    for (name, _) in shipped_profiles() {
        let about = rubric_profile(Some(&name))?.about;
        text.push_str(&format!("{name:<16}{about}\n"));
    }
    Ok(text)
}

/// How many criteria the test cases have under a profile, and what is suspicious about them.
fn check(file: &Path, rubric: Option<&str>) -> Result<String> {
    let (tests, _) = load_tests(file, Mode::Default, rubric, true)?;
    let mut all = 0;
    let mut negative = 0;
    for criterion in tests.cases.iter().flat_map(|case| &case.criteria) {
        all += 1;
        negative += usize::from(criterion.weight < 0.0);
    }
    let criteria = if all == 1 { "criterion" } else { "criteria" };
    let mut text = format!(
        "{}: {}, {all} {criteria}, {negative} of negative weight\n",
        path_text(file),
        counted(tests.cases.len(), "case")
    );
    for warning in &tests.warnings {
        let warning = escape_controls(&warning.to_string());
        text.push_str(&format!("warning: {warning}\n"));
    }
    Ok(text)
}
