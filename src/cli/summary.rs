//! The report of a run on standard output, and its exit code.

use std::collections::BTreeSet;

use super::ExitCode;
use super::args::OutputFormat;
use super::terminal;
use crate::analysis::distinct;
use crate::domain::UnscoredKind;
use crate::error::Result;
use crate::record::Manifest;
use crate::report::{RunReport, TableStyle};

/// Prints the report; the exit code follows from the share of unscored answers. `remedy` is what the user of this command
/// can do about each kind of them.
///
/// # Errors
/// When standard output cannot be written.
pub(super) fn conclude(
    report: &RunReport,
    manifest: &Manifest,
    format: OutputFormat,
    style: &TableStyle,
    remedy: fn(UnscoredKind) -> Option<&'static str>,
) -> Result<ExitCode> {
    match format {
        OutputFormat::Json => terminal::write_form(report.file(".json"), format)?,
        OutputFormat::Csv => terminal::write_form(report.file(".csv"), format)?,
        OutputFormat::Table => terminal::write_form(&report.terminal(style), format)?,
    }
    // An imported run has no policy, and no limit on unscored answers.
    let tolerated = manifest.policy.max_unscored;
    let unscored = report.summary.unscored_share;
    let selection = manifest.selection();
    // With single verdicts no answer has a score.
    let is_of_verdicts = selection.is_some_and(|selection| selection.verdicts.is_some());
    if unscored <= tolerated || is_of_verdicts {
        return Ok(ExitCode::Ok);
    }
    let kinds: BTreeSet<UnscoredKind> = report.summary.unscored_kinds().collect();
    let remedies: String = distinct(kinds.into_iter().filter_map(remedy))
        .into_iter()
        .map(|remedy| format!("; {remedy}"))
        .collect();
    // After the result and on standard error: a pipe gets the numbers, the person the reason of the
    // exit code.
    terminal::note(&format!(
        "error: {} of the answers are unscored, more than the {} that --max-unscored tolerates{remedies}",
        percent(unscored),
        percent(tolerated),
    ));
    Ok(ExitCode::TooManyUnscored)
}

/// `25.0%`, `1.04%`: a second decimal only if it is not 0.
fn percent(share: f64) -> String {
    let text = format!("{:.2}", 100.0 * share);
    format!("{}%", text.strip_suffix('0').unwrap_or(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_shown_as_percent() {
        assert_eq!(
            [0.25, 0.0104, 0.01, 0.07, 0.0005].map(percent),
            ["25.0%", "1.04%", "1.0%", "7.0%", "0.05%"]
        );
    }
}
