//! Systems compared over the cases they share: which one scores higher, how certain that is, and what could change it.
//!
//! [`observe`] turns the answers of any runs into [`Observations`], a table of systems and cases for each metric;
//! [`compare`] makes a [`MetricComparison`] of each: means with intervals, every pair tested, groups without a significant
//! difference, ranks over resamples, sensitivity to missing data and to length, noise of the judge. [`Gate`]s demand
//! means and orders of a comparison. Formulas: `docs/metrics.md`, "Comparing systems".

mod compare;
mod gates;
mod length;
mod measure;
mod noise;
mod observations;
mod observe;
mod options;
mod pairs;
mod result;
mod shared;

pub use compare::compare;
pub use gates::{Gate, unmet_gates};
pub use observations::{ComparedCase, MetricId, MetricTable, Observation, Observations, ObservedSystem, unknown_name};
pub use observe::{Asked, RunAnswers, distinct_names, observe};
pub use options::{ComparisonOptions, Floor, GateOptions};
pub use result::{
    ComparedRun, Comparison, JudgeNoise, LengthCorrelation, LengthEffect, LengthOmitted, MetricComparison,
    PairComparison, PairwiseDifference, SamplesNeeded, SystemMean,
};

#[cfg(test)]
mod compare_tests;
#[cfg(test)]
mod observe_tests;
#[cfg(test)]
mod simulation_tests;
