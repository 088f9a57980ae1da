//! What a reader must know beside a number.

use serde::{Deserialize, Serialize};

/// How much depends on a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Detail: shown on request and in JSON.
    Info,
    /// Without it the number would be misused: shown below the result.
    Warning,
}

/// A sentence about a result, without line breaks, with its full stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// How much depends on it.
    pub severity: Severity,
    /// The sentence.
    pub text: String,
}

impl Note {
    /// A note that belongs below the result.
    pub fn warning(text: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, text: text.into() }
    }

    /// A note for those who ask.
    pub fn info(text: impl Into<String>) -> Self {
        Self { severity: Severity::Info, text: text.into() }
    }
}
