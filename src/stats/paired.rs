//! Paired comparison of systems: one procedure gives p values, intervals and verdicts, which cannot contradict each other.
//!
//! From 20 questions on, p and interval come from the bootstrap-t: questions are resampled, and each resample's difference
//! is studentized by its own standard error. Over several pairs the largest |t| of each resample gives critical value,
//! adjusted p and simultaneous intervals (single-step max-t: P. H. Westfall and S. S. Young, "Resampling-based multiple
//! testing", 1993, section 2.3; J. P. Romano and M. Wolf, JASA 100, 2005). A single pair has equal tails instead.
//!
//! Below 20 questions, and for a pair with fewer than 3 differences of either sign, the resampled t is too discrete. There the signs of the differences are flipped (R. A. Fisher, "The design of experiments", 1935, section 21): under the
//! null hypothesis every question's difference is as likely with the other sign, which skewed differences with a mean of 0 do
//! not satisfy. The interval holds the differences that this test does not reject; its ends are order statistics of the means
//! of subsets (J. A. Hartigan, "Using subsample values as typical values", JASA 64, 1969). Such a pair among others is adjusted by
//! Bonferroni, and the others share the rest of the level.
//!
//! Differences that can only be -w, 0 or w have a procedure of their own (`binary_pairs`). A pair's p alone never depends on
//! which other pairs are tested.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::binary_pairs::by_wilson;
use super::bootstrap::{BootstrapOptions, Interval, tail_rank};
use super::paired_test::{MetricValues, PairedFamily, PairedMethod, PairedTest};
use super::studentized::{ClusteredSample, equal_tails};

/// Fewest questions for a bootstrap-t.
// Below it the resampled t takes too few distinct values for its tails to have the size that they
// claim (coverage is measured in docs/metrics.md).
pub(super) const FEWEST_QUESTIONS: usize = 20;
/// Fewest differences of either sign for a bootstrap-t.
// With fewer, many resamples have differences of one sign only, and the tail of t on that side has
// no values.
const FEWEST_OF_EITHER_SIGN: usize = 3;
/// Up to this many questions all sign assignments are used; else random ones.
// 2^19 assignments take 4 MB a pair and a moment; every further question doubles both.
const EXACT_UP_TO: usize = 19;

/// Compares pairs of systems; each list has the differences of a pair over the same cases, `clusters` their questions.
/// `values` says what the values of the metric can be, whatever they are here: a procedure that follows the outcome does not keep
/// its level.
///
/// `None` for no lists, fewer than two questions, lists of unequal length, values that are not finite and a level outside 0..1.
///
/// ```
/// use scholareval::stats::{BootstrapOptions, MetricValues, PairedMethod, paired_family};
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
    if let MetricValues::ZeroOr(width) = values {
        return Some(by_wilson(&sample, width, options));
    }
    let pairs = differences.len();
    let sums: Vec<Vec<f64>> = (0..pairs).map(|pair| sample.sums(pair)).collect();
    if sample.clusters() < FEWEST_QUESTIONS {
        return Some(by_sign_flips(&sample, &sums, options));
    }
    let (one_sided, others): (Vec<usize>, Vec<usize>) =
        (0..pairs).partition(|pair| is_one_sided(&sums[*pair]));
    let joint = JointTest {
        pairs,
        members: others.len(),
        options,
    };
    let lists: Vec<&[f64]> = others.iter().map(|pair| differences[*pair]).collect();
    let mut family = match ClusteredSample::new(&lists, clusters) {
        Some(sample) => joint.by_bootstrap(&sample),
        None => joint.without_bootstrap(),
    };
    // Ascending, so that each is inserted at its own index.
    for pair in one_sided {
        let sample = ClusteredSample::new(&[differences[pair]], clusters)?;
        let alone = joint.by_sign_flips_alone(&sample, &sums[pair]);
        if others.is_empty() {
            family.critical = family.critical.or(alone.critical);
            family.smallest_p = family.smallest_p.min(alone.smallest_p);
        }
        family.pairs.insert(pair, alone.pairs[0]);
    }
    Some(family)
}

/// Whether a pair's differences, summed by question, have too few of either sign for a bootstrap-t.
fn is_one_sided(sums: &[f64]) -> bool {
    let positive = sums.iter().filter(|sum| **sum > 0.0).count();
    let negative = sums.iter().filter(|sum| **sum < 0.0).count();
    positive.min(negative) < FEWEST_OF_EITHER_SIGN
}

