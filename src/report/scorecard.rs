//! The scorecard of a run: a table per scorer and, for several scorers, first a table with the main means of all.

use std::collections::BTreeMap;

use serde::Serialize;

use super::agreement::in_line;
use super::json::render_json;
use super::layout::{counted, listed};
use super::table::{Cell, Column, Format, Table, short_names};
use super::visible::shortened;
use super::{CsvText, ReportContext, visible};
use crate::analysis::{
    Agreement, Metric, MetricColumn, OnUnscored, PanelAgreement, ScorerSummary, Summary, SystemSummary,
};
use crate::domain::{Mode, Note, SystemName, Unit, UnscoredKind};
use crate::error::Result;
use crate::stats::Interval;

/// Items of a list in a note before the rest is counted.
const LISTED: usize = 5;

/// Columns of wide scorers in the table of all scorers; for other scorers it shows every share and grade.
const MAIN: [(&str, &[&str]); 5] = [
    ("rubric", &["score"]),
    ("lexical_rubric", &["lexical_score"]),
    ("entailment", &["citation_precision", "citation_recall", "citation_f1"]),
    ("citation_audit", &["valid", "precision", "recall", "f1"]),
    ("overlap", &["match", "exact_match", "token_f1", "str_em", "rouge_l"]),
];

/// The tables for people, with notes below the last one.
pub fn scorecard(summary: &Summary, context: &ReportContext) -> Vec<Table> {
    let mut tables = Vec::new();
    if summary.scorers.len() > 1 {
        tables.push(overview(summary));
    }
    let level = 100.0 * summary.level;
    tables.extend(summary.scorers.iter().map(|scorer| {
        let is_rubric = scorer.scorer.ends_with("rubric") && !context.judge.is_empty();
        let judge =
            if is_rubric { format!(" by {}, prompts {}", context.judge, context.prompts) } else { String::new() };
        scorer_table(scorer, format!("{}{judge}: means per answer, {level:.0}% intervals", scorer.scorer))
    }));
    tables.extend(context.agreement.as_ref().map(agreement_table));
    if tables.is_empty() {
        tables.push(Table::new("No answer was scored", vec![Column::new("system", Format::Text)]));
    }
    if let Some(last) = tables.last_mut() {
        last.notes = notes(summary, context);
    }
    tables
}

/// `summary.csv`: one row per system. For each metric the mean, its interval, the number of values (`_n`) and of
/// missing values (`_unscored`); metrics of scorers other than the rubric have the scorer's name as a prefix. Then, per
/// scorer, the numbers of answers, of missing and of unscored ones.
///
/// # Errors
/// [`crate::Error::Internal`] if it cannot be written.
pub fn scorecard_csv(summary: &Summary, texts: CsvText) -> Result<String> {
    let mut table = Table::new("", vec![Column::new("system", Format::Text)]);
    table.rows = summary.systems().iter().map(|system| vec![Cell::text(system.as_str())]).collect();
    for scorer in &summary.scorers {
        let is_rubric = scorer.scorer.ends_with("rubric");
        let prefix = if is_rubric { String::new() } else { format!("{}.", scorer.scorer) };
        let push_count = |table: &mut Table, name: &str, count: fn(&SystemSummary) -> Option<usize>| {
            table.columns.push(Column::new(&format!("{prefix}{name}"), Format::Count));
            for (cells, system) in table.rows.iter_mut().zip(summary.systems()) {
                cells.push(scorer.row(system).and_then(count).map_or(Cell::Missing, Cell::count));
            }
        };
        if is_rubric {
            push_count(&mut table, "rank", |row| row.rank);
        }
        push_metrics(&mut table, scorer, &prefix, &summary.systems());
        push_count(&mut table, "answers", |row| Some(row.answers));
        push_count(&mut table, "missing", |row| Some(row.missing));
        push_count(&mut table, "unscored", |row| Some(row.unscored));
    }
    table.csv(texts)
}

