//! The rubric of ScholarQA-CS: weights, length bounds, criteria and their snippets.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Which halves of a rubric are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RubricParts {
    /// Ask the criteria.
    pub rubrics: bool,
    /// Ask the snippets.
    pub snippets: bool,
}

impl RubricParts {
    /// Criteria and snippets.
    pub const BOTH: Self = Self { rubrics: true, snippets: true };
}

/// The rubric of one test case (`metric_config.config` on the wire).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rubric {
    /// The question put to the judge.
    pub question: Arc<str>,
    /// Answers of at most this many words earn full marks for length (wire default 300).
    pub low_length: i64,
    /// Answers of at least this many words earn none (wire default 600).
    pub high_length: i64,
    /// Weight of component `length` (wire default 0.05).
    pub length_weight: f64,
    /// Weight of component `expertise` (wire default 0.05).
    pub expertise_weight: f64,
    /// Weight of component `citations` (wire default 0.2).
    pub citations_weight: f64,
    /// Weight of component `excerpts` (wire default 0.1).
    pub excerpts_weight: f64,
    /// The criteria, in file order (`other_properties` on the wire).
    pub criteria: Vec<Criterion>,
}

impl Rubric {
    /// The absence of a rubric: no criteria, and no part has a weight.
    pub fn none(question: Arc<str>) -> Self {
        Self {
            question,
            low_length: 0,
            high_length: 0,
            length_weight: 0.0,
            expertise_weight: 0.0,
            citations_weight: 0.0,
            excerpts_weight: 0.0,
            criteria: Vec::new(),
        }
    }

    /// True if there is nothing to be judged by: what [`Rubric::none`] gives.
    pub fn is_none(&self) -> bool {
        let weights = [self.length_weight, self.expertise_weight, self.citations_weight, self.excerpts_weight];
        self.criteria.is_empty() && weights == [0.0; 4]
    }
}

/// One property that a good answer has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Criterion {
    /// Name of its component; its snippets' component is `<name>_evidence`.
    pub name: String,
    /// What the answer should do; empty if only snippets are asked.
    pub criterion: Arc<str>,
    /// Share of the score, over criterion and snippets together.
    pub weight: f64,
    /// Texts that support the criterion (`evidence` on the wire).
    pub snippets: Arc<[String]>,
}
