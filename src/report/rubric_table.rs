//! The table of systems for a terminal or a pipe.

use comfy_table::{Attribute, Cell};

use super::footnotes::footnotes;
use super::layout::{NAME, name_lines, names_left_numbers_right, per_cent, plain_table, push_item, table_names};
use super::{ReportContext, TableStyle};
use crate::analysis::{Metric, Summary, SystemRow};

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
    let width = usize::from(style.width.max(80));
    let whole = table_names(summary.rows.iter().map(|row| row.system.as_str()));
    let names: Vec<String> = whole.iter().map(|name| name_lines(name, NAME)).collect();
    let fits = |layout: &Layout| widest_line(&draw(summary, &names, *layout, false, false)) <= width;
    let layout = [Layout::Beside, Layout::Below].into_iter().find(fits).unwrap_or(Layout::ScoresOnly);
    let mut out = String::from("Means in per cent, 95% intervals");
    if layout == Layout::ScoresOnly {
        out.push_str(" (all: --format csv or json)");
    }
    out.push_str(", best first\n\n");
    // Numbers keep their width: what they leave is for the names, and if that is little, so is what stands between them.
    let blank = vec![String::new(); names.len()];
    let room = |tight| {
        let without = widest_line(&draw(summary, &blank, layout, false, tight));
        (width + SYSTEM.len()).saturating_sub(without).clamp(SYSTEM.len(), NAME)
    };
    let longest = names.iter().map(|name| widest_line(name)).max().unwrap_or(0);
    let tight = layout == Layout::ScoresOnly && room(false) < longest;
    let room = room(tight);
    let names: Vec<String> = whole.iter().map(|name| name_lines(name, room)).collect();
    out.push_str(&draw(summary, &names, layout, style.color, tight));
    out.push('\n');
    out
}

/// The heading of the names.
const SYSTEM: &str = "system";

pub(super) fn widest_line(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

/// The table alone, with these names; `tight` with as little between the columns as there can be.
fn draw(summary: &Summary, names: &[String], layout: Layout, color: bool, tight: bool) -> String {
    let mut table = plain_table(color);
    table.set_header(header(summary.lexical, layout).map(|title| {
        let cell = Cell::new(title);
        if color { cell.add_attribute(Attribute::Bold) } else { cell }
    }));
    let fewer = Fewer::of(summary);
    for (row, name) in summary.rows.iter().zip(names) {
        table.add_row(cells(row, name, layout, &fewer));
    }
    names_left_numbers_right(&mut table);
    if layout == Layout::ScoresOnly {
        table.column_iter_mut().for_each(|column| {
            column.set_padding((0, u16::from(!tight)));
        });
    }
    table.trim_fmt()
}

/// Which means are over fewer cases than another system's.
pub(super) struct Fewer {
    most: [usize; 6],
}

impl Fewer {
    pub(super) fn of(summary: &Summary) -> Self {
        let most = |at: usize| {
            let counts = summary.rows.iter().map(|row| row.metrics.named(row.lexical)[at].1.n);
            counts.max().unwrap_or(0)
        };
        Self { most: std::array::from_fn(most) }
    }

    fn mark(&self, at: usize, metric: Metric) -> &'static str {
        if metric.estimate.is_some() && metric.n < self.most[at] { "*" } else { "" }
    }

    /// How many cases a row's score is over, of how many another's is, where they are fewer; any other mean's, where
    /// the score's are not.
    pub(super) fn told(&self, row: &SystemRow) -> Option<(&'static str, usize, usize)> {
        let named = row.metrics.named(row.lexical).into_iter().enumerate();
        let mut marked = named.filter(|(at, (_, metric))| !self.mark(*at, *metric).is_empty());
        marked.next().map(|(at, (name, metric))| (name, metric.n, self.most[at]))
    }
}

fn header(lexical: bool, layout: Layout) -> [&'static str; 9] {
    let (score, ann_score) = match (lexical, layout) {
        (false, Layout::ScoresOnly) => ("rubric\nscore", "ann_\nscore"),
        (false, _) => ("rubric score", "ann_score"),
        (true, Layout::ScoresOnly) => ("lexical_\nscore", "lexical_\nann_score"),
        (true, _) => ("lexical_score", "lexical_ann_score"),
    };
    match layout {
        Layout::ScoresOnly => {
            [SYSTEM, score, ann_score, "length", "exper-\ntise", "cita-\ntions", "ex-\ncerpts", "cases", "un-\nscored"]
        }
        _ => [SYSTEM, score, ann_score, "length", "expertise", "citations", "excerpts", "cases", "unscored"],
    }
}

fn cells(row: &SystemRow, name: &str, layout: Layout, fewer: &Fewer) -> [String; 9] {
    let metrics = row.metrics.named(row.lexical);
    let cell = |at: usize, layout| mean_cell(metrics[at].1, fewer.mark(at, metrics[at].1), layout);
    let part = |at| cell(at, if layout == Layout::ScoresOnly { None } else { Some(layout) });
    [
        name.to_owned(),
        cell(0, Some(layout)),
        cell(1, Some(layout)),
        part(2),
        part(3),
        part(4),
        part(5),
        format!("{}/{}", row.cases_scored, row.cases_kept),
        row.unscored.to_string(),
    ]
}

/// A mean and its mark, with the interval where `layout` wants it; a dash where there is no mean.
fn mean_cell(metric: Metric, mark: &str, layout: Option<Layout>) -> String {
    let Some(mean) = metric.estimate.map(|mean| per_cent(mean) + mark) else {
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
