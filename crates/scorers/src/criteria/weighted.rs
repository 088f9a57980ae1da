//! The score of a list of criteria as a weighted share: the sum of credit x weight, divided by the sum of the weights that
//! can be earned.
//!
//! With a reference article that is T / (T + R), the weighted sums of both: a criterion's credit is t / (t + r), and its
//! weight counts t + r times.

use crate::{Subject, Verdicts};
use scholareval_core::domain::{Answer, Mode, Score, TestCase, UnscoredKind, UnscoredReason};

use super::aggregation::Aggregation;
use super::credit::{self, CriterionCredit, is_abstained, missing};
use super::metrics::Credited;
use super::{CRITERIA, CriteriaScorer};
use scholareval_stats::mean;

/// Note on shares of answer and reference article, which `--compat` computes from any numbers.
pub(super) const OUT_OF_RANGE: &str = "shares outside 0..100%: the judge's points for the answer or the reference article are negative, \
                                       and --compat computes with them as the reference does";

/// The weighted share of the criteria's credits.
#[derive(Debug)]
pub(super) struct WeightedCredits;

impl Aggregation for WeightedCredits {
    fn score_without_judge(&self, scorer: &CriteriaScorer, subject: &Subject<'_>) -> Option<Score> {
        let mut criteria = subject.case.criteria.iter();
        // Found before the judge is asked, as no reply could change it.
        if scorer.counts_zero() || criteria.any(|criterion| criterion.weight > 0.0) {
            return None;
        }
        let what = "no criterion has a positive weight, so that no point can be earned";
        let reason = UnscoredReason::new(UnscoredKind::NotAsked, what);
        Some(self.unscored(scorer, subject.case, &reason))
    }

    fn score(
        &self,
        scorer: &CriteriaScorer,
        subject: &Subject<'_>,
        credits: Vec<CriterionCredit>,
        _verdicts: &Verdicts,
    ) -> Score {
        score(scorer, subject.case, Some(subject.answer), credits)
    }

    fn unscored(&self, scorer: &CriteriaScorer, case: &TestCase, reason: &UnscoredReason) -> Score {
        score(scorer, case, None, missing(case, reason))
    }
}

/// The score of these credits, one for each criterion of the case.
pub(super) fn score(
    scorer: &CriteriaScorer,
    case: &TestCase,
    answer: Option<&Answer>,
    credits: Vec<CriterionCredit>,
) -> Score {
    let weights = counted_weights(case, &credits);
    // Points of an article may be negative in compat mode, and the reference adds them all.
    let positive: f64 = weights
        .iter()
        .filter(|weight| has_article(scorer) || **weight > 0.0)
        .sum();
    let positive = positive + weightless_share(scorer, case);
    let passes = passes(scorer, &credits, &weights, positive);
    let value = value(scorer, &credits, &weights, positive, &passes);
    let notes = notes(scorer, &credits, value);
    let credited = Credited {
        scorer,
        case,
        answer,
        credits: &credits,
        value,
        points: earned(&weights, &credits).unwrap_or_default(),
        passes: &passes,
    };
    let metrics = credited.metrics();
    // Without positive weights there is no share; the weights stay unchanged.
    let whole = if positive > 0.0 { positive } else { 1.0 };
    let mut components = Vec::with_capacity(credits.len());
    for ((criterion, weight), credit) in case.criteria.iter().zip(weights).zip(credits) {
        components.push(credit::component(criterion, weight / whole, credit));
    }
    components.extend(metrics);
    Score {
        scorer: CRITERIA.score_id(scorer.is_baseline),
        value,
        is_clipped: scorer.profile.clip,
        group: case.group.clone(),
        is_pooled: scorer.profile.micro,
        components,
        notes,
        ..Score::default()
    }
}

/// The share of a tree's nodes below which nothing has a weight: they count as 0 in the reference, and by default do not count.
fn weightless_share(scorer: &CriteriaScorer, case: &TestCase) -> f64 {
    if scorer.mode == Mode::Default || !scorer.profile.has_trees() {
        return 0.0;
    }
    let weights = case.criteria.iter().map(|criterion| criterion.weight);
    let share = 1.0 - weights.sum::<f64>();
    // Less is rounding.
    if share > 1e-9 { share } else { 0.0 }
}

/// Whether answers are compared with a reference article.
fn has_article(scorer: &CriteriaScorer) -> bool {
    !scorer.profile.reply.second.is_empty()
}

