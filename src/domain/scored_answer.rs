//! One answer with its score: what aggregation and reports are made from.

use std::sync::Arc;

use super::{Score, SystemName, TestCase};

/// One answer that has been through a scorer.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoredAnswer {
    /// Who answered.
    pub system: SystemName,
    /// What was answered.
    pub case: Arc<TestCase>,
    /// The score in the run's mode.
    pub score: Score,
    /// What the reference script would have made of the same replies (compat mode), where the run's mode is another.
    pub reference: Option<Score>,
    /// Why the answer looks as if it tried to steer the judge (forged tags, a ready verdict, ..); empty if it does not.
    pub steering: Vec<String>,
}
