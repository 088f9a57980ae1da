//! The table of one scorer's columns.

use std::ops::Range;

use comfy_table::{Attribute, Cell};

use super::footnotes::of_kind;
use super::layout::{
    NAME, counted, listed, name_lines, names_left_numbers_right, per_cent, plain_table, short_name, table_names,
};
use super::rubric_table::widest_line;
use super::visible::shortened;
use super::{TableStyle, visible};
use crate::analysis::{Column, Metric, OnUnscored, Section, SectionRow};
use crate::domain::{Unit, UnscoredKind};

/// Where the intervals go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Intervals {
    Beside,
    Below,
}

/// What stands in the place of a scorer in the table of all main numbers.
pub(super) const HEADLINE: &str = "scorecard";

/// Listed entries of one kind before the rest is counted.
const LISTED: usize = 5;

/// A heading, then the systems with their means: intervals beside them where there is room, else below; columns that do
/// not fit beside each other follow below.
pub(super) fn section_table(section: &Section, style: &TableStyle) -> String {
    section_table_of(section, &heading(section), style)
}

/// The same under this heading.
pub(super) fn section_table_of(section: &Section, heading: &str, style: &TableStyle) -> String {
    let width = usize::from(style.width.max(80));
    let fits = |columns: Range<usize>, intervals| widest_line(&draw(section, columns, intervals, false)) <= width;
    let all = 0..section.columns.len();
    let mut out = format!("{}: {heading}\n\n", section.scorer);
    if all.is_empty() || fits(all.clone(), Intervals::Beside) {
        out.push_str(&draw(section, all, Intervals::Beside, style.color));
        out.push('\n');
        return out;
    }
    let mut start = 0;
    while start < all.end {
        let end = (start + 1..=all.end).rev().find(|end| fits(start..*end, Intervals::Below)).unwrap_or(start + 1);
        out.push_str(if start > 0 { "\n" } else { "" });
        out.push_str(&draw(section, start..end, Intervals::Below, style.color));
        out.push('\n');
        start = end;
    }
    out
}

fn heading(section: &Section) -> String {
    let has = |unit| section.columns.iter().any(|column| column.unit == unit);
    let mut parts = Vec::new();
    if has(Unit::Grade) {
        parts.push("grades from 1 to 5");
    }
    if has(Unit::Share) {
        parts.push("% in per cent");
    }
    let units = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
    format!("means an answer{units}, 95% intervals")
}

/// The systems with some of the columns.
fn draw(section: &Section, columns: Range<usize>, intervals: Intervals, color: bool) -> String {
    let mut table = plain_table(color);
    let shown = &section.columns[columns.clone()];
    // The headline has a column a scorer's number: narrow titles keep them beside each other.
    let between = if section.scorer == HEADLINE { "\n" } else { " " };
    let titles = shown.iter().map(|column| title(column).replace(' ', between));
    let titles = ["system".to_owned(), "n".to_owned()].into_iter().chain(titles);
    table.set_header(titles.map(|title| {
        let cell = Cell::new(title);
        if color { cell.add_attribute(Attribute::Bold) } else { cell }
    }));
    let names = table_names(section.rows.iter().map(|row| row.system.as_str()));
    let most = most_items(section);
    for (row, name) in section.rows.iter().zip(names) {
        let mut cells = vec![name_lines(&name, NAME), row.items.to_string()];
        let metrics = row.metrics.iter().skip(columns.start).zip(shown);
        cells.extend(metrics.map(|(metric, column)| {
            let mark = if is_over_fewer(&metric.metric, most) { "*" } else { "" };
            cell(&metric.metric, mark, column.unit, intervals)
        }));
        table.add_row(cells);
    }
    names_left_numbers_right(&mut table);
    table.trim_fmt()
}

/// The answers of the system with the most.
fn most_items(section: &Section) -> usize {
    section.rows.iter().map(|row| row.items).max().unwrap_or(0)
}

/// True if the mean is over fewer answers than its system has, or than another system has.
fn is_over_fewer(metric: &Metric, most: usize) -> bool {
    metric.estimate.is_some() && metric.n < most
}

/// What the mark at a mean says: of each column how many answers the marked means are over. `all` tells it of columns, too,
/// that do not apply to the other answers, where no other note does.
pub(super) fn fewer(section: &Section, all: bool) -> Option<String> {
    let most = most_items(section);
    let is_told_here = |row: &SectionRow, metric: &Metric| all || metric.unscored > 0 || row.items < most;
    let of_column = |(at, column): (usize, &Column)| {
        let marked = section.rows.iter().filter_map(|row| {
            let metric = row.metrics.get(at)?.metric;
            let is_told = is_over_fewer(&metric, most) && is_told_here(row, &metric);
            is_told.then(|| format!("{} {} of {most}", short_name(row.system.as_str()), metric.n))
        });
        let marked: Vec<String> = marked.collect();
        (!marked.is_empty()).then(|| (visible(&column.name).into_owned(), listed(marked.into_iter(), LISTED)))
    };
    let told = grouped(section.columns.iter().enumerate().filter_map(of_column));
    (!told.is_empty()).then(|| format!("{} *: a mean over fewer answers: {}.", section.scorer, told.join("; ")))
}

/// Columns of which the same is to be said are told together.
fn grouped(columns: impl Iterator<Item = (String, String)>) -> Vec<String> {
    let mut groups: Vec<(Vec<String>, String)> = Vec::new();
    for (name, parts) in columns {
        match groups.iter_mut().find(|(_, same)| *same == parts) {
            Some((names, _)) => names.push(name),
            None => groups.push((vec![name], parts)),
        }
    }
    groups.into_iter().map(|(names, parts)| format!("{}: {parts}", names.join(", "))).collect()
}

