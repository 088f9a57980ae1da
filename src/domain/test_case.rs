//! A question with the rubric its answers are judged by.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{CaseId, Rubric};

/// One test case of ScholarQA-CS (`test_configs_snippets.json`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TestCase {
    /// Joins answers to this case.
    pub case_id: CaseId,
    /// The question as it was put to the systems.
    pub initial_prompt: String,
    /// Who wrote the rubric.
    pub annotator: String,
    /// True where another annotator wrote a rubric for the same question.
    pub agreement: bool,
    /// What a good answer has.
    pub rubric: Rubric,
}

impl TestCase {
    /// A question that nobody wrote a rubric for: scorers that need none can work on it.
    pub fn without_rubric(case_id: CaseId, question: &str) -> Self {
        let rubric = Rubric::none(Arc::from(question));
        Self { case_id, initial_prompt: question.to_owned(), annotator: String::new(), agreement: false, rubric }
    }
}
