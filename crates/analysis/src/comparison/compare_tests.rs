//! Comparisons of small tables.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::Value;

use super::{
    ComparedCase, Comparison, ComparisonOptions, MetricComparison, MetricId, MetricTable,
    Observation, Observations, ObservedSystem, compare,
};
use scholareval_core::domain::Unit;
use scholareval_stats::{Correlation, Interval, PairedMethod, corrected_interval};

/// A table of shares, one row per system; cases `c0`, `c1`, .. with a question each.
pub(super) fn table(systems: &[(&str, &[f64])]) -> Observations {
    let observations = |values: &[f64]| {
        values
            .iter()
            .map(|value| Observation::Value(*value))
            .collect()
    };
    let observed = |(label, _): &(&str, &[f64])| ObservedSystem {
        label: (*label).into(),
        system: (*label).into(),
        run: 0,
    };
    let case = |place: usize| ComparedCase {
        case_id: format!("c{place:04}").into(),
        question: Arc::from(format!("question {place}")),
    };
    let table = MetricTable {
        votes: false,
        metric: MetricId {
            scorer: "rubric".into(),
            name: "score".into(),
            unit: Unit::Share,
            higher_is_better: true,
        },
        values: systems
            .iter()
            .map(|(_, values)| observations(values))
            .collect(),
        net_ranges: Vec::new(),
        drawn: Vec::new(),
        samples: None,
        games: Vec::new(),
        sets: Vec::new(),
    };
    Observations {
        systems: systems.iter().map(observed).collect(),
        cases: (0..systems[0].1.len()).map(case).collect(),
        metrics: vec![table],
        ..Observations::default()
    }
}

pub(super) fn quick() -> ComparisonOptions {
    ComparisonOptions {
        resamples: 200,
        ..ComparisonOptions::seeded(7)
    }
}

pub(super) fn compared(observed: &Observations, options: &ComparisonOptions) -> MetricComparison {
    compare(observed, options).metrics.remove(0)
}

pub(super) fn labels(metric: &MetricComparison) -> Vec<&str> {
    metric
        .systems
        .iter()
        .map(|system| system.label.as_str())
        .collect()
}

#[track_caller]
pub(super) fn assert_close(ours: f64, theirs: f64, tolerance: f64, number: &str) {
    assert!(
        (ours - theirs).abs() <= tolerance,
        "{number}: ours {ours}, expected {theirs}"
    );
}

#[test]
fn two_systems_by_hand() {
    let metric = compared(
        &table(&[
            ("low", &[0.1, 0.5, 0.3, 0.3]),
            ("high", &[0.3, 0.5, 0.6, 0.2]),
        ]),
        &quick(),
    );
    assert_eq!(labels(&metric), ["high", "low"]);
    let pair = &metric.pairs[0];
    // Differences 0.2 0 0.3 -0.1: mean 0.1. Of the 8 assignments of 0.2 0.3 0.1 those with a sum of 0.4 or more:
    // +++ 0.6, ++- 0.4 and their opposites: 4 / 8.
    assert_close(pair.difference, 0.1, 1e-12, "difference");
    assert_eq!(
        (pair.p, pair.pointwise_p, pair.differs),
        (Some(0.5), Some(0.5), false)
    );
    assert_eq!((pair.wins, pair.ties, pair.losses), (2, 1, 1));
    assert_eq!(
        (metric.groups.clone(), metric.questions),
        (vec![vec![0, 1]], 4)
    );
    assert_eq!(
        (metric.systems[0].rank, metric.systems[1].rank),
        (Some(1), Some(2))
    );
    assert_eq!(metric.systems[0].letters, "a");
    assert_eq!(
        (
            metric.systems[0].unscored,
            metric.systems[0].missing,
            metric.systems[0].bounds
        ),
        (0, 0, None)
    );
    assert_eq!((pair.bounds, pair.sensitive), (None, false));
    assert!(pair.length.is_none());
}

