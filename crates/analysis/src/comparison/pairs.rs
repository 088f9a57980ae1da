//! Tests every pair of systems over the shared cases, with length adjustment and sensitivity to missing data.
//!
//! All pairs of a metric are tested as one family. Then each pair is tested again with what is
//! missing at its extremes, and its difference is adjusted for length.

use std::collections::BTreeMap;

use super::games::lead_of_strengths;
use super::shared::{SAME, SharedCases};
use super::{ComparisonDepth, LengthEffect, Observation, PairComparison};
use scholareval_core::domain::SubjectKind;
use scholareval_stats::{
    Interval, Line, MetricValues, PairedFamily, PairedTest, cliffs_delta, cohens_dz, least_squares,
    mean, paired_family,
};

/// Minimum number of questions for a length-adjusted difference.
pub const MIN_QUESTIONS: usize = 20;

/// Cases whose values differ by less are ties: scores are sums of products, so equal ones may differ in their last digits.
const TIE: f64 = 1e-9;

/// Standard normal quantile of 80% power.
pub(super) const POWER: f64 = 0.841_621_233_572_914_2;

/// The pairs in table order, the better system first; with a baseline only its pairs. Empty without shared cases. The family
/// is `None` for a single question.
pub(super) fn compare_pairs(
    shared: &SharedCases<'_>,
) -> (Vec<PairComparison>, Option<PairedFamily>) {
    let ranks = shared.pairs();
    if shared.cases.is_empty() || ranks.is_empty() {
        return (Vec::new(), None);
    }
    let sample = shared.pair_sample(&ranks);
    let family = sample
        .as_ref()
        .and_then(|sample| sample.family(shared.bootstrap()));
    let of_strengths = sample.is_some_and(|sample| sample.is_of_strengths);
    let mut results = Vec::with_capacity(ranks.len());
    for (index, ranks) in ranks.into_iter().enumerate() {
        let differences = shared.differences_by_case(ranks);
        // None of two that were never compared, directly or by strengths.
        let Some(mut pair) = tested_pair(shared, ranks, family.as_ref(), index, &differences)
        else {
            continue;
        };
        match shared.all.subject {
            SubjectKind::Answer => add_effects(shared, ranks, &differences, &mut pair),
            SubjectKind::Pair => show_win_rates(&mut pair, of_strengths),
        }
        if shared.options.depth == ComparisonDepth::Full {
            add_sensitivity(shared, &mut pair);
        }
        results.push(pair);
    }
    (results, family)
}

/// Adds the sizes of the difference, and the difference at equal length.
fn add_effects(
    shared: &SharedCases<'_>,
    ranks: (usize, usize),
    differences: &[f64],
    pair: &mut PairComparison,
) {
    pair.cohens_dz = cohens_dz(differences);
    pair.cliffs_delta = cliffs_delta(&shared.values[ranks.0], &shared.values[ranks.1]);
    if shared.options.depth == ComparisonDepth::Full {
        pair.length = length_effect(shared, ranks, pair.pointwise);
    }
}

/// Shows the difference of a judged pair as one of win rates, whatever it was tested by.
fn show_win_rates(pair: &mut PairComparison, of_strengths: bool) {
    // Sign flips do not know the range of win rates, and no share is above all.
    let mut on_win_rates: fn(f64) -> f64 = |end| end.clamp(-1.0, 1.0);
    if of_strengths {
        on_win_rates = lead_of_strengths;
        pair.difference = on_win_rates(pair.difference);
        pair.detectable = pair.detectable.map(on_win_rates);
        // That of strengths is not one of win rates.
        pair.standard_error = None;
    }
    for interval in [&mut pair.interval, &mut pair.pointwise] {
        *interval = interval.map(|interval| interval.map(on_win_rates));
    }
}

/// The pair at this index of the family with its test and the differences by case; `None` without either.
fn tested_pair(
    shared: &SharedCases<'_>,
    (first, second): (usize, usize),
    family: Option<&PairedFamily>,
    index: usize,
    differences: &[f64],
) -> Option<PairComparison> {
    let test = family.map(|family| family.pairs[index]);
    let error = test.map(|test| test.standard_error);
    let error = error.filter(|error| *error > 0.0);
    let critical = family.and_then(|family| family.critical);
    let wins = differences.iter().filter(|value| **value > TIE).count();
    let losses = differences.iter().filter(|value| **value < -TIE).count();
    let observed = || mean(differences);
    Some(PairComparison {
        first,
        second,
        difference: test.map(|test| test.difference).or_else(observed)?,
        interval: test.and_then(|test| test.interval),
        method: test.map(|test| test.method),
        standard_error: error,
        p: test.map(|test| test.p),
        pointwise: test.and_then(|test| test.pointwise),
        pointwise_p: test.map(|test| test.pointwise_p),
        differs: test.is_some_and(|test| test.p < shared.bootstrap().alpha()),
        wins,
        ties: differences.len() - wins - losses,
        losses,
        // What the verdict finds with 80% power.
        detectable: critical
            .zip(error)
            .map(|(critical, error)| (critical + POWER) * error),
        ..PairComparison::default()
    })
}

