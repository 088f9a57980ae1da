//! The tables of a comparison.

use crate::analysis::comparison::{Comparison, MetricComparison};
use crate::domain::Unit;
use crate::report::layout::counted;
use crate::report::table::{Cell, Column, Format, Table};
use crate::stats::Interval;

/// The metric's name, with its scorer's if two scorers have a metric of that name.
pub(in crate::report) fn metric_name(comparison: &Comparison, metric: &MetricComparison) -> String {
    let id = &metric.metric;
    let same = comparison.metrics.iter().filter(|other| other.metric.name == id.name).count();
    if same > 1 { format!("{}.{}", id.scorer, id.name) } else { id.name.clone() }
}

/// The systems of a metric, best first.
pub(in crate::report) fn systems_table(comparison: &Comparison, metric: &MetricComparison) -> Table {
    let several = metric.systems.len() > 1;
    let has_ranks = metric.ranks.is_some() && metric.metric.higher_is_better && several;
    let has_missing = metric.systems.iter().any(|system| system.missing > 0);
    let order = if metric.metric.higher_is_better { "best first" } else { "highest first" };
    let cases = counted(metric.cases.len(), if several { "shared case" } else { "case" });
    let of_all =
        if metric.cases_in_all == metric.cases.len() { String::new() } else { format!(" of {}", metric.cases_in_all) };
    let mut title = format!(
        "{} ({}), {} intervals, {order}: {cases}{of_all}",
        metric_name(comparison, metric),
        unit_name(metric.metric.unit),
        percent(comparison.options.level)
    );
    let mut columns =
        vec![Column::new("system", Format::Text), Column::new("mean", Format::of_mean(metric.metric.unit))];
    if !metric.groups.is_empty() {
        title += "; systems that share a letter do not differ significantly";
        columns.push(Column::new("group", Format::Text));
    }
    columns.extend(has_ranks.then(|| Column::headed("first", "first (%)", Format::Percent)));
    columns.extend(["cases", "unscored"].map(|key| Column::new(key, Format::Count)));
    columns.extend(has_missing.then(|| Column::new("missing", Format::Count)));
    let mut table = Table::new(title, columns);
    for (rank, system) in metric.systems.iter().enumerate() {
        let mut row = vec![Cell::text(&system.label), Cell::estimate(system.mean, system.interval)];
        row.extend((!metric.groups.is_empty()).then(|| Cell::text(&system.letters)));
        row.extend(has_ranks.then(|| Cell::maybe(best(metric, rank))));
        row.extend([metric.cases.len(), system.unscored].map(Cell::count));
        row.extend(has_missing.then(|| Cell::count(system.missing)));
        table.rows.push(row);
    }
    table
}

/// The pairs of a metric, in the order of its systems; `None` if there are none.
pub(in crate::report) fn pairs_table(comparison: &Comparison, metric: &MetricComparison) -> Option<Table> {
    if metric.pairs.is_empty() {
        return None;
    }
    let options = &comparison.options;
    let mut title = format!(
        "Differences in {} with simultaneous {} intervals; * significant",
        metric_name(comparison, metric),
        percent(options.level)
    );
    if metric.pairs.iter().any(|pair| pair.sensitive) {
        title += ", ! sensitive to missing data";
    }
    if let Some(baseline) = &options.baseline {
        title += &format!("; pairs with {baseline} (baseline)");
    }
    let columns = vec![
        Column::new("system", Format::Text),
        Column::new("against", Format::Text),
        Column::new("difference", Format::of_difference(metric.metric.unit)),
        Column::new("p", Format::PValue),
        Column::headed("wins_ties_losses", "W/T/L", Format::Text),
        Column::headed("cohens_dz", "d_z", Format::Number(2)),
        Column::headed("pointwise", "pair alone", Format::of_difference(metric.metric.unit)),
        Column::headed("pointwise_p", "p alone", Format::PValue),
    ];
    let mut table = Table::new(title, columns);
    let label = |rank: usize| Cell::text(&metric.systems[rank].label);
    for pair in &metric.pairs {
        table.rows.push(vec![
            label(pair.first),
            label(pair.second),
            Cell::estimate(Some(pair.difference), pair.interval).flagged(pair.flags()),
            Cell::maybe(pair.p),
            Cell::text(format!("{}/{}/{}", pair.wins, pair.ties, pair.losses)),
            Cell::maybe(pair.cohens_dz),
            Cell::estimate(Some(pair.difference), pair.pointwise),
            Cell::maybe(pair.pointwise_p),
        ]);
    }
    Some(table)
}

/// How often the system of that rank is first over resamples.
fn best(metric: &MetricComparison, rank: usize) -> Option<f64> {
    metric.ranks.as_ref()?.get(rank)?.first().copied()
}

/// The unit of a metric, in words.
pub(in crate::report) fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Share | Unit::Net => "%",
        Unit::Grade => "grades from 1 to 5",
        Unit::Count => "count per answer",
    }
}

/// `95%`, `97.5%`.
pub(in crate::report) fn percent(level: f64) -> String {
    format!("{}%", (1000.0 * level).round() / 10.0)
}

/// `+3.4 [0.2, 6.6]`.
pub(in crate::report) fn shown_difference(difference: f64, interval: Option<Interval>, unit: Unit) -> String {
    let shown = Format::of_difference(unit).show(difference);
    let interval = interval.map(|interval| format!(" {}", Format::of_mean(unit).show_interval(interval)));
    shown + &interval.unwrap_or_default()
}