#[test]
fn corrected_values_have_students_intervals_by_the_verdicts_of_their_systems() {
    let values = [
        ("low", [0.1, 0.5, 0.3, 0.3, -1.2, 0.4]),
        ("high", [0.3, 0.5, 0.6, 0.2, 0.9, 2.1]),
    ];
    let mut observed = table(&values.each_ref().map(|(name, values)| (*name, &values[..])));
    // Two verdicts on the answers of the first, one on those of the second.
    observed.metrics[0].drawn = vec![vec![0, 0, 0, 1, 1, 0], vec![0, 0, 0, 0, 0, 1]];
    let metric = compared(&observed, &quick());
    let low = corrected_interval(&values[0].1, None, 2, 0.95);
    let high = corrected_interval(&values[1].1, None, 1, 0.95);
    assert_eq!(
        (metric.systems[0].interval, metric.systems[1].interval),
        (high, low)
    );
    let pair = &metric.pairs[0];
    let differences = [0.2, 0.0, 0.3, -0.1, 2.1, 1.7];
    let of_both = corrected_interval(&differences, None, 3, 0.95).unwrap();
    assert_eq!(
        (metric.method, pair.method),
        (Some(PairedMethod::Student), Some(PairedMethod::Student))
    );
    let interval = pair.interval.unwrap();
    assert_close(interval.low, of_both.low, 1e-9, "low");
    assert_close(interval.high, of_both.high, 1e-9, "high");
}

#[test]
fn one_system_has_a_mean_and_no_pairs() {
    let metric = compared(&table(&[("a", &[0.1, 0.5, 0.3])]), &quick());
    assert_close(metric.systems[0].mean.unwrap(), 0.3, 1e-12, "mean");
    assert!(metric.systems[0].interval.is_some());
    assert!(metric.pairs.is_empty() && metric.groups.is_empty() && metric.ranks.is_none());
}

#[test]
fn only_cases_that_all_share_count_and_a_system_without_values_takes_none_away() {
    let mut observed = table(&[
        ("a", &[0.2, 0.4, 0.9]),
        ("none", &[0.0, 0.0, 0.0]),
        ("b", &[0.1, 0.3, 0.0]),
    ]);
    observed.metrics[0].values[1] = vec![Observation::Missing; 3];
    observed.metrics[0].values[2][2] = Observation::Missing;
    let metric = compared(&observed, &quick());
    assert_eq!(labels(&metric), ["a", "b", "none"]);
    let [a, b, none] = [0, 1, 2].map(|place| metric.systems[place].clone());
    assert_close(a.mean.unwrap(), 0.3, 1e-12, "over two cases");
    assert_close(a.own_mean.unwrap(), 0.5, 1e-12, "over three cases");
    assert_eq!(
        (b.missing, none.missing, none.rank, none.mean, none.own_mean),
        (1, 3, None, None, None)
    );
    assert_eq!(
        (metric.pairs.len(), metric.ranks.as_ref().map(Vec::len)),
        (1, None)
    );
    assert!(
        metric.notes.iter().any(|note| note.text.contains("none")),
        "{:?}",
        metric.notes
    );
}

#[test]
fn without_a_shared_case_only_own_means_are_known() {
    let mut observed = table(&[("a", &[0.2, 0.0]), ("b", &[0.0, 0.4])]);
    (
        observed.metrics[0].values[0][1],
        observed.metrics[0].values[1][0],
    ) = (Observation::Missing, Observation::Missing);
    let metric = compared(&observed, &quick());
    assert_eq!(labels(&metric), ["b", "a"]);
    assert_eq!(
        (
            metric.systems[0].mean,
            metric.systems[0].rank,
            metric.systems[0].own_mean
        ),
        (None, None, Some(0.4))
    );
    assert!(metric.pairs.is_empty() && metric.groups.is_empty() && metric.ranks.is_none());
    assert!(
        metric
            .notes
            .iter()
            .any(|note| note.text.contains("No case"))
    );
}

#[test]
fn a_metric_that_could_not_be_judged_has_bounds_and_no_means() {
    let mut observed = table(&[("a", &[0.2]), ("b", &[0.1])]);
    observed.metrics[0].values = vec![
        vec![Observation::Unscored(Interval {
            low: 0.25,
            high: 0.5
        })];
        2
    ];
    let metric = compared(&observed, &quick());
    assert_eq!(
        (metric.systems[0].mean, metric.systems[0].bounds),
        (
            None,
            Some(Interval {
                low: 0.25,
                high: 0.5
            })
        )
    );
}

