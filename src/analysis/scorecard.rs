//! Everything that is known of the systems after a run, whatever scored them.

use std::borrow::Borrow;

use super::panel::panel_agreement_over;
use super::questions::Questions;
use super::section::{Section, scorers_of};
use super::summarize::summarize_over;
use super::{AggregateOptions, DrawNoise, OnUnscored, PanelAgreement, Summary};
use crate::domain::{CaseId, Mode, ScoredAnswer, SystemName, UnscoredKind};
use crate::stats::BcaOptions;

/// The systems with the columns of every scorer of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Scorecard {
    /// Whose arithmetic.
    pub mode: Mode,
    /// What was done with components that have no value.
    pub on_unscored: OnUnscored,
    /// The share of intervals that hold the true mean, 0.95.
    pub level: f64,
    /// Resamples of each interval.
    pub resamples: u32,
    /// Seed of the resamples.
    pub seed: u64,
    /// Cases of the run with an answer, by whichever system.
    pub cases: usize,
    /// The questions they ask: where fewer, cases of one question are drawn together for intervals.
    pub questions: usize,
    /// The rubric's columns and the ranks made from them, where the rubric was asked.
    pub rubric: Option<Summary>,
    /// The columns of the other scorers, in the order they were run.
    pub sections: Vec<Section>,
    /// How the judges of each panel agree; empty where no role had several.
    pub panels: Vec<PanelAgreement>,
    /// How much the draws of each judge differ; empty where none was asked several times.
    pub noise: Vec<DrawNoise>,
}

impl Scorecard {
    /// The share of scored answers (one for each answer and scorer) with a component that has no value, 0..=1; of the
    /// scorer for which it is highest. Columns that nobody was to judge are blank by choice and do not count.
    pub fn unscored_share(&self) -> f64 {
        let of_section = |section: &Section| {
            let (unscored, items) = section
                .rows
                .iter()
                .fold((0, 0), |(unscored, items), row| (unscored + row.unscored - row.unjudged, items + row.items));
            if items == 0 { 0.0 } else { unscored as f64 / items as f64 }
        };
        let rubric = self.rubric.as_ref().map_or(0.0, Summary::unscored_share);
        self.sections.iter().map(of_section).fold(rubric, f64::max)
    }

    /// The kinds of reasons why components have no value.
    pub fn unscored_kinds(&self) -> impl Iterator<Item = UnscoredKind> {
        let rubric = self.rubric.iter().flat_map(|rubric| &rubric.rows).flat_map(|row| &row.unscored_reasons);
        let sections = self.sections.iter().flat_map(|section| &section.rows).flat_map(|row| &row.unscored_reasons);
        rubric.chain(sections).map(|reason| reason.kind)
    }

    /// The section of that scorer.
    pub fn section(&self, scorer: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.scorer == scorer)
    }
}

/// Sums up a run: the rubric's scores as [`summarize`](super::summarize) does, those of other scorers as means by component.
///
/// The systems stand in the order of the rubric's ranks, else in that of their first answer; values within a system in
/// the order of their cases' ids, as [`compare`](super::comparison::compare) has them: one mean has one interval.
/// `missing` names the cases that a system has no answer for.
pub fn scorecard<A: Borrow<ScoredAnswer>>(
    scored: &[A],
    missing: &[(SystemName, CaseId)],
    options: AggregateOptions,
) -> Scorecard {
    let all = || scored.iter().map(Borrow::borrow);
    let questions = Questions::of(all());
    let is_rubric = |answer: &&ScoredAnswer| answer.score.is_weighted_sum();
    let by_rubric: Vec<&ScoredAnswer> = all().filter(is_rubric).collect();
    let rubric = (!by_rubric.is_empty() || !missing.is_empty())
        .then(|| summarize_over(&by_rubric, missing, &questions, options));
    let mut order: Vec<&SystemName> = rubric.iter().flat_map(|summary| &summary.rows).map(|row| &row.system).collect();
    for answer in all() {
        if !order.contains(&&answer.system) {
            order.push(&answer.system);
        }
    }
    let others = || all().filter(|answer| !is_rubric(answer));
    let section = |scorer: &'static str| {
        let of = |system: &SystemName| -> Vec<&ScoredAnswer> {
            others().filter(|answer| answer.score.scorer == scorer && answer.system == *system).collect()
        };
        let systems: Vec<(&SystemName, Vec<&ScoredAnswer>)> =
            order.iter().map(|system| (*system, of(system))).collect();
        Section::of(scorer, &systems, &questions, options)
    };
    let sections = scorers_of(others()).into_iter().map(section).collect();
    let bca = BcaOptions::seeded(options.seed);
    let (panels, noise) = panel_agreement_over(scored, &questions, options);
    Scorecard {
        mode: options.mode,
        on_unscored: options.on_unscored,
        level: bca.level,
        resamples: bca.resamples,
        seed: options.seed,
        cases: questions.counts().0,
        questions: questions.counts().1,
        sections,
        rubric,
        panels,
        noise,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::made::{answer, component, simple_score};
    use crate::domain::{ComponentKind, Score};

    #[test]
    fn every_scorer_has_its_columns_and_the_systems_one_order() {
        let words = |system, count| {
            let components = vec![component("words", ComponentKind::Count, 0.0, Some(count))];
            answer(system, "c1", Score { scorer: "overlap", components, ..Score::default() })
        };
        let scored = [
            answer("worse", "c1", simple_score(Some(0.1))),
            answer("better", "c1", simple_score(Some(0.9))),
            words("worse", 7.0),
            words("better", 5.0),
            words("unjudged", 3.0),
        ];
        let card = scorecard(&scored, &[], AggregateOptions::default());
        let section = card.section("overlap").unwrap();
        let rows: Vec<_> =
            section.rows.iter().map(|row| (row.system.as_str(), row.metrics[0].metric.estimate)).collect();
        assert_eq!(rows, [("better", Some(5.0)), ("worse", Some(7.0)), ("unjudged", Some(3.0))]);
        assert_eq!(card.rubric.as_ref().map(|rubric| rubric.rows.len()), Some(2));
        assert_eq!(card.unscored_share(), 0.0);
        assert!(scorecard(&scored[2..], &[], AggregateOptions::default()).rubric.is_none());
    }
}
