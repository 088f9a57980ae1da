//! Notes that belong to a number.

use serde::{Deserialize, Serialize};

use super::ScorerId;

/// Importance of a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Detail: shown on request and in JSON.
    Info,
    /// Needed to use the number: shown below the result.
    Warning,
}

/// One sentence about a result, with its full stop and no line breaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Its importance.
    pub severity: Severity,
    /// The sentence.
    pub text: String,
}

impl Note {
    /// A note shown below the result.
    pub fn warning(text: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            text: text.into(),
        }
    }

    /// The warning about numbers of the lexical baseline, if it judged for one of these scorers.
    pub fn of_baseline<'a>(mut scorers: impl Iterator<Item = &'a ScorerId>) -> Option<Self> {
        let is_any = scorers.any(ScorerId::is_baseline);
        is_any.then(|| Self::warning("Scored by the built-in lexical baseline, not by an LLM."))
    }

    /// The note with what it is about before it.
    #[must_use]
    pub fn about(self, subject: &str) -> Self {
        Self {
            text: format!("{subject}: {}", self.text),
            ..self
        }
    }

    /// A note shown on request.
    pub fn info(text: impl Into<String>) -> Self {
        Self {
            severity: Severity::Info,
            text: text.into(),
        }
    }
}
