//! Summarizes scored answers: the mean of every metric by scorer and system.
//!
//! The numbers are those of the observations that comparisons use, over all answers of each system; what is counted otherwise
//! (reasons, notes, signs of prompt injection) comes from the answers themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::comparison::{
    CaseOrder, ComparisonOptions, MetricId, MetricTable, Observations, RunAnswers, SetTable,
    SharedCases, tabulate,
};
use super::panel::panel_agreement;
use super::quantity::{column, distinct, finite};
use super::questions::Questions;
use super::summary::{
    AggregateOptions, AnswerId, Injection, Metric, NoteCount, ReasonCount, ScorerSummary,
    SharedMean, Summary, SystemSummary,
};
use scholareval_core::domain::{
    CaseId, Mode, ScoredAnswer, ScorerId, SupportCounts, SystemName, Unit, UnscoredKind,
};
use scholareval_scorers::criteria::CRITERIA;
use scholareval_scorers::pages::{EFFECTIVE, PAGES};
use scholareval_scorers::rubric::RUBRIC;
use scholareval_stats::{BootstrapOptions, Interval, clipped_mean_sd, ratio};

/// Summarizes a run.
///
/// Every mean is over all answers of the system. Systems are ranked by the mean rubric score over the cases scored for all
/// of them (a system without any score is ignored and comes last); without a rubric they keep the order of their first
/// answer. `missing` lists test cases without an answer. The order of answers changes no number.
pub fn summarize(
    scored: &[Arc<ScoredAnswer>],
    missing: &[(SystemName, CaseId)],
    options: AggregateOptions,
) -> Summary {
    let all = || scored.iter().map(|answer| &**answer);
    let rubric = rubric_of(all(), missing);
    let of_answers = all().map(|answer| &answer.score.scorer);
    let scorers = distinct(rubric.iter().chain(of_answers));
    let view = RunView::of(scored, missing, &scorers, options);
    let ranking = view.ranking(rubric.as_ref());
    let mut summaries = Vec::new();
    for scorer in scorers {
        let is_rubric = Some(scorer) == rubric.as_ref();
        let rows = view.rows(scorer, &ranking, is_rubric);
        summaries.push(view.summarize_scorer(scorer, &rows));
    }
    let statistics = BootstrapOptions::seeded(options.seed);
    let questions = Questions::of(all());
    let (panels, noise) = panel_agreement(scored, &questions, statistics.level);
    let (cases, questions) = questions.counts();
    Summary {
        mode: options.mode,
        on_unscored: options.on_unscored,
        level: statistics.level,
        resamples: statistics.resamples,
        seed: options.seed,
        cases,
        questions,
        unscored_share: summaries.iter().map(unscored_share).fold(0.0, f64::max),
        missing: distinct_ids(missing),
        injections: injections(all()),
        scorers: summaries,
        panels,
        noise,
    }
}

/// The scorer whose scores are weighted sums: the rubric, whose answers are the ones that are missing.
fn rubric_of<'a>(
    mut all: impl Iterator<Item = &'a ScoredAnswer>,
    missing: &[(SystemName, CaseId)],
) -> Option<ScorerId> {
    if let Some(answer) = all.find(|answer| answer.score.is_weighted_sum()) {
        return Some(answer.score.scorer.clone());
    }
    // If no answer was found for any case, the rubric is known all the same.
    (!missing.is_empty()).then(|| RUBRIC.name.into())
}

/// The number of test cases without an answer of this system.
fn count_missing(missing: &[(SystemName, CaseId)], system: &SystemName) -> usize {
    missing.iter().filter(|(other, _)| other == system).count()
}

/// The missing answers, each once, by system and case.
fn distinct_ids(missing: &[(SystemName, CaseId)]) -> Vec<AnswerId> {
    let mut ids = BTreeSet::new();
    for (system, case_id) in missing {
        ids.insert(AnswerId {
            system: system.clone(),
            case_id: case_id.clone(),
        });
    }
    ids.into_iter().collect()
}

/// The share of a scorer's answers that are unscored.
fn unscored_share(scorer: &ScorerSummary) -> f64 {
    let unscored: usize = scorer.rows.iter().map(|row| row.unscored).sum();
    let answers: usize = scorer.rows.iter().map(|row| row.answers).sum();
    ratio(unscored as f64, answers as f64)
}

/// A system with its answers to one scorer.
struct ScoredSystem<'a> {
    /// Its index in the observations.
    system: usize,
    answers: Vec<&'a ScoredAnswer>,
    missing: usize,
    rank: Option<usize>,
}

impl ScoredSystem<'_> {
    /// The system with what is counted in its answers, and these metrics.
    fn row(&self, system: &SystemName, metrics: BTreeMap<String, Metric>) -> SystemSummary {
        let answers = &self.answers;
        let unscored = answers.iter().filter(|answer| is_unscored(answer));
        let injections = answers.iter().filter(|answer| !answer.injection.is_empty());
        SystemSummary {
            system: system.clone(),
            rank: self.rank,
            answers: answers.len(),
            missing: self.missing,
            unscored: unscored.count(),
            unscored_reasons: count_reasons(answers),
            injections: injections.count(),
            metrics,
        }
    }
}