/// Adds a scorer's metrics to a table with a row for each of these systems.
pub(super) fn push_metrics(table: &mut Table, scorer: &ScorerSummary, prefix: &str, systems: &[&SystemName]) {
    for column in &scorer.columns {
        let key = format!("{prefix}{}", column.name);
        table.columns.push(Column::new(&key, Format::of_mean(column.unit)).with_interval());
        table.columns.extend(["n", "unscored"].map(|part| Column::new(&format!("{key}_{part}"), Format::Count)));
        for (cells, system) in table.rows.iter_mut().zip(systems) {
            let metric = scorer.metric(system, &column.name).copied().unwrap_or_default();
            cells.push(Cell::estimate(metric.estimate, metric.interval));
            cells.extend([metric.n, metric.unscored].map(Cell::count));
        }
    }
}

/// `summary.json`: [`Summary`] and [`ReportContext`] in one object, with `schema_version` and all notes.
///
/// # Errors
/// [`crate::Error::Internal`] if it cannot be serialized.
pub fn scorecard_json(summary: &Summary, context: &ReportContext) -> Result<String> {
    #[derive(Serialize)]
    struct File<'a> {
        schema_version: u32,
        #[serde(flatten)]
        context: &'a ReportContext,
        #[serde(flatten)]
        summary: &'a Summary,
        notes: Vec<Note>,
    }
    render_json(&File { schema_version: 1, context, summary, notes: notes(summary, context) })
}

/// The main means of all scorers.
fn overview(summary: &Summary) -> Table {
    let title = "Scorecard: means; intervals are below";
    let mut table = Table::new(title, vec![Column::new("system", Format::Text)]);
    let columns: Vec<(&ScorerSummary, &MetricColumn)> = main_columns(summary).collect();
    table.columns.extend(columns.iter().map(|(scorer, column)| {
        Column::headed(&column.name, &main_heading(scorer, column), Format::of_mean(column.unit))
    }));
    for system in summary.systems() {
        let cell = |(scorer, column): &(&ScorerSummary, &MetricColumn)| {
            let metric = scorer.metric(system, &column.name).copied().unwrap_or_default();
            flagged(&metric, scorer, None)
        };
        let cells = std::iter::once(Cell::text(system.as_str())).chain(columns.iter().map(cell));
        table.rows.push(cells.collect());
    }
    table
}

/// The main columns of each scorer.
fn main_columns(summary: &Summary) -> impl Iterator<Item = (&ScorerSummary, &MetricColumn)> {
    summary.scorers.iter().flat_map(|scorer| {
        let main = MAIN.iter().find(|(name, _)| *name == scorer.scorer);
        let is_main = move |column: &&MetricColumn| match main {
            Some((_, names)) => names.contains(&column.name.as_str()),
            None => column.unit != Unit::Count,
        };
        scorer.columns.iter().filter(is_main).map(move |column| (scorer, column))
    })
}

/// The heading of a main column. Precision and recall of the audit are prefixed: other scorers also have them.
fn main_heading(scorer: &ScorerSummary, column: &MetricColumn) -> String {
    let name = heading(column);
    match (scorer.scorer, column.name.as_str()) {
        ("rubric", _) => format!("rubric {name}"),
        ("citation_audit", "valid") => "valid citations %".to_owned(),
        ("citation_audit", _) => format!("gold {name}"),
        _ => name,
    }
}

fn heading(column: &MetricColumn) -> String {
    let name = column.name.replace('_', " ");
    if column.unit == Unit::Share { format!("{name} %") } else { name }
}

/// The systems scored by one scorer.
pub(super) fn scorer_table(scorer: &ScorerSummary, title: String) -> Table {
    let mut columns = vec![Column::new("system", Format::Text), Column::new("answers", Format::Count)];
    type Count = fn(&SystemSummary) -> usize;
    let counts: [(&str, Count); 2] = [("missing", |row| row.missing), ("unscored", |row| row.unscored)];
    let counts: Vec<_> = counts.into_iter().filter(|(_, count)| scorer.rows.iter().any(|row| count(row) > 0)).collect();
    columns.extend(counts.iter().map(|(name, _)| Column::new(name, Format::Count)));
    columns.extend(
        scorer
            .columns
            .iter()
            .map(|column| Column::headed(&column.name, &heading(column), Format::of_mean(column.unit))),
    );
    let mut table = Table::new(title, columns);
    for row in &scorer.rows {
        let mut cells = vec![Cell::text(row.system.as_str()), Cell::count(row.answers)];
        cells.extend(counts.iter().map(|(_, count)| Cell::count(count(row))));
        cells.extend(scorer.columns.iter().map(|column| {
            let metric = row.metrics.get(&column.name).copied().unwrap_or_default();
            flagged(&metric, scorer, metric.interval)
        }));
        table.rows.push(cells);
    }
    table
}

