//! Correlations of two lists, with intervals: Pearson, Spearman, Kendall's tau-b.

use super::bootstrap::Interval;
use super::jackknife::coefficient_interval;
use super::summary::{mean, rounded};

/// Kind of correlation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
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
    /// are all equal, or values that are not finite. Ranks are of values to 12 decimals.
    pub fn of(self, x: &[f64], y: &[f64]) -> Option<f64> {
        let x: Vec<f64> = x.iter().map(|value| self.comparable(*value)).collect();
        let y: Vec<f64> = y.iter().map(|value| self.comparable(*value)).collect();
        let is_usable = x.len() == y.len() && x.iter().chain(&y).all(|value| value.is_finite());
        if !(is_usable && varies(&x) && varies(&y)) {
            return None;
        }
        match self {
            Self::Pearson => product_moment(&x, &y),
            Self::Spearman => product_moment(&ranks(&x), &ranks(&y)),
            Self::KendallTauB => Some(tau_b(&x, &y)),
        }
    }

    /// Ranks turn a difference in the last digit into a whole rank, so values that are equal but for rounding are made equal;
    /// for Pearson's r it does not matter.
    fn comparable(self, value: f64) -> f64 {
        if self == Self::Pearson {
            value
        } else {
            rounded(value)
        }
    }

    /// The interval of the correlation, as [`coefficient_interval`]; `clusters` gives each pair's cluster, and ranks are
    /// those of the pairs that are left. `None` also for `clusters` of another length.
    ///
    /// ```
    /// use scholareval_stats::Correlation;
    ///
    /// let judge = [1.0, 2.0, 2.0, 3.0, 4.0, 5.0, 5.0, 4.0];
    /// let human = [1.0, 1.0, 3.0, 3.0, 4.0, 4.0, 5.0, 5.0];
    /// let questions = [0, 1, 2, 3, 4, 5, 6, 7];
    /// let interval = Correlation::Spearman.clustered_interval(&judge, &human, &questions, 0.95);
    /// assert!(interval.is_some_and(|i| 0.0 < i.low && i.low < i.high && i.high < 1.0));
    /// ```
    pub fn clustered_interval(
        self,
        x: &[f64],
        y: &[f64],
        clusters: &[usize],
        confidence: f64,
    ) -> Option<Interval> {
        if [y.len(), clusters.len()] != [x.len(); 2] {
            return None;
        }
        coefficient_interval(
            clusters,
            |kept| self.of(&only(kept, x), &only(kept, y)),
            confidence,
        )
    }
}

/// The values at these places.
fn only(kept: &[usize], list: &[f64]) -> Vec<f64> {
    kept.iter().map(|at| list[*at]).collect()
}

fn varies(list: &[f64]) -> bool {
    list.iter().any(|value| *value != list[0])
}

/// Pearson's correlation of lists that both vary.
fn product_moment(x: &[f64], y: &[f64]) -> Option<f64> {
    let mean_x = mean(x)?;
    let mean_y = mean(y)?;
    let mut products = 0.0;
    let mut squares_x = 0.0;
    let mut squares_y = 0.0;
    for (x, y) in x.iter().zip(y) {
        let dx = x - mean_x;
        let dy = y - mean_y;
        products += dx * dy;
        squares_x += dx * dx;
        squares_y += dy * dy;
    }
    let r = products / (squares_x.sqrt() * squares_y.sqrt());
    // Rounding can lead to 1.0000000000000002, of which atanh is NaN.
    r.is_finite().then(|| r.clamp(-1.0, 1.0))
}

/// The ranks of the values from 1; ties share their mean rank.
fn ranks(list: &[f64]) -> Vec<f64> {
    let mut sorted = list.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let mut ranks = Vec::new();
    for value in list {
        let below = sorted.partition_point(|other| other < value);
        let not_above = sorted.partition_point(|other| other <= value);
        ranks.push((below + not_above + 1) as f64 / 2.0);
    }
    ranks
}

