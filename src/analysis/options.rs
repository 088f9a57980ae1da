//! Options of a summary, and names of metrics that several scorers or comparisons use.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::domain::{MAX_GRADE, MIN_GRADE, Mode, Unit};

/// The mean over a system's aspects.
pub const ASPECT_MEAN: &str = "aspect_mean";
/// The harmonic mean of a system's mean citation precision and mean citation recall.
pub const CITATION_F1: &str = "citation_f1";
/// The mean of the answers' own citation F1.
pub const CITATION_F1_MACRO: &str = "citation_f1_macro";
pub(super) const CITATION_PRECISION: &str = "citation_precision";
pub(super) const CITATION_RECALL: &str = "citation_recall";

/// How a component without a value counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnUnscored {
    /// The answer is left out of the mean.
    #[default]
    Exclude,
    /// The component counts as the lowest value of its range.
    Zero,
}

/// How answers are summed up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AggregateOptions {
    /// The mode that the scores were made in.
    pub mode: Mode,
    /// How components without a value count.
    pub on_unscored: OnUnscored,
    /// Seeds the intervals.
    pub seed: u64,
    /// True if the lexical baseline judged the rubric: its scores are then called `lexical_score` and
    /// `lexical_ann_score`.
    pub lexical: bool,
}

/// The lowest and the highest value of a unit.
pub(super) fn range(unit: Unit) -> Option<(f64, f64)> {
    match unit {
        Unit::Share => Some((0.0, 1.0)),
        Unit::Grade => Some((MIN_GRADE, MAX_GRADE)),
        Unit::Count => None,
    }
}
