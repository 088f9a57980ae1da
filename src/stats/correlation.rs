//! Correlations of two lists, with intervals: Pearson, Spearman, Kendall's tau-b.

use super::bootstrap::Interval;
use super::jackknife::coefficient_interval;
use super::kendall::RankedPairs;
use super::summary::{distinct, mean, place};

/// Kind of correlation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Correlation {
    /// Pearson's product-moment correlation.
    Pearson,
    /// Spearman's rank correlation: Pearson's of the ranks, ties sharing their mean rank.
    Spearman,
    /// Kendall's tau-b (M. G. Kendall, "The treatment of ties in ranking problems", Biometrika 33, 1945): concordant less
    /// discordant pairs over the geometric mean of the pairs untied in x and those untied in y.
    KendallTauB,
}

impl Correlation {
    /// The correlation of `x` and `y`, -1..=1; `None` for unequal lengths, fewer than two pairs, a list whose values
    /// are all equal, or values that are not finite.
    pub fn of(self, x: &[f64], y: &[f64]) -> Option<f64> {
        self.of_weights(x, y)?(&vec![1; x.len()])
    }

    /// The interval of the correlation, as [`coefficient_interval`]; `clusters` gives each pair's cluster, and ranks are
    /// those of the pairs that are left. `None` also for `clusters` of another length.
    ///
    /// ```
    /// use scholareval::stats::Correlation;
    ///
    /// let judge = [1.0, 2.0, 2.0, 3.0, 4.0, 5.0, 5.0, 4.0];
    /// let human = [1.0, 1.0, 3.0, 3.0, 4.0, 4.0, 5.0, 5.0];
    /// let questions = [0, 1, 2, 3, 4, 5, 6, 7];
    /// let interval = Correlation::Spearman.clustered_interval(&judge, &human, &questions, 0.95);
    /// assert!(interval.is_some_and(|i| 0.0 < i.low && i.low < i.high && i.high < 1.0));
    /// ```
    pub fn clustered_interval(self, x: &[f64], y: &[f64], clusters: &[usize], confidence: f64) -> Option<Interval> {
        let statistic = self.of_weights(x, y).filter(|_| clusters.len() == x.len())?;
        coefficient_interval(clusters, statistic, confidence)
    }

    /// The correlation with a weight for every pair.
    fn of_weights(self, x: &[f64], y: &[f64]) -> Option<impl Fn(&[u32]) -> Option<f64> + Sync + use<>> {
        let is_usable = x.len() == y.len() && x.len() >= 2 && x.iter().chain(y).all(|value| value.is_finite());
        if !is_usable {
            return None;
        }
        let ranked = (self == Self::KendallTauB).then(|| RankedPairs::new(x, y));
        let (x, y) = (Placed::new(x), Placed::new(y));
        Some(move |weights: &[u32]| match &ranked {
            Some(pairs) => pairs.tau_b(weights),
            None => {
                let ranks = self == Self::Spearman;
                product_moment(&x.centered(ranks, weights)?, &y.centered(ranks, weights)?, weights)
            }
        })
    }
}

/// The intraclass correlation as the reference script of ScholarQABench computes it (`calculate_icc`): deviations
/// from the grand mean g of both lists, n the number of pairs, s2 = sum of squared deviations of both / (2n - 1),
/// result = sum((x - g)(y - g)) / ((n - 1) s2). It may exceed 1 (identical lists 1, 2, 3 give 1.25), so it is for
/// comparison with published numbers only. `None` for fewer than two pairs or no variance.
pub fn intraclass_correlation(x: &[f64], y: &[f64]) -> Option<f64> {
    let pairs = x.len().min(y.len());
    let both: Vec<f64> = x.iter().chain(y).copied().collect();
    let grand = mean(&both)?;
    if pairs < 2 || both.iter().all(|value| *value == both[0]) {
        return None;
    }
    let squares: f64 = both.iter().map(|value| (value - grand).powi(2)).sum();
    let variance = squares / (2 * pairs - 1) as f64;
    let shared: f64 = x.iter().zip(y).map(|(a, b)| (a - grand) * (b - grand)).sum();
    Some(shared / ((pairs - 1) as f64 * variance))
}

