//! The questions about a report beside its criteria, and its score (ScholarQA-CS2).

use std::sync::Arc;

use super::report_metrics::{
    CitationCounts, METRIC_WEIGHTS, answer_precision, global_average, ingredient_recall, ingredient_shares,
};
use super::{Judged, Verdicts};
use crate::domain::{
    Answer, CaseCriterion, CitedClaim, Component, ComponentKind, JudgeCall, JudgeTask, Mode, REPORT_METRICS, Report,
    Role, RubricProfile, Score, TestCase, UnscoredKind, UnscoredReason, Verdict,
};

/// Item of the call about irrelevant paragraphs; not the component's, since samples are numbers of texts.
const PRECISION: &str = "irrelevant_paragraphs";

/// A credit with the factor of its weight (1 here) and the judge's explanation, or why it is missing.
pub(super) type Credit = Result<(f64, f64, Option<String>), UnscoredReason>;
type Metric = Result<f64, UnscoredReason>;

/// The report of an answer; a plain text is one section without citations.
pub(super) fn of(answer: &Answer) -> Arc<Report> {
    answer.report.clone().unwrap_or_else(|| Arc::new(Report::of_text(&answer.answer_text, None)))
}

fn group_item(at: usize) -> String {
    format!("citation_group_{}", at + 1)
}

/// One call about irrelevant paragraphs, and one for each group that has citations.
pub(super) fn calls(case: &TestCase, answer: &Answer, report: &Report) -> Vec<JudgeCall> {
    let call = |item: String, task| JudgeCall { item: item.into(), role: Role::Criteria, task, draw: 0, member: 0 };
    let (question, answer) = (Arc::clone(&case.rubric.question), Arc::clone(&answer.answer_text));
    let mut calls = vec![call(PRECISION.to_owned(), JudgeTask::Precision { question, answer })];
    for (at, group) in report.groups.iter().enumerate().filter(|(_, group)| !group.citations.is_empty()) {
        let (text, citations) = (group.text.as_str().into(), group.citations.as_slice().into());
        calls.push(call(group_item(at), JudgeTask::CitationGroup { text, citations }));
    }
    calls
}

/// The share of the ingredients' weights that the answer earns; the first reason if a credit is missing.
pub(super) fn recall(case: &TestCase, mode: Mode, credits: &[Credit]) -> Metric {
    let known: Result<Vec<f64>, _> = credits.iter().map(|own| own.as_ref().map(|(credit, ..)| *credit)).collect();
    let shares = ingredient_shares(&case.criteria, mode).unwrap_or_default();
    known.map(|credits| ingredient_recall(&shares, &credits)).map_err(UnscoredReason::clone)
}

/// Answer precision, citation precision and citation recall.
pub(super) fn metrics(
    answer: &Answer,
    report: &Report,
    verdicts: &Verdicts,
    profile: &RubricProfile,
) -> (Metric, Metric, Metric) {
    let precision = verdict(verdicts, PRECISION).and_then(|verdict| match verdict {
        Verdict::Irrelevant(texts) => Ok(answer_precision(&answer.answer_text, texts)),
        _ => Err(UnscoredReason::other_kind()),
    });
    let mut counts = Ok(CitationCounts::default());
    for (at, group) in report.groups.iter().enumerate() {
        let claims: Result<&[CitedClaim], _> = match verdict(verdicts, &group_item(at)) {
            _ if group.citations.is_empty() => Ok(&[]),
            Ok(Verdict::CitedClaims(claims)) => Ok(claims),
            Ok(_) => Err(UnscoredReason::other_kind()),
            Err(reason) => Err(reason),
        };
        match (&mut counts, claims) {
            (Ok(counts), Ok(claims)) => counts.add(group, claims, profile),
            (counts @ Ok(_), Err(reason)) => *counts = Err(reason),
            (Err(_), _) => {}
        }
    }
    let of = |metric: fn(&CitationCounts) -> f64| counts.as_ref().map(metric).map_err(UnscoredReason::clone);
    (precision, of(CitationCounts::precision), of(CitationCounts::recall))
}

fn verdict<'a>(verdicts: &'a Verdicts, item: &str) -> Result<&'a Verdict, UnscoredReason> {
    match verdicts.get(item) {
        Some(Judged::Verdict(verdict, _)) => Ok(verdict),
        Some(Judged::Unscored(reason)) => Err(reason.clone()),
        None => Err(UnscoredReason::new(UnscoredKind::NotAsked, "not asked")),
    }
}

/// The score: each ingredient with its weight in the mean of the four metrics, and the metrics. The recall has no weight,
/// since its ingredients have it.
pub(super) fn fold(
    scorer: &'static str,
    case: &TestCase,
    mode: Mode,
    credits: Vec<Credit>,
    mut metrics: [Metric; 4],
) -> Score {
    // The reference leaves an answer out of all means if it cannot compute one of the metrics.
    if let (Mode::Compat, Some(Err(reason))) = (mode, metrics.iter().find(|metric| metric.is_err())) {
        metrics = [(); 4].map(|()| Err(reason.clone()));
    }
    let none = || vec![0.0; credits.len()];
    let shares = ingredient_shares(&case.criteria, mode).unwrap_or_else(none);
    let ingredient = |((criterion, share), credit): ((&CaseCriterion, f64), Credit)| {
        let component = Component::new(&criterion.name, ComponentKind::Criterion).with_text(&criterion.text);
        let component = component.with_weight(METRIC_WEIGHTS[0] * share);
        let mut component = component.with(credit.map(|(credit, _, feedback)| (credit, feedback)));
        component.tags.clone_from(&criterion.tags);
        component
    };
    let ingredients = case.criteria.iter().zip(shares).zip(credits).map(ingredient);
    let metric = |(at, metric): (usize, &Metric)| {
        let weight = if at == 0 { 0.0 } else { METRIC_WEIGHTS[at] };
        let value = metric.clone().map(|value| (value, None));
        Component::new(REPORT_METRICS[at], ComponentKind::Share).with_weight(weight).with(value)
    };
    let components = ingredients.chain(metrics.iter().enumerate().map(metric)).collect();
    let [recall, precision, citation_precision, citation_recall] = metrics.map(Result::ok);
    let all = recall.zip(precision).zip(citation_precision.zip(citation_recall));
    let value = all.map(|((a, b), (c, d))| global_average([a, b, c, d], METRIC_WEIGHTS));
    Score { scorer, value, components, ..Score::default() }
}
