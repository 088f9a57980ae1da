//! Intervals of means, of paired differences and of agreement against those of SciPy: equal within 1e-6.
//!
//! The rows of `tests/golden/intervals.json` are always checked, those of `golden/intervals.json` where the shared data are at
//! hand.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};

use scholareval_stats::{
    BootstrapOptions, Coefficient, Interval, MeasurementLevel, MetricValues, PairedTest,
    mean_interval, paired_family,
};
use serde_json::Value;

fn numbers(list: &Value) -> Vec<f64> {
    let values = list.as_array().unwrap().iter();
    values.map(|value| value.as_f64().unwrap()).collect()
}

/// The question of each case as a number.
fn questions(row: &Value) -> Vec<usize> {
    let names: Vec<&str> = row["questions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    let number = |name: &&str| names.iter().position(|other| other == name).unwrap();
    names.iter().map(number).collect()
}

fn ends(interval: Option<Interval>) -> [f64; 2] {
    interval.map_or([f64::NAN; 2], |interval| [interval.low, interval.high])
}

fn mean(row: &Value) -> Vec<f64> {
    let range = numbers(&row["range"]);
    let range = Interval {
        low: range[0],
        high: range[1],
    };
    let options = BootstrapOptions::seeded(1);
    let values = numbers(&row["values"]);
    ends(mean_interval(
        &values,
        Some(&questions(row)),
        Some(range),
        options,
    ))
    .to_vec()
}

/// Difference, interval and p adjusted for the row's number of pairs: the pair stands as often in its family.
fn difference(row: &Value) -> Vec<f64> {
    let differences = numbers(&row["values"]);
    let width = row["width"].as_f64().unwrap();
    let pairs = row["pairs"].as_u64().unwrap() as usize;
    let questions = questions(row);
    let test = |values| -> PairedTest {
        let options = BootstrapOptions::seeded(1);
        let lists = vec![&*differences; pairs];
        paired_family(&lists, Some(&questions), values, options)
            .unwrap()
            .pairs[0]
    };
    let is_binary = ["first", "second"].iter().all(|side| {
        let values = numbers(&row[side]);
        values.iter().all(|value| [0.0, width].contains(value))
    });
    let result = test(if is_binary {
        MetricValues::ZeroOr(width)
    } else {
        MetricValues::Within(width)
    });
    let [low, high] = ends(result.interval);
    vec![result.difference, low, high, result.pointwise_p, result.p]
}

fn agreement(row: &Value) -> Vec<f64> {
    let units: Vec<Vec<f64>> = row["ratings"]
        .as_array()
        .unwrap()
        .iter()
        .map(numbers)
        .collect();
    let of_rater = |rater: usize| units.iter().map(|unit| Some(unit[rater])).collect();
    let raters: Vec<Vec<Option<f64>>> = (0..units[0].len()).map(of_rater).collect();
    let raters: Vec<&[Option<f64>]> = raters.iter().map(Vec::as_slice).collect();
    let alpha = Coefficient::Alpha(match row["metric"].as_str().unwrap() {
        "nominal" => MeasurementLevel::Nominal,
        "interval" => MeasurementLevel::Interval,
        other => panic!("what is {other}?"),
    });
    let singles: Vec<usize> = (0..units.len()).collect();
    let [low, high] = ends(alpha.interval(&raters, &singles, 0.95));
    vec![alpha.of(&raters).unwrap(), low, high]
}

#[track_caller]
fn assert_rows(golden: &Value, fewest: usize) {
    let rows = golden["rows"].as_array().unwrap();
    assert!(rows.len() >= fewest);
    for row in rows {
        let actual = match row["kind"].as_str().unwrap() {
            "mean" => mean(row),
            "difference" => difference(row),
            "agreement" => agreement(row),
            other => panic!("what is {other}?"),
        };
        // Of agreement the file also has the degrees of freedom, which the interval shows.
        let expected = numbers(&row["expected"]);
        for (ours, theirs) in actual.iter().zip(&expected) {
            let is_close = (ours - theirs).abs() <= 1e-6;
            assert!(
                is_close,
                "{}: {actual:?}, expected {expected:?}",
                row["name"]
            );
        }
    }
}

#[test]
fn rows_of_every_kind_are_scipys() {
    let golden = include_str!("golden/intervals.json");
    assert_rows(&serde_json::from_str(golden).unwrap(), 11);
}

#[test]
fn the_shared_rows_are_the_references() {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let dir = std::env::var_os("SCHOLAREVAL_SHARED").map_or_else(beside, PathBuf::from);
    let path = dir.join("golden/intervals.json");
    if path.exists() {
        let golden = std::fs::read(path).unwrap();
        assert_rows(&serde_json::from_slice(&golden).unwrap(), 1);
    } else {
        eprintln!(
            "skipped: {} is not there; set SCHOLAREVAL_SHARED",
            path.display()
        );
    }
}
