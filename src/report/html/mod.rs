//! One HTML file that shows a comparison and the answer behind every number.
//!
//! Leaderboard, pairs and distributions are plain markup and need no script. The table of cases and the pages of single
//! cases are made by `page.js` from JSON in the file, one block a case, parsed when it is opened. The page loads nothing:
//! see [`content_security_policy`]. All text of others is escaped by the template engine or put into text nodes.

mod axis;
mod citations;
mod data;
mod distribution;
mod facts;
mod leaderboard;
mod page;
mod safety;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::analysis::Summary;
use crate::analysis::comparison::{Comparison, Observations};
use crate::domain::ScoredAnswer;
use crate::evaluation::CallRecord;
use crate::evaluation::Item;

pub use facts::facts;
pub use page::page;
pub use safety::content_security_policy;

/// Everything that goes into the page.
#[derive(Debug, Clone)]
pub struct HtmlReport<'a> {
    /// The comparison that the tables show.
    pub comparison: &'a Comparison,
    /// The values behind it.
    pub observations: &'a Observations,
    /// The runs, in the order of the comparison.
    pub runs: Vec<HtmlRun<'a>>,
    /// The metric that is shown first, by name or `scorer.name`; `None`: the first of the comparison.
    pub metric: Option<&'a str>,
}

/// One run.
#[derive(Debug, Clone, Default)]
pub struct HtmlRun<'a> {
    /// Its name.
    pub name: String,
    /// What was run: `(judge, gpt-4o)`, `(prompts, ..)`; nothing that could hold a secret.
    pub facts: Vec<(String, String)>,
    /// Every answer by every scorer.
    pub scored: &'a [Arc<ScoredAnswer>],
    /// The answers; empty where they are unknown or unwanted.
    pub items: &'a [Item],
    /// The number that cites the first source.
    pub index_base: u64,
    /// The judges' calls; empty where they are unknown or unwanted.
    pub calls: Vec<CallRecord>,
    /// Its summary; `None` where that is unknown.
    pub summary: Option<Summary>,
}
