//! Means whose cases come in clusters: several cases of one question are no independent evidence, so questions are
//! drawn, each with all its cases.
//!
//! C. A. Field and A. H. Welsh, "Bootstrapping clustered data", Journal of the Royal Statistical Society B 69 (2007);
//! the interval is BCa as in [`bca_mean_interval`](super::bca_mean_interval), with whole clusters left out in the jackknife.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::bootstrap::{BcaOptions, Interval, acceleration, bca_ends, bca_mean_intervals, resampled_means};
use super::summary::mean;

/// The BCa interval of the mean of each of `samples`, all over the same cases; `clusters` gives each case's cluster.
///
/// A resample draws as many clusters as there are and takes the mean of all their cases. Without clusters, or where each
/// has one case, that is [`bca_mean_intervals`]. `None` for a sample of another length than `clusters`, values
/// that are not finite, fewer than two clusters, and a level outside 0..1; one point where all values are equal.
pub fn clustered_mean_intervals(
    samples: &[&[f64]],
    clusters: Option<&[usize]>,
    options: BcaOptions,
) -> Vec<Option<Interval>> {
    let Some(clusters) = clusters.and_then(several_each) else { return bca_mean_intervals(samples, options) };
    let usable: Vec<usize> = (0..samples.len()).filter(|index| clusters.fit(samples[*index], options)).collect();
    let chosen: Vec<&[f64]> = usable.iter().map(|index| samples[*index]).collect();
    let means = clusters.resampled_means(&chosen, options);
    let mut intervals = vec![None; samples.len()];
    for (column, index) in usable.iter().enumerate() {
        let own = means.iter().skip(column).step_by(chosen.len()).copied().collect();
        intervals[*index] = clusters.interval(samples[*index], own, options.level);
    }
    intervals
}

/// The means of shared resamples: for each resample one mean a sample, in a row. `None` where a sample is unusable.
pub(super) fn shared_means(samples: &[&[f64]], clusters: Option<&[usize]>, options: BcaOptions) -> Option<Vec<f64>> {
    let cases = samples.first()?.len();
    let whole = samples.iter().all(|own| own.len() == cases && own.iter().all(|value| value.is_finite()));
    if !whole || cases == 0 || clusters.is_some_and(|clusters| clusters.len() != cases) {
        return None;
    }
    Some(match clusters.and_then(several_each) {
        Some(clusters) => clusters.resampled_means(samples, options),
        None => resampled_means(samples, options),
    })
}

/// The sum of the values of each cluster, clusters in ascending order: what a paired test flips. `None` for unequal
/// lengths.
pub fn cluster_sums(values: &[f64], clusters: &[usize]) -> Option<Vec<f64>> {
    (values.len() == clusters.len()).then(|| Clusters::new(clusters).sums(values))
}

/// The clusters, unless each has one case only.
fn several_each(clusters: &[usize]) -> Option<Clusters> {
    let clusters = Clusters::new(clusters);
    clusters.sizes.iter().any(|size| *size > 1.0).then_some(clusters)
}

/// Each case's cluster as a number from 0, and how many cases each cluster has.
struct Clusters {
    of_case: Vec<usize>,
    sizes: Vec<f64>,
}

impl Clusters {
    fn new(labels: &[usize]) -> Self {
        let mut distinct = labels.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let of_case: Vec<usize> = labels.iter().map(|label| distinct.partition_point(|other| other < label)).collect();
        let mut sizes = vec![0.0; distinct.len()];
        of_case.iter().for_each(|cluster| sizes[*cluster] += 1.0);
        Self { of_case, sizes }
    }

    fn fit(&self, values: &[f64], options: BcaOptions) -> bool {
        let level_is_usable = options.level > 0.0 && options.level < 1.0;
        let finite = values.len() == self.of_case.len() && values.iter().all(|value| value.is_finite());
        level_is_usable && finite && options.resamples > 0 && self.sizes.len() >= 2
    }

