//! A figure of recorded runs, and what it is drawn from.

use std::path::{Path, PathBuf};

use clap::Args;

use super::dots::DotPlot;
use super::{Figure, FigureStyle};
use crate::analysis::comparison::{
    Comparison, ComparisonDepth, ComparisonOptions, Observations, SEED,
};
use crate::domain::Note;
use crate::error::{Error, InputFault, Result};
use crate::report::run_warnings;
use crate::runs::RunSet;

/// A figure of recorded runs: it takes numbers from them, and lays them out.
#[derive(Debug, Clone, Copy)]
pub struct RunFigure {
    /// Its name after `--what`.
    pub name: &'static str,
    /// What it shows, for help.
    pub help: &'static str,
    /// The options that it has.
    pub options: &'static [FigureOption],
    /// Draws it. The options of the request are among those that it has. Fails when a run cannot be read, runs are not comparable, a
    /// name is unknown, or nothing can be drawn.
    pub(super) draw: fn(&FigureRequest<'_>) -> Result<DrawnFigure>,
}

/// An option that not every figure has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FigureOption {
    /// `--metric`
    Metric,
    /// `--baseline`
    Baseline,
    /// `--labels`
    Labels,
    /// `--anyway`
    Anyway,
}

/// What of the runs is drawn.
#[derive(Debug, Clone, Default, Args)]
pub struct FigureOptions {
    /// Metric to draw; of labels as in agree [default: the headline metric]
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// Draw only the differences from this system
    #[arg(long, value_name = "SYSTEM")]
    pub baseline: Option<String>,
    /// Files of people's labels, or the directory of a sheet of label, as in agree
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub labels: Vec<PathBuf>,
    /// Draw runs whose judge, prompts, tests or settings differ
    #[arg(long)]
    pub anyway: bool,
}

/// What a figure is drawn from, and how.
#[derive(Debug, Clone, Copy)]
pub struct FigureRequest<'a> {
    /// The directories of the runs.
    pub runs: &'a [PathBuf],
    /// What of them is drawn.
    pub options: &'a FigureOptions,
    /// How.
    pub style: &'a FigureStyle,
}

/// A figure of runs.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawnFigure {
    /// The figure.
    pub figure: Figure,
    /// What it shows, such as `score (%)`.
    pub contents: String,
    /// What its reader must know.
    pub warnings: Vec<Note>,
}

impl FigureRequest<'_> {
    /// The runs.
    pub(super) fn open(&self) -> Result<RunSet> {
        RunSet::open(self.runs, self.options.anyway)
    }

    /// What the runs have of the metric to draw.
    pub(super) fn observe(&self, runs: &RunSet) -> Result<Observations> {
        let mut observations = runs.observe()?;
        let places = match &self.options.metric {
            Some(name) => observations.metrics_named(name)?,
            None => observations.headline(),
        };
        let Some(at) = places.first() else {
            return Err(self.nothing("no scores to draw", "score some answers first"));
        };
        observations.metrics = vec![observations.metrics[*at].clone()];
        Ok(observations)
    }

    /// The means of the metric to draw.
    pub(super) fn compare_means(&self, runs: &RunSet, observations: &Observations) -> Comparison {
        let mut options = ComparisonOptions::seeded(SEED);
        options.depth = ComparisonDepth::Means;
        runs.compare(observations, &options)
    }

    pub(super) fn first_run(&self) -> &Path {
        self.runs.first().map_or(Path::new(""), PathBuf::as_path)
    }

    /// The error that there is nothing to draw, with what to do.
    pub(super) fn nothing(&self, what: &str, hint: &str) -> Error {
        InputFault::new(self.first_run(), what).hint(hint).into()
    }

    /// The plot of a comparison.
    pub(super) fn drawn(&self, plot: DotPlot, comparison: &Comparison) -> Result<DrawnFigure> {
        let Some(figure) = plot.figure(self.style) else {
            return Err(self.nothing(
                "nothing to draw: no system has a value that all share",
                "compare --notes shows what is missing",
            ));
        };
        Ok(DrawnFigure {
            figure,
            contents: plot.axis,
            warnings: run_warnings(comparison),
        })
    }
}
