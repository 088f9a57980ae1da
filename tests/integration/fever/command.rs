//! `scholareval fever` as the shell sees it.

use crate::support::workspace::{Finished, Workspace};

const GOLD: &str = r#"{"id": 1, "label": "REFUTES", "evidence": [[[null, null, "page1", 1], [null, null, "page2", 2]]]}
{"id": 2, "label": "REFUTES", "evidence": [[[null, null, "page1", 1], [null, null, "page2", 2]]]}
"#;

/// The worked example of the reference: page2:2 is missing from the first, the second has one sentence too many.
const PREDICTIONS: &str = r#"{"id": 1, "predicted_label": "REFUTES", "predicted_evidence": [["page1", 1]]}
{"id": 2, "predicted_label": "REFUTES", "predicted_evidence": [["page1", 1], ["page2", 2], ["page3", 3]]}
"#;

fn workspace() -> Workspace {
    let workspace = Workspace::with_cases(&[]);
    workspace.write("gold.jsonl", GOLD);
    workspace.write("predictions.jsonl", PREDICTIONS);
    workspace
}

fn json(finished: &Finished) -> serde_json::Value {
    serde_json::from_str(&finished.stdout).unwrap()
}

fn estimate(system: &serde_json::Value, metric: &str) -> Option<f64> {
    system["metrics"][metric]["estimate"].as_f64()
}

#[test]
fn lines_written_with_a_fraction_of_zero_are_whole_numbers() {
    let workspace = workspace();
    let score = [
        "fever",
        "score",
        "--gold",
        "gold.jsonl",
        "predictions.jsonl",
    ];
    let compat = [&score[..], &["--compat"]].concat();
    let of = |arguments: &[&str]| {
        let done = workspace.run(&[arguments, &["--format", "json"]].concat());
        estimate(&json(&done.exits_with(0))["systems"][0], "fever_score")
    };
    let gold = GOLD.replace("\"page1\", 1]", "\"page1\", 1.0]");
    workspace.write("gold.jsonl", &gold);
    assert_eq!(of(&score), Some(0.5));
    assert_eq!(of(&compat), Some(0.5));
    // The reference asserts that a predicted line is an int.
    let fractions = PREDICTIONS.replace("\"page2\", 2]", "\"page2\", 2.0]");
    workspace.write("predictions.jsonl", &fractions);
    assert_eq!(of(&score), Some(0.5));
    workspace
        .run(&compat)
        .exits_with(3)
        .says(&["the reference raises an exception at the line 2.0; write 2"]);
    let half = PREDICTIONS.replace("\"page2\", 2]", "\"page2\", 2.5]");
    workspace.write("predictions.jsonl", &half);
    workspace
        .run(&score)
        .exits_with(3)
        .says(&["expected [page, line], a string and a whole number"]);
}

#[test]
fn a_blind_file_is_scored_against_its_gold() {
    let workspace = workspace();
    let done = workspace
        .run(&[
            "fever",
            "score",
            "--gold",
            "gold.jsonl",
            "predictions.jsonl",
        ])
        .exits_with(0);
    // rank, strict score, F1, label accuracy, precision (1 + 2/3) / 2, recall
    let row = done
        .stdout
        .lines()
        .find(|line| line.starts_with("predictions "))
        .unwrap();
    let row = row.split_whitespace().collect::<Vec<_>>();
    assert_eq!(
        row[..7],
        [
            "predictions",
            "1",
            "50.00",
            "62.50",
            "100.00",
            "83.33",
            "50.00"
        ]
    );
    assert_eq!(done.stderr, "");
    let one = [
        "fever",
        "score",
        "--gold",
        "gold.jsonl",
        "predictions.jsonl",
        "--max-evidence",
        "1",
        "--format",
        "json",
    ];
    let one = json(&workspace.run(&one).exits_with(0));
    assert_eq!(estimate(&one["systems"][0], "fever_score"), Some(0.0));
}

