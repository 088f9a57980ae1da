//! From the calls of a sample, counted exactly, to the sums of a group.
//!
//! Counted tokens are taken to be a + b * estimated tokens, a and b by least squares over the sample: a chat template adds
//! the same to every call, and a tokenizer finds so many tokens more or fewer in texts of a sort. A sum is then made of
//! the counts of those calls that were counted, and of the line for the others. Its error: each of the m others is off by
//! the standard deviation s around the line, and all of them by the line itself,
//!
//! ```text
//! variance = m s^2 + m^2 s^2 (1/n + (x' - x)^2 / Sxx)
//! ```
//!
//! with n pairs, x the mean of their estimates, x' that of the others, Sxx the sum of squares around x. (Regression
//! estimation of totals: W. G. Cochran, "Sampling Techniques", 3rd edition (1977), chapter 7; the variance of predictions:
//! N. R. Draper, H. Smith, "Applied Regression Analysis" (1998), chapter 1.)

use crate::evaluation::{PlanGroup, PlannedCalls};
use crate::stats::{least_squares, mean};

/// With fewer pairs nothing is said of calls that were not counted.
const FEWEST: usize = 8;
/// Standard deviations on either side that hold 95%, from [`MANY`] pairs on, and (Student's t, 6 degrees of freedom) for
/// fewer.
const WIDTHS: (f64, f64) = (2.0, 2.5);
const MANY: usize = 32;

/// One counted call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pair {
    pub(super) estimated: f64,
    pub(super) counted: f64,
    pub(super) gates: usize,
}

/// A sum, and how far it may be off: 95 of 100 are nearer.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Sum {
    pub(super) tokens: f64,
    pub(super) half_width: f64,
}

/// The line through the pairs of a group.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Line {
    intercept: f64,
    slope: f64,
    /// Around the line.
    variance: f64,
    n: f64,
    mean: f64,
    /// Of the estimates around their mean.
    squares: f64,
}

impl Line {
    /// `None` for too few pairs, and for estimates of nothing.
    fn through(pairs: &[Pair]) -> Option<Self> {
        if pairs.len() < FEWEST {
            return None;
        }
        let estimated: Vec<f64> = pairs.iter().map(|pair| pair.estimated).collect();
        let counted: Vec<f64> = pairs.iter().map(|pair| pair.counted).collect();
        let (mean_x, mean_y, n) = (mean(&estimated)?, mean(&counted)?, pairs.len() as f64);
        let squares = estimated.iter().map(|x| (x - mean_x).powi(2)).sum();
        let (intercept, slope, parameters) = match least_squares(&estimated, &counted, 0.95) {
            Some(line) => (line.intercept, line.slope, 2.0),
            // Calls of one length: their ratio.
            None if mean_x > 0.0 => (0.0, mean_y / mean_x, 1.0),
            None => return None,
        };
        let rest = |pair: &Pair| (pair.counted - intercept - slope * pair.estimated).powi(2);
        let variance = pairs.iter().map(rest).sum::<f64>() / (n - parameters);
        Some(Self { intercept, slope, variance, n, mean: mean_x, squares })
    }

    /// The sum over `others` calls with so many estimated tokens, and its variance.
    fn sum(&self, others: f64, estimated: f64) -> (f64, f64) {
        if others <= 0.0 {
            return (0.0, 0.0);
        }
        let off = estimated / others - self.mean;
        let leverage = if self.squares > 0.0 { off * off / self.squares } else { 0.0 };
        let variance = self.variance * (others + others * others * (1.0 / self.n + leverage));
        (self.intercept * others + self.slope * estimated, variance)
    }
}

/// What the counted calls of a group tell of all its calls.
pub(super) struct Fit<'a> {
    pairs: &'a [Pair],
    line: Option<Line>,
}

impl<'a> Fit<'a> {
    /// `None` if most calls were not counted, and too few were to tell of them.
    pub(super) fn of(pairs: &'a [Pair], group: &PlanGroup) -> Option<Self> {
        let line = Line::through(pairs);
        let all_counted = pairs.len() as u64 >= group.at_most().calls;
        (line.is_some() || all_counted).then_some(Self { pairs, line })
    }

    /// The sum over calls of the group: those whose number of gates `among` takes.
    pub(super) fn sum(&self, calls: PlannedCalls, among: impl Fn(usize) -> bool) -> Sum {
        let own = self.pairs.iter().filter(|pair| among(pair.gates));
        let (n, counted, estimated) = own.fold((0.0, 0.0, 0.0), |(n, counted, estimated), pair| {
            (n + 1.0, counted + pair.counted, estimated + pair.estimated)
        });
        let (others, rest) = (calls.calls as f64 - n, (calls.prompt_tokens as f64 - estimated).max(0.0));
        let (more, variance) = self.line.map_or((0.0, 0.0), |line| line.sum(others, rest));
        let width = if self.pairs.len() < MANY { WIDTHS.1 } else { WIDTHS.0 };
        Sum { tokens: (counted + more).max(0.0), half_width: width * variance.sqrt() }
    }

    /// Puts the sums into the group.
    pub(super) fn correct(&self, group: &mut PlanGroup) {
        let before = group.at_most().prompt_tokens as f64;
        let now = self.sum(group.now, |gates| gates == 0).tokens;
        let gated: Vec<f64> = group
            .gated
            .iter()
            .zip(1..)
            .map(|(calls, behind)| self.sum(*calls, |gates| gates == behind).tokens)
            .collect();
        correct(&mut group.now, now);
        group.gated.iter_mut().zip(gated).for_each(|(calls, tokens)| correct(calls, tokens));
        if before > 0.0 {
            let ratio = group.at_most().prompt_tokens as f64 / before;
            let tokens = group.repeats.prompt_tokens as f64 * ratio;
            correct(&mut group.repeats, tokens);
        }
    }
}

