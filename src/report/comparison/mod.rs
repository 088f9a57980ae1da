//! A comparison as a table for a terminal, CSV, JSON, Markdown and LaTeX: the result, the verdict, and what a reader must
//! know to use it.

mod notes;
mod render;
mod tables;
#[cfg(test)]
mod tests;
mod verdict;

pub(super) use notes::{metric_notes, run_warnings};
pub use render::ComparisonReport;
pub(super) use tables::{metric_name, overview, pairs_table, systems_table};
