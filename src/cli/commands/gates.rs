//! Gates of `compare` and `agree`: conditions that cannot be read, the JUnit file, and the exit code.

use std::path::PathBuf;

use crate::analysis::comparison::{GateOutcome, GateResult};
use crate::cli::ExitCode;
use crate::cli::args::{GateOutput, OnUndecided};
use crate::cli::terminal;
use crate::error::{Error, Result};
use crate::files::write_bytes;
use crate::report::{UncheckedGate, junit};

/// Conditions that were read, and those that were not.
pub(super) struct ReadConditions<T> {
    pub(super) gates: Vec<T>,
    /// Conditions that cannot be read.
    pub(super) refused: Vec<UncheckedGate>,
    /// The error of the first of them.
    pub(super) error: Option<Error>,
}

/// Reads conditions one by one. With a file of `--junit`, those that cannot be read are apart, with their errors.
///
/// # Errors
/// Without that file, of the first condition that cannot be read.
pub(super) fn read_each<T>(
    conditions: &[String],
    output: &GateOutput,
    read: impl Fn(&str) -> Result<Vec<T>>,
) -> Result<ReadConditions<T>> {
    let mut all = ReadConditions {
        gates: Vec::new(),
        refused: Vec::new(),
        error: None,
    };
    for condition in conditions {
        match read(condition) {
            Ok(of_condition) => all.gates.extend(of_condition),
            Err(error) if output.junit.is_some() => {
                all.refused.push(unchecked(condition, &error.to_string()));
                all.error = all.error.or(Some(error));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}

/// Runs of a directory that were left out: without its unfinished runs, it could pass by its good ones.
pub(super) struct LeftOutRuns<'a> {
    /// A line about each.
    pub(super) lines: &'a [String],
    /// What to do.
    pub(super) remedy: &'static str,
}

/// Writes the file of `--junit` and prints which gates are not met. The inner error is that of a condition that cannot be read.
///
/// # Errors
/// When the file cannot be written.
pub(super) fn finish<T>(
    output: &GateOutput,
    runs: &[PathBuf],
    gates: &[GateResult],
    read: ReadConditions<T>,
    left_out: &LeftOutRuns<'_>,
) -> Result<Result<ExitCode>> {
    let gates = by_choice(gates, output.on_undecided);
    let mut refused = read.refused;
    for line in left_out.lines {
        refused.push(unchecked("all runs are finished", line));
    }
    output.write(runs, &gates, &refused)?;
    Ok(read.error.map_or(Ok(conclude(&gates, left_out)), Err))
}

/// Prints which gates are not met, and returns the code.
fn conclude(gates: &[GateResult], left_out: &LeftOutRuns<'_>) -> ExitCode {
    let mut is_missed = !left_out.lines.is_empty();
    let mut is_undecided = false;
    for gate in gates {
        match gate.outcome {
            GateOutcome::Met => {}
            GateOutcome::Missed | GateOutcome::Unchecked => {
                is_missed = true;
                terminal::note(&format!("error: not met: {}", gate.line()));
            }
            GateOutcome::Undecided => {
                is_undecided = true;
                terminal::note(&format!("undecided: {}", gate.line()));
            }
        }
    }
    for line in left_out.lines {
        terminal::note(&format!("error: not met: {line}; {}", left_out.remedy));
    }
    if is_missed {
        ExitCode::BelowThreshold
    } else if is_undecided {
        ExitCode::Undecided
    } else {
        ExitCode::Ok
    }
}

/// The gates with undecided ones as `--on-undecided` says.
fn by_choice(gates: &[GateResult], on_undecided: OnUndecided) -> Vec<GateResult> {
    let mut gates = gates.to_vec();
    for gate in &mut gates {
        if gate.outcome == GateOutcome::Undecided {
            gate.outcome = match on_undecided {
                OnUndecided::Report => GateOutcome::Undecided,
                OnUndecided::Pass => GateOutcome::Met,
                OnUndecided::Fail => GateOutcome::Missed,
            };
        }
    }
    gates
}

/// The runs, as the name of a suite of tests.
fn suite(runs: &[PathBuf]) -> String {
    let names: Vec<String> = runs.iter().map(|run| run.display().to_string()).collect();
    names.join(" ")
}

/// A condition that cannot be checked, with the reason.
fn unchecked(name: &str, message: &str) -> UncheckedGate {
    UncheckedGate {
        name: name.to_owned(),
        message: message.to_owned(),
    }
}

impl GateOutput {
    /// Writes the file of `--junit`, if there is one.
    ///
    /// # Errors
    /// When it cannot be written.
    fn write(
        &self,
        runs: &[PathBuf],
        gates: &[GateResult],
        refused: &[UncheckedGate],
    ) -> Result<()> {
        match &self.junit {
            Some(path) => write_bytes(path, junit(&suite(runs), gates, refused).as_bytes()),
            None => Ok(()),
        }
    }

    /// Writes a file in which no condition could be checked: without it, CI would show that of an earlier commit.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn write_error(
        &self,
        runs: &[PathBuf],
        conditions: &[String],
        error: &Error,
    ) -> Result<()> {
        let message = error.to_string();
        let gates = conditions.iter();
        let gates = gates.map(|condition| unchecked(condition, &message));
        self.write(runs, &[], &gates.collect::<Vec<_>>())
    }
}
