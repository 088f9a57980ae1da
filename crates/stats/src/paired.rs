//! Paired comparison of systems: one procedure gives p values, intervals and verdicts, which cannot contradict each other.
//!
//! [`paired_family`] chooses it by what the values of the metric can be and by the number of questions, never by the outcome:
//!
//! | values | below 20 questions | from 20 questions on |
//! |---|---|---|
//! | 0 or w | Wilson's interval (`paired_difference`) | the same |
//! | within a range | sign flips | Wilson's interval |
//! | any | sign flips | bootstrap-t |
//! | corrected by drawn verdicts | Student's t (`corrected`) | the same |
//!
//! Bootstrap-t: questions are resampled, and the difference of each resample is studentized by its standard error. Over several
//! pairs the largest |t| of each resample gives critical value, adjusted p and simultaneous intervals (single-step max-t: P. H.
//! Westfall and S. S. Young, "Resampling-based multiple testing", 1993, section 2.3; J. P. Romano and M. Wolf, JASA 100, 2005). Equal
//! tails would find a difference of rare counts three times as often as they should.
//!
//! Sign flips: below 20 questions the resampled t is too discrete. There the signs of the differences are flipped (R. A. Fisher,
//! "The design of experiments", 1935, section 21): under the null hypothesis every question's difference is as likely with the other
//! sign, which skewed differences with a mean of 0 do not satisfy. The interval holds the differences that this test does not
//! reject; its ends are order statistics of the means of subsets (J. A. Hartigan, "Using subsample values as typical values", JASA
//! 64, 1969).
//!
//! A pair's p alone never depends on which other pairs are tested.

use rayon::prelude::*;

use super::bootstrap::{BootstrapOptions, Interval, tail_rank};
use super::corrected::by_student;
use super::paired_difference::by_wilson;
use super::paired_test::{MetricValues, PairedFamily, PairedMethod, PairedTest};
use super::studentized::{ClusteredSample, ROUNDING, end_of_interval};

/// Fewest questions for a bootstrap-t, and for Wilson's interval of differences that are not only -w, 0 and w.
// Below it the resampled t takes too few distinct values for its tails to have the size that they
// claim (coverage is measured in docs/metrics.md).
pub(super) const FEWEST_QUESTIONS: usize = 20;

/// Compares pairs of systems; each list has the differences of a pair over the same cases, `clusters` their questions.
/// `values` says what the values of the metric can be, whatever they are here: a procedure that follows the outcome does not keep
/// its level.
///
/// `None` for no lists, fewer than two questions, lists of unequal length, values that are not finite and a level outside 0..1.
///
/// ```
/// use scholareval_stats::{BootstrapOptions, MetricValues, PairedMethod, paired_family};
///
/// // Six questions, each better by 1 to 6: only + + + + + + and its reverse of the 64 assignments are as far from 0.
/// let differences = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
/// let found = paired_family(&[&differences], None, MetricValues::Any, BootstrapOptions::seeded(1));
/// let found = found.expect("six questions");
/// assert_eq!((found.method, found.pairs[0].p), (PairedMethod::SignFlip, 2.0 / 64.0));
/// assert!(found.pairs[0].interval.is_some_and(|interval| interval.low > 0.0));
/// ```
pub fn paired_family(
    differences: &[&[f64]],
    clusters: Option<&[usize]>,
    values: MetricValues,
    options: BootstrapOptions,
) -> Option<PairedFamily> {
    let sample = ClusteredSample::new(differences, clusters).filter(|_| options.is_usable())?;
    let is_enough = sample.clusters() >= FEWEST_QUESTIONS;
    Some(match values {
        MetricValues::Corrected(drawn) => by_student(&sample, drawn, options),
        MetricValues::ZeroOr(width) => by_wilson(&sample, width, options),
        MetricValues::Within(width) if is_enough => by_wilson(&sample, width, options),
        _ if is_enough => by_bootstrap(&sample, options),
        _ => by_sign_flips(&sample, options),
    })
}

