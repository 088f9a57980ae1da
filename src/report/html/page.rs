//! The page from front to back: head, sections, the data, the script.

use std::collections::HashSet;

use super::HtmlReport;
use super::data::{case_blocks, core};
use super::frame::{ended, head, joined, push_data, script};
use super::heatmap::push_heatmap;
use super::metric::push_metric;
use super::opening::push_opening;
use super::people::People;
use super::safety::{embedded, push_html};
use super::table::{ShortLabels, number_class, push_notes, push_rows, push_table};
use crate::analysis::comparison::{Comparison, MetricComparison, headline_number};
use crate::domain::Unit;
use crate::error::Result;
use crate::record::{Manifest, RunStatus};
use crate::report::comparison::{judge_lines, metric_name};
use crate::report::criteria::{criteria_tables, criteria_verdict};
use crate::report::layout::counted;
use crate::report::metrics_table::{MetricsTableOptions, metrics_table, paper_table};
use crate::report::table::{Format, Table};
use crate::report::{CsvText, DEFAULT_LABEL, visible};

/// Metrics beside a single headline metric in the scorecard.
// As many as fit beside the systems on a laptop.
const MOST_BESIDE: usize = 5;
/// Longest text of a criterion.
const TEXT_WIDTH: usize = 300;

/// The table of cases and its filters, which the script fills.
const CASES: &str = include_str!("cases.html");
const STYLE: &str = joined!("theme.css", "page.css", "answer.css", "case.css");
const SCRIPT: &str = script!(
    "elements.js",
    "tip.js",
    "state.js",
    "cases.js",
    "criteria.js",
    "markdown.js",
    "answer.js",
    "column.js",
    "cited_pages.js",
    "cited_works.js",
    "groups.js",
    "case.js",
    "page.js"
);

/// The page as UTF-8.
///
/// # Errors
/// [`Error::Internal`](crate::Error::Internal) for what cannot be written as CSV or JSON.
pub(crate) fn page(report: &HtmlReport<'_>) -> Result<Vec<u8>> {
    let comparison = report.comparison;
    let headline = report.observations.headline();
    let first = headline.first().copied().unwrap_or_default();
    let names = ShortLabels::of(comparison);
    let mut page = head(&format!("{} · scholareval", title(report)), SCRIPT, STYLE);
    page.push_str("<a class=\"skip\" href=\"#content\">Skip to the results</a>\n");
    push_header(&mut page, report, first);
    page.push_str(
        r#"<main id="content" tabindex="-1">
<div id="overview">
<p class="call-out" id="no-case" role="status" hidden></p>
"#,
    );
    let people = People::of(report, first);
    push_opening(&mut page, report, &people, first);
    if comparison.metrics.is_empty() {
        page.push_str(
            "<p class=\"empty\">There is nothing to compare: no metric has a value.</p>\n",
        );
    } else {
        push_scorecard(&mut page, report, &names)?;
    }
    for (at, metric) in comparison.metrics.iter().enumerate() {
        push_metric(&mut page, &names, comparison, metric, at == first);
    }
    push_heatmap(&mut page, report, &names, first);
    page.push_str(CASES);
    push_criteria(&mut page, report, &names);
    push_about(&mut page, report);
    page.push_str("</div>\n<article id=\"case\" hidden aria-live=\"off\"></article>\n</main>\n");
    push_data(&mut page, "core", &embedded(&core(report, &people, first))?);
    for (at, block) in case_blocks(report, &people).enumerate() {
        // A block each, parsed when its case is opened: a page of 20,000 answers would otherwise
        // take seconds to open.
        push_data(&mut page, &format!("case-{at}"), &block?);
    }
    Ok(ended(page, SCRIPT))
}

/// The names of the runs.
fn title(report: &HtmlReport<'_>) -> String {
    let names: Vec<&str> = report.runs.iter().map(|run| run.name.as_str()).collect();
    visible(&names.join(", ")).into_owned()
}

