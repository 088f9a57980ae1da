//! Scored answers to a summary of systems.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::questions::{Questions, Sample};
use super::{AnswerId, Bounds, Metric, Metrics, NoteCount, ReasonCount, SteeringEntry, Summary, SystemRow};
use crate::domain::{CaseId, ComponentKind, Mode, ScoredAnswer, SystemName, UnscoredKind};
use crate::stats::{BcaOptions, mean};

/// What to do with a component that has no value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnUnscored {
    /// Leave the answer out of the mean of the score.
    #[default]
    Exclude,
    /// Count the component as 0.
    Zero,
}

/// How answers are summed up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AggregateOptions {
    /// The mode that the scores were made in.
    pub mode: Mode,
    /// What to do with components without a value.
    pub on_unscored: OnUnscored,
    /// Seeds the intervals.
    pub seed: u64,
    /// True if the lexical baseline judged.
    pub lexical: bool,
}

/// Sums up a run: one row a system, best first.
///
/// A metric is the mean over the system's own answers; the rank is by the mean score over the cases that are scored
/// for all systems (a system without any score is left out of that comparison and comes last). `missing` names the
/// cases that a system has no answer for. The order of the answers does not matter.
pub fn summarize<A: Borrow<ScoredAnswer>>(
    scored: &[A],
    missing: &[(SystemName, CaseId)],
    options: AggregateOptions,
) -> Summary {
    let questions = Questions::of(scored.iter().map(Borrow::borrow));
    summarize_over(scored, missing, &questions, options)
}

/// [`summarize`] where more is known of the questions than these answers tell.
pub(super) fn summarize_over<A: Borrow<ScoredAnswer>>(
    scored: &[A],
    missing: &[(SystemName, CaseId)],
    questions: &Questions<'_>,
    options: AggregateOptions,
) -> Summary {
    let bca = BcaOptions::seeded(options.seed);
    let systems = by_system(scored, missing);
    let row = |(name, answers): (&&SystemName, &Vec<&ScoredAnswer>)| SystemRow {
        metrics: metrics(answers, questions, options),
        ..row(name, answers, missing, options)
    };
    let mut rows: Vec<SystemRow> = systems.iter().map(row).collect();
    let shared = shared_cases(&systems, options);
    rank(&mut rows, &systems, &shared, options);
    let own_means: Vec<f64> = rows.iter().filter_map(|row| row.metrics.score.estimate).collect();
    let mut missing: Vec<AnswerId> =
        missing.iter().map(|(system, case)| AnswerId { system: system.clone(), case_id: case.clone() }).collect();
    missing.sort();
    Summary {
        mode: options.mode,
        on_unscored: options.on_unscored,
        lexical: options.lexical,
        level: bca.level,
        resamples: bca.resamples,
        seed: options.seed,
        cases: questions.counts().0,
        questions: questions.counts().1,
        answers: scored.len(),
        unscored: rows.iter().map(|row| row.unscored).sum(),
        shared_cases: shared.len(),
        rank_differs_from_means: own_means.windows(2).any(|pair| pair[0] < pair[1] - 1e-12),
        rows,
        missing,
        steering: steering(&systems),
        notes: count_notes(systems.values().flatten().copied()),
    }
}

type BySystem<'a> = BTreeMap<&'a SystemName, Vec<&'a ScoredAnswer>>;

/// Answers by system, in the order of their cases: intervals must not depend on which reply came first.
fn by_system<'a, A: Borrow<ScoredAnswer>>(scored: &'a [A], missing: &'a [(SystemName, CaseId)]) -> BySystem<'a> {
    let mut systems: BySystem<'a> = missing.iter().map(|(system, _)| (system, Vec::new())).collect();
    for answer in scored.iter().map(Borrow::borrow) {
        systems.entry(&answer.system).or_default().push(answer);
    }
    for answers in systems.values_mut() {
        answers.sort_by(|a, b| a.case.case_id.cmp(&b.case.case_id));
    }
    systems
}

