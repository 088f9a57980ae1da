//! What a system answered.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{CaseId, Prediction, SystemName};

/// One answer of one system to one test case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Who answered.
    pub system: SystemName,
    /// What was answered.
    pub case_id: CaseId,
    /// The answer, exactly as in the file (shared, since every call about it carries it).
    pub answer_text: Arc<str>,
    /// How many bytes of `answer_text` the system wrote itself; what follows is a block of references that was appended
    /// to it and that no length counts. `None`: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_bytes: Option<usize>,
    /// The prediction that the answer comes from, with its sources and golds: what scorers of citations and overlap look
    /// at. `None` for answers of `{case_id, answer_text}` that nothing was joined to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prediction: Option<Arc<Prediction>>,
    /// A reference answer that an aspect's grade 5 is shown by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference_answer: Option<Arc<str>>,
    /// 1-based line of the answer file; 0 where there is none.
    pub line: usize,
}

impl Answer {
    /// An answer that is nothing but its text.
    pub fn new(system: SystemName, case_id: CaseId, answer_text: impl Into<Arc<str>>) -> Self {
        let answer_text = answer_text.into();
        Self { system, case_id, answer_text, own_bytes: None, prediction: None, reference_answer: None, line: 0 }
    }

    /// [`Answer::own_text`] for who keeps it: the answer's own text where nothing was appended to it.
    pub fn own_text_shared(&self) -> Arc<str> {
        match self.own_bytes {
            None => Arc::clone(&self.answer_text),
            Some(_) => Arc::from(self.own_text()),
        }
    }

    /// The question of its prediction, without white space around it; empty where it is not known.
    pub fn question(&self) -> &str {
        self.prediction.as_ref().map_or("", |prediction| prediction.input.trim())
    }

    /// What the system wrote itself, without an appended block of references.
    pub fn own_text(&self) -> &str {
        self.own_bytes.and_then(|bytes| self.answer_text.get(..bytes)).unwrap_or(&self.answer_text)
    }
}
