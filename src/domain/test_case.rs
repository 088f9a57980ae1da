//! Test cases: a question with its rubric.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{CaseId, Rubric};

/// One test case of ScholarQA-CS (`test_configs_snippets.json`).
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
    /// The rubric.
    pub rubric: Rubric,
}

impl TestCase {
    /// A question without a rubric, for scorers that need none.
    pub fn without_rubric(case_id: CaseId, question: &str) -> Self {
        let rubric = Rubric::none(Arc::from(question));
        Self { case_id, initial_prompt: question.to_owned(), annotator: String::new(), agreement: false, rubric }
    }
}
