//! One HTML file that shows a comparison and the answer behind every number.
//!
//! Scorecard, leaderboard and pairs are plain markup and need no script. The case table and the case pages are built by `page.js`
//! from JSON in the file, one block per case, parsed on demand. The page loads nothing: see
//! [`content_security_policy`]. Foreign text is escaped (`safety::push_html!`) or put into text nodes.

mod certificate;
mod data;
mod frame;
mod groups;
mod heatmap;
mod judges;
mod label_page;
mod metric;
mod opening;
mod page;
mod people;
mod safety;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use certificate::certificate_page;
pub(crate) use judges::judges_page;
pub(crate) use label_page::{adjudication_page, label_page};
pub(crate) use page::page;

use crate::analysis::comparison::{Comparison, Observations};
use crate::analysis::{Criteria, CriteriaGrid};
use crate::record::CallRecord;
use crate::record::RecordedRun;
use crate::runs::{RunLabels, RunPrompts};

/// The content of the page.
#[derive(Debug, Clone)]
pub(crate) struct HtmlReport<'a> {
    /// The comparison in the tables.
    pub comparison: &'a Comparison,
    /// Its values.
    pub observations: &'a Observations,
    /// The statistics of the criteria; the page has no section on them if there are none.
    pub criteria: &'a Criteria,
    /// Labels of people; `None` if none are given.
    pub labels: Option<&'a RunLabels>,
    /// The criteria by system.
    pub grid: &'a CriteriaGrid<'a>,
    /// The runs, in the order of the comparison.
    pub runs: &'a [RecordedRun],
    /// The judges' calls by run; empty if unknown or excluded.
    pub calls: Vec<Vec<CallRecord>>,
    /// The prompts of the calls by run; empty without answers.
    pub prompts: Vec<RunPrompts>,
    /// The number of calls, excluded ones too.
    pub call_count: usize,
    /// Whether to include the answers and their sources.
    pub with_answers: bool,
    /// What the page does not have, in sentences; shown first.
    pub left_out: Vec<String>,
}
