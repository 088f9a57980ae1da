//! Every pair of systems over the shared cases, and what missing values could make of the verdict.

use super::compare::{SAME, Shared, ends, value_of};
use super::in_common::consider_own_cases;
use super::length::length_effect;
use super::{Observation, PairComparison};
use crate::stats::{
    Paired, PowerTarget, SignFlipOptions, SignFlipTest, WantedDifference, cases_needed, cluster_sums,
    detectable_difference, holm, mean, paired_differences, sign_flip_tests,
};

/// The pairs in table order, the better system first; with a baseline only its own. None without shared cases.
pub(super) fn compare_pairs(shared: &Shared<'_>) -> Vec<PairComparison> {
    let of_baseline = |place: usize| shared.options.baseline.as_ref().is_none_or(|label| shared.label(place) == label);
    let all =
        (0..shared.taking_part).flat_map(|first| (first + 1..shared.taking_part).map(move |second| (first, second)));
    let places: Vec<(usize, usize)> =
        all.filter(|(first, second)| of_baseline(*first) || of_baseline(*second)).collect();
    if shared.cases.is_empty() || places.is_empty() {
        return Vec::new();
    }
    let paired =
        |(first, second): &(usize, usize)| Paired { first: &shared.values[*first], second: &shared.values[*second] };
    let pairs: Vec<Paired<'_>> = places.iter().map(paired).collect();
    let compared = paired_differences(&pairs, Some(&shared.questions), shared.bca());
    let differences: Vec<Vec<f64>> = pairs.iter().map(|pair| pair.differences().unwrap_or_default()).collect();
    let sums: Vec<Vec<f64>> = differences.iter().map(|own| flipped_sums(own, &shared.questions)).collect();
    let tests = flip(shared, &sums);
    let p_values: Vec<Option<f64>> = tests.iter().map(|test| test.map(|test| test.p)).collect();
    let corrected = corrected(&p_values);
    let mut results = Vec::with_capacity(places.len());
    for (index, (first, second)) in places.iter().copied().enumerate() {
        let Some(found) = compared[index] else { continue };
        let interval = found.interval.map(|interval| (interval.low, interval.high));
        let effect = length_effect(shared, (first, second), interval);
        results.push(PairComparison {
            first,
            second,
            difference: found.mean,
            interval,
            p: p_values[index],
            exact: tests[index].is_some_and(|test| test.exact),
            p_holm: corrected[index],
            differs: corrected[index].is_some_and(|p| p < shared.options.alpha),
            wins: found.wins,
            ties: found.ties,
            losses: found.losses,
            cohens_dz: found.cohens_dz,
            cliffs_delta: found.cliffs_delta,
            missing_bounds: None,
            depends_on_missing: false,
            in_common: None,
            length_left_out: effect.as_ref().and_then(|effect| effect.as_ref().err().copied()),
            length: effect.and_then(Result::ok),
            detectable: detectable(shared, &differences[index]),
            questions_needed: questions_needed(shared, &differences[index]),
        });
    }
    consider_missing(shared, &mut results, &p_values);
    consider_own_cases(shared, &mut results);
    results
}

/// What the test flips: the sum of each question's differences. What is 0 but for rounding is 0, or it would count among
/// the differences to be flipped.
pub(super) fn flipped_sums(differences: &[f64], questions: &[usize]) -> Vec<f64> {
    let largest = differences.iter().fold(1.0_f64, |most, value| most.max(value.abs()));
    let mut sums = cluster_sums(differences, questions).unwrap_or_default();
    sums.iter_mut().filter(|sum| sum.abs() <= SAME * largest).for_each(|sum| *sum = 0.0);
    sums
}

pub(super) fn flip(shared: &Shared<'_>, sums: &[Vec<f64>]) -> Vec<Option<SignFlipTest>> {
    let options = SignFlipOptions { flips: shared.options.flips, ..SignFlipOptions::seeded(shared.options.seed) };
    let lists: Vec<&[f64]> = sums.iter().map(Vec::as_slice).collect();
    sign_flip_tests(&lists, options)
}

/// Holm's correction over the tests that there are.
pub(super) fn corrected(p_values: &[Option<f64>]) -> Vec<Option<f64>> {
    let known: Vec<f64> = p_values.iter().flatten().copied().collect();
    let mut adjusted = holm(&known).unwrap_or_default().into_iter();
    p_values.iter().map(|p| p.and_then(|_| adjusted.next())).collect()
}

