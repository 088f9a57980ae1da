//! Scores to metrics, agreement and a summary of systems.
//!
//! [`summarize`] makes one row a system from scored answers; [`agreement`] compares two annotators' rubrics. Both
//! follow one rule: what is unscored is counted and told, never a silent 0. [`panel_agreement`] tells how the judges of a
//! panel agree and how much the draws of one judge differ.

mod agreement;
pub mod comparison;
mod metric;
mod panel;
mod questions;
pub mod rater_agreement;
mod ratings;
mod scorecard;
mod section;
mod summarize;
mod summary;

pub use agreement::{Agreement, QuestionAgreement, agreement};
pub use metric::Metric;
pub use panel::{DrawNoise, ItemGroup, PanelAgreement, PanelJudge, Scale, panel_agreement};
pub use ratings::Estimate;
pub use scorecard::{Scorecard, scorecard};
pub use section::{ASPECT_MEAN, CITATION_F1, CITATION_F1_MACRO, Column, Section, SectionMetric, SectionRow};
pub use summarize::{AggregateOptions, OnUnscored, summarize};
pub use summary::{AnswerId, Bounds, Metrics, NoteCount, ReasonCount, SteeringEntry, Summary, SystemRow};

#[cfg(test)]
pub(crate) mod made;
#[cfg(test)]
mod summarize_tests;
