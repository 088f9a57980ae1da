//! Analysis of scored answers: means, comparisons, agreement.
//!
//! [`summarize`] gives every scorer's means by system, [`comparison`] tests differences between systems,
//! [`rater_agreement`] compares judges with people, [`probe`] a judge's scores of answers with those of their
//! perturbations, [`agreement`] two annotators' rubrics. Unscored components are counted and reported, never a silent 0.

mod agreement;
pub mod comparison;
mod criteria;
mod headline;
mod panel;
mod probe;
mod probe_effects;
mod quantity;
mod questions;
pub mod rater_agreement;
mod ratings;
mod set_number;
mod summarize;
mod summary;

pub use agreement::{Agreement, QuestionAgreement, agreement};
pub use criteria::{
    Criteria, CriteriaGrid, CriteriaGroup, CriterionMark, CriterionRow, CriterionStatistics,
    Finding, criteria, criteria_grid,
};
pub use headline::{headline, metric_by, row_metrics};
pub use panel::{
    ItemGroup, PanelAgreement, PanelJudge, PanelSeat, SampleNoise, Scale, by_seat, panel_seats,
    sample_noise,
};
pub use probe::{ChangedVerdicts, Probe, Probed, UNCHANGED, may_move, probe};
pub use probe_effects::{ProbeEffect, after_minus_before, probed_system};
pub use quantity::distinct;
pub use quantity::{
    ASPECT_MEAN, CITATION_F1, CITATION_F1_MACRO, MetricColumn, OnUnscored, metric_of,
};
pub use ratings::Estimate;
pub use summarize::summarize;
pub use summary::{
    AggregateOptions, AnswerId, Injection, Metric, NoteCount, ReasonCount, ScorerSummary,
    SharedMean, Summary, SystemSummary,
};

#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub mod test_support;
