//! The page: markup from the template, then the data, then the script.

use std::collections::BTreeSet;

use minijinja::value::Serde;
use minijinja::{Environment, Value, context};
use serde_json::{Value as Json, json};

use super::HtmlReport;
use super::axis::Axis;
use super::data::{case_blocks, core};
use super::safety::{content_security_policy, embedded};
use crate::analysis::comparison::{Comparison, MetricComparison, SystemMean};
use crate::domain::Unit;
use crate::error::{Error, Result};
use crate::record::{Manifest, RunStatus};
use crate::report::comparison::{
    judge_lines, metric_name, metric_notes, pairs_table, run_warnings, systems_table, unpublished,
};
use crate::report::criteria::{criteria_tables, criteria_verdict};
use crate::report::metrics_table::{MetricsTableOptions, metrics_table, paper_table};
use crate::report::table::{Cell, Column, Format, Table, short_names};
use crate::report::{CsvText, DEFAULT_LABEL, visible};
use crate::stats::Interval;

/// Metrics beside a single headline metric in the scorecard.
const MOST_BESIDE: usize = 5;
/// Longest text of a criterion.
const TEXT_WIDTH: usize = 300;

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = concat!(include_str!("page.css"), "\n", include_str!("case.css"));
const SCRIPT: &str = concat!(
    "\"use strict\";\n(() => {\n",
    include_str!("state.js"),
    "\n",
    include_str!("cases.js"),
    "\n",
    include_str!("markdown.js"),
    "\n",
    include_str!("answer.js"),
    "\n",
    include_str!("case.js"),
    "\n",
    include_str!("page.js"),
    "\n})();\n"
);

/// The page as UTF-8.
///
/// # Errors
/// [`Error::Internal`] for a fault in the template.
pub fn page(report: &HtmlReport<'_>) -> Result<Vec<u8>> {
    let first = report
        .observations
        .headline()
        .first()
        .copied()
        .unwrap_or_default();
    let mut page = markup(report, first)?;
    let data = |id: &str, json: &str| {
        format!("<script type=\"application/json\" id=\"{id}\">{json}</script>\n")
    };
    page.push_str(&data("core", &embedded(&core(report, first))?));
    for (at, block) in case_blocks(report).enumerate() {
        page.push_str(&data(&format!("case-{at}"), &block?));
    }
    page.push_str("<script>");
    page.push_str(SCRIPT);
    page.push_str("</script>\n</body>\n</html>\n");
    Ok(page.into_bytes())
}

/// The headline metrics; of a single one the page shows the metrics of its scorer beside it.
fn scorecard_metrics<'a>(report: &HtmlReport<'a>) -> Vec<&'a MetricComparison> {
    let all = &report.comparison.metrics;
    let mut chosen: Vec<&MetricComparison> = report
        .observations
        .headline()
        .iter()
        .filter_map(|at| all.get(*at))
        .collect();
    if let [only] = chosen[..] {
        let is_beside = |own: &&MetricComparison| {
            own.metric.scorer == only.metric.scorer
                && own.metric.unit != Unit::Count
                && own.metric != only.metric
        };
        chosen.extend(all.iter().filter(is_beside).take(MOST_BESIDE));
    }
    chosen
}

/// A metric for the template: `key` is its name in the page's address; `marks` are the charts beside the systems, with mean
/// and ends of the interval on the axis.
fn metric_view(comparison: &Comparison, metric: &MetricComparison, first: bool) -> Json {
    let rows = metric.systems.iter();
    let drawn = rows.clone().flat_map(|row| {
        let ends = row
            .interval
            .into_iter()
            .flat_map(|ends| [ends.low, ends.high]);
        row.mean.into_iter().chain(ends)
    });
    let axis = Axis::around(drawn);
    let at = |mean: f64, interval: Option<Interval>, axis: Axis| {
        let Interval { low, high } = interval.unwrap_or(Interval {
            low: mean,
            high: mean,
        });
        [mean, low, high].map(|value| axis.at(value))
    };
    let mark = |row: &SystemMean| {
        let at = row
            .mean
            .zip(axis)
            .map(|(mean, axis)| at(mean, row.interval, axis));
        json!({"color": row.system % 10, "at": at})
    };
    json!({
        "key": metric_name(comparison, metric),
        "first": first,
        "systems": table_view(&systems_table(comparison, metric)),
        "ticks": axis.map(|axis| axis.ticks(metric.metric.unit)).unwrap_or_default(),
        "marks": rows.map(mark).collect::<Vec<_>>(),
        "pairs": pairs_table(comparison, metric, false).as_ref().map(table_view),
        "notes": metric_notes(metric).into_iter().map(|note| note.text).collect::<Vec<_>>(),
    })
}

/// A table for the template.
fn table_view(table: &Table) -> Json {
    let column = |column: &Column| {
        json!({
            "key": column.key,
            "heading": column.heading,
            "meaning": column.meaning,
            "is_number": column.format != Format::Text,
        })
    };
    let cell = |row: usize, at: usize, cell: &Cell, column: &Column| match cell {
        Cell::Text(text) => json!({"text": text}),
        Cell::Missing => json!({"text": "\u{2013}"}),
        Cell::Value {
            value,
            interval,
            flag,
        } => json!({
            "text": column.format.show(*value),
            "flag": flag,
            "is_best": table.is_best(row, at),
            "interval": interval.map(|interval| column.format.show_interval(interval)),
        }),
    };
    let row = |(row, cells): (usize, &Vec<Cell>)| {
        let cells = cells.iter().zip(&table.columns).enumerate();
        cells
            .map(|(at, (own, column))| cell(row, at, own, column))
            .collect::<Json>()
    };
    json!({
        "title": table.title,
        "notes": table.notes.iter().map(|note| &note.text).collect::<Vec<_>>(),
        "columns": table.columns.iter().map(column).collect::<Json>(),
        "rows": table.rows.iter().enumerate().map(row).collect::<Json>(),
    })
}

