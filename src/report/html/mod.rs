//! One HTML file that shows a comparison and the answer behind every number.
//!
//! Leaderboard and pairs are plain markup and need no script. The table of cases and the pages of single cases are made by
//! `page.js` from JSON in the file, one block a case, parsed when it is opened. The page loads nothing: see
//! [`content_security_policy`]. All text of others is escaped by the template engine or put into text nodes.

mod axis;
mod citations;
mod data;
mod page;
mod safety;
#[cfg(test)]
mod tests;

pub use page::page;
pub use safety::content_security_policy;

use crate::analysis::comparison::{Comparison, Observations};
use crate::evaluation::CallRecord;
use crate::evaluation::record::RecordedRun;

/// Everything that goes into the page.
#[derive(Debug, Clone)]
pub struct HtmlReport<'a> {
    /// The comparison that the tables show.
    pub comparison: &'a Comparison,
    /// The values behind it.
    pub observations: &'a Observations,
    /// The runs, in the order of the comparison.
    pub runs: &'a [RecordedRun],
    /// The judges' calls by run; empty where they are unknown or unwanted.
    pub calls: Vec<Vec<CallRecord>>,
    /// Whether the page has the answers and their sources.
    pub with_answers: bool,
    /// The metric that is shown first, by name or `scorer.name`; `None`: the first of the comparison.
    pub metric: Option<&'a str>,
}