#[test]
fn several_files_are_a_leaderboard() {
    let workspace = workspace();
    workspace.write(
        "worse.jsonl",
        &PREDICTIONS.replace(
            "\"predicted_label\": \"REFUTES\"",
            "\"predicted_label\": \"SUPPORTS\"",
        ),
    );
    let arguments = [
        "fever",
        "score",
        "--gold",
        "gold.jsonl",
        "worse.jsonl",
        "predictions.jsonl",
        "--format",
        "csv",
    ];
    let done = workspace.run(&arguments).exits_with(0);
    let lines: Vec<&str> = done.stdout.lines().collect();
    assert!(
        lines[0]
            .starts_with("system,rank,fever_score,evidence_f1,label_accuracy,evidence_precision")
    );
    assert!(
        lines[1].starts_with("predictions,1,0.5,0.625,1,0.83"),
        "{}",
        lines[1]
    );
    assert!(
        lines[2].starts_with("worse,2,0,0.625,0,0.83"),
        "{}",
        lines[2]
    );
}

#[test]
fn by_id_claims_without_a_prediction_count_as_wrong_and_both_gaps_are_reported() {
    let workspace = workspace();
    let second = PREDICTIONS.lines().nth(1).unwrap();
    workspace.write(
        "p.jsonl",
        &format!("{second}\n{}\n", second.replace("\"id\": 2", "\"id\": 9")),
    );
    let arguments = [
        "fever",
        "score",
        "--gold",
        "gold.jsonl",
        "--join",
        "id",
        "p.jsonl",
        "--format",
        "json",
    ];
    let board = json(&workspace.run(&arguments).exits_with(0));
    for (at, text) in [
        (
            0,
            "p: 1 prediction for claims that are not in the gold file: left out.",
        ),
        (1, "p: 1 claim without a prediction: they count as wrong."),
    ] {
        assert_eq!(board["notes"][at]["text"], text);
    }
    let system = &board["systems"][0];
    // Claim 1 counts as wrong, without evidence: strict 1/2, accuracy 1/2, precision (1 + 2/3) / 2, recall 1/2.
    assert_eq!(
        (
            estimate(system, "fever_score"),
            estimate(system, "label_accuracy")
        ),
        (Some(0.5), Some(0.5))
    );
    assert_eq!(
        (
            estimate(system, "evidence_recall"),
            system["missing"].as_u64()
        ),
        (Some(0.5), Some(1))
    );
}

#[test]
fn compat_refuses_what_the_reference_dies_of() {
    let workspace = workspace();
    workspace.write("p.jsonl", &PREDICTIONS.replace("page", "other"));
    let arguments = ["fever", "score", "--gold", "gold.jsonl", "p.jsonl"];
    workspace
        .run(&[&arguments[..], &["--compat"]].concat())
        .exits_with(3)
        .says(&[
            "p.jsonl: precision and recall are both 0",
            "score without --compat",
        ]);
    let done = workspace
        .run(&[&arguments[..], &["--format", "json"]].concat())
        .exits_with(0);
    assert_eq!(
        estimate(&json(&done)["systems"][0], "evidence_f1"),
        Some(0.0)
    );
    workspace.write(
        "p.jsonl",
        &PREDICTIONS.replace("\"page1\", 1", "\"page1\", \"1\""),
    );
    let malformed = "p.jsonl:1 (case 1): predicted_evidence[0][1]: expected [page, line], a string and a whole number";
    workspace
        .run(&[&arguments[..], &["--compat"]].concat())
        .exits_with(3)
        .says(&[malformed]);
}

#[test]
fn an_explanation_names_the_sentence_that_is_missing() {
    let workspace = workspace();
    let done = workspace
        .run(&[
            "fever",
            "score",
            "--gold",
            "gold.jsonl",
            "predictions.jsonl",
            "--explain",
            "1",
        ])
        .exits_with(0);
    assert_eq!(
        done.stdout,
        "predictions, claim 1\n\
         \x20 label: predicted REFUTES, gold REFUTES: right\n\
         \x20 group 1: page1:1 (predicted), page2:2 (missing)\n\
         \x20 page1:1: in a group\n\
         \x20 score: strict 0, precision 1.0000, recall 0\n"
    );
    workspace
        .run(&[
            "fever",
            "score",
            "--gold",
            "gold.jsonl",
            "predictions.jsonl",
            "--explain",
            "7",
        ])
        .exits_with(3)
        .says(&["predictions.jsonl: no prediction has the id 7"]);
}