/// A pair's differences over every case of both systems, with all missing values against its first system, and in favor of it.
/// This covers unscored answers, missing answers and the gaps of a third system.
pub(super) struct Extremes {
    pub(super) lows: Vec<f64>,
    pub(super) highs: Vec<f64>,
    /// The question of each.
    pub(super) questions: Vec<usize>,
    /// What is missing is at the lowest or the highest value: a metric of 0s and 1s stays one.
    pub(super) values: MetricValues,
}

impl Extremes {
    /// `None` if nothing is missing: the pair has the shared cases only, each with its value.
    pub(super) fn of(shared: &SharedCases<'_>, first: usize, second: usize) -> Option<Self> {
        let mut extremes = Self {
            lows: Vec::new(),
            highs: Vec::new(),
            questions: Vec::new(),
            values: MetricValues::Any,
        };
        let mut cases = Vec::new();
        for case in &shared.by_id {
            if let Some(difference) = possible_difference(shared, [first, second], *case) {
                cases.push(*case);
                extremes.lows.push(difference.low);
                extremes.highs.push(difference.high);
                extremes.questions.push(shared.question_of[*case]);
            }
        }
        let is_whole = extremes.lows.len() <= shared.cases.len() && extremes.lows == extremes.highs;
        extremes.values = shared.values_of(&[first, second], &cases);
        (!is_whole).then_some(extremes)
    }

    /// The test of these differences alone.
    fn test(&self, shared: &SharedCases<'_>, differences: &[f64]) -> Option<PairedTest> {
        let questions = Some(&*self.questions);
        let family = paired_family(&[differences], questions, self.values, shared.bootstrap())?;
        Some(family.pairs[0])
    }
}

/// The differences that a pair could have in a case; `None` if one of the two was not asked, or the two were not to be compared.
fn possible_difference(
    shared: &SharedCases<'_>,
    [first, second]: [usize; 2],
    case: usize,
) -> Option<Interval> {
    match shared.all.subject {
        SubjectKind::Answer => {
            let first_range = range_of(shared, first, case)?;
            let second_range = range_of(shared, second, case)?;
            Some(Interval::new(
                first_range.low - second_range.high,
                first_range.high - second_range.low,
            ))
        }
        SubjectKind::Pair => shared.lead_range((first, second), case).or_else(|| {
            // An answer that is not there loses, or a system could pass by not answering.
            let is_missing = |rank: usize| shared.observation(rank, case) == Observation::Missing;
            let any = Interval::new(-1.0, 1.0);
            (is_missing(first) || is_missing(second)).then_some(any)
        }),
    }
}

/// The values that a system could have in a case; `None` if it was not asked.
fn range_of(shared: &SharedCases<'_>, rank: usize, case: usize) -> Option<Interval> {
    let unbounded = Interval::new(f64::NEG_INFINITY, f64::INFINITY);
    match shared.observation(rank, case) {
        Observation::Missing => {
            let range = shared.table.metric.range();
            Some(range.or(shared.net_range(rank, case)).unwrap_or(unbounded))
        }
        other => other.range(),
    }
}

/// Sensitivity of a pair to missing data: its verdict with all missing values against its first system and then in favor of it.
/// Its p alone is adjusted by as much as over the shared cases.
fn add_sensitivity(shared: &SharedCases<'_>, pair: &mut PairComparison) {
    let Some(extremes) = Extremes::of(shared, pair.first, pair.second) else {
        return;
    };
    let alpha = shared.bootstrap().alpha();
    let adjustment = match (pair.p, pair.pointwise_p) {
        // Testing all pairs again in every combination of extremes is not possible; the adjustment
        // for several pairs is carried over as a factor.
        (Some(p), Some(alone)) => p / alone,
        _ => 1.0,
    };
    let observed = side(pair.difference, pair.p.is_some_and(|p| p < alpha));
    for differences in [&extremes.lows, &extremes.highs] {
        let test = extremes.test(shared, differences);
        let verdict = test.map(|test| side(test.difference, adjustment * test.p < alpha));
        pair.sensitive |= verdict != Some(observed);
    }
    if let (Some(low), Some(high)) = (mean(&extremes.lows), mean(&extremes.highs)) {
        pair.bounds = Some(Interval { low, high });
    }
}

