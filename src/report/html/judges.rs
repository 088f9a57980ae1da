//! The page of several judges of the same answers, or of several prompt sets: which ranks hold, as sentences, a figure and tables.

use super::certificate::plain_page;
use crate::analysis::comparison::Comparison;
use crate::report::Figure;
use crate::report::comparison::{all_notes, judge_statements, judge_tables};

/// The page as UTF-8.
pub(crate) fn judges_page(comparison: &Comparison, figure: &Figure) -> Vec<u8> {
    let title = format!(
        "Systems under {} {}s",
        comparison.runs.len(),
        comparison.across.noun()
    );
    let mut tables = judge_tables(comparison, true);
    if let Some(first) = tables.first_mut() {
        first.notes = all_notes(comparison, Vec::new());
    }
    let sentences = judge_statements(comparison, false);
    // The figure is ours, with every text in it escaped.
    plain_page(&title, &sentences, &figure.svg(), &tables)
}
