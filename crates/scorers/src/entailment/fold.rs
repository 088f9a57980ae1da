//! Computes the score of an answer from its claims and their outcomes.

use scholareval_core::domain::{
    ClaimSupport, Component, ComponentKind, Mode, Score, UnscoredKind, UnscoredReason,
};

use super::claims::{AnswerClaim, ClaimPlan};
use super::{ClaimOutcome, ENTAILMENT, EntailmentScorer, Form, SupportVerdict};
use scholareval_stats::harmonic_mean;

/// The components, in this order.
pub const COMPONENTS: &[(&str, ComponentKind)] = &[
    ("citation_recall", ComponentKind::Share),
    ("citation_precision", ComponentKind::Share),
    ("citation_f1", ComponentKind::Share),
    ("cited_papers", ComponentKind::Count),
    ("sentences", ComponentKind::Count),
    ("skipped", ComponentKind::Count),
];

/// Descriptions of the components, in the order of [`COMPONENTS`].
const TEXTS: [&str; 6] = [
    "supported claims / claims",
    "citations that earned their place / citations counted",
    "harmonic mean of the two",
    "distinct numbers cited",
    "claims",
    "sentences too short for a claim",
];

/// A value, or why it is missing.
type Value = Result<f64, UnscoredReason>;

/// Counts of items: with the verdict yes, undecided, and all.
#[derive(Debug, Clone, Copy, Default)]
struct Share {
    yes: u64,
    unknown: u64,
    all: u64,
}

impl Share {
    /// yes / all, 0 if there are no items; an error with the bounds if any item is undecided.
    fn value(self, what: &str, first: Option<&UnscoredReason>) -> Value {
        let low = self.share_of_all(self.yes);
        if self.unknown == 0 {
            return Ok(low);
        }
        let high = self.share_of_all(self.yes + self.unknown);
        let cause = first.map_or_else(|| "not judged".to_owned(), |reason| reason.message.clone());
        let kind = first.map_or(UnscoredKind::DependsOnUnscored, |reason| reason.kind);
        let Self { unknown, all, .. } = self;
        let message =
            format!("{unknown} of {all} {what} unscored (between {low:.3} and {high:.3}): {cause}");
        Err(UnscoredReason::new(kind, message))
    }

    fn share_of_all(self, part: u64) -> f64 {
        if self.all == 0 {
            0.0
        } else {
            part as f64 / self.all as f64
        }
    }
}

/// The score of an answer for which the reference has no number.
pub(super) fn refused() -> Score {
    let reason = UnscoredReason::new(
        UnscoredKind::Exception,
        "the reference needs a text that a cited source does not have",
    );
    let values = std::array::from_fn(|_| Err(reason.clone()));
    Score {
        scorer: ENTAILMENT.name.into(),
        components: components(values),
        ..Score::default()
    }
}

/// The score, once every question has a verdict.
pub(super) fn score(
    scorer: &EntailmentScorer,
    plan: &ClaimPlan,
    outcomes: Vec<ClaimOutcome>,
) -> Score {
    let mut score = Score {
        scorer: ENTAILMENT.name.into(),
        ..Score::default()
    };
    if plan.is_empty && scorer.form == Form::Long {
        // Its means then favor systems that fail to answer, which is why the default is 0.
        if scorer.mode == Mode::Compat {
            score
                .notes
                .push("no sentence: the reference leaves the answer out of its means".to_owned());
            return score;
        }
        score
            .notes
            .push("no sentence: recall and precision are 0".to_owned());
    }
    let skipped = plan.claims.iter().filter(|claim| claim.skipped).count();
    if skipped > 0 {
        score.notes.push(
            "sentences under 50 characters do not count as claims and were skipped (column skipped)"
                .to_owned(),
        );
    }
    let reason = outcomes
        .iter()
        .find_map(|outcome| outcome.unscored.as_ref());
    let recall = recall(plan, &outcomes).value("claims", reason);
    let precision = precision(scorer.mode, plan, &outcomes).value("citations", reason);
    let f1 = f1(&recall, &precision);
    score.value = f1.as_ref().ok().copied();
    score.components = components([
        recall,
        precision,
        f1,
        Ok(plan.cited_papers as f64),
        Ok((plan.claims.len() - skipped) as f64),
        Ok(skipped as f64),
    ]);
    score.claims = plan
        .claims
        .iter()
        .zip(outcomes)
        .map(|(claim, outcome)| support(claim, outcome))
        .collect();
    score
}

