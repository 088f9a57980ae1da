//! Summarizes scored answers: the mean of every metric by scorer and system.
//!
//! If a metric applies to an answer, it has a value or is unscored. This holds for the rubric's scores and for
//! components of any scorer alike, so all means, bounds and intervals are computed the same way.

mod page_support;

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

use super::panel::panel_agreement;
use super::quantity::{
    MeanValues, MetricColumn, Observation, Quantity, bounds, column, distinct, finite, quantities,
};
use super::questions::Questions;
use super::set_number::{SetAnswer, SetNumber};
use super::summary::{
    AggregateOptions, AnswerId, Injection, Metric, NoteCount, ReasonCount, ScorerSummary,
    SharedMean, Summary, SystemSummary,
};
use scholareval_core::domain::{
    CaseId, Mode, ScoredAnswer, ScorerId, SystemName, Unit, UnscoredKind,
};
use scholareval_scorers::criteria::CRITERIA;
use scholareval_scorers::rubric::RUBRIC;
use scholareval_stats::{BootstrapOptions, clipped_mean_sd, mean, ratio};

/// Summarizes a run.
///
/// Every mean is over all answers of the system. Systems are ranked by the mean rubric score over the cases scored for all
/// of them (a system without any score is ignored and comes last); without a rubric they keep the order of their first
/// answer. `missing` lists test cases without an answer. The order of answers changes no number.
pub fn summarize<A: Borrow<ScoredAnswer>>(
    scored: &[A],
    missing: &[(SystemName, CaseId)],
    options: AggregateOptions,
) -> Summary {
    let all = || scored.iter().map(Borrow::borrow);
    let questions = Questions::of(all());
    let rubric = rubric_of(all(), missing);
    let names = distinct(
        rubric
            .iter()
            .chain(all().map(|answer| &answer.score.scorer)),
    );
    let mut order = distinct(
        all()
            .map(|answer| &answer.system)
            .chain(missing.iter().map(|(system, _)| system)),
    );
    let mut scorers = Vec::new();
    for scorer in names {
        let is_rubric = Some(scorer) == rubric.as_ref();
        // Only the rubric's scores count missing answers, so that each counts once.
        let missing = if is_rubric { missing } else { &[] };
        let mut systems = Vec::new();
        for system in &order {
            let answers: Vec<&ScoredAnswer> = all()
                .filter(|answer| answer.score.scorer == *scorer && answer.system == **system)
                .collect();
            if !answers.is_empty() || count_missing(missing, system) > 0 {
                systems.push((*system, answers));
            }
        }
        let mut summary = summarize_scorer(scorer, systems, &questions, options);
        if is_rubric {
            count_and_rank(&mut summary, missing);
            // The other scorers list the systems by rank; those without a row come last.
            order.sort_by_key(|system| {
                let place = summary.rows.iter().position(|row| row.system == **system);
                place.unwrap_or(usize::MAX)
            });
        }
        scorers.push(summary);
    }
    let bca = BootstrapOptions::seeded(options.seed);
    let (panels, noise) = panel_agreement(scored, &questions, bca.level);
    let (cases, questions) = questions.counts();
    Summary {
        mode: options.mode,
        on_unscored: options.on_unscored,
        level: bca.level,
        resamples: bca.resamples,
        seed: options.seed,
        cases,
        questions,
        unscored_share: scorers.iter().map(unscored_share).fold(0.0, f64::max),
        missing: distinct_ids(missing),
        injections: injections(all()),
        scorers,
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

/// Counts the missing answers of each system, and ranks the systems by the score, which is the first column.
fn count_and_rank(summary: &mut ScorerSummary, missing: &[(SystemName, CaseId)]) {
    for row in &mut summary.rows {
        row.missing = count_missing(missing, &row.system);
    }
    let score = match summary.columns.first() {
        Some(column) => column.name.clone(),
        None => String::new(),
    };
    rank(&mut summary.rows, &score);
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
type ScoredSystem<'a> = (&'a SystemName, Vec<&'a ScoredAnswer>);

/// One scorer's answers, with the data for their statistics.
struct ScorerAnswers<'a> {
    systems: Vec<ScoredSystem<'a>>,
    questions: &'a Questions<'a>,
    options: AggregateOptions,
}

fn summarize_scorer(
    scorer: &ScorerId,
    mut systems: Vec<ScoredSystem<'_>>,
    questions: &Questions<'_>,
    options: AggregateOptions,
) -> ScorerSummary {
    // Sorted by case id, since a seed's draws depend on the order, as in comparisons.
    for (_, answers) in &mut systems {
        answers.sort_by(|a, b| a.case.case_id.cmp(&b.case.case_id));
    }
    let answers: Vec<&ScoredAnswer> = systems
        .iter()
        .flat_map(|(_, answers)| answers.iter().copied())
        .collect();
    let columns = quantities(&answers);
    let notes = count_notes(answers.into_iter());
    let clip = options.clip && options.mode == Mode::Compat && scorer.name() == CRITERIA.name;
    let options = AggregateOptions { clip, ..options };
    let scored = ScorerAnswers {
        systems,
        questions,
        options,
    };
    let rows = scored
        .systems
        .iter()
        .map(|(system, answers)| scored.row(system, answers, &columns))
        .collect();
    let mut summary = ScorerSummary {
        scorer: scorer.clone(),
        rows,
        columns: columns.iter().map(|(column, _)| column.clone()).collect(),
        notes,
    };
    scored.add_shared_means(&mut summary, &columns);
    scored.add_set_numbers(&mut summary);
    scored.bound_effective_citations(&mut summary);
    summary
}

impl<'a> ScorerAnswers<'a> {
    /// The value of an answer that counts in a mean.
    fn counted(&self, quantity: &Quantity, answer: &ScoredAnswer) -> Option<f64> {
        quantity
            .observe(answer)
            .by_policy(self.options.on_unscored)
            .value()
    }

    fn bootstrap(&self) -> BootstrapOptions {
        BootstrapOptions::seeded(self.options.seed)
    }

    fn question(&self, answer: &ScoredAnswer) -> usize {
        self.questions.number(&answer.case.case_id)
    }

    /// One system's numbers, one metric a column.
    fn row(
        &self,
        system: &SystemName,
        answers: &[&ScoredAnswer],
        columns: &[(MetricColumn, Quantity)],
    ) -> SystemSummary {
        SystemSummary {
            system: system.clone(),
            rank: None,
            answers: answers.len(),
            missing: 0,
            unscored: answers.iter().filter(|answer| is_unscored(answer)).count(),
            unscored_reasons: count_reasons(answers),
            injections: answers
                .iter()
                .filter(|answer| !answer.injection.is_empty())
                .count(),
            metrics: columns
                .iter()
                .map(|(column, quantity)| {
                    let metric = self.metric(answers, column.unit, quantity);
                    (column.name.clone(), metric)
                })
                .collect(),
        }
    }

    /// The mean of a quantity over a system's answers.
    ///
    /// The mean of a net score may lie outside 0 to 1. If this run clips means, the clipped one is the estimate, and its
    /// interval is clipped as well; otherwise it is reported next to the estimate.
    fn metric(&self, answers: &[&ScoredAnswer], unit: Unit, quantity: &Quantity) -> Metric {
        let mut counted = MeanValues::default();
        for answer in answers {
            if let Some(value) = self.counted(quantity, answer) {
                let net_range = quantity.net_range(unit, answer);
                counted.push(value, self.question(answer), net_range);
            }
        }
        let values = &counted.values;
        let observed: Vec<Observation> = answers
            .iter()
            .map(|answer| quantity.observe(answer))
            .collect();
        let estimate = mean(values);
        let clipped = estimate
            .filter(|mean| unit == Unit::Net && !(0.0..=1.0).contains(mean))
            .map(|mean| mean.clamp(0.0, 1.0));
        let interval = counted.interval(unit, self.bootstrap());
        let mut metric = Metric {
            estimate,
            clipped,
            interval,
            n: values.len(),
            unscored: observed
                .iter()
                .filter(|observation| observation.is_unscored())
                .count(),
            bounds: bounds(&observed),
            ..Metric::default()
        };
        if self.options.clip {
            metric.estimate = clipped.or(estimate);
            metric.clipped = None;
            metric.bootstrap_sd = clipped_mean_sd(values, self.options.seed);
            metric.interval = interval.map(|interval| interval.map(|end| end.clamp(0.0, 1.0)));
        }
        metric
    }

    /// Adds the means over the cases with a value of every system (except systems without any).
    fn add_shared_means(&self, summary: &mut ScorerSummary, columns: &[(MetricColumn, Quantity)]) {
        for (column, quantity) in columns {
            let values: Vec<BTreeMap<&CaseId, f64>> = self
                .systems
                .iter()
                .map(|(_, answers)| self.values_by_case(quantity, answers))
                .collect();
            let shared = shared_cases(&values);
            for (row, by_case) in summary.rows.iter_mut().zip(&values) {
                let values_over_shared: Vec<f64> = shared
                    .iter()
                    .filter_map(|case| by_case.get(case).copied())
                    .collect();
                let Some(estimate) = mean(&values_over_shared) else {
                    continue;
                };
                if let Some(metric) = row.metrics.get_mut(&column.name) {
                    metric.shared = Some(SharedMean {
                        estimate,
                        n: values_over_shared.len(),
                    });
                }
            }
        }
    }

    /// A system's values that count in a mean.
    fn values_by_case(
        &self,
        quantity: &Quantity,
        answers: &[&'a ScoredAnswer],
    ) -> BTreeMap<&'a CaseId, f64> {
        let mut values = BTreeMap::new();
        for answer in answers {
            if let Some(value) = self.counted(quantity, answer) {
                values.insert(&answer.case.case_id, value);
            }
        }
        values
    }

    /// Adds the numbers of each system's whole set of answers, each before the mean of single answers that it is not.
    fn add_set_numbers(&self, summary: &mut ScorerSummary) {
        let answers: Vec<&ScoredAnswer> = self
            .systems
            .iter()
            .flat_map(|(_, answers)| answers.iter().copied())
            .collect();
        for number in SetNumber::all(&summary.scorer, &summary.columns, &answers) {
            for (row, (_, answers)) in summary.rows.iter_mut().zip(&self.systems) {
                row.metrics
                    .insert(number.name(), self.set_number(&number, answers));
            }
            let mut columns = summary.columns.iter();
            let place = columns.position(|column| column.name == number.of_answers());
            let place = place.unwrap_or(summary.columns.len());
            let column = column(&number.name(), number.unit());
            summary.columns.insert(place, column);
        }
    }

    fn set_number(&self, number: &SetNumber, answers: &[&ScoredAnswer]) -> Metric {
        let mut given = Vec::new();
        for answer in answers {
            let set_answer = number.observe(answer, self.options.on_unscored);
            given.push((self.question(answer), set_answer));
        }
        let given: Vec<(usize, &SetAnswer)> =
            given.iter().map(|(at, answer)| (*at, answer)).collect();
        let mut metric = number.measure(&given, self.bootstrap());
        if self.options.mode == Mode::Compat && number.lacks_part(&given) {
            // An aspect without any grade makes the reference's average NaN.
            (metric.estimate, metric.interval) = (None, None);
        }
        metric
    }
}

/// The cases with a value of every system, except systems without any.
fn shared_cases<'a>(values: &[BTreeMap<&'a CaseId, f64>]) -> BTreeSet<&'a CaseId> {
    values
        .iter()
        .filter(|values| !values.is_empty())
        .map(|values| values.keys().copied().collect())
        .reduce(|shared: BTreeSet<&CaseId>, cases| &shared & &cases)
        .unwrap_or_default()
}

