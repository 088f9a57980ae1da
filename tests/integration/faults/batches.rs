//! The faults that a reply can have, in the results of a batch.

use serde_json::{Value, json};

use crate::support::fake_server::good_completion;

use super::alone::{bodies_without_text, broken_bodies};
use super::{
    CALM, CASES, FakeServer, Ledger, SYSTEMS, Workspace, every_call_is_accounted_for, values,
};

/// The response to a request that failed, in every form.
fn failures() -> Vec<Value> {
    let bodies = broken_bodies().into_iter().chain([
        json!("<html>a proxy's page</html>"),
        json!({"error": {"code": 502, "message": "upstream"}}),
        json!({"object": "error", "message": "engine dead", "code": 500}),
    ]);
    let under_200 = bodies.map(|body| json!({"status_code": 200, "body": body}));
    let refused = json!({"status_code": 500, "body": {"error": {"message": "broken"}}});
    under_200
        .chain([
            refused,
            json!({"status_code": 503, "body": "no backend"}),
            Value::Null,
        ])
        .collect()
}

#[test]
fn faults_in_the_results_of_a_batch_cost_the_calls_that_they_hit_and_no_others() {
    let (work, ledger) = (Workspace::new(&SYSTEMS, CASES), Ledger::default());
    let server = FakeServer::start(ledger.judge(|_| None));
    let url = server.base_url();
    let export = [
        "batch",
        "export",
        "answers",
        "--tests",
        "tests.json",
        "--model",
        "fake-judge",
        "--base-url",
        &url,
    ];
    work.run(&[&export[..], &["--out", "b"]].concat())
        .exits_with(0);
    let manifest = work.json("b/batch.json");
    let parts = manifest["parts"].as_array().unwrap().iter();
    let asked: Vec<Value> = parts
        .flat_map(|part| work.lines(&format!("b/{}", part["file"].as_str().unwrap())))
        .collect();
    let without_text = bodies_without_text()
        .into_iter()
        .map(|body| json!({"status_code": 200, "body": body}));
    let faults: Vec<Value> = failures().into_iter().chain(without_text).collect();
    assert!(
        asked.len() > faults.len(),
        "{} requests for {} faults",
        asked.len(),
        faults.len()
    );
    let good = |request: &Value| {
        let body = good_completion(request["url"].as_str().unwrap(), &request["body"]);
        json!({"status_code": 200, "body": body})
    };
    let responses = faults
        .iter()
        .cloned()
        .chain(asked[faults.len()..].iter().map(good));
    let line = |(request, response): (&Value, Value)| {
        json!({"custom_id": request["custom_id"], "response": response, "error": null}).to_string()
            + "\n"
    };
    let lines: String = asked.iter().zip(responses).map(line).collect();
    // the last line is torn, and what it held is paid and lost
    work.write("results.jsonl", &lines[..lines.len() - 20]);
    work.run(&["batch", "import", "b", "results.jsonl"])
        .exits_with(3)
        .says(&["its end is missing"]);
    work.score(&server, &[]).exits_with(0);
    every_call_is_accounted_for(&work);
    assert_eq!(values(&work.read("out/scores.jsonl")), values(&CALM.scores));
    let imported = asked.len() - faults.len() - 1;
    assert_eq!(
        (server.chat_count(), ledger.paid_again()),
        (CALM.calls - imported, 0)
    );
}