/// Kendall's tau-b of lists that both vary, in O(n log n): W. R. Knight, "A computer method for calculating Kendall's tau with
/// ungrouped data", JASA 61 (1966).
fn tau_b(x: &[f64], y: &[f64]) -> f64 {
    // The sum turns -0 into 0, which sorting would set apart.
    let mut units: Vec<(f64, f64)> = x.iter().zip(y).map(|(x, y)| (x + 0.0, y + 0.0)).collect();
    units.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    // Whole numbers, since the balance is a small difference of large counts of pairs.
    let tied_x = tied_pairs(&units, |a, b| a.0 == b.0);
    let tied_both = tied_pairs(&units, |a, b| a == b);
    let mut by_y: Vec<f64> = units.iter().map(|unit| unit.1).collect();
    // In the order of x, a pair is discordant if its y are in the wrong order.
    let discordant = sort_inversions(&mut by_y) as i128;
    let tied_y = tied_pairs(&by_y, |a, b| a == b);
    let untied_x = pairs_of(x.len()) - tied_x;
    let untied_y = pairs_of(x.len()) - tied_y;
    let balance = untied_x - tied_y + tied_both - 2 * discordant;
    (balance as f64 / (untied_x as f64).sqrt() / (untied_y as f64).sqrt()).clamp(-1.0, 1.0)
}

/// The number of pairs of `n` units.
fn pairs_of(n: usize) -> i128 {
    n as i128 * (n as i128 - 1) / 2
}

/// The number of pairs of equal units, which stand beside each other.
fn tied_pairs<T>(sorted: &[T], is_tied: impl Fn(&T, &T) -> bool) -> i128 {
    let runs = sorted.chunk_by(is_tied);
    runs.map(|same| pairs_of(same.len())).sum()
}

