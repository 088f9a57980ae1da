//! Paired comparison by a metric that is 0 or w: every difference is -w, 0 or w.
//!
//! Few questions have a difference that is not 0, so that resampled and flipped statistics take few values: intervals cover too
//! little and tests find too little. Wilson's interval of a mean within -w..w, with the standard error of the differences and a t
//! quantile, covers at every number of questions; p is the level at which its end is 0:
//! t = |difference| / error * sqrt(1 - (difference / w)^2). Several pairs are adjusted by Bonferroni.
//!
//! Equal differences have no error. Of n questions that all have one, at most a share u = 1 - (alpha / 2)^(1 / n) of all questions
//! may have another, and each moves the mean by at most its distance to -w or w (C. J. Clopper and E. S. Pearson, Biometrika 26,
//! 1934). That interval excludes 0 where p = 2 (1 / 2)^n of n wins is below alpha.

use super::bootstrap::{BootstrapOptions, Interval};
use super::distributions::t_quantile;
use super::paired_test::{PairedFamily, PairedMethod, PairedTest};
use super::studentized::{ClusteredSample, wilson, wilson_p};

/// The family of tests for differences of -`width`, 0 and `width`.
pub(super) fn by_wilson(
    sample: &ClusteredSample,
    width: f64,
    options: BootstrapOptions,
) -> PairedFamily {
    let pairs = sample.means.len();
    let mut tests = Vec::with_capacity(pairs);
    for pair in 0..pairs {
        let own = BinaryPair::of(sample, pair, width);
        tests.push(own.test(options, pairs as f64));
    }
    let effective = sample.effective_clusters();
    let alpha = options.alpha() / pairs as f64;
    let smallest_p = (pairs as f64 * 2.0 * 0.5_f64.powf(effective)).min(1.0);
    let critical = t_quantile(1.0 - alpha / 2.0, (effective - 1.0).max(1.0));
    PairedFamily {
        method: PairedMethod::Wilson,
        pairs: tests,
        critical: critical.filter(|_| smallest_p < options.alpha()),
        smallest_p,
    }
}

/// One pair's mean difference and what it rests on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct BinaryPair {
    difference: f64,
    error: f64,
    width: f64,
    clusters: f64,
    /// The number of equally large clusters that are worth as much.
    effective: f64,
}

impl BinaryPair {
    pub(super) fn of(sample: &ClusteredSample, pair: usize, width: f64) -> Self {
        Self {
            difference: sample.means[pair],
            error: sample.errors[pair],
            width,
            clusters: sample.clusters() as f64,
            effective: sample.effective_clusters(),
        }
    }

    /// Degrees of freedom of its t.
    pub(super) fn degrees(&self) -> f64 {
        (self.effective - 1.0).max(1.0)
    }

    fn test(&self, options: BootstrapOptions, pairs: f64) -> PairedTest {
        let pointwise_p = self.p();
        let adjusted = BootstrapOptions {
            level: 1.0 - options.alpha() / pairs,
            ..options
        };
        PairedTest {
            method: PairedMethod::Wilson,
            difference: self.difference,
            standard_error: self.error,
            p: (pairs * pointwise_p).min(1.0),
            pointwise_p,
            interval: self.interval(adjusted.level),
            pointwise: self.interval(options.level),
        }
    }

    fn p(&self) -> f64 {
        if self.difference == 0.0 {
            return 1.0;
        }
        if self.error == 0.0 {
            return (2.0 * 0.5_f64.powf(self.effective)).min(1.0);
        }
        let clusters = [self.clusters, self.effective];
        wilson_p(self.difference, self.error, self.range(), clusters, 0.0)
    }

    fn range(&self) -> Interval {
        Interval {
            low: -self.width,
            high: self.width,
        }
    }

