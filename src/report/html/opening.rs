//! The opening of the page: the verdict, who judged, and what a reader must know before the numbers.

use std::collections::{BTreeMap, BTreeSet};

use super::HtmlReport;
use super::people::People;
use super::safety::push_html;
use crate::analysis::comparison::{Comparison, MetricComparison};
use crate::domain::WorkCounts;
use crate::record::RecordedRun;
use crate::report::comparison::{
    check_lines, judge_lines, metric_name, run_warnings, unpublished, verdict_statements,
};
use crate::report::layout::counted;
use crate::report::visible;

/// Adds the verdict on each metric, of which the script shows that of the chosen one; what it rests on; and warnings.
pub(super) fn push_opening(
    page: &mut String,
    report: &HtmlReport<'_>,
    people: &People<'_>,
    first: usize,
) {
    let comparison = report.comparison;
    push_works(page, report.runs);
    for (at, metric) in comparison.metrics.iter().enumerate() {
        push_verdict(page, comparison, metric, at == first);
    }
    page.push_str("<p class=\"basis\">");
    push_judges(page, report);
    for (at, metric) in comparison.metrics.iter().enumerate() {
        let hidden = if at == first { "" } else { " hidden" };
        for fact in warnings_of(report, metric) {
            push_html!(
                page,
                r#"<span data-metric="{}" class="warn"{}>{}</span>"#,
                metric_name(comparison, metric),
                hidden,
                visible(&fact)
            );
        }
    }
    push_people(page, report, people);
    push_dates(page, report.runs);
    page.push_str("</p>\n");
    push_call_outs(page, report);
}

/// How many of the cited works were found, where references were looked up.
fn push_works(page: &mut String, runs: &[RecordedRun]) {
    let items = runs.iter().flat_map(|run| &run.items);
    let looked_up = items.filter_map(|item| item.answer.works.as_ref());
    let counts = looked_up.map(|works| WorkCounts::of(works.iter()));
    if let Some(counts) = counts.reduce(WorkCounts::plus) {
        push_html!(
            page,
            "<p class=\"verdict\">{}. <small>{}. A work that is not found may exist: files of works have gaps.</small></p>\n",
            counts.sentence(),
            counts.inventory()
        );
    }
}

/// The verdict on a metric as `compare` states it, the numbers smaller than the words.
fn push_verdict(
    page: &mut String,
    comparison: &Comparison,
    metric: &MetricComparison,
    is_shown: bool,
) {
    let statements = verdict_statements(comparison, metric);
    if statements.is_empty() {
        return;
    }
    let name = metric_name(comparison, metric);
    push_html!(
        page,
        r#"<p class="verdict" data-metric="{}"{}><small>{}:</small> "#,
        name,
        if is_shown { "" } else { " hidden" },
        visible(&name)
    );
    let last = statements.len() - 1;
    for (at, statement) in statements.iter().enumerate() {
        push_html!(page, "{}", visible(&statement.words));
        if !statement.evidence.is_empty() {
            push_html!(page, " <small>({})</small>", visible(&statement.evidence));
        }
        page.push_str(if at == last { "." } else { "; " });
    }
    page.push_str("</p>\n");
}

/// The models that answered with their calls, or else the judges.
fn push_judges(page: &mut String, report: &HtmlReport<'_>) {
    let judged: Vec<_> = report.comparison.judged_by.iter().collect();
    let answered = Answered::in_runs(report.runs);
    if answered.judges.is_empty() {
        for line in judge_lines(&judged) {
            push_html!(page, "<span>{}</span>", visible(&line));
        }
        if judged.is_empty() {
            page.push_str("<span>no judge</span>");
        }
        if report.call_count > 0 {
            let calls = counted(report.call_count, "call");
            push_html!(page, "<span>{}</span>", calls);
        }
    } else {
        answered.push(page);
    }
    for line in check_lines(&judged) {
        push_html!(page, "<span>{}</span>", visible(&line));
    }
    if let Some(line) = unpublished(&judged) {
        push_html!(page, "<span class=\"warn\">{}</span>", visible(&line));
    }
}

/// Who answered as each judge, in all runs.
struct Answered {
    /// Calls by judge and model; `None` for replies that name no model.
    judges: BTreeMap<String, BTreeMap<Option<String>, u64>>,
}