#[test]
fn a_verdict_that_is_sensitive_to_unscored_answers_is_flagged() {
    let high = [0.9, 0.8, 0.9, 0.7, 0.8, 0.9, 0.8, 0.9];
    let low = [0.2, 0.3, 0.1, 0.2, 0.4, 0.3, 0.2, 0.1];
    let mut observed = table(&[("high", &high), ("low", &low)]);
    observed.metrics[0].values[0][7] = Observation::Unscored(Interval {
        low: 0.6,
        high: 1.0,
    });
    let metric = compared(&observed, &quick());
    // Over seven: 2 / 128, significant. With the eighth between 0.5 and 0.9 all eight are wins still: 2 / 256.
    let pair = &metric.pairs[0];
    assert_eq!(
        (pair.p, pair.differs, pair.sensitive),
        (Some(2.0 / 128.0), true, false)
    );
    // The seven differences sum to 5.8 - 1.7 = 4.1: (4.1 + 0.5) / 8 and (4.1 + 0.9) / 8.
    let Interval {
        low: worst,
        high: best,
    } = pair.bounds.unwrap();
    assert_close(worst, 0.575, 1e-12, "worst");
    assert_close(best, 0.625, 1e-12, "best");
    let bounds = metric.systems[0].bounds.unwrap();
    assert_close(bounds.low, (5.8 + 0.6) / 8.0, 1e-12, "low");
    // Three more are unknown: with all of them against it, the first has four wins and four losses.
    for case in 4..8 {
        observed.metrics[0].values[0][case] = Observation::Unscored(Interval {
            low: 0.0,
            high: 1.0,
        });
        observed.metrics[0].values[1][case] = Observation::Unscored(Interval {
            low: 0.0,
            high: 1.0,
        });
    }
    let pair = &compared(&observed, &quick()).pairs[0];
    assert!(
        pair.sensitive && pair.bounds.is_some_and(|bounds| bounds.low < 0.0),
        "{pair:?}"
    );
    // Without bounds, anything is possible.
    observed.metrics[0].values[0][7] = Observation::Unscored(Interval {
        low: f64::NEG_INFINITY,
        high: f64::INFINITY,
    });
    let metric = compared(&observed, &quick());
    assert_eq!(
        (metric.pairs[0].bounds, metric.pairs[0].sensitive),
        (None, true)
    );
    assert_eq!(
        metric
            .systems
            .iter()
            .find(|system| system.label == "high")
            .and_then(|system| system.bounds),
        None
    );
}

#[test]
fn with_a_baseline_only_its_pairs_are_tested_and_corrected() {
    let rows: [(&str, &[f64]); 3] = [("a", &[0.9; 6]), ("b", &[0.5; 6]), ("c", &[0.1; 6])];
    let options = ComparisonOptions {
        baseline: Some("b".into()),
        ..quick()
    };
    let metric = compared(&table(&rows), &options);
    let places: Vec<(usize, usize)> = metric
        .pairs
        .iter()
        .map(|pair| (pair.first, pair.second))
        .collect();
    assert_eq!(places, [(0, 1), (1, 2)]);
    // Of the 64 assignments only + + + + + + and its reverse are as far from 0, for all pairs the same ones.
    assert_eq!(
        (metric.pairs[0].p, metric.pairs[0].pointwise_p),
        (Some(2.0 / 64.0), Some(2.0 / 64.0))
    );
    assert_eq!(
        (metric.method, metric.smallest_p),
        (Some(PairedMethod::SignFlip), Some(2.0 / 64.0))
    );
    assert!(metric.groups.is_empty() && metric.systems[0].letters.is_empty());
    // Equal differences have no spread: nothing to resolve.
    assert_eq!(
        (metric.pairs[0].detectable, metric.pairs[0].interval),
        (None, None)
    );
    let absent = ComparisonOptions {
        baseline: Some("z".into()),
        ..quick()
    };
    assert!(compared(&table(&rows), &absent).pairs.is_empty());
}

