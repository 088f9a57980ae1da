//! Scores to metrics, agreement and a summary of systems.
//!
//! [`summarize`] makes one row a system from scored answers; [`agreement`] compares two annotators' rubrics. Both
//! follow one rule: what is unscored is counted and told, never a silent 0.

mod agreement;
mod difference;
mod means;
mod metric;
mod reference_order;
mod summarize;
mod summary;

pub use agreement::{Agreement, QuestionAgreement, ReferenceAgreement, agreement};
pub use difference::DifferenceCause;
pub use means::{Column, Means, MeansRow, Unit};
pub use metric::Metric;
pub use summarize::{AggregateOptions, OnUnscored, summarize};
pub use summary::{
    AnswerId, Bounds, CauseCount, Metrics, NoteCount, ReasonCount, ReferenceMeans, SteeringEntry, Summary, SystemRow,
};

#[cfg(test)]
pub(crate) mod made;
#[cfg(test)]
mod summarize_tests;
