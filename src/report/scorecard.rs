//! The scorecard of a run: the headline metrics of its scorers; on request, a table for each scorer.

use std::collections::BTreeMap;

use serde::Serialize;

use super::agreement::in_line;
use super::json::render_json;
use super::layout::{counted, listed};
use super::table::{Cell, Column, Format, Legend, Table, short_names};
use super::visible::shortened;
use super::{Bench, CsvText, ReportContext, visible};
use crate::analysis::{
    Agreement, CITATION_F1, CITATION_F1_MACRO, Metric, MetricColumn, OnUnscored, PanelAgreement,
    SampleNoise, Scale, ScorerSummary, Summary, SystemSummary, distinct,
};
use crate::domain::{Mode, Note, REPORT_METRICS, SystemName, UnscoredKind, scores_test_cases};
use crate::error::Result;

/// The tables that a reader sees first: the headline metrics of all scorers, or all metrics of a single one, and the
/// agreement of annotators if it was requested.
pub fn scorecard(summary: &Summary, context: &ReportContext) -> Vec<Table> {
    if summary.scorers.is_empty() {
        return vec![Table::new(
            "No answer was scored",
            vec![Column::new("system", Format::Text)],
        )];
    }
    let first = with_compared_f1(summary, summary.headline(context.row.as_deref()));
    let is_first = |name: &str| first.iter().any(|(_, own)| own.name == name);
    let rest = match &summary.scorers[..] {
        [only] => only
            .columns
            .iter()
            .filter(|column| !is_first(&column.name))
            .map(|column| (only, column))
            .collect(),
        _ => Vec::new(),
    };
    let (means, judge) = (means(summary), context.judge_label());
    let mut title = match &context.bench {
        Some(of) => format!(
            "{}: {} questions of {}; {}",
            of.name,
            of.asked,
            of.data,
            means.to_lowercase()
        ),
        None => means,
    };
    if !judge.is_empty() {
        title += &format!("; judge: {judge}");
    }
    let card = metrics_table(&title, summary, &first, &rest, context.unfinished);
    std::iter::once(card)
        .chain(context.agreement.as_ref().map(agreement_table))
        .collect()
}

/// These metrics, for several systems with the mean F1 of answers behind the citation F1: the verdict compares systems by
/// that one, since the F1 of a system's means is not a mean over answers.
fn with_compared_f1<'a>(
    summary: &'a Summary,
    metrics: Vec<ScorerMetric<'a>>,
) -> Vec<ScorerMetric<'a>> {
    let mut all = Vec::new();
    for (scorer, column) in metrics {
        all.push((scorer, column));
        let of_answers = scorer
            .columns
            .iter()
            .find(|own| own.name == CITATION_F1_MACRO);
        if column.name == CITATION_F1 && summary.systems().len() > 1 {
            all.extend(of_answers.map(|own| (scorer, own)));
        }
    }
    all
}

/// A metric with its scorer.
type ScorerMetric<'a> = (&'a ScorerSummary, &'a MetricColumn);

/// What the table of `score` shows, for `--help`.
pub(crate) const SCORECARD_LEGEND: &[Legend] = &[
    Legend {
        key: "mean",
        heading: "score, ..",
        meaning: "mean of the metric per answer with its interval, in % for shares; docs/metrics.md defines each metric",
    },
    Legend {
        key: "answers",
        heading: "answers",
        meaning: "answers of the system that were scored, unscored ones included",
    },
    Legend {
        key: "missing",
        heading: "missing",
        meaning: "test cases without an answer of the system",
    },
    Legend {
        key: "unscored",
        heading: "unscored",
        meaning: "answers with a component without a value, such as an unreadable reply",
    },
    Legend {
        key: "flag",
        heading: "*",
        meaning: "mean over fewer answers than the others: not comparable",
    },
    Legend {
        key: "p",
        heading: "p",
        meaning: "of a difference, adjusted for all pairs of the metric",
    },
];