#[test]
fn cases_of_one_question_are_drawn_and_flipped_together() {
    let (a, b) = (
        [0.9, 0.7, 0.8, 0.5, 0.6, 0.9, 0.8],
        [0.6, 0.7, 0.4, 0.6, 0.3, 0.4, 0.6],
    );
    let once = compared(&table(&[("a", &a), ("b", &b)]), &quick());
    let twice = |values: &[f64]| {
        values
            .iter()
            .flat_map(|value| [*value, *value])
            .collect::<Vec<f64>>()
    };
    let mut observed = table(&[("a", &twice(&a)), ("b", &twice(&b))]);
    for (place, case) in observed.cases.iter_mut().enumerate() {
        case.question = Arc::from(format!("question {}", place / 2));
    }
    let metric = compared(&observed, &quick());
    assert_eq!((metric.cases.len(), metric.questions), (14, 7));
    let (pair, single) = (&metric.pairs[0], &once.pairs[0]);
    assert_eq!(pair.p, single.p);
    let ends = |pair: &super::PairComparison| pair.interval.unwrap();
    assert_close(ends(pair).low, ends(single).low, 1e-9, "low");
    assert_close(ends(pair).high, ends(single).high, 1e-9, "high");
    assert_close(
        pair.detectable.unwrap(),
        single.detectable.unwrap(),
        1e-9,
        "detectable",
    );
}

/// The first is better by 0.1 per 100 words more, within 0.01; words differ by `from`, `from + 25`, ..
fn longer_and_better(cases: u32, from: f64) -> Observations {
    let words: Vec<f64> = (0..cases)
        .map(|case| 300.0 + from + 25.0 * f64::from(case))
        .collect();
    let noise = [0.01, -0.01, 0.01, -0.01, -0.01, 0.01, -0.01, 0.01]
        .into_iter()
        .cycle();
    let long: Vec<f64> = words
        .iter()
        .zip(noise)
        .map(|(words, noise)| words / 1000.0 + noise)
        .collect();
    let mut observed = table(&[("long", &long), ("short", &vec![0.3; words.len()])]);
    let short = vec![Some(300.0); words.len()];
    observed.words = Some(vec![words.into_iter().map(Some).collect(), short]);
    observed
}

#[test]
fn a_difference_adjusted_is_left_out_where_it_would_be_a_guess() {
    let has = |cases, from| {
        compared(&longer_and_better(cases, from), &quick()).pairs[0]
            .length
            .is_some()
    };
    // From 26 words less, `short` is longer in 2 questions (-26, -1); from 25 less in one (-25), and once as long.
    assert_eq!(
        [has(19, -26.0), has(20, -26.0), has(20, -25.0), has(20, 1.0)],
        [false, true, false, false]
    );
}

#[test]
fn a_lead_that_length_explains_is_gone_adjusted() {
    let observed = longer_and_better(24, -75.0);
    let metric = compared(&observed, &quick());
    let effect = metric.pairs[0].length.clone().unwrap();
    assert!(
        metric.pairs[0].interval.unwrap().low > 0.0
            && effect.interval.low < 0.0
            && effect.changes_conclusion,
        "{effect:?}"
    );
    // 25 * 23 / 2 - 75
    assert_close(effect.words, 212.5, 1e-9, "words");
    let mut observed = observed;
    // Length itself, and counts, are not judged by length.
    observed.metrics[0].metric.name = "length".into();
    assert_eq!(compared(&observed, &quick()).pairs[0].length, None);
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let values = |step: u32| {
        (0..60_u32)
            .map(|case| f64::from(case * case * step % 17) / 17.0)
            .collect::<Vec<f64>>()
    };
    let rows = [values(1), values(3), values(5)];
    let mut observed = table(&[("a", &rows[0]), ("b", &rows[1]), ("c", &rows[2])]);
    observed.words = Some(
        rows.iter()
            .map(|row| row.iter().map(|v| Some((v * 50.0).round() + 9.0)).collect())
            .collect(),
    );
    observed.metrics[0].values[1][7] = Observation::Unscored(Interval {
        low: 0.1,
        high: 0.4,
    });
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| compare(&observed, &quick()))
    };
    assert_eq!(on(1), on(4));
}

