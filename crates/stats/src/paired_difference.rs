//! The difference of two systems by a metric with a range: interval and p of one pair.
//!
//! A difference of values within a range of width w lies within -w..w, and has Wilson's interval there ([`BoundedMean`]) with its
//! CR2 error and a t quantile; p is the level at which its end is 0: t = |center| / error * sqrt(1 - (center / w)^2). Several
//! pairs are adjusted by Bonferroni. Resampled and flipped statistics take few values where few questions differ, so that their
//! intervals cover too little and their tests find too little.
//!
//! Where fewer than 6 questions differ, half a pseudo-question at either end of -w..w enters center and error: one win of
//! 20 has an error as large as itself, and too small a one for 2 wins in 100.
//!
//! Equal differences have no error. Of n questions that all have one, at most a share u = 1 - (alpha / 2)^(1 / n) of all questions
//! may have another, and each moves the mean by at most its distance to -w or w (C. J. Clopper and E. S. Pearson, Biometrika 26,
//! 1934). That interval of a difference d ends at 0 for alpha = 2 (w / (w + |d|))^n, which is p: 2 (1 / 2)^n of n wins.

use super::bootstrap::{BootstrapOptions, Interval};
use super::bounded_mean::BoundedMean;
use super::distributions::t_quantile;
use super::paired_test::{PairedFamily, PairedMethod, PairedTest};
use super::studentized::ClusteredSample;

/// Where fewer questions differ, pseudo-questions enter.
const FEWEST_DIFFERING: usize = 6;
/// Pseudo-questions at either end of the range of a difference.
const ENDS_OF_DIFFERENCE: f64 = 0.5;
/// A question whose differences add to less is a tie.
const TIE: f64 = 1e-9;

/// The family of tests for differences of values within a range of this width.
pub(super) fn by_wilson(
    sample: &ClusteredSample,
    width: f64,
    options: BootstrapOptions,
) -> PairedFamily {
    let pairs = 0..sample.means.len();
    let pairs: Vec<PairedDifference> = pairs
        .map(|pair| {
            let sums = sample.sums(pair);
            let differing = sums.iter().filter(|sum| sum.abs() > TIE).count();
            PairedDifference::of(sample, pair, width, ends(differing))
        })
        .collect();
    family(&pairs, options)
}

/// The tests of these pairs, adjusted for each other.
pub(super) fn family(pairs: &[PairedDifference], options: BootstrapOptions) -> PairedFamily {
    let count = pairs.len() as f64;
    let most = pairs.iter().map(|pair| pair.effective).fold(0.0, f64::max);
    let smallest_p = (count * 2.0 * 0.5_f64.powf(most)).min(1.0);
    let critical = t_quantile(1.0 - options.alpha() / count / 2.0, (most - 1.0).max(1.0));
    PairedFamily {
        method: PairedMethod::Wilson,
        pairs: pairs.iter().map(|pair| pair.test(options, count)).collect(),
        critical: critical.filter(|_| smallest_p < options.alpha()),
        smallest_p,
    }
}

/// The pseudo-questions at either end where so many questions differ.
pub(super) fn ends(differing: usize) -> f64 {
    if differing < FEWEST_DIFFERING {
        ENDS_OF_DIFFERENCE
    } else {
        0.0
    }
}

/// One pair's mean difference and what it rests on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PairedDifference {
    difference: f64,
    error: f64,
    width: f64,
    /// The number of equally large questions that are worth as much.
    effective: f64,
    mean: BoundedMean,
}

impl PairedDifference {
    /// The difference of a sample's pair within -`width`..`width`, with so many pseudo-questions at either end.
    pub(super) fn of(sample: &ClusteredSample, pair: usize, width: f64, ends: f64) -> Self {
        let questions = [sample.clusters() as f64, sample.effective_clusters()];
        let difference = [sample.means[pair], sample.errors[pair]];
        Self::new(difference, width, questions, ends)
    }

