//! The plots of results: means, differences of pairs, two judges.

use super::dots::{Dot, DotPlot, DotRow};
use crate::analysis::comparison::{JudgeChange, MetricComparison, MetricId, PairComparison};
use crate::report::numbers::unit_name;
use crate::stats::Interval;

/// The systems by their means with intervals, best first.
pub fn plot_of_means(metric: &MetricComparison) -> DotPlot {
    let mut rows = Vec::new();
    for system in &metric.systems {
        if let Some(value) = system.mean {
            rows.push(DotRow {
                label: system.label.clone(),
                dots: vec![Dot {
                    value,
                    interval: system.interval,
                    is_hollow: false,
                }],
            });
        }
    }
    DotPlot {
        axis: axis_of(&metric.metric),
        unit: metric.metric.unit,
        reference: None,
        series: Vec::new(),
        rows,
    }
}

/// The differences of pairs with simultaneous intervals; hollow dots are not significant. With a baseline each other system less
/// it, best first.
pub fn plot_of_pairs(metric: &MetricComparison, baseline: Option<&str>) -> DotPlot {
    let pairs = metric.pairs.iter();
    let mut rows: Vec<DotRow> = pairs
        .map(|pair| row_of_pair(metric, pair, baseline))
        .collect();
    rows.sort_by(|a, b| b.dots[0].value.total_cmp(&a.dots[0].value));
    let axis = match baseline {
        Some(baseline) => format!("{}, difference from {baseline}", axis_of(&metric.metric)),
        None => format!("{}, difference", axis_of(&metric.metric)),
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
        (second.clone(), opposite(difference))
    } else if baseline.is_some() {
        (first.clone(), difference)
    } else {
        (format!("{first} – {second}"), difference)
    };
    DotRow {
        label,
        dots: vec![dot],
    }
}

/// The difference of the same pair in the other order.
fn opposite(dot: Dot) -> Dot {
    Dot {
        value: -dot.value,
        interval: dot.interval.map(|own| Interval {
            low: -own.high,
            high: -own.low,
        }),
        ..dot
    }
}

/// The systems by their means by two judges, best by the old one first.
pub fn plot_of_judges(change: &JudgeChange) -> DotPlot {
    let mut rows = Vec::new();
    for system in &change.systems {
        let dots = system.means.map(|value| Dot {
            value,
            interval: None,
            is_hollow: false,
        });
        rows.push(DotRow {
            label: system.system.to_string(),
            dots: dots.to_vec(),
        });
    }
    DotPlot {
        axis: axis_of(&change.metric),
        unit: change.metric.unit,
        reference: None,
        series: vec![change.old.clone(), change.new.clone()],
        rows,
    }
}

/// `score (%)`
fn axis_of(metric: &MetricId) -> String {
    format!("{} ({})", metric.name, unit_name(metric.unit))
}
