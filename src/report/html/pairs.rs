//! The matrix of pairs, and every pair in full.

use serde::Serialize;

use super::figures::{coefficient, difference_unit, probability, signed, signed_range};
use crate::analysis::comparison::{LengthChange, MetricComparison, PairComparison};
use crate::report::comparison::marks;
use crate::report::visible;

/// All pairs of a metric.
#[derive(Debug, Serialize)]
pub(super) struct Pairs {
    unit: &'static str,
    matrix: Vec<MatrixRow>,
    list: Vec<PairView>,
    has_missing: bool,
    has_length: bool,
    /// Whether higher is better; if not, nobody is called better.
    directed: bool,
}

#[derive(Debug, Serialize)]
struct MatrixRow {
    label: String,
    colour: usize,
    cells: Vec<Option<Cell>>,
}

/// Row minus column.
#[derive(Debug, Serialize)]
struct Cell {
    /// Its place in the list of pairs.
    pair: usize,
    /// Places among all systems, as the heat map knows them.
    first: usize,
    second: usize,
    difference: String,
    p: String,
    /// `better`, `worse`, `higher`, `lower` or `open`.
    verdict: &'static str,
    /// The whole of it in words.
    words: String,
    /// `*` where told apart, `!` where what is missing could change that.
    marks: &'static str,
}

#[derive(Debug, Serialize)]
struct PairView {
    first: String,
    second: String,
    difference: String,
    interval: String,
    p: String,
    p_holm: String,
    marks: &'static str,
    differs: bool,
    record: String,
    dz: String,
    delta: String,
    detectable: String,
    missing: String,
    depends: bool,
    length: String,
    length_changes: bool,
}

pub(super) fn pairs(metric: &MetricComparison) -> Pairs {
    let row = |at: usize| MatrixRow {
        label: visible(&metric.systems[at].label).into_owned(),
        colour: metric.systems[at].system % 10,
        cells: (0..metric.systems.len()).map(|other| cell(metric, at, other)).collect(),
    };
    let matrix = if metric.pairs.is_empty() { Vec::new() } else { (0..metric.systems.len()).map(row).collect() };
    Pairs {
        unit: difference_unit(metric.metric.unit),
        matrix,
        list: metric.pairs.iter().map(|pair| view(metric, pair)).collect(),
        has_missing: metric.pairs.iter().any(|pair| pair.missing_bounds.is_some() || pair.is_open_to_change()),
        has_length: metric.pairs.iter().any(|pair| pair.length.is_some()),
        directed: metric.metric.higher_is_better,
    }
}

fn cell(metric: &MetricComparison, row: usize, column: usize) -> Option<Cell> {
    let at = |first, second| metric.pairs.iter().position(|pair| (pair.first, pair.second) == (first, second));
    let (place, sign) = at(row, column).map(|place| (place, 1.0)).or_else(|| at(column, row).map(|at| (at, -1.0)))?;
    let pair = &metric.pairs[place];
    let verdict = match (pair.differs, metric.metric.higher_is_better, sign * pair.difference > 0.0) {
        (false, _, _) => "open",
        (true, true, true) => "better",
        (true, true, false) => "worse",
        (true, false, true) => "higher",
        (true, false, false) => "lower",
    };
    Some(Cell {
        pair: place,
        first: metric.systems[row].system,
        second: metric.systems[column].system,
        difference: signed(sign * pair.difference, metric.metric.unit),
        p: pair.p_holm.or(pair.p).map(probability).unwrap_or_default(),
        verdict,
        words: words(metric, pair),
        marks: marks(pair),
    })
}

fn name(metric: &MetricComparison, system: usize) -> String {
    visible(&metric.systems[system].label).into_owned()
}

fn view(metric: &MetricComparison, pair: &PairComparison) -> PairView {
    let unit = metric.metric.unit;
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "\u{2013}".to_owned());
    let length = pair
        .length
        .as_ref()
        .map(|length| format!("{} {}", signed(length.at_equal_length, unit), signed_range(length.interval, unit)));
    let exact = if pair.exact { " (exact)" } else { "" };
    PairView {
        first: name(metric, pair.first),
        second: name(metric, pair.second),
        difference: signed(pair.difference, unit),
        interval: or_dash(pair.interval.map(|ends| signed_range(ends, unit))),
        p: or_dash(pair.p.map(|p| probability(p) + exact)),
        p_holm: or_dash(pair.p_holm.map(probability)),
        marks: marks(pair),
        differs: pair.differs,
        record: format!("{} / {} / {}", pair.wins, pair.ties, pair.losses),
        dz: or_dash(pair.cohens_dz.map(coefficient)),
        delta: or_dash(pair.cliffs_delta.map(coefficient)),
        detectable: or_dash(pair.detectable.map(|value| super::figures::number(value, unit))),
        missing: or_dash(pair.missing_bounds.map(|ends| signed_range(ends, unit))),
        depends: pair.depends_on_missing,
        length: or_dash(length),
        length_changes: pair.length.as_ref().is_some_and(|length| length.change.is_some()),
    }
}

/// What is shown when a cell of the matrix is pointed at.
fn words(metric: &MetricComparison, pair: &PairComparison) -> String {
    let unit = metric.metric.unit;
    let view = view(metric, pair);
    let verdict = if pair.differs { "told apart" } else { "not told apart" };
    let mut words = format!("{} \u{2212} {}: {} {}", view.first, view.second, view.difference, difference_unit(unit));
    let mut add = |text: String| words.push_str(&text);
    if pair.interval.is_some() {
        add(format!(" {}", view.interval));
    }
    if let Some(p) = pair.p_holm {
        add(format!("; p {} after Holm, {verdict}", probability(p)));
    }
    add(format!("; {} wins, {} ties, {} losses", pair.wins, pair.ties, pair.losses));
    if let Some(dz) = pair.cohens_dz {
        add(format!("; d_z {}", coefficient(dz)));
    }
    if pair.length.is_some() {
        let change = match pair.length.as_ref().and_then(|length| length.change) {
            Some(LengthChange::HoldsZero) => ", which holds 0",
            Some(LengthChange::NoLongerHoldsZero) => ", which no longer holds 0",
            Some(LengthChange::OtherSide) => ", on the other side of 0",
            None => "",
        };
        add(format!("; at equal length {}{change}", view.length));
    }
    if pair.depends_on_missing {
        add("; what is missing could change the verdict".to_owned());
    }
    if let Some(own) = pair.in_common.filter(|own| own.changes_verdict) {
        let difference = signed(own.difference, unit);
        add(format!("; over the {} cases that these two share it is {difference}, and the verdict another", own.cases));
    }
    words
}
