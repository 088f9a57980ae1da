//! Where the references raise, in the order in which they would meet it.

use std::collections::{HashMap, HashSet};

use super::counts::SentenceCap;
use crate::domain::scifact::{Claim, ClaimId, EvidenceGroup, Oddity, PredictedAbstract, Prediction, Raised};

/// What the reference of this cap raises on these files, if anything.
pub(super) fn check(claims: &[Claim], predictions: &[Prediction], cap: SentenceCap) -> Result<(), Raised> {
    match cap {
        SentenceCap::Three => verisci(claims, predictions),
        SentenceCap::ShortestRationale => leaderboard(claims, predictions),
    }
}

/// `verisci/evaluate/lib`: the gold is read, then all predictions, then counted prediction by prediction.
fn verisci(claims: &[Claim], predictions: &[Prediction]) -> Result<(), Raised> {
    for claim in claims {
        match claim.oddity {
            Some(Oddity::TwoLabels) => return raised("Exception", "gold claim", &claim.id, "two labels"),
            Some(Oddity::NoRationale) => return raised("IndexError", "gold claim", &claim.id, "no rationale"),
            Some(_) => return raised("KeyError", "gold claim", &claim.id, "unknown label"),
            None => {}
        }
    }
    for prediction in predictions {
        match prediction.oddity {
            Some(Oddity::Undecided) => {
                return raised("ValueError", "prediction", &prediction.claim_id, "NOT_ENOUGH_INFO");
            }
            Some(Oddity::TextDocId) => {
                return raised("ValueError", "prediction", &prediction.claim_id, "an abstract that is no number");
            }
            Some(Oddity::MissingKey) => return raised("KeyError", "prediction", &prediction.claim_id, "missing key"),
            // Met only when it counts.
            Some(Oddity::NoList) => {}
            Some(_) => return raised("KeyError", "prediction", &prediction.claim_id, "unknown label"),
            None => {}
        }
    }
    let mut by_id: HashMap<&ClaimId, Vec<&Claim>> = HashMap::new();
    for claim in claims {
        by_id.entry(&claim.id).or_default().push(claim);
    }
    for prediction in predictions {
        match by_id.get(&prediction.claim_id).map(Vec::as_slice) {
            Some(_) if prediction.oddity == Some(Oddity::NoList) => return no_list(&prediction.claim_id),
            Some([claim]) => no_sentence_twice(claim, prediction)?,
            Some(_) => return raised("AssertionError", "gold claim", &prediction.claim_id, "stands twice"),
            None => return raised("AssertionError", "prediction", &prediction.claim_id, "no such claim"),
        }
    }
    Ok(())
}

/// `scifact-evaluator/evaluator/eval.py`: ids and their order must be those of the gold.
fn leaderboard(claims: &[Claim], predictions: &[Prediction]) -> Result<(), Raised> {
    for claim in claims {
        match claim.oddity {
            Some(Oddity::TwoLabels) => return raised("ValueError", "gold claim", &claim.id, "two labels"),
            Some(Oddity::NoRationale) => return raised("IndexError", "gold claim", &claim.id, "no rationale"),
            // It compares labels as texts and looks at no gold label.
            _ => {}
        }
    }
    let same_ids = claims.iter().map(|claim| &claim.id).eq(predictions.iter().map(|prediction| &prediction.claim_id));
    if !same_ids {
        return Err(Raised { exception: "ValueError", at: "the ids or their order are not those of the gold".into() });
    }
    for (claim, prediction) in claims.iter().zip(predictions) {
        match prediction.oddity {
            Some(Oddity::MissingKey) => return raised("KeyError", "prediction", &prediction.claim_id, "missing key"),
            Some(Oddity::NoList) => return no_list(&prediction.claim_id),
            // Ids are compared as texts there.
            Some(Oddity::TextDocId) | None => {}
            Some(_) => return raised("ValueError", "prediction", &prediction.claim_id, "label that is not allowed"),
        }
        no_sentence_twice(claim, prediction)?;
    }
    Ok(())
}

/// Both references assert that a predicted sentence is in one gold rationale at most.
fn no_sentence_twice(claim: &Claim, prediction: &Prediction) -> Result<(), Raised> {
    for predicted in &prediction.evidence {
        let group = claim.groups().iter().find(|group| group.doc_id == predicted.doc_id);
        if group.is_some_and(|group| in_two_rationales(group, predicted)) {
            return raised("AssertionError", "gold claim", &claim.id, "a sentence in two rationales");
        }
    }
    Ok(())
}

fn in_two_rationales(group: &EvidenceGroup, predicted: &PredictedAbstract) -> bool {
    let mut seen = HashSet::new();
    let sets = group.rationales.iter().map(|rationale| rationale.0.iter().collect::<HashSet<_>>());
    let twice: HashSet<_> = sets.flatten().filter(|sentence| !seen.insert(*sentence)).collect();
    predicted.sentences.iter().any(|sentence| twice.contains(sentence))
}

fn no_list(id: &ClaimId) -> Result<(), Raised> {
    raised("TypeError", "prediction", id, "sentences are no list")
}

fn raised(exception: &'static str, what: &str, id: &ClaimId, why: &str) -> Result<(), Raised> {
    Err(Raised { exception, at: format!("{what} {id}: {why}") })
}
