//! What `plot --what` can draw.

use super::run_figure::{DrawnFigure, FigureOption, FigureRequest, RunFigure};
use super::{criteria, judges, labels, means, pairs, power};
use crate::error::{Error, Result};

/// Every figure of runs.
pub const FIGURES: &[RunFigure] = &[
    means::FIGURE,
    pairs::FIGURE,
    criteria::FIGURE,
    judges::JUDGES,
    judges::PROMPTS,
    labels::FIGURE,
    power::FIGURE,
];

impl FigureRequest<'_> {
    /// Draws this figure.
    ///
    /// # Errors
    /// For an option of another figure; when a run cannot be read, runs are not comparable, a name is unknown, or nothing can be
    /// drawn.
    pub fn draw(&self, figure: &RunFigure) -> Result<DrawnFigure> {
        self.refuse_options_of_others(figure)?;
        (figure.draw)(self)
    }

    /// # Errors
    /// [`Error::Usage`] for an option that this figure does not have: it would be ignored.
    fn refuse_options_of_others(&self, figure: &RunFigure) -> Result<()> {
        let options = self.options;
        for (option, flag, is_given) in [
            (FigureOption::Metric, "--metric", options.metric.is_some()),
            (
                FigureOption::Baseline,
                "--baseline",
                options.baseline.is_some(),
            ),
            (FigureOption::Labels, "--labels", !options.labels.is_empty()),
            (FigureOption::Anyway, "--anyway", options.anyway),
        ] {
            if is_given && !figure.options.contains(&option) {
                let others = FIGURES
                    .iter()
                    .filter(|other| other.options.contains(&option));
                let names: Vec<&str> = others.map(|other| other.name).collect();
                return Err(Error::Usage(format!(
                    "{flag} is for --what {}, not for {}",
                    names.join(", "),
                    figure.name
                )));
            }
        }
        Ok(())
    }
}
