//! `export parquet`: what pyarrow reads of a run is what the run holds. Apart from the other integration tests, so that a
//! test of the feature builds no more than these.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr
)]

use serde_json::{Value, json};

use crate::support::exports::{python, read_by, run};
use crate::support::workspace::Workspace;

// most of it is for the other tests
#[allow(dead_code, unused_imports)]
#[path = "integration/support/mod.rs"]
mod support;

#[test]
fn pyarrow_reads_every_score_and_component_and_the_sums_are_those_of_the_record() {
    let Some(python) = python() else { return };
    let (work, _server) = run();
    work.run(&["export", "parquet", "out", "--out", "tables"])
        .exits_with(0);
    let tables = read_by(&python, "parquet", &work, "tables");
    assert_eq!(tables["run"], "out");
    let rows = tables["scores"].as_array().unwrap();
    let lines = work.lines("out/scores.jsonl");
    // score, ann_score and 8 components an answer
    assert_eq!(rows.len(), lines.len() * 10);
    for line in &lines {
        let of = |component: &str| {
            let is_it = |row: &&Value| {
                row["system"] == line["system"]
                    && row["case_id"] == line["case_id"]
                    && row["component"] == component
            };
            rows.iter().find(is_it).unwrap()
        };
        assert_eq!(
            (&of("score")["value"], &of("ann_score")["value"]),
            (&line["score"], &line["ann_score"])
        );
        for (name, value) in line["components"].as_object().unwrap() {
            let (row, detail) = (of(name), &line["details"][name]);
            assert_eq!((&row["value"], &row["kind"]), (value, &detail["kind"]));
            assert_eq!(
                (&row["weight"], &row["unit"]),
                (&detail["weight"], &json!("share"))
            );
            assert_eq!(row["reason"], detail["unscored"]["message"]);
            assert_eq!(row["reason_kind"], detail["unscored"]["kind"]);
            assert_eq!(row["feedback"], detail["feedback"]);
        }
    }
    let sum = |values: Vec<&Value>| values.into_iter().filter_map(Value::as_f64).sum::<f64>();
    let scores = rows
        .iter()
        .filter(|row| row["kind"] == "score")
        .map(|row| &row["value"])
        .collect();
    assert!((sum(scores) - sum(lines.iter().map(|line| &line["score"]).collect())).abs() < 1e-12);
    assert_eq!(tables["score_types"]["value"], "double");
}

#[test]
fn pyarrow_reads_every_call_with_every_column_of_the_record() {
    let Some(python) = python() else { return };
    let (work, _server) = run();
    work.run(&["export", "parquet", "out", "--out", "tables"])
        .exits_with(0);
    let tables = read_by(&python, "parquet", &work, "tables");
    let (rows, lines) = (
        tables["calls"].as_array().unwrap(),
        work.lines("out/calls.jsonl"),
    );
    assert_eq!(rows.len(), lines.len());
    for (row, line) in rows.iter().zip(&lines) {
        for name in [
            "call_id",
            "system",
            "case_id",
            "item",
            "kind",
            "role",
            "judge",
            "sample",
            "attempt",
            "fingerprint",
        ] {
            assert_eq!(row[name], line[name], "{name}");
        }
        let (reply, usage) = (&line["reply"], &line["reply"]["usage"]);
        assert_eq!(
            (&row["raw"], &row["cached"]),
            (&reply["content"], &reply["cached"])
        );
        assert_eq!(
            (&row["finish_reason"], &row["model"]),
            (&reply["finish_reason"], &reply["model"])
        );
        assert_eq!(
            (&row["note"], &row["latency_ms"]),
            (&reply["note"], &reply["latency_ms"])
        );
        for name in ["prompt_tokens", "cached_prompt_tokens", "completion_tokens"] {
            assert_eq!(row[name], usage[name], "{name}");
        }
        let reason = &line["unscored"];
        assert_eq!(
            (&row["reason"], &row["reason_kind"]),
            (&reason["message"], &reason["kind"])
        );
        // what is not a plain value in the record is JSON in the table
        let verdict = line
            .get("verdict")
            .map_or(Value::Null, |verdict| verdict.to_string().into());
        assert_eq!(row["verdict"], verdict);
    }
    assert!(
        rows.iter().any(|row| row["sample"] == 1)
            && rows.iter().any(|row| row["reason_kind"] == "unreadable")
    );
    assert_eq!(tables["call_types"]["cached"], "bool");
    assert_eq!(tables["call_types"]["latency_ms"], "int64");
}

#[test]
fn an_imported_run_is_exported_too() {
    let Some(python) = python() else { return };
    let work = Workspace::new(&["alpha"], 1);
    let score = [
        "score",
        "answers",
        "--tests",
        "tests.json",
        "--out",
        "out",
        "--output",
        "results.json",
    ];
    work.run(&score).exits_with(0);
    work.run(&[
        "import",
        "results.json",
        "--tests",
        "tests.json",
        "--out",
        "in",
    ])
    .exits_with(0);
    work.run(&["export", "parquet", "in", "--out", "tables"])
        .exits_with(0);
    let tables = read_by(&python, "parquet", &work, "tables");
    assert_eq!(tables["calls"], json!([]));
    assert_eq!(tables["scores"][0]["component"], "lexical_score");
    assert_eq!(tables["scores"][0]["question"], "What is known about c1?");
}

#[test]
fn what_is_not_a_run_is_refused_and_nothing_is_left_behind() {
    let work = Workspace::new(&["alpha"], 1);
    work.run(&["export", "parquet", "answers", "--out", "made"])
        .exits_with(3)
        .says(&["answers"]);
    assert!(!work.path("made").exists());
}
