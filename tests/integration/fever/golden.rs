//! Parity with `fever-scorer` (`golden/fever.json`).
//!
//! Compat must give every number of the file, and an input error where the reference dies. Default must give the same
//! numbers, but refuses files with malformed sentences or unknown labels, and has an F1 of 0 where the reference divides
//! by zero.

use std::path::{Path, PathBuf};

use scholareval::Result;
use scholareval::domain::Mode;
use scholareval::facts::claims::ClaimFile;
use scholareval::facts::fever::{FeverGold, FeverScores, InstanceScore, score_instance};
use scholareval::facts::fever_files::{Join, Predicted, join};
use serde_json::{Value, json};

fn shared() -> Option<PathBuf> {
    let path = std::env::var_os("SCHOLAREVAL_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"),
        PathBuf::from,
    );
    if path.join("golden/fever.json").is_file() {
        return Some(path);
    }
    eprintln!(
        "skipped: no golden numbers at {}; set SCHOLAREVAL_SHARED",
        path.display()
    );
    None
}

fn golden(shared: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(shared.join("golden/fever.json")).unwrap())
        .unwrap()
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
        Self {
            _dir: dir,
            predictions: path,
            gold,
        }
    }

    fn of_values(predictions: &[Value], gold: Option<&[Value]>) -> Self {
        Self::new(&lines(predictions), gold.map(lines).as_deref())
    }

    fn read(&self, mode: Mode, max: Option<usize>) -> Result<Vec<InstanceScore>> {
        let gold = self
            .gold
            .as_deref()
            .map(|path| ClaimFile::<FeverGold>::load(path, mode))
            .transpose()?;
        let file = ClaimFile::<Predicted>::load(&self.predictions, mode)?;
        let pairs = join(&file, gold.as_ref(), Join::Order, mode)?.pairs;
        Ok(pairs
            .into_iter()
            .map(|(line, gold)| score_instance(gold, &line.value.prediction, max))
            .collect())
    }

    fn score(&self, max: Option<usize>, mode: Mode) -> Result<FeverScores> {
        Ok(FeverScores::of(&self.read(mode, max)?, mode))
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
    let (range, _) = name
        .strip_prefix("lines [")
        .unwrap()
        .split_once(']')
        .unwrap();
    let (from, to) = range.split_once(':').unwrap();
    let (from, to): (usize, usize) = (from.parse().unwrap(), to.parse().unwrap());
    let part = |file: &str| {
        let text = std::fs::read_to_string(shared.join("data/fever").join(file)).unwrap();
        text.lines()
            .skip(from)
            .take(to - from)
            .map(|line| format!("{line}\n"))
            .collect::<String>()
    };
    Batch::new(&part("predictions.jsonl"), Some(&part("actual.jsonl")))
}

fn max_evidence(key: &str) -> Option<usize> {
    (key != "None").then(|| key.parse().unwrap())
}

fn close(scores: FeverScores, expected: &Value) -> bool {
    let own = [
        scores.strict_score,
        scores.label_accuracy,
        scores.precision,
        scores.recall,
        scores.f1,
    ];
    own.iter()
        .enumerate()
        .all(|(at, own)| (own - expected[at].as_f64().unwrap()).abs() <= 1e-12)
}

/// True if the default reader has to refuse the row's predictions.
fn is_malformed(row: &Value) -> bool {
    let known = |label: &Value| {
        let names = ["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"];
        label
            .as_str()
            .is_some_and(|label| names.contains(&label.to_uppercase().as_str()))
    };
    let well_formed = |sentence: &Value| {
        sentence
            .as_array()
            .is_some_and(|parts| parts.len() == 2 && parts[0].is_string() && parts[1].is_i64())
    };
    let is_good = |prediction: &Value| {
        let evidence = prediction["predicted_evidence"].as_array();
        known(&prediction["predicted_label"])
            && (prediction["label"].is_null() || known(&prediction["label"]))
            && evidence.is_some_and(|evidence| evidence.iter().all(well_formed))
    };
    let gold_is_good = row["actual"]
        .as_array()
        .is_none_or(|gold| gold.iter().all(|gold| known(&gold["label"])));
    !(gold_is_good
        && row["preds"]
            .as_array()
            .is_none_or(|predictions| predictions.iter().all(is_good)))
}

#[test]
fn compat_gives_every_number_of_the_reference_and_an_error_where_that_dies() {
    let Some(shared) = shared() else { return };
    let golden = golden(&shared);
    let mut compared = 0;
    for row in golden["batches"].as_array().unwrap() {
        let batch = batch(row, &shared);
        for (max, expected) in row["scores"].as_object().unwrap() {
            let scored = batch.score(max_evidence(max), Mode::Compat);
            let what = format!(
                "row {} {}, max_evidence {max}: {scored:?}, expected {expected}",
                row["i"], row["name"]
            );
            match expected["exception"].as_str() {
                None => assert!(close(scored.unwrap(), expected), "{what}"),
                // The command refuses this; the scorer has F1 0.
                Some("ZeroDivisionError") if scored.is_ok() => {
                    assert_eq!(scored.unwrap().f1, 0.0, "{what}")
                }
                Some(_) => assert!(scored.is_err(), "{what}"),
            }
            compared += 1;
        }
    }
    assert!(compared >= 100, "only {compared} comparisons");
}

