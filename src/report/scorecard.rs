//! The scorecard of a run: the headline metrics of its scorers; on request, a table for each scorer.
//!
//! A `Summary` becomes tables of cells; how they look is decided by `terminal`, `csv` and
//! `markdown`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::json::render_json;
use super::layout::{counted, listed};
use super::numbers::shown_coefficient;
use super::table::{Cell, Column, Format, Table, short_names};
use super::visible::shortened;
use super::{CsvText, ReportContext, visible};
use crate::analysis::{
    Agreement, Metric, MetricColumn, OnUnscored, PanelAgreement, SampleNoise, Scale, ScorerSummary,
    Summary, SystemSummary, distinct,
};
use crate::domain::{Mode, Note, REPORT_METRICS, SystemName, UnscoredKind};
use crate::error::Result;
use crate::scorer::pages::{ACCURACY, PAGES};
use crate::scorer::{ScorerInfo, is_better_higher, scorer_named};

/// The tables that a reader sees first: the headline metrics of all scorers, or all metrics of a single one, and the
/// agreement of annotators if it was requested.
pub fn scorecard(summary: &Summary, context: &ReportContext) -> Vec<Table> {
    if summary.scorers.is_empty() {
        let columns = vec![Column::text("system")];
        return vec![Table::new("No answer was scored", columns)];
    }
    let first = with_compared_means(summary, summary.headline(context.row.as_deref()));
    let mut rest = Vec::new();
    if let [only] = &summary.scorers[..] {
        for column in &only.columns {
            if !first.iter().any(|(_, other)| other.name == column.name) {
                rest.push((only, column));
            }
        }
    }
    let title = title(summary, context);
    let card = metrics_table(&title, summary, &first, &rest, context.unfinished);
    let mut tables = vec![card];
    tables.extend(context.agreement.as_ref().map(agreement_table));
    tables
}

/// What the means are of, for a benchmark with its questions, and who judged.
fn title(summary: &Summary, context: &ReportContext) -> String {
    let means = means(summary);
    let mut title = match &context.bench {
        Some(bench) => format!(
            "{}: {} questions of {}; {}",
            bench.name,
            bench.asked,
            bench.data,
            means.to_lowercase()
        ),
        None => means,
    };
    let judge = context.judge_label();
    if !judge.is_empty() {
        title += &format!("; judge: {judge}");
    }
    title
}

/// These metrics, for several systems with the mean over answers behind a number of the whole system, such as its citation F1:
/// the verdict compares systems by that mean.
fn with_compared_means<'a>(
    summary: &'a Summary,
    metrics: Vec<ScorerMetric<'a>>,
) -> Vec<ScorerMetric<'a>> {
    let mut all = Vec::new();
    for (scorer, column) in metrics {
        all.push((scorer, column));
        let info = scorer_named(scorer.scorer.name());
        let mean = info.map_or(&*column.name, |info| info.name_of_mean(&column.name));
        if mean != column.name && summary.systems().len() > 1 {
            let of_answers = scorer.columns.iter().find(|column| column.name == mean);
            all.extend(of_answers.map(|column| (scorer, column)));
        }
    }
    all
}

/// A metric with its scorer.
type ScorerMetric<'a> = (&'a ScorerSummary, &'a MetricColumn);

/// A table for each of several scorers, with all its metrics; of an unfinished run, if so.
pub(super) fn scorer_tables(summary: &Summary, unfinished: bool) -> Vec<Table> {
    if summary.scorers.len() < 2 {
        return Vec::new();
    }
    let mut tables = Vec::new();
    for scorer in &summary.scorers {
        let columns = scorer.columns.iter();
        let columns: Vec<_> = columns.map(|column| (scorer, column)).collect();
        let title = format!("{}: {}", scorer.scorer, means(summary).to_lowercase());
        let mut table = metrics_table(&title, summary, &columns, &[], unfinished);
        // Details need their intervals: the last of them are left out where they do not fit.
        for column in table.columns.iter_mut().skip(2) {
            column.is_kept = false;
        }
        tables.push(table);
    }
    tables
}

/// What the numbers of the tables are.
fn means(summary: &Summary) -> String {
    format!(
        "Means per answer, {:.0}% intervals, shares in %",
        100.0 * summary.level
    )
}

