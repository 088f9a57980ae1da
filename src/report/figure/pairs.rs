//! `plot --what pairs`: the differences of pairs with simultaneous intervals; hollow dots are not significant.

use super::dots::{Dot, DotPlot, DotRow};
use super::means::axis_name;
use super::run_figure::{DrawnFigure, FigureOption, FigureRequest, RunFigure};
use crate::analysis::comparison::{
    ComparisonDepth, ComparisonOptions, MetricComparison, PairComparison, SEED, pair_count,
};
use crate::error::{Error, Result};
use crate::stats::Interval;

/// Rows at most: more do not fit a page.
const MOST_ROWS: usize = 60;

pub(super) const FIGURE: RunFigure = RunFigure {
    name: "pairs",
    help: "differences with intervals",
    options: &[
        FigureOption::Metric,
        FigureOption::Baseline,
        FigureOption::Anyway,
    ],
    draw,
};

fn draw(request: &FigureRequest<'_>) -> Result<DrawnFigure> {
    let runs = request.open()?;
    let observations = request.observe(&runs)?;
    let baseline = match &request.options.baseline {
        Some(name) => Some(observations.system_named(name)?.to_owned()),
        None => None,
    };
    let pairs = pair_count(observations.systems.len(), baseline.is_some());
    if pairs > MOST_ROWS {
        return Err(Error::Settings(format!(
            "{pairs} pairs have no room in a figure; --baseline SYSTEM draws those of one system"
        )));
    }
    let mut options = ComparisonOptions::seeded(SEED);
    options.depth = ComparisonDepth::Verdicts;
    options.baseline.clone_from(&baseline);
    let comparison = runs.compare(&observations, &options);
    request.drawn(
        plot_of(&comparison.metrics[0], baseline.as_deref()),
        &comparison,
    )
}

/// All pairs; with a baseline each other system less it. The largest difference is first.
fn plot_of(metric: &MetricComparison, baseline: Option<&str>) -> DotPlot {
    let pairs = metric.pairs.iter();
    let rows = pairs.map(|pair| row_of_pair(metric, pair, baseline));
    let mut rows: Vec<DotRow> = rows.collect();
    rows.sort_by(|a, b| b.dots[0].value.total_cmp(&a.dots[0].value));
    let axis = match baseline {
        Some(baseline) => format!("{}, difference from {baseline}", axis_name(&metric.metric)),
        None => format!("{}, difference", axis_name(&metric.metric)),
    };
    DotPlot {
        axis,
        unit: metric.metric.unit,
        reference: Some(0.0),
        series: Vec::new(),
        rows,
    }
}

/// The difference of a pair: the better system less the other one, or the other system less the baseline.
fn row_of_pair(metric: &MetricComparison, pair: &PairComparison, baseline: Option<&str>) -> DotRow {
    let first = &metric.systems[pair.first].label;
    let second = &metric.systems[pair.second].label;
    let difference = Dot {
        value: pair.difference,
        interval: pair.interval,
        is_hollow: !pair.differs,
    };
    let (label, dot) = if baseline == Some(first) {
        (second, opposite(difference))
    } else {
        (first, difference)
    };
    DotRow {
        label: label.clone(),
        // The axis names the baseline.
        less: baseline.is_none().then(|| second.clone()),
        dots: vec![dot],
    }
}

/// The difference of the same pair in the other order.
fn opposite(dot: Dot) -> Dot {
    Dot {
        value: -dot.value,
        interval: dot.interval.map(Interval::negated),
        ..dot
    }
}
