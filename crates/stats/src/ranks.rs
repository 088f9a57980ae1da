//! Ranks of means, and their distribution over shared resamples of the cases.

use super::bootstrap::BootstrapOptions;
use super::studentized::ClusteredSample;

/// The rank of a mean among these, its own one included: 1 is the highest, and means that differ by rounding only share a rank.
///
/// ```
/// use scholareval_stats::rank_among;
///
/// let means = [0.1 + 0.2, 0.3, 0.5];
/// assert_eq!(means.map(|mean| rank_among(mean, means)), [2, 2, 1]);
/// ```
pub fn rank_among(mean: f64, means: impl IntoIterator<Item = f64>) -> usize {
    // Sums in another order differ in their last digit.
    let higher = means.into_iter().filter(|other| *other > mean + 1e-12);
    1 + higher.count()
}

/// Share of resamples in which system `i` (row) has rank `r + 1` (column `r`), the highest mean first.
///
/// All systems share the same draws of cases (of whole `clusters`, if given), so rows and columns each sum to 1.
/// Systems with equal means split their ranks equally. (Ranking by bootstrap: H. Goldstein and D. J. Spiegelhalter,
/// "League tables and their limitations", Journal of the Royal Statistical Society A 159, 1996.)
///
/// `None` for no systems, fewer than two clusters, lists of unequal length, values that are not finite and no resamples.
///
/// ```
/// use scholareval_stats::{BootstrapOptions, rank_distribution};
///
/// let (better, worse) = ([0.9, 0.8, 0.9, 0.7], [0.2, 0.3, 0.1, 0.4]);
/// let shares = rank_distribution(&[&worse, &better], None, BootstrapOptions::seeded(1));
/// assert_eq!(shares, Some(vec![vec![0.0, 1.0], vec![1.0, 0.0]]));
/// ```
pub fn rank_distribution(
    systems: &[&[f64]],
    clusters: Option<&[usize]>,
    options: BootstrapOptions,
) -> Option<Vec<Vec<f64>>> {
    if options.resamples == 0 {
        return None;
    }
    // The same draws for all systems: hard questions are hard for all of them, and independent
    // draws would add that as noise to each rank.
    let means = ClusteredSample::new(systems, clusters)?.resampled_means(options);
    let mut counts = vec![vec![0.0; systems.len()]; systems.len()];
    for resampled in &means {
        let mut order: Vec<usize> = (0..systems.len()).collect();
        order.sort_by(|a, b| resampled[*b].total_cmp(&resampled[*a]));
        let mut rank = 0;
        // Means in another order of summation differ in their last digits.
        for tied in order
            .chunk_by(|a, b| resampled[*a] - resampled[*b] <= 1e-12 * resampled[*a].abs().max(1e-3))
        {
            for system in tied {
                // Ranks of equal means are split; the order in the table would otherwise make the
                // first one better.
                for shared in &mut counts[*system][rank..rank + tied.len()] {
                    *shared += 1.0 / tied.len() as f64;
                }
            }
            rank += tied.len();
        }
    }
    counts
        .iter_mut()
        .flatten()
        .for_each(|count| *count /= f64::from(options.resamples));
    Some(counts)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{MetricValues, paired_family};

    fn options() -> BootstrapOptions {
        BootstrapOptions {
            resamples: 400,
            ..BootstrapOptions::seeded(3)
        }
    }

    #[test]
    fn equal_systems_share_their_ranks() {
        let (high, low) = ([0.7, 0.9, 0.8], [0.1, 0.3, 0.2]);
        let shares = rank_distribution(&[&high, &low, &high], None, options()).unwrap();
        assert_eq!(shares, [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [0.5, 0.5, 0.0]]);
    }

    #[test]
    fn a_system_that_is_slightly_ahead_is_mostly_first() {
        // Differences of +1 and -1, 12 of 20 positive: of binomial(20, 0.6), P(> 10) = 0.755 and P(= 10) = 0.117, half
        // of which counts: 0.814. The standard error over 400 resamples is 0.019.
        let ahead: Vec<f64> = (0..20)
            .map(|case| f64::from(u8::from(case % 5 < 3)))
            .collect();
        let other: Vec<f64> = ahead.iter().map(|value| 1.0 - value).collect();
        let shares = rank_distribution(&[&ahead, &other], None, options()).unwrap();
        assert!((shares[0][0] - 0.814).abs() < 0.08, "{shares:?}");
        let as_clusters: Vec<usize> = (0..20).map(|case| case / 5).collect();
        // Each cluster of 5 has 3 of 5: drawn whole, the lead never changes.
        let clustered =
            rank_distribution(&[&ahead, &other], Some(&as_clusters), options()).unwrap();
        assert_eq!(clustered, [[1.0, 0.0], [0.0, 1.0]]);
    }

    #[test]
    fn ten_systems_get_the_same_numbers_on_1_thread_and_on_2() {
        let value = |system: u32, case: u32| {
            f64::from((case * case + 7 * system * case) % 101 + system) / 111.0
        };
        let systems: Vec<Vec<f64>> = (0..10)
            .map(|system| (0..100).map(|case| value(system, case)).collect())
            .collect();
        let borrowed: Vec<&[f64]> = systems.iter().map(Vec::as_slice).collect();
        let options = BootstrapOptions {
            resamples: 1_000,
            ..BootstrapOptions::seeded(11)
        };
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| {
                (
                    paired_family(&borrowed, None, MetricValues::Any, options),
                    rank_distribution(&borrowed, None, options).unwrap(),
                )
            })
        };
        let (intervals, shares) = on(1);
        assert_eq!((intervals.clone(), shares.clone()), on(2));
        assert!(intervals.is_some());
        assert!(
            shares
                .iter()
                .flatten()
                .filter(|share| **share > 0.0)
                .count()
                > 20
        );
    }

    #[test]
    fn what_has_no_ranks_is_none() {
        assert_eq!(rank_distribution(&[], None, options()), None);
        assert_eq!(rank_distribution(&[&[]], None, options()), None);
        assert_eq!(
            rank_distribution(&[&[1.0], &[1.0, 2.0]], None, options()),
            None
        );
        assert_eq!(rank_distribution(&[&[f64::NAN]], None, options()), None);
        assert_eq!(rank_distribution(&[&[1.0]], Some(&[1, 2]), options()), None);
        assert_eq!(
            rank_distribution(
                &[&[1.0]],
                None,
                BootstrapOptions {
                    resamples: 0,
                    ..options()
                }
            ),
            None
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn every_system_has_one_rank_and_every_rank_one_system(
            cases in prop::collection::vec(prop::collection::vec(0..5_u8, 4), 2..12)
        ) {
            let systems: Vec<Vec<f64>> =
                (0..4).map(|system| cases.iter().map(|case| f64::from(case[system])).collect()).collect();
            let borrowed: Vec<&[f64]> = systems.iter().map(Vec::as_slice).collect();
            let shares = rank_distribution(&borrowed, None, BootstrapOptions { resamples: 60, ..options() }).unwrap();
            for i in 0..4 {
                let (row, column): (f64, f64) = (shares[i].iter().sum(), shares.iter().map(|row| row[i]).sum());
                prop_assert!((row - 1.0).abs() < 1e-9 && (column - 1.0).abs() < 1e-9);
            }
        }
    }
}
