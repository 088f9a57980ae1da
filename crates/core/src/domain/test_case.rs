//! Test cases: a question with its rubric.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{CaseCriterion, CaseId, Rubric};

/// A question with a rubric of ScholarQA-CS (`test_configs_snippets.json`), or with a list of criteria.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TestCase {
    /// Joins answers to this case.
    pub case_id: CaseId,
    /// The question as given to the systems.
    pub initial_prompt: String,
    /// Who wrote the rubric.
    pub annotator: String,
    /// Whether another annotator wrote a rubric for the same question.
    pub agreement: bool,
    /// The rubric; with a list of criteria only its question.
    pub rubric: Rubric,
    /// The list of criteria, if the case has one in place of a rubric.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<CaseCriterion>,
    /// The article that answers are compared with, if its profile asks for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<Arc<str>>,
    /// Its group, if its benchmark takes the mean of groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Arc<str>>,
    /// Names and texts of further fields that the judge sees, as its profile says.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub shown: Arc<[(String, String)]>,
}

fn is_empty(shown: &[(String, String)]) -> bool {
    shown.is_empty()
}

impl TestCase {
    /// Whether it has a rubric or a list of criteria.
    pub fn has_rubric(&self) -> bool {
        !self.rubric.is_none() || !self.criteria.is_empty()
    }

    /// A question without a rubric, for scorers that need none.
    pub fn without_rubric(case_id: CaseId, question: &str) -> Self {
        let rubric = Rubric::none(Arc::from(question));
        Self {
            case_id,
            initial_prompt: question.to_owned(),
            annotator: String::new(),
            agreement: false,
            rubric,
            criteria: Vec::new(),
            reference: None,
            group: None,
            shown: Arc::default(),
        }
    }
}
