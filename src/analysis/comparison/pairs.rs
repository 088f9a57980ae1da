//! Tests every pair of systems over the shared cases, with length adjustment and sensitivity to missing data.

use std::collections::BTreeMap;

use super::shared::{SAME, SharedCases};
use super::{LengthEffect, Observation, PairComparison};
use crate::stats::{
    Interval, SignFlipOptions, SignFlipTest, cases_needed, cliffs_delta, cluster_sums, clustered_mean_intervals,
    cohens_dz, detectable_difference, holm, least_squares, mean, sign_flip_tests,
};

/// Minimum number of differences for a length-adjusted estimate.
const MIN_QUESTIONS: usize = 20;

/// Cases whose values differ by less are ties: scores are sums of products, so equal ones may differ in their last digits.
const TIE: f64 = 1e-9;

/// The pairs in table order, the better system first; with a baseline only its pairs. Empty without shared cases.
pub(super) fn compare_pairs(shared: &SharedCases<'_>) -> Vec<PairComparison> {
    let ranks = shared.pairs();
    if shared.cases.is_empty() || ranks.is_empty() {
        return Vec::new();
    }
    let differences = |(first, second): &(usize, usize)| Differences {
        values: shared.values[*first].iter().zip(&shared.values[*second]).map(|(a, b)| a - b).collect(),
        questions: shared.questions.clone(),
    };
    let samples: Vec<Differences> = ranks.iter().map(differences).collect();
    let lists: Vec<&[f64]> = samples.iter().map(|own| own.values.as_slice()).collect();
    let intervals = clustered_mean_intervals(&lists, Some(&shared.questions), shared.bca());
    let tests = flip_tests(shared, &samples);
    let p_values: Vec<Option<f64>> = tests.iter().map(|test| test.map(|test| test.p)).collect();
    let corrected = corrected(&p_values);
    let mut results = Vec::with_capacity(ranks.len());
    for (index, (first, second)) in ranks.into_iter().enumerate() {
        let Some(difference) = mean(lists[index]) else { continue };
        let wins = lists[index].iter().filter(|value| **value > TIE).count();
        let losses = lists[index].iter().filter(|value| **value < -TIE).count();
        let spread = samples[index].spread();
        let wanted = shared.options.wanted_difference.zip(spread);
        results.push(PairComparison {
            first,
            second,
            difference,
            interval: intervals[index],
            p: p_values[index],
            exact: tests[index].is_some_and(|test| test.exact),
            p_holm: corrected[index],
            differs: corrected[index].is_some_and(|p| p < shared.options.alpha),
            wins,
            ties: lists[index].len() - wins - losses,
            losses,
            cohens_dz: cohens_dz(lists[index]),
            cliffs_delta: cliffs_delta(&shared.values[first], &shared.values[second]),
            bounds: None,
            sensitive: false,
            length: length_effect(shared, (first, second), intervals[index]),
            detectable: spread.and_then(|(sd, questions)| detectable_difference(sd, questions, shared.power())),
            questions_needed: wanted.and_then(|(difference, (sd, _))| cases_needed(difference, sd, shared.power())),
        });
    }
    add_sensitivity(shared, &mut results, &p_values);
    results
}

/// First minus second of one pair over some cases.
struct Differences {
    values: Vec<f64>,
    questions: Vec<usize>,
}

impl Differences {
    /// The standard deviation of the differences and the number of their questions; `None` if all are equal. If
    /// questions have several cases, it is the standard error of the mean over whole questions times the root of their
    /// number.
    fn spread(&self) -> Option<(f64, usize)> {
        let center = mean(&self.values)?;
        let deviations: Vec<f64> = self.values.iter().map(|value| value - center).collect();
        let sums = cluster_sums(&deviations, &self.questions)?;
        let (cases, questions) = (deviations.len() as f64, sums.len() as f64);
        let squares: f64 = sums.iter().map(|sum| sum * sum).sum();
        let spread = (squares * questions * questions / (questions - 1.0)).sqrt() / cases;
        (spread > SAME).then_some((spread, sums.len()))
    }

    /// Sums of each question's differences, which the test flips. Rounding errors are set to 0, or they would count as
    /// differences.
    fn sums(&self) -> Vec<f64> {
        let largest = self.values.iter().fold(1.0_f64, |most, value| most.max(value.abs()));
        let mut sums = cluster_sums(&self.values, &self.questions).unwrap_or_default();
        sums.iter_mut().filter(|sum| sum.abs() <= SAME * largest).for_each(|sum| *sum = 0.0);
        sums
    }
}

