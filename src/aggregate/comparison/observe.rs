//! Scored answers to tables of systems and cases, one a metric.

use std::collections::HashMap;
use std::sync::Arc;

use super::Observed;
use crate::domain::{CaseId, ScoredAnswer, SystemName};

/// The answers of one run.
#[derive(Debug, Clone)]
pub struct RunAnswers<'a> {
    /// The run's name, for systems that two runs have.
    pub name: &'a str,
    /// Every answer by every scorer.
    pub scored: &'a [Arc<ScoredAnswer>],
    /// Words of each answer; empty where the answers are not known.
    pub words: HashMap<(SystemName, CaseId), usize>,
}

/// The tables of these runs, one a metric.
pub fn observe(runs: &[RunAnswers<'_>]) -> Vec<Observed> {
    let _ = runs;
    Vec::new()
}