#[test]
fn numbers_are_those_of_scipy_and_statsmodels() {
    let golden: Value =
        serde_json::from_str(include_str!("../../../stats/tests/golden/golden.json")).unwrap();
    let sets = golden["comparison"].as_array().unwrap();
    assert!(sets.len() >= 3);
    for set in sets {
        let row = |value: &Value| -> Vec<f64> {
            value
                .as_array()
                .unwrap()
                .iter()
                .filter_map(Value::as_f64)
                .collect()
        };
        let rows =
            |key: &str| -> Vec<Vec<f64>> { set[key].as_array().unwrap().iter().map(row).collect() };
        let (values, words, names) = (rows("values"), rows("words"), ["0", "1", "2"]);
        let systems: Vec<(&str, &[f64])> = names
            .into_iter()
            .zip(values.iter().map(Vec::as_slice))
            .collect();
        let mut observed = table(&systems);
        observed.words = Some(
            words
                .iter()
                .map(|row| row.iter().copied().map(Some).collect())
                .collect(),
        );
        let options = ComparisonOptions {
            resamples: 4_000,
            ..ComparisonOptions::seeded(1)
        };
        let metric = compared(&observed, &options);
        for system in &metric.systems {
            let theirs = &set["systems"][system.system];
            assert_close(
                system.mean.unwrap(),
                theirs["mean"].as_f64().unwrap(),
                1e-10,
                "mean",
            );
            let rho = Correlation::Spearman.of(&values[system.system], &words[system.system]);
            assert_close(
                rho.unwrap(),
                theirs["spearman"].as_f64().unwrap(),
                1e-10,
                "spearman",
            );
        }
        for theirs in set["pairs"].as_array().unwrap() {
            let place = |key: &str| {
                let system = theirs[key].as_u64().unwrap() as usize;
                metric
                    .systems
                    .iter()
                    .position(|system_mean| system_mean.system == system)
                    .unwrap()
            };
            let (first, second) = (place("first"), place("second"));
            let pair = metric
                .pairs
                .iter()
                .find(|pair| (pair.first, pair.second) == (first, second))
                .unwrap();
            let number = |key: &str| theirs[key].as_f64().unwrap();
            // Of fewer than 20 questions it is left out; the line is the same.
            assert_eq!(pair.length.is_some(), metric.questions >= 20);
            let [better, worse] = [first, second].map(|place| metric.systems[place].system);
            let less = |rows: &[Vec<f64>]| {
                rows[better]
                    .iter()
                    .zip(&rows[worse])
                    .map(|(a, b)| a - b)
                    .collect::<Vec<_>>()
            };
            let length =
                scholareval_stats::least_squares(&less(&words), &less(&values), 0.95).unwrap();
            for (ours, key) in [
                (pair.difference, "difference"),
                (pair.cohens_dz.unwrap(), "cohens_dz"),
                (pair.cliffs_delta.unwrap(), "cliffs_delta"),
                (
                    pair.length
                        .clone()
                        .map_or(length.intercept, |line| line.adjusted),
                    "at_equal_length",
                ),
                (length.intercept_interval.low, "length_low"),
                (length.intercept_interval.high, "length_high"),
                (100.0 * length.slope, "per_100_words"),
                (100.0 * length.slope_interval.low, "slope_low"),
                (100.0 * length.slope_interval.high, "slope_high"),
            ] {
                assert_close(ours, number(key), 1e-10, key);
            }
            if metric.method == Some(PairedMethod::SignFlip) {
                assert_close(pair.pointwise_p.unwrap(), number("p"), 1e-10, "p");
            }
        }
    }
}

fn rearranged(observed: &Observations, systems: &[usize], cases: &[usize]) -> Observations {
    let table = &observed.metrics[0];
    let values = systems
        .iter()
        .map(|s| cases.iter().map(|c| table.values[*s][*c]).collect())
        .collect();
    Observations {
        systems: systems
            .iter()
            .map(|place| observed.systems[*place].clone())
            .collect(),
        cases: cases
            .iter()
            .map(|place| observed.cases[*place].clone())
            .collect(),
        metrics: vec![MetricTable {
            votes: false,
            values,
            ..table.clone()
        }],
        ..Observations::default()
    }
}

