//! The tables of a comparison.

use super::legend::explained;
use crate::analysis::comparison::{Comparison, MetricComparison, PairComparison};
use crate::domain::Unit;
use crate::report::layout::counted;
use crate::report::table::{Cell, Column, Format, Table};
use crate::stats::Interval;

/// The metric's name, with its scorer's if two scorers have a metric of that name.
pub(in crate::report) fn metric_name(comparison: &Comparison, metric: &MetricComparison) -> String {
    let id = &metric.metric;
    let same = comparison
        .metrics
        .iter()
        .filter(|other| other.metric.name == id.name)
        .count();
    if same > 1 {
        format!("{}.{}", id.scorer, id.name)
    } else {
        id.name.clone()
    }
}

/// The systems of a metric, best first.
pub(in crate::report) fn systems_table(
    comparison: &Comparison,
    metric: &MetricComparison,
) -> Table {
    let several = metric.systems.len() > 1;
    let order = if metric.metric.higher_is_better {
        "best first"
    } else {
        "highest first"
    };
    let cases = counted(
        metric.cases.len(),
        if several { "shared case" } else { "case" },
    );
    let of_all = if metric.cases_in_all == metric.cases.len() {
        String::new()
    } else {
        format!(" of {}", metric.cases_in_all)
    };
    let mut title = format!(
        "{} ({}), {} intervals, {order}: {cases}{of_all}",
        metric_name(comparison, metric),
        unit_name(metric.metric.unit),
        percent(comparison.options.level)
    );
    if !metric.groups.is_empty() {
        title += "; systems that share a letter do not differ significantly";
    }
    let (mut table, rows) = (Table::new(title, Vec::new()), &metric.systems);
    let counts = |key: &str| explained(key, Format::Count);
    table.push(
        Column::new("system", Format::Text),
        rows.iter().map(|own| Cell::text(&own.label)),
    );
    let means = rows
        .iter()
        .map(|own| Cell::estimate(own.mean, own.interval));
    table.push(
        Column::new("mean", Format::of_mean(metric.metric.unit)),
        means,
    );
    if !metric.groups.is_empty() {
        table.push(
            explained("group", Format::Text),
            rows.iter().map(|own| Cell::text(&own.letters)),
        );
    }
    if let Some(ranks) = metric
        .ranks
        .as_ref()
        .filter(|_| several && metric.metric.higher_is_better)
    {
        let first = |rank: usize| ranks.get(rank).and_then(|own| own.first()).copied();
        table.push(
            explained("first", Format::Percent),
            (0..rows.len()).map(|at| Cell::maybe(first(at))),
        );
    }
    table.push(
        counts("cases"),
        // A system without a value is not compared, and has no part in the shared cases.
        rows.iter()
            .map(|own| Cell::count(own.mean.map_or(0, |_| metric.cases.len()))),
    );
    table.push(
        counts("unscored"),
        rows.iter().map(|own| Cell::count(own.unscored)),
    );
    if rows.iter().any(|own| own.missing > 0) {
        table.push(
            counts("missing"),
            rows.iter().map(|own| Cell::count(own.missing)),
        );
    }
    table
}

/// The pairs of a metric, in the order of its systems, with `lengths` also the length-adjusted differences; `None` if there are
/// none.
pub(in crate::report) fn pairs_table(
    comparison: &Comparison,
    metric: &MetricComparison,
    lengths: bool,
) -> Option<Table> {
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
    let (mut table, rows) = (Table::new(title, Vec::new()), &metric.pairs);
    let label = |rank: usize| Cell::text(&metric.systems[rank].label);
    let (text, difference) = (Format::Text, Format::of_difference(metric.metric.unit));
    table.push(
        Column::new("system", text),
        rows.iter().map(|own| label(own.first)),
    );
    table.push(
        Column::new("against", text),
        rows.iter().map(|own| label(own.second)),
    );
    let cell = |own: &PairComparison| {
        Cell::estimate(Some(own.difference), own.interval).flagged(&own.flags())
    };
    let differences = Column {
        has_interval: true,
        has_flag: true,
        ..Column::new("difference", difference)
    };
    table.push(differences, rows.iter().map(cell));
    table.push(
        explained("p", Format::PValue),
        rows.iter().map(|own| Cell::maybe(own.p)),
    );
    if lengths {
        push_lengths(&mut table, rows, difference);
    }
    let counts =
        |own: &PairComparison| Cell::text(format!("{}/{}/{}", own.wins, own.ties, own.losses));
    table.push(explained("wins_ties_losses", text), rows.iter().map(counts));
    table.push(
        explained("cohens_dz", Format::Number(2)),
        rows.iter().map(|own| Cell::maybe(own.cohens_dz)),
    );
    let alone = rows
        .iter()
        .map(|own| Cell::estimate(Some(own.difference), own.pointwise));
    table.push(explained("pointwise", difference), alone);
    let p_alone = explained("pointwise_p", Format::PValue);
    table.push(p_alone, rows.iter().map(|own| Cell::maybe(own.pointwise_p)));
    Some(table)
}

/// Adds the length-adjusted difference of each pair, and how many words the answers of its first system have more.
fn push_lengths(table: &mut Table, rows: &[PairComparison], difference: Format) {
    let adjusted = Column {
        has_interval: true,
        ..explained("length_adjusted", difference)
    };
    let cell = |own: &PairComparison| {
        own.length.as_ref().map_or(Cell::Missing, |length| {
            Cell::estimate(Some(length.adjusted), Some(length.interval))
        })
    };
    table.push(adjusted, rows.iter().map(cell));
    let words = |own: &PairComparison| Cell::maybe(own.length.as_ref().map(|length| length.words));
    table.push(
        explained("words_difference", Format::Difference(0)),
        rows.iter().map(words),
    );
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
pub(in crate::report) fn shown_difference(
    difference: f64,
    interval: Option<Interval>,
    unit: Unit,
) -> String {
    let shown = Format::of_difference(unit).show(difference);
    let interval =
        interval.map(|interval| format!(" {}", Format::of_mean(unit).show_interval(interval)));
    shown + &interval.unwrap_or_default()
}
