//! Precision, recall and F1 of a system from those of its answers.

use super::mean;

/// Precision and recall of one answer, or of a system, each 0..=1.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PrecisionRecall {
    /// Share of what was given that is right.
    pub precision: f64,
    /// Share of what was wanted that was given.
    pub recall: f64,
}

impl PrecisionRecall {
    /// Their harmonic mean, 2 P R / (P + R), 0..=1; 0 where both are 0.
    pub fn f1(self) -> f64 {
        let sum = self.precision + self.recall;
        if sum == 0.0 { 0.0 } else { 2.0 * self.precision * self.recall / sum }
    }
}

/// Precision, recall and F1 over a set of answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SetF1 {
    /// The mean precision and the mean recall.
    pub means: PrecisionRecall,
    /// The harmonic mean of these two means: what the benchmark calls citation F1.
    pub f1: f64,
    /// The mean of the answers' own F1; never more than `f1`, since the harmonic mean is concave.
    pub f1_macro: f64,
}

/// F1 over a set of answers, all 0..=1; `None` without answers. The order of the answers does not matter beyond
/// rounding.
///
/// ```
/// use scholareval::stats::{PrecisionRecall, set_f1};
/// let all = [PrecisionRecall { precision: 1.0, recall: 0.5 }, PrecisionRecall { precision: 0.0, recall: 0.5 }];
/// let found = set_f1(&all).unwrap();
/// // both means 1/2, so F1 1/2; the answers' own F1 are 2/3 and 0
/// assert_eq!((found.f1, found.f1_macro), (0.5, 1.0 / 3.0));
/// ```
pub fn set_f1(answers: &[PrecisionRecall]) -> Option<SetF1> {
    let over = |value: fn(&PrecisionRecall) -> f64| mean(&answers.iter().map(value).collect::<Vec<_>>());
    let means = PrecisionRecall { precision: over(|a| a.precision)?, recall: over(|a| a.recall)? };
    Some(SetF1 { means, f1: means.f1(), f1_macro: over(|a| a.f1())? })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn without_answers_there_is_no_f1_and_zeros_give_zero() {
        assert_eq!(set_f1(&[]), None);
        let zero = PrecisionRecall::default();
        assert_eq!(set_f1(&[zero]), Some(SetF1 { means: zero, f1: 0.0, f1_macro: 0.0 }));
    }

    proptest! {
        #[test]
        fn f1_lies_between_precision_and_recall_and_is_not_below_the_macro_mean(
            pairs in prop::collection::vec((0.0..=1.0_f64, 0.0..=1.0_f64), 1..9)
        ) {
            let answers: Vec<_> = pairs.iter().map(|&(precision, recall)| PrecisionRecall { precision, recall }).collect();
            let found = set_f1(&answers).unwrap();
            let (low, high) = (found.means.precision.min(found.means.recall), found.means.precision.max(found.means.recall));
            prop_assert!(found.f1 >= low - 1e-12 && found.f1 <= high + 1e-12);
            // The harmonic mean is concave: of means it is at least the mean of it.
            prop_assert!(found.f1 >= found.f1_macro - 1e-12);
        }
    }
}