/// The mean, with `*` if it is over fewer answers than the system has.
fn flagged(metric: &Metric, scorer: &ScorerSummary, interval: Option<Interval>) -> Cell {
    let cell = Cell::estimate(metric.estimate, interval);
    if metric.n < most_answers(scorer) { cell.flagged("*") } else { cell }
}

fn most_answers(scorer: &ScorerSummary) -> usize {
    scorer.rows.iter().map(|row| row.answers).max().unwrap_or(0)
}

/// Agreement of the rubrics of two annotators.
fn agreement_table(agreement: &Agreement) -> Table {
    let columns = vec![
        Column::headed("coefficient", "Agreement of annotators on ann_score", Format::Text),
        Column::new("mean", Format::Number(3)),
        Column::new("questions", Format::Count),
    ];
    let mut table = Table::new("", columns);
    let row = |name, mean, questions| vec![Cell::text(name), Cell::maybe(mean), Cell::count(questions)];
    table.rows.push(row("Kendall's tau-b", agreement.kendall_tau_b, agreement.kendall_questions));
    table.rows.push(row("Pearson's r", agreement.pearson, agreement.pearson_questions));
    table
}

/// All notes, most important first.
fn notes(summary: &Summary, context: &ReportContext) -> Vec<Note> {
    let mut notes = run_notes(summary, context);
    let mut own: Vec<Note> = Vec::new();
    for scorer in &summary.scorers {
        own.extend(scorer_notes(scorer, summary.on_unscored));
    }
    own.extend(missing(summary).into_iter().chain(injections(summary)).map(Note::warning));
    own.extend(summary.panels.iter().map(panel_note));
    // After notes on whether the numbers are usable, before those on the judge.
    let at = notes.iter().position(|note| context.notes.contains(note)).unwrap_or(notes.len());
    notes.splice(at..at, own);
    notes
}

/// Agreement of a panel's judges.
fn panel_note(panel: &PanelAgreement) -> Note {
    let judges: Vec<String> = panel.judges.iter().map(|judge| shortened(&judge.judge, 60)).collect();
    Note::warning(format!(
        "{} {}: judges {}: alpha {}, kappa {} over {} of {}.",
        panel.scorer.replace('_', " "),
        shortened(&panel.group.name, 60),
        judges.join(", "),
        in_line(&panel.alpha),
        in_line(&panel.kappa),
        counted(panel.units, "rating"),
        counted(panel.cases, "case")
    ))
}

/// Notes on a run, for all scorers.
pub(super) fn run_notes(summary: &Summary, context: &ReportContext) -> Vec<Note> {
    let mut notes = Vec::new();
    if let Some(slice) = &context.slice {
        notes.push(Note::warning(format!("Slice {slice}: a part of the answers, not a result.")));
    }
    if summary.scorer("lexical_rubric").is_some() {
        notes.push(Note::warning("Scored by the built-in lexical baseline, not by an LLM."));
    }
    if summary.mode == Mode::Compat {
        notes.push(Note::warning("Compat mode: pairing, parsing and arithmetic are those of the reference script."));
    }
    notes.extend(context.notes.iter().cloned());
    notes.push(Note::info(format!(
        "Intervals: {:.0}%, BCa bootstrap over {} with all their cases ({}), {} resamples, seed {}.",
        100.0 * summary.level,
        counted(summary.questions, "question"),
        summary.cases,
        Format::Count.show(f64::from(summary.resamples)),
        summary.seed
    )));
    notes
}

/// Notes on one scorer's numbers.
pub(super) fn scorer_notes(scorer: &ScorerSummary, on_unscored: OnUnscored) -> Vec<Note> {
    let warnings = [unscored(scorer, on_unscored), without_judge(scorer), fewer_answers(scorer)];
    let mut notes: Vec<Note> = warnings.into_iter().flatten().map(Note::warning).collect();
    notes.extend(
        scorer.notes.iter().map(|note| {
            Note::warning(format!("{} ({}).", shortened(&note.note, 300), counted(note.answers, "answer")))
        }),
    );
    notes
}