/// Title, size and the choice of the metric, whose option `first` comes first and is chosen.
fn push_header(page: &mut String, report: &HtmlReport<'_>, first: usize) {
    let comparison = report.comparison;
    let title = title(report);
    push_html!(
        page,
        r#"<header class="top">
  <div class="title">
    <h1 title="{}">{}</h1>
    <p>{}, {}</p>
  </div>
  <div class="tools" data-script hidden>
    <label for="metric">Metric</label>
    <select id="metric">
"#,
        title,
        title,
        counted(comparison.systems.len(), "system"),
        counted(report.observations.cases.len(), "case")
    );
    let mut metrics: Vec<_> = comparison.metrics.iter().enumerate().collect();
    metrics.sort_by_key(|(at, _)| *at != first);
    for (at, metric) in metrics {
        let key = metric_name(comparison, metric);
        let selected = if at == first { " selected" } else { "" };
        // The value is the name in the page's address, and exact.
        push_html!(
            page,
            r#"      <option value="{}"{}>{}</option>
"#,
            key,
            selected,
            visible(&key)
        );
    }
    page.push_str("    </select>\n  </div>\n</header>\n");
}

/// The systems by the headline metrics, to read and to copy for a paper.
fn push_scorecard(page: &mut String, report: &HtmlReport<'_>, names: &ShortLabels) -> Result<()> {
    let shown = scorecard_metrics(report);
    let shown: Vec<&MetricComparison> = shown.iter().collect();
    let options = MetricsTableOptions {
        letters: true,
        ..MetricsTableOptions::default()
    };
    let card = metrics_table(report.comparison, &shown, &options)?;
    let for_paper = paper_table(report.comparison, &shown, &options)?;
    push_html!(
        page,
        r#"<section class="scorecard" aria-labelledby="scorecard-title">
  <h2 id="scorecard-title">Scorecard</h2>
  <p class="explains">{}</p>
  <div class="wide" tabindex="0" role="region" aria-label="Scorecard, table">
  <table class="plain">
    <thead><tr>"#,
        visible(&card.title)
    );
    push_linked_headings(page, names, &card, report.comparison);
    page.push_str("</tr></thead>\n    <tbody>");
    push_rows(page, names, &card);
    page.push_str("\n    </tbody>\n  </table>\n  </div>\n");
    push_notes(page, &card.notes);
    let copies = [
        ("LaTeX", for_paper.latex(DEFAULT_LABEL)),
        ("CSV", card.csv(CsvText::Guarded)?),
    ];
    page.push_str("  <p class=\"copies\" data-script hidden>");
    for (name, _) in &copies {
        push_html!(
            page,
            r#"<button type="button" data-copy="copy-{}">Copy as {}</button> "#,
            name,
            name
        );
    }
    page.push_str("<span id=\"copied\" role=\"status\"></span></p>\n");
    for (name, text) in &copies {
        push_html!(
            page,
            r#"  <pre class="raw" id="copy-{}" tabindex="0" hidden>{}</pre>"#,
            name,
            text
        );
        page.push('\n');
    }
    page.push_str("</section>\n");
    Ok(())
}

