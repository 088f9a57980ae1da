//! One answer with its score: what aggregation and reports are made from.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{CaseId, Score, SystemName, TestCase};

/// One answer that has been through a scorer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScoredAnswer {
    /// Who answered.
    pub system: SystemName,
    /// What was answered; in files its id alone.
    #[serde(rename = "case_id", serialize_with = "case_id", deserialize_with = "bare_case")]
    pub case: Arc<TestCase>,
    /// The score in the run's mode.
    #[serde(flatten)]
    pub score: Score,
    /// What each judge of a panel said in each draw, by component; empty where one judge was asked once.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub members: BTreeMap<Arc<str>, Vec<MemberValues>>,
    /// Why the answer looks as if it tried to steer the judge (forged tags, a ready verdict, ..); empty if it does not.
    pub steering: Vec<String>,
}

impl ScoredAnswer {
    /// The answer of that system with its score, in which every component has a finite value or a reason.
    pub fn new(system: SystemName, case: Arc<TestCase>, score: Score) -> Self {
        Self { system, case, score: score.with_reasons(), members: BTreeMap::new(), steering: Vec::new() }
    }
}

fn case_id<S: Serializer>(case: &TestCase, serializer: S) -> Result<S::Ok, S::Error> {
    case.case_id.serialize(serializer)
}

/// A case of which only the id is known.
fn bare_case<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<TestCase>, D::Error> {
    Ok(Arc::new(TestCase::without_rubric(CaseId::deserialize(deserializer)?, "")))
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