fn is_unscored(answer: &ScoredAnswer) -> bool {
    let score = &answer.score;
    !score.is_complete() || (score.is_weighted_sum() && finite(score.value).is_none())
}

/// Ranks and orders the rows by their means over the shared cases; without such cases by those over all cases of each system.
fn rank(rows: &mut [SystemSummary], score: &str) {
    rows.sort_by(|a, b| {
        b.ranking_mean(score)
            .total_cmp(&a.ranking_mean(score))
            .then_with(|| a.system.cmp(&b.system))
    });
    let means: Vec<Option<f64>> = rows.iter().map(|row| row.shared_mean(score)).collect();
    for (row, row_mean) in rows.iter_mut().zip(&means) {
        // Means that differ by rounding only share a rank.
        row.rank = row_mean.map(|row_mean| {
            let higher = means
                .iter()
                .flatten()
                .filter(|mean| **mean > row_mean + 1e-12);
            1 + higher.count()
        });
    }
}

impl SystemSummary {
    /// The mean of a metric over the cases with a value of every system.
    fn shared_mean(&self, metric: &str) -> Option<f64> {
        let shared = self.metrics.get(metric)?.shared?;
        Some(shared.estimate)
    }

    /// The mean by which rows are ordered; a system without one comes last.
    fn ranking_mean(&self, metric: &str) -> f64 {
        let mean_over_all = self.metrics.get(metric).and_then(|metric| metric.estimate);
        self.shared_mean(metric)
            .or(mean_over_all)
            .unwrap_or(f64::NEG_INFINITY)
    }
}

/// Reasons for unscored components, by kind, most frequent first.
fn count_reasons(answers: &[&ScoredAnswer]) -> Vec<ReasonCount> {
    let mut counts: BTreeMap<UnscoredKind, ReasonCount> = BTreeMap::new();
    for answer in answers {
        let mut seen = BTreeSet::new();
        for reason in answer
            .score
            .components
            .iter()
            .filter_map(|component| component.reason.as_ref())
        {
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