/// From the low end of the pair's interval with all missing values against its first system, to the high end with all in favor
/// of it; infinite where there is no interval. `None` if nothing is missing. The intervals of the pair alone are widened by as
/// much as over the shared cases.
pub(super) fn between_extremes(
    shared: &SharedCases<'_>,
    pair: &PairComparison,
) -> Option<Interval> {
    let extremes = Extremes::of(shared, pair.first, pair.second)?;
    let widening = match (pair.interval, pair.pointwise) {
        (Some(adjusted), Some(alone)) => adjusted.half_width() / alone.half_width(),
        _ => 1.0,
    };
    // The end of a test's interval, as far from the difference as all pairs together need it.
    let end = |differences: &[f64], of: fn(Interval) -> f64| {
        let test = extremes.test(shared, differences)?;
        Some(test.difference + widening * (of(test.interval?) - test.difference))
    };
    let low = end(&extremes.lows, |interval| interval.low);
    let high = end(&extremes.highs, |interval| interval.high);
    Some(Interval::new(
        low.unwrap_or(f64::NEG_INFINITY),
        high.unwrap_or(f64::INFINITY),
    ))
}

/// The better of two, 1 or -1; 0 if they do not differ significantly.
fn side(difference: f64, differs: bool) -> i8 {
    if !differs || difference.abs() <= SAME {
        0
    } else {
        difference.signum() as i8
    }
}

/// Regresses the pair's differences on the differences in words, over the shared cases with known words; several cases
/// of a question are averaged. `interval` is that of the unadjusted difference.
///
/// `None` for counts and for the length itself, below 20 questions with known words, and where the system with the shorter
/// answers on average is longer in less than a tenth of the questions: equal length would be an extrapolation.
fn length_effect(
    shared: &SharedCases<'_>,
    (first, second): (usize, usize),
    interval: Option<Interval>,
) -> Option<LengthEffect> {
    let metric = &shared.table.metric;
    let all_words = shared
        .all
        .words
        .as_ref()
        .filter(|_| metric.higher_is_better && metric.name != "length")?;
    let [own_words, other_words] = [first, second].map(|rank| &all_words[shared.order[rank]]);
    let mut points = LengthPoints::default();
    for (at, case) in shared.cases.iter().enumerate() {
        if let Some((own_count, other_count)) = own_words[*case].zip(other_words[*case]) {
            let value = shared.values[first][at] - shared.values[second][at];
            points.push(shared.questions[at], own_count - other_count, value);
        }
    }
    let [words, values] = points.means();
    let line = at_equal_length(&words, &values, shared.options.level)?;
    let mean_words = mean(&words)?;
    let adjusted = line.intercept_interval;
    let changes = interval.filter(|interval| sign(*interval) != sign(adjusted));
    let only_grew = |interval: Interval| {
        let moved = (line.intercept - mean(&values).unwrap_or(line.intercept)).abs();
        sign(adjusted) == 0
            && moved <= interval.half_width() / 4.0
            && adjusted.half_width() > interval.half_width()
    };
    let less_precise = changes.is_some_and(only_grew);
    Some(LengthEffect {
        adjusted: line.intercept,
        interval: adjusted,
        words: mean_words,
        changes_conclusion: changes.is_some() && !less_precise,
        less_precise,
    })
}

/// How much longer the answers of a first system are, and a value next to it, by question.
#[derive(Default)]
pub(super) struct LengthPoints(BTreeMap<usize, [Vec<f64>; 2]>);

impl LengthPoints {
    pub(super) fn push(&mut self, question: usize, lead: f64, value: f64) {
        let [leads, values] = self.0.entry(question).or_default();
        leads.push(lead);
        values.push(value);
    }

    /// The means of each question: least squares take their points as independent, which cases of one question are not.
    pub(super) fn means(&self) -> [Vec<f64>; 2] {
        [0, 1].map(|at| {
            self.0
                .values()
                .filter_map(|lists| mean(&lists[at]))
                .collect()
        })
    }
}

