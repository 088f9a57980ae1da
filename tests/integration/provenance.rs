//! Where cited addresses come from: from the trace in a row to the numbers, the record and the page.

use serde_json::{Value, json};

use crate::support::workspace::Workspace;

/// Two systems: one reports its searches in every answer but the last, the other in none.
fn audited() -> Workspace {
    let work = Workspace::with_cases(&[]);
    let opened = json!({"type": "web_search_call", "action": {"type": "open_page", "url": "https://a.example.org/ice"}});
    let text = "Ice thins ([a](http://www.a.example.org/ice/)). Snow falls ([b](https://b.example.org/snow)).";
    let mut lines = Vec::new();
    for (id, trace) in [("1", json!([opened])), ("2", json!([])), ("3", Value::Null)] {
        let mut row = json!({"case_id": id, "answer_text": text});
        if !trace.is_null() {
            row["output"] = trace;
        }
        lines.push(row.to_string());
    }
    work.write("answers/traced.jsonl", &lines.join("\n"));
    lines = lines
        .iter()
        .map(|line| line.replace("output", "other"))
        .collect();
    work.write("answers/untraced.jsonl", &lines.join("\n"));
    work.run(&["citations", "answers", "--out", "out"])
        .exits_with(0);
    work
}

#[test]
fn shares_are_over_answers_with_a_trace_and_the_others_are_counted() {
    let work = audited();
    let summary = work.json("out/summary.json");
    let metric =
        |system: usize, name: &str| summary["scorers"][0]["rows"][system]["metrics"][name].clone();
    // One of two addresses in the first answer, none in the second; the third has no trace.
    let retrieved = metric(0, "retrieved");
    assert_eq!(
        (&retrieved["estimate"], &retrieved["n"]),
        (&json!(0.25), &json!(2))
    );
    assert!(retrieved["low"].is_number() && retrieved["unscored"] != json!(1));
    assert_eq!(metric(0, "not_retrieved")["estimate"], 0.75);
    assert_eq!(metric(0, "traced")["estimate"], 2.0 / 3.0);
    assert_eq!(metric(1, "traced")["estimate"], 0.0);
    assert!(metric(1, "retrieved")["estimate"].is_null());
}

#[test]
fn the_record_has_each_address_with_its_state_and_is_scored_again() {
    let work = audited();
    let first = &work.lines("out/scores.jsonl")[0];
    let expected = json!([
        {"url": "http://www.a.example.org/ice/", "state": "retrieved"},
        {"url": "https://b.example.org/snow", "state": "not_retrieved"},
    ]);
    assert_eq!(first["addresses"], expected);
    let before = work.read("out/scores.jsonl");
    work.run(&["rescore", "out", "--out", "again"])
        .exits_with(0);
    assert_eq!(work.read("again/scores.jsonl"), before);
    work.run(&["report", "out"]).exits_with(0);
    let page = work.read("report.html");
    assert!(
        page.contains(
            r#""addresses":[{"url":"http://www.a.example.org/ice/","state":"retrieved"}"#
        )
    );
}
