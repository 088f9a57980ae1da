//! What changes with the judge, in words and as tables.

use super::tables::{percent, shown_difference, unit_name};
use super::verdict::points;
use crate::analysis::Estimate;
use crate::analysis::comparison::{JudgeChange, Shift, SwappedPair, SystemShift};
use crate::domain::Unit;
use crate::report::layout::{counted, listed};
use crate::report::table::{Cell, Column, Format, Table};
use crate::stats::Interval;

/// The shift and the order of the systems; then how the judges agree.
pub(super) fn sentences(change: &JudgeChange) -> Vec<String> {
    let JudgeChange {
        old,
        new,
        metric,
        whole:
            Shift {
                shift,
                interval,
                differs,
                ..
            },
        ..
    } = change;
    let shown = |difference: f64, interval: Option<Interval>| {
        shown_difference(difference, interval, metric.unit)
    };
    let average = shown(*shift, *interval);
    let shift = match differs {
        true => {
            let side = if *shift > 0.0 { "higher" } else { "lower" };
            format!(
                "{new} scores {} {side} than {old} on average ({average})",
                points(shift.abs(), metric.unit)
            )
        }
        false => format!("{new} and {old} do not differ significantly on average ({average})"),
    };
    let (clear, unclear): (Vec<&SwappedPair>, Vec<_>) = change
        .swapped
        .iter()
        .partition(|pair| pair.differs != [false; 2]);
    let swapped = clear.into_iter().map(|pair| {
        let [first, second] =
            [0, 1].map(|judge| shown(pair.differences[judge], pair.intervals[judge]));
        format!(
            "{} and {} change places ({first} by {old}, {second} by {new})",
            pair.systems[0], pair.systems[1]
        )
    });
    let others = (!unclear.is_empty()).then(|| {
        let pairs = counted(unclear.len(), "pair");
        format!(
            "ordered otherwise without a significant difference by either judge: {pairs} of systems"
        )
    });
    let order = match change.systems.len() {
        1 => None,
        _ => listed(swapped.chain(others))
            .or_else(|| Some("the order of the systems is unchanged".to_owned())),
    };
    let shift = [Some(shift), order]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("; ");
    let pair = change.agreement.as_ref();
    let half = pair.and_then(|pair| Some(&pair.overall.comparisons.as_ref()?.half_credit));
    let order = pair.and_then(|pair| Some(&pair.ranking.as_ref()?.kendall_tau_b));
    let measures = [
        (
            "tau-b of scores",
            Format::Number(2),
            pair.map(|pair| &pair.overall.kendall_tau_b),
        ),
        ("same one of two answers better (%)", Format::Percent, half),
        ("tau-b of the orders of systems", Format::Number(2), order),
    ];
    let shown = |(what, format, own): (&str, Format, Option<&Estimate>)| {
        Some(format!(
            "{what} {}",
            format.show_estimate(own?.estimate?, own?.interval())
        ))
    };
    let agreement = listed(measures.into_iter().filter_map(shown));
    let agreement = agreement.map(|measures| format!("Agreement of the two judges: {measures}."));
    std::iter::once(format!("{}: {shift}.", metric.name))
        .chain(agreement)
        .collect()
}

/// The systems by both judges.
pub(super) fn systems_by_judge(change: &JudgeChange, level: f64) -> Table {
    let (unit, level_text) = (change.metric.unit, percent(level));
    let title = format!(
        "{} ({}) by {} (old) and {} (new), shift with simultaneous {level_text} intervals, * significant: {}",
        change.metric.name,
        unit_name(unit),
        change.old,
        change.new,
        counted(change.cases, "shared case"),
    );
    let rows = &change.systems;
    let mut table = shifts_table(title, rows, unit);
    shift_columns(&mut table, "shift", rows, unit);
    for (judge, key, heading) in [(0, "old_rank", "old rank"), (1, "new_rank", "new rank")] {
        let column = Column::headed(key, heading, Format::Count);
        table.push(column, rows.iter().map(|own| Cell::count(own.ranks[judge])));
    }
    table
}

/// The systems with their old and new means.
pub(super) fn shifts_table(title: String, rows: &[SystemShift], unit: Unit) -> Table {
    let mut table = Table::new(title, Vec::new());
    table.push(
        Column::new("system", Format::Text),
        rows.iter().map(|own| Cell::text(own.system.as_str())),
    );
    for (at, key, heading) in [(0, "old_mean", "old"), (1, "new_mean", "new")] {
        let column = Column::headed(key, heading, Format::of_mean(unit));
        table.push(column, rows.iter().map(|own| Cell::number(own.means[at])));
    }
    table
}

/// Adds the shifts of these systems, which this column is named for, and their p.
pub(super) fn shift_columns(table: &mut Table, name: &str, rows: &[SystemShift], unit: Unit) {
    let shift = |own: &SystemShift| {
        let flag = if own.shift.differs { "*" } else { "" };
        Cell::estimate(Some(own.shift.shift), own.shift.interval).flagged(flag)
    };
    let column = Column::new(name, Format::of_difference(unit)).kept();
    table.push(column, rows.iter().map(shift));
    table.push(
        Column::new("p", Format::PValue),
        rows.iter().map(|own| Cell::number(own.shift.p)),
    );
}
