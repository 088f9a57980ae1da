//! `plot --what means`: the systems by their means with intervals, best first.

use super::dots::{Dot, DotPlot, DotRow};
use super::run_figure::{DrawnFigure, FigureOption, FigureRequest, RunFigure};
use crate::analysis::comparison::{MetricComparison, MetricId};
use crate::error::Result;
use crate::report::numbers::unit_name;

pub(super) const FIGURE: RunFigure = RunFigure {
    name: "means",
    help: "systems with intervals",
    options: &[FigureOption::Metric, FigureOption::Anyway],
    draw,
};

fn draw(request: &FigureRequest<'_>) -> Result<DrawnFigure> {
    let runs = request.open()?;
    let comparison = request.compare_means(&runs, &request.observe(&runs)?);
    request.drawn(plot_of(&comparison.metrics[0]), &comparison)
}

fn plot_of(metric: &MetricComparison) -> DotPlot {
    let mut rows = Vec::new();
    for system in &metric.systems {
        if let Some(value) = system.mean {
            rows.push(DotRow {
                label: system.label.clone(),
                less: None,
                dots: vec![Dot {
                    value,
                    interval: system.interval,
                    is_hollow: false,
                }],
            });
        }
    }
    DotPlot {
        axis: axis_name(&metric.metric),
        unit: metric.metric.unit,
        reference: None,
        series: Vec::new(),
        rows,
    }
}

/// `score (%)`
pub(super) fn axis_name(metric: &MetricId) -> String {
    format!("{} ({})", metric.name, unit_name(metric.unit))
}
