//! Every pair of systems over the shared cases, and what missing data could change.

use super::length::length_effect;
use super::shared::{SAME, Shared};
use super::{Observation, PairComparison, PairwiseDifference};
use crate::stats::{
    Interval, Paired, SignFlipOptions, SignFlipTest, WantedDifference, cases_needed, cluster_sums,
    detectable_difference, holm, mean, paired_differences, sign_flip_tests,
};

/// The pairs in table order, the better system first; with a baseline only its own. None without shared cases.
pub(super) fn compare_pairs(shared: &Shared<'_>) -> Vec<PairComparison> {
    let ranks = shared.pairs();
    if shared.cases.is_empty() || ranks.is_empty() {
        return Vec::new();
    }
    let paired =
        |(first, second): &(usize, usize)| Paired { first: &shared.values[*first], second: &shared.values[*second] };
    let pairs: Vec<Paired<'_>> = ranks.iter().map(paired).collect();
    let compared = paired_differences(&pairs, Some(&shared.questions), shared.bca());
    let samples: Vec<Differences> = (0..pairs.len())
        .map(|pair| Differences {
            pair,
            values: pairs[pair].differences().unwrap_or_default(),
            questions: shared.questions.clone(),
        })
        .collect();
    let tests = flip_tests(shared, &samples);
    let p_values: Vec<Option<f64>> = tests.iter().map(|test| test.map(|test| test.p)).collect();
    let corrected = corrected(&p_values);
    let mut results = Vec::with_capacity(pairs.len());
    for (index, (first, second)) in ranks.into_iter().enumerate() {
        let Some(found) = compared[index] else { continue };
        let length = length_effect(shared, (first, second), found.interval);
        let spread = samples[index].spread();
        results.push(PairComparison {
            first,
            second,
            difference: found.mean,
            interval: found.interval,
            p: p_values[index],
            exact: tests[index].is_some_and(|test| test.exact),
            p_holm: corrected[index],
            differs: corrected[index].is_some_and(|p| p < shared.options.alpha),
            wins: found.wins,
            ties: found.ties,
            losses: found.losses,
            cohens_dz: found.cohens_dz,
            cliffs_delta: found.cliffs_delta,
            bounds: None,
            sensitive_to_unscored: false,
            sensitive_to_missing: false,
            pairwise: None,
            length_omitted: length.as_ref().and_then(|effect| effect.as_ref().err().copied()),
            length: length.and_then(Result::ok),
            detectable: spread.and_then(|(sd, questions)| detectable_difference(sd, questions, shared.power())),
            questions_needed: shared
                .options
                .wanted_difference
                .zip(spread)
                .and_then(|(difference, (sd, _))| cases_needed(WantedDifference { difference, sd }, shared.power())),
        });
    }
    add_sensitivity(shared, &mut results, &p_values);
    add_pairwise_differences(shared, &mut results, &p_values);
    results
}

/// First minus second of one pair over some cases.
struct Differences {
    /// The place of the pair.
    pair: usize,
    values: Vec<f64>,
    questions: Vec<usize>,
}

impl Differences {
    /// Over the cases where `difference` of the two observations is known.
    fn of(
        shared: &Shared<'_>,
        (pair, of): (usize, &PairComparison),
        difference: impl Fn(Observation, Observation) -> Option<f64>,
    ) -> Self {
        let own = |case: &usize| {
            let both = [of.first, of.second].map(|rank| shared.observation(rank, *case));
            Some((difference(both[0], both[1])?, shared.question_of[*case]))
        };
        let (values, questions) = shared.by_id.iter().filter_map(own).unzip();
        Self { pair, values, questions }
    }

    /// The standard deviation of the differences, and how many questions they come from; `None` if all are equal. Where
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

    /// What the test flips: the sum of each question's differences. What is 0 but for rounding is 0, or it would count
    /// among the differences to be flipped.
    fn sums(&self) -> Vec<f64> {
        let largest = self.values.iter().fold(1.0_f64, |most, value| most.max(value.abs()));
        let mut sums = cluster_sums(&self.values, &self.questions).unwrap_or_default();
        sums.iter_mut().filter(|sum| sum.abs() <= SAME * largest).for_each(|sum| *sum = 0.0);
        sums
    }
}

