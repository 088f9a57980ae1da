//! Agreement on which of two answers is better.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::result::{PairAgreement, ThresholdAgreement, TieThreshold};
use super::scales::top_of_scale;
use super::units::{RatedByBoth, RaterView};
use crate::analysis::ratings::{Estimate, Ratings, distinct};
use crate::domain::{ComparedPair, Preferred, RaterKind, SystemName};
use crate::stats::{Coefficient, Interval, coefficient_interval, mean, mean_interval, rounded};

/// Range of a share.
const SHARE: Interval = Interval {
    low: 0.0,
    high: 1.0,
};

/// Two answers that both raters compared.
pub(super) struct Compared<'a> {
    pub(super) systems: [&'a SystemName; 2],
    pub(super) question: usize,
    /// By rater; positive where the first answer is better.
    differences: [f64; 2],
    /// By rater: whether the comparison is explicit instead of a difference of ratings.
    outright: [bool; 2],
}

impl Compared<'_> {
    /// The outcome by each rater: 1, 0 or -1.
    pub(super) fn signs(&self, thresholds: [f64; 2]) -> [i8; 2] {
        [0, 1].map(|rater| {
            let threshold = if self.outright[rater] {
                0.0
            } else {
                thresholds[rater]
            };
            Preferred::of_difference(self.differences[rater], threshold).sign()
        })
    }

    pub(super) fn is_outright(&self) -> bool {
        self.outright.contains(&true)
    }
}

/// The threshold with which the number of ties is closest to `wanted`; of two equally close ones the smaller.
pub(super) fn threshold_for(wanted: usize, mut differences: Vec<f64>) -> f64 {
    differences.sort_unstable_by(f64::total_cmp);
    let ties = |threshold: f64| differences.partition_point(|difference| *difference <= threshold);
    let candidates = std::iter::once(0.0).chain(differences.iter().copied());
    candidates
        .min_by_key(|threshold| ties(*threshold).abs_diff(wanted))
        .unwrap_or(0.0)
}