fn flip_tests(shared: &SharedCases<'_>, samples: &[Differences]) -> Vec<Option<SignFlipTest>> {
    let options = SignFlipOptions { flips: shared.options.flips, ..SignFlipOptions::seeded(shared.options.seed) };
    let sums: Vec<Vec<f64>> = samples.iter().map(Differences::sums).collect();
    sign_flip_tests(&sums.iter().map(Vec::as_slice).collect::<Vec<_>>(), options)
}

/// Holm's correction over the tests that exist.
fn corrected(p_values: &[Option<f64>]) -> Vec<Option<f64>> {
    let known: Vec<f64> = p_values.iter().flatten().copied().collect();
    let mut adjusted = holm(&known).unwrap_or_default().into_iter();
    p_values.iter().map(|p| p.and_then(|_| adjusted.next())).collect()
}

/// The better of two, 1 or -1; 0 if they do not differ significantly.
fn verdict(difference: f64, differs: bool) -> i8 {
    if !differs || difference.abs() <= SAME { 0 } else { difference.signum() as i8 }
}

/// Sensitivity of each pair to missing data: tests it again, the other pairs unchanged, over every case of both
/// systems, with all missing values against its first system and then in favor of it. This covers unscored answers,
/// missing answers and the gaps of a third system.
fn add_sensitivity(shared: &SharedCases<'_>, pairs: &mut [PairComparison], p_values: &[Option<f64>]) {
    let unbounded = Interval { low: f64::NEG_INFINITY, high: f64::INFINITY };
    let limits = shared.table.metric.range().unwrap_or(unbounded);
    let range = |rank: usize, case: usize| match shared.observation(rank, case) {
        Observation::Missing => Some(limits),
        other => other.range(),
    };
    let (mut places, mut samples) = (Vec::new(), Vec::new());
    for (index, pair) in pairs.iter().enumerate() {
        let (mut lows, mut highs, mut questions) = (Vec::new(), Vec::new(), Vec::new());
        for case in &shared.by_id {
            if let Some((own, other)) = range(pair.first, *case).zip(range(pair.second, *case)) {
                lows.push(own.low - other.high);
                highs.push(own.high - other.low);
                questions.push(shared.question_of[*case]);
            }
        }
        if lows.len() > shared.cases.len() {
            places.push(index);
            samples.push(Differences { values: lows, questions: questions.clone() });
            samples.push(Differences { values: highs, questions });
        }
    }
    let tests = flip_tests(shared, &samples);
    for ((index, extremes), tests) in places.into_iter().zip(samples.chunks(2)).zip(tests.chunks(2)) {
        let observed = verdict(pairs[index].difference, pairs[index].differs);
        let is_other = |difference: f64, test: Option<SignFlipTest>| {
            let mut p_values = p_values.to_vec();
            p_values[index] = test.map(|test| test.p);
            let differs = corrected(&p_values)[index].is_some_and(|p| p < shared.options.alpha);
            verdict(difference, differs) != observed
        };
        let means = mean(&extremes[0].values).zip(mean(&extremes[1].values));
        pairs[index].bounds = means.map(|(low, high)| Interval { low, high });
        pairs[index].sensitive = means.is_none_or(|(low, high)| is_other(low, tests[0]) || is_other(high, tests[1]));
    }
}

/// Regresses the pair's differences on the differences in words, over the shared cases with known words; several cases
/// of a question are averaged. `interval` is that of the unadjusted difference.
///
/// `None` for counts and for the length itself, below 20 questions with known words, and if one system's answers are
/// longer in every question: equal length would be an extrapolation.
fn length_effect(
    shared: &SharedCases<'_>,
    (first, second): (usize, usize),
    interval: Option<Interval>,
) -> Option<LengthEffect> {
    let metric = &shared.table.metric;
    let all_words = shared.all.words.as_ref().filter(|_| metric.higher_is_better && metric.name != "length")?;
    let [own_words, other_words] = [first, second].map(|rank| &all_words[shared.order[rank]]);
    let mut by_question: BTreeMap<usize, [Vec<f64>; 2]> = BTreeMap::new();
    for (at, case) in shared.cases.iter().enumerate() {
        if let Some((own, other)) = own_words[*case].zip(other_words[*case]) {
            let [words, values] = by_question.entry(shared.questions[at]).or_default();
            words.push(own - other);
            values.push(shared.values[first][at] - shared.values[second][at]);
        }
    }
    let means = by_question.values().filter_map(|[words, values]| mean(words).zip(mean(values)));
    let (words, values): (Vec<f64>, Vec<f64>) = means.unzip();
    let is_extrapolated = words.iter().all(|own| *own > 0.0) || words.iter().all(|own| *own < 0.0);
    if words.len() < MIN_QUESTIONS || is_extrapolated {
        return None;
    }
    let line = least_squares(&words, &values, shared.options.level)?;
    Some(LengthEffect {
        adjusted: line.intercept,
        interval: line.intercept_interval,
        words: mean(&words)?,
        changes_conclusion: interval.is_some_and(|interval| side(interval) != side(line.intercept_interval)),
    })
}