fn flip_tests(shared: &Shared<'_>, samples: &[Differences]) -> Vec<Option<SignFlipTest>> {
    let options = SignFlipOptions { flips: shared.options.flips, ..SignFlipOptions::seeded(shared.options.seed) };
    let sums: Vec<Vec<f64>> = samples.iter().map(Differences::sums).collect();
    sign_flip_tests(&sums.iter().map(Vec::as_slice).collect::<Vec<_>>(), options)
}

/// Holm's correction over the tests that there are.
fn corrected(p_values: &[Option<f64>]) -> Vec<Option<f64>> {
    let known: Vec<f64> = p_values.iter().flatten().copied().collect();
    let mut adjusted = holm(&known).unwrap_or_default().into_iter();
    p_values.iter().map(|p| p.and_then(|_| adjusted.next())).collect()
}

/// Which of two is better, 1 or -1; 0 where they do not differ significantly, whatever the sign of their difference.
fn verdict(difference: f64, differs: bool) -> i8 {
    if !differs || difference.abs() <= SAME { 0 } else { difference.signum() as i8 }
}

/// What unscored components, and in addition missing answers, could make of each pair.
fn add_sensitivity(shared: &Shared<'_>, pairs: &mut [PairComparison], p_values: &[Option<f64>]) {
    for (pair, extremes) in extremes(shared, pairs, p_values, Observation::range) {
        pairs[pair].bounds = extremes.bounds;
        pairs[pair].sensitive_to_unscored = extremes.changes_verdict;
    }
    let infinite = Interval { low: f64::NEG_INFINITY, high: f64::INFINITY };
    let limits = shared.table.metric.range().unwrap_or(infinite);
    let with_missing = |observation| match observation {
        Observation::Missing => Some(limits),
        other => other.range(),
    };
    for (pair, extremes) in extremes(shared, pairs, p_values, with_missing) {
        pairs[pair].sensitive_to_missing = extremes.changes_verdict;
    }
}

/// A pair with everything that has no value against its first system and in favor of it.
struct Extremes {
    /// Both differences; `None` if a value has no bounds.
    bounds: Option<Interval>,
    changes_verdict: bool,
}

/// Tests each pair at both extremes, the other pairs as they are; pairs where everything has a value are left out. `range`
/// gives the lowest and the highest value; cases without a range are left out.
fn extremes(
    shared: &Shared<'_>,
    pairs: &[PairComparison],
    p_values: &[Option<f64>],
    range: impl Fn(Observation) -> Option<Interval>,
) -> Vec<(usize, Extremes)> {
    let mut samples: Vec<Differences> = Vec::new();
    for (index, pair) in pairs.iter().enumerate() {
        let lacks_value = |case: &usize| {
            let both = [pair.first, pair.second].map(|rank| shared.observation(rank, *case));
            both.iter().all(|own| range(*own).is_some()) && both.iter().any(|own| own.value().is_none())
        };
        if shared.by_id.iter().any(lacks_value) {
            let low = |a: Observation, b: Observation| Some(range(a)?.low - range(b)?.high);
            let high = |a: Observation, b: Observation| Some(range(a)?.high - range(b)?.low);
            samples.push(Differences::of(shared, (index, pair), low));
            samples.push(Differences::of(shared, (index, pair), high));
        }
    }
    let tests = flip_tests(shared, &samples);
    let extreme = |(both, tests): (&[Differences], &[Option<SignFlipTest>])| {
        let index = both[0].pair;
        let bounds = mean(&both[0].values).zip(mean(&both[1].values)).map(|(low, high)| Interval { low, high });
        let observed = verdict(pairs[index].difference, pairs[index].differs);
        let is_other = |difference: f64, test: Option<SignFlipTest>| {
            let mut p_values = p_values.to_vec();
            p_values[index] = test.map(|test| test.p);
            let differs = corrected(&p_values)[index].is_some_and(|p| p < shared.options.alpha);
            verdict(difference, differs) != observed
        };
        let changes_verdict =
            bounds.is_none_or(|bounds| is_other(bounds.low, tests[0]) || is_other(bounds.high, tests[1]));
        (index, Extremes { bounds, changes_verdict })
    };
    samples.chunks(2).zip(tests.chunks(2)).map(extreme).collect()
}

