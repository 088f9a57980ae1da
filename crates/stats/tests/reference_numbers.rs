//! Parity of the statistics with SciPy, statsmodels, krippendorff, scikit-learn, pingouin and ppi-python.
//!
//! `tests/golden/make_golden.py` made the numbers; closed formulas agree to 1e-10.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use scholareval_stats::{
    BootstrapOptions, Coefficient, Correlation, Estimand, Interval, Judged, JudgedAnswer,
    MeasurementLevel, MetricValues, bca_clustered_interval, cliffs_delta, cohens_dz, least_squares,
    paired_family, prediction_powered_mean, variance_components,
};
use serde_json::Value;

fn golden(section: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("golden/golden.json")).unwrap();
    let rows = all[section].as_array().unwrap().clone();
    assert!(!rows.is_empty(), "{section}");
    rows
}

fn number(row: &Value, key: &str) -> f64 {
    row[key]
        .as_f64()
        .unwrap_or_else(|| panic!("no number {key}"))
}

fn list(row: &Value, key: &str) -> Vec<f64> {
    row[key]
        .as_array()
        .unwrap()
        .iter()
        .map(|value| value.as_f64().unwrap())
        .collect()
}

fn ratings(row: &Value) -> Vec<Vec<Option<f64>>> {
    row["ratings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|list| list.as_array().unwrap().iter().map(Value::as_f64).collect())
        .collect()
}

fn borrowed(ratings: &[Vec<Option<f64>>]) -> Vec<&[Option<f64>]> {
    ratings.iter().map(Vec::as_slice).collect()
}

#[track_caller]
fn assert_close(ours: Option<f64>, theirs: f64, what: &str) {
    let ours = ours.unwrap_or(f64::NAN);
    assert!(
        (ours - theirs).abs() <= 1e-10 * theirs.abs().max(1.0),
        "{what}: ours {ours}, theirs {theirs}"
    );
}

#[track_caller]
fn assert_interval(ours: Option<Interval>, row: &Value, [low, high]: [&str; 2]) {
    assert_close(ours.map(|interval| interval.low), number(row, low), low);
    assert_close(ours.map(|interval| interval.high), number(row, high), high);
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
            let ours = Coefficient::Alpha(level).of(&borrowed(&ratings));
            assert_close(ours, number(&row, key), &format!("{} {key}", row["name"]));
        }
    }
}

#[test]
fn kappa_is_scikit_learns() {
    for row in golden("kappa") {
        let some = |key| list(&row, key).into_iter().map(Some).collect::<Vec<_>>();
        let (x, y) = (some("x"), some("y"));
        for (key, kappa) in [
            ("unweighted", Coefficient::Kappa),
            ("quadratic", Coefficient::QuadraticKappa),
        ] {
            assert_close(
                kappa.of(&[&x, &y]),
                number(&row, key),
                &format!("{} {key}", row["name"]),
            );
        }
    }
}

#[test]
fn kendall_of_many_is_scipys() {
    for row in golden("kendall") {
        assert_close(
            Correlation::KendallTauB.of(&list(&row, "x"), &list(&row, "y")),
            number(&row, "tau"),
            "tau",
        );
    }
}

fn columns(row: &Value) -> Vec<Vec<f64>> {
    let numbers = |column: &Value| {
        column
            .as_array()
            .unwrap()
            .iter()
            .map(|value| value.as_f64().unwrap())
            .collect()
    };
    row["columns"]
        .as_array()
        .unwrap()
        .iter()
        .map(numbers)
        .collect()
}

#[test]
fn intervals_of_coefficients_are_those_of_left_out_units() {
    for row in golden("jackknife") {
        let columns = columns(&row);
        let some: Vec<Vec<Option<f64>>> = columns
            .iter()
            .map(|column| column.iter().copied().map(Some).collect())
            .collect();
        let (x, y) = (&columns[0], &columns[1]);
        // One cluster per unit.
        let singles: Vec<usize> = (0..x.len()).collect();
        let interval = match row["name"].as_str().unwrap() {
            "pearson" => Correlation::Pearson.clustered_interval(x, y, &singles, 0.95),
            "spearman" => Correlation::Spearman.clustered_interval(x, y, &singles, 0.95),
            "kendall" => Correlation::KendallTauB.clustered_interval(x, y, &singles, 0.95),
            "alpha" => Coefficient::Alpha(MeasurementLevel::Interval).interval(
                &borrowed(&some),
                &singles,
                0.95,
            ),
            "kappa" => Coefficient::QuadraticKappa.interval(&borrowed(&some[..2]), &singles, 0.95),
            "icc" => Coefficient::Icc.interval(&borrowed(&some), &singles, 0.95),
            name => panic!("what is {name}?"),
        };
        assert_interval(interval, &row, ["low", "high"]);
    }
}