/// `(score, ann_score)` of an answer under the policy. A NaN (which compat mode lets pass) has no mean: it is left
/// out, and [`is_unscored`] counts it.
fn values_of(answer: &ScoredAnswer, options: AggregateOptions) -> (Option<f64>, Option<f64>) {
    let score = &answer.score;
    match options.on_unscored {
        OnUnscored::Exclude => (finite(score.value), finite(score.ann_score)),
        OnUnscored::Zero => {
            let (value, ann_score) = score.filled(0.0);
            (finite(score.value.or(Some(value))), finite(score.ann_score.or(ann_score)))
        }
    }
}

fn row(
    system: &SystemName,
    answers: &[&ScoredAnswer],
    missing: &[(SystemName, CaseId)],
    options: AggregateOptions,
) -> SystemRow {
    let missing = missing.iter().filter(|(name, _)| name == system).count();
    SystemRow {
        system: system.clone(),
        rank: None,
        shared_mean: None,
        lexical: options.lexical,
        metrics: Metrics::default(),
        cases_scored: answers.iter().filter(|answer| values_of(answer, options).0.is_some()).count(),
        cases_kept: answers.len() + missing,
        missing,
        unscored: answers.iter().filter(|answer| is_unscored(answer)).count(),
        unscored_reasons: count_reasons(answers),
        bounds: bounds(answers),
        steering: answers.iter().filter(|answer| !answer.steering.is_empty()).count(),
    }
}

/// A number that can be averaged.
fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite())
}

fn is_unscored(answer: &ScoredAnswer) -> bool {
    finite(answer.score.value).is_none() || !answer.score.is_complete()
}

/// True if the answer has annotated components, but not the value of all of them.
fn lacks_ann_score(answer: &ScoredAnswer) -> bool {
    answer.score.ann_score.is_none() && answer.score.components.iter().any(|component| component.kind.is_annotated())
}

fn metrics(answers: &[&ScoredAnswer], questions: &Questions<'_>, options: AggregateOptions) -> Metrics {
    let bca = BcaOptions::seeded(options.seed);
    let number = |answer: &ScoredAnswer| questions.number(&answer.case.case_id);
    let pairs: Vec<_> = answers.iter().map(|answer| (number(answer), values_of(answer, options))).collect();
    let scores: Sample = pairs.iter().filter_map(|(question, pair)| Some((*question, pair.0?))).collect();
    let ann_scores: Sample = pairs.iter().filter_map(|(question, pair)| Some((*question, pair.1?))).collect();
    let of_kind = |kind: ComponentKind| {
        let found: Vec<(usize, Option<f64>)> = answers
            .iter()
            .flat_map(|answer| answer.score.components.iter().map(|component| (number(answer), component)))
            .filter(|(_, component)| component.kind == kind)
            .map(|(question, component)| (question, finite(component.value)))
            .collect();
        let fill = (options.on_unscored == OnUnscored::Zero).then_some(0.0);
        let values: Sample = found.iter().filter_map(|(question, value)| Some((*question, value.or(fill)?))).collect();
        (values, found.iter().filter(|(_, value)| value.is_none()).count())
    };
    let unscored = answers.iter().filter(|answer| finite(answer.score.value).is_none()).count();
    let without_ann_score = answers.iter().filter(|answer| lacks_ann_score(answer)).count();
    let [score, ann_score, length, expertise, citations, excerpts] = Metric::of_each(
        [
            (scores, unscored),
            (ann_scores, without_ann_score),
            of_kind(ComponentKind::Length),
            of_kind(ComponentKind::Expertise),
            of_kind(ComponentKind::Citations),
            of_kind(ComponentKind::Excerpts),
        ],
        bca,
    );
    Metrics { score, ann_score, length, expertise, citations, excerpts }
}

/// Why components have no value, by kind, most frequent first.
pub(super) fn count_reasons(answers: &[&ScoredAnswer]) -> Vec<ReasonCount> {
    let mut counts: BTreeMap<UnscoredKind, ReasonCount> = BTreeMap::new();
    for answer in answers {
        let mut seen = BTreeSet::new();
        for reason in answer.score.components.iter().filter_map(|component| component.reason.as_ref()) {
            let count = counts.entry(reason.kind).or_insert_with(|| ReasonCount {
                kind: reason.kind,
                components: 0,
                answers: 0,
                example: reason.message.clone(),
            });
            count.components += 1;
            count.answers += usize::from(seen.insert(reason.kind));
        }
    }
    let mut counts: Vec<ReasonCount> = counts.into_values().collect();
    counts.sort_by_key(|count| std::cmp::Reverse(count.components));
    counts
}