/// Tests each pair over all cases with a value of both where these are more than the shared ones, corrected with the
/// other pairs over theirs: the gaps of a third system decide no verdict unnoticed.
fn add_pairwise_differences(shared: &Shared<'_>, pairs: &mut [PairComparison], p_values: &[Option<f64>]) {
    let difference = |a: Observation, b: Observation| Some(a.value()? - b.value()?);
    let all = pairs.iter().enumerate().map(|pair| Differences::of(shared, pair, difference));
    let more: Vec<Differences> = all.filter(|own| own.values.len() > shared.cases.len()).collect();
    let mut p_values = p_values.to_vec();
    for (own, test) in more.iter().zip(flip_tests(shared, &more)) {
        p_values[own.pair] = test.map(|test| test.p);
    }
    let adjusted = corrected(&p_values);
    for own in &more {
        let Some(difference) = mean(&own.values) else { continue };
        let p_holm = adjusted[own.pair];
        let differs = p_holm.is_some_and(|p| p < shared.options.alpha);
        let pair = &mut pairs[own.pair];
        pair.pairwise = Some(PairwiseDifference {
            cases: own.values.len(),
            difference,
            p: p_values[own.pair],
            p_holm,
            changes_verdict: verdict(difference, differs) != verdict(pair.difference, pair.differs),
        });
    }
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
        let own = pair.pairwise.unwrap();
        // (2 x 0.4 - 10 x 0.5) / 12; of the 4096 signs of 0.4 0.4 and ten times 0.5 a sum of 4.2 or more in size has: none
        // turned (5.8), one or both of the 0.4 turned (5.0, 4.2), one 0.5 turned (4.8), that many times two
        assert_eq!((own.cases, own.changes_verdict), (12, true));
        assert_close(own.difference, -0.35, 1e-12, "pairwise");
        assert_close(own.p.unwrap(), 2.0 * (1.0 + 2.0 + 1.0 + 10.0) / 4096.0, 1e-12, "p");
        assert!(pair.is_sensitive() && !pair.sensitive_to_unscored);
        // with c the two have no more cases than all share
        assert!(metric.pairs[1..].iter().all(|pair| pair.pairwise.is_none()));
        observed.metrics[0].values[2].fill(Observation::Value(0.1));
        assert!(compared(&observed, &quick()).pairs.iter().all(|pair| pair.pairwise.is_none()));
    }

    #[test]
    fn two_that_do_not_differ_either_way_have_no_verdict_to_change() {
        let mut observed = table(&[("a", &[0.5, 0.4, 0.6, 0.5]), ("b", &[0.4, 0.5, 0.5, 0.55])]);
        observed.metrics[0].values[0][3] = Observation::Unscored(Interval { low: 0.0, high: 1.0 });
        let pair = compared(&observed, &quick()).pairs.remove(0);
        // the sign of the difference may change, which is no evidence with four cases
        let bounds = pair.bounds.unwrap();
        assert!(bounds.low < 0.0 && bounds.high > 0.0 && !pair.differs && !pair.sensitive_to_unscored, "{pair:?}");
    }

    #[test]
    fn a_verdict_can_be_sensitive_to_missing_answers_alone() {
        let mut observed = table(&[("high", &[0.825; 10]), ("low", &[0.755; 10])]);
        observed.metrics[0].values[0][6..].fill(Observation::Missing);
        let pair = compared(&observed, &quick()).pairs.remove(0);
        // Six wins of six: 2 / 64. With 0 for the four missing ones the sum is 6 x 0.07 - 4 x 0.755 = -2.6, and every
        // assignment where these four have one sign is as far from 0: 2 x 64 / 1024 = 0.125.
        assert_eq!((pair.p, pair.differs, pair.bounds), (Some(2.0 / 64.0), true, None));
        assert!(pair.sensitive_to_missing && !pair.sensitive_to_unscored && !pair.is_sensitive());
    }
}
