//! Paired comparison of systems over shared cases.

use super::bootstrap::{BcaOptions, Interval, clustered_mean_intervals};
use super::effect::{cliffs_delta, cohens_dz};
use super::summary::mean;

/// Difference of two systems over the same cases.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairedDifference {
    /// Cases compared.
    pub cases: usize,
    /// The mean of first minus second.
    pub mean: f64,
    /// Its BCa interval; `None` for one case or one cluster.
    pub interval: Option<Interval>,
    /// Cases where the first is higher.
    pub wins: usize,
    /// Cases where both are equal, up to rounding (1e-9).
    pub ties: usize,
    /// Cases where the second is higher.
    pub losses: usize,
    /// Cohen's d_z: the mean divided by the differences' standard deviation.
    pub cohens_dz: Option<f64>,
    /// Cliff's delta of the two lists, ignoring the pairing.
    pub cliffs_delta: Option<f64>,
}

/// Two systems' values over the same cases, in the same order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Paired<'a> {
    /// The first system, which wins if it is higher.
    pub first: &'a [f64],
    /// The second system.
    pub second: &'a [f64],
}

impl Paired<'_> {
    /// First minus second, case by case; `None` for unequal lengths, no cases and values that are not finite.
    pub fn differences(&self) -> Option<Vec<f64>> {
        let differences: Vec<f64> = self.first.iter().zip(self.second).map(|(a, b)| a - b).collect();
        let whole = self.first.len() == self.second.len() && !differences.is_empty();
        (whole && differences.iter().all(|value| value.is_finite())).then_some(differences)
    }
}

/// Compares each of `pairs`, in their order; `clusters` gives the cluster of each case (several cases of a question),
/// drawn as a whole.
///
/// Pairs over the same cases are resampled together. `None` for a pair without [`Paired::differences`], or whose length
/// differs from that of `clusters`.
///
/// ```
/// use scholareval::stats::{BcaOptions, Paired, paired_differences};
///
/// let (ours, theirs) = ([0.9, 0.7, 0.8, 0.5], [0.6, 0.7, 0.4, 0.6]);
/// let pair = Paired { first: &ours, second: &theirs };
/// let compared = paired_differences(&[pair], None, BcaOptions::seeded(1));
/// let difference = compared[0].expect("both have four cases");
/// assert_eq!((difference.wins, difference.ties, difference.losses), (2, 1, 1));
/// assert!((difference.mean - 0.15).abs() < 1e-12);
/// ```
pub fn paired_differences(
    pairs: &[Paired<'_>],
    clusters: Option<&[usize]>,
    options: BcaOptions,
) -> Vec<Option<PairedDifference>> {
    let fits = |own: &Vec<f64>| clusters.is_none_or(|clusters| clusters.len() == own.len());
    let differences: Vec<Option<Vec<f64>>> = pairs.iter().map(|pair| pair.differences().filter(fits)).collect();
    let lists: Vec<&[f64]> = differences.iter().map(|own| own.as_deref().unwrap_or_default()).collect();
    let intervals = clustered_mean_intervals(&lists, clusters, options);
    let compared = |((pair, own), interval): ((&Paired<'_>, &Option<Vec<f64>>), Option<Interval>)| {
        describe(*pair, own.as_deref()?, interval)
    };
    pairs.iter().zip(&differences).zip(intervals).map(compared).collect()
}

fn describe(pair: Paired<'_>, differences: &[f64], interval: Option<Interval>) -> Option<PairedDifference> {
    // Scores are sums of products, so equal ones may differ in their last digits.
    let wins = differences.iter().filter(|value| **value > 1e-9).count();
    let losses = differences.iter().filter(|value| **value < -1e-9).count();
    Some(PairedDifference {
        cases: differences.len(),
        mean: mean(differences)?,
        interval,
        wins,
        ties: differences.len() - wins - losses,
        losses,
        cohens_dz: cohens_dz(differences),
        cliffs_delta: cliffs_delta(pair.first, pair.second),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn options() -> BcaOptions {
        BcaOptions { resamples: 300, ..BcaOptions::seeded(3) }
    }

    #[test]
    fn the_interval_is_that_of_the_differences() {
        let a: Vec<f64> = (0..30).map(|i| f64::from(i * i % 17) / 16.0).collect();
        let b: Vec<f64> = (0..30).map(|i| f64::from(i * 3 % 13) / 16.0).collect();
        let pair = Paired { first: &a, second: &b };
        let compared = paired_differences(&[pair], None, options())[0].unwrap();
        assert_eq!(compared.interval, clustered_mean_intervals(&[&pair.differences().unwrap()], None, options())[0]);
        assert_eq!(compared.cases, 30);
    }

    #[test]
    fn equal_but_for_rounding_is_a_tie() {
        let (sum, whole) = ([0.1 + 0.2, 0.5], [0.3, 0.4]);
        let compared = paired_differences(&[Paired { first: &sum, second: &whole }], None, options())[0].unwrap();
        assert_eq!((compared.wins, compared.ties, compared.losses), (1, 1, 0));
    }

    #[test]
    fn unusable_pairs_are_none_and_disturb_no_other() {
        let (a, b) = ([0.1, 0.5, 0.9], [0.2, 0.2, 0.2]);
        let good = Paired { first: &a, second: &b };
        let bad = [
            Paired { first: &a, second: &b[..2] },
            Paired { first: &[], second: &[] },
            Paired { first: &a, second: &[0.1, f64::NAN, 0.2] },
        ];
        let compared = paired_differences(&[bad[0], good, bad[1], bad[2]], None, options());
        assert_eq!(compared[1], paired_differences(&[good], None, options())[0]);
        assert!(compared[1].is_some());
        assert_eq!([compared[0], compared[2], compared[3]], [None; 3]);
        assert_eq!(paired_differences(&[good], Some(&[1, 1]), options()), [None]);
        // One case: a mean without an interval.
        let single = paired_differences(&[Paired { first: &a[..1], second: &b[..1] }], None, options())[0].unwrap();
        assert_eq!((single.interval, single.cohens_dz, single.losses), (None, None, 1));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn swapping_the_systems_turns_every_sign(
            pairs in prop::collection::vec((0..=10_u8, 0..=10_u8), 2..20)
        ) {
            let (a, b): (Vec<f64>, Vec<f64>) =
                pairs.iter().map(|(a, b)| (f64::from(*a) / 10.0, f64::from(*b) / 10.0)).unzip();
            let there = paired_differences(&[Paired { first: &a, second: &b }], None, options())[0].unwrap();
            let back = paired_differences(&[Paired { first: &b, second: &a }], None, options())[0].unwrap();
            prop_assert!((there.mean + back.mean).abs() < 1e-12);
            prop_assert_eq!((there.wins, there.ties, there.losses), (back.losses, back.ties, back.wins));
            prop_assert_eq!(there.wins + there.ties + there.losses, there.cases);
            prop_assert!((there.cliffs_delta.unwrap() + back.cliffs_delta.unwrap()).abs() < 1e-12);
            prop_assert!((-1.0..=1.0).contains(&there.cliffs_delta.unwrap()));
        }
    }
}
