//! What changes with the judge, in sentences and as a table: the shift, the order of the systems, how the judges agree.

use crate::analysis::Estimate;
use crate::analysis::comparison::{JudgeChange, RunFactor, SwappedPair, SystemShift};
use crate::domain::Unit;
use crate::report::layout::{counted, listed};
use crate::report::numbers::{COEFFICIENT, percent, points, shown_difference, unit_name};
use crate::report::table::{Cell, Column, Format, Table};
use crate::stats::{Interval, mean};

/// The sentences in the order in which a reader needs them.
pub(super) fn sentences(change: &JudgeChange, factor: RunFactor) -> Vec<String> {
    let mut statements = vec![shift(change)];
    if change.systems.len() > 1 {
        statements.push(order(change, factor));
    }
    let statements = statements.join("; ");
    let mut sentences = vec![format!("{}: {statements}.", change.metric.name)];
    sentences.extend(between_systems(change));
    sentences.extend(agreement(change, factor));
    sentences
}

/// `gpt-5 scores 3.1 points lower than gpt-4o on average (-3.1 [-4.0, -2.2])`
fn shift(change: &JudgeChange) -> String {
    let old = &change.old;
    let new = &change.new;
    let unit = change.metric.unit;
    let whole = &change.whole;
    let average = shown_difference(whole.shift, whole.interval, unit);
    // A size without significance would be quoted as an effect.
    if !whole.differs {
        return format!("{new} and {old} do not differ significantly on average ({average})");
    }
    let size = shown_size(whole.shift, unit);
    format!("{new} scores {size} than {old} on average ({average})")
}

/// `3.1 points lower`
pub(super) fn shown_size(shift: f64, unit: Unit) -> String {
    let side = if shift > 0.0 { "higher" } else { "lower" };
    format!("{} {side}", points(shift.abs(), unit))
}

/// `The shift differs between systems: standard deviation 7.9 points [6.2, 10.9] (27 systems, whose own intervals are
/// 1.6 wide to each side)`
fn between_systems(change: &JudgeChange) -> Option<String> {
    let between = change.between_systems?;
    let unit = change.metric.unit;
    let format = Format::of_mean(unit);
    let sd = points(between.sd, unit);
    let interval = format.show_interval(between.interval);
    let systems = change.systems.iter();
    let intervals = systems.filter_map(|system| system.shift.interval);
    let widths: Vec<f64> = intervals.map(Interval::half_width).collect();
    let width_clause = mean(&widths).map_or_else(String::new, |width| {
        format!(
            ", whose own intervals are {} wide to each side on average",
            format.show(width)
        )
    });
    Some(format!(
        "The shift differs between systems with a standard deviation of {sd} {interval} ({}{width_clause}).",
        counted(change.systems.len(), "system")
    ))
}

/// Which systems change places; pairs that differ significantly by neither judge are only counted.
fn order(change: &JudgeChange, factor: RunFactor) -> String {
    let mut changes = Vec::new();
    let mut unclear = 0;
    for pair in &change.swapped {
        // Systems that neither judge distinguishes change places by chance.
        if pair.differs.contains(&true) {
            changes.push(changed_places(pair, change));
        } else {
            unclear += 1;
        }
    }
    if unclear > 0 {
        let pairs = if unclear == 1 {
            "1 pair of systems changes places".to_owned()
        } else {
            format!("{} of systems change places", counted(unclear, "pair"))
        };
        changes.push(format!(
            "{pairs}, without a significant difference by either {}",
            factor.noun()
        ));
    }
    listed(changes).unwrap_or_else(|| "the order of the systems is unchanged".to_owned())
}

/// `careful and brief change places (+2.1 [0.3, 3.9] by gpt-4o, -1.9 [-3.7, -0.1] by gpt-5)`
fn changed_places(pair: &SwappedPair, change: &JudgeChange) -> String {
    let unit = change.metric.unit;
    let [first, second] = &pair.systems;
    let [by_old, by_new] =
        [0, 1].map(|judge| shown_difference(pair.differences[judge], pair.intervals[judge], unit));
    format!(
        "{first} and {second} change places ({by_old} by {}, {by_new} by {})",
        change.old, change.new
    )
}

/// None of the three measures exists for every change: two systems have no order to compare.
fn agreement(change: &JudgeChange, factor: RunFactor) -> Option<String> {
    let judges = change.agreement.as_ref()?;
    let mut measures = Vec::new();
    measures.extend(measure(
        "tau-b of scores",
        COEFFICIENT,
        &judges.overall.kendall_tau_b,
    ));
    if let Some(comparisons) = &judges.overall.comparisons {
        measures.extend(measure(
            "same one of two answers better (%)",
            Format::Percent,
            &comparisons.half_credit,
        ));
    }
    if let Some(ranking) = &judges.ranking {
        measures.extend(measure(
            "tau-b of the orders of systems",
            COEFFICIENT,
            &ranking.kendall_tau_b,
        ));
    }
    let noun = factor.noun();
    let measures = listed(measures)?;
    Some(format!("Agreement of the two {noun}s: {measures}."))
}

/// `tau-b of scores 0.61 [0.50, 0.70]`; `None` where it is not defined.
fn measure(name: &str, format: Format, estimate: &Estimate) -> Option<String> {
    let shown = format.show_estimate(estimate.estimate?, estimate.interval());
    Some(format!("{name} {shown}"))
}

/// The systems by both judges.
pub(super) fn systems_by_judge(change: &JudgeChange, level: f64) -> Table {
    let unit = change.metric.unit;
    let title = format!(
        "{} ({}) by {} (old) and {} (new), shift with simultaneous {} intervals, * significant: {}",
        change.metric.name,
        unit_name(unit),
        change.old,
        change.new,
        percent(level),
        counted(change.cases, "shared case"),
    );
    let rows = &change.systems;
    let mut table = shifts_table(title, rows, unit);
    push_shifts(&mut table, "shift", rows, unit);
    for (judge, key, heading) in [(0, "old_rank", "old rank"), (1, "new_rank", "new rank")] {
        let column = Column::headed(key, heading, Format::Count);
        table.column(column, rows, |row| row.ranks[judge]);
    }
    table
}

/// The systems with their old and new means.
pub(super) fn shifts_table(title: String, rows: &[SystemShift], unit: Unit) -> Table {
    let mut table = Table::new(title, Vec::new());
    table.column(Column::text("system"), rows, |row| &row.system);
    for (at, key, heading) in [(0, "old_mean", "old"), (1, "new_mean", "new")] {
        let column = Column::headed(key, heading, Format::of_mean(unit));
        table.column(column, rows, |row| row.means[at]);
    }
    table
}

/// Adds the shifts of these systems in a column of that name, and their p.
pub(super) fn push_shifts(table: &mut Table, name: &str, rows: &[SystemShift], unit: Unit) {
    let column = Column::new(name, Format::of_difference(unit)).kept();
    table.column(column, rows, |row| {
        let flag = if row.shift.differs { "*" } else { "" };
        Cell::from((row.shift.shift, row.shift.interval)).flagged(flag)
    });
    let p = Column::new("p", Format::PValue);
    table.column(p, rows, |row| row.shift.p);
}