/// A system's index depends on the given order; nothing else may.
fn without_places(mut comparison: Comparison) -> Vec<MetricComparison> {
    for system in comparison
        .metrics
        .iter_mut()
        .flat_map(|metric| &mut metric.systems)
    {
        system.system = 0;
    }
    comparison.metrics
}

#[test]
fn a_sign_that_flips_within_the_noise_is_no_other_verdict() {
    // The mean is 0.05 / 8 = 0.00625. Against -100, 0, .. 600 words more the slope is 0.135 / 42 per 100 words, so the
    // intercept is 0.00625 - 2.5 * 0.135 / 42 = -0.0017857. Both intervals hold 0. Three times over nothing of it changes.
    let differences = [-0.03, 0.04, -0.02, 0.03, -0.03, 0.05, -0.02, 0.03];
    let first = differences.map(|difference| 0.5 + difference).repeat(3);
    let mut observed = table(&[("a", &first), ("b", &[0.5; 24])]);
    let words = (0..24)
        .map(|case| Some(200.0 + 100.0 * f64::from(case % 8)))
        .collect();
    observed.words = Some(vec![words, vec![Some(300.0); 24]]);
    let pair = compared(&observed, &quick()).pairs.remove(0);
    let effect = pair.length.unwrap();
    assert_close(pair.difference, 0.00625, 1e-12, "difference");
    assert_close(
        effect.adjusted,
        0.00625 - 2.5 * 0.135 / 42.0,
        1e-12,
        "at equal length",
    );
    assert!(
        pair.interval.unwrap().low < 0.0
            && effect.interval.high > 0.0
            && !effect.changes_conclusion,
        "{effect:?}"
    );
}

#[test]
fn an_interval_that_only_grew_is_no_other_conclusion() {
    // 0.03 +- 0.04, as often below as above at each length, so the slope is 0 and the estimate stays 0.03. 18 questions have
    // 300 words more, 2 have 100 less: mean 260, sum of squares 2 * 360^2 + 18 * 40^2 = 288000. Half the interval was about
    // 2.1 * 0.04 / sqrt(19) = 0.019 and is 2.1009 * 0.04 * sqrt(20 / 18) * sqrt(1 / 20 + 260^2 / 288000) = 0.0473.
    let first: Vec<f64> = (0..20)
        .map(|case| if case % 2 == 0 { 0.57 } else { 0.49 })
        .collect();
    let mut observed = table(&[("a", &first), ("b", &[0.5; 20])]);
    let words = (0..20)
        .map(|case| Some(if case < 2 { 200.0 } else { 600.0 }))
        .collect();
    observed.words = Some(vec![words, vec![Some(300.0); 20]]);
    let pair = compared(&observed, &quick()).pairs.remove(0);
    let effect = pair.length.unwrap();
    assert_close(effect.adjusted, 0.03, 1e-12, "at equal length");
    assert_close(effect.interval.high, 0.0773, 1e-4, "wider");
    assert!(
        pair.pointwise.unwrap().low > 0.0 && effect.less_precise && !effect.changes_conclusion,
        "{effect:?}"
    );
}

#[test]
fn fewer_than_ten_questions_give_no_ranks_and_one_no_test() {
    let [a, b] = [0.2, 0.3].map(|step| {
        (0..10)
            .map(|case| f64::from(case) * step % 1.0)
            .collect::<Vec<f64>>()
    });
    assert!(
        compared(&table(&[("a", &a), ("b", &b)]), &quick())
            .ranks
            .is_some()
    );
    assert!(
        compared(&table(&[("a", &a[1..]), ("b", &b[1..])]), &quick())
            .ranks
            .is_none()
    );
    let mut observed = table(&[("a", &a), ("b", &b)]);
    observed
        .cases
        .iter_mut()
        .for_each(|case| case.question = Arc::from("one question"));
    let metric = compared(&observed, &quick());
    assert_eq!(
        (metric.ranks, metric.method, metric.pairs[0].p),
        (None, None, None)
    );
}

