//! The scores of two modules from their own files: abstract retrieval and rationale selection.

use std::collections::{HashMap, HashSet};

use super::counts::Prf;
use crate::domain::Mode;
use crate::domain::scifact::{Claim, ClaimId, DocId, Raised, Rationale, RationaleSelection, Retrieval};

/// How well abstracts were retrieved.
#[derive(Debug, Clone, PartialEq)]
pub struct RetrievalScores {
    /// For each claim `[hit one, hit all]`, 0 or 1; in compat for each prediction.
    pub claims: Vec<[f64; 2]>,
    /// Claims of the gold without a line; they are no hits.
    pub claims_unpredicted: usize,
    /// Lines whose claim is not in the gold; they count nowhere.
    pub predictions_unknown: usize,
    /// Ids written as text; they match nothing.
    pub text_ids: usize,
}

impl RetrievalScores {
    /// Share of claims with at least one of their abstracts retrieved (or with none to retrieve), 0..=1.
    pub fn hit_one(&self) -> Option<f64> {
        self.share(0)
    }

    /// Share of claims with all their abstracts retrieved, 0..=1.
    pub fn hit_all(&self) -> Option<f64> {
        self.share(1)
    }

    fn share(&self, which: usize) -> Option<f64> {
        let hits: f64 = self.claims.iter().map(|hits| hits[which]).sum();
        (!self.claims.is_empty()).then(|| hits / self.claims.len() as f64)
    }
}

/// Scores retrieved abstracts (`verisci/evaluate/abstract_retrieval.py`). The shares are over the claims of the gold;
/// the reference takes those of the predictions.
///
/// # Errors
/// Only in compat: `KeyError` for an unknown claim, `ZeroDivisionError` for no predictions.
pub fn score_retrieval(claims: &[Claim], predictions: &[Retrieval], mode: Mode) -> Result<RetrievalScores, Raised> {
    let known: HashMap<_, _> = claims.iter().map(|claim| (&claim.id, claim)).collect();
    let by_claim: HashMap<_, _> = predictions.iter().map(|line| (&line.claim_id, line)).collect();
    let unknown: Vec<_> = predictions.iter().filter(|line| !known.contains_key(&line.claim_id)).collect();
    let hits = match mode {
        Mode::Default => claims.iter().map(|c| by_claim.get(&c.id).map_or([0.0; 2], |line| hits(c, line))).collect(),
        Mode::Compat => {
            if let Some(line) = unknown.first() {
                return Err(no_such_claim("KeyError", &line.claim_id));
            }
            if predictions.is_empty() {
                return Err(nothing_predicted());
            }
            predictions.iter().filter_map(|line| known.get(&line.claim_id).map(|c| hits(c, line))).collect()
        }
    };
    Ok(RetrievalScores {
        claims: hits,
        claims_unpredicted: unpredicted(claims, predictions.iter().map(|line| &line.claim_id)),
        predictions_unknown: unknown.len(),
        text_ids: predictions.iter().map(|line| line.text_ids).sum(),
    })
}

fn hits(claim: &Claim, line: &Retrieval) -> [f64; 2] {
    let retrieved: HashSet<DocId> = line.doc_ids.iter().copied().collect();
    let found = claim.groups().iter().filter(|group| retrieved.contains(&group.doc_id)).count();
    let relevant = claim.groups().len();
    [found > 0 || relevant == 0, found == relevant].map(|hit| f64::from(u8::from(hit)))
}

/// How well rationale sentences were selected.
#[derive(Debug, Clone, PartialEq)]
pub struct RationaleScores {
    /// For each claim `[correct, retrieved, relevant]` sentences; in compat for each prediction.
    pub claims: Vec<[f64; 3]>,
    /// Claims of the gold without a line; they count in recall.
    pub claims_unpredicted: usize,
    /// Lines whose claim is not in the gold; they count nowhere.
    pub predictions_unknown: usize,
}