/// `summary.csv`: one row per system. For each metric the mean, its interval, the number of values (`_n`) and of
/// missing values (`_unscored`). Then, per scorer (by name, except for the rubric), the numbers of answers, of missing and
/// of unscored ones.
///
/// # Errors
/// [`crate::Error::Internal`] if it cannot be written.
pub fn scorecard_csv(summary: &Summary, texts: CsvText) -> Result<String> {
    let mut table = Table::new("", Vec::new());
    let systems = summary.systems();
    table.column(Column::text("system"), &systems, |system| *system);
    for scorer in &summary.scorers {
        let is_rubric =
            scorer_named(scorer.scorer.name()).is_some_and(ScorerInfo::scores_test_cases);
        let prefix = if is_rubric {
            String::new()
        } else {
            format!("{}.", scorer.scorer)
        };
        let rows: Vec<Option<&SystemSummary>> =
            systems.iter().map(|system| scorer.row(system)).collect();
        if is_rubric {
            table.column(Column::count("rank"), &rows, |row| {
                row.and_then(|row| row.rank)
            });
        }
        for column in &scorer.columns {
            let key = summary.metric_name(&scorer.scorer, &column.name);
            push_metric(&mut table, &key, column, &rows);
        }
        for (name, count) in COUNTS {
            let column = Column::count(&format!("{prefix}{name}"));
            table.column(column, &rows, |row| row.map(count));
        }
    }
    table.csv(texts)
}

/// Adds a metric of these systems: the mean with its interval, and the numbers of values and of missing ones.
fn push_metric(
    table: &mut Table,
    key: &str,
    column: &MetricColumn,
    rows: &[Option<&SystemSummary>],
) {
    let metrics = rows.iter().map(|row| metric_of(*row, column));
    let metrics: Vec<Metric> = metrics.map(Option::unwrap_or_default).collect();
    table.column(Column::metric(key, column.unit), &metrics, |metric| {
        Cell::estimate(metric.estimate, metric.interval)
    });
    let values = Column::count(&format!("{key}_n"));
    table.column(values, &metrics, |metric| metric.n);
    let unscored = Column::count(&format!("{key}_unscored"));
    table.column(unscored, &metrics, |metric| metric.unscored);
}

fn metric_of(row: Option<&SystemSummary>, column: &MetricColumn) -> Option<Metric> {
    row?.metrics.get(&column.name).copied()
}

/// A number of answers in a row.
type CountOf = fn(&SystemSummary) -> usize;

/// The numbers of answers in a row, by name.
const COUNTS: [(&str, CountOf); 3] = [
    ("answers", |row| row.answers),
    ("missing", |row| row.missing),
    ("unscored", |row| row.unscored),
];

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
    render_json(&File {
        schema_version: 1,
        context,
        summary,
        notes: notes(summary, context),
    })
}