#[test]
fn default_gives_every_number_of_the_reference_and_0_where_that_divides_by_zero() {
    let Some(shared) = shared() else { return };
    let golden = golden(&shared);
    for row in golden["batches"].as_array().unwrap() {
        let batch = batch(row, &shared);
        for (max, expected) in row["scores"].as_object().unwrap() {
            let scored = batch.score(max_evidence(max), Mode::Default);
            let what = format!(
                "row {} {}, {max:?}: {scored:?}, expected {expected}",
                row["i"], row["name"]
            );
            match expected["exception"].as_str() {
                None if is_malformed(row) => assert!(scored.is_err(), "{what}"),
                // A line written "1" is line 1.
                Some(_) if row["name"] == "bad_format_right_label" => {
                    let text = row["preds"].to_string().replace("\"1\"", "1");
                    let whole: Vec<Value> = serde_json::from_str(&text).unwrap();
                    let whole =
                        Batch::of_values(&whole, None).score(max_evidence(max), Mode::Default);
                    assert_eq!(scored.unwrap(), whole.unwrap(), "{what}");
                }
                None => assert!(close(scored.unwrap(), expected), "{what}"),
                Some("ZeroDivisionError") if scored.is_ok() => {
                    let scores = scored.unwrap();
                    assert_eq!(
                        (scores.precision, scores.recall, scores.f1),
                        (0.0, 0.0, 0.0),
                        "{what}"
                    );
                }
                Some(_) => assert!(scored.is_err(), "{what}"),
            }
        }
    }
}

#[test]
fn the_row_that_divides_by_zero_has_its_own_value_by_default() {
    // One claim, label right, the only predicted sentence wrong: strict 0/1, accuracy 1/1, precision 0/1, recall 0/1.
    let row = json!({"label": "REFUTES", "predicted_label": "REFUTES", "predicted_evidence": [["x", 9]],
        "evidence": [[[null, null, "page1", 1], [null, null, "page2", 2]]]});
    let scores = Batch::of_values(&[row], None)
        .score(Some(5), Mode::Default)
        .unwrap();
    let expected = FeverScores {
        strict_score: 0.0,
        label_accuracy: 1.0,
        precision: 0.0,
        recall: 0.0,
        f1: 0.0,
    };
    assert_eq!(scores, expected);
}

#[test]
fn each_claim_adds_what_the_reference_adds() {
    let Some(shared) = shared() else { return };
    let golden = golden(&shared);
    let instances = golden["instances"].as_array().unwrap();
    let mut compared = 0;
    for row in instances {
        let batch = Batch::of_values(std::slice::from_ref(&row["instance"]), None);
        for (max, expected) in row["by_max_evidence"].as_object().unwrap() {
            let Ok(scores) = batch.read(Mode::Compat, max_evidence(max)) else {
                // Only where the reference dies of the whole instance or of its sentences.
                let died = !row["label_correct"].is_boolean()
                    || expected["strict"]["exception"].is_string();
                assert!(died, "row {}", row["i"]);
                continue;
            };
            let pair =
                |value: Option<f64>| value.map_or(json!([0.0, 0.0]), |value| json!([value, 1.0]));
            let own = json!({
                "strict": scores[0].strictly_correct,
                "macro_precision": pair(scores[0].precision),
                "macro_recall": pair(scores[0].recalled.map(f64::from)),
            });
            assert_eq!(own, *expected, "row {}, max_evidence {max}", row["i"]);
            assert_eq!(
                row["label_correct"], scores[0].label_correct,
                "row {}",
                row["i"]
            );
            compared += 1;
        }
    }
    assert!(compared >= 3 * 130, "only {compared} comparisons");
}

#[test]
fn the_9999_real_predictions_get_the_references_scores_in_any_order_and_with_one_thread() {
    let Some(shared) = shared() else { return };
    let read = |file: &str| std::fs::read_to_string(shared.join("data/fever").join(file)).unwrap();
    let (gold, predictions) = (read("actual.jsonl"), read("predictions.jsonl"));
    let batch = Batch::new(&predictions, Some(&gold));
    let score = |batch: &Batch| batch.score(Some(5), Mode::Default).unwrap();
    let scores = score(&batch);
    // fever-scorer 2.0.39 on the same files.
    assert!(close(scores, &json!(REAL)), "{scores:?}");
    // Compat adds up in file order, so that not even the last digit differs.
    let compat = batch.score(Some(5), Mode::Compat).unwrap();
    let bits = [
        compat.strict_score,
        compat.label_accuracy,
        compat.precision,
        compat.recall,
        compat.f1,
    ];
    assert_eq!(bits, REAL);

    let reversed = |text: &str| {
        text.lines()
            .rev()
            .map(|line| format!("{line}\n"))
            .collect::<String>()
    };
    assert_eq!(
        score(&Batch::new(&reversed(&predictions), Some(&reversed(&gold)))),
        scores
    );
    let one = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    assert_eq!(one.install(|| score(&batch)), scores);
    let one_in_compat = one.install(|| batch.score(Some(5), Mode::Compat)).unwrap();
    assert_eq!(one_in_compat, compat);
}

/// Strict score, label accuracy, precision, recall, F1 of `data/fever`, by the reference.
const REAL: [f64; 5] = [
    0.32573257325732574,
    0.5208520852085209,
    0.1043804380438068,
    0.44224422442244227,
    0.1688970477815144,
];
