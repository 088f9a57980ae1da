//! Parity of the statistics with SciPy, statsmodels, krippendorff, scikit-learn, pingouin and ppi-python.
//!
//! `tests/golden_stats/make_golden.py` made the numbers; closed formulas agree to 1e-10.

use scholareval::stats::{KappaWeights, MeasurementLevel, cohens_kappa, krippendorff_alpha};
use serde_json::Value;

fn golden(section: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("../golden_stats/golden.json")).unwrap();
    let rows = all[section].as_array().unwrap().clone();
    assert!(rows.len() >= 3, "{section}");
    rows
}

fn number(row: &Value, key: &str) -> f64 {
    row[key].as_f64().unwrap_or_else(|| panic!("no number {key}"))
}

fn list(row: &Value, key: &str) -> Vec<f64> {
    row[key].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
}

fn ratings(row: &Value) -> Vec<Vec<Option<f64>>> {
    row["ratings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|own| own.as_array().unwrap().iter().map(Value::as_f64).collect())
        .collect()
}

fn borrowed(ratings: &[Vec<Option<f64>>]) -> Vec<&[Option<f64>]> {
    ratings.iter().map(Vec::as_slice).collect()
}

#[track_caller]
fn assert_close(ours: Option<f64>, theirs: f64, what: &str) {
    let ours = ours.unwrap_or(f64::NAN);
    assert!((ours - theirs).abs() <= 1e-10 * theirs.abs().max(1.0), "{what}: ours {ours}, theirs {theirs}");
}

#[test]
fn alpha_is_krippendorffs() {
    for row in golden("alpha") {
        let ratings = ratings(&row);
        for (key, level) in [
            ("nominal", MeasurementLevel::Nominal),
            ("ordinal", MeasurementLevel::Ordinal),
            ("interval", MeasurementLevel::Interval),
        ] {
            let ours = krippendorff_alpha(&borrowed(&ratings), level);
            assert_close(ours, number(&row, key), &format!("{} {key}", row["name"]));
        }
    }
}

#[test]
fn kappa_is_scikit_learns() {
    for row in golden("kappa") {
        let some = |key| list(&row, key).into_iter().map(Some).collect::<Vec<_>>();
        let (x, y) = (some("x"), some("y"));
        for (key, weights) in [
            ("unweighted", KappaWeights::Unweighted),
            ("linear", KappaWeights::Linear),
            ("quadratic", KappaWeights::Quadratic),
        ] {
            assert_close(cohens_kappa(&x, &y, weights), number(&row, key), &format!("{} {key}", row["name"]));
        }
    }
}
