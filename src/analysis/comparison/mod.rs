//! Systems compared over the cases they share: which one scores higher, how certain that is, and what could change it.
//!
//! [`observe`] turns the answers of any runs into [`Observations`], a table of systems and cases for each metric;
//! [`compare`] makes a [`MetricComparison`] of each: means with intervals, every pair tested, groups without a significant
//! difference, ranks over resamples, sensitivity to missing data and to length, noise of the judge. [`Gate`]s demand
//! means and orders of a comparison. Formulas: `docs/metrics.md`, "Comparing systems".

mod compare;
mod gates;
mod noise;
mod observations;
mod observe;
mod pairs;
mod result;
mod shared;

pub use super::quantity::Observation;
pub use compare::compare;
pub use gates::{Gate, GateOptions, unmet_gates};
pub use observations::{ComparedCase, MetricId, MetricTable, Observations, ObservedSystem, unknown_name};
pub use observe::{RunAnswers, observe};
pub use result::{
    ComparedRun, Comparison, ComparisonOptions, JudgeNoise, LengthEffect, MetricComparison, PairComparison, SystemMean,
};

#[cfg(test)]
mod compare_tests;
#[cfg(test)]
mod observe_tests;
#[cfg(test)]
mod simulation_tests;
