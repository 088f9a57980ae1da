//! `scholareval rubrics list|show|check`.

use std::path::Path;

use crate::cli::args::RubricsCommand;
use crate::cli::origin::escape_controls;
use crate::cli::terminal::{path_text, write_stdout};
use crate::dataset::{
    LintFinding, LintRule, TestCases, draft_profile, lint_tests, load_tests, profile_source,
    rubric_profile, shipped_profiles,
};
use crate::domain::Mode;
use crate::error::{Error, InputFault, Result};
use crate::text::names::counted;

/// Runs the command.
///
/// # Errors
/// When there is no such profile, or every fault of a file that is checked.
pub(super) fn run(command: &RubricsCommand) -> Result<()> {
    let text = match command {
        RubricsCommand::List => list()?,
        RubricsCommand::Show { rubric } => profile_source(rubric)?.1,
        RubricsCommand::Check { file, rubric, lint } => check(file, rubric.as_deref(), *lint)?,
    };
    write_stdout(text.as_bytes())
}

/// The profiles of the program, a line each.
fn list() -> Result<String> {
    let mut text = String::new();
    let profiles = Vec::from_iter(shipped_profiles());
    let width = profiles.iter().map(|(name, _)| name.len()).max();
    let width = width.unwrap_or_default() + 2;
    for (name, _) in profiles {
        let about = rubric_profile(Some(&name))?.about;
        text.push_str(&format!("{name:<width$}{about}\n"));
    }
    Ok(text)
}

/// How many criteria the test cases have under a profile, and what is suspicious about them; a draft of a profile for a file
/// that no built-in one reads.
fn check(file: &Path, rubric: Option<&str>, lint: bool) -> Result<String> {
    let checked = if lint {
        linted(file, rubric)
    } else {
        load_tests(file, Mode::Default, rubric, true).map(|(tests, _)| summary(&tests))
    };
    match checked {
        Err(error @ Error::Input(_)) if rubric.is_none() => draft(file)?.ok_or(error),
        other => other,
    }
}

/// # Errors
/// As long as something in the draft, which is printed, is undecided.
fn draft(file: &Path) -> Result<Option<String>> {
    let Some(draft) = draft_profile(file)? else {
        return Ok(None);
    };
    if draft.undecided == 0 {
        return Ok(Some(draft.text));
    }
    write_stdout(draft.text.as_bytes())?;
    let what = "no built-in rubric reads the file, and the draft of its profile (on standard output) has what is undecided";
    let hint = format!(
        "decide {}, save the draft as DIR/profile.toml and check the file with --rubric DIR",
        counted(draft.undecided, "comment")
    );
    Err(InputFault::new(file, what).refuse(hint))
}

/// [`summary`], what the rules find, and how much by each.
fn linted(file: &Path, rubric: Option<&str>) -> Result<String> {
    let (tests, findings) = lint_tests(file, rubric)?;
    let mut text = summary(&tests);
    for LintFinding { rule, fault } in &findings {
        let fault = escape_controls(&fault.to_string());
        text.push_str(&format!("{rule}: {fault}\n"));
    }
    let mut counts = Vec::new();
    for rule in LintRule::ALL {
        let count = findings.iter().filter(|finding| finding.rule == rule);
        counts.push(format!("{} {rule}", count.count()));
    }
    let all = counted(findings.len(), "finding");
    text.push_str(&format!("lint: {all}: {}\n", counts.join(", ")));
    Ok(text)
}

fn summary(tests: &TestCases) -> String {
    let mut all = 0;
    let mut negative = 0;
    for criterion in tests.cases.iter().flat_map(|case| &case.criteria) {
        all += 1;
        negative += usize::from(criterion.weight < 0.0);
    }
    let criteria = if all == 1 { "criterion" } else { "criteria" };
    let mut text = format!(
        "{}: {}, {all} {criteria}, {negative} of negative weight\n",
        path_text(&tests.path),
        counted(tests.cases.len(), "case")
    );
    for warning in &tests.warnings {
        let warning = escape_controls(&warning.to_string());
        text.push_str(&format!("warning: {warning}\n"));
    }
    text
}
