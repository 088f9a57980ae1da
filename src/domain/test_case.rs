//! A question with the rubric its answers are judged by.

use super::{CaseId, Rubric};

/// One test case of ScholarQA-CS (`test_configs_snippets.json`).
#[derive(Debug, Clone, PartialEq)]
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
