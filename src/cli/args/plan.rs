//! Arguments of `plan`.

use std::path::PathBuf;

use clap::Args;

use super::ScoreArgs;
use crate::domain::parse_inner_share;

/// What is planned: a run, or with a pilot run the size of a study. It may hold secrets: it has no `Debug` on purpose.
#[derive(Clone, Args)]
pub struct PlanArgs {
    /// Plan a study from this pilot run: the questions that find a difference between two systems with 80% power
    #[arg(long, value_name = "RUN", group = "study", help_heading = "Study")]
    pub power: Option<PathBuf>,
    /// The difference to find, in the unit of files (0.02 is two points) [default: several]
    #[arg(long, value_name = "D", requires = "power", value_parser = parse_inner_share, help_heading = "Study")]
    pub difference: Option<f64>,
    /// Plan anchors: how exact means on an old judge's scale are, from a run by the new judge and one by the old judge
    #[arg(long, value_names = ["NEW", "OLD"], num_args = 2, group = "study", help_heading = "Study")]
    pub anchors: Vec<PathBuf>,
    /// Plan drawn verdicts: how exact means are that a dear judge's verdicts correct, from the run by a cheap judge
    #[arg(long, value_name = "RUN", group = "study", help_heading = "Study")]
    pub verdicts: Option<PathBuf>,
    /// The half-width to reach, in the unit of files (0.02 is two points)
    #[arg(long, value_name = "W", requires = "verdicts", value_parser = parse_inner_share, help_heading = "Study")]
    pub half_width: Option<f64>,
    /// Metric of the study [default: the headline metric]
    #[arg(long, value_name = "NAME", requires = "study", help_heading = "Study")]
    pub metric: Option<String>,
    /// The run.
    #[command(flatten)]
    pub score: ScoreArgs,
}
