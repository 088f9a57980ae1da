//! Summarizes scored answers: the mean of every metric by scorer and system.
//!
//! If a metric applies to an answer, it has a value or is unscored. This holds for the rubric's scores and for
//! components of any scorer alike, so all means, bounds and intervals are computed the same way.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

use super::panel::panel_agreement;
use super::quantity::{
    ASPECT_MEAN, CITATION_F1, CITATION_F1_MACRO, CITATION_PRECISION, CITATION_RECALL, MetricColumn,
    Observation, Quantity, bounds, distinct, finite, interval_of, quantities,
};
use super::questions::Questions;
use super::summary::{
    AggregateOptions, AnswerId, Injection, Metric, NoteCount, ReasonCount, ScorerSummary,
    SharedMean, Summary, SystemSummary,
};
use crate::domain::{CaseId, Mode, ScoredAnswer, ScorerId, SystemName, Unit, UnscoredKind};
use crate::scorer::criteria::CRITERIA;
use crate::scorer::rubric::RUBRIC;
use crate::stats::{
    BootstrapOptions, Interval, clipped_mean_sd, f1_of_means, harmonic_mean, mean, ratio,
};

/// Summarizes a run.
///
/// Every mean is over a system's own answers. Systems are ranked by the mean rubric score over the cases scored for all
/// of them (a system without any score is ignored and comes last); without a rubric they keep the order of their first
/// answer. `missing` lists test cases without an answer. The order of answers changes no number.
pub fn summarize<A: Borrow<ScoredAnswer>>(
    scored: &[A],
    missing: &[(SystemName, CaseId)],
    options: AggregateOptions,
) -> Summary {
    let all = || scored.iter().map(Borrow::borrow);
    let questions = Questions::of(all());
    let rubric = all()
        .find(|answer| answer.score.is_weighted_sum())
        .map(|answer| answer.score.scorer.clone());
    let rubric = rubric.or((!missing.is_empty()).then(|| RUBRIC.name.into()));
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
        let count_missing = |system: &SystemName| {
            missing
                .iter()
                .filter(|(own, _)| is_rubric && own == system)
                .count()
        };
        let own = |system: &SystemName| -> Vec<&ScoredAnswer> {
            all()
                .filter(|answer| answer.score.scorer == *scorer && answer.system == *system)
                .collect()
        };
        let systems = order.iter().map(|system| (*system, own(system)));
        let systems = systems
            .filter(|(system, own)| !own.is_empty() || count_missing(system) > 0)
            .collect();
        let mut summary = summarize_scorer(scorer, systems, &questions, options);
        if is_rubric {
            summary
                .rows
                .iter_mut()
                .for_each(|row| row.missing = count_missing(&row.system));
            let score = summary
                .columns
                .first()
                .map(|column| column.name.clone())
                .unwrap_or_default();
            rank(&mut summary.rows, &score);
            // The other scorers list the systems by rank.
            let place =
                |system: &SystemName| summary.rows.iter().position(|row| row.system == *system);
            order.sort_by_key(|system| place(system).unwrap_or(usize::MAX));
        }
        scorers.push(summary);
    }
    let bca = BootstrapOptions::seeded(options.seed);
    let (panels, noise) = panel_agreement(scored, &questions, bca.level);
    let (cases, questions) = questions.counts();
    let answer_id = |(system, case_id): &(SystemName, CaseId)| AnswerId {
        system: system.clone(),
        case_id: case_id.clone(),
    };
    Summary {
        mode: options.mode,
        on_unscored: options.on_unscored,
        level: bca.level,
        resamples: bca.resamples,
        seed: options.seed,
        cases,
        questions,
        unscored_share: scorers.iter().map(unscored_share).fold(0.0, f64::max),
        missing: missing
            .iter()
            .map(answer_id)
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect(),
        injections: injections(all()),
        scorers,
        panels,
        noise,
    }
}

fn unscored_share(scorer: &ScorerSummary) -> f64 {
    let unscored: usize = scorer.rows.iter().map(|row| row.unscored).sum();
    let answers: usize = scorer.rows.iter().map(|row| row.answers).sum();
    ratio(unscored as f64, answers as f64)
}

