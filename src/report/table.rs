//! The table of systems for a terminal or a pipe.

use comfy_table::{Attribute, Cell, CellAlignment, ColumnConstraint, ContentArrangement};

use super::footnotes::footnotes;
use super::layout::{per_cent, plain_table, push_item};
use super::{ReportContext, visible};
use crate::aggregate::{Metric, Summary, SystemRow};

/// How a table looks. The same summary and style give the same bytes everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableStyle {
    /// Columns of the terminal; narrower than 80 is treated as 80.
    pub width: u16,
    /// Whether the header may be bold (ANSI escapes).
    pub color: bool,
}

impl Default for TableStyle {
    /// 80 columns, no colour: right for a pipe.
    fn default() -> Self {
        Self { width: 80, color: false }
    }
}

/// Where the intervals go; tried from the widest to the narrowest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// Beside each mean.
    Beside,
    /// Below each mean.
    Below,
    /// Below the two scores only.
    ScoresOnly,
}

/// The systems, best first, means in per cent with 95% intervals, then the footnotes.
pub fn render_table(summary: &Summary, context: &ReportContext, style: &TableStyle) -> String {
    let mut out = rubric_table(summary, style);
    out.push('\n');
    for note in footnotes(summary, context) {
        push_item(&mut out, &note, usize::from(style.width.max(80)));
    }
    out
}

/// The table with the line above it, without the footnotes.
pub(super) fn rubric_table(summary: &Summary, style: &TableStyle) -> String {
    let width = style.width.max(80);
    let fits = |layout: &Layout| widest_line(&draw(summary, *layout, false, None)) <= usize::from(width);
    let layout = [Layout::Beside, Layout::Below].into_iter().find(fits).unwrap_or(Layout::ScoresOnly);
    let mut out = String::from("Means in per cent, 95% intervals");
    if layout == Layout::ScoresOnly {
        out.push_str(" (all: --format csv or json)");
    }
    out.push_str(", best first\n\n");
    out.push_str(&draw(summary, layout, style.color, Some(width)));
    out.push('\n');
    out
}

pub(super) fn widest_line(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

/// The table alone; within `width`, if one is given, by wrapping the names of systems.
fn draw(summary: &Summary, layout: Layout, color: bool, width: Option<u16>) -> String {
    let mut table = plain_table(color);
    table.set_header(header(summary.lexical, layout).map(|title| {
        let cell = Cell::new(title);
        if color { cell.add_attribute(Attribute::Bold) } else { cell }
    }));
    for row in &summary.rows {
        table.add_row(cells(row, layout));
    }
    table.set_content_arrangement(ContentArrangement::Disabled);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, if layout == Layout::ScoresOnly { 1 } else { 2 }));
        if index > 0 {
            column.set_cell_alignment(CellAlignment::Right);
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    if let Some(width) = width.filter(|width| widest_line(&table.trim_fmt()) > usize::from(*width)) {
        table.set_width(width).set_content_arrangement(ContentArrangement::Dynamic);
    }
    table.trim_fmt()
}

fn header(lexical: bool, layout: Layout) -> [&'static str; 9] {
    let (score, ann_score) = match (lexical, layout) {
        (false, Layout::ScoresOnly) => ("rubric\nscore", "ann_\nscore"),
        (false, _) => ("rubric score", "ann_score"),
        (true, Layout::ScoresOnly) => ("lexical_\nscore", "lexical_\nann_score"),
        (true, _) => ("lexical_score", "lexical_ann_score"),
    };
    match layout {
        Layout::ScoresOnly => [
            "system",
            score,
            ann_score,
            "length",
            "exper-\ntise",
            "cita-\ntions",
            "ex-\ncerpts",
            "cases",
            "un-\nscored",
        ],
        _ => ["system", score, ann_score, "length", "expertise", "citations", "excerpts", "cases", "unscored"],
    }
}

fn cells(row: &SystemRow, layout: Layout) -> [String; 9] {
    let metrics = &row.metrics;
    let part = |metric: Metric| mean_cell(metric, if layout == Layout::ScoresOnly { None } else { Some(layout) });
    [
        visible(row.system.as_str()).into_owned(),
        mean_cell(metrics.score, Some(layout)),
        mean_cell(metrics.ann_score, Some(layout)),
        part(metrics.length),
        part(metrics.expertise),
        part(metrics.citations),
        part(metrics.excerpts),
        format!("{}/{}", row.cases_scored, row.cases_kept),
        row.unscored.to_string(),
    ]
}

/// A mean with its interval where `layout` wants it; a dash where there is no mean.
fn mean_cell(metric: Metric, layout: Option<Layout>) -> String {
    let Some(mean) = metric.estimate.map(per_cent) else {
        return "-".to_owned();
    };
    match (layout, metric.interval) {
        (Some(Layout::Beside), Some((low, high))) => format!("{mean} [{}, {}]", end(low), end(high)),
        (Some(_), Some((low, high))) => format!("{mean}\n{}–{}", end(low), end(high)),
        _ => mean,
    }
}

/// An end of an interval; a full 100 spares its decimal, since room is short.
fn end(value: f64) -> String {
    let shown = per_cent(value);
    if shown == "100.0" { "100".to_owned() } else { shown }
}