    pub(super) fn interval(&self, level: f64) -> Option<Interval> {
        let range = self.range();
        if self.error > 0.0 {
            let clusters = [self.clusters, self.effective];
            return wilson(self.difference, self.error, range, clusters, level);
        }
        let others = 1.0 - ((1.0 - level) / 2.0).powf(1.0 / self.effective);
        Some(Interval {
            low: self.difference - others * (self.difference - range.low),
            high: self.difference + others * (range.high - self.difference),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::paired::paired_family;
    use super::super::paired_test::MetricValues;
    use super::*;

    fn of(wins: usize, ties: usize, losses: usize) -> PairedTest {
        let mut differences = vec![1.0; wins];
        differences.extend(vec![0.0; ties]);
        differences.extend(vec![-1.0; losses]);
        let options = BootstrapOptions::seeded(1);
        let family = paired_family(&[&differences], None, MetricValues::ZeroOr(1.0), options);
        family.unwrap().pairs[0]
    }

    #[test]
    fn p_is_the_level_at_which_the_interval_ends_at_0() {
        for (wins, ties, losses) in [(3, 17, 0), (8, 10, 2), (6, 14, 0), (7, 13, 0), (20, 80, 8)] {
            let found = of(wins, ties, losses);
            let excludes_0 = found.interval.unwrap().low > 0.0;
            assert_eq!(
                found.p < 0.05,
                excludes_0,
                "{wins} {ties} {losses}: {found:?}"
            );
        }
        // 3 wins of 20: difference 0.15, error sqrt(0.15 * 0.85 / 19); t = 0.15 / error * sqrt(1 - 0.15^2) = 1.81, 19 degrees.
        assert!((of(3, 17, 0).p - 0.086).abs() < 0.001);
    }

    #[test]
    fn equal_differences_have_an_interval_too() {
        // 1 - 0.025^(1 / 20) = 0.1684.
        let ties = of(0, 20, 0);
        assert_eq!(ties.p, 1.0);
        assert!((ties.interval.unwrap().high - 0.1684).abs() < 1e-4);
        let wins = of(6, 0, 0);
        assert_eq!(wins.p, 2.0 / 64.0);
        assert!(wins.interval.unwrap().low > 0.0);
        let five = of(5, 0, 0);
        assert!(five.p > 0.05 && five.interval.unwrap().low < 0.0);
    }

    /// With so many questions, each won and lost with these probabilities: how often the pair is significant, and how often the
    /// interval holds the difference. Exact, over all numbers of wins and losses.
    fn shares(questions: usize, win: f64, loss: f64) -> (f64, f64) {
        let mut significant = 0.0;
        let mut held = 0.0;
        for wins in 0..=questions {
            for losses in 0..=questions - wins {
                let ties = questions - wins - losses;
                let ways = (1..=questions).map(|at| (at as f64).ln()).sum::<f64>()
                    - [wins, ties, losses]
                        .iter()
                        .map(|count| (1..=*count).map(|at| (at as f64).ln()).sum::<f64>())
                        .sum::<f64>();
                let tie = 1.0 - win - loss;
                let chance = ways.exp()
                    * win.powi(wins as i32)
                    * tie.powi(ties as i32)
                    * loss.powi(losses as i32);
                if chance < 1e-9 {
                    continue;
                }
                let found = of(wins, ties, losses);
                let interval = found.interval.unwrap();
                if found.p < 0.05 {
                    significant += chance;
                }
                if interval.low <= win - loss && win - loss <= interval.high {
                    held += chance;
                }
            }
        }
        (significant, held)
    }

    #[test]
    fn the_level_and_the_coverage_hold_at_every_number_of_questions() {
        for questions in [10, 20, 50] {
            for share in [0.02, 0.05, 0.2, 0.5] {
                let (significant, _) = shares(questions, share, share);
                assert!(significant < 0.052, "{questions} {share}: {significant}");
            }
            for (win, loss) in [
                (0.225, 0.075),
                (0.3, 0.0),
                (0.05, 0.25),
                (0.9, 0.05),
                (0.02, 0.01),
            ] {
                let (_, held) = shares(questions, win, loss);
                assert!(held > 0.925, "{questions} {win} {loss}: {held}");
            }
        }
        // Sign flips find it in 20%.
        let (power, _) = shares(20, 0.05, 0.25);
        assert!((0.37..0.39).contains(&power), "{power}");
    }
}