/// One list: its distinct values in ascending order, and the index of each unit's value.
struct Placed {
    places: Vec<usize>,
    values: Vec<f64>,
}

impl Placed {
    fn new(list: &[f64]) -> Self {
        let values = distinct(list.iter().copied());
        Self { places: list.iter().map(|value| place(&values, *value)).collect(), values }
    }

    /// Each unit's value (or mean rank) minus the weighted mean; `None` if only one value was drawn.
    fn centered(&self, ranks: bool, weights: &[u32]) -> Option<Vec<f64>> {
        let mut counts = vec![0.0; self.values.len()];
        self.places.iter().zip(weights).for_each(|(place, weight)| counts[*place] += f64::from(*weight));
        if counts.iter().filter(|count| **count > 0.0).count() < 2 {
            return None;
        }
        let mut scores = self.values.clone();
        if ranks {
            let mut below = 0.0;
            for (score, count) in scores.iter_mut().zip(&counts) {
                *score = below + (count + 1.0) / 2.0;
                below += count;
            }
        }
        let total: f64 = counts.iter().sum();
        let mean = counts.iter().zip(&scores).map(|(count, score)| count * score).sum::<f64>() / total;
        Some(self.places.iter().map(|place| scores[*place] - mean).collect())
    }
}

fn product_moment(dx: &[f64], dy: &[f64], weights: &[u32]) -> Option<f64> {
    let sum = |a: &[f64], b: &[f64]| -> f64 {
        a.iter().zip(b).zip(weights).map(|((a, b), weight)| f64::from(*weight) * a * b).sum()
    };
    let r = sum(dx, dy) / (sum(dx, dx).sqrt() * sum(dy, dy).sqrt());
    r.is_finite().then(|| r.clamp(-1.0, 1.0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    const ALL: [Correlation; 3] = [Correlation::Pearson, Correlation::Spearman, Correlation::KendallTauB];

    fn lists(n: u32) -> (Vec<f64>, Vec<f64>) {
        (0..n).map(|i| (f64::from(i * i % 17), f64::from(i * i % 17) + f64::from(i * 7 % 11))).unzip()
    }

    #[test]
    fn correlations_are_those_of_scipy() {
        let golden: Value = serde_json::from_str(include_str!("../../tests/fixtures/stats/golden.json")).unwrap();
        let cases = golden["correlation"].as_array().unwrap();
        assert!(cases.len() >= 10);
        for case in cases {
            let list =
                |key: &str| -> Vec<f64> { case[key].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect() };
            let (x, y) = (list("x"), list("y"));
            for (name, kind) in ["pearson", "spearman", "kendall"].into_iter().zip(ALL) {
                match (case[name].as_f64(), kind.of(&x, &y)) {
                    (Some(expected), Some(ours)) => {
                        assert!((expected - ours).abs() < 1e-12, "{}: {name} {ours}", case["name"]);
                    }
                    (expected, ours) => assert_eq!(expected, ours, "{}: {name}", case["name"]),
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_correlated_is_none() {
        assert_eq!(Correlation::KendallTauB.of(&[1.0], &[1.0]), None);
        assert_eq!(Correlation::Pearson.of(&[1.0, 2.0], &[1.0]), None);
        assert_eq!(Correlation::Spearman.of(&[1.0, f64::NAN], &[1.0, 2.0]), None);
        assert_eq!(Correlation::Pearson.of(&[0.1, 0.1, 0.1], &[1.0, 2.0, 3.0]), None);
    }

    #[test]
    fn copies_of_a_pair_in_one_cluster_are_no_evidence() {
        let (x, y) = lists(30);
        let own: Vec<usize> = (0..30).collect();
        let copied = |list: &[f64]| list.iter().flat_map(|value| [*value; 3]).collect::<Vec<f64>>();
        let thirds: Vec<usize> = (0..90).map(|at| at / 3).collect();
        for kind in [Correlation::Pearson, Correlation::Spearman] {
            let plain = kind.clustered_interval(&x, &y, &own, 0.95).unwrap();
            // Three copies of every pair change neither correlation nor its interval over clusters.
            let clustered = kind.clustered_interval(&copied(&x), &copied(&y), &thirds, 0.95).unwrap();
            assert!((clustered.low - plain.low).abs() < 1e-9 && (clustered.high - plain.high).abs() < 1e-9, "{kind:?}");
        }
        assert_eq!(Correlation::KendallTauB.clustered_interval(&x, &y, &own[1..], 0.95), None);
        assert_eq!(Correlation::KendallTauB.clustered_interval(&x, &y, &[7; 30], 0.95), None);
    }

    #[test]
    fn the_interval_holds_the_correlation_and_turns_with_its_sign() {
        let (x, y) = lists(60);
        let (turned, own) = (y.iter().map(|value| -value).collect::<Vec<_>>(), (0..60).collect::<Vec<_>>());
        for correlation in ALL {
            let r = correlation.of(&x, &y).unwrap();
            let interval = correlation.clustered_interval(&x, &y, &own, 0.95).unwrap();
            assert!(-1.0 <= interval.low && interval.low < r && r < interval.high && interval.high <= 1.0);
            let other = correlation.clustered_interval(&x, &turned, &own, 0.95).unwrap();
            assert!((other.low + interval.high).abs() < 1e-9, "{correlation:?} {interval:?} {other:?}");
        }
    }

    #[test]
    fn a_resample_has_the_correlation_of_the_pairs_written_out() {
        let (x, y) = lists(8);
        let weights = [2, 0, 1, 3, 0, 1, 0, 1];
        let write = |list: &[f64]| -> Vec<f64> {
            list.iter().zip(weights).flat_map(|(v, w)| std::iter::repeat_n(*v, w as usize)).collect()
        };
        for kind in ALL {
            let weighted = kind.of_weights(&x, &y).unwrap()(&weights).unwrap();
            assert!((weighted - kind.of(&write(&x), &write(&y)).unwrap()).abs() < 1e-12, "{kind:?}");
        }
    }

    #[test]
    fn perfect_agreement_has_no_interval() {
        let (x, own) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(Correlation::KendallTauB.clustered_interval(&x, &x, &own, 0.95), None);
        assert_eq!(Correlation::Pearson.clustered_interval(&x, &[2.0; 7], &own, 0.95), None);
    }

    #[test]
    fn the_reference_intraclass_correlation_of_identical_lists_exceeds_1() {
        // g = 2; squares 2 + 2 = 4; s2 = 4 / 5; shared 2; 2 / (2 * 0.8) = 1.25
        assert_eq!(intraclass_correlation(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]), Some(1.25));
        assert_eq!(intraclass_correlation(&[], &[]), None);
        assert_eq!(intraclass_correlation(&[1.0, 2.0], &[1.0]), None);
    }

    proptest! {
        #[test]
        fn a_correlation_is_symmetric_bounded_and_blind_to_order(
            pairs in prop::collection::vec((0..5_u8, 0..5_u8), 2..15), turn in 0..15_usize
        ) {
            let split = |pairs: &[(u8, u8)]| -> (Vec<f64>, Vec<f64>) {
                pairs.iter().map(|(a, b)| (f64::from(*a), f64::from(*b))).unzip()
            };
            let (x, y) = split(&pairs);
            let mut turned = pairs.clone();
            turned.rotate_left(turn % pairs.len());
            let (tx, ty) = split(&turned);
            for kind in ALL {
                let (r, swapped, moved) = (kind.of(&x, &y), kind.of(&y, &x), kind.of(&tx, &ty));
                prop_assert_eq!(r.is_some(), swapped.is_some());
                prop_assert_eq!(r.is_some(), moved.is_some());
                if let (Some(r), Some(swapped), Some(moved)) = (r, swapped, moved) {
                    prop_assert!((-1.0..=1.0).contains(&r));
                    prop_assert!((r - swapped).abs() < 1e-12 && (r - moved).abs() < 1e-12);
                }
            }
        }
    }
}