/// A system with its answers to one scorer.
type SystemAnswers<'a> = (&'a SystemName, Vec<&'a ScoredAnswer>);

/// One scorer's answers, with the data for their statistics.
struct Scored<'a> {
    systems: Vec<SystemAnswers<'a>>,
    questions: &'a Questions<'a>,
    options: AggregateOptions,
}

fn summarize_scorer(
    scorer: &ScorerId,
    mut systems: Vec<SystemAnswers<'_>>,
    questions: &Questions<'_>,
    options: AggregateOptions,
) -> ScorerSummary {
    // Sorted by case id, since a seed's draws depend on the order, as in comparisons.
    systems
        .iter_mut()
        .for_each(|(_, answers)| answers.sort_by(|a, b| a.case.case_id.cmp(&b.case.case_id)));
    let answers: Vec<&ScoredAnswer> = systems
        .iter()
        .flat_map(|(_, answers)| answers.iter().copied())
        .collect();
    let columns = quantities(&answers);
    let notes = count_notes(answers.into_iter());
    let clip = options.clip && options.mode == Mode::Compat && scorer.name() == CRITERIA.name;
    let options = AggregateOptions { clip, ..options };
    let scored = Scored {
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
    scored.add_aspect_mean(&mut summary);
    scored.add_citation_f1(&mut summary);
    summary
}

impl<'a> Scored<'a> {
    /// The value of an answer that counts in a mean.
    fn counted(&self, quantity: &Quantity, answer: &ScoredAnswer) -> Option<f64> {
        quantity
            .observe(answer)
            .by_policy(self.options.on_unscored)
            .value()
    }

    fn component(&self, name: &str, answer: &ScoredAnswer) -> Option<f64> {
        self.counted(&Quantity::Component(name.to_owned()), answer)
    }

    fn bootstrap(&self) -> BootstrapOptions {
        BootstrapOptions::seeded(self.options.seed)
    }

    fn question(&self, answer: &ScoredAnswer) -> usize {
        self.questions.number(&answer.case.case_id)
    }

    fn row(
        &self,
        system: &SystemName,
        answers: &[&ScoredAnswer],
        columns: &[(MetricColumn, Quantity)],
    ) -> SystemSummary {
        let metric = |(column, quantity): &(MetricColumn, Quantity)| {
            let own = answers
                .iter()
                .filter_map(|own| Some((self.question(own), self.counted(quantity, own)?)));
            let (questions, values): (Vec<usize>, Vec<f64>) = own.unzip();
            let observed: Vec<Observation> = answers
                .iter()
                .map(|answer| quantity.observe(answer))
                .collect();
            let estimate = mean(&values);
            let is_outside = |mean: &f64| column.unit == Unit::Net && !(0.0..=1.0).contains(mean);
            let clips = self.options.clip;
            let clipped = estimate.filter(is_outside).map(|mean| mean.clamp(0.0, 1.0));
            let interval = interval_of(&values, &questions, column.unit, self.bootstrap());
            let within = |own: Interval| Interval {
                low: own.low.clamp(0.0, 1.0),
                high: own.high.clamp(0.0, 1.0),
            };
            let metric = Metric {
                estimate: clipped.filter(|_| clips).or(estimate),
                bootstrap_sd: if clips {
                    clipped_mean_sd(&values, self.options.seed)
                } else {
                    None
                },
                clipped: clipped.filter(|_| !clips),
                interval: if clips {
                    interval.map(within)
                } else {
                    interval
                },
                n: values.len(),
                unscored: observed.iter().filter(|own| own.is_unscored()).count(),
                bounds: bounds(&observed),
                shared: None,
            };
            (column.name.clone(), metric)
        };
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
            metrics: columns.iter().map(metric).collect(),
        }
    }

    /// Adds the means over the cases with a value of every system (except systems without any).
    fn add_shared_means(&self, summary: &mut ScorerSummary, columns: &[(MetricColumn, Quantity)]) {
        for (column, quantity) in columns {
            let of_system = |(_, answers): &SystemAnswers<'a>| -> BTreeMap<&CaseId, f64> {
                let value = |answer: &&'a ScoredAnswer| {
                    Some((&answer.case.case_id, self.counted(quantity, answer)?))
                };
                answers.iter().filter_map(value).collect()
            };
            let values: Vec<BTreeMap<&CaseId, f64>> = self.systems.iter().map(of_system).collect();
            let cases = values
                .iter()
                .filter(|own| !own.is_empty())
                .map(|own| own.keys().copied().collect());
            let shared: BTreeSet<&CaseId> = cases
                .reduce(|shared: BTreeSet<&CaseId>, own| &shared & &own)
                .unwrap_or_default();
            for (row, own) in summary.rows.iter_mut().zip(&values) {
                let own: Vec<f64> = shared
                    .iter()
                    .filter_map(|case| own.get(case).copied())
                    .collect();
                if let (Some(metric), Some(estimate)) =
                    (row.metrics.get_mut(&column.name), mean(&own))
                {
                    metric.shared = Some(SharedMean {
                        estimate,
                        n: own.len(),
                    });
                }
            }
        }
    }

    /// Adds the mean of the aspects' means. It has an interval if every answer has every aspect, since it is then a
    /// mean over answers.
    fn add_aspect_mean(&self, summary: &mut ScorerSummary) {
        let grades = summary
            .columns
            .iter()
            .filter(|column| column.unit == Unit::Grade);
        let aspects: Vec<String> = grades.map(|column| column.name.clone()).collect();
        if aspects.len() < 2 {
            return;
        }
        for (row, (_, answers)) in summary.rows.iter_mut().zip(&self.systems) {
            let of_aspects: Vec<Metric> = aspects
                .iter()
                .filter_map(|name| row.metrics.get(name).copied())
                .collect();
            let means: Vec<f64> = of_aspects
                .iter()
                .filter_map(|metric| metric.estimate)
                .collect();
            // Missing grades get the policy's values, as in the columns.
            let own = answers.iter().filter_map(|answer| {
                let grades = aspects
                    .iter()
                    .filter_map(|name| self.component(name, answer));
                Some((self.question(answer), mean(&grades.collect::<Vec<_>>())?))
            });
            let (questions, values): (Vec<usize>, Vec<f64>) = own.unzip();
            let is_whole = of_aspects
                .iter()
                .map(|own| own.n)
                .chain([values.len()])
                .all(|n| n == answers.len());
            let interval = interval_of(&values, &questions, Unit::Grade, self.bootstrap());
            let n = answers
                .iter()
                .filter(|answer| answer.score.is_complete())
                .count();
            // An aspect without any grade makes the reference's average NaN.
            let is_undefined = self.options.mode == Mode::Compat && means.len() < aspects.len();
            let bounds = bounds_of(&of_aspects, mean).filter(|_| n < answers.len());
            let metric = Metric {
                estimate: if is_undefined { None } else { mean(&means) },
                interval: interval.filter(|_| is_whole),
                n,
                unscored: answers.len() - n,
                bounds,
                ..Metric::default()
            };
            row.metrics.insert(ASPECT_MEAN.to_owned(), metric);
        }
        summary.columns.push(MetricColumn {
            name: ASPECT_MEAN.to_owned(),
            unit: Unit::Grade,
        });
    }

    /// Adds a system's citation F1, the harmonic mean of its two means, before the mean of the answers' own F1.
    fn add_citation_f1(&self, summary: &mut ScorerSummary) {
        let place = |name: &str| {
            summary
                .columns
                .iter()
                .position(|column| column.name == name)
        };
        let (Some(_), Some(recall)) = (place(CITATION_PRECISION), place(CITATION_RECALL)) else {
            return;
        };
        let place = place(CITATION_F1_MACRO).unwrap_or(recall + 1);
        summary.columns.insert(
            place,
            MetricColumn {
                name: CITATION_F1.to_owned(),
                unit: Unit::Share,
            },
        );
        for (row, (_, answers)) in summary.rows.iter_mut().zip(&self.systems) {
            let metric = self.citation_f1(row, answers);
            row.metrics.insert(CITATION_F1.to_owned(), metric);
        }
    }

    fn citation_f1(&self, row: &SystemSummary, answers: &[&ScoredAnswer]) -> Metric {
        let both = [CITATION_PRECISION, CITATION_RECALL];
        let [precision, recall] =
            both.map(|name| row.metrics.get(name).copied().unwrap_or_default());
        let cases: Vec<[Option<f64>; 2]> = answers
            .iter()
            .map(|own| both.map(|name| self.component(name, own)))
            .collect();
        let questions: Vec<usize> = answers.iter().map(|own| self.question(own)).collect();
        let (_, interval) = f1_of_means(&cases, &questions, self.bootstrap());
        let estimate = precision
            .estimate
            .zip(recall.estimate)
            .map(|(p, r)| harmonic_mean(p, r));
        let is_bounded = precision.bounds.is_some() || recall.bounds.is_some();
        let of_both = |ends: &[f64]| {
            if let [p, r] = ends {
                Some(harmonic_mean(*p, *r))
            } else {
                None
            }
        };
        Metric {
            estimate,
            interval: estimate.and(interval),
            n: precision.n.min(recall.n),
            unscored: precision.unscored.max(recall.unscored),
            bounds: bounds_of(&[precision, recall], of_both).filter(|_| is_bounded),
            ..Metric::default()
        }
    }
}

