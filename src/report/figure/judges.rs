//! `plot --what judges` and `plot --what prompts`: the systems by their means in each run, best in the first run first.

use super::MOST_SERIES;
use super::dots::{Dot, DotPlot, DotRow};
use super::means::axis_name;
use super::run_figure::{DrawnFigure, FigureOption, FigureRequest, RunFigure};
use crate::analysis::comparison::{MetricComparison, Observations, RunFactor};
use crate::error::{Error, Result};
use crate::runs::RunSet;

pub(super) const JUDGES: RunFigure = RunFigure {
    name: "judges",
    help: "means by the judges of two runs or more",
    options: &[FigureOption::Metric, FigureOption::Anyway],
    draw: |request| draw(request, RunFactor::Judges),
};
pub(super) const PROMPTS: RunFigure = RunFigure {
    name: "prompts",
    help: "means by the prompts of two runs or more",
    draw: |request| draw(request, RunFactor::Prompts),
    ..JUDGES
};

/// The figure of several judges, or of several prompt sets.
pub(crate) fn judges_figure(across: RunFactor) -> RunFigure {
    match across {
        RunFactor::Judges => JUDGES,
        RunFactor::Prompts => PROMPTS,
    }
}

fn draw(request: &FigureRequest<'_>, across: RunFactor) -> Result<DrawnFigure> {
    let runs = RunSet::open_across(request.runs, across, request.options.anyway)?;
    if runs.runs.len() > MOST_SERIES {
        return Err(Error::Usage(format!(
            "--what {}s draws at most {MOST_SERIES} runs, but {} are named",
            across.noun(),
            runs.runs.len()
        )));
    }
    let observations = request.observe(&runs)?;
    let comparison = request.compare_means(&runs, &observations);
    let names = runs.runs.iter().map(|run| run.name.clone());
    let plot = plot_of(&comparison.metrics[0], &observations, names.collect());
    request.drawn(plot, &comparison)
}

/// The means of the systems with one in every run, a series for each run.
fn plot_of(metric: &MetricComparison, all: &Observations, series: Vec<String>) -> DotPlot {
    let mut rows = Vec::new();
    for first in &metric.systems {
        let system = &all.systems[first.system];
        if system.run != 0 {
            continue;
        }
        let mut dots = Vec::new();
        for run in 0..series.len() {
            let mut means = metric.systems.iter();
            let mean = means.find(|mean| {
                let other = &all.systems[mean.system];
                other.run == run && other.system == system.system
            });
            dots.extend(mean.and_then(|mean| mean.mean).map(|value| Dot {
                value,
                interval: None,
                is_hollow: false,
            }));
        }
        if dots.len() == series.len() {
            rows.push(DotRow {
                label: system.system.to_string(),
                less: None,
                dots,
            });
        }
    }
    DotPlot {
        axis: axis_name(&metric.metric),
        unit: metric.metric.unit,
        reference: None,
        series,
        rows,
    }
}
