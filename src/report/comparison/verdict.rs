//! The verdict of a comparison, in one or two sentences.

use super::tables::{metric_name, shown_difference};
use crate::analysis::comparison::{Comparison, MetricComparison, PairComparison};
use crate::domain::Unit;
use crate::report::table::Format;

/// Significant pairs named before the rest is counted.
const NAMED: usize = 3;

/// The verdict on each metric, one line each, with the metric's name: a card may show other columns before it. Metrics without
/// a significant difference share a line.
pub(in crate::report) fn verdicts(comparison: &Comparison) -> Vec<String> {
    let is_only = comparison.metrics.len() == 1;
    let (mut lines, mut same) = (Vec::new(), Vec::new());
    for metric in comparison
        .metrics
        .iter()
        .filter(|metric| !metric.pairs.is_empty())
    {
        let name = metric_name(comparison, metric);
        let has_evidence = is_only && metric.pairs.len() == 1;
        if has_evidence || metric.pairs.iter().any(|pair| pair.differs) {
            lines.push(format!("{name}: {}", verdict(metric)));
        } else {
            same.push(name);
        }
    }
    if !same.is_empty() {
        lines.push(format!(
            "No pair differs significantly in {}.",
            same.join(", ")
        ));
    }
    lines
}

/// Which systems differ significantly. Empty for one system.
pub(super) fn verdict(metric: &MetricComparison) -> String {
    let significant: Vec<&PairComparison> =
        metric.pairs.iter().filter(|pair| pair.differs).collect();
    let others = metric.pairs.len() - significant.len();
    let scores = if metric.metric.higher_is_better {
        "scores higher than"
    } else {
        "has more than"
    };
    let named = significant.iter().take(NAMED).map(|pair| {
        let [first, second] = labels(metric, pair);
        format!("{first} {scores} {second} ({})", evidence(metric, pair))
    });
    let named = named.collect::<Vec<_>>().join("; ");
    let more = significant.len().saturating_sub(NAMED);
    let rest = match (more, others) {
        (0, 0) => String::new(),
        (0, 1) => "; the other pair does not differ significantly".to_owned(),
        (0, _) => "; no other pair differs significantly".to_owned(),
        (more, _) => format!(
            "; significant differences in {more} more of the {} pairs",
            metric.pairs.len()
        ),
    };
    match (&significant[..], &metric.pairs[..]) {
        (_, []) => String::new(),
        ([], [only]) => {
            let [first, second] = labels(metric, only);
            format!(
                "{first} and {second} do not differ significantly ({}).",
                evidence(metric, only)
            )
        }
        ([], _) => "No pair differs significantly.".to_owned(),
        _ => format!("{named}{rest}."),
    }
}

/// The labels of a pair.
pub(super) fn labels<'a>(metric: &'a MetricComparison, pair: &PairComparison) -> [&'a str; 2] {
    [pair.first, pair.second].map(|rank| metric.systems[rank].label.as_str())
}

/// `+3.4 [0.2, 6.6], p = 0.011`.
fn evidence(metric: &MetricComparison, pair: &PairComparison) -> String {
    let difference = shown_difference(pair.difference, pair.interval, metric.metric.unit);
    format!("{difference}, {}", pair.p_text())
}

/// A difference between means with its unit.
pub(in crate::report) fn points(value: f64, unit: Unit) -> String {
    let name = match unit {
        Unit::Share | Unit::Net => " points",
        Unit::Grade => " grades",
        Unit::Count => "",
    };
    Format::of_mean(unit).show(value) + name
}