/// Headings of which those of metrics lead to the metric. A number of a set of answers has no value for an answer, and so
/// no section to lead to.
fn push_linked_headings(
    page: &mut String,
    names: &ShortLabels,
    card: &Table,
    comparison: &Comparison,
) {
    let mut metrics = HashSet::new();
    for metric in &comparison.metrics {
        metrics.insert(metric_name(comparison, metric));
    }
    for column in &card.columns {
        push_html!(page, r#"<th scope="col"{}>"#, number_class(column));
        if metrics.contains(column.key.as_str()) {
            push_html!(page, r#"<a data-key="{}">"#, column.key);
            names.push(page, &column.heading);
            page.push_str("</a>");
        } else if column.format == Format::Text {
            push_html!(page, "{}", column.heading);
        } else {
            names.push(page, &column.heading);
        }
        page.push_str("</th>");
    }
}

/// The statistics of the criteria; nothing without any.
fn push_criteria(page: &mut String, report: &HtmlReport<'_>, names: &ShortLabels) {
    let tables = criteria_tables(report.criteria, false, TEXT_WIDTH);
    let Some(last) = tables.last() else {
        return;
    };
    push_html!(
        page,
        r#"<section class="discriminate" aria-labelledby="discriminate-title">
  <details>
  <summary><h2 id="discriminate-title">Which criteria discriminate</h2></summary>
  <p class="explains">{}</p>
"#,
        visible(&criteria_verdict(report.criteria))
    );
    for table in &tables {
        let title = visible(&table.title);
        let mut label = "Findings";
        if !title.is_empty() {
            push_html!(page, "  <h3>{}</h3>\n", title);
            label = &title;
        }
        push_html!(
            page,
            r#"  <div class="wide" tabindex="0" role="region" aria-label="{}">
"#,
            label
        );
        push_table(page, names, table);
        page.push_str("  </div>\n");
    }
    page.push_str("  <ul class=\"notes\">");
    for note in &report.criteria.notes {
        push_html!(page, "<li>{}</li>", visible(&note.text));
    }
    for column in &last.columns {
        if !column.meaning.is_empty() {
            push_html!(page, "<li>{}: {}</li>", column.heading, column.meaning);
        }
    }
    page.push_str("</ul>\n  </details>\n</section>\n");
}

/// Facts about every run, and how the numbers were made.
fn push_about(page: &mut String, report: &HtmlReport<'_>) {
    let options = &report.comparison.options;
    page.push_str("<section class=\"about\">\n  <h2>About</h2>\n");
    let judged: Vec<_> = report.comparison.judged_by.iter().collect();
    for line in judge_lines(&judged) {
        push_html!(page, "  <p class=\"quiet\">{}</p>\n", visible(&line));
    }
    for run in report.runs {
        push_html!(
            page,
            "  <h3>{}</h3>\n  <dl class=\"facts\">",
            visible(&run.name)
        );
        for (name, value) in facts(&run.manifest) {
            push_html!(
                page,
                "<div><dt>{}</dt><dd>{}</dd></div>",
                visible(&name),
                visible(&value)
            );
        }
        page.push_str("</dl>\n");
    }
    push_html!(
        page,
        r#"  <p class="quiet">Intervals and tests over questions, {} resamples; p and intervals of pairs are adjusted for all pairs of a metric. Seed {}. Made by scholareval {}; docs/metrics.md has every formula.</p>
  <noscript><p>Cases, filters and answers need JavaScript, which is off. The tables above are complete without it.</p></noscript>
</section>
"#,
        Format::Count.show(f64::from(options.resamples)),
        options.seed,
        env!("CARGO_PKG_VERSION")
    );
}

/// The headline metrics, numbers of whole sets of answers in place of what is tested; of a single one the page shows the metrics
/// of its scorer beside it.
fn scorecard_metrics(report: &HtmlReport<'_>) -> Vec<MetricComparison> {
    let all = &report.comparison.metrics;
    let options = &report.comparison.options;
    let mut chosen: Vec<MetricComparison> = Vec::new();
    let headline = report.observations.headline();
    for at in &headline {
        let number = headline_number(report.observations, *at, options);
        chosen.extend(number.or_else(|| all.get(*at).cloned()));
    }
    if let [only] = headline[..] {
        let headline = &all[only].metric;
        let beside = all.iter().filter(|metric| {
            metric.metric.scorer == headline.scorer
                && (metric.metric.unit != Unit::Count || metric.metric.higher_is_better)
                && metric.metric != *headline
        });
        chosen.extend(beside.take(MOST_BESIDE).cloned());
    }
    chosen
}

/// Facts about a run, by name. Settings are not shown: they may contain headers, paths and addresses.
fn facts(manifest: &Manifest) -> Vec<(String, String)> {
    let finished = match manifest.status {
        RunStatus::Complete => manifest.finished_at.as_deref(),
        _ => None,
    };
    let facts = [
        ("mode", format!("{:?}", manifest.mode).to_lowercase()),
        ("scorers", manifest.scorers.join(", ")),
        ("answers", manifest.answers.to_string()),
        ("missing answers", manifest.missing.len().to_string()),
        ("started", manifest.started_at.clone()),
        ("finished", finished.unwrap_or("no").to_owned()),
        ("scholareval", manifest.scholareval_version.clone()),
    ];
    let mut facts = facts.map(|(name, value)| (name.to_owned(), value)).to_vec();
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
                let calls = Format::Count.show(*calls as f64);
                text += &format!("; system fingerprint {fingerprint}: {calls}");
            }
            facts.push((format!("answered as {}", judge.judge), text));
        }
    }
    facts
}
