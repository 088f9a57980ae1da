//! Parity with `fever-scorer` (`golden/fever.json`).
//!
//! Compat must give every number and every exception of the file. In default mode every number must be the same; where
//! the reference raises, default has an expected value of its own: F1 0 in place of `ZeroDivisionError`, an input error
//! in place of the others. Files with malformed sentences or unknown labels are refused by the default reader even where
//! the reference gives numbers; the default scorer gives the reference's numbers for them.

use std::path::{Path, PathBuf};

use scholareval::Error;
use scholareval::dataset::fever::{FeverGold, Join, PredictionFile, PredictionsRead};
use scholareval::domain::Mode;
use scholareval::domain::fever::Raised;
use scholareval::scorer::fever::{
    FeverScores, Tally, is_correct_label, is_strictly_correct, macro_precision, macro_recall, score_instance,
};
use serde_json::{Value, json};

fn shared() -> Option<PathBuf> {
    let path = std::env::var_os("SCHOLAREVAL_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    if path.join("golden/fever.json").is_file() {
        return Some(path);
    }
    eprintln!("skipped: no golden numbers at {}; set SCHOLAREVAL_SHARED", path.display());
    None
}

fn golden(shared: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(shared.join("golden/fever.json")).unwrap()).unwrap()
}

/// A batch as files; the gold file only where gold stands apart.
struct Batch {
    _dir: tempfile::TempDir,
    predictions: PathBuf,
    gold: Option<PathBuf>,
}

impl Batch {
    fn new(predictions: &str, gold: Option<&str>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("predictions.jsonl");
        std::fs::write(&path, predictions).unwrap();
        let gold = gold.map(|text| {
            let path = dir.path().join("gold.jsonl");
            std::fs::write(&path, text).unwrap();
            path
        });
        Self { _dir: dir, predictions: path, gold }
    }

    fn of_values(predictions: &[Value], gold: Option<&[Value]>) -> Self {
        Self::new(&lines(predictions), gold.map(lines).as_deref())
    }

    /// Reads in one mode, counts in another.
    fn score(&self, max: Option<usize>, read_in: Mode, count_in: Mode) -> Result<Result<FeverScores, Raised>, Error> {
        let gold = self.gold.as_deref().map(|path| FeverGold::load(path, read_in)).transpose()?;
        let file = PredictionFile { path: &self.predictions, gold: gold.as_ref(), join: Join::Order, mode: read_in };
        let (mut tally, mut raised) = (Tally::default(), None);
        let read: PredictionsRead = file.read(
            |joined| score_instance(&joined.gold, &joined.prediction, max),
            |scored| match scored {
                Ok(score) => tally.add(score),
                Err(first) => _ = raised.get_or_insert(first),
            },
        )?;
        Ok(match read.raised.or(raised) {
            Some(raised) => Err(raised),
            None => tally.scores(count_in),
        })
    }
}

fn lines(values: &[Value]) -> String {
    values.iter().map(|value| format!("{value}\n")).collect()
}

/// The batch of a golden row; rows on real data name the lines they are made of.
fn batch(row: &Value, shared: &Path) -> Batch {
    if let Some(predictions) = row["preds"].as_array() {
        return Batch::of_values(predictions, row["actual"].as_array().map(Vec::as_slice));
    }
    let name = row["name"].as_str().unwrap();
    let (range, _) = name.strip_prefix("lines [").unwrap().split_once(']').unwrap();
    let (from, to) = range.split_once(':').unwrap();
    let (from, to): (usize, usize) = (from.parse().unwrap(), to.parse().unwrap());
    let part = |file: &str| {
        let text = std::fs::read_to_string(shared.join("data/fever").join(file)).unwrap();
        text.lines().skip(from).take(to - from).map(|line| format!("{line}\n")).collect::<String>()
    };
    Batch::new(&part("predictions.jsonl"), Some(&part("actual.jsonl")))
}

fn max_evidence(key: &str) -> Option<usize> {
    (key != "None").then(|| key.parse().unwrap())
}

