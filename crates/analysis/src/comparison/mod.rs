//! Compares systems over their shared cases: means, significance, ranks and sensitivity.
//!
//! [`observe`] turns the answers of runs into [`Observations`], a table of systems and cases per metric; [`compare`]
//! makes a [`MetricComparison`] of each: means with intervals, tests of every pair, groups without a significant
//! difference, ranks over resamples, sensitivity to missing data, and to length. [`Gate`]s check
//! means and orders; a [`ScoreRule`] decides pairs before all questions are asked. Formulas: `docs/metrics.md`, "Comparing systems".

mod compare;
mod games;
mod gates;
mod judge_change;
mod judge_ranks;
mod looks;
mod named_metrics;
mod observations;
mod observe;
mod old_scale;
mod pairs;
mod pairwise;
mod power;
mod result;
mod run_change;
mod samples;
mod self_preference;
mod set_table;
mod shared;

pub use super::quantity::Observation;
pub use compare::compare;
pub use games::Game;
pub use gates::{Gate, GateOptions, GateOutcome, GateResult, REMEDY, drift_gates, gate_results};
pub use judge_change::{JudgeChange, Shift, SwappedPair, SystemShift, judge_changes};
pub use judge_ranks::{
    FEWEST_JUDGES, JudgeOffset, JudgeRanks, SystemOrder, SystemRanks, judge_ranks,
};
pub use looks::{
    Decision, Look, LookSchedule, LookedMetric, PairAtLook, PairDecision, RulePairs, RunLooks,
    ScoreRule,
};
pub use named_metrics::{compare_named, headline_number};
pub use observations::{
    ComparedCase, CorrectedValue, MOST_PAIRS, MetricId, MetricTable, Observations, ObservedSystem,
    pair_count, unknown_name,
};
pub use observe::{RunAnswers, observe};
pub(super) use observe::{metrics_of, tabulate};
pub use old_scale::{
    AnchorPlan, AnchorRow, OldScale, OldScaleMean, ScaleBasis, anchored_scales, carried_scales,
    plan_anchors,
};
pub use pairs::MIN_QUESTIONS;
pub use pairwise::{PairRecord, Pairwise, SystemStrength, pairwise};
pub use power::{PlannedStudy, PowerPlan, plan_power};
pub use result::p_text;
pub use result::{
    ComparedRun, Comparison, ComparisonDepth, ComparisonOptions, JudgedRole, LengthEffect,
    MetricComparison, PairComparison, RunFactor, SEED, SystemMean, VerdictCorrection,
};
pub use run_change::{RunChange, run_changes};
pub(super) use samples::sample_values;
pub use self_preference::{FEWEST_OF_FAMILY, FamilyJudge, SelfPreference, self_preferences};
pub use set_table::SetTable;
pub(super) use shared::{CaseOrder, SharedCases};

#[cfg(test)]
mod compare_tests;
#[cfg(test)]
mod observe_tests;
#[cfg(test)]
mod simulation_tests;