fn by_bootstrap(sample: &ClusteredSample, options: BootstrapOptions) -> PairedFamily {
    let resampled = sample.resampled_t(options);
    let count = sample.means.len();
    let alone = |pair: usize| {
        let statistics_of_pair = resampled.iter().map(|all| all[pair].abs());
        ResampledT::new(statistics_of_pair.collect(), options)
    };
    // One critical value for all pairs, taken from the largest |t|, holds the level of the family and yet is less strict than
    // Bonferroni's, as pairs that share a system move together.
    let of_all = if count == 1 {
        alone(0)
    } else {
        ResampledT::new(
            resampled.iter().map(|all| largest_t(all)).collect(),
            options,
        )
    };
    let mut pairs = Vec::with_capacity(count);
    for pair in 0..count {
        let [difference, standard_error] = [sample.means[pair], sample.errors[pair]];
        let (p, interval) = of_all.test(difference, standard_error);
        let (pointwise_p, pointwise) = alone(pair).test(difference, standard_error);
        pairs.push(PairedTest {
            method: PairedMethod::BootstrapT,
            difference,
            standard_error,
            p,
            pointwise_p,
            interval,
            pointwise,
        });
    }
    PairedFamily {
        method: PairedMethod::BootstrapT,
        pairs,
        critical: of_all.critical,
        smallest_p: of_all.p_of(f64::INFINITY),
    }
}

/// The largest |t| over the pairs of a resample. One in which all differences of a pair are equal says nothing about the others.
fn largest_t(all: &[f64]) -> f64 {
    let finite = all.iter().filter(|t| t.is_finite());
    finite.fold(0.0, |most, t| most.max(t.abs()))
}

/// The |t| of resamples, sorted, with their critical value, if it is finite.
struct ResampledT {
    sorted: Vec<f64>,
    critical: Option<f64>,
}

impl ResampledT {
    fn new(mut sorted: Vec<f64>, options: BootstrapOptions) -> Self {
        sorted.sort_unstable_by(f64::total_cmp);
        let rank = tail_rank(options.alpha(), sorted.len());
        let critical = rank.map(|rank| sorted[sorted.len() - rank]);
        Self {
            critical: critical.filter(|critical| critical.is_finite()),
            sorted,
        }
    }

    /// Two-sided p of a difference with this standard error, and its interval; they agree.
    fn test(&self, difference: f64, error: f64) -> (f64, Option<Interval>) {
        // A difference of exactly 0 has t = 0 even without an error to divide by.
        let t = if difference == 0.0 {
            0.0
        } else {
            (difference / error).abs()
        };
        let half = self.critical.filter(|_| error > 0.0);
        let half = half.map(|critical| critical * error);
        let interval = half.map(|half| {
            Interval::new(
                end_of_interval(difference, half),
                end_of_interval(difference, -half),
            )
        });
        (self.p_of(t), interval)
    }

    /// The p of a statistic; the observed data count as one more resample.
    fn p_of(&self, t: f64) -> f64 {
        let total = self.sorted.len();
        let as_extreme = total
            - self
                .sorted
                .partition_point(|extreme| *extreme < t * (1.0 - ROUNDING));
        (as_extreme + 1) as f64 / (total + 1) as f64
    }
}

/// The sum of `values` over each subset of the questions, the empty one first. A sign assignment is the subset of the questions
/// whose differences it flips.
fn subset_sums(values: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0];
    for value in values {
        let with: Vec<f64> = sums.iter().map(|sum| sum + value).collect();
        sums.extend(with);
    }
    sums
}

/// The root of the sum of squares.
fn length(differences: &[f64]) -> f64 {
    let squares = differences.iter().map(|value| value * value);
    squares.sum::<f64>().sqrt()
}

/// |sum of the differences| / sqrt(sum of their squares) under each assignment, the observed one first; 0 if all are 0.
fn statistics(differences: &[f64]) -> Vec<f64> {
    let whole: f64 = differences.iter().sum();
    let root = length(differences);
    let mut statistics = subset_sums(differences);
    for statistic in &mut statistics {
        // Flipping a difference takes it away twice.
        *statistic = if root > 0.0 {
            (whole - 2.0 * *statistic).abs() / root
        } else {
            0.0
        };
    }
    statistics
}