/// Pairs that are tested together, of which `members` have a bootstrap-t.
struct JointTest {
    pairs: usize,
    members: usize,
    options: BootstrapOptions,
}

impl JointTest {
    fn without_bootstrap(&self) -> PairedFamily {
        PairedFamily {
            method: PairedMethod::SignFlip,
            pairs: Vec::new(),
            critical: None,
            smallest_p: 1.0,
        }
    }

    fn by_bootstrap(&self, sample: &ClusteredSample) -> PairedFamily {
        let resampled = sample.resampled_t(self.options);
        let total = resampled.len();
        let mut pairs = Vec::with_capacity(self.members);
        let mut critical = None;
        for pair in 0..self.members {
            let (test, own_critical) = alone_by_bootstrap(sample, pair, &resampled, self.options);
            pairs.push(test);
            critical = own_critical;
        }
        if self.pairs > 1 {
            let largest = largest_t(&resampled);
            // What the pairs with a test of their own leave of the level: alpha * members / pairs.
            let share = self.members as f64 / self.pairs as f64;
            // One critical value for all pairs, taken from the largest |t|, holds the level of the
            // family and yet is less strict than Bonferroni's, as pairs that share a system move
            // together.
            let rank = tail_rank(self.options.alpha() * share, total);
            critical = rank.map(|rank| largest[total - rank]);
            for test in &mut pairs {
                adjust(test, &largest, critical);
                test.p = (test.p / share).min(1.0);
            }
        }
        PairedFamily {
            method: PairedMethod::BootstrapT,
            pairs,
            critical,
            smallest_p: bootstrap_p(0, total),
        }
    }

    /// The family of one pair whose differences are nearly all of one sign, with its share of the level: alpha / pairs.
    fn by_sign_flips_alone(&self, sample: &ClusteredSample, sums: &[f64]) -> PairedFamily {
        let sums = [sums.to_vec()];
        let mut flips = SignFlips::new(sample, &sums, self.options);
        let alone = flips.family();
        if self.pairs == 1 {
            return alone;
        }
        let pairs = self.pairs as f64;
        flips.alpha = self.options.alpha() / pairs;
        let mut adjusted = flips.family();
        adjusted.smallest_p = (pairs * adjusted.smallest_p).min(1.0);
        for test in &mut adjusted.pairs {
            test.p = (pairs * test.p).min(1.0);
            test.pointwise = alone.pairs[0].pointwise;
        }
        adjusted
    }
}

/// A pair's test without adjustment for the others, with its critical value.
fn alone_by_bootstrap(
    sample: &ClusteredSample,
    pair: usize,
    resampled: &[Vec<f64>],
    options: BootstrapOptions,
) -> (PairedTest, Option<f64>) {
    let difference = sample.means[pair];
    let standard_error = sample.errors[pair];
    let own = resampled.iter().map(|all| all[pair]).collect();
    let tails = equal_tails(difference, standard_error, own, options);
    let test = PairedTest {
        method: PairedMethod::BootstrapT,
        difference,
        standard_error,
        p: tails.p,
        pointwise_p: tails.p,
        interval: tails.interval,
        pointwise: tails.interval,
    };
    (test, tails.critical)
}

/// Adjusts a pair's p and interval for all pairs, by the largest |t| of each resample (sorted) and its critical value.
fn adjust(test: &mut PairedTest, largest: &[f64], critical: Option<f64>) {
    // A difference of exactly 0 has t = 0 even without an error to divide by.
    let t = if test.difference == 0.0 {
        0.0
    } else {
        test.difference / test.standard_error
    };
    let below = largest.partition_point(|value| *value < t.abs());
    test.p = bootstrap_p(largest.len() - below, largest.len());
    test.interval = None;
    if let Some(critical) = critical
        && test.standard_error > 0.0
    {
        let half = critical * test.standard_error;
        test.interval = Some(Interval {
            low: test.difference - half,
            high: test.difference + half,
        });
    }
}

/// The largest |t| over the pairs of each resample, sorted.
fn largest_t(resampled: &[Vec<f64>]) -> Vec<f64> {
    let mut largest = Vec::new();
    for all in resampled {
        // A resample in which all differences of a pair are equal says nothing about the others.
        let finite = all.iter().filter(|t| t.is_finite());
        largest.push(finite.fold(0.0_f64, |most, t| most.max(t.abs())));
    }
    largest.sort_unstable_by(f64::total_cmp);
    largest
}

