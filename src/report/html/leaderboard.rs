//! A metric's table of systems: means with intervals drawn, ranks, what is missing, what length does.

use serde::Serialize;

use super::axis::{Axis, Tick};
use super::figures::{coefficient_range, difference_unit, number, range};
use super::pairs::{Pairs, pairs};
use crate::analysis::comparison::{Comparison, JudgeNoise, MetricComparison, MetricId, SystemMean};
use crate::domain::Unit;
use crate::report::comparison::unit_name;
use crate::report::visible;

/// One metric as the template shows it.
#[derive(Debug, Serialize)]
pub(super) struct MetricView {
    /// What it is called in the page's address.
    key: String,
    /// What it is called for readers.
    name: String,
    scorer: String,
    unit: &'static str,
    /// Whether it is the one shown first.
    first: bool,
    cases: usize,
    /// Of how many, where those are not all.
    cases_in_all: Option<usize>,
    questions: usize,
    level: String,
    ticks: Vec<Tick>,
    rows: Vec<Row>,
    has_letters: bool,
    has_bounds: bool,
    has_length: bool,
    pairs: Pairs,
    ranks: Vec<RankRow>,
    noise: Vec<Fact>,
    notes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Row {
    label: String,
    /// Which colour the system has.
    colour: usize,
    rank: String,
    letters: String,
    mean: Option<Mean>,
    own: String,
    own_cases: usize,
    /// Whether the own mean is over other cases than the shared ones.
    own_differs: bool,
    unscored: usize,
    absent: usize,
    bounds: Option<String>,
    bounds_at: Option<(f64, f64)>,
    length: Option<String>,
}

#[derive(Debug, Serialize)]
struct Mean {
    text: String,
    at: f64,
    interval: Option<String>,
    low: f64,
    high: f64,
}

#[derive(Debug, Serialize)]
struct RankRow {
    label: String,
    colour: usize,
    cells: Vec<RankCell>,
}

#[derive(Debug, Serialize)]
struct RankCell {
    text: String,
    /// 0 to 10.
    shade: u8,
}

/// A name with what it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Fact {
    pub(super) name: String,
    pub(super) value: String,
}

impl Fact {
    pub(super) fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into() }
    }
}

/// How a metric is called in the page: its name, with the scorer's where two scorers have one of that name.
pub(super) fn metric_key(metric: &MetricId, comparison: &Comparison) -> String {
    let named = comparison.metrics.iter().filter(|other| other.metric.name == metric.name).count();
    if named > 1 { format!("{}.{}", metric.scorer, metric.name) } else { metric.name.clone() }
}

/// The metrics, and which of them is first.
pub(super) fn metric_views(comparison: &Comparison, first: usize) -> Vec<MetricView> {
    let view = |(at, metric)| metric_view(comparison, metric, at == first);
    comparison.metrics.iter().enumerate().map(view).collect()
}

fn metric_view(comparison: &Comparison, metric: &MetricComparison, first: bool) -> MetricView {
    let unit = metric.metric.unit;
    let drawn = metric.systems.iter().flat_map(|row| {
        let ends = [row.interval, row.bounds].into_iter().flatten().flat_map(|(low, high)| [low, high]);
        row.mean.into_iter().chain(ends)
    });
    let axis = Axis::around(drawn);
    let wanted = comparison.options.wanted_difference.is_some();
    let key = metric_key(&metric.metric, comparison);
    MetricView {
        name: visible(&key).into_owned(),
        key,
        scorer: visible(&metric.metric.scorer).into_owned(),
        unit: unit_name(unit),
        first,
        cases: metric.cases.len(),
        cases_in_all: Some(metric.cases_in_all).filter(|all| *all != metric.cases.len()),
        questions: metric.questions,
        level: format!("{:.0}%", 100.0 * comparison.options.level),
        ticks: axis.map(|axis| axis.ticks(unit)).unwrap_or_default(),
        rows: metric.systems.iter().map(|row| row_of(row, unit, axis, metric.cases.len())).collect(),
        has_letters: metric.systems.iter().any(|row| !row.letters.is_empty()),
        has_bounds: metric.systems.iter().any(|row| row.bounds.is_some()),
        has_length: metric.systems.iter().any(|row| row.length_correlation.is_some()),
        pairs: pairs(metric),
        ranks: ranks(metric),
        noise: metric.noise.as_ref().map(|noise| noise_facts(noise, unit, wanted)).unwrap_or_default(),
        notes: metric.notes.iter().map(|note| visible(note).into_owned()).collect(),
    }
}

