//! The questions about a report beside its criteria, and its score (ScholarQA-CS2).

use std::sync::Arc;

use super::Verdicts;
use super::report_metrics::{
    CitationCounts, METRIC_WEIGHTS, answer_precision, global_average, ingredient_recall,
    ingredient_shares,
};
use crate::domain::{
    Answer, CaseCriterion, Component, ComponentKind, Mode, REPORT_METRICS, Reading, Report, Role,
    RubricProfile, Score, ScorerId, TestCase, UnscoredKind, UnscoredReason, Verdict,
};
use crate::question::{IrrelevantParagraphs, JudgeCall, SectionCitations};

/// Item of the call about irrelevant paragraphs; not the component's, since samples are numbers of texts.
const PRECISION: &str = "irrelevant_paragraphs";

/// A credit with the factor of its weight (1 here) and the judge's explanation, or why it is missing.
pub(super) type Credit = Result<(f64, f64, Option<String>), UnscoredReason>;
type Metric = Result<f64, UnscoredReason>;

/// The report of an answer; a plain text is one section without citations.
pub(super) fn of(answer: &Answer) -> Arc<Report> {
    answer
        .report
        .clone()
        .unwrap_or_else(|| Arc::new(Report::of_text(&answer.answer_text, None)))
}

fn group_item(at: usize) -> String {
    format!("citation_group_{}", at + 1)
}

/// One call about irrelevant paragraphs, and one for each group that has citations.
pub(super) fn calls(case: &TestCase, answer: &Answer, report: &Report) -> Vec<JudgeCall> {
    let precision = IrrelevantParagraphs {
        question: Arc::clone(&case.rubric.question),
        answer: Arc::clone(&answer.answer_text),
    };
    let mut calls = vec![JudgeCall::new(PRECISION, Role::Criteria, precision)];
    for (at, group) in report.groups.iter().enumerate() {
        if group.citations.is_empty() {
            continue;
        }
        let section = SectionCitations {
            text: group.text.as_str().into(),
            citations: group.citations.as_slice().into(),
        };
        calls.push(JudgeCall::new(group_item(at), Role::Criteria, section));
    }
    calls
}

/// Answer precision, citation precision and citation recall.
pub(super) fn metrics(
    answer: &Answer,
    report: &Report,
    verdicts: &Verdicts,
    profile: &RubricProfile,
) -> [Metric; 3] {
    let counts = citations(report, verdicts, profile);
    let of = |metric: fn(&CitationCounts) -> f64| {
        counts.as_ref().map(metric).map_err(UnscoredReason::clone)
    };
    [
        precision(answer, verdicts),
        of(CitationCounts::precision),
        of(CitationCounts::recall),
    ]
}

fn precision(answer: &Answer, verdicts: &Verdicts) -> Metric {
    let Verdict::Irrelevant(texts) = verdict(verdicts, PRECISION)? else {
        return Err(UnscoredReason::other_kind());
    };
    Ok(answer_precision(&answer.answer_text, texts))
}

fn citations(
    report: &Report,
    verdicts: &Verdicts,
    profile: &RubricProfile,
) -> Result<CitationCounts, UnscoredReason> {
    let mut counts = CitationCounts::default();
    for (at, group) in report.groups.iter().enumerate() {
        if group.citations.is_empty() {
            counts.add(group, &[], profile);
            continue;
        }
        let Verdict::CitedClaims(claims) = verdict(verdicts, &group_item(at))? else {
            return Err(UnscoredReason::other_kind());
        };
        counts.add(group, claims, profile);
    }
    Ok(counts)
}

fn verdict<'a>(verdicts: &'a Verdicts, item: &str) -> Result<&'a Verdict, UnscoredReason> {
    match verdicts.get(item) {
        Some(Ok(Reading { verdict, .. })) => Ok(verdict),
        Some(Err(reason)) => Err(reason.clone()),
        None => Err(UnscoredReason::new(UnscoredKind::NotAsked, "not asked")),
    }
}

/// The score of these credits and other metrics: each ingredient with its weight in the mean of the four metrics, and the
/// metrics. The recall has no weight, since its ingredients have it.
pub(super) fn fold(
    scorer: ScorerId,
    case: &TestCase,
    mode: Mode,
    credits: Vec<Credit>,
    [precision, citation_precision, citation_recall]: [Metric; 3],
) -> Score {
    let none = || vec![0.0; credits.len()];
    let shares = ingredient_shares(&case.criteria, mode).unwrap_or_else(none);
    let known: Result<Vec<f64>, _> = credits
        .iter()
        .map(|own| own.as_ref().map(|(credit, ..)| *credit))
        .collect();
    let recall = known
        .map(|credits| ingredient_recall(&shares, &credits))
        .map_err(UnscoredReason::clone);
    let mut metrics = [recall, precision, citation_precision, citation_recall];
    // The reference leaves an answer out of all means if it cannot compute one of the metrics.
    if let (Mode::Compat, Some(Err(reason))) = (mode, metrics.iter().find(|metric| metric.is_err()))
    {
        metrics = [(); 4].map(|()| Err(reason.clone()));
    }
    let all: Result<Vec<f64>, _> = metrics.iter().cloned().collect();
    let value = all
        .ok()
        .and_then(|all| Some(global_average(all.try_into().ok()?, METRIC_WEIGHTS)));
    let ingredient = |((criterion, share), credit): ((&CaseCriterion, f64), Credit)| {
        let component =
            Component::new(&criterion.name, ComponentKind::Criterion).with_text(&criterion.text);
        let mut component = component.with_weight(METRIC_WEIGHTS[0] * share);
        component.tags.clone_from(&criterion.tags);
        component.with(credit.map(|(credit, _, feedback)| (credit, feedback)))
    };
    let ingredients = case
        .criteria
        .iter()
        .zip(shares)
        .zip(credits)
        .map(ingredient);
    let others = (0..)
        .zip(REPORT_METRICS)
        .zip(metrics)
        .map(|((at, name), metric)| {
            let weight = if at == 0 { 0.0 } else { METRIC_WEIGHTS[at] };
            Component::new(name, ComponentKind::Share)
                .with_weight(weight)
                .with(metric.map(|value| (value, None)))
        });
    Score {
        scorer,
        value,
        components: ingredients.chain(others).collect(),
        ..Score::default()
    }
}