impl<'a> RatedByBoth<'a> {
    /// The pairs compared by both raters: the explicit comparisons if either rater made any; otherwise all pairs of
    /// systems within a case (or an item of it) that both rated.
    pub(super) fn compared(&self) -> Vec<Compared<'a>> {
        let (first, second) = (self.first, self.second);
        let mut compared = Vec::new();
        if first.preferences.is_empty() && second.preferences.is_empty() {
            let of_case = |at: usize| (&self.units[at].case_id, &self.units[at].item);
            let places: Vec<usize> = (0..self.units.len()).collect();
            for same in places.chunk_by(|a, b| of_case(*a) == of_case(*b)) {
                let pairs = same
                    .iter()
                    .enumerate()
                    .flat_map(|(at, b)| same[..at].iter().map(|a| (*a, *b)));
                compared.extend(pairs.map(|(a, b)| Compared {
                    systems: [&self.units[a].system, &self.units[b].system],
                    question: self.questions[a],
                    differences: [
                        rounded(self.x[a] - self.x[b]),
                        rounded(self.y[a] - self.y[b]),
                    ],
                    outright: [false; 2],
                }));
            }
            return compared;
        }
        let pairs: BTreeSet<&'a ComparedPair> = first
            .preferences
            .keys()
            .chain(second.preferences.keys())
            .collect();
        let difference = |view: &RaterView, pair: &ComparedPair| {
            let made = view.preferences.get(pair).copied();
            made.or_else(|| view.values_of(pair).map(|[a, b]| rounded(a - b)))
        };
        for pair in pairs {
            if let Some((one, other)) = difference(first, pair).zip(difference(second, pair)) {
                compared.push(Compared {
                    systems: [&pair.first, &pair.second],
                    question: self.context.questions.number(&pair.case_id),
                    differences: [one, other],
                    outright: [first, second].map(|view| view.preferences.contains_key(pair)),
                });
            }
        }
        compared
    }

    /// Each rater's tie threshold, and whose was given or chosen; 0 for people.
    pub(super) fn thresholds(&self, compared: &[Compared<'_>]) -> ([f64; 2], Option<TieThreshold>) {
        let raters = [self.first, self.second].map(|view| &view.rater);
        let differences = |rater: usize| -> Vec<f64> {
            let own = compared.iter().filter(|pair| !pair.outright[rater]);
            own.map(|pair| pair.differences[rater].abs()).collect()
        };
        let is_judge = |rater: usize| raters[rater].kind == RaterKind::Judge;
        let given = self.context.options.tie_threshold;
        let mut thresholds = [0, 1].map(|rater| given.filter(|_| is_judge(rater)).unwrap_or(0.0));
        let Some(judge) = (0..2).find(|rater| is_judge(*rater) && !differences(*rater).is_empty())
        else {
            return (thresholds, None);
        };
        let chosen = given.is_none();
        if chosen {
            let wanted = compared
                .iter()
                .filter(|pair| pair.signs([0.0; 2])[1 - judge] == 0)
                .count();
            // A person with ties only would make every pair of the judge a tie as well.
            if is_judge(1 - judge) || wanted == compared.len() {
                return (thresholds, None);
            }
            thresholds[judge] = threshold_for(wanted, differences(judge));
        }
        let threshold = TieThreshold {
            rater: Arc::clone(&raters[judge].name),
            value: thresholds[judge],
            chosen,
        };
        (thresholds, Some(threshold))
    }

    /// A judge and a person: agreement at tie thresholds of 0, 1% of the judge's scale, and this one.
    pub(super) fn by_threshold(
        &self,
        compared: &[&Compared<'_>],
        chosen: &TieThreshold,
    ) -> Vec<ThresholdAgreement> {
        if self.second.rater.kind == RaterKind::Judge {
            return Vec::new();
        }
        let scale = top_of_scale(&self.first.ends.values().collect::<Vec<_>>());
        let mut thresholds = vec![0.0, chosen.value];
        thresholds.extend(scale.map(|top| top / 100.0));
        thresholds.sort_unstable_by(f64::total_cmp);
        thresholds.dedup();
        let at = |tie_threshold: f64| {
            let comparisons = self.comparisons(compared, [tie_threshold, 0.0])?;
            Some(ThresholdAgreement {
                tie_threshold,
                comparisons,
            })
        };
        thresholds.into_iter().filter_map(at).collect()
    }

    /// Kendall's tau-b over these pairs of answers to one question: concordant minus discordant pairs over the geometric mean
    /// of the pairs untied by either rater.
    pub(super) fn within_questions(&self, compared: &[&Compared<'_>]) -> Estimate {
        let (questions, signs): (Vec<usize>, Vec<[f64; 2]>) = compared
            .iter()
            .map(|pair| (pair.question, pair.signs([0.0; 2]).map(f64::from)))
            .unzip();
        let tau = |kept: &[usize]| {
            let sum =
                |of: &dyn Fn(&[f64; 2]) -> f64| kept.iter().map(|at| of(&signs[*at])).sum::<f64>();
            let untied = sum(&|[x, _]| x.abs()) * sum(&|[_, y]| y.abs());
            (untied > 0.0).then(|| sum(&|[x, y]| x * y) / untied.sqrt())
        };
        let interval = || coefficient_interval(&questions, tau, self.context.options.confidence);
        let reason = "one of the two prefers no answer to the others of its question";
        Estimate::new(tau(&(0..signs.len()).collect::<Vec<_>>()), interval, reason)
            .with_units(signs.len())
    }

    /// Agreement on which of two answers is better, over these pairs; `None` without pairs.
    pub(super) fn comparisons(
        &self,
        compared: &[&Compared<'_>],
        thresholds: [f64; 2],
    ) -> Option<PairAgreement> {
        let (questions, signs): (Vec<usize>, Vec<[i8; 2]>) = compared
            .iter()
            .map(|pair| (pair.question, pair.signs(thresholds)))
            .unzip();
        if signs.is_empty() {
            return None;
        }
        let ties = |rater: usize| signs.iter().filter(|signs| signs[rater] == 0).count();
        let names = [&self.first.rater.name, &self.second.rater.name];
        let indifferent: Vec<&str> = (0..2)
            .filter(|rater| ties(*rater) == signs.len())
            .map(|rater| &**names[rater])
            .collect();
        let indifferent = (!indifferent.is_empty())
            .then(|| format!("no preference by {}", indifferent.join(" and ")));
        let is_decided = |signs: &[i8; 2]| !signs.contains(&0);
        let rate = |counts: &dyn Fn(&[i8; 2]) -> bool, half: f64| {
            let credit = |signs: &[i8; 2]| match signs {
                [a, b] if a == b => 1.0,
                [0, _] | [_, 0] => half,
                _ => 0.0,
            };
            let counted = signs
                .iter()
                .zip(&questions)
                .filter(|(signs, _)| counts(signs));
            let (credits, own): (Vec<f64>, Vec<usize>) = counted
                .map(|(signs, question)| (credit(signs), *question))
                .unzip();
            let interval =
                || mean_interval(&credits, Some(&own), Some(SHARE), self.context.bootstrap());
            let reason = "every pair is a tie for one of the two";
            Estimate::unless(indifferent.as_ref(), || {
                Estimate::new(mean(&credits), interval, reason).with_units(credits.len())
            })
        };
        let kappa = || {
            let row = |rater: usize| {
                signs
                    .iter()
                    .map(|own| f64::from(own[rater]))
                    .collect::<Vec<f64>>()
            };
            let outcomes = Ratings::of_two(&row(0), &row(1), &questions).in_both_orders();
            outcomes
                .estimate(Coefficient::Kappa, self.context.options.confidence)
                .with_units(signs.len())
        };
        Some(PairAgreement {
            n: signs.len(),
            questions: distinct(&questions),
            first_ties: ties(0),
            second_ties: ties(1),
            strict: rate(&|_| true, 0.0),
            half_credit: rate(&|_| true, 0.5),
            decided: signs.iter().filter(|signs| is_decided(signs)).count(),
            decided_agreement: rate(&is_decided, 0.0),
            kappa: Estimate::unless(indifferent.as_ref(), kappa),
        })
    }
}
