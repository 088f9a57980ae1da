//! A metric on the page: its leaderboard with a chart next to the systems, and the pairs.

use super::safety::push_html;
use super::table::{ShortLabels, push_cells, push_headings, push_notes, push_table};
use crate::analysis::comparison::{Comparison, MetricComparison, SystemMean};
use crate::report::axis::Axis;
use crate::report::comparison::{
    comparison_notes, metric_name, metric_notes, orders_table, pairs_table, systems_table,
};
use crate::report::table::Table;
use crate::report::visible;

/// The section of a metric. The script shows one of them at a time, by the metric's name; until then that is the first one.
pub(super) fn push_metric(
    page: &mut String,
    names: &ShortLabels,
    comparison: &Comparison,
    metric: &MetricComparison,
    is_first: bool,
) {
    let key = metric_name(comparison, metric);
    push_html!(
        page,
        r#"<section class="metric" data-metric="{}" aria-label="Metric {}"{}>
"#,
        key,
        visible(&key),
        if is_first { "" } else { " hidden" }
    );
    push_leaderboard(page, names, comparison, metric);
    push_notes(page, &metric_notes(metric));
    if let Some(orders) = orders_table(comparison) {
        push_notes(page, &comparison_notes(comparison));
        push_pairs(page, names, "Win rates", &orders);
    }
    if let Some(pairs) = pairs_table(comparison, metric, false) {
        push_pairs(page, names, "Pairs", &pairs);
    }
    page.push_str("</section>\n");
}

/// A table of pairs with its heading.
fn push_pairs(page: &mut String, names: &ShortLabels, heading: &str, pairs: &Table) {
    push_html!(
        page,
        r#"  <h2>{}</h2>
  <p class="explains">{}</p>
  <div class="wide scroll" tabindex="0" role="region" aria-label="{}">
"#,
        heading,
        visible(&pairs.title),
        heading
    );
    push_table(page, names, pairs);
    page.push_str("  </div>\n");
}

/// The systems by rank, each with its interval on one axis for all.
fn push_leaderboard(
    page: &mut String,
    names: &ShortLabels,
    comparison: &Comparison,
    metric: &MetricComparison,
) {
    let table = systems_table(comparison, metric);
    let systems = metric.systems.iter();
    let axis =
        Axis::around_estimates(systems.filter_map(|system| Some((system.mean?, system.interval))));
    let ticks = axis.map(|axis| axis.ticks(metric.metric.unit));
    let ticks = ticks.unwrap_or_default();
    push_html!(
        page,
        r#"  <h2>Leaderboard</h2>
  <p class="explains">{}</p>
  <div class="wide" tabindex="0" role="region" aria-label="Leaderboard by {}">
  <table class="board">
    <thead><tr>"#,
        visible(&table.title),
        visible(&metric_name(comparison, metric))
    );
    push_headings(page, &table);
    page.push_str("\n      <th scope=\"col\" class=\"chart\">");
    push_scale(page, &ticks);
    page.push_str("</th></tr></thead>\n    <tbody>");
    for (row, system) in metric.systems.iter().enumerate() {
        page.push_str("\n    <tr>");
        push_cells(page, names, &table, row);
        page.push_str("\n      <td class=\"chart\">");
        push_mark(page, system, axis, &ticks);
        page.push_str("</td></tr>");
    }
    page.push_str("\n    </tbody>\n  </table>\n  </div>\n");
}

/// The labels of the axis, which are evenly spaced from end to end.
fn push_scale(page: &mut String, ticks: &[(f64, String)]) {
    page.push_str("<span class=\"read-only\">mean and interval</span><span class=\"axis\">");
    for (_, label) in ticks {
        push_html!(page, r#"<span data-tick="{}"></span>"#, label);
    }
    page.push_str("</span>");
}

/// The mean of a system with its interval, between grid lines; nothing without a mean.
fn push_mark(page: &mut String, row: &SystemMean, axis: Option<Axis>, ticks: &[(f64, String)]) {
    let (Some(mean), Some(axis)) = (row.mean, axis) else {
        return;
    };
    page.push_str("<svg class=\"interval\" aria-hidden=\"true\">");
    for (position, _) in ticks {
        let x = percent(*position);
        push_html!(
            page,
            r#"<line class="grid" x1="{}" x2="{}" y1="0" y2="100%"/>"#,
            x,
            x
        );
    }
    let low = row.interval.map_or(mean, |interval| interval.low);
    let high = row.interval.map_or(mean, |interval| interval.high);
    push_html!(
        page,
        r#"<line class="range" x1="{}" x2="{}" y1="50%" y2="50%"/><circle cx="{}" cy="50%" r="4.5"/></svg>"#,
        percent(axis.at(low)),
        percent(axis.at(high)),
        percent(axis.at(mean))
    );
}

/// A place on the axis as SVG has it: `50.0%`.
fn percent(at: f64) -> String {
    format!("{at:?}%")
}
