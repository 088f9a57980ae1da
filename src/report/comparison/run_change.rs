//! What changes from one run to another, in a sentence and as a table.

use super::judge_change::{shift_columns, shifts_table};
use super::tables::{percent, shown_difference, unit_name};
use super::verdict::points;
use crate::analysis::comparison::{RunChange, Shift, SystemShift, p_text};
use crate::report::layout::{counted, listed};
use crate::report::table::Table;

/// Which systems change significantly.
pub(super) fn sentence(change: &RunChange) -> String {
    let changed: Vec<&SystemShift> = change
        .systems
        .iter()
        .filter(|own| own.shift.differs)
        .collect();
    let name = &change.metric.name;
    let runs = format!("from {} to {}", change.old, change.new);
    let Some(named) = listed(changed.iter().map(|own| changed_by(own, change))) else {
        return match &change.systems[..] {
            [only] => format!(
                "{name}: {} does not change significantly {runs} ({}).",
                only.system,
                evidence(&only.shift, change)
            ),
            systems => format!(
                "{name}: none of {} changes significantly {runs}.",
                counted(systems.len(), "system")
            ),
        };
    };
    let rest = match change.systems.len() - changed.len() {
        0 => "",
        1 => "; the other system does not change significantly",
        _ => "; no other system changes significantly",
    };
    format!("{name} {runs}: {named}{rest}.")
}

/// `careful scores 3.1 points higher (+3.1 [0.2, 6.0], p = 0.011)`
fn changed_by(own: &SystemShift, change: &RunChange) -> String {
    let size = points(own.shift.shift.abs(), change.metric.unit);
    let side = if own.shift.shift > 0.0 {
        "higher"
    } else {
        "lower"
    };
    let evidence = evidence(&own.shift, change);
    format!("{} scores {size} {side} ({evidence})", own.system)
}

/// `+3.1 [0.2, 6.0], p = 0.011`
fn evidence(shift: &Shift, change: &RunChange) -> String {
    let difference = shown_difference(shift.shift, shift.interval, change.metric.unit);
    format!("{difference}, {}", p_text(shift.p))
}

/// The systems in both runs, one row each.
pub(super) fn systems_by_run(change: &RunChange, level: f64) -> Table {
    let title = format!(
        "{} ({}) in {} (old) and {} (new), change with simultaneous {} intervals, p adjusted for {}, * significant: {}",
        change.metric.name,
        unit_name(change.metric.unit),
        change.old,
        change.new,
        percent(level),
        counted(change.systems.len(), "change"),
        counted(change.cases, "shared case"),
    );
    let mut table = shifts_table(title, &change.systems, change.metric.unit);
    shift_columns(&mut table, "change", &change.systems, change.metric.unit);
    table
}