fn row_of(row: &SystemMean, unit: Unit, axis: Option<Axis>, shared: usize) -> Row {
    let at = |value: f64| axis.map_or(0.0, |axis| axis.at(value));
    let mean = row.mean.map(|mean| {
        let (low, high) = row.interval.unwrap_or((mean, mean));
        let interval = row.interval.map(|ends| range(ends, unit));
        Mean { text: number(mean, unit), at: at(mean), interval, low: at(low), high: at(high) }
    });
    let length = row.length_correlation.map(|(rho, interval)| coefficient_range(rho, interval));
    Row {
        label: visible(&row.label).into_owned(),
        colour: row.system % 10,
        rank: row.rank.map_or_else(|| "\u{2013}".to_owned(), |rank| rank.to_string()),
        letters: row.letters.clone(),
        mean,
        own: row.own_mean.map_or_else(|| "\u{2013}".to_owned(), |mean| number(mean, unit)),
        own_cases: row.own_cases,
        own_differs: row.own_cases != shared,
        unscored: row.unscored,
        absent: row.absent,
        bounds: row.bounds.map(|bounds| range(bounds, unit)),
        bounds_at: row.bounds.map(|(low, high)| (at(low), at(high))),
        length,
    }
}

fn ranks(metric: &MetricComparison) -> Vec<RankRow> {
    let cell = |share: &f64| RankCell {
        text: if *share == 0.0 { "\u{b7}".to_owned() } else { per_cent(*share) },
        shade: (10.0 * share).round().clamp(0.0, 10.0) as u8,
    };
    let rows = metric.ranks.iter().flatten().zip(&metric.systems);
    rows.map(|(shares, row)| RankRow {
        label: visible(&row.label).into_owned(),
        colour: row.system % 10,
        cells: shares.iter().map(cell).collect(),
    })
    .collect()
}

/// Whole per cent, but nothing that happened is 0 and nothing that may not happen is 100.
fn per_cent(share: f64) -> String {
    match 100.0 * share {
        part if part < 0.5 => "<1%".to_owned(),
        part if part > 99.5 && share < 1.0 => ">99%".to_owned(),
        part => format!("{part:.0}%"),
    }
}

/// A distance between means, with what it is in.
fn in_points(value: f64, unit: Unit) -> String {
    format!("{} {}", number(value, unit), difference_unit(unit))
}

fn noise_facts(noise: &JudgeNoise, unit: Unit, wanted: bool) -> Vec<Fact> {
    let parts = &noise.components;
    let known = [
        ("between questions", Some(parts.question)),
        ("between judges", parts.judge),
        ("judges that differ by question", parts.question_judge),
        ("draws of one judge on one question", Some(parts.draw)),
    ];
    let total: f64 = known.iter().filter_map(|(_, variance)| *variance).map(|variance| variance.max(0.0)).sum();
    let many = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let asked = format!("{}, at most {} each", many(noise.judges, "judge"), many(noise.draws, "draw"));
    let mut facts = vec![Fact::new("asked", asked)];
    facts.extend(known.into_iter().filter_map(|(name, variance)| {
        let variance = variance?.max(0.0);
        let share =
            if total > 0.0 { format!(" ({:.0}% of the variance)", 100.0 * variance / total) } else { String::new() };
        Some(Fact::new(name, format!("SD {}{share}", in_points(variance.sqrt(), unit))))
    }));
    let difference = |name: &str, value: Option<f64>| Some(Fact::new(name, in_points(value?, unit)));
    facts.extend(difference("standard error of a mean by drawing anew", noise.draw_standard_error));
    facts.extend(difference("smallest difference resolved (80% power)", noise.detectable));
    if let Some(needed) = &noise.needed {
        let why = if wanted { "" } else { ", that of the first two systems" };
        let count =
            |count: Option<usize>| count.map_or_else(|| "no number is enough".to_owned(), |count| count.to_string());
        facts.push(Fact::new(
            format!("to find a difference of {}{why}", in_points(needed.difference, unit)),
            format!("draws: {}; or questions: {}", count(needed.draws), count(needed.questions)),
        ));
    }
    facts
}