/// Facts about a run, by name. Settings are not shown: they may contain headers, paths and addresses.
fn facts(manifest: &Manifest) -> Vec<(String, String)> {
    let finished = manifest
        .finished_at
        .as_deref()
        .filter(|_| manifest.status == RunStatus::Complete);
    let facts = [
        ("mode", format!("{:?}", manifest.mode).to_lowercase()),
        ("scorers", manifest.scorers.join(", ")),
        ("answers", manifest.answers.to_string()),
        ("missing answers", manifest.missing.len().to_string()),
        ("started", manifest.started_at.clone()),
        ("finished", finished.unwrap_or("no").to_owned()),
        ("scholareval", manifest.scholareval_version.clone()),
    ];
    let inputs = manifest.inputs.iter();
    let inputs = inputs.map(|input| {
        (
            format!("input {}", input.name),
            format!("blake3 {}..", input.blake3.short(12)),
        )
    });
    facts
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .chain(answering_models(manifest))
        .chain(inputs)
        .collect()
}

/// The models that answered for each judge, with their calls and system fingerprints.
fn answering_models(manifest: &Manifest) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    for judge in manifest.answered_judges() {
        for model in &judge.models {
            let name = model.model.as_deref().unwrap_or("a model without a name");
            let mut text = format!("{name}, {} calls", Format::Count.show(model.calls as f64));
            for (fingerprint, calls) in &model.fingerprints {
                text.push_str(&format!(
                    "; system fingerprint {fingerprint}: {}",
                    Format::Count.show(*calls as f64)
                ));
            }
            facts.push((format!("answered as {}", judge.judge), text));
        }
    }
    facts
}

fn markup(report: &HtmlReport<'_>, first: usize) -> Result<String> {
    let comparison = report.comparison;
    let metrics = comparison.metrics.iter().enumerate();
    let metrics: Vec<_> = metrics
        .map(|(at, metric)| metric_view(comparison, metric, at == first))
        .collect();
    let shown = scorecard_metrics(report);
    let options = MetricsTableOptions {
        letters: true,
        ..MetricsTableOptions::default()
    };
    let card = metrics_table(comparison, &shown, &options)?;
    let for_paper = paper_table(comparison, &shown, &options)?;
    let criteria: Vec<_> = criteria_tables(report.criteria, false, TEXT_WIDTH)
        .iter()
        .map(table_view)
        .collect();
    let judged: Vec<_> = comparison.judged_by.iter().collect();
    let dates = report
        .runs
        .iter()
        .filter_map(|run| run.manifest.started_at.get(..10));
    let dates: BTreeSet<String> = dates.map(str::to_owned).collect();
    let runs: Vec<_> = report
        .runs
        .iter()
        .map(|run| (&run.name, facts(&run.manifest)))
        .collect();
    let values = context! {
        policy => content_security_policy(SCRIPT, STYLE),
        style => STYLE,
        title => report.runs.iter().map(|run| run.name.as_str()).collect::<Vec<_>>().join(", "),
        version => env!("CARGO_PKG_VERSION"),
        systems => comparison.systems.len(),
        cases => report.observations.cases.len(),
        left_out => report.left_out.clone(),
        dates => Vec::from_iter(dates),
        calls => Format::Count.show(report.call_count as f64),
        scorecard => Value::from(Serde(table_view(&card))),
        copies => [("LaTeX", for_paper.latex(DEFAULT_LABEL)), ("CSV", card.csv(CsvText::Guarded)?)],
        warnings => run_warnings(comparison).into_iter().map(|note| note.text).collect::<Vec<_>>(),
        metrics => Value::from(Serde(metrics)),
        criteria => Value::from(Serde(criteria)),
        criteria_verdict => criteria_verdict(report.criteria),
        criteria_notes => report.criteria.notes.iter().map(|note| note.text.clone()).collect::<Vec<_>>(),
        judged_by => judge_lines(&judged).into_iter().chain(unpublished(&judged)).collect::<Vec<_>>(),
        runs => Value::from(Serde(runs)),
        resamples => Format::Count.show(f64::from(comparison.options.resamples)),
        seed => comparison.options.seed,
    };
    let labels: Vec<&str> = comparison
        .systems
        .iter()
        .map(|system| system.label.as_str())
        .collect();
    let short = short_names(labels.iter().copied());
    let short: std::collections::HashMap<String, String> =
        labels.into_iter().map(str::to_owned).zip(short).collect();
    let fault =
        |error: minijinja::Error| Error::Internal(format!("the report's template: {error:#}"));
    let mut environment = Environment::new();
    // Breaks after these characters: names have few other places for a line break.
    environment.add_filter("pieces", move |label: &str| {
        let name = short
            .get(label)
            .cloned()
            .unwrap_or_else(|| visible(label).into_owned());
        name.split_inclusive(['_', '/', '-'])
            .map(str::to_owned)
            .collect::<Vec<_>>()
    });
    environment.add_filter("visible", |text: &str| visible(text).into_owned());
    environment
        .add_template("page.html", TEMPLATE)
        .map_err(fault)?;
    environment
        .get_template("page.html")
        .and_then(|template| template.render(values))
        .map_err(fault)
}
