//! Computes the score of an answer from its claims and their outcomes.

use crate::domain::{
    ClaimSupport, Component, ComponentKind, Mode, Score, UnscoredKind, UnscoredReason,
};

use super::claims::{Claim, ClaimPlan};
use super::{ENTAILMENT, EntailmentScorer, Form, Outcome, Support};
use crate::stats::harmonic_mean;

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
        let share_of_all = |part: u64| {
            if self.all == 0 {
                0.0
            } else {
                part as f64 / self.all as f64
            }
        };
        if self.unknown == 0 {
            return Ok(share_of_all(self.yes));
        }
        let (low, high) = (
            share_of_all(self.yes),
            share_of_all(self.yes + self.unknown),
        );
        let cause = first.map_or_else(|| "not judged".to_owned(), |reason| reason.message.clone());
        let kind = first.map_or(UnscoredKind::DependsOnUnscored, |reason| reason.kind);
        let Self { unknown, all, .. } = self;
        let message =
            format!("{unknown} of {all} {what} unscored (between {low:.3} and {high:.3}): {cause}");
        Err(UnscoredReason::new(kind, message))
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
pub(super) fn score(scorer: &EntailmentScorer, plan: &ClaimPlan, outcomes: Vec<Outcome>) -> Score {
    let mut score = Score {
        scorer: ENTAILMENT.name.into(),
        ..Score::default()
    };
    if plan.is_empty && scorer.form == Form::Long {
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
    let reason = outcomes.iter().find_map(|outcome| outcome.unscored.clone());
    let (mut recall, mut precision) = (Share::default(), Share::default());
    for (claim, outcome) in plan
        .claims
        .iter()
        .zip(&outcomes)
        .filter(|(claim, _)| !claim.skipped)
    {
        recall.all += 1;
        match outcome.together.as_ref().map(Support::holds) {
            Some(None) => recall.unknown += 1,
            Some(Some(true)) => recall.yes += 1,
            Some(Some(false)) | None => {}
        }
        // The reference ignores citations of claims that cite out of range.
        if claim.is_asked() || scorer.mode == Mode::Default {
            precision.all += claim.citations.len() as u64;
        }
        precision.yes += outcome
            .earned
            .iter()
            .filter(|earned| **earned == Some(true))
            .count() as u64;
        precision.unknown += outcome
            .earned
            .iter()
            .filter(|earned| earned.is_none())
            .count() as u64;
    }
    let skipped = plan.claims.iter().filter(|claim| claim.skipped).count();
    if skipped > 0 {
        score.notes.push(
            "sentences under 50 characters do not count as claims and were skipped (column skipped)"
                .to_owned(),
        );
    }
    let recall_value = recall.value("claims", reason.as_ref());
    let precision_value = precision.value("citations", reason.as_ref());
    let f1 = match (&recall_value, &precision_value) {
        (Ok(recall), Ok(precision)) => Ok(harmonic_mean(*recall, *precision)),
        (Err(reason), _) | (_, Err(reason)) => Err(reason.clone()),
    };
    score.value = f1.clone().ok();
    let counts =
        [plan.cited_papers, plan.claims.len() - skipped, skipped].map(|count| Ok(count as f64));
    let [cited, sentences, skipped] = counts;
    score.components = components([recall_value, precision_value, f1, cited, sentences, skipped]);
    score.claims = plan
        .claims
        .iter()
        .zip(outcomes)
        .map(|(claim, outcome)| support(claim, outcome))
        .collect();
    score
}

fn components(values: [Value; 6]) -> Vec<Component> {
    let rows = COMPONENTS.iter().zip(TEXTS).zip(values);
    let component = |(((name, kind), text), value): ((&(&str, ComponentKind), &str), Value)| {
        Component::new(name, *kind)
            .with_text(text)
            .with(value.map(|value| (value, None)))
    };
    rows.map(component).collect()
}

fn support(claim: &Claim, outcome: Outcome) -> ClaimSupport {
    let (label, feedback, supported) = match outcome.together {
        Some(Support::Known {
            holds,
            label,
            feedback,
        }) => (label, feedback, Some(holds)),
        Some(Support::Unscored(_) | Support::Open) => (None, None, None),
        None => (None, None, (!claim.skipped).then_some(false)),
    };
    let all_known = outcome.earned.iter().all(Option::is_some);
    let earned = outcome
        .earned
        .iter()
        .filter(|earned| **earned == Some(true))
        .count() as u64;
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
        precise_citations: (all_known && !claim.skipped).then_some(earned),
        why,
        feedback,
        unscored: outcome.unscored,
    }
}
