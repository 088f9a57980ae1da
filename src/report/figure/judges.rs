//! `plot --what judges` and `plot --what prompts`: the systems by their means in each run, best in the first run first.

use super::MOST_SERIES;
use super::dots::{Dot, DotPlot, DotRow};
use super::means::axis_name;
use super::run_figure::{DrawnFigure, FigureOption, FigureRequest, RunFigure};
use crate::analysis::comparison::{MetricComparison, Observations, RunFactor};
use crate::error::{Error, Result};
use crate::runs::RunSet;

/// The means by several judges, or with several prompt sets.
#[derive(Debug)]
pub(crate) struct JudgesFigure(pub(crate) RunFactor);

impl RunFigure for JudgesFigure {
    fn name(&self) -> &'static str {
        match self.0 {
            RunFactor::Judges => "judges",
            RunFactor::Prompts => "prompts",
        }
    }

    fn help(&self) -> &'static str {
        match self.0 {
            RunFactor::Judges => "means by the judges of two runs or more",
            RunFactor::Prompts => "means by the prompts of two runs or more",
        }
    }

    fn options(&self) -> &'static [FigureOption] {
        &[FigureOption::Metric, FigureOption::Anyway]
    }

    fn draw(&self, request: &FigureRequest<'_>) -> Result<DrawnFigure> {
        let runs = RunSet::open_across(request.runs, self.0, request.options.anyway)?;
        if runs.runs.len() > MOST_SERIES {
            return Err(Error::Usage(format!(
                "--what {} draws at most {MOST_SERIES} runs, but {} are named",
                self.name(),
                runs.runs.len()
            )));
        }
        let observations = request.observe(&runs)?;
        let comparison = request.compare_means(&runs, &observations);
        let names = runs.runs.iter().map(|run| run.name.clone());
        let plot = plot_of(&comparison.metrics[0], &observations, names.collect());
        request.drawn(plot, &comparison)
    }
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
