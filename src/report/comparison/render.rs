//! The comparison in each format: verdicts, tables, notes.

use super::judge_change::{sentences, systems_by_judge};
use super::notes::{baseline, notes, run_warnings};
use super::tables::{pairs_table, systems_table};
use super::verdict::verdicts;
use crate::analysis::comparison::Comparison;
use crate::error::Result;
use crate::report::metrics_table::{IntervalStyle, MetricsTableOptions, metrics_table};
use crate::report::table::{Cell, Column, Format, Table};
use crate::report::{TableStyle, visible, wrapped};

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
        let options = MetricsTableOptions {
            interval: IntervalStyle::None,
            letters: true,
            ..MetricsTableOptions::default()
        };
        let mut means = metrics_table(comparison, &metrics, &options)?;
        notes.append(&mut means.notes);
        tables.push(means);
    }
    for metric in &comparison.metrics {
        tables.extend((style.all_notes || !several).then(|| systems_table(comparison, metric)));
        tables.extend(pairs_table(comparison, metric).filter(|_| style.all_notes));
    }
    let changes = comparison.judge_changes.iter().flat_map(sentences);
    let verdicts = verdicts(comparison)
        .into_iter()
        .chain(changes)
        .map(|verdict| wrapped(&visible(&verdict), style.columns()) + "\n");
    tables.extend(
        comparison
            .judge_changes
            .iter()
            .map(|change| systems_by_judge(change, comparison.options.level)),
    );
    let blocks =
        std::iter::once(verdicts.collect()).chain(tables.iter().map(|table| table.terminal(style)));
    let blocks: Vec<String> = blocks.filter(|block: &String| !block.is_empty()).collect();
    Ok(blocks.join("\n") + &style.notes(&notes))
}

/// One table for programs: the systems of each metric (`kind` is `system`), then its pairs (`pair`), or the systems of a
/// change of judge (`judge_change`). Cells that do not apply are empty; warnings on the runs are the same in every row.
pub fn comparison_table(comparison: &Comparison) -> Table {
    let warnings: Vec<String> = run_warnings(comparison)
        .into_iter()
        .chain(baseline(comparison))
        .map(|note| note.text)
        .collect();
    let warnings = &warnings.join(" ");
    let lead = ["kind", "scorer", "metric", "unit", "warnings"];
    let mut all = Table::new("", lead.map(|key| Column::new(key, Format::Text)).to_vec());
    for metric in &comparison.metrics {
        let (id, unit) = (
            &metric.metric,
            format!("{:?}", metric.metric.unit).to_lowercase(),
        );
        let systems = ("system", systems_table(comparison, metric));
        let pairs = pairs_table(comparison, metric).map(|pairs| ("pair", pairs));
        for (kind, table) in std::iter::once(systems).chain(pairs) {
            all.append(
                &[kind, &id.scorer, &id.name, &unit, warnings].map(Cell::text),
                &table,
            );
        }
    }
    for change in &comparison.judge_changes {
        let (id, unit) = (
            &change.metric,
            format!("{:?}", change.metric.unit).to_lowercase(),
        );
        let mut table = systems_by_judge(change, comparison.options.level);
        for (key, run) in [("old_run", &change.old), ("new_run", &change.new)] {
            table.push(
                Column::new(key, Format::Text),
                change.systems.iter().map(|_| Cell::text(run)),
            );
        }
        all.append(
            &["judge_change", &id.scorer, &id.name, &unit, warnings].map(Cell::text),
            &table,
        );
    }
    all
}
