//! The comparison for a terminal or a pipe.

use std::collections::HashSet;

use comfy_table::{Attribute, Cell, ContentArrangement};

use super::ComparisonContext;
use super::numbers::{best, bracket, chance, marks, signed, signed_bracket};
use super::told::{heading, of_all, of_metric, p_or_dash};
use crate::aggregate::comparison::{Comparison, ComparisonOptions, MetricComparison, PairComparison};
use crate::report::TableStyle;
use crate::report::layout::{names_left_numbers_right, plain_table, push_item};
use crate::report::section_table::shown;
use crate::report::table::widest_line;
use crate::report::visible::visible;

/// Characters of a system's name that are shown, alone and in a pair.
const NAME: usize = 40;
const NAME_IN_PAIR: usize = 24;

/// Of each metric the systems, best first, then the pairs, then what a reader must know; at the end what holds for all.
pub fn render_comparison_table(comparison: &Comparison, context: &ComparisonContext, style: &TableStyle) -> String {
    let width = usize::from(style.width.max(80));
    let mut out = String::new();
    for metric in &comparison.metrics {
        out.push_str(&heading(metric, &comparison.options));
        out.push_str("\n\n");
        out.push_str(&fitting(|beside| systems(metric, &comparison.options, beside), style));
        if !metric.pairs.is_empty() {
            out.push('\n');
            out.push_str(&fitting(|beside| pairs(metric, &comparison.options, beside), style));
        }
        out.push('\n');
        for told in of_metric(metric, &comparison.options) {
            push_item(&mut out, &told, width);
        }
        out.push('\n');
    }
    for told in of_all(comparison, context) {
        push_item(&mut out, &told, width);
    }
    out
}

/// A header and rows.
type Content = (Vec<String>, Vec<Vec<String>>);

/// The content with intervals beside their numbers where that fits, else below; names are wrapped where even that is too
/// wide.
fn fitting(content: impl Fn(bool) -> Content, style: &TableStyle) -> String {
    let width = usize::from(style.width.max(80));
    let beside = content(true);
    if widest_line(&draw(&beside, false, None)) <= width {
        return draw(&beside, style.color, None);
    }
    draw(&content(false), style.color, Some(style.width.max(80)))
}

fn draw((header, rows): &Content, color: bool, width: Option<u16>) -> String {
    let mut table = plain_table(color);
    table.set_header(header.iter().map(|title| {
        let cell = Cell::new(title);
        if color { cell.add_attribute(Attribute::Bold) } else { cell }
    }));
    for row in rows {
        table.add_row(row);
    }
    names_left_numbers_right(&mut table);
    if let Some(width) = width.filter(|width| widest_line(&table.trim_fmt()) > usize::from(*width)) {
        table.set_width(width).set_content_arrangement(ContentArrangement::Dynamic);
    }
    table.trim_fmt() + "\n"
}

/// The names of the systems, those that are too long without their middle: `RUN/SYSTEM` may differ at both ends. Whole where
/// two would look the same.
fn names(metric: &MetricComparison, limit: usize) -> Vec<String> {
    let squeezed = |label: &str| -> String {
        let shown: Vec<char> = visible(label).chars().collect();
        if shown.len() <= limit {
            return shown.into_iter().collect();
        }
        let head = (limit - 1) / 2;
        let tail = shown.len() - (limit - 1 - head);
        shown[..head].iter().chain(&['…']).chain(&shown[tail..]).collect()
    };
    let names: Vec<String> = metric.systems.iter().map(|system| squeezed(&system.label)).collect();
    let distinct: HashSet<&String> = names.iter().collect();
    if distinct.len() == names.len() {
        return names;
    }
    metric.systems.iter().map(|system| visible(&system.label).into_owned()).collect()
}

/// An interval beside or below its number.
fn with_interval(number: Option<String>, interval: Option<String>, beside: bool) -> String {
    match (number, interval) {
        (None, _) => "-".to_owned(),
        (Some(number), None) => number,
        (Some(number), Some(interval)) => format!("{number}{}{interval}", if beside { " " } else { "\n" }),
    }
}

fn systems(metric: &MetricComparison, options: &ComparisonOptions, beside: bool) -> Content {
    let unit = metric.metric.unit;
    let with_groups = options.baseline.is_none() && metric.systems.len() > 1;
    let with_ranks = metric.ranks.is_some() && metric.metric.higher_is_better && metric.systems.len() > 1;
    let mut header = vec!["system", "mean"];
    header.extend(with_groups.then_some("group"));
    header.extend(with_ranks.then_some("% best"));
    header.extend(["n", "unscored"]);
    let names = names(metric, NAME);
    let row = |(at, system): (usize, &crate::aggregate::comparison::SystemMean)| {
        let mean = system.mean.map(|mean| shown(mean, unit));
        let mean = with_interval(mean, system.interval.map(|interval| bracket(interval, unit)), beside);
        let mut cells = vec![names[at].clone(), mean];
        cells.extend(with_groups.then(|| system.letters.clone()));
        cells.extend(with_ranks.then(|| best(metric, at).map_or("-".to_owned(), chance)));
        cells.extend([metric.cases.len().to_string(), system.unscored.to_string()]);
        cells
    };
    (header.into_iter().map(str::to_owned).collect(), metric.systems.iter().enumerate().map(row).collect())
}

fn pairs(metric: &MetricComparison, options: &ComparisonOptions, beside: bool) -> Content {
    let unit = metric.metric.unit;
    let header = ["pair", "difference", "p", "p Holm", "", "W/T/L", "d_z"];
    let names = names(metric, NAME_IN_PAIR);
    let row = |pair: &PairComparison| {
        let [first, second] = [pair.first, pair.second].map(|at| {
            let is_baseline = metric.systems.get(at).is_some_and(|of| options.baseline.as_ref() == Some(&of.label));
            let name = names.get(at).map_or("?", String::as_str);
            format!("{name}{}", if is_baseline { " (baseline)" } else { "" })
        });
        let difference = Some(signed(pair.difference, unit)).filter(|_| !metric.cases.is_empty());
        vec![
            format!("{first} – {second}"),
            with_interval(difference, pair.interval.map(|interval| signed_bracket(interval, unit)), beside),
            p_or_dash(pair.p),
            p_or_dash(pair.p_holm),
            marks(pair).to_owned(),
            format!("{}/{}/{}", pair.wins, pair.ties, pair.losses),
            pair.cohens_dz.map_or("-".to_owned(), |d| format!("{d:.2}")),
        ]
    };
    (header.map(str::to_owned).to_vec(), metric.pairs.iter().map(row).collect())
}
