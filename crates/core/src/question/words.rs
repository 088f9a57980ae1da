//! What the built-in baseline finds out by words alone.

use std::sync::Arc;

use serde_json::Value;

/// Counts words; the lexical baseline has the rules.
pub trait Words {
    /// How well the share of long words of an answer fits that of its question, 0 to 10.
    fn expertise(&self, question: &str, answer: &Arc<str>) -> f64;

    /// The share of a criterion's weight that an answer covers, 0 to 1.
    fn coverage(&self, criterion: &str, answer: &Arc<str>) -> f64;

    /// Whether a snippet is present in an answer.
    fn has_snippet(&self, snippet: &str, answer: &Arc<str>) -> bool;

    /// Whether a text has any content word of a question.
    fn is_related(&self, text: &str, question: &str) -> bool;

    /// Whether the text of a source covers enough of a claim.
    fn is_support(&self, source: &str, claim: &str) -> bool;

    /// The claims of an answer with their citations and excerpts, as in replies about citations.
    fn claims(&self, answer: &str) -> Value;
}