/// The p of a statistic that so many resamples reach; the observed data count as one more resample.
fn bootstrap_p(as_extreme: usize, resamples: usize) -> f64 {
    (as_extreme + 1) as f64 / (resamples + 1) as f64
}

/// The sign assignments, as the subsets of questions whose differences are flipped. With each subset its complement is one.
struct Assignments {
    questions: usize,
    random: Option<BootstrapOptions>,
}

impl Assignments {
    /// The sum of `values` over each subset, the empty one first.
    fn subset_sums(&self, values: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0];
        let Some(options) = self.random else {
            for value in values {
                let with: Vec<f64> = sums.iter().map(|sum| sum + value).collect();
                sums.extend(with);
            }
            return sums;
        };
        let mut random = RandomSubsets::new(self.questions, options);
        while let Some(subsets) = random.next() {
            let mut of_each = [0.0; LANES];
            for (value, signs) in values.iter().zip(subsets) {
                for (sum, is_in) in of_each.iter_mut().zip(signs) {
                    *sum += value * is_in;
                }
            }
            sums.extend(of_each);
        }
        sums.truncate(1 + options.resamples as usize);
        let whole: f64 = values.iter().sum();
        // With each assignment its opposite, so that the interval is as exact on one side as on the
        // other.
        let complements: Vec<f64> = sums.iter().map(|sum| whole - sum).collect();
        sums.extend(complements);
        sums
    }

    /// |sum of the differences| / sqrt(sum of their squares) under each assignment, the observed one first; 0 if all are 0.
    fn statistics(&self, differences: &[f64]) -> Vec<f64> {
        let whole: f64 = differences.iter().sum();
        let root = differences
            .iter()
            .map(|value| value * value)
            .sum::<f64>()
            .sqrt();
        let mut statistics = self.subset_sums(differences);
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
    fn means(&self, differences: &[f64], cases: &[f64]) -> Vec<f64> {
        let sums = self.subset_sums(differences).into_iter().zip(cases);
        sums.filter(|(_, cases)| **cases > 0.0)
            .map(|(sum, cases)| sum / cases)
            .collect()
    }
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

/// Subsets that are added up at a time: the processor adds as many numbers in the time of one.
const LANES: usize = 8;

/// Random subsets of the questions, some at a time. Each has a stream of its own, so that it does not depend on the others.
struct RandomSubsets {
    seeded: ChaCha8Rng,
    resamples: u32,
    drawn: u32,
    bits: Vec<u8>,
    /// For each question whether it is in each of the subsets, as 0 or 1.
    signs: Vec<[f64; LANES]>,
}

impl RandomSubsets {
    fn new(questions: usize, options: BootstrapOptions) -> Self {
        Self {
            seeded: ChaCha8Rng::seed_from_u64(options.seed),
            resamples: options.resamples,
            drawn: 0,
            bits: vec![0; questions.div_ceil(8)],
            signs: vec![[0.0; LANES]; questions],
        }
    }

    /// The next subsets; beyond the number of resamples there is none.
    fn next(&mut self) -> Option<&[[f64; LANES]]> {
        if self.drawn >= self.resamples {
            return None;
        }
        for lane in 0..LANES {
            let mut rng = self.seeded.clone();
            rng.set_stream(u64::from(self.drawn));
            self.drawn = self.drawn.saturating_add(1);
            rng.fill_bytes(&mut self.bits);
            for (at, signs) in self.signs.iter_mut().enumerate() {
                signs[lane] = f64::from(self.bits[at / 8] >> (at % 8) & 1);
            }
        }
        Some(&self.signs)
    }
}

/// Sums in another order differ in their last digits.
const SAME: f64 = 1e-9;

/// The largest statistic over the pairs under each assignment. Those of a pair are not kept, but computed again for its test:
/// with 19 questions they take 4 MB.
fn largest_statistics(assignments: &Assignments, sums: &[Vec<f64>]) -> Vec<f64> {
    let mut largest: Vec<f64> = Vec::new();
    for own in sums.iter().map(|sums| assignments.statistics(sums)) {
        largest.resize(own.len(), 0.0);
        for (most, value) in largest.iter_mut().zip(own) {
            *most = most.max(value);
        }
    }
    largest
}

fn by_sign_flips(
    sample: &ClusteredSample,
    sums: &[Vec<f64>],
    options: BootstrapOptions,
) -> PairedFamily {
    SignFlips::new(sample, sums, options).family()
}

/// The tests of all pairs by sign flips.
struct SignFlips<'a> {
    sample: &'a ClusteredSample,
    /// The sums of the differences by pair and question.
    sums: &'a [Vec<f64>],
    /// The number of cases of each subset.
    cases: Vec<f64>,
    assignments: Assignments,
    /// The largest statistic over the pairs under each assignment, sorted.
    largest: Vec<f64>,
    alpha: f64,
}