/// The line through these points, read at equal length; `None` below 20 questions, and where in fewer than a tenth of them the system
/// with the shorter answers has the longer one: equal length would be a length that no two of the answers have.
pub(super) fn at_equal_length(leads: &[f64], values: &[f64], level: f64) -> Option<Line> {
    let mean_lead = mean(leads)?;
    let others = leads.iter().filter(|lead| **lead * mean_lead < 0.0).count();
    if leads.len() < MIN_QUESTIONS || others * 10 < leads.len() {
        return None;
    }
    least_squares(leads, values, level)
}

/// The side of 0 on which an interval lies: -1 or 1, and 0 if it includes 0.
fn sign(interval: Interval) -> i8 {
    i8::from(interval.low > 0.0) - i8::from(interval.high < 0.0)
}

#[cfg(test)]
mod tests {
    use super::super::compare_tests::{assert_close, compared, labels, quick, table};
    use super::*;

    #[test]
    fn the_gaps_of_a_third_system_do_not_change_a_verdict_unnoticed() {
        // a is better by 0.4 in two cases and worse by 0.5 in ten; c has the two only
        let a: Vec<f64> = (0..12)
            .map(|case| if case < 2 { 0.9 } else { 0.2 })
            .collect();
        let b: Vec<f64> = (0..12)
            .map(|case| if case < 2 { 0.5 } else { 0.7 })
            .collect();
        let mut observed = table(&[("a", &a), ("b", &b), ("c", &[0.1; 12])]);
        observed.metrics[0].values[2][2..].fill(Observation::NotApplicable);
        let metric = compared(&observed, &quick());
        assert_eq!(
            (labels(&metric), metric.cases.len()),
            (vec!["a", "b", "c"], 2)
        );
        let pair = &metric.pairs[0];
        assert_close(pair.difference, 0.4, 1e-12, "over the shared cases");
        // (2 x 0.4 - 10 x 0.5) / 12 over the twelve that both have: b is better there
        let bounds = pair.bounds.unwrap();
        assert_close(bounds.low, -0.35, 1e-12, "low");
        assert_close(bounds.high, -0.35, 1e-12, "high");
        assert!(pair.sensitive);
        // with c the two have no more cases than all share
        assert!(
            metric.pairs[1..]
                .iter()
                .all(|pair| pair.bounds.is_none() && !pair.sensitive)
        );
        observed.metrics[0].values[2].fill(Observation::Value(0.1));
        assert!(
            compared(&observed, &quick())
                .pairs
                .iter()
                .all(|pair| pair.bounds.is_none() && !pair.sensitive)
        );
    }

    #[test]
    fn cases_equal_but_for_rounding_are_ties() {
        let pair = compared(
            &table(&[("a", &[0.1 + 0.2, 0.5]), ("b", &[0.3, 0.4])]),
            &quick(),
        )
        .pairs
        .remove(0);
        assert_eq!((pair.wins, pair.ties, pair.losses), (1, 1, 0));
    }

    #[test]
    fn two_that_do_not_differ_either_way_have_no_verdict_to_change() {
        let mut observed = table(&[("a", &[0.5, 0.4, 0.6, 0.5]), ("b", &[0.4, 0.5, 0.5, 0.55])]);
        observed.metrics[0].values[0][3] = Observation::Unscored(Interval {
            low: 0.0,
            high: 1.0,
        });
        let pair = compared(&observed, &quick()).pairs.remove(0);
        // the sign of the difference may change, which is not evidence with four cases
        let bounds = pair.bounds.unwrap();
        assert!(
            bounds.low < 0.0 && bounds.high > 0.0 && !pair.differs && !pair.sensitive,
            "{pair:?}"
        );
    }

    #[test]
    fn a_verdict_can_be_sensitive_to_missing_answers_alone() {
        let mut observed = table(&[("high", &[0.825; 10]), ("low", &[0.755; 10])]);
        observed.metrics[0].values[0][6..].fill(Observation::Missing);
        let pair = compared(&observed, &quick()).pairs.remove(0);
        // Six wins of six: 2 / 64. With 0 for the four missing ones the sum is 6 x 0.07 - 4 x 0.755 = -2.6, and every
        // assignment where these four have one sign is as far from 0: 2 x 64 / 1024 = 0.125.
        assert_eq!(
            (pair.p, pair.differs, pair.sensitive),
            (Some(2.0 / 64.0), true, true)
        );
        // (6 x 0.07 - 4 x 0.755) / 10 and (6 x 0.07 + 4 x 0.245) / 10
        let bounds = pair.bounds.unwrap();
        assert_close(bounds.low, -0.26, 1e-12, "low");
        assert_close(bounds.high, 0.14, 1e-12, "high");
    }
}
