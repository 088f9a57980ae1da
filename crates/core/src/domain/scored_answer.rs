//! Scored answers: the input of aggregation and reports.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{CaseId, Item, Score, SystemName, TestCase};

/// An answer with its score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScoredAnswer {
    /// The system; of a pair [the name of both](SystemName::of_pair).
    pub system: SystemName,
    /// The systems of a pair, in the order in which the judge sees their answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub systems: Option<[SystemName; 2]>,
    /// The test case; in files only its id.
    #[serde(
        rename = "case_id",
        serialize_with = "case_id",
        deserialize_with = "bare_case"
    )]
    pub case: Arc<TestCase>,
    /// The score in the run's mode.
    #[serde(flatten)]
    pub score: Score,
    /// Values of each panel judge in each sample, by component; empty for one judge with one sample.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub members: BTreeMap<Arc<str>, Vec<MemberValues>>,
    /// Signs of prompt injection (forged tags, a ready verdict, ..).
    pub injection: Vec<String>,
}

impl ScoredAnswer {
    /// The system's answer with its score; every component gets a finite value or a reason.
    pub fn new(system: SystemName, case: Arc<TestCase>, score: Score) -> Self {
        Self {
            system,
            systems: None,
            case,
            score: score.with_reasons(),
            members: BTreeMap::new(),
            injection: Vec::new(),
        }
    }

    /// The score of this answer, or of this pair.
    pub fn of_item(item: &Item, score: Score) -> Self {
        let systems = item.other.as_ref();
        let systems = systems.map(|other| [item.answer.system.clone(), other.system.clone()]);
        Self {
            systems,
            ..Self::new(item.system(), Arc::clone(&item.case), score)
        }
    }
}

fn case_id<S: Serializer>(case: &TestCase, serializer: S) -> Result<S::Ok, S::Error> {
    case.case_id.serialize(serializer)
}

/// A case with only its id.
fn bare_case<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<TestCase>, D::Error> {
    Ok(Arc::new(TestCase::without_rubric(
        CaseId::deserialize(deserializer)?,
        "",
    )))
}

/// Values of one panel judge for one component.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemberValues {
    /// Its identity.
    pub judge: Arc<str>,
    /// Its merged samples; `None` if none could be parsed.
    pub value: Option<f64>,
    /// Its samples in order; `None` for one that could not be parsed.
    pub samples: Vec<Option<f64>>,
    /// True if its samples are a vote that stops as soon as no further one can change it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stops_early: bool,
    /// Standard deviation of the parsed [fair samples](Self::fair_samples) (divisor n - 1); `None` for fewer than two.
    pub spread: Option<f64>,
}

impl MemberValues {
    /// The samples that say how much the judge's verdicts vary. Of a vote that stops early these are the first two, which
    /// are always taken: it goes on only where they differ, so that the others would exaggerate.
    pub fn fair_samples(&self) -> &[Option<f64>] {
        if self.stops_early {
            &self.samples[..self.samples.len().min(2)]
        } else {
            &self.samples
        }
    }
}