fn bounds(answers: &[&ScoredAnswer]) -> Option<Bounds> {
    if !answers.iter().any(|answer| is_unscored(answer)) {
        return None;
    }
    let means = |fill: f64| {
        let filled = answers.iter().map(|answer| (&answer.score, answer.score.filled(fill)));
        let (scores, ann_scores): (Vec<f64>, Vec<Option<f64>>) =
            filled.map(|(score, (all, annotated))| (score.value.unwrap_or(all), score.ann_score.or(annotated))).unzip();
        // Weights sum to 1 within rounding: a bound of all ones is 1.
        let tidy = |value: f64| if (value - 1.0).abs() < 1e-12 { 1.0 } else { value };
        let ann_scores: Vec<f64> = ann_scores.into_iter().flatten().collect();
        Some((tidy(mean(&scores)?), mean(&ann_scores).map(tidy)))
    };
    let ((score_low, ann_score_low), (score_high, ann_score_high)) = (means(0.0)?, means(1.0)?);
    Some(Bounds { score_low, score_high, ann_score_low, ann_score_high })
}

/// The cases that every system with a score has a score for.
fn shared_cases<'a>(systems: &BySystem<'a>, options: AggregateOptions) -> BTreeSet<&'a CaseId> {
    systems
        .values()
        .map(|answers| {
            let scored = answers.iter().filter(|answer| values_of(answer, options).0.is_some());
            scored.map(|answer| &answer.case.case_id).collect::<BTreeSet<_>>()
        })
        .filter(|cases| !cases.is_empty())
        .reduce(|shared, cases| shared.intersection(&cases).copied().collect())
        .unwrap_or_default()
}

/// Orders the rows and numbers them. Without a shared case there is nothing to rank by: the rows are then ordered by
/// their own means and have no rank.
fn rank(rows: &mut [SystemRow], systems: &BySystem<'_>, shared: &BTreeSet<&CaseId>, options: AggregateOptions) {
    for row in rows.iter_mut() {
        let answers = systems.get(&row.system).map_or(&[][..], Vec::as_slice);
        let values: Vec<f64> = answers
            .iter()
            .filter(|answer| shared.contains(&answer.case.case_id))
            .filter_map(|answer| values_of(answer, options).0)
            .collect();
        row.shared_mean = mean(&values);
    }
    let key = |row: &SystemRow| row.shared_mean.or(row.metrics.score.estimate).unwrap_or(f64::NEG_INFINITY);
    rows.sort_by(|a, b| key(b).total_cmp(&key(a)).then_with(|| a.system.cmp(&b.system)));
    let means: Vec<Option<f64>> = rows.iter().map(|row| row.shared_mean).collect();
    for row in rows {
        row.rank = row.shared_mean.map(|own| 1 + means.iter().flatten().filter(|mean| **mean > own + 1e-12).count());
    }
}

fn steering(systems: &BySystem<'_>) -> Vec<SteeringEntry> {
    let suspects = systems.values().flatten().filter(|answer| !answer.steering.is_empty());
    let entry = |answer: &&ScoredAnswer| SteeringEntry {
        system: answer.system.clone(),
        case_id: answer.case.case_id.clone(),
        signs: answer.steering.clone(),
    };
    suspects.map(entry).collect()
}

/// What scores say about how they came about, most frequent first.
pub(super) fn count_notes<'a>(answers: impl Iterator<Item = &'a ScoredAnswer>) -> Vec<NoteCount> {
    let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
    for answer in answers {
        for note in answer.score.notes.iter().collect::<BTreeSet<_>>() {
            *counts.entry(note).or_default() += 1;
        }
    }
    let mut notes: Vec<NoteCount> =
        counts.into_iter().map(|(note, answers)| NoteCount { note: note.clone(), answers }).collect();
    notes.sort_by_key(|count| std::cmp::Reverse(count.answers));
    notes
}