/// The weight with which each criterion counts.
fn counted_weights(case: &TestCase, credits: &[CriterionCredit]) -> Vec<f64> {
    let mut weights = Vec::with_capacity(credits.len());
    for (criterion, credit) in case.criteria.iter().zip(credits) {
        weights.push(match credit {
            Ok(credit) => criterion.weight * credit.factor,
            // What the judge cannot assess has no weight.
            Err(_) if is_abstained(credit) => 0.0,
            Err(_) => criterion.weight,
        });
    }
    weights
}

fn value(
    scorer: &CriteriaScorer,
    credits: &[CriterionCredit],
    weights: &[f64],
    positive: f64,
    passes: &[f64],
) -> Option<f64> {
    if are_without_points(credits) {
        return Some(0.0);
    }
    let sum = earned(weights, credits)?;
    if positive > 0.0 {
        let of_passes = mean(passes).filter(|_| scorer.profile.clip);
        return Some(of_passes.unwrap_or_else(|| as_published(scorer, sum / positive)));
    }
    // ResearchRubrics gives 0, and so does RACE where no points are left.
    let gives_zero = scorer.counts_zero() || (has_article(scorer) && scorer.mode == Mode::Compat);
    gives_zero.then_some(0.0)
}

/// The score in each pass of a judge that is asked several times: where scores are cut to 0..=1 or have to reach a mark, their mean is
/// not the score of the mean credits. Empty where there is one pass, or a criterion without a verdict in each.
fn passes(
    scorer: &CriteriaScorer,
    credits: &[CriterionCredit],
    weights: &[f64],
    positive: f64,
) -> Vec<f64> {
    let mut counts = credits.iter().flatten().map(|credit| credit.passes.len());
    let count = counts
        .next()
        .filter(|first| *first > 1 && counts.all(|count| count == *first));
    let Some(count) = count.filter(|_| positive > 0.0) else {
        return Vec::new();
    };
    let mut passes = Vec::with_capacity(count);
    for pass in 0..count {
        let mut sum = 0.0;
        for (credit, weight) in credits.iter().zip(weights) {
            if let Ok(credit) = credit {
                sum += weight * credit.passes[pass];
            }
        }
        passes.push(as_published(scorer, sum / positive));
    }
    passes
}

/// A share as the profile gives it: cut to 0..=1, and with `--compat` rounded.
fn as_published(scorer: &CriteriaScorer, share: f64) -> f64 {
    let profile = &scorer.profile;
    let share = if profile.clip {
        share.clamp(0.0, 1.0)
    } else {
        share
    };
    match profile.round_in_compat {
        Some(places) if scorer.mode == Mode::Compat => rounded(share, places),
        _ => share,
    }
}

/// A number rounded to so many decimal places as Python's `round` does: by its exact value, halves to the even digit.
fn rounded(number: f64, places: usize) -> f64 {
    format!("{number:.places$}").parse().unwrap_or(number)
}

/// Whether answer and article have no points together on any criterion: then RACE has no share to give but 0.
fn are_without_points(credits: &[CriterionCredit]) -> bool {
    let mut all = credits.iter();
    !credits.is_empty()
        && all.all(|credit| {
            credit
                .as_ref()
                .is_ok_and(|credit| credit.is_without_points())
        })
}

/// The sum of weight x credit; `None` if a credit is missing for another reason than that the judge cannot assess it.
fn earned(weights: &[f64], credits: &[CriterionCredit]) -> Option<f64> {
    let parts = weights.iter().zip(credits);
    parts
        .map(|(weight, credit)| match credit {
            Ok(credit) => Some(weight * credit.share),
            Err(_) => is_abstained(credit).then_some(0.0),
        })
        .sum()
}

fn notes(scorer: &CriteriaScorer, credits: &[CriterionCredit], value: Option<f64>) -> Vec<String> {
    let mut notes = Vec::new();
    if credits.iter().any(is_abstained) {
        notes.push("criteria that the judge cannot assess do not count".to_owned());
    }
    if has_article(scorer) && has_share_out_of_range(value, credits) {
        notes.push(OUT_OF_RANGE.to_owned());
    }
    notes
}

fn has_share_out_of_range(score: Option<f64>, credits: &[CriterionCredit]) -> bool {
    let of_criteria = credits.iter().flatten().map(|credit| credit.share);
    let mut shares = score.into_iter().chain(of_criteria);
    shares.any(|share| !(0.0..=1.0).contains(&share))
}
