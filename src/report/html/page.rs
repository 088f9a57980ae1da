//! The page: markup from the template, then the data, then the script.

use std::collections::{BTreeSet, HashMap};

use minijinja::value::Serde;
use minijinja::{Environment, Value, context};
use serde_json::{Value as Json, json};

use super::HtmlReport;
use super::axis::Axis;
use super::data::{case_blocks, core};
use super::safety::{content_security_policy, embedded};
use crate::analysis::comparison::{Comparison, MetricComparison, SystemMean};
use crate::domain::{Note, Unit};
use crate::error::{Error, Result};
use crate::record::{Manifest, RunStatus};
use crate::report::comparison::{
    judge_lines, metric_name, metric_notes, pairs_table, run_warnings, systems_table, unpublished,
};
use crate::report::criteria::{criteria_tables, criteria_verdict};
use crate::report::metrics_table::{MetricsTableOptions, metrics_table, paper_table};
use crate::report::table::{Cell, Column, Format, Table, short_names};
use crate::report::{CsvText, DEFAULT_LABEL, visible};

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
    let headline = report.observations.headline();
    let first = headline.first().copied().unwrap_or_default();
    let mut page = markup(report, first)?;
    push_data(&mut page, "core", &embedded(&core(report, first))?);
    for (at, block) in case_blocks(report).enumerate() {
        push_data(&mut page, &format!("case-{at}"), &block?);
    }
    page.push_str("<script>");
    page.push_str(SCRIPT);
    page.push_str("</script>\n</body>\n</html>\n");
    Ok(page.into_bytes())
}

/// Adds JSON for the script.
fn push_data(page: &mut String, id: &str, json: &str) {
    page.push_str(&format!(
        "<script type=\"application/json\" id=\"{id}\">{json}</script>\n"
    ));
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
        let beside = all.iter().filter(|own| {
            own.metric.scorer == only.metric.scorer
                && own.metric.unit != Unit::Count
                && own.metric != only.metric
        });
        chosen.extend(beside.take(MOST_BESIDE));
    }
    chosen
}

/// A metric for the template: `key` is its name in the page's address; `marks` are the charts beside the systems, with mean
/// and ends of the interval on the axis.
fn metric_view(comparison: &Comparison, metric: &MetricComparison, first: bool) -> Json {
    let mut drawn = Vec::new();
    for row in &metric.systems {
        drawn.extend(row.mean);
        drawn.extend(row.interval.map(|interval| interval.low));
        drawn.extend(row.interval.map(|interval| interval.high));
    }
    let axis = Axis::around(drawn);
    json!({
        "key": metric_name(comparison, metric),
        "first": first,
        "systems": table_view(&systems_table(comparison, metric)),
        "ticks": axis.map(|axis| axis.ticks(metric.metric.unit)).unwrap_or_default(),
        "marks": metric.systems.iter().map(|row| mark(row, axis)).collect::<Vec<_>>(),
        "pairs": pairs_table(comparison, metric, false).as_ref().map(table_view),
        "notes": texts(metric_notes(metric)),
    })
}

/// The color of a system, and its mean with the ends of the interval on the axis; null without a mean.
fn mark(row: &SystemMean, axis: Option<Axis>) -> Json {
    let mut at = None;
    if let (Some(mean), Some(axis)) = (row.mean, axis) {
        let low = row.interval.map_or(mean, |interval| interval.low);
        let high = row.interval.map_or(mean, |interval| interval.high);
        at = Some([mean, low, high].map(|value| axis.at(value)));
    }
    // The style sheet has ten colors. A system has the same one in every chart, whatever its rank.
    json!({"color": row.system % 10, "at": at})
}

fn texts(notes: Vec<Note>) -> Vec<String> {
    notes.into_iter().map(|note| note.text).collect()
}

/// A table for the template.
fn table_view(table: &Table) -> Json {
    let columns = table.columns.iter().map(|column| {
        json!({
            "key": column.key,
            "heading": column.heading,
            "meaning": column.meaning,
            "is_number": column.format != Format::Text,
        })
    });
    let mut rows = Vec::new();
    for (row, cells) in table.rows.iter().enumerate() {
        let mut views = Vec::new();
        for (at, (cell, column)) in cells.iter().zip(&table.columns).enumerate() {
            views.push(cell_view(cell, column, table.is_best(row, at)));
        }
        rows.push(Json::Array(views));
    }
    json!({
        "title": table.title,
        "notes": table.notes.iter().map(|note| &note.text).collect::<Vec<_>>(),
        "columns": columns.collect::<Json>(),
        "rows": rows,
    })
}

fn cell_view(cell: &Cell, column: &Column, is_best: bool) -> Json {
    match cell {
        Cell::Text(text) => json!({"text": text}),
        Cell::Missing => json!({"text": "\u{2013}"}),
        Cell::Value {
            value,
            interval,
            flag,
        } => json!({
            "text": column.format.show(*value),
            "flag": flag,
            "is_best": is_best,
            "interval": interval.map(|interval| column.format.show_interval(interval)),
        }),
    }
}