/// The side of 0 on which an interval lies: -1 or 1, and 0 if it includes 0.
fn side(interval: Interval) -> i8 {
    i8::from(interval.low > 0.0) - i8::from(interval.high < 0.0)
}

#[cfg(test)]
mod tests {
    use super::super::compare_tests::{assert_close, compared, labels, quick, table};
    use super::*;

    #[test]
    fn the_gaps_of_a_third_system_do_not_change_a_verdict_unnoticed() {
        // a is better by 0.4 in two cases and worse by 0.5 in ten; c has the two only
        let a: Vec<f64> = (0..12).map(|case| if case < 2 { 0.9 } else { 0.2 }).collect();
        let b: Vec<f64> = (0..12).map(|case| if case < 2 { 0.5 } else { 0.7 }).collect();
        let mut observed = table(&[("a", &a), ("b", &b), ("c", &[0.1; 12])]);
        observed.metrics[0].values[2][2..].fill(Observation::NotApplicable);
        let metric = compared(&observed, &quick());
        assert_eq!((labels(&metric), metric.cases.len()), (vec!["a", "b", "c"], 2));
        let pair = &metric.pairs[0];
        assert_close(pair.difference, 0.4, 1e-12, "over the shared cases");
        // (2 x 0.4 - 10 x 0.5) / 12 over the twelve that both have: b is better there
        let bounds = pair.bounds.unwrap();
        assert_close(bounds.low, -0.35, 1e-12, "low");
        assert_close(bounds.high, -0.35, 1e-12, "high");
        assert!(pair.sensitive);
        // with c the two have no more cases than all share
        assert!(metric.pairs[1..].iter().all(|pair| pair.bounds.is_none() && !pair.sensitive));
        observed.metrics[0].values[2].fill(Observation::Value(0.1));
        assert!(compared(&observed, &quick()).pairs.iter().all(|pair| pair.bounds.is_none() && !pair.sensitive));
    }

    #[test]
    fn cases_equal_but_for_rounding_are_ties() {
        let pair = compared(&table(&[("a", &[0.1 + 0.2, 0.5]), ("b", &[0.3, 0.4])]), &quick()).pairs.remove(0);
        assert_eq!((pair.wins, pair.ties, pair.losses), (1, 1, 0));
    }

    #[test]
    fn two_that_do_not_differ_either_way_have_no_verdict_to_change() {
        let mut observed = table(&[("a", &[0.5, 0.4, 0.6, 0.5]), ("b", &[0.4, 0.5, 0.5, 0.55])]);
        observed.metrics[0].values[0][3] = Observation::Unscored(Interval { low: 0.0, high: 1.0 });
        let pair = compared(&observed, &quick()).pairs.remove(0);
        // the sign of the difference may change, which is no evidence with four cases
        let bounds = pair.bounds.unwrap();
        assert!(bounds.low < 0.0 && bounds.high > 0.0 && !pair.differs && !pair.sensitive, "{pair:?}");
    }

    #[test]
    fn a_verdict_can_be_sensitive_to_missing_answers_alone() {
        let mut observed = table(&[("high", &[0.825; 10]), ("low", &[0.755; 10])]);
        observed.metrics[0].values[0][6..].fill(Observation::Missing);
        let pair = compared(&observed, &quick()).pairs.remove(0);
        // Six wins of six: 2 / 64. With 0 for the four missing ones the sum is 6 x 0.07 - 4 x 0.755 = -2.6, and every
        // assignment where these four have one sign is as far from 0: 2 x 64 / 1024 = 0.125.
        assert_eq!((pair.p, pair.differs, pair.sensitive), (Some(2.0 / 64.0), true, true));
        // (6 x 0.07 - 4 x 0.755) / 10 and (6 x 0.07 + 4 x 0.245) / 10
        let bounds = pair.bounds.unwrap();
        assert_close(bounds.low, -0.26, 1e-12, "low");
        assert_close(bounds.high, 0.14, 1e-12, "high");
    }
}
