//! The tables of a comparison.

use super::legend::explained;
use super::pairwise::push_strengths;
use crate::analysis::comparison::{Comparison, MetricComparison, PairComparison};
use crate::domain::SubjectKind;
use crate::report::layout::counted;
use crate::report::numbers::{percent, unit_name};
use crate::report::table::{Cell, Column, Format, Table};

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
    let rows = &metric.systems;
    let mut table = Table::new(systems_title(comparison, metric), Vec::new());
    let labels = rows.iter().map(|row| Cell::text(&row.label));
    table.push(Column::text("system"), labels);
    let means = rows
        .iter()
        .map(|row| Cell::estimate(row.mean, row.interval));
    let mean = Column::new("mean", Format::of_mean(metric.metric.unit));
    table.push(mean, means);
    if !metric.groups.is_empty() {
        let letters = rows.iter().map(|row| Cell::text(&row.letters));
        table.push(explained("group", Format::Text), letters);
    }
    if let Some(pairwise) = &comparison.pairwise {
        push_strengths(&mut table, pairwise);
    }
    push_ranked_first(&mut table, metric);
    // A system without a value is not compared, and has no part in the shared cases.
    let cases = rows.iter().map(|row| match (row.mean, comparison.subject) {
        (Some(_), SubjectKind::Answer) => Cell::count(metric.cases.len()),
        // A win rate is from all that the system has.
        (Some(_), SubjectKind::Pair) => Cell::count(row.own_cases),
        (None, _) => Cell::count(0),
    });
    table.push(explained("cases", Format::Count), cases);
    let unscored = rows.iter().map(|row| Cell::count(row.unscored));
    table.push(explained("unscored", Format::Count), unscored);
    if rows.iter().any(|row| row.missing > 0) {
        let missing = rows.iter().map(|row| Cell::count(row.missing));
        table.push(explained("missing", Format::Count), missing);
    }
    table
}

/// `score (%), 95% intervals, best first: 98 shared cases of 100`, and what the letters mean.
fn systems_title(comparison: &Comparison, metric: &MetricComparison) -> String {
    let order = if metric.metric.higher_is_better {
        "best first"
    } else {
        "highest first"
    };
    let noun = match comparison.subject {
        SubjectKind::Answer if metric.systems.len() > 1 => "shared case",
        SubjectKind::Answer | SubjectKind::Pair => "case",
    };
    let mut title = format!(
        "{} ({}), {} intervals, {order}: {}",
        metric_name(comparison, metric),
        unit_name(metric.metric.unit),
        percent(comparison.options.level),
        counted(metric.cases.len(), noun),
    );
    if metric.cases_in_all != metric.cases.len() {
        title += &format!(" of {}", metric.cases_in_all);
    }
    if !metric.groups.is_empty() {
        title += "; systems that share a letter do not differ significantly";
    }
    title
}

/// Adds how often each system ranks first, where the first place is a good one and some pair differs significantly.
fn push_ranked_first(table: &mut Table, metric: &MetricComparison) {
    let Some(ranks) = &metric.ranks else { return };
    // The most citations, or the longest answer, is not the best; and where no pair differs, 82% would read as a verdict.
    let differs = metric.pairs.iter().any(|pair| pair.differs);
    if !differs || !metric.metric.higher_is_better {
        return;
    }
    let mut cells = Vec::new();
    for at in 0..metric.systems.len() {
        let shares = ranks.get(at);
        cells.push(Cell::maybe(
            shares.and_then(|shares| shares.first()).copied(),
        ));
    }
    table.push(explained("first", Format::Percent), cells);
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
    let rows = &metric.pairs;
    let label = |rank: usize| Cell::text(&metric.systems[rank].label);
    let difference = Format::of_difference(metric.metric.unit);
    let mut table = Table::new(pairs_title(comparison, metric), Vec::new());
    table.push(
        Column::text("system"),
        rows.iter().map(|row| label(row.first)),
    );
    table.push(
        Column::text("against"),
        rows.iter().map(|row| label(row.second)),
    );
    let differences = Column {
        has_interval: true,
        // CSV has the column even where nothing is flagged, so that a program finds it in each
        // comparison.
        has_flag: true,
        ..Column::new("difference", difference)
    };
    table.push(differences, rows.iter().map(difference_cell));
    let p = rows.iter().map(|row| Cell::maybe(row.p));
    table.push(explained("p", Format::PValue), p);
    if lengths {
        push_lengths(&mut table, rows, difference);
    }
    let counts = rows
        .iter()
        .map(|row| Cell::text(format!("{}/{}/{}", row.wins, row.ties, row.losses)));
    table.push(explained("wins_ties_losses", Format::Text), counts);
    let effects = rows.iter().map(|row| Cell::maybe(row.cohens_dz));
    table.push(explained("cohens_dz", Format::Number(2)), effects);
    let alone = rows
        .iter()
        .map(|row| Cell::estimate(Some(row.difference), row.pointwise));
    table.push(explained("pointwise", difference), alone);
    let p_alone = rows.iter().map(|row| Cell::maybe(row.pointwise_p));
    table.push(explained("pointwise_p", Format::PValue), p_alone);
    Some(table)
}

/// What the table of pairs shows, and what its flags mean.
fn pairs_title(comparison: &Comparison, metric: &MetricComparison) -> String {
    let is_looked_at = metric.pairs.iter().any(|pair| pair.is_at_look);
    let kind = if is_looked_at {
        "repeated"
    } else {
        "simultaneous"
    };
    let mut title = format!(
        "Differences in {} with {kind} {} intervals; * significant",
        metric_name(comparison, metric),
        percent(comparison.options.level)
    );
    if metric.pairs.iter().any(|pair| pair.sensitive) {
        title += ", ! sensitive to missing data";
    }
    if let Some(baseline) = &comparison.options.baseline {
        title += &format!("; pairs with {baseline} (baseline)");
    }
    title
}

fn difference_cell(pair: &PairComparison) -> Cell {
    Cell::estimate(Some(pair.difference), pair.interval).flagged(&pair.flags())
}

/// Adds the length-adjusted difference of each pair, and how many words the answers of its first system have more.
fn push_lengths(table: &mut Table, rows: &[PairComparison], difference: Format) {
    let mut differences = Vec::new();
    let mut words = Vec::new();
    for row in rows {
        let length = row.length.as_ref();
        differences.push(length.map_or(Cell::Missing, |length| {
            Cell::estimate(Some(length.adjusted), Some(length.interval))
        }));
        words.push(Cell::maybe(length.map(|length| length.words)));
    }
    let adjusted = Column {
        has_interval: true,
        ..explained("length_adjusted", difference)
    };
    table.push(adjusted, differences);
    table.push(explained("words_difference", Format::Difference(0)), words);
}
