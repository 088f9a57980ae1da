//! The comparison in each format: verdicts, tables, notes.

use super::notes::{notes, run_warnings};
use super::tables::{pairs_table, systems_table, tidy};
use super::verdict::verdicts;
use crate::analysis::comparison::Comparison;
use crate::error::Result;
use crate::report::metrics_table::{IntervalStyle, MetricsTableOptions, metrics_table};
use crate::report::{CsvText, TableStyle, visible, wrapped};

/// The verdict of each metric, the means, then the notes. Pairs, and the systems of each of several metrics, are shown
/// with all notes.
///
/// # Errors
/// When two systems have the same name.
pub fn comparison_text(comparison: &Comparison, style: &TableStyle) -> Result<String> {
    let several = comparison.metrics.len() > 1;
    let (mut tables, mut notes) = (Vec::new(), notes(comparison));
    if several {
        let metrics: Vec<_> = comparison.metrics.iter().collect();
        let options =
            MetricsTableOptions { interval: IntervalStyle::None, letters: true, ..MetricsTableOptions::default() };
        let mut means = metrics_table(comparison, &metrics, &options)?;
        notes.append(&mut means.notes);
        tables.push(means);
    }
    for metric in &comparison.metrics {
        tables.extend((style.all_notes || !several).then(|| systems_table(comparison, metric)));
        tables.extend(pairs_table(comparison, metric).filter(|_| style.all_notes));
    }
    let verdicts = verdicts(comparison).into_iter().map(|verdict| wrapped(&visible(&verdict), style.columns()) + "\n");
    let blocks = std::iter::once(verdicts.collect()).chain(tables.iter().map(|table| table.terminal(style)));
    let blocks: Vec<String> = blocks.filter(|block: &String| !block.is_empty()).collect();
    Ok(blocks.join("\n") + &style.notes(&notes))
}

/// One tidy CSV with a row for each system and each pair, in full precision.
///
/// # Errors
/// [`Error::Internal`](crate::error::Error::Internal) if it cannot be written.
pub fn comparison_csv(comparison: &Comparison, texts: CsvText) -> Result<String> {
    let warnings: Vec<String> = run_warnings(comparison).into_iter().map(|note| note.text).collect();
    tidy(comparison, &warnings.join(" ")).csv(texts)
}
