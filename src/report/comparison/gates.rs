//! Gates, one line each.

use crate::analysis::comparison::GateResult;
use std::fmt::Write as _;

use crate::report::{TableStyle, visible, wrapped};

/// Width of the longest outcome and two spaces.
const INDENT: usize = 11;

/// `met        new>=old-0.02: score differs by ..`; empty without gates.
pub(in crate::report) fn gate_lines(gates: &[GateResult], style: &TableStyle) -> String {
    let mut text = String::new();
    for gate in gates {
        let width = style.columns().saturating_sub(INDENT).max(INDENT);
        let lines = wrapped(&visible(&gate.line()), width);
        let indented = lines.replace('\n', &format!("\n{:INDENT$}", ""));
        let _ = writeln!(text, "{:<INDENT$}{indented}", gate.outcome.name());
    }
    text
}
