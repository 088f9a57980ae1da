//! Intervals of correlations: BCa bootstrap over the pairs, and Fisher's transformation for Pearson's.

use super::alpha::{distinct, place};
use super::bootstrap::{BcaOptions, Interval};
use super::distributions::normal_quantile;
use super::kendall::RankedPairs;
use super::resampling::bca_weighted_interval;

/// Which correlation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Correlation {
    /// Pearson's product-moment correlation.
    Pearson,
    /// Spearman's rank correlation, ties sharing their mean rank.
    Spearman,
    /// Kendall's tau-b.
    KendallTauB,
}

impl Correlation {
    /// The correlation of `x` and `y`, -1..=1; `None` for unequal lengths, fewer than two pairs, a list whose values
    /// are all equal, or values that are not finite.
    pub fn of(self, x: &[f64], y: &[f64]) -> Option<f64> {
        match self {
            Self::Pearson => super::pearson(x, y),
            Self::Spearman => super::spearman(x, y),
            Self::KendallTauB => super::kendall_tau_b(x, y),
        }
    }

    /// The BCa bootstrap interval of the correlation: pairs are drawn, ranks are made anew in each resample. `None`
    /// where the correlation is, and where most resamples have none (very few pairs).
    ///
    /// ```
    /// use scholareval::stats::{BcaOptions, Correlation};
    ///
    /// let judge = [1.0, 2.0, 2.0, 3.0, 4.0, 5.0, 5.0, 4.0];
    /// let human = [1.0, 1.0, 3.0, 3.0, 4.0, 4.0, 5.0, 5.0];
    /// let interval = Correlation::Spearman.interval(&judge, &human, BcaOptions::seeded(1));
    /// assert!(interval.is_some_and(|i| 0.0 < i.low && i.low < i.high && i.high <= 1.0));
    /// ```
    pub fn interval(self, x: &[f64], y: &[f64], options: BcaOptions) -> Option<Interval> {
        self.of(x, y)?;
        let statistic = self.weighted(x, y);
        bca_weighted_interval(x.len(), |weights| statistic(weights), options)
    }

    /// [`interval`](Self::interval) where pairs come in clusters (several cases of one question), drawn and left out
    /// whole (C. A. Field and A. H. Welsh, "Bootstrapping clustered data", 2007). `None` too for fewer than two clusters
    /// and for another number of cluster labels than pairs.
    pub fn clustered_interval(self, x: &[f64], y: &[f64], clusters: &[usize], options: BcaOptions) -> Option<Interval> {
        self.of(x, y)?;
        if clusters.len() != x.len() {
            return None;
        }
        let mut distinct = clusters.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let of_pair: Vec<usize> =
            clusters.iter().map(|label| distinct.partition_point(|other| other < label)).collect();
        let statistic = self.weighted(x, y);
        let of_clusters =
            |weights: &[u32]| statistic(&of_pair.iter().map(|cluster| weights[*cluster]).collect::<Vec<_>>());
        bca_weighted_interval(distinct.len(), of_clusters, options)
    }

    /// The correlation as a function of how often each pair counts; lists are ranked once.
    fn weighted(self, x: &[f64], y: &[f64]) -> Box<dyn Fn(&[u32]) -> Option<f64> + Sync> {
        if self == Self::KendallTauB {
            let pairs = RankedPairs::new(x, y);
            return Box::new(move |weights| pairs.tau_b(weights));
        }
        let (x, y) = (Placed::new(x), Placed::new(y));
        Box::new(move |weights| {
            let scores = |list: &Placed| match self {
                Self::Spearman => list.mean_ranks(weights),
                _ => list.values.clone(),
            };
            let (dx, dy) = (x.centred(&scores(&x), weights)?, y.centred(&scores(&y), weights)?);
            weighted_product_moment(&dx, &dy, weights)
        })
    }
}

/// The interval of Pearson's `r` of `n` pairs by Fisher's transformation: tanh(atanh(r) -+ z / sqrt(n - 3)) (R. A.
/// Fisher, "On the probable error of a coefficient of correlation", Metron 1, 1921). Exact for two normal variables, where
/// the bootstrap is not needed. `None` for fewer than four pairs, `r` outside -1..=1 or a level outside 0..1.
pub fn fisher_interval(r: f64, n: usize, level: f64) -> Option<Interval> {
    if n < 4 || !(-1.0..=1.0).contains(&r) {
        return None;
    }
    let half = normal_quantile(f64::midpoint(1.0, level)).filter(|z| *z > 0.0)? / ((n - 3) as f64).sqrt();
    Some(Interval { low: (r.atanh() - half).tanh(), high: (r.atanh() + half).tanh() })
}

/// One list: its distinct values in ascending order, and the place of each unit's value among them.
struct Placed {
    places: Vec<usize>,
    values: Vec<f64>,
}

impl Placed {
    fn new(list: &[f64]) -> Self {
        let values = distinct(list.iter().copied());
        Self { places: list.iter().map(|value| place(&values, *value)).collect(), values }
    }

    fn counts(&self, weights: &[u32]) -> Vec<u32> {
        let mut counts = vec![0; self.values.len()];
        for (place, weight) in self.places.iter().zip(weights) {
            counts[*place] += weight;
        }
        counts
    }

    /// The mean rank of each distinct value.
    fn mean_ranks(&self, weights: &[u32]) -> Vec<f64> {
        let mut below = 0.0;
        let rank = |count: u32| {
            let own = below + (f64::from(count) + 1.0) / 2.0;
            below += f64::from(count);
            own
        };
        self.counts(weights).into_iter().map(rank).collect()
    }