/// Sorts the values by merging; the number of pairs that were in the wrong order.
fn sort_inversions(values: &mut [f64]) -> usize {
    if values.len() < 2 {
        return 0;
    }
    let (left, right) = values.split_at_mut(values.len() / 2);
    let mut inversions = sort_inversions(left) + sort_inversions(right);
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let mut at = 0;
    for value in right.iter() {
        // Equal values are not inversions: pairs that tie in y are neither concordant nor
        // discordant.
        let smaller = left[at..].partition_point(|other| other <= value);
        merged.extend_from_slice(&left[at..at + smaller]);
        merged.push(*value);
        at += smaller;
        inversions += left.len() - at;
    }
    merged.extend_from_slice(&left[at..]);
    values.copy_from_slice(&merged);
    inversions
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
    // The script mixes 2n - 1 here with n - 1 below, which is why its result can exceed 1.
    let variance = squares / (2 * pairs - 1) as f64;
    let shared: f64 = x
        .iter()
        .zip(y)
        .map(|(a, b)| (a - grand) * (b - grand))
        .sum();
    Some(shared / ((pairs - 1) as f64 * variance))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    const ALL: [Correlation; 3] = [
        Correlation::Pearson,
        Correlation::Spearman,
        Correlation::KendallTauB,
    ];

    fn lists(n: u32) -> (Vec<f64>, Vec<f64>) {
        (0..n)
            .map(|i| {
                (
                    f64::from(i * i % 17),
                    f64::from(i * i % 17) + f64::from(i * 7 % 11),
                )
            })
            .unzip()
    }

    #[test]
    fn correlations_are_those_of_scipy() {
        let golden: Value =
            serde_json::from_str(include_str!("../tests/scipy/golden.json")).unwrap();
        let cases = golden["correlation"].as_array().unwrap();
        assert!(cases.len() >= 10);
        for case in cases {
            let list = |key: &str| -> Vec<f64> {
                case[key]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|v| v.as_f64().unwrap())
                    .collect()
            };
            let (x, y) = (list("x"), list("y"));
            for (name, kind) in ["pearson", "spearman", "kendall"].into_iter().zip(ALL) {
                match (case[name].as_f64(), kind.of(&x, &y)) {
                    (Some(expected), Some(ours)) => {
                        assert!(
                            (expected - ours).abs() < 1e-12,
                            "{}: {name} {ours}",
                            case["name"]
                        );
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
        assert_eq!(
            Correlation::Spearman.of(&[1.0, f64::NAN], &[1.0, 2.0]),
            None
        );
        assert_eq!(
            Correlation::Pearson.of(&[0.1, 0.1, 0.1], &[1.0, 2.0, 3.0]),
            None
        );
    }

    #[test]
    fn copies_of_a_pair_in_one_cluster_are_no_evidence() {
        let (x, y) = lists(30);
        let singles: Vec<usize> = (0..30).collect();
        let copied = |list: &[f64]| {
            list.iter()
                .flat_map(|value| [*value; 3])
                .collect::<Vec<f64>>()
        };
        let thirds: Vec<usize> = (0..90).map(|at| at / 3).collect();
        for kind in [Correlation::Pearson, Correlation::Spearman] {
            let plain = kind.clustered_interval(&x, &y, &singles, 0.95).unwrap();
            // Three copies of every pair change neither correlation nor its interval over clusters.
            let clustered = kind
                .clustered_interval(&copied(&x), &copied(&y), &thirds, 0.95)
                .unwrap();
            assert!(
                (clustered.low - plain.low).abs() < 1e-9
                    && (clustered.high - plain.high).abs() < 1e-9,
                "{kind:?}"
            );
        }
        assert_eq!(
            Correlation::KendallTauB.clustered_interval(&x, &y, &singles[1..], 0.95),
            None
        );
        assert_eq!(
            Correlation::KendallTauB.clustered_interval(&x, &y, &[7; 30], 0.95),
            None
        );
    }

    #[test]
    fn the_interval_holds_the_correlation_and_turns_with_its_sign() {
        let (x, y) = lists(60);
        let (turned, singles) = (
            y.iter().map(|value| -value).collect::<Vec<_>>(),
            (0..60).collect::<Vec<_>>(),
        );
        for correlation in ALL {
            let r = correlation.of(&x, &y).unwrap();
            let interval = correlation
                .clustered_interval(&x, &y, &singles, 0.95)
                .unwrap();
            assert!(
                -1.0 <= interval.low
                    && interval.low < r
                    && r < interval.high
                    && interval.high <= 1.0
            );
            let other = correlation
                .clustered_interval(&x, &turned, &singles, 0.95)
                .unwrap();
            assert!(
                (other.low + interval.high).abs() < 1e-9,
                "{correlation:?} {interval:?} {other:?}"
            );
        }
    }

    #[test]
    fn perfect_agreement_has_no_interval() {
        let (x, singles) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(
            Correlation::KendallTauB.clustered_interval(&x, &x, &singles, 0.95),
            None
        );
        assert_eq!(
            Correlation::Pearson.clustered_interval(&x, &[2.0; 7], &singles, 0.95),
            None
        );
    }

    #[test]
    fn the_reference_intraclass_correlation_of_identical_lists_exceeds_1() {
        // g = 2; squares 2 + 2 = 4; s2 = 4 / 5; shared 2; 2 / (2 * 0.8) = 1.25
        assert_eq!(
            intraclass_correlation(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]),
            Some(1.25)
        );
        assert_eq!(intraclass_correlation(&[], &[]), None);
        assert_eq!(intraclass_correlation(&[1.0, 2.0], &[1.0]), None);
    }

    fn tau_by_pairs(x: &[f64], y: &[f64]) -> Option<f64> {
        let (mut balance, mut untied_x, mut untied_y) = (0.0, 0.0_f64, 0.0_f64);
        for i in 0..x.len() {
            for j in 0..i {
                let sign = |d: f64| if d == 0.0 { 0.0 } else { d.signum() };
                let (dx, dy) = (sign(x[i] - x[j]), sign(y[i] - y[j]));
                balance += dx * dy;
                untied_x += dx * dx;
                untied_y += dy * dy;
            }
        }
        (untied_x > 0.0 && untied_y > 0.0).then(|| balance / (untied_x * untied_y).sqrt())
    }

    #[test]
    fn one_swap_among_four_by_hand() {
        // 6 pairs, 1 discordant: (5 - 1) / 6. Zeros of either sign are tied.
        let of = |x: &[f64], y: &[f64]| Correlation::KendallTauB.of(x, y).unwrap();
        assert!((of(&[1.0, 2.0, 3.0, 4.0], &[1.0, 3.0, 2.0, 4.0]) - 4.0 / 6.0).abs() < 1e-15);
        assert_eq!(
            of(&[0.0, -0.0, 1.0], &[1.0, 2.0, 3.0]),
            of(&[0.0, 0.0, 1.0], &[1.0, 2.0, 3.0])
        );
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
            let tau = Correlation::KendallTauB.of(&x, &y).zip(tau_by_pairs(&x, &y));
            prop_assert!(tau.is_none_or(|(ours, theirs)| (ours - theirs).abs() < 1e-12), "{:?}", tau);
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