    /// A mean difference with its standard error, over so many questions that are worth so many equally large ones.
    pub(super) fn new(
        [difference, error]: [f64; 2],
        width: f64,
        questions: [f64; 2],
        ends: f64,
    ) -> Self {
        let range = Interval::new(-width, width);
        Self {
            difference,
            error,
            width,
            effective: questions[1],
            mean: BoundedMean::new([difference, error], range, questions, ends),
        }
    }

    /// Degrees of freedom of its t.
    pub(super) fn degrees(&self) -> f64 {
        self.mean.degrees()
    }

    fn test(&self, options: BootstrapOptions, pairs: f64) -> PairedTest {
        let pointwise_p = self.p();
        PairedTest {
            method: PairedMethod::Wilson,
            difference: self.difference,
            standard_error: self.error,
            p: (pairs * pointwise_p).min(1.0),
            pointwise_p,
            interval: self.interval(1.0 - options.alpha() / pairs),
            pointwise: self.interval(options.level),
        }
    }

    fn p(&self) -> f64 {
        if self.error > 0.0 {
            return self.mean.p(0.0);
        }
        let share = self.width / (self.width + self.difference.abs());
        (2.0 * share.powf(self.effective)).min(1.0)
    }

    pub(super) fn interval(&self, level: f64) -> Option<Interval> {
        if self.error > 0.0 {
            return self.mean.interval(level);
        }
        let others = 1.0 - ((1.0 - level) / 2.0).powf(1.0 / self.effective);
        Some(Interval::new(
            self.difference - others * (self.difference + self.width),
            self.difference + others * (self.width - self.difference),
        ))
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
            let test = of(wins, ties, losses);
            let excludes_0 = test.interval.unwrap().low > 0.0;
            assert_eq!(
                test.p < 0.05,
                excludes_0,
                "{wins} {ties} {losses}: {test:?}"
            );
        }
        // 3 wins of 20, fewer than 6 that differ: center 3 / 21; the error of the mean is sqrt(0.15 * 0.85 / 19) = 0.08192, that of the
        // center sqrt((20 * 0.08192)^2 + (0.85^2 + 1.15^2) / 2) / 21 = 0.09168; t = 1.558 * sqrt(1 - (3 / 21)^2) = 1.542, 19 degrees.
        assert!((of(3, 17, 0).p - 0.1395).abs() < 1e-4);
        // 6 that differ: t = 0.3 / sqrt(0.3 * 0.7 / 19) * sqrt(1 - 0.3^2) = 2.722.
        assert!((of(6, 14, 0).p - 0.0135).abs() < 1e-4);
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
                let test = of(wins, ties, losses);
                let interval = test.interval.unwrap();
                if test.p < 0.05 {
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
        assert!((0.31..0.32).contains(&power), "{power}");
    }

    #[test]
    fn one_sided_wins_are_held_where_they_are_rare() {
        // The lowest coverage over 1 to 30% wins without a loss; without pseudo-questions 87.4 and 88.5.
        for (questions, lowest) in [(20, 0.914), (50, 0.912)] {
            let held = (1..=30).map(|share| shares(questions, f64::from(share) / 100.0, 0.0).1);
            let least = held.fold(1.0, f64::min);
            assert!((least - lowest).abs() < 0.001, "{questions}: {least}");
        }
    }

    #[test]
    fn equal_differences_have_a_p_that_agrees_with_their_interval() {
        // d = 0.25 in each of 20 questions: p = 2 (1 / 1.25)^20 = 0.0231, of 12 questions 0.137.
        for (questions, p) in [(20, 0.0231), (12, 0.1374)] {
            let pair = PairedDifference::new([0.25, 0.0], 1.0, [questions as f64; 2], 0.5);
            assert!((pair.p() - p).abs() < 1e-4, "{}", pair.p());
            assert_eq!(pair.interval(0.95).unwrap().low > 0.0, p < 0.05);
        }
    }
}