/// A system of the observations, by its index, with its rank.
type RankedSystem = (usize, Option<usize>);

/// A run with its observations.
struct RunView<'a> {
    /// By system, then by case id.
    scored: Vec<Arc<ScoredAnswer>>,
    missing: &'a [(SystemName, CaseId)],
    observations: Observations,
    cases: CaseOrder,
    sets: Vec<SetTable>,
    options: AggregateOptions,
    statistics: ComparisonOptions,
}

impl<'a> RunView<'a> {
    fn of(
        scored: &[Arc<ScoredAnswer>],
        missing: &'a [(SystemName, CaseId)],
        scorers: &[&ScorerId],
        options: AggregateOptions,
    ) -> Self {
        let systems = distinct(scored.iter().map(|answer| &answer.system));
        let mut sorted = scored.to_vec();
        // Columns and examples of reasons are in the order of their first answers.
        sorted.sort_by_cached_key(|answer| {
            let system = systems.iter().position(|system| **system == answer.system);
            (system, answer.case.case_id.clone())
        });
        let run = RunAnswers {
            scored: &sorted,
            unanswered: Some(missing.iter().cloned().collect()),
            on_unscored: options.on_unscored,
            ..RunAnswers::default()
        };
        let (observations, sets) = tabulate(&[run], scorers);
        Self {
            missing,
            cases: observations.case_order(),
            observations,
            sets,
            options,
            statistics: ComparisonOptions::seeded(options.seed),
            scored: sorted,
        }
    }

    /// The systems of the observations by their rank by the rubric score; without a rubric in their order.
    fn ranking(&self, rubric: Option<&ScorerId>) -> Vec<RankedSystem> {
        let score = rubric.and_then(|rubric| self.tables(rubric).next());
        let Some(score) = score else {
            let systems = 0..self.observations.systems.len();
            return systems.map(|system| (system, None)).collect();
        };
        let shared = SharedCases::of(&self.observations, score, &self.statistics);
        let ranks = shared.ranks();
        shared.order.into_iter().zip(ranks).collect()
    }

    /// The tables of a scorer; the first of a rubric is that of its score.
    fn tables(&self, scorer: &ScorerId) -> impl Iterator<Item = &MetricTable> {
        let tables = self.observations.metrics.iter();
        tables.filter(move |table| table.metric.scorer == *scorer)
    }

    /// The systems that a scorer has answers of. Only the rubric's scores have ranks, and count missing answers, so that each counts
    /// once.
    fn rows(
        &self,
        scorer: &ScorerId,
        ranking: &[RankedSystem],
        is_rubric: bool,
    ) -> Vec<ScoredSystem<'_>> {
        let missing = if is_rubric { self.missing } else { &[] };
        let mut rows = Vec::new();
        for (system, rank) in ranking {
            let name = &self.observations.systems[*system].system;
            let mut answers = Vec::new();
            for answer in &self.scored {
                if answer.system == *name && answer.score.scorer == *scorer {
                    answers.push(&**answer);
                }
            }
            let row = ScoredSystem {
                system: *system,
                answers,
                missing: count_missing(missing, name),
                rank: rank.filter(|_| is_rubric),
            };
            if !row.answers.is_empty() || row.missing > 0 {
                rows.push(row);
            }
        }
        rows
    }

    fn summarize_scorer(&self, scorer: &ScorerId, systems: &[ScoredSystem<'_>]) -> ScorerSummary {
        let metrics = self.metrics(scorer);
        let mut rows = Vec::new();
        for system in systems {
            let name = &self.observations.systems[system.system].system;
            let mut by_name = BTreeMap::new();
            for (id, by_system) in &metrics {
                let mut metric = by_system[system.system];
                if scorer.name() == PAGES.name && id.name == EFFECTIVE {
                    metric.bounds = effective_bounds(&system.answers);
                }
                by_name.insert(id.name.clone(), metric);
            }
            rows.push(system.row(name, by_name));
        }
        let answers = systems.iter().flat_map(|system| &system.answers);
        let columns = metrics.iter().map(|(id, _)| column(&id.name, id.unit));
        ScorerSummary {
            scorer: scorer.clone(),
            columns: columns.collect(),
            rows,
            notes: count_notes(answers.copied()),
        }
    }

    /// The metrics of a scorer by system of the observations. A number of each system's whole set of answers is before the mean
    /// of single answers that is tested for it, or in its place if both have one name.
    fn metrics(&self, scorer: &ScorerId) -> Vec<(&MetricId, Vec<Metric>)> {
        let mut metrics = Vec::new();
        for table in self.tables(scorer) {
            metrics.push((&table.metric, self.means(table)));
        }
        for set in self.sets.iter().filter(|set| set.metric.scorer == *scorer) {
            let tested = metrics.iter().position(|(id, _)| set.is_tested_by(id));
            let place = tested.unwrap_or(metrics.len());
            let number = (&set.metric, self.set_numbers(set));
            if metrics.get(place).is_some_and(|(id, _)| **id == set.metric) {
                metrics[place] = number;
            } else {
                metrics.insert(place, number);
            }
        }
        metrics
    }

    /// The mean of each system over all its answers, and over the shared cases.
    ///
    /// The mean of a net score may lie outside 0 to 1. If this run clips means, the clipped one is the estimate, and its
    /// interval is clipped as well; otherwise it is reported next to the estimate.
    fn means(&self, table: &MetricTable) -> Vec<Metric> {
        let scorer = table.metric.scorer.name();
        let is_compat = self.options.mode == Mode::Compat;
        let clips = self.options.clip && is_compat && scorer == CRITERIA.name;
        let shared = SharedCases::of(&self.observations, table, &self.statistics);
        let mut metrics = vec![Metric::default(); shared.order.len()];
        for (rank, system) in shared.order.iter().enumerate() {
            let mut metric = shared.metric(rank);
            metric.interval = shared.interval(rank, &shared.by_id);
            metric.shared = shared.mean(rank).map(|estimate| SharedMean {
                estimate,
                n: shared.cases.len(),
            });
            let is_net = table.metric.unit == Unit::Net;
            let mean = metric
                .estimate
                .filter(|mean| is_net && !(0.0..=1.0).contains(mean));
            let clipped = mean.map(|mean| mean.clamp(0.0, 1.0));
            if clips {
                let values = table.values_over(*system, &shared.by_id);
                let interval = metric.interval;
                metric.estimate = clipped.or(metric.estimate);
                metric.interval = interval.map(|ends| ends.map(|end| end.clamp(0.0, 1.0)));
                metric.bootstrap_sd = clipped_mean_sd(&values, self.options.seed);
            } else {
                metric.clipped = clipped;
            }
            metrics[*system] = metric;
        }
        metrics
    }

    /// The number of each system's whole set of answers.
    fn set_numbers(&self, set: &SetTable) -> Vec<Metric> {
        let cases = (&*self.cases.by_id, &*self.cases.question_of);
        let statistics = BootstrapOptions::seeded(self.options.seed);
        let mut metrics = Vec::new();
        for system in 0..self.observations.systems.len() {
            let mut metric = set.measure(system, &[], cases, statistics);
            if self.options.mode == Mode::Compat && set.lacks_part(system) {
                // An aspect without any grade makes the reference's average NaN.
                (metric.estimate, metric.interval) = (None, None);
            }
            metrics.push(metric);
        }
        metrics
    }
}