/// Bounds of a value computed from several means.
fn bounds_of(metrics: &[Metric], of: impl Fn(&[f64]) -> Option<f64>) -> Option<Interval> {
    let ends = |end: fn(Interval) -> f64| {
        let own = metrics
            .iter()
            .filter_map(|metric| metric.bounds.map(end).or(metric.estimate));
        of(&own.collect::<Vec<_>>())
    };
    ends(|bounds| bounds.low)
        .zip(ends(|bounds| bounds.high))
        .map(|(low, high)| Interval { low, high })
}

fn is_unscored(answer: &ScoredAnswer) -> bool {
    let score = &answer.score;
    !score.is_complete() || (score.is_weighted_sum() && finite(score.value).is_none())
}

/// Ranks and orders the rows by their means over the shared cases; without such cases by their own means.
fn rank(rows: &mut [SystemSummary], score: &str) {
    let shared = |row: &SystemSummary| row.metrics.get(score)?.shared.map(|shared| shared.estimate);
    let own = |row: &SystemSummary| row.metrics.get(score)?.estimate;
    let key = |row: &SystemSummary| shared(row).or(own(row)).unwrap_or(f64::NEG_INFINITY);
    rows.sort_by(|a, b| {
        key(b)
            .total_cmp(&key(a))
            .then_with(|| a.system.cmp(&b.system))
    });
    let means: Vec<Option<f64>> = rows.iter().map(shared).collect();
    for (row, own) in rows.iter_mut().zip(&means) {
        row.rank = own.map(|own| {
            1 + means
                .iter()
                .flatten()
                .filter(|mean| **mean > own + 1e-12)
                .count()
        });
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
    let note = |(note, answers): (&String, usize)| NoteCount {
        note: note.clone(),
        answers,
    };
    let mut notes: Vec<NoteCount> = counts.into_iter().map(note).collect();
    notes.sort_by_key(|count| std::cmp::Reverse(count.answers));
    notes
}

/// Answers with signs of prompt injection, once for all scorers, by system and case.
fn injections<'a>(answers: impl Iterator<Item = &'a ScoredAnswer>) -> Vec<Injection> {
    let suspects = answers.filter(|answer| !answer.injection.is_empty());
    let by_answer: BTreeMap<(&SystemName, &CaseId), &[String]> = suspects
        .map(|answer| {
            (
                (&answer.system, &answer.case.case_id),
                answer.injection.as_slice(),
            )
        })
        .collect();
    let entry = |((system, case_id), signs): ((&SystemName, &CaseId), &[String])| Injection {
        system: system.clone(),
        case_id: case_id.clone(),
        signs: signs.to_vec(),
    };
    by_answer.into_iter().map(entry).collect()
}

#[cfg(test)]
mod tests;