/// A table for each of several scorers, with all its metrics; of an unfinished run, if so.
pub(super) fn scorer_tables(summary: &Summary, unfinished: bool) -> Vec<Table> {
    let table = |scorer: &ScorerSummary| {
        let columns: Vec<_> = scorer
            .columns
            .iter()
            .map(|column| (scorer, column))
            .collect();
        let title = format!("{}: {}", scorer.scorer, means(summary).to_lowercase());
        let mut table = metrics_table(&title, summary, &columns, &[], unfinished);
        // Details need their intervals: the last of them are left out where they do not fit.
        for column in table.columns.iter_mut().skip(2) {
            column.is_kept = false;
        }
        table
    };
    if summary.scorers.len() > 1 {
        summary.scorers.iter().map(table).collect()
    } else {
        Vec::new()
    }
}

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
    let (mut table, systems) = (Table::new("", Vec::new()), summary.systems());
    table.push(
        Column::new("system", Format::Text),
        systems.iter().map(|system| Cell::text(system.as_str())),
    );
    for scorer in &summary.scorers {
        let is_rubric = scores_test_cases(scorer.scorer);
        let prefix = if is_rubric {
            String::new()
        } else {
            format!("{}.", scorer.scorer)
        };
        let push_count =
            |table: &mut Table, name: &str, count: fn(&SystemSummary) -> Option<usize>| {
                let counts = systems.iter().map(|system| {
                    scorer
                        .row(system)
                        .and_then(count)
                        .map_or(Cell::Missing, Cell::count)
                });
                table.push(
                    Column::new(&format!("{prefix}{name}"), Format::Count),
                    counts,
                );
            };
        if is_rubric {
            push_count(&mut table, "rank", |row| row.rank);
        }
        for column in &scorer.columns {
            let key = summary.metric_name(scorer.scorer, &column.name);
            let metric = |system: &&SystemName| {
                scorer
                    .metric(system, &column.name)
                    .copied()
                    .unwrap_or_default()
            };
            let means = systems
                .iter()
                .map(metric)
                .map(|own| Cell::estimate(own.estimate, own.interval));
            table.push(Column::metric(&key, column.unit), means);
            let count = |part: &str| Column::new(&format!("{key}_{part}"), Format::Count);
            table.push(
                count("n"),
                systems.iter().map(metric).map(|own| Cell::count(own.n)),
            );
            table.push(
                count("unscored"),
                systems
                    .iter()
                    .map(metric)
                    .map(|own| Cell::count(own.unscored)),
            );
        }
        push_count(&mut table, "answers", |row| Some(row.answers));
        push_count(&mut table, "missing", |row| Some(row.missing));
        push_count(&mut table, "unscored", |row| Some(row.unscored));
    }
    table.csv(texts)
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
    let rows = |system: &SystemName| {
        scorers
            .iter()
            .filter_map(|scorer| scorer.row(system))
            .collect::<Vec<_>>()
    };
    let systems: Vec<_> = summary
        .systems()
        .into_iter()
        .filter(|system| !rows(system).is_empty())
        .collect();
    let push_means = |table: &mut Table, metrics: &[ScorerMetric<'_>], are_kept: bool| {
        for (scorer, column) in metrics {
            let most = most_answers(scorer);
            let mean = |system: &&SystemName| {
                let metric = scorer
                    .metric(system, &column.name)
                    .copied()
                    .unwrap_or_default();
                let flag = if metric.n < most { "*" } else { "" };
                Cell::estimate(metric.estimate, metric.interval).flagged(flag)
            };
            let name = summary.metric_name(scorer.scorer, &column.name);
            let mut heading = Column {
                is_kept: are_kept,
                ..Column::metric(&name, column.unit)
            };
            heading.highest_is_best &= !unfinished || are_over_same_cases(scorer, column);
            table.push(heading, systems.iter().map(mean));
        }
    };
    let mut table = Table::new(title, Vec::new());
    table.push(
        Column::new("system", Format::Text),
        systems.iter().map(|system| Cell::text(system.as_str())),
    );
    push_means(&mut table, first, true);
    type Count = fn(&SystemSummary) -> usize;
    let counts: [(&str, Count); 3] = [
        ("answers", |row| row.answers),
        ("missing", |row| row.missing),
        ("unscored", |row| row.unscored),
    ];
    for (name, count) in counts {
        let most = |system: &&SystemName| {
            rows(system)
                .into_iter()
                .map(count)
                .max()
                .unwrap_or_default()
        };
        let counts: Vec<usize> = systems.iter().map(most).collect();
        if name == "answers" || counts.iter().any(|count| *count > 0) {
            table.push(
                Column::new(name, Format::Count),
                counts.into_iter().map(Cell::count),
            );
        }
    }
    push_means(&mut table, rest, false);
    table
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

fn most_answers(scorer: &ScorerSummary) -> usize {
    scorer.rows.iter().map(|row| row.answers).max().unwrap_or(0)
}

/// Agreement of the rubrics of two annotators.
fn agreement_table(agreement: &Agreement) -> Table {
    let columns = vec![
        Column::headed(
            "coefficient",
            "Agreement of annotators on ann_score",
            Format::Text,
        ),
        Column::new("mean", Format::Number(3)),
        Column::new("questions", Format::Count),
    ];
    let mut table = Table::new("", columns);
    let row =
        |name, mean, questions| vec![Cell::text(name), Cell::maybe(mean), Cell::count(questions)];
    table.rows.push(row(
        "Kendall's tau-b",
        agreement.kendall_tau_b,
        agreement.kendall_questions,
    ));
    table.rows.push(row(
        "Pearson's r",
        agreement.pearson,
        agreement.pearson_questions,
    ));
    table
}

