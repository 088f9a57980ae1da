//! Systems compared over the cases they share: which one is better, how sure that is, and what it hangs on.
//!
//! Scored answers become [`Observed`] values, a table of systems and cases for each metric; [`compare`] makes a
//! [`MetricComparison`] of each: means with intervals, every pair tested, groups that cannot be told apart, ranks over
//! resamples, what missing values and length could change, how noisy the judge is. Formulas: `docs/metrics.md`,
//! "Comparing systems".

mod asked;
mod compare;
mod in_common;
mod length;
mod measure;
mod noise;
mod observe;
mod observed;
mod pairs;
mod result;

pub use asked::Asked;
pub use compare::compare;
pub use observe::{RunAnswers, distinct_names, observe};
pub use observed::{ComparedCase, MetricId, Observation, Observed, ObservedSystem};
pub use result::{
    Comparison, ComparisonOptions, DrawsNeeded, InCommon, JudgeNoise, LengthChange, LengthEffect, LengthLeftOut,
    MetricComparison, PairComparison, SystemMean,
};

#[cfg(test)]
mod compare_tests;
#[cfg(test)]
mod observe_tests;
#[cfg(test)]
mod simulation_tests;
