//! Agreement on which of two answers is better.
//!
//! Pairs come from stated preferences, else from the ratings of two answers to one question.
//! Differences become signs by a tie threshold, and the signs of both raters give shares, kappa and
//! tau-b.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::result::{PairAgreement, TieThreshold};
use super::units::{Context, RatedByBoth, RaterView};
use crate::ratings::{Estimate, Ratings, SHARE, distinct};
use scholareval_core::domain::{CaseId, ComparedPair, Preference, RaterKind, SystemName};
use scholareval_stats::{Coefficient, coefficient_interval, mean, mean_interval, rounded};

/// Two answers that both raters compared.
pub(super) struct Compared<'a> {
    pub(super) systems: [&'a SystemName; 2],
    pub(super) case: &'a CaseId,
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
            Preference::of_difference(self.differences[rater], threshold).sign()
        })
    }

    pub(super) fn is_outright(&self) -> bool {
        self.outright.contains(&true)
    }
}

/// The threshold with which the number of ties is closest to `wanted`; of two equally close ones the smaller.
pub(super) fn threshold_for(wanted: usize, mut differences: Vec<f64>) -> f64 {
    differences.sort_unstable_by(f64::total_cmp);
    let candidates = std::iter::once(0.0).chain(differences.iter().copied());
    let closest = candidates.min_by_key(|threshold| {
        let ties = differences.partition_point(|difference| difference <= threshold);
        // The judge gets about as many ties as the person has: a judge's decimals never tie, and
        // would otherwise be wrong in every tie of the person.
        ties.abs_diff(wanted)
    });
    closest.unwrap_or(0.0)
}