fn close(scores: FeverScores, expected: &Value) -> bool {
    let own = [scores.strict_score, scores.label_accuracy, scores.precision, scores.recall, scores.f1];
    own.iter().enumerate().all(|(at, own)| (own - expected[at].as_f64().unwrap()).abs() <= 1e-12)
}

/// True if the default reader has to refuse the row's predictions.
fn is_malformed(row: &Value) -> bool {
    let known = |label: &Value| {
        let names = ["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"];
        label.as_str().is_some_and(|label| names.contains(&label.to_uppercase().as_str()))
    };
    let well_formed = |sentence: &Value| {
        sentence.as_array().is_some_and(|parts| parts.len() == 2 && parts[0].is_string() && parts[1].is_i64())
    };
    let is_good = |prediction: &Value| {
        let evidence = prediction["predicted_evidence"].as_array();
        known(&prediction["predicted_label"])
            && (prediction["label"].is_null() || known(&prediction["label"]))
            && evidence.is_some_and(|evidence| evidence.iter().all(well_formed))
    };
    let gold_is_good = row["actual"].as_array().is_none_or(|gold| gold.iter().all(|gold| known(&gold["label"])));
    !(gold_is_good && row["preds"].as_array().is_none_or(|predictions| predictions.iter().all(is_good)))
}

#[test]
fn compat_gives_every_number_and_exception_of_the_reference() {
    let Some(shared) = shared() else { return };
    let golden = golden(&shared);
    let mut compared = 0;
    for row in golden["batches"].as_array().unwrap() {
        let batch = batch(row, &shared);
        for (max, expected) in row["scores"].as_object().unwrap() {
            let scored = batch.score(max_evidence(max), Mode::Compat, Mode::Compat).unwrap();
            let what = format!("row {} {}, max_evidence {max}: {scored:?}, expected {expected}", row["i"], row["name"]);
            match scored {
                Ok(scores) => assert!(expected.is_array() && close(scores, expected), "{what}"),
                Err(raised) => assert_eq!(expected["exception"], raised.name(), "{what}"),
            }
            compared += 1;
        }
    }
    assert!(compared >= 100, "only {compared} comparisons");
}

#[test]
fn default_gives_every_number_of_the_reference_and_has_values_of_its_own_where_that_raises() {
    let Some(shared) = shared() else { return };
    let golden = golden(&shared);
    for row in golden["batches"].as_array().unwrap() {
        let batch = batch(row, &shared);
        for (max, expected) in row["scores"].as_object().unwrap() {
            let max = max_evidence(max);
            let read = batch.score(max, Mode::Default, Mode::Default);
            let what = format!("row {} {}, {max:?}: {read:?}, expected {expected}", row["i"], row["name"]);
            match expected["exception"].as_str() {
                None if is_malformed(row) => {
                    assert!(matches!(read, Err(Error::Input(_))), "{what}");
                    let leniently = batch.score(max, Mode::Compat, Mode::Default).unwrap().unwrap();
                    assert!(close(leniently, expected), "{what}");
                }
                None => assert!(close(read.unwrap().unwrap(), expected), "{what}"),
                // [compat]: F1 of 0 and 0.
                Some("ZeroDivisionError")
                    if row["preds"].as_array().is_none_or(|predictions| !predictions.is_empty()) =>
                {
                    let scores = read.unwrap().unwrap();
                    assert_eq!((scores.precision, scores.recall, scores.f1), (0.0, 0.0, 0.0), "{what}");
                }
                Some(_) => assert!(matches!(read, Err(Error::Input(_))), "{what}"),
            }
        }
    }
}

#[test]
fn the_row_that_divides_by_zero_has_its_own_value_by_default() {
    // One claim, label right, the only predicted sentence wrong: strict 0/1, accuracy 1/1, precision 0/1, recall 0/1.
    let row = json!({"label": "REFUTES", "predicted_label": "REFUTES", "predicted_evidence": [["x", 9]],
        "evidence": [[[null, null, "page1", 1], [null, null, "page2", 2]]]});
    let batch = Batch::of_values(&[row], None);
    let scores = batch.score(Some(5), Mode::Default, Mode::Default).unwrap().unwrap();
    let expected = FeverScores { strict_score: 0.0, label_accuracy: 1.0, precision: 0.0, recall: 0.0, f1: 0.0 };
    assert_eq!(scores, expected);
    assert_eq!(batch.score(Some(5), Mode::Compat, Mode::Compat).unwrap(), Err(Raised::ZeroDivision));
}

