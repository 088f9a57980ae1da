//! The score of a report (ScholarQA-CS2): the mean of four metrics, one of which is the recall of its criteria, called
//! ingredients.
//!
//! Besides the ingredients, a judge is asked about irrelevant paragraphs, and about the citations of each section. The
//! formulas are in [`report_metrics`](crate::report_metrics).

use std::borrow::Cow;
use std::sync::Arc;

use crate::report_metrics::{
    CitationCounts, METRIC_WEIGHTS, answer_precision, global_average, ingredient_recall,
    ingredient_shares,
};
use crate::{Subject, Verdicts, values};
use scholareval_core::domain::{
    Answer, Component, ComponentKind, Mode, REPORT_METRICS, Report, ReportFault, Role,
    RubricProfile, Score, TestCase, UnscoredKind, UnscoredReason, Verdict,
};
use scholareval_core::question::{IrrelevantParagraphs, JudgeCall, SectionCitations};

use super::aggregation::Aggregation;
use super::credit::{self, Credit, CriterionCredit, missing};
use super::{CRITERIA, CriteriaScorer};

/// Item of the call about irrelevant paragraphs; not the component's, since samples are numbers of texts.
const PRECISION: &str = "irrelevant_paragraphs";

/// The value of a metric, or why it is missing.
type Metric = Result<f64, UnscoredReason>;

/// The mean of a report's metrics.
#[derive(Debug)]
pub(super) struct ReportMean;

impl Aggregation for ReportMean {
    /// A completion that does not contain a report has 0 in every metric.
    fn score_without_judge(&self, scorer: &CriteriaScorer, subject: &Subject<'_>) -> Option<Score> {
        let case = subject.case;
        let reason = match &report_of(subject.answer).fault {
            Some(ReportFault::Nothing(what)) => {
                let credits = vec![Ok(Credit::ZERO); case.criteria.len()];
                let mut score = score(scorer, case, credits, OtherMetrics::all(Ok(0.0)));
                score.notes.push(format!("{what}: 0"));
                return Some(score);
            }
            Some(ReportFault::Dropped(what)) => UnscoredReason::new(UnscoredKind::Exception, what),
            None if ingredient_shares(&case.criteria, scorer.mode).is_none() => {
                let what = "the weights of the ingredients sum to 0";
                UnscoredReason::new(UnscoredKind::NotAsked, what)
            }
            None => return None,
        };
        Some(self.unscored(scorer, case, &reason))
    }

    /// One call about irrelevant paragraphs, and one for each group that has citations.
    fn calls(&self, subject: &Subject<'_>) -> Vec<JudgeCall> {
        let precision = IrrelevantParagraphs {
            question: Arc::clone(&subject.case.rubric.question),
            answer: Arc::clone(&subject.answer.answer_text),
        };
        let mut calls = vec![JudgeCall::new(PRECISION, Role::Criteria, precision)];
        for (at, group) in report_of(subject.answer).groups.iter().enumerate() {
            // Nothing to ask: its sentences count as claims without support.
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

    fn score(
        &self,
        scorer: &CriteriaScorer,
        subject: &Subject<'_>,
        credits: Vec<CriterionCredit>,
        verdicts: &Verdicts,
    ) -> Score {
        let others = OtherMetrics::of(subject.answer, verdicts, &scorer.profile);
        score(scorer, subject.case, credits, others)
    }

    fn unscored(&self, scorer: &CriteriaScorer, case: &TestCase, reason: &UnscoredReason) -> Score {
        let others = OtherMetrics::all(Err(reason.clone()));
        score(scorer, case, missing(case, reason), others)
    }
}

/// The report of an answer; a plain text is one section without citations.
fn report_of(answer: &Answer) -> Cow<'_, Report> {
    match &answer.report {
        Some(report) => Cow::Borrowed(report),
        None => Cow::Owned(Report::of_text(&answer.answer_text, None)),
    }
}

fn group_item(at: usize) -> String {
    format!("citation_group_{}", at + 1)
}

/// The metrics other than the recall of ingredients.
#[derive(Debug, Clone)]
struct OtherMetrics {
    answer_precision: Metric,
    citation_precision: Metric,
    citation_recall: Metric,
}

impl OtherMetrics {
    fn of(answer: &Answer, verdicts: &Verdicts, profile: &RubricProfile) -> Self {
        let answer_precision = precision(answer, verdicts);
        match citations(&report_of(answer), verdicts, profile) {
            Ok(counts) => Self {
                answer_precision,
                citation_precision: Ok(counts.precision()),
                citation_recall: Ok(counts.recall()),
            },
            Err(reason) => Self {
                answer_precision,
                citation_precision: Err(reason.clone()),
                citation_recall: Err(reason),
            },
        }
    }

    /// The same for all of them.
    fn all(metric: Metric) -> Self {
        Self {
            answer_precision: metric.clone(),
            citation_precision: metric.clone(),
            citation_recall: metric,
        }
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
fn score(
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