/// A row for each system: `first` metrics with their intervals, numbers of answers, then the `rest`. Of an unfinished run,
/// no mean is highlighted as the best unless all are over the same cases.
fn metrics_table(
    title: &str,
    summary: &Summary,
    first: &[ScorerMetric<'_>],
    rest: &[ScorerMetric<'_>],
    unfinished: bool,
) -> Table {
    let scorers = distinct(first.iter().chain(rest).map(|(scorer, _)| *scorer));
    let mut systems = summary.systems();
    systems.retain(|system| scorers.iter().any(|scorer| scorer.row(system).is_some()));
    let mut table = Table::new(title, Vec::new());
    table.column(Column::text("system"), &systems, |system| *system);
    for metric in first {
        let (mut column, cells) = mean_column(summary, *metric, &systems, unfinished);
        column.is_kept = true;
        table.push(column, cells);
    }
    for (name, count) in COUNTS {
        // The most of any scorer: the scorers score the same answers.
        let systems = systems.iter();
        let counts = systems.map(|system| most_of(&scorers, system, count));
        let counts: Vec<usize> = counts.collect();
        // Only answers are worth a column of zeros.
        if name == "answers" || counts.iter().any(|count| *count > 0) {
            table.column(Column::count(name), &counts, |count| *count);
        }
    }
    for metric in rest {
        let (column, cells) = mean_column(summary, *metric, &systems, unfinished);
        table.push(column, cells);
    }
    table
}

/// The means of these systems; `*` flags those over fewer answers than the others.
fn mean_column(
    summary: &Summary,
    (scorer, column): ScorerMetric<'_>,
    systems: &[&SystemName],
    unfinished: bool,
) -> (Column, Vec<Cell>) {
    let most = most_answers(scorer);
    let mut cells = Vec::new();
    for system in systems {
        let metric = metric_of(scorer.row(system), column).unwrap_or_default();
        // A mean over the answers that happened to be scored may be the highest of all; the flag
        // warns before it is quoted.
        let flag = if metric.n < most { "*" } else { "" };
        cells.push(Cell::estimate(metric.estimate, metric.interval).flagged(flag));
    }
    let name = summary.metric_name(&scorer.scorer, &column.name);
    let mut heading = Column::metric(&name, column.unit);
    let is_better = is_better_higher(scorer.scorer.name(), &column.name, column.unit);
    let is_fair = !unfinished || are_over_same_cases(scorer, column);
    heading.highest_is_best = is_better && is_fair;
    (heading, cells)
}

/// The largest of these counts of the system over the scorers.
fn most_of(
    scorers: &[&ScorerSummary],
    system: &SystemName,
    count: fn(&SystemSummary) -> usize,
) -> usize {
    let rows = scorers.iter().filter_map(|scorer| scorer.row(system));
    rows.map(count).max().unwrap_or(0)
}

/// Whether every system has a mean of this metric, and all of them over the same cases.
fn are_over_same_cases(scorer: &ScorerSummary, column: &MetricColumn) -> bool {
    scorer.rows.iter().all(|row| {
        let Some(metric) = row.metrics.get(&column.name) else {
            return false;
        };
        metric.n > 0 && metric.shared.is_some_and(|shared| shared.n == metric.n)
    })
}

/// The answers of the system that has most.
fn most_answers(scorer: &ScorerSummary) -> usize {
    scorer.rows.iter().map(|row| row.answers).max().unwrap_or(0)
}

/// Agreement of the rubrics of two annotators.
fn agreement_table(agreement: &Agreement) -> Table {
    let title = "Agreement of annotators on ann_score";
    let names = Column::headed("coefficient", title, Format::Text);
    let means = [agreement.kendall_tau_b, agreement.pearson];
    let questions = [agreement.kendall_questions, agreement.pearson_questions];
    let mut table = Table::new("", Vec::new());
    table.column(names, &["Kendall's tau-b", "Pearson's r"], |name| *name);
    table.column(Column::new("mean", Format::Number(3)), &means, |mean| *mean);
    table.column(Column::count("questions"), &questions, |count| *count);
    table
}

/// All notes, most important first.
pub(super) fn notes(summary: &Summary, context: &ReportContext) -> Vec<Note> {
    let mut notes = Vec::new();
    if let Some(part) = &context.part {
        notes.push(Note::warning(format!(
            "A part of the answers, not a result: {part}."
        )));
    }
    notes.extend(context.answer_warnings());
    if context.unfinished {
        notes.extend(shared_cases(summary, context).map(Note::warning));
    }
    notes.extend(Note::of_baseline(
        summary.scorers.iter().map(|scorer| &scorer.scorer),
    ));
    if summary.mode == Mode::Compat {
        notes.push(Note::warning(
            "Compat mode: pairing, parsing and arithmetic are those of the reference script.",
        ));
    }
    if let Some(bench) = &context.bench {
        notes.extend(bench.notes());
    }
    for scorer in &summary.scorers {
        notes.extend(scorer_notes(scorer, summary.on_unscored));
    }
    notes.extend(missing(summary).map(Note::warning));
    notes.extend(injections(summary).map(Note::warning));
    notes.extend(context.notes.iter().cloned());
    notes.extend(summary.panels.iter().map(panel_note));
    notes.extend(summary.noise.iter().filter_map(noise_note));
    notes.push(intervals_note(summary));
    let legend = context.bench.iter().flat_map(|bench| &bench.legend);
    notes.extend(legend.map(|line| Note::info(format!("{line}."))));
    notes
}

/// What the intervals are over.
fn intervals_note(summary: &Summary) -> Note {
    Note::info(format!(
        "Intervals: {:.0}%, over {} with all their cases ({}), {} resamples, seed {}.",
        100.0 * summary.level,
        counted(summary.questions, "question"),
        summary.cases,
        Format::Count.show(f64::from(summary.resamples)),
        summary.seed
    ))
}

/// How many cases of an unfinished run can be compared, by its first metric.
fn shared_cases(summary: &Summary, context: &ReportContext) -> Option<String> {
    let headline = summary.headline(context.row.as_deref());
    let (scorer, column) = *headline.first()?;
    let name = summary.metric_name(&scorer.scorer, &column.name);
    let name = visible(&name);
    Some(match cases_of_all_systems(scorer, column) {
        0 => format!(
            "Unfinished run: no case has a value of {name} for every system, so the systems cannot be compared."
        ),
        cases => format!(
            "Unfinished run: every system has a value of {name} for {cases} of {}.",
            counted(summary.cases, "case")
        ),
    })
}

/// The cases for which every system has a value of the metric.
fn cases_of_all_systems(scorer: &ScorerSummary, column: &MetricColumn) -> usize {
    let mut cases = None;
    for row in &scorer.rows {
        // A system without any value does not reduce the shared cases of the others, but leaves none for all.
        match metric_of(Some(row), column).and_then(|metric| metric.shared) {
            Some(shared) => cases = cases.or(Some(shared.n)),
            None => return 0,
        }
    }
    cases.unwrap_or(0)
}

/// Agreement of a panel's judges.
fn panel_note(panel: &PanelAgreement) -> Note {
    let judges = panel.judges.iter();
    let judges: Vec<String> = judges.map(|judge| shortened(&judge.judge, 60)).collect();
    Note::info(format!(
        "{} {}: judges {}: alpha {}, kappa {} over {} of {}.",
        panel.scorer.as_str().replace('_', " "),
        shortened(&panel.group.name, 60),
        judges.join(", "),
        shown_coefficient(&panel.alpha),
        shown_coefficient(&panel.kappa),
        counted(panel.units, "rating"),
        counted(panel.cases, "case")
    ))
}

/// Noise of a judge's repeated samples; `None` if no answer has two readable ones.
fn noise_note(noise: &SampleNoise) -> Option<Note> {
    let deviation = Format::Number(2).show(noise.mean_sd?);
    let equal = Format::Percent.show(noise.all_equal?);
    Some(Note::info(format!(
        "{} {}: noise of {} in {} of {}: standard deviation {deviation} on average, all equal in {equal}% of {}.",
        noise.scorer.as_str().replace('_', " "),
        shortened(&noise.group.name, 60),
        shortened(&noise.judge, 60),
        counted(noise.samples, "sample"),
        scale_name(noise.group.scale),
        counted(noise.units, "rating"),
    )))
}

/// What a standard deviation on this scale is of.
fn scale_name(scale: Scale) -> &'static str {
    match scale {
        Scale::Points => "points from 0 to 10",
        Scale::Count => "numbers of snippets",
        Scale::Share => "shares from 0 to 1",
        Scale::Grade => "grades from 1 to 5",
        Scale::Label => "labels (1 supported, 0 not)",
        Scale::Number => "numbers",
    }
}

/// Means below 0, which HealthBench reports as 0.
fn clipped(scorer: &ScorerSummary) -> Option<String> {
    let mut means = Vec::new();
    for row in &scorer.rows {
        for (name, metric) in &row.metrics {
            let (Some(mean), Some(clipped)) = (metric.estimate, metric.clipped) else {
                continue;
            };
            means.push(format!(
                "{} {name} {} ({})",
                shortened(row.system.as_str(), 60),
                Format::Percent.show(mean),
                Format::Percent.show(clipped)
            ));
        }
    }
    let means = listed(means)?;
    Some(format!(
        "Means outside 0..100, in parentheses clipped to it: {means}."
    ))
}

/// Notes on one scorer's numbers.
fn scorer_notes(scorer: &ScorerSummary, on_unscored: OnUnscored) -> Vec<Note> {
    let mut notes = Vec::new();
    notes.extend(unscored_note(scorer, on_unscored));
    notes.extend(open_pairs_note(scorer));
    notes.extend(fewer_answers(scorer));
    notes.extend(clipped(scorer));
    for note in &scorer.notes {
        let answers = counted(note.answers, "answer");
        notes.push(format!("{} ({answers}).", shortened(&note.note, 300)));
    }
    notes.into_iter().map(Note::warning).collect()
}

/// Unscored answers by system, what becomes of them, and an example of each kind of reason.
pub(super) fn unscored_note(scorer: &ScorerSummary, on_unscored: OnUnscored) -> Option<String> {
    let mut reasons = scorer.rows.iter().flat_map(|row| &row.unscored_reasons);
    let policy = match on_unscored {
        OnUnscored::Exclude => "left out of the means",
        OnUnscored::Zero if reasons.any(|reason| reason.kind == UnscoredKind::Abstained) => {
            "counted as the lowest value, but left out where the judge can assess nothing"
        }
        OnUnscored::Zero => "counted as the lowest value",
    };
    let systems = by_system(scorer, |row| {
        (row.unscored > 0).then(|| format!("{} of {}", row.unscored, row.answers))
    })?;
    let mut examples = BTreeMap::new();
    for reason in scorer.rows.iter().flat_map(|row| &row.unscored_reasons) {
        // An example each kind: a thousand time-outs must not hide the one wrong key.
        examples.insert(reason.kind, shortened(&reason.example, 120));
    }
    let reasons = examples.into_values().collect::<Vec<_>>().join("; ");
    let mut text = format!(
        "{}: unscored answers are {policy}: {systems} ({reasons}).",
        scorer.scorer
    );
    if on_unscored == OnUnscored::Exclude {
        text += &means_with_zeros(scorer).unwrap_or_default();
    }
    Some(text)
}

/// `careful 51.2; brief 40.0`: what `text` says of each system; `None` if it says nothing of any.
fn by_system(
    scorer: &ScorerSummary,
    text: impl Fn(&SystemSummary) -> Option<String>,
) -> Option<String> {
    let names = short_names(scorer.rows.iter().map(|row| row.system.as_str()));
    let mut systems = Vec::new();
    for (row, name) in scorer.rows.iter().zip(names) {
        systems.extend(text(row).map(|text| format!("{name} {text}")));
    }
    listed(systems)
}

/// What the pairs of a statement and a page that nobody can judge leave open of each system's accuracy.
fn open_pairs_note(scorer: &ScorerSummary) -> Option<String> {
    if scorer.scorer.name() != PAGES.name {
        return None;
    }
    let systems = by_system(scorer, |row| {
        let bounds = row.metrics.get(ACCURACY)?.bounds?;
        let (low, high) = (100.0 * bounds.low, 100.0 * bounds.high);
        Some(format!("{low:.1} to {high:.1}"))
    })?;
    Some(format!(
        "Citations that nobody can judge (the page is missing, blocked, cut, empty or too long, or the judge gave no verdict) count neither for nor \
         against a system. With all of them unsupported, and all supported, {ACCURACY} is: {systems}."
    ))
}

/// The mean scores of reports with unscored ones at 0: ScholarQA-CS2 leaves those out that it cannot read.
fn means_with_zeros(scorer: &ScorerSummary) -> Option<String> {
    let mut columns = scorer.columns.iter();
    if !columns.any(|column| column.name == REPORT_METRICS[0]) {
        return None;
    }
    let column = scorer.columns.first()?;
    let means = by_system(scorer, |row| {
        let metric = metric_of(Some(row), column)?;
        // The sum of the scored ones over all answers.
        let mean = metric.estimate.unwrap_or(0.0) * metric.n as f64 / row.answers as f64;
        (row.answers > 0).then(|| Format::of_mean(column.unit).show(mean))
    })?;
    Some(format!(
        " {} with them at 0: {means}.",
        visible(&column.name)
    ))
}

/// Explains `*`, with the means over the shared cases.
fn fewer_answers(scorer: &ScorerSummary) -> Option<String> {
    let most = most_answers(scorer);
    let mut columns = scorer.columns.iter();
    let column = columns.find(|column| has_fewer_values(scorer, column, most))?;
    let shared = shared_means(scorer, column).unwrap_or_default();
    Some(format!(
        "* mean over fewer than {most} answers ({}).{shared}",
        scorer.scorer
    ))
}

/// Whether a system has a mean over fewer answers.
fn has_fewer_values(scorer: &ScorerSummary, column: &MetricColumn, most: usize) -> bool {
    let rows = scorer.rows.iter();
    let mut metrics = rows.filter_map(|row| row.metrics.get(&column.name));
    metrics.any(|metric| metric.estimate.is_some() && metric.n < most)
}

/// The means of the column over the shared cases; `None` for a single system.
fn shared_means(scorer: &ScorerSummary, column: &MetricColumn) -> Option<String> {
    if scorer.rows.len() < 2 {
        return None;
    }
    let means = by_system(scorer, |row| {
        let shared = metric_of(Some(row), column)?.shared?;
        Some(Format::of_mean(column.unit).show(shared.estimate))
    })?;
    Some(format!(
        " {} over the shared cases: {means}.",
        visible(&column.name)
    ))
}

/// The cases without an answer of a system.
fn missing(summary: &Summary) -> Option<String> {
    let missing = summary.missing.iter();
    let names = missing.map(|missing| format!("{}/{}", missing.system, missing.case_id));
    Some(format!(
        "{} missing: {}.",
        counted(summary.missing.len(), "answer"),
        listed(names)?
    ))
}

/// The answers that may try to steer a judge.
fn injections(summary: &Summary) -> Option<String> {
    let mut answers = Vec::new();
    for entry in &summary.injections {
        let signs = entry.signs.join(", ");
        answers.push(format!("{}/{} ({signs})", entry.system, entry.case_id));
    }
    let count = counted(answers.len(), "answer");
    let answers = listed(answers)?;
    Some(format!(
        "{count} with signs of prompt injection: {answers}."
    ))
}

#[cfg(test)]
mod tests;
