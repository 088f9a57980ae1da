//! The page: markup by the template, then the data, then the script.

use minijinja::value::Serde;
use minijinja::{Environment, Value, context};
use serde::Serialize;

use super::HtmlReport;
use super::data::{case_blocks, core};
use super::distribution::scorer_views;
use super::leaderboard::{TableView, metric_key, metric_views};
use super::safety::{content_security_policy, embedded};
use crate::error::{Error, Result};
use crate::report::comparison::run_warnings;
use crate::report::panel_notes::panel_notes;
use crate::report::scorecard::overview;
use crate::report::table::{Format, short_names};
use crate::report::visible;

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = concat!(include_str!("page.css"), "\n", include_str!("case.css"));
const SCRIPT: &str = concat!(
    "\"use strict\";\n(() => {\n",
    include_str!("state.js"),
    "\n",
    include_str!("cases.js"),
    "\n",
    include_str!("answer.js"),
    "\n",
    include_str!("case.js"),
    "\n",
    include_str!("page.js"),
    "\n})();\n"
);

/// Unscored answers listed in the page; the table of cases finds the others.
const LISTED: usize = 1000;

/// The page as UTF-8.
///
/// # Errors
/// [`Error::Usage`] where the wanted metric does not exist; [`Error::Internal`] where the template has a fault.
pub fn page(report: &HtmlReport<'_>) -> Result<Vec<u8>> {
    let first = first_metric(report)?;
    let mut page = markup(report, first)?;
    let data = |id: &str, json: &str| format!("<script type=\"application/json\" id=\"{id}\">{json}</script>\n");
    page.push_str(&data("core", &embedded(&core(report, first))?));
    for (at, block) in case_blocks(report)?.iter().enumerate() {
        page.push_str(&data(&format!("case-{at}"), block));
    }
    page.push_str("<script>");
    page.push_str(SCRIPT);
    page.push_str("</script>\n</body>\n</html>\n");
    Ok(page.into_bytes())
}

/// The place of the metric that is shown first.
fn first_metric(report: &HtmlReport<'_>) -> Result<usize> {
    let metrics = &report.comparison.metrics;
    let Some(wanted) = report.metric else { return Ok(0) };
    let is_wanted = |id: &crate::analysis::comparison::MetricId| {
        id.name == wanted || format!("{}.{}", id.scorer, id.name) == wanted
    };
    metrics.iter().position(|metric| is_wanted(&metric.metric)).ok_or_else(|| {
        let known: Vec<String> = metrics.iter().map(|metric| metric_key(&metric.metric, report.comparison)).collect();
        Error::Usage(format!("--metric {wanted}: no metric of these runs; one of {}", known.join(", ")))
    })
}

/// An answer with an unscored component.
#[derive(Serialize)]
struct Unscored<'a> {
    label: &'a str,
    case: &'a str,
    scorer: &'static str,
    reasons: Vec<(&'a str, &'a str)>,
}

/// A run of the page.
#[derive(Serialize)]
struct RunView<'a> {
    name: &'a str,
    facts: &'a [(String, String)],
    scorecard: Option<TableView>,
    notes: Vec<String>,
}

fn markup(report: &HtmlReport<'_>, first: usize) -> Result<String> {
    let comparison = report.comparison;
    let options = &comparison.options;
    let runs = report.runs.iter().map(|run| RunView {
        name: &run.name,
        facts: &run.facts,
        scorecard: run.summary.as_ref().map(|summary| TableView::of(&overview(summary, true))),
        notes: run.summary.as_ref().map(|summary| panel_notes(&summary.panels, &summary.noise)).unwrap_or_default(),
    });
    let unscored = unscored(report);
    let values = context! {
        policy => content_security_policy(SCRIPT, STYLE),
        style => STYLE,
        title => report.runs.iter().map(|run| run.name.as_str()).collect::<Vec<_>>().join(", "),
        version => env!("CARGO_PKG_VERSION"),
        systems => comparison.systems.len(),
        cases => report.observations.cases.len(),
        runs => Value::from(Serde(runs.collect::<Vec<_>>())),
        warnings => run_warnings(comparison).into_iter().map(|note| note.text).collect::<Vec<_>>(),
        metrics => Value::from(Serde(metric_views(comparison, first))),
        scorers => Value::from(Serde(scorer_views(report))),
        unscored_count => unscored.len(),
        unscored => Value::from(Serde(&unscored[..unscored.len().min(LISTED)])),
        level => format!("{:.0}%", 100.0 * options.level),
        alpha => options.alpha,
        resamples => Format::Count.show(f64::from(options.resamples)),
        seed => options.seed,
        baseline => options.baseline.clone(),
    };
    let labels: Vec<&str> = comparison.systems.iter().map(|system| system.label.as_str()).collect();
    let short = short_names(labels.iter().copied());
    let short: std::collections::HashMap<String, String> = labels.into_iter().map(str::to_owned).zip(short).collect();
    let fault = |error: minijinja::Error| Error::Internal(format!("the report's template: {error:#}"));
    let mut environment = Environment::new();
    // Pieces between which a line may end: names have few other places for that.
    environment.add_filter("pieces", move |label: &str| {
        let name = short.get(label).cloned().unwrap_or_else(|| visible(label).into_owned());
        name.split_inclusive(['_', '/', '-']).map(str::to_owned).collect::<Vec<_>>()
    });
    environment.add_filter("visible", |text: &str| visible(text).into_owned());
    environment.add_filter("percent_encoded", percent_encoded);
    environment.add_template("page.html", TEMPLATE).map_err(fault)?;
    environment.get_template("page.html").and_then(|template| template.render(values)).map_err(fault)
}

fn unscored<'a>(report: &'a HtmlReport<'_>) -> Vec<Unscored<'a>> {
    let mut list = Vec::new();
    for (run_at, run) in report.runs.iter().enumerate() {
        for answer in run.scored {
            let missing = answer.score.components.iter().filter(|component| component.value.is_none());
            let reason = |component: &'a crate::domain::Component| {
                let why = component.reason.as_ref().map_or("not asked", |reason| reason.message.as_str());
                (component.name.as_str(), why)
            };
            let reasons: Vec<(&str, &str)> = missing.map(reason).collect();
            if reasons.is_empty() {
                continue;
            }
            let own = report.comparison.systems.iter();
            let own = own.filter(|system| system.run == run_at && system.system == answer.system).map(|own| &own.label);
            let label = own.into_iter().next().map_or(answer.system.as_str(), String::as_str);
            list.push(Unscored { label, case: answer.case.case_id.as_str(), scorer: answer.score.scorer, reasons });
        }
    }
    list
}

/// The text as a part of an address: everything but ASCII letters, digits and `-_.~` as `%XX` of its UTF-8.
fn percent_encoded(text: &str) -> String {
    let encoded = text.bytes().map(|byte| match byte {
        b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    });
    encoded.collect()
}