impl Answered {
    fn in_runs(runs: &[RecordedRun]) -> Self {
        let mut judges: BTreeMap<String, BTreeMap<Option<String>, u64>> = BTreeMap::new();
        for judge in runs.iter().flat_map(|run| run.manifest.answered_judges()) {
            let of_judge = judges.entry(judge.judge.clone()).or_default();
            for model in &judge.models {
                let name = if judge.is_lexical {
                    Some("the built-in lexical baseline, which is not an LLM".to_owned())
                } else {
                    model.model.clone()
                };
                *of_judge.entry(name).or_default() += model.calls;
            }
        }
        judges.retain(|_, models| !models.is_empty());
        Self { judges }
    }

    /// `Judged by gpt-5 (4,905 calls) and gpt-5-mini (300 calls): 2 models answered as gpt-5`.
    fn push(&self, page: &mut String) {
        page.push_str("<span>Judged by ");
        let mut mixed = Vec::new();
        let mut is_first = true;
        for (judge, models) in &self.judges {
            // Replies that name no model contradict nothing.
            let named = models.keys().flatten().count();
            if named > 1 {
                mixed.push(format!("{named} models answered as {judge}"));
            }
            for (model, count) in models {
                let model = model.as_deref().unwrap_or(judge);
                let calls = counted(*count as usize, "call");
                if !is_first {
                    page.push_str(" and ");
                }
                is_first = false;
                push_html!(page, "<b>{}</b> ({})", visible(model), calls);
            }
        }
        page.push_str("</span>");
        for text in mixed {
            push_html!(page, "<span class=\"warn\">{}</span>", visible(&text));
        }
    }
}

/// What the numbers of a metric leave out: cases without a value of every system, unscored answers.
fn warnings_of(report: &HtmlReport<'_>, metric: &MetricComparison) -> Vec<String> {
    let mut warnings = Vec::new();
    let runs = &report.comparison.runs;
    let is_unfinished = runs.iter().any(|run| run.unfinished.is_some());
    if is_unfinished || metric.cases.len() < metric.cases_in_all {
        let state = if is_unfinished { "unfinished: " } else { "" };
        let all = counted(metric.cases_in_all, "case");
        warnings.push(format!("{state}rests on {} of {all}", metric.cases.len()));
    }
    let mut tables = report.observations.metrics.iter();
    let table = tables.find(|table| table.metric == metric.metric);
    let observed = || table.iter().flat_map(|table| &table.values).flatten();
    let unscored = observed().filter(|value| value.is_unscored()).count();
    if unscored > 0 {
        let answers = observed().filter(|value| value.range().is_some());
        let all = counted(answers.count(), "answer");
        warnings.push(format!("{unscored} of {all} unscored"));
    }
    warnings
}

/// In how many cases people and the judge differ; nothing without labels.
fn push_people(page: &mut String, report: &HtmlReport<'_>, people: &People<'_>) {
    let labeled = people.labeled_cases();
    if labeled > 0 {
        let all = counted(labeled, "labeled case");
        let differing = people.differing_cases(report).len();
        let text = format!("judge and people differ in {differing} of {all}");
        push_html!(page, "<span>{}</span>", text);
    }
}

/// The days on which the runs began.
fn push_dates(page: &mut String, runs: &[RecordedRun]) {
    let runs = runs.iter();
    let dates = runs.filter_map(|run| run.manifest.started_at.get(..10));
    for date in dates.collect::<BTreeSet<_>>() {
        push_html!(page, "<span>{}</span>", date);
    }
}

/// What the page does not have, and warnings on the runs.
fn push_call_outs(page: &mut String, report: &HtmlReport<'_>) {
    for text in &report.left_out {
        push_html!(
            page,
            "<p class=\"call-out left-out\">{}</p>\n",
            visible(text)
        );
    }
    let warnings = run_warnings(report.comparison);
    if warnings.is_empty() {
        return;
    }
    page.push_str("<section class=\"marks\" aria-label=\"Warnings\">\n  <h2>Warnings</h2>\n  <ul>");
    for warning in &warnings {
        push_html!(page, "<li>{}</li>", visible(&warning.text));
    }
    page.push_str("</ul>\n</section>\n");
}
