//! A metric as the template shows it: its systems with intervals drawn, the matrix of pairs, and tables.

use serde::Serialize;

use super::axis::{Axis, Tick};
use crate::analysis::comparison::{Comparison, MetricComparison, MetricId, SystemMean};
use crate::report::comparison::{metric_notes, pairs_table};
use crate::report::table::{Cell, Format, Table};
use crate::stats::Interval;

/// One metric.
#[derive(Debug, Serialize)]
pub(super) struct MetricView {
    /// Its name in the page's address.
    key: String,
    scorer: String,
    /// Whether it is the one shown first.
    first: bool,
    cases: usize,
    cases_in_all: usize,
    questions: usize,
    ticks: Vec<Tick>,
    rows: Vec<Row>,
    has_letters: bool,
    has_ranks: bool,
    matrix: Vec<MatrixRow>,
    /// Whether higher is better; if not, no system is called better.
    directed: bool,
    tables: Vec<TableView>,
    notes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Row {
    label: String,
    color: usize,
    rank: String,
    letters: String,
    best: String,
    mean: String,
    interval: String,
    /// Mean and ends of the interval on the axis.
    at: Option<[f64; 3]>,
    own: String,
    own_cases: usize,
    unscored: usize,
    missing: usize,
}

#[derive(Debug, Serialize)]
struct MatrixRow {
    label: String,
    color: usize,
    cells: Vec<Option<MatrixCell>>,
}

/// Row minus column.
#[derive(Debug, Serialize)]
struct MatrixCell {
    /// Places among all systems, as the table of cases has them.
    first: usize,
    second: usize,
    difference: String,
    p: String,
    /// `better`, `worse`, `higher`, `lower` or `open`.
    verdict: &'static str,
    /// The cell in words.
    words: String,
    flags: &'static str,
}

/// The name of a metric in the page, with the scorer's where two scorers have one of that name.
pub(super) fn metric_key(metric: &MetricId, comparison: &Comparison) -> String {
    let named = comparison.metrics.iter().filter(|other| other.metric.name == metric.name).count();
    if named > 1 { format!("{}.{}", metric.scorer, metric.name) } else { metric.name.clone() }
}

/// The metrics; `first` is shown first.
pub(super) fn metric_views(comparison: &Comparison, first: usize) -> Vec<MetricView> {
    let view = |(at, metric): (usize, &MetricComparison)| {
        let drawn = metric.systems.iter().flat_map(|row| {
            let ends = row.interval.into_iter().flat_map(|ends| [ends.low, ends.high]);
            row.mean.into_iter().chain(ends)
        });
        let axis = Axis::around(drawn);
        MetricView {
            key: metric_key(&metric.metric, comparison),
            scorer: metric.metric.scorer.clone(),
            first: at == first,
            cases: metric.cases.len(),
            cases_in_all: metric.cases_in_all,
            questions: metric.questions,
            ticks: axis.map(|axis| axis.ticks(metric.metric.unit)).unwrap_or_default(),
            rows: metric.systems.iter().enumerate().map(|(at, row)| row_of(metric, at, row, axis)).collect(),
            has_letters: metric.systems.iter().any(|row| !row.letters.is_empty()),
            has_ranks: metric.ranks.is_some(),
            matrix: matrix(metric),
            directed: metric.metric.higher_is_better,
            tables: pairs_table(comparison, metric).iter().map(TableView::of).collect(),
            notes: metric_notes(metric).into_iter().map(|note| note.text).collect(),
        }
    };
    comparison.metrics.iter().enumerate().map(view).collect()
}

fn row_of(metric: &MetricComparison, place: usize, row: &SystemMean, axis: Option<Axis>) -> Row {
    let format = Format::of_mean(metric.metric.unit);
    let dash = |text: Option<String>| text.unwrap_or_else(|| "\u{2013}".to_owned());
    let at = row.mean.zip(axis).map(|(mean, axis)| {
        let Interval { low, high } = row.interval.unwrap_or(Interval { low: mean, high: mean });
        [mean, low, high].map(|value| axis.at(value))
    });
    let best = metric.ranks.as_ref().and_then(|ranks| ranks.get(place)?.first().copied());
    Row {
        label: row.label.clone(),
        color: row.system % 10,
        rank: dash(row.rank.map(|rank| rank.to_string())),
        letters: row.letters.clone(),
        best: dash(best.map(|share| Format::Percent.show(share))),
        mean: dash(row.mean.map(|mean| format.show(mean))),
        interval: dash(row.interval.map(|interval| format.show_interval(interval))),
        at,
        own: dash(row.own_mean.map(|mean| format.show(mean))),
        own_cases: row.own_cases,
        unscored: row.unscored,
        missing: row.missing,
    }
}

fn matrix(metric: &MetricComparison) -> Vec<MatrixRow> {
    if metric.pairs.is_empty() {
        return Vec::new();
    }
    let places = 0..metric.systems.len();
    let row = |(at, system): (usize, &SystemMean)| MatrixRow {
        label: system.label.clone(),
        color: system.system % 10,
        cells: places.clone().map(|other| matrix_cell(metric, at, other)).collect(),
    };
    metric.systems.iter().enumerate().map(row).collect()
}

fn matrix_cell(metric: &MetricComparison, row: usize, column: usize) -> Option<MatrixCell> {
    let pair = metric.pairs.iter().find(|pair| [(row, column), (column, row)].contains(&(pair.first, pair.second)))?;
    let sign = if pair.first == row { 1.0 } else { -1.0 };
    let verdict = match (pair.differs, metric.metric.higher_is_better, sign * pair.difference > 0.0) {
        (false, ..) => "open",
        (true, true, true) => "better",
        (true, true, false) => "worse",
        (true, false, true) => "higher",
        (true, false, false) => "lower",
    };
    let format = Format::of_difference(metric.metric.unit);
    let p = pair.p_holm.or(pair.p).map(|p| Format::PValue.show(p)).unwrap_or_default();
    let [first, second] = [pair.first, pair.second].map(|place| metric.systems[place].label.as_str());
    let significant = if pair.differs { "significant" } else { "not significant" };
    Some(MatrixCell {
        first: metric.systems[row].system,
        second: metric.systems[column].system,
        difference: with_minus(&format.show(sign * pair.difference)),
        words: with_minus(&format!(
            "{first} minus {second}: {}, p {p} (Holm): {significant}; {} wins, {} ties, {} losses",
            format.show_estimate(pair.difference, pair.interval),
            pair.wins,
            pair.ties,
            pair.losses
        )),
        p,
        verdict,
        flags: pair.flags(),
    })
}

/// The text of a number with a true minus.
fn with_minus(text: &str) -> String {
    text.replace(" -", " \u{2212}").replace("[-", "[\u{2212}").replacen(
        '-',
        "\u{2212}",
        usize::from(text.starts_with('-')),
    )
}

/// A [`Table`] for the template.
#[derive(Debug, Serialize)]
pub(super) struct TableView {
    title: String,
    columns: Vec<ColumnView>,
    rows: Vec<Vec<CellView>>,
}

#[derive(Debug, Serialize)]
struct ColumnView {
    heading: String,
    is_number: bool,
}

#[derive(Debug, Default, Serialize)]
struct CellView {
    text: String,
    interval: Option<String>,
}

impl TableView {
    pub(super) fn of(table: &Table) -> Self {
        let cell = |(cell, column): (&Cell, &crate::report::table::Column)| match cell {
            Cell::Text(text) => CellView { text: text.clone(), interval: None },
            Cell::Missing => CellView { text: "\u{2013}".to_owned(), interval: None },
            Cell::Value { value, interval, flag } => CellView {
                text: with_minus(&(column.format.show(*value) + flag)),
                interval: interval.map(|interval| with_minus(&column.format.show_interval(interval))),
            },
        };
        Self {
            title: table.title.clone(),
            columns: table
                .columns
                .iter()
                .map(|column| ColumnView { heading: column.heading.clone(), is_number: column.format != Format::Text })
                .collect(),
            rows: table.rows.iter().map(|row| row.iter().zip(&table.columns).map(cell).collect()).collect(),
        }
    }
}
