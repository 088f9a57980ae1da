//! What a pair's own cases say, where they are more than those that all systems share: a third system's gaps decide no
//! verdict unseen.

use super::compare::{Shared, value_of};
use super::pairs::{corrected, flip, flipped_sums, verdict};
use super::{InCommon, PairComparison};
use crate::stats::mean;

/// The differences of one pair over all cases with a value of both.
struct Own {
    pair: usize,
    differences: Vec<f64>,
    questions: Vec<usize>,
}

impl Own {
    /// `None` where these are the shared cases.
    fn of(shared: &Shared<'_>, pair: usize, (first, second): (usize, usize)) -> Option<Self> {
        let value = |place: usize, case: usize| value_of(shared.observation(place, case));
        let both = |case: &usize| value(first, *case).zip(value(second, *case)).map(|(a, b)| (a - b, *case));
        let (differences, cases): (Vec<f64>, Vec<usize>) = shared.by_id.iter().filter_map(both).unzip();
        let questions = cases.iter().map(|case| shared.question_of[*case]).collect();
        (cases.len() > shared.cases.len()).then_some(Self { pair, differences, questions })
    }
}

/// Tests each pair over all its own cases, corrected with the other pairs over theirs.
pub(super) fn consider_own_cases(shared: &Shared<'_>, pairs: &mut [PairComparison]) {
    let of_pair = |(index, pair): (usize, &PairComparison)| Own::of(shared, index, (pair.first, pair.second));
    let all: Vec<Own> = pairs.iter().enumerate().filter_map(of_pair).collect();
    let sums: Vec<Vec<f64>> = all.iter().map(|own| flipped_sums(&own.differences, &own.questions)).collect();
    let tests = flip(shared, &sums);
    let mut p_values: Vec<Option<f64>> = pairs.iter().map(|pair| pair.p).collect();
    for (own, test) in all.iter().zip(&tests) {
        p_values[own.pair] = test.map(|test| test.p);
    }
    let adjusted = corrected(&p_values);
    for own in &all {
        let Some(difference) = mean(&own.differences) else { continue };
        let p_holm = adjusted[own.pair];
        let differs = p_holm.is_some_and(|p| p < shared.options.alpha);
        let pair = &mut pairs[own.pair];
        pair.in_common = Some(InCommon {
            cases: own.differences.len(),
            difference,
            p: p_values[own.pair],
            p_holm,
            changes_verdict: verdict(difference, differs) != verdict(pair.difference, pair.differs),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::Observation;
    use super::super::compare_tests::{assert_close, compared, labels, quick, table};

    #[test]
    fn a_third_systems_gaps_do_not_turn_a_verdict_unseen() {
        // a is better by 0.4 in two cases and worse by 0.5 in ten; c has the two only
        let a: Vec<f64> = (0..12).map(|case| if case < 2 { 0.9 } else { 0.2 }).collect();
        let b: Vec<f64> = (0..12).map(|case| if case < 2 { 0.5 } else { 0.7 }).collect();
        let mut observed = table(&[("a", &a), ("b", &b), ("c", &[0.1; 12])]);
        observed.values[2][2..].fill(Observation::Absent);
        let metric = compared(&observed, &quick());
        assert_eq!((labels(&metric), metric.cases.len()), (vec!["a", "b", "c"], 2));
        let pair = &metric.pairs[0];
        assert_close(pair.difference, 0.4, 1e-12, "over the shared cases");
        let own = pair.in_common.unwrap();
        // (2 x 0.4 - 10 x 0.5) / 12; of the 4096 signs of 0.4 0.4 and ten times 0.5 a sum of 4.2 or more in size has: none
        // turned (5.8), one or both of the 0.4 turned (5.0, 4.2), one 0.5 turned (4.8), that many times two
        assert_eq!((own.cases, own.changes_verdict), (12, true));
        assert_close(own.difference, -0.35, 1e-12, "over what a and b share");
        assert_close(own.p.unwrap(), 2.0 * (1.0 + 2.0 + 1.0 + 10.0) / 4096.0, 1e-12, "p");
        assert!(pair.is_open_to_change() && !pair.depends_on_missing);
        // with c the two have no more cases than all share
        assert!(metric.pairs[1..].iter().all(|pair| pair.in_common.is_none()));
        observed.values[2].fill(Observation::Value(0.1));
        assert!(compared(&observed, &quick()).pairs.iter().all(|pair| pair.in_common.is_none()));
    }

    #[test]
    fn two_that_are_not_told_apart_either_way_have_no_verdict_to_change() {
        let mut observed = table(&[("a", &[0.5, 0.4, 0.6, 0.5]), ("b", &[0.4, 0.5, 0.5, 0.55])]);
        observed.values[0][3] = Observation::Unscored { low: 0.0, high: 1.0 };
        let pair = compared(&observed, &quick()).pairs.remove(0);
        // the sign of the difference may turn, which says nothing of four cases
        let (low, high) = pair.missing_bounds.unwrap();
        assert!(low < 0.0 && high > 0.0 && !pair.differs && !pair.depends_on_missing, "{pair:?}");
    }
}
