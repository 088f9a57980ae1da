//! The page put together: markup by the template, then the data, then the script.

use minijinja::value::Serde;
use minijinja::{Environment, Value, context};

use super::HtmlReport;
use super::block::{Cases, case_blocks, core};
use super::distribution::scorer_views;
use super::embed::embedded;
use super::figures::thousands;
use super::leaderboard::{metric_key, metric_views};
use super::listing::{draw_views, panel_views, run_views, unscored};
use super::names::Names;
use super::policy::content_security_policy;
use super::scorecard::scorecard_view;
use crate::error::{Error, Result};
use crate::report::visible;

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = concat!(include_str!("page.css"), "\n", include_str!("case.css"));
const SCRIPT: &str = concat!(
    "\"use strict\";\n(() => {\n",
    include_str!("state.js"),
    "\n",
    include_str!("overview.js"),
    "\n",
    include_str!("heatmap.js"),
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
/// [`Error::Usage`] where the wanted metric is not there; [`Error::Internal`] where the template has a fault.
pub fn render_html(report: &HtmlReport<'_>) -> Result<Vec<u8>> {
    let first = first_metric(report)?;
    let cases = Cases::of(report);
    let mut page = head(report, first, cases.len())?;
    let data = |id: &str, json: &str| format!("<script type=\"application/json\" id=\"{id}\">{json}</script>\n");
    page.push_str(&data("core", &embedded(&core(report, &cases, first))?));
    for (at, block) in case_blocks(report, &cases)?.iter().enumerate() {
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
    let is_it = |metric: &crate::analysis::comparison::MetricComparison| {
        let id = &metric.metric;
        id.name == wanted || format!("{}.{}", id.scorer, id.name) == wanted
    };
    metrics.iter().position(is_it).ok_or_else(|| {
        let known: Vec<String> = metrics.iter().map(|metric| metric_key(&metric.metric, report.comparison)).collect();
        Error::Usage(format!("--metric {wanted}: no metric of these runs; one of {}", known.join(", ")))
    })
}

fn head(report: &HtmlReport<'_>, first: usize, cases: usize) -> Result<String> {
    let comparison = report.comparison;
    let options = &comparison.options;
    let values = context! {
        policy => content_security_policy(SCRIPT, STYLE),
        style => STYLE,
        title => visible(&report.title),
        version => env!("CARGO_PKG_VERSION"),
        systems => comparison.systems.len(),
        cases => cases,
        runs => Value::from(Serde(run_views(&report.runs))),
        marks => comparison.marks.iter().map(|mark| visible(mark).into_owned()).collect::<Vec<_>>(),
        unfinished => report.unfinished.iter().map(|line| visible(line).into_owned()).collect::<Vec<_>>(),
        scorecard => Value::from(Serde(scorecard_view(comparison, &report.runs, first))),
        metrics => Value::from(Serde(metric_views(comparison, first))),
        scorers => Value::from(Serde(scorer_views(comparison, &report.runs))),
        unscored => Value::from(Serde(unscored(comparison, &report.runs))),
        panels => Value::from(Serde(panel_views(&report.runs))),
        draws => Value::from(Serde(draw_views(&report.runs))),
        level => format!("{:.0}%", 100.0 * options.level),
        alpha => options.alpha,
        resamples => thousands(options.resamples),
        flips => thousands(options.flips),
        seed => options.seed,
        baseline => options.baseline.as_deref().map(|label| visible(label).into_owned()),
    };
    let fault = |error: minijinja::Error| Error::Internal(format!("the report's template: {error:#}"));
    let mut environment = Environment::new();
    let names = Names::of(comparison.systems.iter().map(|system| system.label.as_str()));
    environment.add_filter("pieces", move |name: &str| names.pieces(name));
    environment.add_template("page.html", TEMPLATE).map_err(fault)?;
    environment.get_template("page.html").and_then(|template| template.render(values)).map_err(fault)
}
