//! A comparison for a terminal and as CSV: the verdict, the means, and what a reader must know to use them.
//!
//! `render` puts the pages together: `verdict`, `judge_change`, `judge_ranks`, `self_preference` and `run_change` write its sentences, `tables` its
//! tables, `notes` what stands below them. The page and a paper's table use the same parts.

mod gates;
mod judge_change;
mod judge_ranks;
mod notes;
mod old_scale;
mod pairwise;
mod render;
mod run_change;
mod self_preference;
mod tables;
#[cfg(test)]
mod tests;
mod verdict;

pub(super) use gates::gate_lines;
pub use notes::run_warnings;
pub(super) use notes::{all_notes, check_lines, judge_lines, metric_notes, unpublished};
pub(super) use pairwise::{comparison_notes, orders_table};
pub use render::{comparison_table, comparison_text};
pub(super) use render::{judge_statements, judge_tables};
pub(super) use tables::{metric_name, pairs_table, systems_table};
pub(super) use verdict::{verdict_statements, verdicts};
