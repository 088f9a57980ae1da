//! The score of a report (ScholarQA-CS2): the mean of four metrics, one of which is the recall of its criteria, called
//! ingredients.
//!
//! Beside the ingredients a judge is asked about irrelevant paragraphs, and about the citations of each section. The
//! formulas are in [`report_metrics`](crate::scorer::report_metrics).

use std::sync::Arc;

use crate::domain::{
    Answer, Component, ComponentKind, Mode, REPORT_METRICS, Report, ReportFault, Role,
    RubricProfile, Score, TestCase, UnscoredKind, UnscoredReason, Verdict,
};
use crate::question::{IrrelevantParagraphs, JudgeCall, SectionCitations};
use crate::scorer::report_metrics::{
    CitationCounts, METRIC_WEIGHTS, answer_precision, global_average, ingredient_recall,
    ingredient_shares,
};
use crate::scorer::{Verdicts, values};

use super::credit::{self, Credit, CriterionCredit};
use super::{CRITERIA, CriteriaScorer};

/// Item of the call about irrelevant paragraphs; not the component's, since samples are numbers of texts.
const PRECISION: &str = "irrelevant_paragraphs";

/// The value of a metric, or why it is missing.
type Metric = Result<f64, UnscoredReason>;

/// The metrics other than the recall of ingredients.
#[derive(Debug, Clone)]
pub(super) struct OtherMetrics {
    answer_precision: Metric,
    citation_precision: Metric,
    citation_recall: Metric,
}

impl OtherMetrics {
    /// The same for all of them.
    pub(super) fn all(metric: Metric) -> Self {
        Self {
            answer_precision: metric.clone(),
            citation_precision: metric.clone(),
            citation_recall: metric,
        }
    }
}

/// The report of an answer; a plain text is one section without citations.
pub(super) fn of(answer: &Answer) -> Arc<Report> {
    answer
        .report
        .clone()
        .unwrap_or_else(|| Arc::new(Report::of_text(&answer.answer_text, None)))
}

/// Why no judge is asked about a report.
pub(super) fn refusal(report: &Report, case: &TestCase, mode: Mode) -> Option<UnscoredReason> {
    if let Some(ReportFault::Dropped(what)) = &report.fault {
        return Some(UnscoredReason::new(UnscoredKind::Exception, what));
    }
    if ingredient_shares(&case.criteria, mode).is_none() {
        let what = "the weights of the ingredients sum to 0";
        return Some(UnscoredReason::new(UnscoredKind::NotAsked, what));
    }
    None
}

/// The score of a completion that does not contain a report, for this reason: 0 in every metric.
pub(super) fn score_of_nothing(scorer: &CriteriaScorer, case: &TestCase, what: &str) -> Score {
    let credits = vec![Ok(Credit::ZERO); case.criteria.len()];
    let mut score = score(scorer, case, credits, OtherMetrics::all(Ok(0.0)));
    score.notes.push(format!("{what}: 0"));
    score
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

fn group_item(at: usize) -> String {
    format!("citation_group_{}", at + 1)
}

/// Answer precision, citation precision and citation recall.
pub(super) fn metrics(
    answer: &Answer,
    report: &Report,
    verdicts: &Verdicts,
    profile: &RubricProfile,
) -> OtherMetrics {
    let answer_precision = precision(answer, verdicts);
    match citations(report, verdicts, profile) {
        Ok(counts) => OtherMetrics {
            answer_precision,
            citation_precision: Ok(counts.precision()),
            citation_recall: Ok(counts.recall()),
        },
        Err(reason) => OtherMetrics {
            answer_precision,
            citation_precision: Err(reason.clone()),
            citation_recall: Err(reason),
        },
    }
}

fn precision(answer: &Answer, verdicts: &Verdicts) -> Metric {
    let Verdict::Irrelevant(texts) = &values::reading(verdicts, PRECISION)?.verdict else {
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
        let reading = values::reading(verdicts, &group_item(at))?;
        let Verdict::CitedClaims(claims) = &reading.verdict else {
            return Err(UnscoredReason::other_kind());
        };
        counts.add(group, claims, profile);
    }
    Ok(counts)
}

/// The score of these credits and other metrics: each ingredient with its weight in the mean of the four metrics, and the
/// metrics. The recall has no weight, since its ingredients have it.
pub(super) fn score(
    scorer: &CriteriaScorer,
    case: &TestCase,
    credits: Vec<CriterionCredit>,
    others: OtherMetrics,
) -> Score {
    let shares =
        ingredient_shares(&case.criteria, scorer.mode).unwrap_or_else(|| vec![0.0; credits.len()]);
    let mut metrics = [
        recall(&shares, &credits),
        others.answer_precision,
        others.citation_precision,
        others.citation_recall,
    ];
    if scorer.mode == Mode::Compat {
        metrics = all_or_none(metrics);
    }
    let value = mean(&metrics);
    let mut components = Vec::with_capacity(credits.len() + metrics.len());
    for ((criterion, share), credit) in case.criteria.iter().zip(shares).zip(credits) {
        components.push(credit::component(
            criterion,
            METRIC_WEIGHTS[0] * share,
            credit,
        ));
    }
    for (at, metric) in metrics.into_iter().enumerate() {
        let weight = if at == 0 { 0.0 } else { METRIC_WEIGHTS[at] };
        let component = Component::new(REPORT_METRICS[at], ComponentKind::Share);
        components.push(
            component
                .with_weight(weight)
                .with(metric.map(|value| (value, None))),
        );
    }
    Score {
        scorer: CRITERIA.score_id(scorer.is_baseline),
        value,
        components,
        ..Score::default()
    }
}

/// The recall of the ingredients, if each has a credit.
fn recall(shares: &[f64], credits: &[CriterionCredit]) -> Metric {
    let mut known = Vec::with_capacity(credits.len());
    for credit in credits {
        match credit {
            Ok(credit) => known.push(credit.share),
            Err(reason) => return Err(reason.clone()),
        }
    }
    Ok(ingredient_recall(shares, &known))
}

/// The reference leaves an answer out of all means if it cannot compute one of the metrics.
fn all_or_none(metrics: [Metric; 4]) -> [Metric; 4] {
    let reason = metrics.iter().find_map(|metric| metric.as_ref().err());
    match reason.cloned() {
        Some(reason) => std::array::from_fn(|_| Err(reason.clone())),
        None => metrics,
    }
}

/// The mean of the four metrics, if each has a value.
fn mean(metrics: &[Metric; 4]) -> Option<f64> {
    let [recall, precision, citation_precision, citation_recall] = metrics
        .each_ref()
        .map(|metric| metric.as_ref().ok().copied());
    let known = [recall?, precision?, citation_precision?, citation_recall?];
    Some(global_average(known, METRIC_WEIGHTS))
}
