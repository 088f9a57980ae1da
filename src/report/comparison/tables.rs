//! The tables of a comparison.

use super::pairwise::push_strengths;
use crate::analysis::comparison::{Comparison, MetricComparison, PairComparison};
use crate::domain::SubjectKind;
use crate::report::layout::counted;
use crate::report::legend::COMPARISON_LEGEND;
use crate::report::numbers::{percent, unit_name};
use crate::report::table::{Cell, Column, Format, Table};

/// The metric's name, with its scorer's if two scorers have a metric of that name.
pub(in crate::report) fn metric_name(comparison: &Comparison, metric: &MetricComparison) -> String {
    let id = &metric.metric;
    let metrics = comparison.metrics.iter();
    let same = metrics.filter(|other| other.metric.name == id.name);
    if same.count() > 1 {
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
    table.column(Column::text("system"), rows, |row| &row.label);
    let mean = Column::new("mean", Format::of_mean(metric.metric.unit));
    table.column(mean, rows, |row| Cell::estimate(row.mean, row.interval));
    if !metric.groups.is_empty() {
        table.column(explained("group", Format::Text), rows, |row| &row.letters);
    }
    if let Some(pairwise) = &comparison.pairwise {
        push_strengths(&mut table, pairwise);
    }
    push_ranked_first(&mut table, metric);
    // A system without a value is not compared, and has no part in the shared cases.
    let cases = explained("cases", Format::Count);
    table.column(cases, rows, |row| match (row.mean, comparison.subject) {
        (Some(_), SubjectKind::Answer) => metric.cases.len(),
        // A win rate is from all that the system has.
        (Some(_), SubjectKind::Pair) => row.own_cases,
        (None, _) => 0,
    });
    table.column(explained("unscored", Format::Count), rows, |row| {
        row.unscored
    });
    if rows.iter().any(|row| row.missing > 0) {
        table.column(explained("missing", Format::Count), rows, |row| row.missing);
    }
    table
}

/// The column of this key with its heading and meaning.
fn explained(key: &str, format: Format) -> Column {
    COMPARISON_LEGEND.column(key, format)
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
    // Systems without a value are below the others, and have no rank.
    let shares = (0..metric.systems.len()).map(|at| ranks.get(at)?.first().copied());
    table.push(explained("first", Format::Percent), shares.map(Cell::from));
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
    let label = |rank: usize| &metric.systems[rank].label;
    let difference = Format::of_difference(metric.metric.unit);
    let mut table = Table::new(pairs_title(comparison, metric), Vec::new());
    table.column(Column::text("system"), rows, |row| label(row.first));
    table.column(Column::text("against"), rows, |row| label(row.second));
    let differences = Column {
        has_interval: true,
        // CSV has the column even where nothing is flagged, so that a program finds it in each
        // comparison.
        has_flag: true,
        ..Column::new("difference", difference)
    };
    table.column(differences, rows, |row| {
        Cell::from((row.difference, row.interval)).flagged(&row.flags())
    });
    table.column(explained("p", Format::PValue), rows, |row| row.p);
    if lengths {
        push_lengths(&mut table, rows, difference);
    }
    table.column(explained("wins_ties_losses", Format::Text), rows, |row| {
        format!("{}/{}/{}", row.wins, row.ties, row.losses)
    });
    let effect = explained("cohens_dz", Format::Number(2));
    table.column(effect, rows, |row| row.cohens_dz);
    let alone = explained("pointwise", difference);
    table.column(alone, rows, |row| (row.difference, row.pointwise));
    let p_alone = explained("pointwise_p", Format::PValue);
    table.column(p_alone, rows, |row| row.pointwise_p);
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

/// Adds the length-adjusted difference of each pair, and how many words the answers of its first system have more.
fn push_lengths(table: &mut Table, rows: &[PairComparison], difference: Format) {
    let adjusted = Column {
        has_interval: true,
        ..explained("length_adjusted", difference)
    };
    table.column(adjusted, rows, |row| {
        let length = row.length.as_ref();
        length.map(|length| (length.adjusted, Some(length.interval)))
    });
    let words = explained("words_difference", Format::Difference(0));
    table.column(words, rows, |row| Some(row.length.as_ref()?.words));
}
