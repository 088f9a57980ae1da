//! The comparison in each format: verdicts, tables, notes.

use super::gates::gate_lines;
use super::judge_change::{self, systems_by_judge};
use super::judge_ranks::{self, ranks_by_system, residuals_by_judge};
use super::notes::{all_notes, baseline, run_warnings, without_lengths};
use super::old_scale::{self, systems_on_old_scale};
use super::pairwise::orders_table;
use super::run_change::{self, systems_by_run};
use super::self_preference;
use super::tables::{pairs_table, systems_table};
use super::verdict::verdicts;
use crate::analysis::comparison::{Comparison, JudgeChange, MetricId};
use crate::error::Result;
use crate::report::legend::legend_notes;
use crate::report::metrics_table::{IntervalStyle, MetricsTableOptions, metrics_table};
use crate::report::table::{Cell, Column, Table};
use crate::report::{TableStyle, visible, wrapped};

/// The verdict of each metric, the means, then the notes. Pairs, and the systems of each of several metrics, are shown
/// with all notes; with `lengths` the pairs are always shown, with their length-adjusted differences.
///
/// # Errors
/// When two systems have the same name.
pub fn comparison_text(
    comparison: &Comparison,
    lengths: bool,
    style: &TableStyle,
) -> Result<String> {
    let mut tables = Vec::new();
    let mut signs = Vec::new();
    let has_several = comparison.metrics.len() > 1;
    if has_several {
        let mut means = means_of_all(comparison)?;
        // Taken out of the table: below it they would come before the warnings on the runs.
        signs.append(&mut means.notes);
        tables.push(means);
    }
    let mut notes = all_notes(comparison, signs);
    for metric in &comparison.metrics {
        if style.all_notes || !has_several {
            tables.push(systems_table(comparison, metric));
        }
        if style.all_notes || lengths {
            tables.extend(pairs_table(comparison, metric, lengths));
        }
    }
    tables.extend(orders_table(comparison));
    if lengths {
        notes.extend(without_lengths(comparison));
    }
    tables.extend(judge_tables(comparison, style.all_notes));
    let level = comparison.options.level;
    for change in &comparison.run_changes {
        tables.push(systems_by_run(change, level));
    }
    for scale in &comparison.old_scales {
        tables.push(systems_on_old_scale(scale, level));
    }
    notes.extend(legend_notes(&tables));
    let mut blocks = vec![statements(comparison, style)];
    blocks.extend(tables.iter().map(|table| table.terminal(style)));
    blocks.push(gate_lines(&comparison.gates, style));
    blocks.retain(|block| !block.is_empty());
    Ok(blocks.join("\n") + &style.notes(&notes))
}

/// The means of all metrics, side by side.
fn means_of_all(comparison: &Comparison) -> Result<Table> {
    let metrics: Vec<_> = comparison.metrics.iter().collect();
    let options = MetricsTableOptions {
        interval: IntervalStyle::None,
        letters: true,
        ..MetricsTableOptions::default()
    };
    metrics_table(comparison, &metrics, &options)
}

/// The systems under several judges or prompt sets; with `all` also what each judge gives each system, and every two judges.
pub(in crate::report) fn judge_tables(comparison: &Comparison, all: bool) -> Vec<Table> {
    let level = comparison.options.level;
    let mut tables = Vec::new();
    for ranks in &comparison.judge_ranks {
        tables.push(ranks_by_system(ranks, comparison.across, level));
        if all {
            tables.push(residuals_by_judge(ranks, comparison.across, level));
        }
    }
    let changes = shown_changes(comparison, all).iter();
    tables.extend(changes.map(|change| systems_by_judge(change, level)));
    tables
}

/// What holds under several judges or prompt sets and what does not; with `all` also of every two.
pub(in crate::report) fn judge_statements(comparison: &Comparison, all: bool) -> Vec<String> {
    let mut statements = Vec::new();
    for ranks in &comparison.judge_ranks {
        statements.extend(judge_ranks::sentences(ranks, comparison.across));
    }
    for change in shown_changes(comparison, all) {
        statements.extend(judge_change::sentences(change, comparison.across));
    }
    let preferences = comparison.self_preference.iter();
    statements.extend(preferences.filter_map(self_preference::sentence));
    statements
}

