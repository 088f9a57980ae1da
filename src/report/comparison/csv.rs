//! The comparison for programs: one tidy CSV, and JSON.

use std::borrow::Cow;

use serde::Serialize;

use super::ComparisonContext;
use super::numbers::{best, labels};
use super::told::is_finite;
use crate::analysis::comparison::{Comparison, MetricComparison, PairComparison, SystemMean};
use crate::domain::Unit;
use crate::error::{Error, Result};
use crate::report::files::{csv_line, terminal_safe_json};
use crate::report::visible::visible;

/// Every column; a row leaves empty what its kind does not have.
const COLUMNS: [&str; 40] = [
    "kind",
    "scorer",
    "metric",
    "unit",
    "system",
    "second_system",
    "rank",
    "group",
    "cases",
    "questions",
    "estimate",
    "low",
    "high",
    "own_mean",
    "own_cases",
    "unscored",
    "absent",
    "lower_bound",
    "upper_bound",
    "p_best",
    "length_spearman",
    "p",
    "p_holm",
    "exact",
    "told_apart",
    "depends_on_missing",
    "common_cases",
    "common_estimate",
    "common_p_holm",
    "common_changes_verdict",
    "wins",
    "ties",
    "losses",
    "cohens_dz",
    "cliffs_delta",
    "difference_at_equal_length",
    "difference_at_equal_length_low",
    "difference_at_equal_length_high",
    "detectable_difference",
    "marks",
];

/// The comparison as JSON, indented, with a line feed at the end, with `made` of the context beside it; shares are 0..=1,
/// what is not there is null.
///
/// # Errors
/// [`Error::Internal`] if it cannot be serialised.
pub fn render_comparison_json(comparison: &Comparison, context: &ComparisonContext) -> Result<String> {
    #[derive(Serialize)]
    struct File<'a> {
        #[serde(flatten)]
        comparison: &'a Comparison,
        made: &'a [String],
    }
    let file = File { comparison, made: &context.made };
    let json =
        serde_json::to_string_pretty(&file).map_err(|error| Error::Internal(format!("comparison as JSON: {error}")))?;
    Ok(terminal_safe_json(&json) + "\n")
}

/// The comparison as one CSV: of each metric a row a system (`kind` is `system`), best first, then a row a pair (`pair`),
/// the better one in `system`. Shares are 0..=1; `marks` is the same in every row.
pub fn render_comparison_csv(comparison: &Comparison) -> String {
    let mut csv = String::new();
    csv_line(&mut csv, &COLUMNS.map(Cow::from));
    let marks = comparison.marks.join("; ");
    for metric in &comparison.metrics {
        for (at, system) in metric.systems.iter().enumerate() {
            csv_line(&mut csv, &row("system", metric, &system_cells(metric, at, system), &marks));
        }
        for pair in &metric.pairs {
            csv_line(&mut csv, &row("pair", metric, &pair_cells(metric, pair), &marks));
        }
    }
    csv
}

type Named<'a> = Vec<(&'static str, Cow<'a, str>)>;

/// The cells of a row in the order of the columns.
fn row<'a>(kind: &'a str, metric: &'a MetricComparison, own: &Named<'a>, marks: &'a str) -> Vec<Cow<'a, str>> {
    let cell = |column: &&str| -> Cow<'a, str> {
        match *column {
            "kind" => kind.into(),
            "scorer" => visible(&metric.metric.scorer),
            "metric" => visible(&metric.metric.name),
            "unit" => unit(metric.metric.unit).into(),
            "cases" => metric.cases.len().to_string().into(),
            "questions" => metric.questions.to_string().into(),
            "marks" => visible(marks),
            other => own.iter().find(|(name, _)| *name == other).map(|(_, cell)| cell.clone()).unwrap_or_default(),
        }
    };
    COLUMNS.iter().map(cell).collect()
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Share => "share",
        Unit::Grade => "grade",
        Unit::Count => "count",
    }
}

fn cell<T: ToString>(value: Option<T>) -> Cow<'static, str> {
    value.map(|value| value.to_string()).unwrap_or_default().into()
}

fn system_cells<'a>(metric: &MetricComparison, at: usize, system: &'a SystemMean) -> Named<'a> {
    let (low, high) = system.interval.unzip();
    let (lower, upper) = system.bounds.filter(is_finite).unzip();
    vec![
        ("system", visible(&system.label)),
        ("rank", cell(system.rank)),
        ("group", system.letters.as_str().into()),
        ("estimate", cell(system.mean)),
        ("low", cell(low)),
        ("high", cell(high)),
        ("own_mean", cell(system.own_mean)),
        ("own_cases", cell(Some(system.own_cases))),
        ("unscored", cell(Some(system.unscored))),
        ("absent", cell(Some(system.absent))),
        ("lower_bound", cell(lower)),
        ("upper_bound", cell(upper)),
        ("p_best", cell(best(metric, at))),
        ("length_spearman", cell(system.length_correlation.map(|(rho, _)| rho))),
    ]
}

fn pair_cells<'a>(metric: &'a MetricComparison, pair: &PairComparison) -> Named<'a> {
    let [first, second] = labels(metric, pair);
    let has_cases = !metric.cases.is_empty();
    let (low, high) = pair.interval.unzip();
    let (lower, upper) = pair.missing_bounds.filter(is_finite).unzip();
    let length = pair.length.as_ref();
    let own = pair.in_common.as_ref();
    vec![
        ("system", visible(first)),
        ("second_system", visible(second)),
        ("estimate", cell(has_cases.then_some(pair.difference))),
        ("low", cell(low)),
        ("high", cell(high)),
        ("lower_bound", cell(lower)),
        ("upper_bound", cell(upper)),
        ("p", cell(pair.p)),
        ("p_holm", cell(pair.p_holm)),
        ("exact", cell(pair.p.map(|_| pair.exact))),
        ("told_apart", cell(Some(pair.differs))),
        ("depends_on_missing", cell(Some(pair.depends_on_missing))),
        ("common_cases", cell(own.map(|own| own.cases))),
        ("common_estimate", cell(own.map(|own| own.difference))),
        ("common_p_holm", cell(own.and_then(|own| own.p_holm))),
        ("common_changes_verdict", cell(own.map(|own| own.changes_verdict))),
        ("wins", cell(Some(pair.wins))),
        ("ties", cell(Some(pair.ties))),
        ("losses", cell(Some(pair.losses))),
        ("cohens_dz", cell(pair.cohens_dz)),
        ("cliffs_delta", cell(pair.cliffs_delta)),
        ("difference_at_equal_length", cell(length.map(|length| length.at_equal_length))),
        ("difference_at_equal_length_low", cell(length.map(|length| length.interval.0))),
        ("difference_at_equal_length_high", cell(length.map(|length| length.interval.1))),
        ("detectable_difference", cell(pair.detectable)),
    ]
}
