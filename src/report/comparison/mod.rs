//! A comparison for a terminal, as CSV, JSON, Markdown and LaTeX: the verdict, the means, and what a reader must know to use
//! them.

mod notes;
mod render;
mod tables;
#[cfg(test)]
mod tests;
mod verdict;

pub(super) use notes::{metric_notes, run_warnings};
pub use render::ComparisonReport;
pub(super) use tables::{metric_name, overview, pairs_table, percent, systems_table};
pub(super) use verdict::verdicts;