impl<'a> SignFlips<'a> {
    fn new(sample: &'a ClusteredSample, sums: &'a [Vec<f64>], options: BootstrapOptions) -> Self {
        let questions = sample.clusters();
        let assignments = Assignments {
            questions,
            random: (questions > EXACT_UP_TO).then_some(options),
        };
        let mut largest = largest_statistics(&assignments, sums);
        largest.sort_unstable_by(f64::total_cmp);
        Self {
            sample,
            sums,
            cases: assignments.subset_sums(sample.sizes()),
            assignments,
            largest,
            alpha: options.alpha(),
        }
    }

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
        let own = self.assignments.statistics(&self.sums[pair]);
        let observed = own[0];
        let as_extreme = own
            .iter()
            .filter(|value| **value >= observed - SAME)
            .count();
        let alone = self.alpha_count().saturating_sub(1);
        let rejected = if self.sums.len() == 1 {
            alone
        } else {
            let limit = self.critical() + SAME;
            own.iter().filter(|value| **value > limit).count()
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
            let mut means = self.assignments.means(&self.sums[pair], &self.cases);
            rejected.map(|rejected| between_ranks(&mut means, rejected / 2))
        } else {
            [None, None]
        }
    }

    /// The smallest adjusted p of any pair: that of its differences if all had the same sign.
    fn smallest_p(&self) -> f64 {
        let mut smallest = 1.0_f64;
        for sums in self.sums {
            let root = sums.iter().map(|value| value * value).sum::<f64>().sqrt();
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
    use rand::RngExt;

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
    fn p_alone_is_that_of_the_pair_without_the_others() {
        // 3 wins of 20 and no loss: of the 8 assignments of the three signs, 2 are as far from 0.
        let mut rare = [0.0; 20];
        rare[..3].fill(1.0);
        let other: Vec<f64> = (0..20).map(|at| f64::from(at % 5) - 1.5).collect();
        let of =
            |lists: &[&[f64]]| paired_family(lists, None, MetricValues::Any, options()).unwrap();
        let alone = of(&[&rare]).pairs[0];
        assert!((alone.p - 0.25).abs() < 0.03, "{alone:?}");
        let family = of(&[&other, &rare, &other]);
        assert_eq!(family.pairs[1].pointwise_p, alone.p);
        assert_eq!(family.pairs[1].pointwise, alone.interval);
        assert_eq!(family.pairs[1].p, (3.0 * alone.p).min(1.0));
        let methods: Vec<PairedMethod> = family.pairs.iter().map(|pair| pair.method).collect();
        let others = PairedMethod::BootstrapT;
        assert_eq!(methods, [others, PairedMethod::SignFlip, others]);
        let all = of(&[&rare, &rare]);
        assert!(all.critical.is_none() && all.smallest_p > 0.4, "{all:?}");
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
        let (one, double) = (
            [1.0, 2.0, -0.5, 3.0, 2.0, 1.0, 4.0],
            [2.0, 4.0, -1.0, 6.0, 4.0, 2.0, 8.0],
        );
        let family = paired_family(&[&one, &double], None, MetricValues::Any, options()).unwrap();
        assert_eq!(
            (family.pairs[0].p, family.pairs[1].p),
            (family.pairs[0].pointwise_p, family.pairs[0].pointwise_p)
        );
        // The sums differ from the largest, 13.5, by the flipped ones: 12.5 (observed) and 13.5 with their opposites.
        assert_eq!(family.pairs[0].p, 4.0 / 128.0);
        let other = [0.1, -0.3, 0.2, 0.4, -0.1, 0.2, -0.2];
        let family = paired_family(&[&one, &other], None, MetricValues::Any, options()).unwrap();
        assert!(
            family.pairs[0].p > family.pairs[0].pointwise_p,
            "{family:?}"
        );
    }

    #[test]
    fn a_pair_alone_has_equal_tails_and_several_one_critical_value() {
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
