//! Renderers of a comparison: a table for a terminal, CSV and JSON for programs, Markdown and LaTeX for papers.
//!
//! All of them show the same numbers: means over the shared cases with intervals and groups, every pair with its test, then
//! what a reader must know. Names come from files: each form escapes what would be more than text in it.

mod csv;
mod latex;
mod length;
mod markdown;
mod names;
mod numbers;
mod overview;
mod paper;
mod table;
#[cfg(test)]
mod tests;
mod told;

pub use csv::{render_comparison_csv, render_comparison_json};
pub use latex::render_comparison_latex;
pub use markdown::render_comparison_markdown;
pub(super) use numbers::{marks, unit_name};
pub use table::render_comparison_table;

/// What a comparison says about its runs besides numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ComparisonContext {
    /// Who judged what, with which prompts: sentences without the full stop.
    pub made: Vec<String>,
}
