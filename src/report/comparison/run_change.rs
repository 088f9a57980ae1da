//! What changes from one run to another, in a sentence and as a table.

use super::judge_change::{push_shifts, shifts_table, shown_size};
use crate::analysis::comparison::{RunChange, Shift, SystemShift, p_text};
use crate::report::layout::{counted, listed};
use crate::report::numbers::{percent, shown_difference, unit_name};
use crate::report::table::Table;

/// Which systems change significantly.
pub(super) fn sentence(change: &RunChange) -> String {
    let mut changed = Vec::new();
    for row in &change.systems {
        if row.shift.differs {
            changed.push(changed_by(row, change));
        }
    }
    // Counted, not listed: that nothing changed needs no names.
    let others = change.systems.len() - changed.len();
    let Some(changed) = listed(changed) else {
        return unchanged(change);
    };
    let rest = match others {
        0 => "",
        1 => "; the other system does not change significantly",
        _ => "; no other system changes significantly",
    };
    format!(
        "{} from {} to {}: {changed}{rest}.",
        change.metric.name, change.old, change.new
    )
}

/// The sentence where no system changes significantly.
fn unchanged(change: &RunChange) -> String {
    let name = &change.metric.name;
    let runs = format!("from {} to {}", change.old, change.new);
    match &change.systems[..] {
        [only] => format!(
            "{name}: {} does not change significantly {runs} ({}).",
            only.system,
            evidence(&only.shift, change)
        ),
        systems => format!(
            "{name}: none of {} changes significantly {runs}.",
            counted(systems.len(), "system")
        ),
    }
}

/// `careful scores 3.1 points higher (+3.1 [0.2, 6.0], p = 0.011)`
fn changed_by(row: &SystemShift, change: &RunChange) -> String {
    let size = shown_size(row.shift.shift, change.metric.unit);
    let evidence = evidence(&row.shift, change);
    format!("{} scores {size} ({evidence})", row.system)
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
    push_shifts(&mut table, "change", &change.systems, change.metric.unit);
    table
}