/// The sizes of this rater's differences of ratings.
fn differences_of(rater: usize, compared: &[Compared<'_>]) -> Vec<f64> {
    let mut differences = Vec::new();
    for pair in compared {
        if !pair.outright[rater] {
            differences.push(pair.differences[rater].abs());
        }
    }
    differences
}

/// By how much the rater prefers the first answer: as stated, else by the ratings of both.
fn preference_of(view: &RaterView, pair: &ComparedPair) -> Option<f64> {
    if let Some(stated) = view.preferences.get(pair) {
        return Some(*stated);
    }
    let [first, second] = view.values_of(pair)?;
    Some(rounded(first - second))
}

impl<'a> RatedByBoth<'a> {
    /// The pairs compared by both raters: the explicit comparisons if either rater made any; otherwise all pairs of
    /// systems within a case (or an item of it) that both rated.
    pub(super) fn compared(&self) -> Vec<Compared<'a>> {
        let raters = [self.first, self.second];
        let mut pairs: BTreeSet<&'a ComparedPair> = BTreeSet::new();
        for view in raters {
            pairs.extend(view.preferences.keys());
        }
        if pairs.is_empty() {
            return self.compared_by_ratings();
        }
        let mut compared = Vec::new();
        for pair in pairs {
            let differences = raters.map(|view| preference_of(view, pair));
            if let [Some(first), Some(second)] = differences {
                compared.push(Compared {
                    systems: [&pair.first, &pair.second],
                    case: &pair.case_id,
                    question: self.context.questions.number(&pair.case_id),
                    differences: [first, second],
                    outright: raters.map(|view| view.preferences.contains_key(pair)),
                });
            }
        }
        compared
    }

    /// All pairs of units of one case and item, in the order of the units.
    fn compared_by_ratings(&self) -> Vec<Compared<'a>> {
        let places: Vec<usize> = (0..self.units.len()).collect();
        let mut compared = Vec::new();
        for same in places.chunk_by(|a, b| self.thing_of(*a) == self.thing_of(*b)) {
            for (at, b) in same.iter().copied().enumerate() {
                for a in same[..at].iter().copied() {
                    compared.push(Compared {
                        systems: [&self.units[a].system, &self.units[b].system],
                        case: &self.units[a].case_id,
                        question: self.questions[a],
                        differences: [
                            rounded(self.x[a] - self.x[b]),
                            rounded(self.y[a] - self.y[b]),
                        ],
                        outright: [false; 2],
                    });
                }
            }
        }
        compared
    }

    /// What a unit rates, whichever system's answer: its case and item.
    fn thing_of(&self, unit: usize) -> (&CaseId, Option<&Arc<str>>) {
        let unit = &self.units[unit];
        (&unit.case_id, unit.item.as_ref())
    }

    /// Each rater's tie threshold, and whose was given or chosen; 0 for people.
    pub(super) fn thresholds(&self, compared: &[Compared<'_>]) -> ([f64; 2], Option<TieThreshold>) {
        let raters = [self.first, self.second].map(|view| &view.rater);
        let are_judges = raters.map(|rater| rater.kind == RaterKind::Judge);
        let given = self.context.options.tie_threshold;
        let mut thresholds =
            are_judges.map(|is_judge| if is_judge { given.unwrap_or(0.0) } else { 0.0 });
        let rating_judge =
            (0..2).find(|rater| are_judges[*rater] && !differences_of(*rater, compared).is_empty());
        let Some(judge) = rating_judge else {
            return (thresholds, None);
        };
        let chosen = given.is_none();
        if chosen {
            let other = 1 - judge;
            let mut wanted = 0;
            for pair in compared {
                wanted += usize::from(pair.signs([0.0; 2])[other] == 0);
            }
            // A person with ties only would make every pair of the judge a tie as well.
            if are_judges[other] || wanted == compared.len() {
                return (thresholds, None);
            }
            thresholds[judge] = threshold_for(wanted, differences_of(judge, compared));
        }
        let threshold = TieThreshold {
            rater: Arc::clone(&raters[judge].name),
            value: thresholds[judge],
            chosen,
        };
        (thresholds, Some(threshold))
    }

    /// Kendall's tau-b over these pairs of answers to one question: concordant minus discordant pairs over the geometric mean
    /// of the pairs untied by either rater.
    pub(super) fn within_questions(&self, compared: &[&Compared<'_>]) -> Estimate {
        let mut questions = Vec::new();
        let mut signs: Vec<[f64; 2]> = Vec::new();
        for pair in compared {
            questions.push(pair.question);
            signs.push(pair.signs([0.0; 2]).map(f64::from));
        }
        let confidence = self.context.options.confidence;
        let interval = || {
            coefficient_interval(
                &questions,
                |kept| tau_b(kept.iter().map(|at| signs[*at])),
                confidence,
            )
        };
        let reason = "one of the two prefers no answer to the others of its question";
        Estimate::new(tau_b(signs.iter().copied()), interval, reason).with_units(signs.len())
    }

    /// Agreement on which of two answers is better, over these pairs; `None` without pairs.
    pub(super) fn comparisons(
        &self,
        compared: &[&Compared<'_>],
        thresholds: [f64; 2],
    ) -> Option<PairAgreement> {
        if compared.is_empty() {
            return None;
        }
        let mut outcomes = Outcomes {
            questions: Vec::new(),
            signs: Vec::new(),
            indifferent: None,
            context: self.context,
        };
        for pair in compared {
            outcomes.questions.push(pair.question);
            outcomes.signs.push(pair.signs(thresholds));
        }
        outcomes.indifferent = outcomes.indifference([self.first, self.second]);
        let decided = outcomes.signs.iter().filter(|signs| is_decided(signs));
        Some(PairAgreement {
            n: outcomes.signs.len(),
            questions: distinct(&outcomes.questions),
            first_ties: outcomes.ties(0),
            second_ties: outcomes.ties(1),
            strict: outcomes.rate(|_| true, 0.0),
            half_credit: outcomes.rate(|_| true, 0.5),
            decided: decided.count(),
            decided_agreement: outcomes.rate(is_decided, 0.0),
            kappa: outcomes.kappa(),
        })
    }
}

/// Concordant minus discordant pairs over the geometric mean of those untied by either rater; each pair by its signs.
fn tau_b(signs: impl Iterator<Item = [f64; 2]> + Clone) -> Option<f64> {
    let by_first: f64 = signs.clone().map(|[x, _]| x.abs()).sum();
    let by_second: f64 = signs.clone().map(|[_, y]| y.abs()).sum();
    let untied = by_first * by_second;
    if untied > 0.0 {
        Some(signs.map(|[x, y]| x * y).sum::<f64>() / untied.sqrt())
    } else {
        None
    }
}

/// Whether neither rater sees a tie.
fn is_decided(signs: &[i8; 2]) -> bool {
    !signs.contains(&0)
}

/// What both raters say of some pairs of answers: 1, 0 or -1 each.
struct Outcomes<'a> {
    questions: Vec<usize>,
    signs: Vec<[i8; 2]>,
    /// Who prefers no answer at all, as a reason for undefined numbers.
    indifferent: Option<String>,
    context: &'a Context<'a>,
}

impl Outcomes<'_> {
    fn ties(&self, rater: usize) -> usize {
        let ties = self.signs.iter().filter(|signs| signs[rater] == 0);
        ties.count()
    }

    fn indifference(&self, raters: [&RaterView; 2]) -> Option<String> {
        let mut names: Vec<&str> = Vec::new();
        for (rater, view) in raters.into_iter().enumerate() {
            if self.ties(rater) == self.signs.len() {
                names.push(&view.rater.name);
            }
        }
        if names.is_empty() {
            return None;
        }
        Some(format!("no preference by {}", names.join(" and ")))
    }

    /// The share of equal outcomes among those that count; `half` is the credit where only one of the two sees a tie.
    fn rate(&self, counts: fn(&[i8; 2]) -> bool, half: f64) -> Estimate {
        let mut credits = Vec::new();
        let mut questions = Vec::new();
        for (signs, question) in self.signs.iter().zip(&self.questions) {
            if counts(signs) {
                credits.push(credit(*signs, half));
                questions.push(*question);
            }
        }
        let bootstrap = self.context.bootstrap();
        let interval = || mean_interval(&credits, Some(&questions), Some(SHARE), bootstrap);
        let reason = "every pair is a tie for one of the two";
        Estimate::unless(self.indifferent.as_ref(), || {
            Estimate::new(mean(&credits), interval, reason).with_units(credits.len())
        })
    }

    /// Cohen's kappa of the outcomes, each pair in both orders, since which answer is the first is arbitrary.
    fn kappa(&self) -> Estimate {
        let confidence = self.context.options.confidence;
        Estimate::unless(self.indifferent.as_ref(), || {
            let rows = [self.row(0), self.row(1)];
            let outcomes = Ratings::of_two(&rows[0], &rows[1], &self.questions).in_both_orders();
            let kappa = outcomes.estimate(Coefficient::Kappa, confidence);
            kappa.with_units(self.signs.len())
        })
    }

    fn row(&self, rater: usize) -> Vec<f64> {
        let row = self.signs.iter().map(|signs| f64::from(signs[rater]));
        row.collect()
    }
}

/// What two outcomes of one pair are worth as agreement.
fn credit(signs: [i8; 2], half: f64) -> f64 {
    match signs {
        [first, second] if first == second => 1.0,
        [0, _] | [_, 0] => half,
        _ => 0.0,
    }
}
