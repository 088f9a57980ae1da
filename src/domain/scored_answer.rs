//! One answer with its score: what aggregation and reports are made from.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

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
    /// What each judge of a panel said in each draw, by component; empty where one judge was asked once.
    pub members: BTreeMap<Arc<str>, Vec<MemberValues>>,
    /// Why the answer looks as if it tried to steer the judge (forged tags, a ready verdict, ..); empty if it does not.
    pub steering: Vec<String>,
}

/// What one judge of a panel made of one component.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemberValues {
    /// Its identity.
    pub judge: Arc<str>,
    /// Its draws merged; `None` if none could be read.
    pub value: Option<f64>,
    /// Its draws in order; `None` for one that could not be read.
    pub draws: Vec<Option<f64>>,
    /// Standard deviation of the readable draws (n - 1 in the divisor); `None` for fewer than two.
    pub spread: Option<f64>,
}