/// What a function of one instance gives, as the golden file writes it.
fn told<T>(result: Result<T, Raised>, value: impl FnOnce(T) -> Value) -> Value {
    result.map_or_else(|raised| json!({ "exception": raised.name() }), value)
}

#[test]
fn each_function_of_one_instance_gives_what_the_reference_gives() {
    let Some(shared) = shared() else { return };
    let golden = golden(&shared);
    let instances = golden["instances"].as_array().unwrap();
    for row in instances {
        let batch = Batch::of_values(std::slice::from_ref(&row["instance"]), None);
        let file = PredictionFile { path: &batch.predictions, gold: None, join: Join::Order, mode: Mode::Compat };
        let map = |joined: &scholareval::dataset::fever::JoinedPrediction<'_>| {
            let (gold, prediction) = (&joined.gold, &joined.prediction);
            let by_max = |max: &String| {
                let max = max_evidence(max);
                let pair = |value: Option<f64>| value.map_or(json!([0.0, 0.0]), |value| json!([value, 1.0]));
                json!({
                    "strict": told(is_strictly_correct(gold, prediction, max), Value::from),
                    "macro_precision": told(macro_precision(gold, prediction, max), |share| pair(share.map(|share| share.value()))),
                    "macro_recall": told(macro_recall(gold, prediction, max), |whole| pair(whole.map(f64::from))),
                })
            };
            let keys = row["by_max_evidence"].as_object().unwrap().keys();
            let label = told(is_correct_label(gold, prediction), Value::from);
            (label, keys.map(|key| (key.clone(), by_max(key))).collect::<serde_json::Map<_, _>>())
        };
        let mut seen = Vec::new();
        file.read(map, |item| seen.push(item)).unwrap();
        assert_eq!(seen.len(), 1);
        assert_eq!(seen[0].0, row["label_correct"], "row {}: label", row["i"]);
        assert_eq!(Value::Object(seen.remove(0).1), row["by_max_evidence"], "row {}", row["i"]);
    }
    assert!(instances.len() >= 100);
}

#[test]
fn the_9999_real_predictions_get_the_references_scores_in_any_order_and_with_one_thread() {
    let Some(shared) = shared() else { return };
    let read = |file: &str| std::fs::read_to_string(shared.join("data/fever").join(file)).unwrap();
    let (gold, predictions) = (read("actual.jsonl"), read("predictions.jsonl"));
    let batch = Batch::new(&predictions, Some(&gold));
    let score = |batch: &Batch| batch.score(Some(5), Mode::Default, Mode::Default).unwrap().unwrap();
    let scores = score(&batch);
    // fever-scorer 2.0.39 on the same files.
    assert!(close(scores, &json!(REAL)), "{scores:?}");
    // Compat adds up in file order, so that not even the last digit differs.
    let compat = batch.score(Some(5), Mode::Compat, Mode::Compat).unwrap().unwrap();
    let bits = [compat.strict_score, compat.label_accuracy, compat.precision, compat.recall, compat.f1];
    assert_eq!(bits, REAL);

    let reversed = |text: &str| text.lines().rev().map(|line| format!("{line}\n")).collect::<String>();
    assert_eq!(score(&Batch::new(&reversed(&predictions), Some(&reversed(&gold)))), scores);
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(one.install(|| score(&batch)), scores);
    let one_in_compat = one.install(|| batch.score(Some(5), Mode::Compat, Mode::Compat)).unwrap().unwrap();
    assert_eq!(one_in_compat, compat);
}

/// Strict score, label accuracy, precision, recall, F1 of `data/fever`, by the reference.
const REAL: [f64; 5] =
    [0.32573257325732574, 0.5208520852085209, 0.1043804380438068, 0.44224422442244227, 0.1688970477815144];
