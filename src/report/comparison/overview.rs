//! Several metrics at a glance: of each the mean of every system with the letters of its groups.

use super::names::fitted;
use super::numbers::short_unit;
use crate::analysis::comparison::{Comparison, MetricComparison};
use crate::report::section_table::shown;
use crate::report::visible::visible;

/// Characters of a line of a system's name above its column.
const HEADING: usize = 16;
/// Between columns.
const GAP: usize = 2;

/// A header and rows.
pub(super) type Grid = (Vec<String>, Vec<Vec<String>>);

/// What stands above.
pub(super) fn title(comparison: &Comparison) -> String {
    let letters = if comparison.metrics.iter().any(|metric| !metric.groups.is_empty()) {
        "\n(of a metric, systems that share a letter are not told apart)"
    } else {
        ""
    };
    format!("overview: means over the cases that all systems share{letters}")
}

/// Rows of metrics and columns of systems, those of the first metric's order; where they are wider than `width`, several
/// tables with the metrics repeated. None for a single metric.
pub(super) fn overview(comparison: &Comparison, width: usize) -> Vec<Grid> {
    let [first, _, ..] = comparison.metrics.as_slice() else { return Vec::new() };
    let labels: Vec<&str> = first.systems.iter().map(|system| system.label.as_str()).collect();
    let letters = comparison.metrics.iter().flat_map(|metric| &metric.systems).map(|own| own.letters.len());
    let most = letters.max().unwrap_or(0);
    let columns: Vec<Vec<String>> = first
        .systems
        .iter()
        .zip(fitted(&labels, HEADING))
        .map(|(system, heading)| {
            let cells = comparison.metrics.iter().map(|metric| cell(metric, system.system, most));
            std::iter::once(heading).chain(cells).collect()
        })
        .collect();
    let heads = heads(comparison);
    let taken: usize = heads.iter().map(|column| widest(column) + GAP).sum();
    let mut grids: Vec<Vec<Vec<String>>> = Vec::new();
    let mut used = 0;
    for column in columns {
        let own = widest(&column) + GAP;
        if grids.is_empty() || used + own > width.saturating_add(GAP) {
            grids.push(heads.clone());
            used = taken;
        }
        used += own;
        if let Some(grid) = grids.last_mut() {
            grid.push(column);
        }
    }
    grids.into_iter().map(transposed).collect()
}

/// The columns before the systems.
fn heads(comparison: &Comparison) -> Vec<Vec<String>> {
    let column = |title: &str, of: &dyn Fn(&MetricComparison) -> String| -> Vec<String> {
        std::iter::once(title.to_owned()).chain(comparison.metrics.iter().map(of)).collect()
    };
    let name = |metric: &MetricComparison| {
        let id = &metric.metric;
        let named = comparison.metrics.iter().filter(|other| other.metric.name == id.name).count();
        let name = if named > 1 { format!("{}.{}", id.scorer, id.name) } else { id.name.clone() };
        visible(&name).into_owned()
    };
    let unit = |metric: &MetricComparison| short_unit(metric.metric.unit).to_owned();
    vec![
        column("metric", &name),
        column("unit", &unit),
        column("n", &|metric: &MetricComparison| metric.cases.len().to_string()),
    ]
}

/// `48.5 ab`, the letters in a column of their own.
fn cell(metric: &MetricComparison, system: usize, most: usize) -> String {
    let Some(own) = metric.systems.iter().find(|own| own.system == system) else { return "-".to_owned() };
    let mean = own.mean.map_or("-".to_owned(), |mean| shown(mean, metric.metric.unit));
    if most == 0 { mean } else { format!("{mean} {:<most$}", own.letters) }
}

fn widest(column: &[String]) -> usize {
    column.iter().flat_map(|cell| cell.lines()).map(|line| line.chars().count()).max().unwrap_or(0)
}

fn transposed(columns: Vec<Vec<String>>) -> Grid {
    let count = columns.first().map_or(0, Vec::len);
    let row = |at: usize| columns.iter().map(|column| column[at].clone()).collect::<Vec<_>>();
    (row(0), (1..count).map(row).collect())
}