/// The means of the subsets but the empty one; `cases` are the sums of their sizes.
fn subset_means(differences: &[f64], cases: &[f64]) -> Vec<f64> {
    // A subset that adds to 0 leaves the statistic as it is: an end of an interval that is 0 but for rounding would contradict p.
    let slack = SAME / 2.0 * length(differences);
    let mut means = Vec::with_capacity(cases.len());
    for (sum, cases) in subset_sums(differences).iter().zip(cases) {
        if *cases > 0.0 {
            means.push(if sum.abs() <= slack { 0.0 } else { sum / cases });
        }
    }
    means
}

/// The interval whose ends are the `rank`-th of these means from either end.
fn between_ranks(means: &mut [f64], rank: usize) -> Option<Interval> {
    let other = means.len().checked_sub(rank)?;
    if rank == 0 {
        return None;
    }
    // Half a million means need not be sorted for two of them.
    let low = *means.select_nth_unstable_by(rank - 1, f64::total_cmp).1;
    let high = *means.select_nth_unstable_by(other, f64::total_cmp).1;
    Some(Interval { low, high })
}

/// Sums in another order differ in their last digits.
const SAME: f64 = 1e-9;

/// The largest statistic over the pairs under each assignment. Those of a pair are not kept, but computed again for its test:
/// with 19 questions they take 4 MB.
fn largest_statistics(sums: &[Vec<f64>]) -> Vec<f64> {
    let mut largest: Vec<f64> = Vec::new();
    for statistics_of_pair in sums.iter().map(|sums| statistics(sums)) {
        largest.resize(statistics_of_pair.len(), 0.0);
        for (most, value) in largest.iter_mut().zip(statistics_of_pair) {
            *most = most.max(value);
        }
    }
    largest
}

fn by_sign_flips(sample: &ClusteredSample, options: BootstrapOptions) -> PairedFamily {
    let pairs = 0..sample.means.len();
    let sums: Vec<Vec<f64>> = pairs.map(|pair| sample.sums(pair)).collect();
    let mut largest = largest_statistics(&sums);
    largest.sort_unstable_by(f64::total_cmp);
    let flips = SignFlips {
        sample,
        sums,
        cases: subset_sums(sample.sizes()),
        largest,
        alpha: options.alpha(),
    };
    flips.family()
}

/// The tests of all pairs by sign flips.
struct SignFlips<'a> {
    sample: &'a ClusteredSample,
    /// The sums of the differences by pair and question.
    sums: Vec<Vec<f64>>,
    /// The number of cases of each subset.
    cases: Vec<f64>,
    /// The largest statistic over the pairs under each assignment, sorted.
    largest: Vec<f64>,
    alpha: f64,
}