fn tables() -> impl Strategy<Value = Observations> {
    prop::collection::vec(prop::collection::vec(0..14_u8, 3), 1..9).prop_map(|cases| {
        let row = |system: usize| {
            cases
                .iter()
                .map(|case| f64::from(case[system]) / 10.0)
                .collect::<Vec<f64>>()
        };
        let rows = [row(0), row(1), row(2)];
        let mut observed = table(&[("a", &rows[0]), ("b", &rows[1]), ("c", &rows[2])]);
        for value in observed.metrics[0].values.iter_mut().flatten() {
            *value = match *value {
                Observation::Value(value) if value > 1.25 => Observation::Missing,
                Observation::Value(value) if value > 1.05 => Observation::Unscored(Interval {
                    low: 0.1,
                    high: 0.9,
                }),
                other => other,
            };
        }
        observed
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn the_order_of_systems_and_cases_changes_no_number(
        (observed, cases) in tables().prop_flat_map(|observed| {
            let cases = Just((0..observed.cases.len()).collect::<Vec<_>>()).prop_shuffle();
            (Just(observed), cases)
        }),
        systems in Just(vec![0, 1, 2]).prop_shuffle(),
    ) {
        let options = ComparisonOptions { resamples: 50, ..quick() };
        let there = compare(&observed, &options);
        let back = compare(&rearranged(&observed, &systems, &cases), &options);
        prop_assert_eq!(without_places(there), without_places(back));
    }

    #[test]
    fn numbers_are_finite_and_verdicts_consistent(observed in tables()) {
        let options = ComparisonOptions { resamples: 50, ..quick() };
        let comparison = compare(&observed, &options);
        for metric in &comparison.metrics {
            for pair in &metric.pairs {
                prop_assert!(pair.first < pair.second && pair.difference >= -1e-12);
                prop_assert_eq!(pair.wins + pair.ties + pair.losses, metric.cases.len());
                prop_assert_eq!(pair.p.is_some(), metric.questions > 1);
                prop_assert!(pair.p.is_none_or(|p| p > 0.0 && p <= 1.0) && pair.p >= pair.pointwise_p, "{:?}", pair);
                // One procedure: the interval excludes 0 exactly if the difference is significant.
                let excludes = pair.interval.is_some_and(|interval| interval.low > 0.0 || interval.high < 0.0);
                prop_assert!(pair.interval.is_none() || excludes == pair.differs, "{:?}", pair);
                prop_assert!(pair.bounds.is_none_or(|bounds| bounds.low <= bounds.high + 1e-12));
                let together = metric.groups.iter().any(|group| group.contains(&pair.first) && group.contains(&pair.second));
                prop_assert_eq!(together, !pair.differs && pair.p.is_some());
            }
            for system in &metric.systems {
                let mean_within = system.mean.is_none_or(|mean| (0.0..=1.0 + 1e-12).contains(&mean));
                prop_assert!(mean_within && system.bounds.is_none_or(|bounds| bounds.low <= bounds.high + 1e-12));
            }
        }
        let text = serde_json::to_string(&comparison).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert!(!text.contains("NaN"));
    }

    #[test]
    fn swapping_two_systems_turns_the_pair_round(values in prop::collection::vec((0..10_u8, 0..10_u8), 2..9)) {
        let (a, b): (Vec<f64>, Vec<f64>) = values.iter().map(|(a, b)| (f64::from(*a) / 10.0, f64::from(*b) / 10.0)).unzip();
        let there = compared(&table(&[("x", &a), ("y", &b)]), &quick());
        let back = compared(&table(&[("x", &b), ("y", &a)]), &quick());
        // The same numbers under the other name, unless both are equal: then names order them.
        let (there_pair, back_pair) = (&there.pairs[0], &back.pairs[0]);
        prop_assert!((there_pair.difference - back_pair.difference).abs() < 1e-12);
        prop_assert_eq!(there_pair.p, back_pair.p);
        if there_pair.difference > 1e-12 {
            prop_assert_ne!(there.systems[0].label.clone(), back.systems[0].label.clone());
            prop_assert_eq!((there_pair.wins, there_pair.losses), (back_pair.wins, back_pair.losses));
            prop_assert_eq!(there_pair.interval, back_pair.interval);
        }
    }
}
