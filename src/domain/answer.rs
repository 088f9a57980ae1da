//! What a system answered.

use std::sync::Arc;

use super::{CaseId, SystemName};

/// One answer of one system to one test case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Who answered.
    pub system: SystemName,
    /// What was answered.
    pub case_id: CaseId,
    /// The answer, exactly as in the file (shared, since every call about it carries it).
    pub answer_text: Arc<str>,
    /// 1-based line of the answer file; 0 where there is none.
    pub line: usize,
}