fn unscored(scorer: &ScorerSummary, on_unscored: OnUnscored) -> Option<String> {
    let policy = match on_unscored {
        OnUnscored::Exclude => "left out of the means",
        OnUnscored::Zero => "counted as the lowest value",
    };
    let rows: Vec<&SystemSummary> = scorer.rows.iter().filter(|row| row.unscored > row.without_judge).collect();
    if rows.is_empty() {
        return None;
    }
    let names = short_names(rows.iter().map(|row| row.system.as_str()));
    let system = |(row, name): (&&SystemSummary, String)| format!("{name} {} of {}", row.unscored, row.answers);
    let systems = listed(rows.iter().zip(names).map(system), LISTED);
    let reasons = rows.iter().flat_map(|row| &row.unscored_reasons);
    let reasons: BTreeMap<UnscoredKind, String> =
        reasons.map(|reason| (reason.kind, shortened(&reason.example, 60))).collect();
    let reasons = reasons.into_values().collect::<Vec<_>>().join("; ");
    Some(format!("{}: unscored answers are {policy}: {systems} ({reasons}).", scorer.scorer))
}

/// Columns that are blank because no judge has the role for them.
fn without_judge(scorer: &ScorerSummary) -> Option<String> {
    let reasons = scorer.rows.iter().filter(|row| row.without_judge > 0).flat_map(|row| &row.unscored_reasons);
    if !reasons.into_iter().any(|reason| reason.kind == UnscoredKind::NoJudge) {
        return None;
    }
    Some(format!("{}: what needs a judge is blank: no judge has the role.", scorer.scorer))
}

/// Explains `*`, with the means over the shared cases.
fn fewer_answers(scorer: &ScorerSummary) -> Option<String> {
    let most = most_answers(scorer);
    let is_flagged = |metric: &Metric| metric.estimate.is_some() && metric.n < most;
    let is_any_flagged = scorer.rows.iter().flat_map(|row| row.metrics.values()).any(is_flagged);
    let shared = shared_means(scorer).unwrap_or_default();
    is_any_flagged.then(|| format!("{} *: a mean over fewer than {most} answers.{shared}", scorer.scorer))
}

/// The means of the first column over the shared cases, if these are not all cases.
fn shared_means(scorer: &ScorerSummary) -> Option<String> {
    let names = short_names(scorer.rows.iter().map(|row| row.system.as_str()));
    let differs = |column: &&MetricColumn| {
        let mut counts =
            scorer.rows.iter().filter_map(|row| row.metrics.get(&column.name)).filter(|metric| metric.n > 0);
        counts.clone().count() > 1 && counts.any(|metric| metric.shared.is_none_or(|shared| shared.n < metric.n))
    };
    let column = scorer.columns.iter().find(differs)?;
    let format = Format::of_mean(column.unit);
    let of = |row: &SystemSummary| row.metrics.get(&column.name)?.shared;
    let Some(shared) = scorer.rows.iter().find_map(of) else {
        return Some(" No case has a value for all systems: the means do not compare.".to_owned());
    };
    let means = scorer.rows.iter().zip(names);
    let means = means.filter_map(|(row, name)| Some(format!("{name} {}", format.show(of(row)?.estimate))));
    let ranks = if scorer.rows.iter().any(|row| row.rank.is_some()) { " (the ranks)" } else { "" };
    let cases = counted(shared.n, "shared case");
    let means = listed(means.collect::<Vec<_>>().into_iter(), LISTED);
    Some(format!(" {} over the {cases}{ranks}: {means}.", visible(&column.name)))
}

fn missing(summary: &Summary) -> Option<String> {
    let names = summary.missing.iter().map(|missing| format!("{}/{}", missing.system, missing.case_id));
    let count = counted(summary.missing.len(), "answer");
    (!summary.missing.is_empty()).then(|| format!("{count} missing: {}.", listed(names, LISTED)))
}

fn injections(summary: &Summary) -> Option<String> {
    let entries = summary.injections.iter();
    let entries = entries.map(|entry| format!("{}/{} ({})", entry.system, entry.case_id, entry.signs.join(", ")));
    let count = counted(summary.injections.len(), "answer");
    (!summary.injections.is_empty())
        .then(|| format!("{count} with signs of prompt injection: {}.", listed(entries, LISTED)))
}

#[cfg(test)]
mod tests;