/// So many prompt tokens are meant: what goes by them changes with them.
fn correct(calls: &mut PlannedCalls, tokens: f64) {
    let (before, after) = (calls.prompt_tokens, tokens.round() as u64);
    if before > 0 {
        calls.shared_tokens = (calls.shared_tokens as f64 * tokens / before as f64).round() as u64;
    }
    // Without a limit replies are taken to be as long as their prompts.
    if calls.reply_limit == before {
        calls.reply_limit = after;
    }
    calls.prompt_tokens = after;
}

#[cfg(test)]
mod tests {
    use rand::{RngExt as _, SeedableRng as _};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::domain::{CallKind, Role};

    fn calls(calls: u64, prompt_tokens: u64) -> PlannedCalls {
        PlannedCalls { calls, prompt_tokens, shared_tokens: prompt_tokens / 2, reply_limit: 100 * calls }
    }

    fn group(now: PlannedCalls, gated: &[PlannedCalls]) -> PlanGroup {
        let (kind, judge) = (CallKind::Property, "j".into());
        let (gated, repeats) = (gated.to_vec(), PlannedCalls::default());
        PlanGroup { role: Role::Rubric, kind, judge, now, gated, repeats, sample: Vec::new() }
    }

    fn pair(estimated: f64, counted: f64, gates: usize) -> Pair {
        Pair { estimated, counted, gates }
    }

    #[test]
    fn where_all_calls_were_counted_the_counts_stand() {
        let mut of = group(calls(2, 210), &[calls(1, 100)]);
        of.repeats = calls(6, 620);
        let pairs = [pair(100.0, 90.0, 0), pair(110.0, 102.0, 0), pair(100.0, 95.0, 1)];
        let fit = Fit::of(&pairs, &of).unwrap();
        assert_eq!(fit.sum(of.now, |gates| gates == 0), Sum { tokens: 192.0, half_width: 0.0 });
        fit.correct(&mut of);
        assert_eq!((of.now.prompt_tokens, of.gated[0].prompt_tokens), (192, 95));
        // 105 * 192 / 210, and 620 * 287 / 310
        assert_eq!((of.now.shared_tokens, of.repeats.prompt_tokens), (96, 574));
        assert_eq!(of.now.reply_limit, 200);
    }

    #[test]
    fn a_tokenizer_with_a_frame_and_a_ratio_of_its_own_is_met_from_a_sample() {
        // counted = 7 + 1.1 * estimated, exactly: a line has no error
        let pairs: Vec<Pair> = (1..=8).map(|n| pair(f64::from(n) * 50.0, 7.0 + 55.0 * f64::from(n), 0)).collect();
        // 8 counted calls with 1,800 estimated tokens, and 92 others with 18,200
        let mut of = group(calls(100, 20_000), &[calls(10, 1_000)]);
        let fit = Fit::of(&pairs, &of).unwrap();
        let sum = fit.sum(of.now, |gates| gates == 0);
        // 7 * 100 + 1.1 * 20,000
        assert!((sum.tokens - 22_700.0).abs() < 1e-6 && sum.half_width < 1e-3, "{sum:?}");
        fit.correct(&mut of);
        assert_eq!((of.now.prompt_tokens, of.gated[0].prompt_tokens), (22_700, 1_170));
    }

    #[test]
    fn the_error_is_that_of_the_calls_and_of_the_line() {
        // estimates 100, counts 98 and 102 in turns: ratio 1, variance 8 * 4 / 7 around it
        let pairs: Vec<Pair> = (0..8).map(|n| pair(100.0, if n % 2 == 0 { 98.0 } else { 102.0 }, 0)).collect();
        let of = group(calls(108, 10_800), &[]);
        let sum = Fit::of(&pairs, &of).unwrap().sum(of.now, |_| true);
        // 100 others: 2.5 * sqrt(32/7 * (100 + 100^2 / 8))
        let expected = 2.5 * (32.0 / 7.0 * (100.0 + 10_000.0 / 8.0_f64)).sqrt();
        assert!((sum.tokens - 10_800.0).abs() < 1e-9 && (sum.half_width - expected).abs() < 1e-9, "{sum:?}");
    }

    #[test]
    fn of_seven_among_many_nothing_is_told() {
        let pairs = [pair(100.0, 90.0, 0); 7];
        assert!(Fit::of(&pairs, &group(calls(8, 800), &[])).is_none());
        assert!(Fit::of(&pairs, &group(calls(7, 700), &[])).is_some());
        assert!(Fit::of(&[], &group(calls(1, 100), &[])).is_none());
    }

    /// 500 groups of 1,000 calls, each call up to 15% off the line, longer ones by more tokens; 64 of them are counted.
    #[test]
    fn ninety_five_of_a_hundred_sums_are_nearer_than_told() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut held = 0;
        for _ in 0..500 {
            let call = |_| {
                let x: f64 = rng.random_range(50.0_f64..3000.0).round();
                pair(x, 12.0 + 0.93 * x * rng.random_range(0.85..1.15), 0)
            };
            let all: Vec<Pair> = (0..1000).map(call).collect();
            let of = group(calls(1000, all.iter().map(|pair| pair.estimated).sum::<f64>() as u64), &[]);
            let sum = Fit::of(&all[..64], &of).unwrap().sum(of.now, |_| true);
            let counted: f64 = all.iter().map(|pair| pair.counted).sum();
            assert!(sum.half_width < 0.04 * counted, "{sum:?}");
            held += usize::from((sum.tokens - counted).abs() <= sum.half_width);
        }
        // 475 expected, with a standard deviation of 5
        assert!((455..=495).contains(&held), "{held} of 500");
    }
}
