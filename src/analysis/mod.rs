//! Scored answers to results: means, comparisons, agreement.
//!
//! [`summarize`] gives the means of every scorer for every system, [`comparison`] tests differences between systems,
//! [`agreement`] compares two annotators' rubrics, [`panel_agreement`] the judges of a panel. What is unscored is counted
//! and named, never a silent 0.

mod agreement;
pub mod comparison;
mod options;
mod panel;
mod questions;
pub mod rater_agreement;
mod ratings;
mod summarize;
mod summary;

pub use agreement::{Agreement, QuestionAgreement, agreement};
pub use options::{ASPECT_MEAN, AggregateOptions, CITATION_F1, CITATION_F1_MACRO, OnUnscored};
pub use panel::{DrawNoise, ItemGroup, PanelAgreement, PanelJudge, Scale, panel_agreement};
pub use ratings::Estimate;
pub use summarize::summarize;
pub use summary::{
    AnswerId, Injection, Metric, MetricColumn, NoteCount, ReasonCount, ScorerSummary, SharedMean, Summary,
    SystemSummary,
};

#[cfg(test)]
pub(crate) mod made;
