//! One HTML file that shows a comparison and lets a reader go down to the answer behind every number.
//!
//! What is read first (leaderboard, pairs, ranks, distributions) is plain markup and needs no script: it is painted
//! before any data are parsed. The heat map and the pages of the cases are made by `page.js` from JSON that lies in the
//! file, one block a case, each parsed when it is opened. The page loads nothing: see [`policy`] for what
//! its Content-Security-Policy lets it do. All text of others is either escaped by the template engine or put into the
//! page as text nodes.

mod axis;
mod block;
mod distribution;
mod embed;
mod figures;
mod leaderboard;
mod listing;
mod names;
mod page;
mod pairs;
pub mod policy;
mod scorecard;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use crate::analysis::comparison::{Comparison, Observed};
use crate::analysis::{DrawNoise, PanelAgreement, Scorecard};
use crate::domain::{CaseId, ScoredAnswer, Source, SystemName};

pub use page::render_html;

/// Everything that goes into the page.
#[derive(Debug, Clone)]
pub struct HtmlReport<'a> {
    /// What stands on top; usually the names of the runs.
    pub title: String,
    /// The comparison that the tables show; its marks are what makes the runs no equals.
    pub comparison: &'a Comparison,
    /// What runs lack that did not finish, a line each.
    pub unfinished: &'a [String],
    /// The values behind it: what the heat map shows.
    pub observed: &'a [Observed],
    /// The runs, in the order of `comparison.runs`.
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
    pub answers: Vec<HtmlAnswer<'a>>,
    /// The judges' raw replies; empty where they are unknown or unwanted.
    pub replies: Vec<HtmlReply>,
    /// What `score` says of it; `None` where that is unknown.
    pub scorecard: Option<Scorecard>,
    /// How the judges of its panels agree.
    pub panels: Vec<PanelAgreement>,
    /// How much the draws of its judges differ.
    pub draws: Vec<DrawNoise>,
}

/// One answer as it is shown.
#[derive(Debug, Clone)]
pub struct HtmlAnswer<'a> {
    /// Who answered.
    pub system: &'a SystemName,
    /// What was answered.
    pub case_id: &'a CaseId,
    /// The text, exactly.
    pub text: &'a str,
    /// How many bytes of it the system wrote itself, where sources were appended to it.
    pub own_bytes: Option<usize>,
    /// Words of its own text.
    pub words: usize,
    /// What it could cite.
    pub sources: &'a [Source],
    /// Where it cites, in the order of the text and without overlaps.
    pub citations: Vec<HtmlCitation>,
}

/// A marker of a citation in an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HtmlCitation {
    /// Where it stands, in bytes.
    pub range: Range<usize>,
    /// Places of the cited sources, from 0.
    pub sources: Vec<usize>,
    /// Numbers that no source has; always empty where there are no sources at all.
    pub dangling: Vec<u64>,
}

/// A judge's reply, or the lack of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HtmlReply {
    /// Whose answer.
    pub system: SystemName,
    /// Which case.
    pub case_id: CaseId,
    /// In which role the judge was asked.
    pub role: String,
    /// Which component.
    pub item: String,
    /// The judge's identity.
    pub judge: String,
    /// Index of the draw.
    pub draw: u32,
    /// 0, or the n-th time of asking again.
    pub attempt: u32,
    /// The reply, exactly; `None` if none came.
    pub raw: Option<String>,
    /// Why nothing was read from it.
    pub reason: Option<String>,
    /// What a reader of the verdict must know of how it was asked.
    pub note: Option<String>,
}
