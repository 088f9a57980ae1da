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
    read: impl Fn(&[String]) -> Result<Vec<T>>,
) -> Result<ReadConditions<T>> {
    let mut all = ReadConditions {
        gates: Vec::new(),
        refused: Vec::new(),
        error: None,
    };
    for condition in conditions.chunks(1) {
        match read(condition) {
            Ok(of_condition) => all.gates.extend(of_condition),
            Err(error) if output.junit.is_some() => {
                all.refused.extend(unchecked(condition, &error.to_string()));
                all.error = all.error.or(Some(error));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}

/// Prints which gates are not met, and the lines about runs that were left out, without which none is met; returns the code.
pub(super) fn conclude(gates: &[GateResult], left_out: &[String]) -> ExitCode {
    let mut is_missed = !left_out.is_empty();
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
    for line in left_out {
        terminal::note(&format!("error: not met: {line}"));
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
pub(super) fn by_choice(gates: &[GateResult], on_undecided: OnUndecided) -> Vec<GateResult> {
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

/// Conditions that cannot be checked, for one reason.
fn unchecked(conditions: &[String], message: &str) -> Vec<UncheckedGate> {
    let mut gates = Vec::new();
    for condition in conditions {
        gates.push(UncheckedGate {
            name: condition.clone(),
            message: message.to_owned(),
        });
    }
    gates
}

/// A run of a directory that was left out, from the line about it.
pub(super) fn of_run(line: &str) -> UncheckedGate {
    UncheckedGate {
        name: "all runs are finished".to_owned(),
        message: line.to_owned(),
    }
}

impl GateOutput {
    /// Writes the file of `--junit`, if there is one.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn write(
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
        self.write(runs, &[], &unchecked(conditions, &error.to_string()))
    }
}