/// Claims that their citations together support.
fn recall(plan: &ClaimPlan, outcomes: &[ClaimOutcome]) -> Share {
    let mut share = Share::default();
    for (_, outcome) in counted_claims(plan, outcomes) {
        share.all += 1;
        // A claim that no judge is asked about cites nothing, or out of range: it is not supported.
        if let Some(verdict) = &outcome.together {
            share.yes += u64::from(verdict.holds() == Some(true));
            share.unknown += u64::from(verdict.holds().is_none());
        }
    }
    share
}

/// Citations that support their claim, or without which the others do not.
fn precision(mode: Mode, plan: &ClaimPlan, outcomes: &[ClaimOutcome]) -> Share {
    let mut share = Share::default();
    for (claim, outcome) in counted_claims(plan, outcomes) {
        // The reference ignores citations of claims that cite out of range.
        if claim.is_asked() || mode == Mode::Default {
            share.all += claim.citations.len() as u64;
        }
        share.yes += outcome.citation_count(Some(true));
        share.unknown += outcome.citation_count(None);
    }
    share
}

/// The claims with their outcomes, without sentences too short for a claim.
fn counted_claims<'a>(
    plan: &'a ClaimPlan,
    outcomes: &'a [ClaimOutcome],
) -> impl Iterator<Item = (&'a AnswerClaim, &'a ClaimOutcome)> {
    let all = plan.claims.iter().zip(outcomes);
    all.filter(|(claim, _)| !claim.skipped)
}

/// The harmonic mean of recall and precision, if both have a value.
fn f1(recall: &Value, precision: &Value) -> Value {
    match (recall, precision) {
        (Ok(recall), Ok(precision)) => Ok(harmonic_mean(*recall, *precision)),
        (Err(reason), _) | (_, Err(reason)) => Err(reason.clone()),
    }
}

fn components(values: [Value; 6]) -> Vec<Component> {
    let mut components = Vec::new();
    for (((name, kind), text), value) in COMPONENTS.iter().zip(TEXTS).zip(values) {
        let component = Component::new(name, *kind).with_text(text);
        components.push(component.with(value.map(|value| (value, None))));
    }
    components
}

fn support(claim: &AnswerClaim, outcome: ClaimOutcome) -> ClaimSupport {
    let precise = outcome.citation_count(Some(true));
    let (label, feedback, supported) = match outcome.together {
        Some(SupportVerdict::Known {
            holds,
            label,
            feedback,
        }) => (label, feedback, Some(holds)),
        Some(SupportVerdict::Unscored(_) | SupportVerdict::Open) => (None, None, None),
        None => (None, None, (!claim.skipped).then_some(false)),
    };
    let all_known = outcome.earned.iter().all(Option::is_some);
    // Readers need to see which of several citations are superfluous.
    let unneeded = claim
        .citations
        .iter()
        .zip(&outcome.earned)
        .filter(|(_, earned)| **earned == Some(false));
    let unneeded: Vec<String> = unneeded.map(|(number, _)| format!("[{number}]")).collect();
    let has_unneeded = supported == Some(true) && !unneeded.is_empty();
    let why = match &claim.why {
        Some(why) => Some(why.clone()),
        None if has_unneeded => Some(format!("not needed: {}", unneeded.join(", "))),
        None => None,
    };
    ClaimSupport {
        claim: claim.text.to_string(),
        citations: claim.citations.clone(),
        inherited: claim.inherited,
        label,
        supported,
        precise_citations: (all_known && !claim.skipped).then_some(precise),
        why,
        feedback,
        unscored: outcome.unscored,
    }
}