#[test]
fn resampled_intervals_come_close_to_scipys() {
    for row in golden("clusters") {
        let columns = columns(&row);
        let cases =
            columns[0]
                .iter()
                .zip(&columns[1])
                .enumerate()
                .flat_map(|(cluster, (sum, size))| {
                    std::iter::repeat_n((sum / size, cluster), *size as usize)
                });
        let (values, clusters): (Vec<f64>, Vec<usize>) = cases.unzip();
        let mean = |weights: &[u32]| {
            let weighted = values
                .iter()
                .zip(weights)
                .map(|(value, weight)| value * f64::from(*weight));
            Some(weighted.sum::<f64>() / f64::from(weights.iter().sum::<u32>()))
        };
        let ours = bca_clustered_interval(&clusters, mean, BootstrapOptions::seeded(5)).unwrap();
        let (low, high) = (number(&row, "low"), number(&row, "high"));
        // 10,000 resamples place a 2.5% quantile to about 1% of the width of the interval, 3% is three of that.
        let tolerance = 0.03 * (high - low);
        assert!(
            (ours.low - low).abs() < tolerance && (ours.high - high).abs() < tolerance,
            "{ours:?} {low} {high}"
        );
    }
}

#[test]
fn icc_is_pingouins() {
    for row in golden("icc") {
        assert_close(
            Coefficient::Icc.of(&borrowed(&ratings(&row))),
            number(&row, "icc"),
            &row["name"].to_string(),
        );
    }
}

#[test]
fn the_exact_sign_flip_test_is_scipys_permutation_test() {
    for row in golden("permutation_exact") {
        let family = paired_family(
            &[&list(&row, "differences")],
            None,
            MetricValues::Any,
            BootstrapOptions::seeded(1),
        )
        .unwrap();
        assert_close(
            Some(family.pairs[0].p),
            number(&row, "p"),
            &row["name"].to_string(),
        );
    }
}

#[test]
fn effect_sizes_follow_from_scipys_tests() {
    for row in golden("effect") {
        let (x, y) = (list(&row, "x"), list(&row, "y"));
        let differences: Vec<f64> = x.iter().zip(&y).map(|(x, y)| x - y).collect();
        assert_close(cliffs_delta(&x, &y), number(&row, "cliffs_delta"), "delta");
        assert_close(cohens_dz(&differences), number(&row, "cohens_dz"), "d_z");
    }
}

#[test]
fn lines_are_statsmodels() {
    for row in golden("regression") {
        let line =
            least_squares(&list(&row, "x"), &list(&row, "y"), number(&row, "level")).unwrap();
        assert_close(Some(line.intercept), number(&row, "intercept"), "intercept");
        assert_close(Some(line.slope), number(&row, "slope"), "slope");
        assert_close(Some(line.r_squared), number(&row, "r_squared"), "r squared");
        assert_interval(
            Some(line.intercept_interval),
            &row,
            ["intercept_low", "intercept_high"],
        );
        assert_interval(Some(line.slope_interval), &row, ["slope_low", "slope_high"]);
    }
}

#[test]
fn prediction_powered_means_are_ppi_pythons_and_intervals_come_close() {
    for row in golden("ppi") {
        let (human, judge, unlabeled) = (
            list(&row, "human"),
            list(&row, "judge"),
            list(&row, "unlabeled"),
        );
        let labels = human
            .into_iter()
            .map(Some)
            .chain(unlabeled.iter().map(|_| None));
        let judged = labels.zip(judge.iter().chain(&unlabeled)).enumerate();
        let answers: Vec<JudgedAnswer> = judged
            .map(|(question, (human, judge))| JudgedAnswer {
                judge: *judge,
                human,
                weight: 1.0,
                question,
            })
            .collect();
        let mut options = BootstrapOptions::seeded(1);
        options.level = number(&row, "level");
        options.resamples = 4_000;
        let mean = |lambda| {
            prediction_powered_mean(&answers, lambda, Estimand::Mean(None), options).unwrap()
        };
        assert_close(
            Some(mean(None).estimate),
            number(&row, "estimate"),
            "estimate",
        );
        assert_close(Some(mean(None).lambda), number(&row, "lambda"), "lambda");
        assert_close(
            Some(mean(Some(1.0)).estimate),
            number(&row, "estimate_lambda_1"),
            "lambda 1",
        );
        // Bootstrap-t beside the published normal interval, at 40 labels and more.
        let interval = mean(None).interval.unwrap();
        let (ours, theirs) = (
            interval.high - interval.low,
            number(&row, "ppi_py_high") - number(&row, "ppi_py_low"),
        );
        assert!(
            0.97 * theirs < ours && ours < 1.2 * theirs,
            "{ours} {theirs}"
        );
    }
}

#[test]
fn variance_components_solve_hendersons_equations() {
    for row in golden("variance_components") {
        let value = |row: &Value| Judged {
            question: row[0].as_u64().unwrap() as usize,
            judge: row[1].as_u64().unwrap() as usize,
            value: row[2].as_f64().unwrap(),
        };
        let values: Vec<Judged> = row["rows"].as_array().unwrap().iter().map(value).collect();
        let parts = variance_components(&values).unwrap();
        let ours = [
            Some(parts.question),
            parts.judge,
            parts.question_judge,
            Some(parts.sample),
        ];
        for (ours, key) in ours
            .into_iter()
            .zip(["question", "judge", "question_judge", "residual"])
        {
            // Below 0 is 0.
            assert_close(
                ours,
                number(&row["raw"], key).max(0.0),
                &format!("{} {key}", row["name"]),
            );
        }
    }
}