    /// Each unit's score less the weighted mean; `None` where only one value was drawn.
    fn centred(&self, scores: &[f64], weights: &[u32]) -> Option<Vec<f64>> {
        let counts = self.counts(weights);
        if counts.iter().filter(|count| **count > 0).count() < 2 {
            return None;
        }
        let total: f64 = counts.iter().copied().map(f64::from).sum();
        let mean = counts.iter().zip(scores).map(|(count, score)| f64::from(*count) * score).sum::<f64>() / total;
        Some(self.places.iter().map(|place| scores[*place] - mean).collect())
    }
}

fn weighted_product_moment(dx: &[f64], dy: &[f64], weights: &[u32]) -> Option<f64> {
    let sum = |a: &[f64], b: &[f64]| -> f64 {
        a.iter().zip(b).zip(weights).map(|((a, b), weight)| f64::from(*weight) * a * b).sum()
    };
    let r = sum(dx, dy) / (sum(dx, dx).sqrt() * sum(dy, dy).sqrt());
    r.is_finite().then(|| r.clamp(-1.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Correlation; 3] = [Correlation::Pearson, Correlation::Spearman, Correlation::KendallTauB];

    fn lists(n: u32) -> (Vec<f64>, Vec<f64>) {
        (0..n).map(|i| (f64::from(i * i % 17), f64::from(i * i % 17) + f64::from(i * 7 % 11))).unzip()
    }

    #[test]
    fn the_interval_holds_the_correlation_and_turns_with_its_sign() {
        let (x, y) = lists(60);
        let turned: Vec<f64> = y.iter().map(|value| -value).collect();
        let options = BcaOptions { resamples: 1_000, ..BcaOptions::seeded(2) };
        for correlation in ALL {
            let r = correlation.of(&x, &y).unwrap();
            let interval = correlation.interval(&x, &y, options).unwrap();
            assert!(-1.0 <= interval.low && interval.low < r && r < interval.high && interval.high <= 1.0);
            let other = correlation.interval(&x, &turned, options).unwrap();
            assert!((other.low + interval.high).abs() < 0.01, "{correlation:?} {interval:?} {other:?}");
        }
    }

    #[test]
    fn a_resample_has_the_correlation_of_the_pairs_written_out() {
        let (x, y) = lists(8);
        let weights = [2, 0, 1, 3, 0, 1, 0, 1];
        let write = |list: &[f64]| -> Vec<f64> {
            list.iter().zip(weights).flat_map(|(v, w)| std::iter::repeat_n(*v, w as usize)).collect()
        };
        let (long_x, long_y) = (write(&x), write(&y));
        let (px, py) = (Placed::new(&x), Placed::new(&y));
        let by = |scores: &dyn Fn(&Placed) -> Vec<f64>| {
            let (dx, dy) = (px.centred(&scores(&px), &weights).unwrap(), py.centred(&scores(&py), &weights).unwrap());
            weighted_product_moment(&dx, &dy, &weights).unwrap()
        };
        let spearman = by(&|list| list.mean_ranks(&weights));
        assert!((spearman - Correlation::Spearman.of(&long_x, &long_y).unwrap()).abs() < 1e-12);
        let pearson = by(&|list| list.values.clone());
        assert!((pearson - Correlation::Pearson.of(&long_x, &long_y).unwrap()).abs() < 1e-12);
    }

    #[test]
    fn pairs_written_down_twice_are_no_more_evidence_when_drawn_by_cluster() {
        let (x, y) = lists(40);
        let options = BcaOptions { resamples: 500, ..BcaOptions::seeded(2) };
        let twice = |list: &[f64]| -> Vec<f64> { list.iter().flat_map(|value| [*value, *value]).collect() };
        let clusters: Vec<usize> = (0..80).map(|pair| 7 + pair / 2).collect();
        for correlation in ALL {
            let once = correlation.interval(&x, &y, options).unwrap();
            let clustered = correlation.clustered_interval(&twice(&x), &twice(&y), &clusters, options).unwrap();
            assert!((once.low - clustered.low).abs() < 1e-9 && (once.high - clustered.high).abs() < 1e-9);
            let singles: Vec<usize> = (0..40).collect();
            assert_eq!(correlation.clustered_interval(&x, &y, &singles, options), Some(once));
            assert_eq!(correlation.clustered_interval(&x, &y, &[1; 40], options), None);
            assert_eq!(correlation.clustered_interval(&x, &y, &[1; 3], options), None);
        }
    }

    #[test]
    fn perfect_agreement_is_a_point() {
        let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
        let interval = Correlation::KendallTauB.interval(&x, &x, BcaOptions::seeded(1)).unwrap();
        assert!((interval.low - 1.0).abs() < 1e-12 && (interval.high - 1.0).abs() < 1e-12);
        assert_eq!(Correlation::Pearson.interval(&x, &[2.0; 7], BcaOptions::seeded(1)), None);
    }

    #[test]
    fn fishers_interval_by_hand() {
        // r = 0, n = 103: tanh(1.959964 / sqrt(100)) = tanh(0.1959964) = 0.193525
        let interval = fisher_interval(0.0, 103, 0.95).unwrap();
        assert!((interval.high - 0.193_525).abs() < 1e-6 && (interval.low + interval.high).abs() < 1e-15);
        assert_eq!(fisher_interval(1.0, 10, 0.95), Some(Interval { low: 1.0, high: 1.0 }));
        assert_eq!(fisher_interval(0.5, 3, 0.95), None);
        assert_eq!(fisher_interval(0.5, 10, 1.0), None);
        assert_eq!(fisher_interval(1.5, 10, 0.9), None);
    }
}