impl RationaleScores {
    /// Precision, recall and F1 from the summed counts.
    pub fn measure(&self) -> Prf {
        let sum = |which: usize| self.claims.iter().map(|counts| counts[which]).sum();
        Prf::of(sum(0), sum(1), sum(2))
    }
}

/// Scores selected sentences (`verisci/evaluate/rationale_selection.py`): a sentence counts, each time it is listed, if
/// it is in a gold rationale whose sentences are all selected.
///
/// # Errors
/// Only in compat: `AssertionError` where the lines are not in the order of the gold. The reference compares line by
/// line until the shorter file ends.
pub fn score_rationales(
    claims: &[Claim],
    predictions: &[RationaleSelection],
    mode: Mode,
) -> Result<RationaleScores, Raised> {
    let known: HashSet<_> = claims.iter().map(|claim| &claim.id).collect();
    let by_claim: HashMap<_, _> = predictions.iter().map(|line| (&line.claim_id, line)).collect();
    let counted = match mode {
        Mode::Default => claims.iter().map(|c| rationale_counts(c, by_claim.get(&c.id).copied(), mode)).collect(),
        Mode::Compat => {
            same_order(claims, predictions.iter().map(|line| &line.claim_id))?;
            claims.iter().zip(predictions).map(|(c, line)| rationale_counts(c, Some(line), mode)).collect()
        }
    };
    Ok(RationaleScores {
        claims: counted,
        claims_unpredicted: unpredicted(claims, predictions.iter().map(|line| &line.claim_id)),
        predictions_unknown: predictions.iter().filter(|line| !known.contains(&line.claim_id)).count(),
    })
}

fn rationale_counts(claim: &Claim, line: Option<&RationaleSelection>, mode: Mode) -> [f64; 3] {
    let relevant: usize = claim.groups().iter().flat_map(|g| &g.rationales).map(|rationale| rationale.0.len()).sum();
    let (mut correct, mut retrieved) = (0, 0);
    for (doc_id, sentences) in line.into_iter().flat_map(|line| &line.evidence) {
        let rationales = claim.groups().iter().find(|group| group.doc_id == *doc_id).map_or(&[][..], |g| &g.rationales);
        let all: HashSet<u32> = sentences.iter().copied().collect();
        let whole = |rationale: &Rationale| rationale.0.iter().all(|sentence| all.contains(sentence));
        let counts = |sentence: &&u32| {
            let mut within = rationales.iter().filter(|rationale| rationale.0.contains(sentence));
            match mode {
                Mode::Default => within.any(whole),
                // Of two rationales with the sentence the first decides.
                Mode::Compat => within.next().is_some_and(whole),
            }
        };
        retrieved += sentences.len();
        correct += sentences.iter().filter(counts).count();
    }
    [correct, retrieved, relevant].map(|count| count as f64)
}

/// The reference's assertion that two files have the same claims line by line, until the shorter one ends.
pub(super) fn same_order<'a>(claims: &[Claim], ids: impl Iterator<Item = &'a ClaimId>) -> Result<(), Raised> {
    match claims.iter().zip(ids).find(|(claim, id)| claim.id != **id) {
        Some((claim, id)) => {
            let at = format!("prediction {id}: the gold has claim {} in its place", claim.id);
            Err(Raised { exception: "AssertionError", at })
        }
        None => Ok(()),
    }
}

pub(super) fn unpredicted<'a>(claims: &[Claim], ids: impl Iterator<Item = &'a ClaimId>) -> usize {
    let predicted: HashSet<_> = ids.collect();
    claims.iter().filter(|claim| !predicted.contains(&claim.id)).count()
}

pub(super) fn nothing_predicted() -> Raised {
    Raised { exception: "ZeroDivisionError", at: "nothing is predicted".to_owned() }
}

fn no_such_claim(exception: &'static str, id: &ClaimId) -> Raised {
    Raised { exception, at: format!("prediction {id}: no such claim") }
}
