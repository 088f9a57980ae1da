//! Whether the probabilities of a decision model are those with which people agree: Brier score and reliability table (G. W. Brier,
//! Monthly Weather Review 78, 1950).

use std::sync::Arc;

use serde::Serialize;

/// Bins of equal width.
const BINS: usize = 10;

/// A verdict on a criterion of two levels, with people's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LabeledBelief {
    /// The judge's probability that the criterion is met, 0..=1.
    pub probability: f64,
    /// Whether people say that it is met.
    pub is_met: bool,
    /// 1 / the probability with which it, or its answer, was drawn to be labeled.
    pub weight: f64,
}

/// The probabilities of a judge against people's labels.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reliability {
    /// The judge.
    pub judge: Arc<str>,
    /// Labeled verdicts with a probability.
    pub items: usize,
    /// The mean square of probability less label (0 or 1): 0 is best, and always saying the share of met criteria gives `base`.
    pub brier: f64,
    /// The share of met criteria s as s (1 - s).
    pub base: f64,
    /// By probability, ascending, without empty ones.
    pub bins: Vec<ReliabilityBin>,
}

/// Verdicts with about the same probability.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReliabilityBin {
    /// The lowest and the highest probability that it may have.
    pub range: [f64; 2],
    /// Its verdicts.
    pub items: usize,
    /// The mean probability.
    pub mean_probability: f64,
    /// The share of criteria that people say are met.
    pub met: f64,
}

/// The reliability of this judge; `None` without labeled verdicts that have probabilities.
///
/// ```
/// use scholareval_analysis::rater_agreement::{LabeledBelief, reliability};
///
/// let said = |probability, is_met| LabeledBelief { probability, is_met, weight: 1.0 };
/// // (0.1^2 + 0.3^2 + 0.8^2) / 3
/// let found = reliability("m", &[said(0.9, true), said(0.3, false), said(0.2, true)]).unwrap();
/// assert!((found.brier - 0.74 / 3.0).abs() < 1e-12 && found.bins.len() == 3);
/// ```
pub fn reliability(judge: &str, beliefs: &[LabeledBelief]) -> Option<Reliability> {
    let all = WeightedMeans::of(beliefs)?;
    let mut bins = Vec::new();
    for bin in 0..BINS {
        let mut in_bin = beliefs.to_vec();
        in_bin.retain(|belief| ((belief.probability * BINS as f64) as usize).min(BINS - 1) == bin);
        if let Some(means) = WeightedMeans::of(&in_bin) {
            bins.push(ReliabilityBin {
                range: [bin, bin + 1].map(|edge| edge as f64 / BINS as f64),
                items: in_bin.len(),
                mean_probability: means.probability,
                met: means.met,
            });
        }
    }
    Some(Reliability {
        judge: judge.into(),
        items: beliefs.len(),
        brier: all.square,
        base: all.met * (1.0 - all.met),
        bins,
    })
}

struct WeightedMeans {
    probability: f64,
    met: f64,
    square: f64,
}

impl WeightedMeans {
    fn of(beliefs: &[LabeledBelief]) -> Option<Self> {
        let mut means = Self {
            probability: 0.0,
            met: 0.0,
            square: 0.0,
        };
        let whole: f64 = beliefs.iter().map(|belief| belief.weight).sum();
        for belief in beliefs {
            let share = belief.weight / whole;
            let met = f64::from(u8::from(belief.is_met));
            means.probability += share * belief.probability;
            means.met += share * met;
            means.square += share * (belief.probability - met).powi(2);
        }
        (!beliefs.is_empty()).then_some(means)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_weighted_and_the_last_one_has_certainty() {
        let said = |probability, is_met, weight| LabeledBelief {
            probability,
            is_met,
            weight,
        };
        let beliefs = [
            said(1.0, true, 1.0),
            said(0.92, false, 3.0),
            said(0.05, false, 4.0),
        ];
        let found = reliability("m", &beliefs).unwrap();
        assert_eq!(found.items, 3);
        // (3 * 0.92^2 + 4 * 0.05^2) / 8, 1/8 * 7/8
        assert!((found.brier - (3.0 * 0.8464 + 4.0 * 0.0025) / 8.0).abs() < 1e-12);
        assert!((found.base - 7.0 / 64.0).abs() < 1e-12);
        let [low, high] = &found.bins[..] else {
            panic!("{found:?}");
        };
        assert_eq!((low.range, low.items, low.met), ([0.0, 0.1], 1, 0.0));
        assert_eq!((high.range, high.items, high.met), ([0.9, 1.0], 2, 0.25));
        assert!((high.mean_probability - 0.94).abs() < 1e-12);
        assert_eq!(reliability("m", &[]), None);
    }
}