/// All notes, most important first.
pub(super) fn notes(summary: &Summary, context: &ReportContext) -> Vec<Note> {
    let slice = context
        .slice
        .iter()
        .map(|slice| format!("Slice {slice}: a part of the answers, not a result."));
    let mut notes: Vec<Note> = slice.map(Note::warning).collect();
    notes.extend(context.answer_warnings());
    if context.unfinished {
        notes.extend(shared_cases(summary, context).map(Note::warning));
    }
    // Of a benchmark's row, the columns say whose scores these are.
    let columns = summary
        .scorers
        .iter()
        .flat_map(|scorer| &scorer.columns)
        .map(|column| column.name.as_str());
    notes.extend(Note::of_baseline(columns));
    if summary.mode == Mode::Compat {
        let what =
            "Compat mode: pairing, parsing and arithmetic are those of the reference script.";
        notes.push(Note::warning(what));
    }
    notes.extend(context.bench.iter().flat_map(Bench::notes));
    notes.extend(
        summary
            .scorers
            .iter()
            .flat_map(|scorer| scorer_notes(scorer, summary.on_unscored)),
    );
    notes.extend(
        missing(summary)
            .into_iter()
            .chain(injections(summary))
            .map(Note::warning),
    );
    notes.extend(context.notes.iter().cloned());
    notes.extend(summary.panels.iter().map(panel_note));
    notes.extend(summary.noise.iter().filter_map(noise_note));
    notes.push(Note::info(format!(
        "Intervals: {:.0}%, over {} with all their cases ({}), {} resamples, seed {}.",
        100.0 * summary.level,
        counted(summary.questions, "question"),
        summary.cases,
        Format::Count.show(f64::from(summary.resamples)),
        summary.seed
    )));
    let legend = context.bench.iter().flat_map(|bench| &bench.legend);
    notes.extend(legend.map(|line| Note::info(format!("{line}."))));
    notes
}

/// How many cases of an unfinished run can be compared, by its first metric.
fn shared_cases(summary: &Summary, context: &ReportContext) -> Option<String> {
    let headline = summary.headline(context.row.as_deref());
    let (scorer, column) = *headline.first()?;
    let metrics = scorer.rows.iter().map(|row| row.metrics.get(&column.name));
    // A system without any value does not reduce the shared cases of the others.
    let shared = metrics
        .map(|metric| metric?.shared)
        .collect::<Option<Vec<_>>>();
    let shared = shared.and_then(|means| means.first().map(|mean| mean.n));
    let name = summary.metric_name(scorer.scorer, &column.name);
    let name = visible(&name);
    Some(match shared.filter(|cases| *cases > 0) {
        Some(cases) => format!(
            "Unfinished run: every system has a value of {name} for {cases} of {}.",
            counted(summary.cases, "case")
        ),
        None => format!(
            "Unfinished run: no case has a value of {name} for every system, so the systems cannot be compared."
        ),
    })
}