/// Facts about a run, by name. Settings are not shown: they may contain headers, paths and addresses.
fn facts(manifest: &Manifest) -> Vec<(String, String)> {
    let finished = match manifest.status {
        RunStatus::Complete => manifest.finished_at.as_deref(),
        _ => None,
    };
    let mut facts = Vec::new();
    for (name, value) in [
        ("mode", format!("{:?}", manifest.mode).to_lowercase()),
        ("scorers", manifest.scorers.join(", ")),
        ("answers", manifest.answers.to_string()),
        ("missing answers", manifest.missing.len().to_string()),
        ("started", manifest.started_at.clone()),
        ("finished", finished.unwrap_or("no").to_owned()),
        ("scholareval", manifest.scholareval_version.clone()),
    ] {
        facts.push((name.to_owned(), value));
    }
    facts.extend(answering_models(manifest));
    for input in &manifest.inputs {
        let name = format!("input {}", input.name);
        facts.push((name, format!("blake3 {}..", input.blake3.short(12))));
    }
    facts
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

/// The page up to its data.
fn markup(report: &HtmlReport<'_>, first: usize) -> Result<String> {
    let mut environment = Environment::new();
    let names = ShortLabels::of(report.comparison);
    environment.add_filter("pieces", move |label: &str| names.pieces(label));
    environment.add_filter("visible", |text: &str| visible(text).into_owned());
    environment
        .add_template("page.html", TEMPLATE)
        .map_err(not_rendered)?;
    let template = environment
        .get_template("page.html")
        .map_err(not_rendered)?;
    template
        .render(values(report, first)?)
        .map_err(not_rendered)
}

fn not_rendered(error: minijinja::Error) -> Error {
    Error::Internal(format!("the report's template: {error:#}"))
}

/// The names of the systems as the page has room for them.
struct ShortLabels(HashMap<String, String>);

impl ShortLabels {
    fn of(comparison: &Comparison) -> Self {
        let labels = comparison.systems.iter().map(|system| &system.label);
        let short = short_names(labels.clone().map(String::as_str));
        Self(labels.cloned().zip(short).collect())
    }

    /// The short name of a label, in the pieces between which the page may break it: names have few other places for a line
    /// break.
    fn pieces(&self, label: &str) -> Vec<String> {
        let name = match self.0.get(label) {
            Some(short) => short.clone(),
            None => visible(label).into_owned(),
        };
        name.split_inclusive(['_', '/', '-'])
            .map(str::to_owned)
            .collect()
    }
}

/// What the template shows.
fn values(report: &HtmlReport<'_>, first: usize) -> Result<Value> {
    let comparison = report.comparison;
    let mut metrics = Vec::new();
    for (at, metric) in comparison.metrics.iter().enumerate() {
        metrics.push(metric_view(comparison, metric, at == first));
    }
    let shown = scorecard_metrics(report);
    let options = MetricsTableOptions {
        letters: true,
        ..MetricsTableOptions::default()
    };
    let card = metrics_table(comparison, &shown, &options)?;
    let for_paper = paper_table(comparison, &shown, &options)?;
    let criteria = criteria_tables(report.criteria, false, TEXT_WIDTH);
    let criteria: Vec<Json> = criteria.iter().map(table_view).collect();
    let judged: Vec<_> = comparison.judged_by.iter().collect();
    let mut judged_by = judge_lines(&judged);
    judged_by.extend(unpublished(&judged));
    let mut names = Vec::new();
    let mut runs = Vec::new();
    let mut dates = BTreeSet::new();
    for run in report.runs {
        names.push(run.name.as_str());
        runs.push((run.name.clone(), facts(&run.manifest)));
        dates.extend(run.manifest.started_at.get(..10).map(str::to_owned));
    }
    Ok(context! {
        policy => content_security_policy(SCRIPT, STYLE),
        style => STYLE,
        title => names.join(", "),
        version => env!("CARGO_PKG_VERSION"),
        systems => comparison.systems.len(),
        cases => report.observations.cases.len(),
        left_out => report.left_out.clone(),
        dates => Vec::from_iter(dates),
        calls => Format::Count.show(report.call_count as f64),
        scorecard => Value::from(Serde(table_view(&card))),
        copies => [("LaTeX", for_paper.latex(DEFAULT_LABEL)), ("CSV", card.csv(CsvText::Guarded)?)],
        warnings => texts(run_warnings(comparison)),
        metrics => Value::from(Serde(metrics)),
        criteria => Value::from(Serde(criteria)),
        criteria_verdict => criteria_verdict(report.criteria),
        criteria_notes => texts(report.criteria.notes.clone()),
        judged_by => judged_by,
        runs => Value::from(Serde(runs)),
        resamples => Format::Count.show(f64::from(comparison.options.resamples)),
        seed => comparison.options.seed,
    })
}
