//! `plot --what judges`: the systems by their means by two judges, best by the old one first.

use super::dots::{Dot, DotPlot, DotRow};
use super::means::axis_name;
use super::run_figure::{DrawnFigure, FigureOption, FigureRequest, RunFigure};
use crate::analysis::comparison::{ComparisonOptions, JudgeChange, SEED};
use crate::error::{Error, Result};
use crate::runs::RunSet;

#[derive(Debug)]
pub(super) struct JudgesFigure;

impl RunFigure for JudgesFigure {
    fn name(&self) -> &'static str {
        "judges"
    }

    fn help(&self) -> &'static str {
        "means by the judges of two runs"
    }

    fn options(&self) -> &'static [FigureOption] {
        &[FigureOption::Metric, FigureOption::Anyway]
    }

    fn draw(&self, request: &FigureRequest<'_>) -> Result<DrawnFigure> {
        let runs = RunSet::open_across_judges(request.runs, request.options.anyway)?;
        if runs.runs.len() != 2 {
            let message = "--what judges draws two runs of the same answers: by the old judge and by the new one";
            return Err(Error::Usage(message.to_owned()));
        }
        let observations = request.observe(&runs)?;
        let comparison = runs.compare_judges(observations, &ComparisonOptions::seeded(SEED))?;
        request.drawn(plot_of(&comparison.judge_changes[0]), &comparison)
    }
}

fn plot_of(change: &JudgeChange) -> DotPlot {
    let mut rows = Vec::new();
    for system in &change.systems {
        let dots = system.means.map(|value| Dot {
            value,
            interval: None,
            is_hollow: false,
        });
        rows.push(DotRow {
            label: system.system.to_string(),
            less: None,
            dots: dots.to_vec(),
        });
    }
    DotPlot {
        axis: axis_name(&change.metric),
        unit: change.metric.unit,
        reference: None,
        series: vec![change.old.clone(), change.new.clone()],
        rows,
    }
}