/// Agreement of a panel's judges.
fn panel_note(panel: &PanelAgreement) -> Note {
    let judges: Vec<String> = panel
        .judges
        .iter()
        .map(|judge| shortened(&judge.judge, 60))
        .collect();
    Note::info(format!(
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

/// Noise of a judge's repeated samples; `None` if no answer has two readable ones.
fn noise_note(noise: &SampleNoise) -> Option<Note> {
    let deviation = Format::Number(2).show(noise.mean_sd?);
    let equal = Format::Percent.show(noise.all_equal?);
    Some(Note::info(format!(
        "{} {}: noise of {} in {} of {}: standard deviation {deviation} on average, all equal in {equal}% of {}.",
        noise.scorer.replace('_', " "),
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
    let both = |system: &SystemName, name: &str, metric: &Metric| {
        let [plain, clipped] =
            [metric.estimate?, metric.clipped?].map(|mean| Format::Percent.show(mean));
        Some(format!(
            "{} {name} {plain} ({clipped})",
            shortened(system.as_str(), 60)
        ))
    };
    let of_all = scorer.rows.iter().flat_map(|row| {
        row.metrics
            .iter()
            .map(|(name, own)| (&row.system, name, own))
    });
    let means = listed(of_all.filter_map(|(system, name, metric)| both(system, name, metric)))?;
    Some(format!(
        "Means outside 0..100, in parentheses clipped to it: {means}."
    ))
}

/// Notes on one scorer's numbers.
fn scorer_notes(scorer: &ScorerSummary, on_unscored: OnUnscored) -> Vec<Note> {
    let own = scorer.notes.iter();
    let own = own.map(|own| {
        format!(
            "{} ({}).",
            shortened(&own.note, 300),
            counted(own.answers, "answer")
        )
    });
    let first = [
        unscored(scorer, on_unscored),
        fewer_answers(scorer),
        clipped(scorer),
    ];
    first
        .into_iter()
        .flatten()
        .chain(own)
        .map(Note::warning)
        .collect()
}

fn unscored(scorer: &ScorerSummary, on_unscored: OnUnscored) -> Option<String> {
    let policy = match on_unscored {
        OnUnscored::Exclude => "left out of the means",
        OnUnscored::Zero => "counted as the lowest value",
    };
    let rows: Vec<&SystemSummary> = scorer.rows.iter().filter(|row| row.unscored > 0).collect();
    let names = short_names(rows.iter().map(|row| row.system.as_str()));
    let system = |(row, name): (&&SystemSummary, String)| {
        format!("{name} {} of {}", row.unscored, row.answers)
    };
    let systems = listed(rows.iter().zip(names).map(system))?;
    let reasons = rows.iter().flat_map(|row| &row.unscored_reasons);
    let reasons: BTreeMap<UnscoredKind, String> = reasons
        .map(|reason| (reason.kind, shortened(&reason.example, 120)))
        .collect();
    let reasons = reasons.into_values().collect::<Vec<_>>().join("; ");
    let zeros = means_with_zeros(scorer)
        .filter(|_| on_unscored == OnUnscored::Exclude)
        .unwrap_or_default();
    Some(format!(
        "{}: unscored answers are {policy}: {systems} ({reasons}).{zeros}",
        scorer.scorer
    ))
}

/// The mean scores of reports with unscored ones at 0: ScholarQA-CS2 leaves those out that it cannot read.
fn means_with_zeros(scorer: &ScorerSummary) -> Option<String> {
    scorer
        .columns
        .iter()
        .find(|column| column.name == REPORT_METRICS[0])?;
    let column = scorer.columns.first()?;
    let names = short_names(scorer.rows.iter().map(|row| row.system.as_str()));
    let means = scorer.rows.iter().zip(names).filter_map(|(row, name)| {
        let metric = row.metrics.get(&column.name).filter(|_| row.answers > 0)?;
        let mean = metric.estimate.unwrap_or(0.0) * metric.n as f64 / row.answers as f64;
        Some(format!(
            "{name} {}",
            Format::of_mean(column.unit).show(mean)
        ))
    });
    listed(means).map(|means| format!(" {} with them at 0: {means}.", visible(&column.name)))
}

/// Explains `*`, with the means over the shared cases.
fn fewer_answers(scorer: &ScorerSummary) -> Option<String> {
    let most = most_answers(scorer);
    let is_flagged = |metric: &Metric| metric.estimate.is_some() && metric.n < most;
    let is_in = |column: &&MetricColumn| {
        scorer
            .rows
            .iter()
            .any(|row| row.metrics.get(&column.name).is_some_and(is_flagged))
    };
    let column = scorer.columns.iter().find(is_in)?;
    let shared = shared_means(scorer, column).unwrap_or_default();
    Some(format!(
        "* mean over fewer than {most} answers ({}).{shared}",
        scorer.scorer
    ))
}

/// The means of the column over the shared cases; `None` for a single system.
fn shared_means(scorer: &ScorerSummary, column: &MetricColumn) -> Option<String> {
    if scorer.rows.len() < 2 {
        return None;
    }
    let names = short_names(scorer.rows.iter().map(|row| row.system.as_str()));
    let mean = |row: &SystemSummary| {
        Some(Format::of_mean(column.unit).show(row.metrics.get(&column.name)?.shared?.estimate))
    };
    let means = scorer
        .rows
        .iter()
        .zip(names)
        .filter_map(|(row, name)| Some(format!("{name} {}", mean(row)?)));
    listed(means).map(|means| format!(" {} over the shared cases: {means}.", visible(&column.name)))
}

fn missing(summary: &Summary) -> Option<String> {
    let names = summary
        .missing
        .iter()
        .map(|missing| format!("{}/{}", missing.system, missing.case_id));
    Some(format!(
        "{} missing: {}.",
        counted(summary.missing.len(), "answer"),
        listed(names)?
    ))
}

fn injections(summary: &Summary) -> Option<String> {
    let entries = summary.injections.iter();
    let entries = entries.map(|entry| {
        format!(
            "{}/{} ({})",
            entry.system,
            entry.case_id,
            entry.signs.join(", ")
        )
    });
    let count = counted(summary.injections.len(), "answer");
    Some(format!(
        "{count} with signs of prompt injection: {}.",
        listed(entries)?
    ))
}

#[cfg(test)]
mod tests;