/// The smallest difference that the t test finds with 80% power at alpha, without correction for other pairs.
fn detectable(shared: &Shared<'_>, differences: &[f64]) -> Option<f64> {
    let (spread, questions) = spread(shared, differences)?;
    let target = PowerTarget { alpha: shared.options.alpha, ..PowerTarget::default() };
    detectable_difference(spread, questions, target)
}

/// With how many questions of this spread that test finds the wanted difference.
fn questions_needed(shared: &Shared<'_>, differences: &[f64]) -> Option<usize> {
    let difference = shared.options.wanted_difference?;
    let (sd, _) = spread(shared, differences)?;
    let target = PowerTarget { alpha: shared.options.alpha, ..PowerTarget::default() };
    cases_needed(WantedDifference { difference, sd }, target)
}

/// The standard deviation of the differences, and how many questions they come from. Where questions have several cases,
/// from the standard error of the mean over whole questions. `None` where all differences are equal.
fn spread(shared: &Shared<'_>, differences: &[f64]) -> Option<(f64, usize)> {
    let centre = mean(differences)?;
    let off: Vec<f64> = differences.iter().map(|value| value - centre).collect();
    let sums = cluster_sums(&off, &shared.questions)?;
    let (cases, questions) = (differences.len() as f64, sums.len() as f64);
    let squares: f64 = sums.iter().map(|sum| sum * sum).sum();
    // The standard error times the root of the questions: with one case each, the standard deviation.
    let spread = (squares * questions * questions / (questions - 1.0)).sqrt() / cases;
    (spread > SAME).then_some((spread, sums.len()))
}

/// A pair with everything that is missing against its first system and in favour of it.
struct Extremes {
    pair: usize,
    /// Differences, lowest and highest, over the cases both answered.
    lists: [Vec<f64>; 2],
    questions: Vec<usize>,
}

impl Extremes {
    /// `None` where nothing is missing.
    fn of(shared: &Shared<'_>, pair: usize, (first, second): (usize, usize)) -> Option<Self> {
        let (mut lists, mut questions, mut missing) = ([Vec::new(), Vec::new()], Vec::new(), false);
        for case in shared.by_id.iter().copied() {
            let own: [Observation; 2] = [shared.observation(first, case), shared.observation(second, case)];
            let Some(((low, high), (other_low, other_high))) = ends(own[0]).zip(ends(own[1])) else { continue };
            missing |= own.iter().any(|observation| value_of(*observation).is_none());
            lists[0].push(low - other_high);
            lists[1].push(high - other_low);
            questions.push(shared.question_of[case]);
        }
        missing.then_some(Self { pair, lists, questions })
    }

    /// The means of both; `None` where a missing value has no bounds.
    fn means(&self) -> Option<(f64, f64)> {
        mean(&self.lists[0]).zip(mean(&self.lists[1]))
    }
}

/// Tests each pair with something missing at both extremes, each against the other pairs as they are.
fn consider_missing(shared: &Shared<'_>, pairs: &mut [PairComparison], p_values: &[Option<f64>]) {
    let of_pair = |(index, pair): (usize, &PairComparison)| Extremes::of(shared, index, (pair.first, pair.second));
    let extremes: Vec<Extremes> = pairs.iter().enumerate().filter_map(of_pair).collect();
    let sums: Vec<Vec<f64>> =
        extremes.iter().flat_map(|own| own.lists.iter().map(|list| flipped_sums(list, &own.questions))).collect();
    let tests = flip(shared, &sums);
    for (own, tests) in extremes.iter().zip(tests.chunks(2)) {
        let pair = &mut pairs[own.pair];
        let Some((low, high)) = own.means() else {
            pair.depends_on_missing = true;
            continue;
        };
        pair.missing_bounds = Some((low, high));
        let observed = verdict(pair.difference, pair.differs);
        let is_other = |(difference, test): (f64, &Option<SignFlipTest>)| {
            let mut p_values = p_values.to_vec();
            p_values[own.pair] = test.map(|test| test.p);
            let differs = corrected(&p_values)[own.pair].is_some_and(|p| p < shared.options.alpha);
            verdict(difference, differs) != observed
        };
        pair.depends_on_missing = [low, high].into_iter().zip(tests).any(is_other);
    }
}

/// Which of two is better, 1 or -1; 0 where they are not told apart, whatever the sign of their difference.
pub(super) fn verdict(difference: f64, differs: bool) -> i8 {
    if !differs || difference.abs() <= SAME { 0 } else { difference.signum() as i8 }
}