#[test]
fn what_cannot_be_scored_is_reported_with_file_line_and_remedy() {
    let workspace = workspace();
    workspace
        .run(&["fever", "score", "predictions.jsonl"])
        .exits_with(3)
        .says(&["predictions.jsonl:1 (case 1): the line has no gold label and evidence; give --gold FILE"]);
    workspace.write(
        "p.jsonl",
        &PREDICTIONS
            .lines()
            .rev()
            .map(|line| format!("{line}\n"))
            .collect::<String>(),
    );
    workspace.run(&["fever", "score", "--gold", "gold.jsonl", "p.jsonl"]).exits_with(3).says(&[
        "p.jsonl:1 (case 2): claim number 1 of gold.jsonl has the id 1; keep the order of the claims, or use --join id",
    ]);
    workspace
        .run(&["fever", "score", "--gold", "gold.jsonl", "prediction.jsonl"])
        .exits_with(3)
        .says(&["prediction.jsonl: no such file or directory; did you mean predictions.jsonl?"]);
    workspace
        .run(&["fever", "score", "predictions.jsonl", "--join", "id"])
        .exits_with(2)
        .says(&["give --gold FILE too"]);
    workspace
        .run(&["fever", "score", "predictions.jsonl", "--max-evidence", "x"])
        .exits_with(2)
        .says(&["a number or all"]);
}

#[test]
fn a_submission_is_checked_against_blind_claims() {
    let workspace = workspace();
    workspace.write(
        "claims.jsonl",
        "{\"id\": 1, \"claim\": \"c\"}\n{\"id\": 2, \"claim\": \"d\"}\n",
    );
    let done = workspace
        .run(&[
            "fever",
            "check",
            "predictions.jsonl",
            "--claims",
            "claims.jsonl",
        ])
        .exits_with(0);
    assert_eq!(
        done.stdout,
        "ok: 2 predictions: 0 SUPPORTS, 2 REFUTES, 0 NOT ENOUGH INFO\n"
    );
    workspace.write(
        "p.jsonl",
        &PREDICTIONS.replace("page2\", 2", "page2\", \"2\""),
    );
    workspace
        .run(&["fever", "check", "p.jsonl"])
        .exits_with(3)
        .says(&["p.jsonl:2 (case 2): predicted_evidence[1][1]: expected [page, line], a string and a whole number"]);
    let second = PREDICTIONS.lines().nth(1).unwrap();
    let ninth = second.replace("\"id\": 2", "\"id\": 9");
    for (lines, fault) in [
        (
            [second, second],
            "p.jsonl:2 (case 2): claim 2 occurs twice, first in line 1; keep one of the two lines",
        ),
        (
            [second, &ninth],
            "p.jsonl:2 (case 9): claims.jsonl has no claim 9; check the id, or delete the line",
        ),
        (
            [second, PREDICTIONS.lines().next().unwrap()],
            "p.jsonl:1 (case 2): claims.jsonl has claim 1 here",
        ),
        (
            [PREDICTIONS.lines().next().unwrap(), ""],
            "p.jsonl: the file ends after 1 line, but claims.jsonl has claim 2",
        ),
    ] {
        workspace.write("p.jsonl", &lines.join("\n"));
        workspace
            .run(&["fever", "check", "p.jsonl", "--claims", "claims.jsonl"])
            .exits_with(3)
            .says(&[fault]);
    }
}

#[test]
fn lines_written_as_texts_are_numbers() {
    let workspace = workspace();
    let score = [
        "fever",
        "score",
        "--gold",
        "gold.jsonl",
        "predictions.jsonl",
        "--format",
        "json",
    ];
    let compat = [&score[..], &["--compat"]].concat();
    let strict = |arguments: &[&str]| {
        let done = workspace.run(arguments).exits_with(0);
        estimate(&json(&done)["systems"][0], "fever_score")
    };
    workspace.write(
        "gold.jsonl",
        &GOLD.replace("\"page2\", 2]", "\"page2\", \"2\"]"),
    );
    // The second of two claims has both sentences; in the reference a text equals no line.
    assert_eq!((strict(&score), strict(&compat)), (Some(0.5), Some(0.0)));
    let texts = PREDICTIONS.replace("\"page2\", 2]", "\"page2\", \"2\"]");
    workspace.write("predictions.jsonl", &texts);
    assert_eq!(strict(&score), Some(0.5));
    let malformed = "predicted_evidence[1][1]: expected [page, line], a string and a whole number; write it without";
    workspace.run(&compat).exits_with(3).says(&[malformed]);
    workspace.write("predictions.jsonl", &texts.replace("\"2\"]", "\"two\"]"));
    workspace
        .run(&score)
        .exits_with(3)
        .says(&["expected [page, line], found the line \"two\""]);
}