impl SignFlips<'_> {
    fn family(&self) -> PairedFamily {
        let smallest_p = self.smallest_p();
        // In standard errors: t^2 = z^2 (n - 1) / (n - z^2).
        let n = self.sample.clusters() as f64;
        let critical = self.critical();
        let in_errors = critical * ((n - 1.0) / (n - critical * critical)).sqrt();
        // With five questions no result can be below 0.05; saying so is better than a verdict `no
        // difference` that was certain beforehand.
        let is_reachable = smallest_p < self.alpha && in_errors.is_finite();
        let pairs = (0..self.sums.len()).into_par_iter();
        PairedFamily {
            method: PairedMethod::SignFlip,
            pairs: pairs.map(|pair| self.test(pair)).collect(),
            critical: is_reachable.then_some(in_errors),
            smallest_p,
        }
    }

    /// The number of assignments that make up alpha, rounded up.
    fn alpha_count(&self) -> usize {
        (self.alpha * self.largest.len() as f64).ceil() as usize
    }

    /// Significant are the statistics above it: fewer than alpha of the largest are as large.
    fn critical(&self) -> f64 {
        let total = self.largest.len();
        self.largest[total - self.alpha_count().clamp(1, total)]
    }

    fn share(&self, assignments: usize) -> f64 {
        assignments as f64 / self.largest.len() as f64
    }

    /// The number of assignments whose largest statistic is at least this one.
    fn as_large(&self, statistic: f64) -> usize {
        let below = self
            .largest
            .partition_point(|other| *other < statistic - SAME);
        self.largest.len() - below
    }

    fn test(&self, pair: usize) -> PairedTest {
        let of_pair = statistics(&self.sums[pair]);
        let observed = of_pair[0];
        let as_extreme = of_pair
            .iter()
            .filter(|value| **value >= observed - SAME)
            .count();
        let alone = self.alpha_count().saturating_sub(1);
        let rejected = if self.sums.len() == 1 {
            alone
        } else {
            let limit = self.critical() + SAME;
            of_pair.iter().filter(|value| **value > limit).count()
        };
        let [interval, pointwise] = self.intervals(pair, [rejected, alone]);
        PairedTest {
            method: PairedMethod::SignFlip,
            difference: self.sample.means[pair],
            standard_error: self.sample.errors[pair],
            p: self.share(self.as_large(observed)),
            pointwise_p: self.share(as_extreme),
            interval,
            pointwise,
        }
    }

    /// The intervals that leave out so many assignments, half of them on either side.
    fn intervals(&self, pair: usize, rejected: [usize; 2]) -> [Option<Interval>; 2] {
        if self.sample.errors[pair] > 0.0 {
            let mut means = subset_means(&self.sums[pair], &self.cases);
            rejected.map(|rejected| between_ranks(&mut means, rejected / 2))
        } else {
            [None, None]
        }
    }

    /// The smallest adjusted p of any pair: that of its differences if all had the same sign.
    fn smallest_p(&self) -> f64 {
        let mut smallest = 1.0_f64;
        for sums in &self.sums {
            let root = length(sums);
            let highest = if root > 0.0 {
                sums.iter().map(|value| value.abs()).sum::<f64>() / root
            } else {
                0.0
            };
            smallest = smallest.min(self.share(self.as_large(highest).max(1)));
        }
        smallest
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn options() -> BootstrapOptions {
        BootstrapOptions {
            resamples: 999,
            ..BootstrapOptions::seeded(3)
        }
    }

    #[test]
    fn rounding_is_no_difference() {
        let (rounding, better) = (
            [0.1 + 0.2 - 0.3; 24],
            (0..24).map(f64::from).collect::<Vec<f64>>(),
        );
        for family in [
            paired_family(&[&rounding, &better], None, MetricValues::Any, options()),
            paired_family(&[&rounding], None, MetricValues::Any, options()),
        ] {
            let pair = family.unwrap().pairs[0];
            assert_eq!((pair.difference, pair.p, pair.interval), (0.0, 1.0, None));
        }
    }

    #[test]
    fn a_single_pair_has_one_interval_even_where_statistics_are_tied() {
        let ties = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, -1.0, 2.0];
        let pair = paired_family(&[&ties], None, MetricValues::Any, options())
            .unwrap()
            .pairs[0];
        assert_eq!((pair.p, pair.interval), (pair.pointwise_p, pair.pointwise));
        assert_eq!(pair.p < 0.05, pair.interval.unwrap().low > 0.0);
    }

    #[test]
    fn the_procedure_follows_the_metric_and_the_number_of_questions_and_never_the_outcome() {
        let mut rare = [0.0; 20];
        rare[..3].fill(1.0);
        let method = |values, list: &[f64]| {
            let family = paired_family(&[list], None, values, options()).unwrap();
            (family.method, family.pairs[0].method)
        };
        let [flips, wilson, bootstrap] = [
            PairedMethod::SignFlip,
            PairedMethod::Wilson,
            PairedMethod::BootstrapT,
        ];
        for (values, few, many) in [
            (MetricValues::ZeroOr(1.0), wilson, wilson),
            (MetricValues::Within(1.0), flips, wilson),
            (MetricValues::Any, flips, bootstrap),
        ] {
            assert_eq!(method(values, &rare[..19]), (few, few));
            assert_eq!(method(values, &rare), (many, many));
        }
    }

    #[test]
    fn an_end_that_is_0_but_for_rounding_does_not_exclude_0() {
        // 0.1 + 0.2 - 0.3 is 5.6e-17. Of the 128 assignments 6 and their opposites are as far from 0 as the observed one or farther.
        let list = [0.1, 0.2, -0.3, 0.4, 0.5, 0.6, 0.7];
        let family = paired_family(&[&list], None, MetricValues::Any, options()).unwrap();
        let pair = family.pairs[0];
        let interval = pair.interval.unwrap();
        assert_eq!(pair.p < 0.05, interval.low > 0.0, "{pair:?}");
        assert!(interval.low == 0.0 || interval.low.abs() > 1e-9, "{pair:?}");
    }

    #[test]
    fn sign_flips_by_hand() {
        // Of the 64 assignments of 1 .. 6, the sums 21, 21, 19 and 19 are the largest: 2 / 64 is below 0.05, 4 / 64 is not.
        let family = paired_family(
            &[&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]],
            None,
            MetricValues::Any,
            options(),
        )
        .unwrap();
        assert_eq!(
            (family.method, family.smallest_p),
            (PairedMethod::SignFlip, 2.0 / 64.0)
        );
        // The ends are the first and the last of the 63 means of subsets.
        let ends = Some(Interval {
            low: 1.0,
            high: 6.0,
        });
        assert_eq!(
            (
                family.pairs[0].p,
                family.pairs[0].interval,
                family.pairs[0].pointwise
            ),
            (2.0 / 64.0, ends, ends)
        );
        // z = 19 / sqrt(91) is not significant: t = z sqrt(5 / (6 - z^2)).
        let z = 19.0 / 91.0_f64.sqrt();
        assert!((family.critical.unwrap() - z * (5.0 / (6.0 - z * z)).sqrt()).abs() < 1e-9);
        // Five questions give no p below 2 / 32.
        let family = paired_family(
            &[&[1.0, 2.0, 3.0, 4.0, 5.0]],
            None,
            MetricValues::Any,
            options(),
        )
        .unwrap();
        assert_eq!(
            (family.smallest_p, family.critical, family.pairs[0].interval),
            (2.0 / 32.0, None, None)
        );
    }

    #[test]
    fn of_equal_systems_a_pair_differs_in_5_percent_and_some_pair_of_a_family_no_more_often() {
        // 400 sets of three systems over 24 questions, bootstrap-t: a share of 5% has a standard error of 1.1%.
        let mut rng = ChaCha8Rng::seed_from_u64(2026);
        let (mut alone, mut some) = (0, 0);
        for _ in 0..400 {
            let mut scores = || -> Vec<f64> {
                (0..24)
                    .map(|_| rng.random::<f64>() + rng.random::<f64>())
                    .collect()
            };
            let [a, b, c] = [scores(), scores(), scores()];
            let minus =
                |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x - y).collect::<Vec<f64>>();
            let lists = [minus(&a, &b), minus(&a, &c), minus(&b, &c)];
            let few = BootstrapOptions {
                resamples: 199,
                ..options()
            };
            let family = paired_family(
                &lists.each_ref().map(Vec::as_slice),
                None,
                MetricValues::Any,
                few,
            )
            .unwrap();
            assert_eq!(family.method, PairedMethod::BootstrapT);
            alone += usize::from(family.pairs[0].pointwise_p < 0.05);
            some += usize::from(family.pairs.iter().any(|pair| pair.p < 0.05));
        }
        assert!((8..=32).contains(&alone), "{alone} of 400");
        assert!(some <= 32, "{some} of 400");
    }

    #[test]
    fn two_pairs_share_their_assignments() {
        // A pair and its double have the same statistic under every assignment: nothing to adjust for.
        let (single, double) = (
            [1.0, 2.0, -0.5, 3.0, 2.0, 1.0, 4.0],
            [2.0, 4.0, -1.0, 6.0, 4.0, 2.0, 8.0],
        );
        let family =
            paired_family(&[&single, &double], None, MetricValues::Any, options()).unwrap();
        assert_eq!(
            (family.pairs[0].p, family.pairs[1].p),
            (family.pairs[0].pointwise_p, family.pairs[0].pointwise_p)
        );
        // The sums differ from the largest, 13.5, by the flipped ones: 12.5 (observed) and 13.5 with their opposites.
        assert_eq!(family.pairs[0].p, 4.0 / 128.0);
        let other = [0.1, -0.3, 0.2, 0.4, -0.1, 0.2, -0.2];
        let family = paired_family(&[&single, &other], None, MetricValues::Any, options()).unwrap();
        assert!(
            family.pairs[0].p > family.pairs[0].pointwise_p,
            "{family:?}"
        );
    }

    #[test]
    fn a_pair_alone_has_its_critical_value_and_several_one_for_all() {
        let values = |step: usize| {
            (0..40)
                .map(|at| (at * step % 17) as f64 - 7.0)
                .collect::<Vec<f64>>()
        };
        let (a, b) = (values(3), values(5));
        let alone = paired_family(&[&a], None, MetricValues::Any, options())
            .unwrap()
            .pairs[0];
        assert_eq!(
            (alone.p, alone.interval),
            (alone.pointwise_p, alone.pointwise)
        );
        let family = paired_family(&[&a, &b], None, MetricValues::Any, options()).unwrap();
        assert_eq!(family.method, PairedMethod::BootstrapT);
        assert_eq!(
            (family.pairs[0].pointwise, family.pairs[0].pointwise_p),
            (alone.pointwise, alone.pointwise_p)
        );
        for pair in &family.pairs {
            let half = family.critical.unwrap() * pair.standard_error;
            let Interval { low, high } = pair.interval.unwrap();
            assert!(
                (low - (pair.difference - half)).abs() < 1e-12
                    && (high - (pair.difference + half)).abs() < 1e-12
            );
        }
        // A normal critical value is 1.96; of two pairs it is larger.
        assert!(
            (1.96..2.9).contains(&family.critical.unwrap()),
            "{:?}",
            family.critical
        );
    }

    #[test]
    fn what_cannot_be_tested() {
        assert!(paired_family(&[], None, MetricValues::Any, options()).is_none());
        assert!(paired_family(&[&[1.0]], None, MetricValues::Any, options()).is_none());
        assert!(
            paired_family(&[&[1.0, 2.0]], Some(&[4, 4]), MetricValues::Any, options()).is_none()
        );
        assert!(paired_family(&[&[1.0, f64::NAN]], None, MetricValues::Any, options()).is_none());
        let equal = paired_family(
            &[&[0.0; 30], &[0.5; 30]],
            None,
            MetricValues::Any,
            options(),
        )
        .unwrap();
        assert_eq!((equal.pairs[0].p, equal.pairs[0].interval), (1.0, None));
        assert_eq!(
            (equal.pairs[1].standard_error, equal.pairs[1].interval),
            (0.0, None)
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn p_and_interval_never_contradict_each_other(
            rows in prop::collection::vec(prop::collection::vec(-6..7_i8, 3), 2..26),
            sizes in prop::collection::vec(1..4_usize, 26),
            pairs in 1..4_usize,
        ) {
            let clusters: Vec<usize> = (0..rows.len()).map(|at| at / sizes[at % 26]).collect();
            let list = |pair: usize| rows.iter().map(|row| f64::from(row[pair]) / 4.0).collect::<Vec<f64>>();
            let lists: Vec<Vec<f64>> = (0..pairs).map(list).collect();
            let lists: Vec<&[f64]> = lists.iter().map(Vec::as_slice).collect();
            if let Some(family) = paired_family(&lists, Some(&clusters), MetricValues::Any, options()) {
                for pair in &family.pairs {
                    for (p, interval) in [(pair.p, pair.interval), (pair.pointwise_p, pair.pointwise)] {
                        prop_assert!(p > 0.0 && p <= 1.0);
                        let Some(interval) = interval else { continue };
                        let excludes_zero = interval.low > 1e-9 || interval.high < -1e-9;
                        prop_assert_eq!(excludes_zero, p < 0.05, "{:?}", pair);
                    }
                }
            }
        }
    }
}