fn title(column: &Column) -> String {
    let name = visible(&column.name).replace('_', " ");
    if column.unit == Unit::Share { format!("{name} %") } else { name }
}

/// A number as the table shows it.
pub(super) fn shown(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Share => per_cent(value),
        Unit::Grade => format!("{value:.2}"),
        Unit::Count => format!("{value:.1}"),
    }
}

fn cell(metric: &Metric, mark: &str, unit: Unit, intervals: Intervals) -> String {
    let Some(mean) = metric.estimate.map(|mean| shown(mean, unit) + mark) else { return "-".to_owned() };
    match (intervals, metric.interval) {
        (Intervals::Beside, Some((low, high))) => format!("{mean} [{}, {}]", shown(low, unit), shown(high, unit)),
        (Intervals::Below, Some((low, high))) => format!("{mean}\n{}–{}", shown(low, unit), shown(high, unit)),
        (_, None) => mean,
    }
}

/// What a reader must know of the section beside its numbers.
pub(super) fn section_notes(section: &Section, on_unscored: OnUnscored) -> Vec<String> {
    let mut notes: Vec<String> = section.rows.iter().filter_map(|row| unscored(section, row, on_unscored)).collect();
    notes.extend(unjudged(section));
    notes.extend(partly_applicable(section));
    notes.extend(fewer(section, false));
    notes.extend(different_cases(section));
    let said = section.notes.iter().take(LISTED);
    notes.extend(said.map(|note| format!("{} ({}).", shortened(&note.note, 300), counted(note.answers, "answer"))));
    notes
}

fn unscored(section: &Section, row: &SectionRow, on_unscored: OnUnscored) -> Option<String> {
    if row.unscored == row.unjudged {
        return None;
    }
    let policy = match on_unscored {
        OnUnscored::Exclude => "left out of the means",
        OnUnscored::Zero => "counted as the lowest there is",
    };
    let reasons: Vec<String> = row
        .unscored_reasons
        .iter()
        .take(LISTED)
        .map(|reason| format!("{}, e.g. {}", of_kind(reason.components, reason.kind), shortened(&reason.example, 60)))
        .collect();
    let bounds: Vec<String> = section
        .columns
        .iter()
        .zip(&row.metrics)
        .filter_map(|(column, metric)| {
            let (low, high) = metric.bounds?;
            let unit = column.unit;
            Some(format!("{} {} or {}", visible(&column.name), shown(low, unit), shown(high, unit)))
        })
        .collect();
    let bounds = if bounds.is_empty() {
        String::new()
    } else {
        format!("; with every missing value the lowest or the highest, {}", bounds.join(", "))
    };
    Some(format!(
        "{}: {} unscored by {}, {policy} ({}){bounds}.",
        visible(row.system.as_str()),
        counted(row.unscored, "answer"),
        section.scorer,
        reasons.join("; ")
    ))
}

/// Why columns are blank that no judge has the role for.
fn unjudged(section: &Section) -> Option<String> {
    let reasons = section.rows.iter().filter(|row| row.unjudged > 0).flat_map(|row| &row.unscored_reasons);
    reasons.into_iter().any(|reason| reason.kind == UnscoredKind::NoJudge).then(|| {
        let is_blank = |at: &usize| {
            section.rows.iter().all(|row| row.metrics[*at].metric.n == 0)
                && section.rows.iter().any(|row| row.metrics[*at].metric.unscored > 0)
        };
        let blank = (0..section.columns.len()).filter(is_blank).map(|at| visible(&section.columns[at].name));
        let blank = blank.collect::<Vec<_>>().join(", ");
        format!("{}: no judge has the role that {blank} would need; the columns are blank.", section.scorer)
    })
}

/// Columns whose mean is over fewer answers than the table says, since they do not apply to the others.
fn partly_applicable(section: &Section) -> Option<String> {
    let part = |row: &SectionRow, at: usize| {
        let metric = row.metrics.get(at)?.metric;
        let applies = metric.n.max(metric.n + metric.unscored);
        (applies < row.items).then(|| format!("{} {applies} of {}", visible(row.system.as_str()), row.items))
    };
    let of_column = |(at, column): (usize, &Column)| {
        let parts: Vec<String> = section.rows.iter().filter_map(|row| part(row, at)).collect();
        (!parts.is_empty()).then(|| (visible(&column.name).into_owned(), listed(parts.into_iter(), LISTED)))
    };
    let told = grouped(section.columns.iter().enumerate().filter_map(of_column));
    (!told.is_empty())
        .then(|| format!("{}: these columns do not apply to every answer: {}.", section.scorer, told.join("; ")))
}

/// The means over the cases that all systems have, where their own means are over different ones.
fn different_cases(section: &Section) -> Option<String> {
    let told = |(at, column): (usize, &Column)| {
        let shared: Vec<(&SectionRow, (f64, usize))> =
            section.rows.iter().filter_map(|row| Some((row, row.metrics.get(at)?.shared?))).collect();
        let (_, (_, cases)) = shared.first()?;
        let values = shared
            .iter()
            .map(|(row, (mean, _))| format!("{} {}", visible(row.system.as_str()), shown(*mean, column.unit)));
        let values: Vec<String> = values.collect();
        Some(format!("{} ({}) {}", visible(&column.name), counted(*cases, "case"), values.join(", ")))
    };
    let main = section.columns.iter().enumerate().filter(|(_, column)| column.unit != Unit::Count);
    let columns: Vec<String> = main.filter_map(told).collect();
    (!columns.is_empty()).then(|| {
        format!(
            "{}: the means above are over each system's own answers and do not compare; over the cases that all have: {}.",
            section.scorer,
            columns.join("; ")
        )
    })
}