/// The mean number of effective citations with every open pair unsupported, and with every one supported; `None` if no pair
/// is open. Without these bounds a count is unbounded.
fn effective_bounds(answers: &[&ScoredAnswer]) -> Option<Interval> {
    let mut sums = SupportCounts::default();
    let mut scored = 0;
    for answer in answers {
        // In compat mode a report without citations has no number and is in no mean.
        let is_counted = answer.score.component(EFFECTIVE).is_some();
        if !is_counted || !answer.score.is_complete() {
            continue;
        }
        sums += SupportCounts::of(&answer.score.pages);
        scored += 1;
    }
    let low = sums.supported as f64 / f64::from(scored);
    let high = (sums.supported + sums.open) as f64 / f64::from(scored);
    (sums.open > 0).then_some(Interval { low, high })
}

fn is_unscored(answer: &ScoredAnswer) -> bool {
    let score = &answer.score;
    !score.is_complete() || (score.is_weighted_sum() && finite(score.value).is_none())
}

/// Reasons for unscored components, by kind, most frequent first.
fn count_reasons(answers: &[&ScoredAnswer]) -> Vec<ReasonCount> {
    let mut counts: BTreeMap<UnscoredKind, ReasonCount> = BTreeMap::new();
    for answer in answers {
        let mut seen = BTreeSet::new();
        let components = answer.score.components.iter();
        for reason in components.flat_map(|component| &component.reason) {
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

/// The notes of scores, most frequent first.
fn count_notes<'a>(answers: impl Iterator<Item = &'a ScoredAnswer>) -> Vec<NoteCount> {
    let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
    for answer in answers {
        for note in answer.score.notes.iter().collect::<BTreeSet<_>>() {
            *counts.entry(note).or_default() += 1;
        }
    }
    let mut notes = Vec::new();
    for (note, answers) in counts {
        notes.push(NoteCount {
            note: note.clone(),
            answers,
        });
    }
    notes.sort_by_key(|count| std::cmp::Reverse(count.answers));
    notes
}

/// Answers with signs of prompt injection, once for all scorers, by system and case.
fn injections<'a>(answers: impl Iterator<Item = &'a ScoredAnswer>) -> Vec<Injection> {
    let mut by_answer: BTreeMap<(&SystemName, &CaseId), &[String]> = BTreeMap::new();
    for answer in answers {
        if !answer.injection.is_empty() {
            by_answer.insert((&answer.system, &answer.case.case_id), &answer.injection);
        }
    }
    let mut injections = Vec::new();
    for ((system, case_id), signs) in by_answer {
        injections.push(Injection {
            system: system.clone(),
            case_id: case_id.clone(),
            signs: signs.to_vec(),
        });
    }
    injections
}

#[cfg(test)]
mod tests;
