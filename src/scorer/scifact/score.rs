//! The scores of one submission.

use std::collections::HashMap;

use rayon::prelude::*;

use super::compat;
use super::counts::{Counts, Measures, SentenceCap, count_claim};
use crate::domain::Mode;
use crate::domain::scifact::{Claim, Prediction, Raised};

/// How a submission is scored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScoreOptions {
    /// How many sentences count towards *rationalized*.
    pub cap: SentenceCap,
    /// Correct, or as the reference does it.
    pub mode: Mode,
}

/// A scored submission.
#[derive(Debug, Clone, PartialEq)]
pub struct Submission {
    /// What each claim contributes; in compat only those with a prediction, in the order of the predictions.
    pub claims: Vec<Counts>,
    /// Claims of the gold without a prediction.
    pub claims_unpredicted: usize,
    /// Predictions whose claim is not in the gold; they count nowhere.
    pub predictions_unknown: usize,
    /// Predicted abstracts left out because their label is `NOT_ENOUGH_INFO`.
    pub abstracts_undecided: usize,
    /// Predicted abstracts with more than 3 sentences, of which only the first count towards *rationalized*.
    pub abstracts_long: usize,
}

impl Submission {
    /// Precision, recall and F1 from the summed counts.
    pub fn measures(&self) -> Measures {
        Measures::of_row(&self.sums().as_row())
    }

    /// The summed counts.
    pub fn sums(&self) -> Counts {
        self.claims.iter().copied().sum()
    }
}

/// Scores a submission against the gold; both in any order.
///
/// Default mode joins by claim id and counts every claim of the gold.
///
/// # Errors
/// Only in compat: the exception that the reference raises on these files.
pub fn score(claims: &[Claim], predictions: &[Prediction], options: ScoreOptions) -> Result<Submission, Raised> {
    if options.mode == Mode::Compat {
        compat::check(claims, predictions, options.cap)?;
    }
    let by_claim: HashMap<_, _> = predictions.iter().map(|prediction| (&prediction.claim_id, prediction)).collect();
    let known: HashMap<_, _> = claims.iter().map(|claim| (&claim.id, claim)).collect();
    let predicted = |claim: &&Claim| by_claim.contains_key(&claim.id);
    let claims_unpredicted = claims.iter().filter(|claim| !predicted(claim)).count();
    let counted = match options.mode {
        Mode::Default => {
            let one = |claim: &Claim| count_claim(claim, by_claim.get(&claim.id).copied(), options.cap);
            claims.par_iter().map(one).collect()
        }
        // The reference walks the predictions, so a claim without one is forgotten and a claim with two counts twice.
        Mode::Compat => {
            let one = |prediction: &Prediction| {
                known.get(&prediction.claim_id).map(|claim| count_claim(claim, Some(prediction), options.cap))
            };
            predictions.par_iter().filter_map(one).collect()
        }
    };
    let abstracts = || predictions.iter().flat_map(|prediction| &prediction.evidence);
    Ok(Submission {
        claims: counted,
        claims_unpredicted,
        predictions_unknown: predictions.iter().filter(|p| !known.contains_key(&p.claim_id)).count(),
        abstracts_undecided: predictions.iter().map(|prediction| prediction.undecided).sum(),
        abstracts_long: abstracts().filter(|predicted| predicted.sentences.len() > 3).count(),
    })
}
