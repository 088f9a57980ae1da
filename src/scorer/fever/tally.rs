//! Adding claims up.

use std::collections::BTreeMap;

use super::{InstanceScore, Share};
use crate::domain::Mode;
use crate::domain::fever::Raised;

/// The five numbers of a system, each 0..=1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FeverScores {
    /// Claims with the right label and, where verifiable, a whole evidence group, over all claims. The FEVER score.
    pub strict_score: f64,
    /// Claims with the right label over all claims.
    pub label_accuracy: f64,
    /// Mean evidence precision over verifiable claims; 1 if there are none.
    pub precision: f64,
    /// Share of verifiable claims of which a whole group is predicted; 0 if there are none.
    pub recall: f64,
    /// 2 precision recall / (precision + recall); 0 where both are 0.
    pub f1: f64,
}

/// Sums over claims. Precisions are kept as counts of equal shares, so that neither the order of claims nor the number of
/// threads shows in the result; beside it runs the reference's own sum, in file order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    /// Claims.
    pub claims: u64,
    /// Claims with the right label.
    pub labels_correct: u64,
    /// Claims that are strictly correct.
    pub strictly_correct: u64,
    /// Claims that ask for evidence.
    pub verifiable: u64,
    /// Verifiable claims of which a whole group is predicted.
    pub recalled: u64,
    shares: BTreeMap<Share, u64>,
    precision_in_order: f64,
}

impl Tally {
    /// Adds a claim.
    pub fn add(&mut self, score: InstanceScore) {
        self.claims += 1;
        self.labels_correct += u64::from(score.label_correct);
        self.strictly_correct += u64::from(score.strictly_correct);
        if let Some(share) = score.precision {
            self.verifiable += 1;
            *self.shares.entry(share).or_default() += 1;
            self.precision_in_order += share.value();
        }
        self.recalled += u64::from(score.recalled == Some(true));
    }

    /// The five numbers.
    ///
    /// # Errors
    /// [`Raised::ZeroDivision`] if there is no claim; in compat mode also where precision and recall are both 0.
    pub fn scores(&self, mode: Mode) -> Result<FeverScores, Raised> {
        if self.claims == 0 {
            return Err(Raised::ZeroDivision);
        }
        let sum = match mode {
            Mode::Compat => self.precision_in_order,
            Mode::Default => self.shares.iter().map(|(share, count)| share.value() * *count as f64).sum(),
        };
        let of_verifiable = |sum: f64, without: f64| match self.verifiable {
            0 => without,
            verifiable => sum / verifiable as f64,
        };
        let precision = of_verifiable(sum, 1.0);
        let recall = of_verifiable(self.recalled as f64, 0.0);
        let f1 = match (precision + recall == 0.0, mode) {
            (true, Mode::Compat) => return Err(Raised::ZeroDivision),
            (true, Mode::Default) => 0.0,
            (false, _) => 2.0 * precision * recall / (precision + recall),
        };
        let of_claims = |count: u64| count as f64 / self.claims as f64;
        Ok(FeverScores {
            strict_score: of_claims(self.strictly_correct),
            label_accuracy: of_claims(self.labels_correct),
            precision,
            recall,
            f1,
        })
    }
}