    fn sums(&self, values: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.sizes.len()];
        for (cluster, value) in self.of_case.iter().zip(values) {
            sums[*cluster] += value;
        }
        sums
    }

    /// For each resample one mean a sample.
    fn resampled_means(&self, samples: &[&[f64]], options: BcaOptions) -> Vec<f64> {
        let (width, count) = (samples.len(), self.sizes.len());
        let sums: Vec<Vec<f64>> = samples.iter().map(|values| self.sums(values)).collect();
        // Sums that are drawn together stand together.
        let rows: Vec<f64> = (0..count).flat_map(|cluster| sums.iter().map(move |own| own[cluster])).collect();
        let seeded = ChaCha8Rng::seed_from_u64(options.seed);
        let mut means = vec![0.0; width * options.resamples as usize];
        // No samples: rayon refuses chunks of 0.
        means.par_chunks_mut(width.max(1)).enumerate().for_each(|(replicate, totals)| {
            let mut rng = seeded.clone();
            rng.set_stream(replicate as u64);
            let mut cases = 0.0;
            for _ in 0..count {
                let drawn = ((u64::from(rng.next_u32()) * count as u64) >> 32) as usize;
                cases += self.sizes[drawn];
                for (total, sum) in totals.iter_mut().zip(&rows[drawn * width..(drawn + 1) * width]) {
                    *total += sum;
                }
            }
            totals.iter_mut().for_each(|total| *total /= cases);
        });
        means
    }

    fn interval(&self, values: &[f64], mut means: Vec<f64>, level: f64) -> Option<Interval> {
        let first = *values.first()?;
        if values.iter().all(|value| *value == first) {
            return Some(Interval { low: first, high: first });
        }
        means.sort_unstable_by(f64::total_cmp);
        let (total, cases) = (values.iter().sum::<f64>(), values.len() as f64);
        // The sign is turned, so that a value minus the mean of all is the jackknife's d.
        let left_out: Vec<f64> =
            self.sums(values).iter().zip(&self.sizes).map(|(s, n)| (s - total) / (cases - n)).collect();
        let skew = acceleration(&left_out, mean(&left_out)?);
        bca_ends(total / cases, skew, &means, level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> BcaOptions {
        BcaOptions { resamples: 2_000, ..BcaOptions::seeded(3) }
    }

    /// Eighths, so that sums are exact in any order.
    fn values(n: u32) -> Vec<f64> {
        (0..n).map(|i| f64::from(i * i % 17) / 8.0).collect()
    }

    #[test]
    fn clusters_of_one_case_are_no_clusters() {
        let (values, singles) = (values(40), (100..140).collect::<Vec<usize>>());
        let plain = bca_mean_intervals(&[&values], options());
        assert_eq!(clustered_mean_intervals(&[&values], Some(&singles), options()), plain);
        assert_eq!(clustered_mean_intervals(&[&values], None, options()), plain);
    }

    #[test]
    fn a_question_written_down_twice_is_no_more_evidence() {
        let values = values(40);
        let twice: Vec<f64> = values.iter().flat_map(|value| [*value, *value]).collect();
        let clusters: Vec<usize> = (0..80).map(|case| case / 2).collect();
        let once = bca_mean_intervals(&[&values], options())[0].unwrap();
        let clustered = clustered_mean_intervals(&[&twice], Some(&clusters), options())[0].unwrap();
        assert!((once.low - clustered.low).abs() < 1e-9 && (once.high - clustered.high).abs() < 1e-9);
        let naive = bca_mean_intervals(&[&twice], options())[0].unwrap();
        // Twice the cases would promise an interval narrower by the square root of 2.
        let ratio = (clustered.high - clustered.low) / (naive.high - naive.low);
        assert!((ratio - 2.0_f64.sqrt()).abs() < 0.1, "{ratio}");
    }

    #[test]
    fn samples_resampled_together_get_the_intervals_they_get_alone_on_any_number_of_threads() {
        let (a, b) = (values(60), values(60).into_iter().rev().collect::<Vec<_>>());
        let clusters: Vec<usize> = (0..60).map(|case| case * case % 23).collect();
        let samples: [&[f64]; 4] = [&a, &[1.0], &b, &[0.5; 60]];
        let alone: Vec<_> =
            samples.iter().map(|own| clustered_mean_intervals(&[own], Some(&clusters), options())[0]).collect();
        for threads in [1, 4] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let together = pool.install(|| clustered_mean_intervals(&samples, Some(&clusters), options()));
            assert_eq!(together, alone);
        }
        assert_eq!(alone[1], None);
        assert_eq!(alone[3], Some(Interval { low: 0.5, high: 0.5 }));
        assert_eq!(clustered_mean_intervals(&[&a], Some(&[7; 60]), options()), [None]);
        assert_eq!(clustered_mean_intervals(&[], Some(&clusters), options()), []);
    }

    #[test]
    fn sums_go_by_cluster() {
        assert_eq!(cluster_sums(&[1.0, 2.0, 4.0], &[9, 5, 9]), Some(vec![2.0, 5.0]));
        assert_eq!(cluster_sums(&[1.0], &[]), None);
    }
}
