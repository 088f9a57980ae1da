//! The comparison for a terminal or a pipe.

use comfy_table::{Attribute, Cell, ContentArrangement};

use super::ComparisonContext;
use super::names::{NARROWEST, fitted};
use super::numbers::{best, bracket, chance, coefficient, marks, signed, signed_bracket};
use super::overview::{Grid, overview, title};
use super::told::{has_absent, heading, of_all, of_metric, p_or_dash};
use crate::analysis::comparison::{Comparison, ComparisonOptions, MetricComparison, PairComparison, SystemMean};
use crate::report::TableStyle;
use crate::report::layout::{names_left_numbers_right, plain_table, push_item};
use crate::report::rubric_table::widest_line;
use crate::report::section_table::shown;
use crate::report::visible::visible;

/// Between the names of a pair.
const PAIR: &str = " – ";

/// Of several metrics an overview; of each metric the systems, best first, then the pairs, then what a reader must know; at the end what holds for all.
pub fn render_comparison_table(comparison: &Comparison, context: &ComparisonContext, style: &TableStyle) -> String {
    let width = usize::from(style.width.max(80));
    let mut out = String::new();
    for (at, grid) in overview(comparison, width).iter().enumerate() {
        out.push_str(&if at == 0 { title(comparison) + "\n\n" } else { String::new() });
        out.push_str(&draw(grid, style.color, None));
        out.push('\n');
    }
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

/// A table whose first column names systems.
struct Content {
    header: Vec<String>,
    /// The names that rows are about.
    labels: Vec<String>,
    /// Of each row one place among the names, or the two of a pair; then the other cells.
    rows: Vec<(Vec<usize>, Vec<String>)>,
}

impl Content {
    /// With names as they are given.
    fn drawn(&self, names: &[Vec<String>], color: bool, width: Option<u16>) -> String {
        let row = |(name, (_, cells)): (&Vec<String>, &(Vec<usize>, Vec<String>))| -> Vec<String> {
            std::iter::once(name.join("\n")).chain(cells.iter().cloned()).collect()
        };
        let rows = names.iter().zip(&self.rows).map(row).collect();
        draw(&(self.header.clone(), rows), color, width)
    }

    /// Names on one line.
    fn whole(&self) -> Vec<Vec<String>> {
        let shown: Vec<String> = self.labels.iter().map(|label| visible(label).into_owned()).collect();
        let name = |places: &Vec<usize>| places.iter().map(|at| shown[*at].as_str()).collect::<Vec<_>>().join(PAIR);
        self.rows.iter().map(|(places, _)| vec![name(places)]).collect()
    }

    /// Names in at most so many characters a line, those of a pair below each other.
    fn narrow(&self, room: usize) -> Vec<Vec<String>> {
        let is_of_pairs = self.rows.iter().any(|(places, _)| places.len() > 1);
        let labels: Vec<&str> = self.labels.iter().map(String::as_str).collect();
        let shown = fitted(&labels, room.saturating_sub(if is_of_pairs { PAIR.trim_end().chars().count() } else { 0 }));
        let name = |places: &Vec<usize>| -> Vec<String> {
            let last = places.len() - 1;
            let of = |(at, place): (usize, &usize)| {
                format!("{}{}", shown[*place], if at < last { PAIR.trim_end() } else { "" })
            };
            places.iter().enumerate().map(of).collect()
        };
        let fits = |line: &String| line.chars().count() <= room;
        let rows = self.whole().into_iter().zip(&self.rows);
        rows.map(|(whole, (places, _))| if whole.iter().all(fits) { whole } else { name(places) }).collect()
    }
}

/// The content with intervals beside their numbers where that fits, else below; names are wrapped or abbreviated where even
/// that is too wide.
fn fitting(content: impl Fn(bool) -> Content, style: &TableStyle) -> String {
    let width = usize::from(style.width.max(80));
    let beside = content(true);
    let whole = beside.whole();
    if widest_line(&beside.drawn(&whole, false, None)) <= width {
        return beside.drawn(&whole, style.color, None);
    }
    let below = content(false);
    let narrowest: Vec<Vec<String>> = below.rows.iter().map(|_| vec!["-".repeat(NARROWEST)]).collect();
    let others = widest_line(&below.drawn(&narrowest, false, None)) - NARROWEST;
    below.drawn(&below.narrow(width.saturating_sub(others)), style.color, Some(style.width.max(80)))
}

fn draw((header, rows): &Grid, color: bool, width: Option<u16>) -> String {
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
    let with_absent = has_absent(metric);
    let mut header = vec!["system", "mean"];
    header.extend(with_groups.then_some("group"));
    header.extend(with_ranks.then_some("% best"));
    header.extend(["n", "unscored"]);
    header.extend(with_absent.then_some("no answer"));
    let row = |(at, system): (usize, &SystemMean)| {
        let mean = system.mean.map(|mean| shown(mean, unit));
        let mut cells = vec![with_interval(mean, system.interval.map(|interval| bracket(interval, unit)), beside)];
        cells.extend(with_groups.then(|| system.letters.clone()));
        cells.extend(with_ranks.then(|| best(metric, at).map_or("-".to_owned(), chance)));
        cells.extend([metric.cases.len().to_string(), system.unscored.to_string()]);
        cells.extend(with_absent.then(|| system.absent.to_string()));
        (vec![at], cells)
    };
    Content {
        header: header.into_iter().map(str::to_owned).collect(),
        labels: metric.systems.iter().map(|system| system.label.clone()).collect(),
        rows: metric.systems.iter().enumerate().map(row).collect(),
    }
}

fn pairs(metric: &MetricComparison, options: &ComparisonOptions, beside: bool) -> Content {
    let unit = metric.metric.unit;
    let header = ["pair", "difference", "p", "p Holm", "", "W/T/L", "d_z"];
    let label = |system: &SystemMean| {
        let is_baseline = options.baseline.as_ref() == Some(&system.label);
        format!("{}{}", system.label, if is_baseline { " (baseline)" } else { "" })
    };
    let row = |pair: &PairComparison| {
        let difference = Some(signed(pair.difference, unit)).filter(|_| !metric.cases.is_empty());
        let cells = vec![
            with_interval(difference, pair.interval.map(|interval| signed_bracket(interval, unit)), beside),
            p_or_dash(pair.p),
            p_or_dash(pair.p_holm),
            marks(pair).to_owned(),
            format!("{}/{}/{}", pair.wins, pair.ties, pair.losses),
            pair.cohens_dz.map_or("-".to_owned(), coefficient),
        ];
        (vec![pair.first, pair.second], cells)
    };
    Content {
        header: header.map(str::to_owned).to_vec(),
        labels: metric.systems.iter().map(label).collect(),
        rows: metric.pairs.iter().map(row).collect(),
    }
}