/// The changes of judges; where ranks under all of them say the same in short, only with `all`.
fn shown_changes(comparison: &Comparison, all: bool) -> &[JudgeChange] {
    if comparison.judge_ranks.is_empty() || all {
        &comparison.judge_changes
    } else {
        &[]
    }
}

/// The verdicts and what changes, a paragraph each.
fn statements(comparison: &Comparison, style: &TableStyle) -> String {
    let mut statements = verdicts(comparison);
    statements.extend(judge_statements(comparison, style.all_notes));
    for change in &comparison.run_changes {
        statements.push(run_change::sentence(change));
    }
    for scale in &comparison.old_scales {
        statements.push(old_scale::sentence(scale));
    }
    let mut text = String::new();
    for statement in statements {
        text += &wrapped(&visible(&statement), style.columns());
        text.push('\n');
    }
    text
}

/// One table for programs: the systems of each metric (`kind` is `system`), then its pairs (`pair`), with `lengths` with their
/// length-adjusted differences, or the systems under several judges (`judge_rank`), of a change of judge (`judge_change`) or of run
/// (`run_change`), or on the scale of an old judge (`old_scale`). Cells that do not apply are empty; warnings on the runs are the same
/// in every row.
pub fn comparison_table(comparison: &Comparison, lengths: bool) -> Table {
    let warnings = run_warnings(comparison)
        .into_iter()
        .chain(baseline(comparison));
    let warnings: Vec<String> = warnings.map(|note| note.text).collect();
    let warnings = &warnings.join(" ");
    let lead = ["kind", "scorer", "metric", "unit", "warnings"];
    let mut all = Table::new("", lead.map(Column::text).to_vec());
    for metric in &comparison.metrics {
        let systems = systems_table(comparison, metric);
        append(&mut all, "system", &metric.metric, warnings, &systems);
        if let Some(pairs) = pairs_table(comparison, metric, lengths) {
            append(&mut all, "pair", &metric.metric, warnings, &pairs);
        }
    }
    if let (Some(orders), Some(metric)) = (orders_table(comparison), comparison.metrics.first()) {
        append(&mut all, "win_rate", &metric.metric, warnings, &orders);
    }
    let level = comparison.options.level;
    for ranks in &comparison.judge_ranks {
        let table = residuals_by_judge(ranks, comparison.across, level);
        append(&mut all, "judge_rank", &ranks.metric, warnings, &table);
    }
    for change in &comparison.judge_changes {
        let table = with_runs(systems_by_judge(change, level), &change.old, &change.new);
        append(&mut all, "judge_change", &change.metric, warnings, &table);
    }
    for change in &comparison.run_changes {
        let table = with_runs(systems_by_run(change, level), &change.old, &change.new);
        append(&mut all, "run_change", &change.metric, warnings, &table);
    }
    for scale in &comparison.old_scales {
        let table = with_runs(systems_on_old_scale(scale, level), &scale.old, &scale.new);
        append(&mut all, "old_scale", &scale.metric, warnings, &table);
    }
    all
}

/// The table with the names of the two runs in each row.
fn with_runs(mut table: Table, old: &str, new: &str) -> Table {
    for (key, run) in [("old_run", old), ("new_run", new)] {
        let cells = vec![Cell::text(run); table.rows.len()];
        table.push(Column::text(key), cells);
    }
    table
}

/// Adds the rows of a table about a metric.
fn append(all: &mut Table, kind: &str, id: &MetricId, warnings: &str, table: &Table) {
    let unit = format!("{:?}", id.unit).to_lowercase();
    let lead = [kind, id.scorer.as_str(), &id.name, &unit, warnings].map(Cell::text);
    all.append(&lead, table);
}
