//! System One of a real llama.cpp server, with a copy of the model that is marked as a decision model.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::server::{self, ALIAS, KEY, LlamaServer, another, shared};
use super::{ON_TIDES, ON_YEAST, Work};

/// The marked copy of the model that this server has.
fn marked(server: &LlamaServer, folder: &Path) -> LlamaServer {
    let copy = folder.join("marked.gguf");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/decision_gguf.py");
    let done = Command::new(server::python().unwrap())
        .arg(script)
        .arg(server.model())
        .arg(&copy)
        .status()
        .unwrap();
    assert!(done.success());
    another(&copy)
}

/// `score` of two answers, the second far too long for the context, by three criteria each; the exit code and standard error.
fn scored(work: &Work, server: &LlamaServer, judge: &str, out: &str) -> (Option<i32>, String) {
    let mut command = work.command(KEY);
    command.env("TYPESAFE_API_KEY", KEY).args([
        "score",
        "small.jsonl",
        "--tests",
        "criteria.jsonl",
        "--rubric",
        "healthbench",
    ]);
    command.args([
        "--judge",
        judge,
        "--model",
        ALIAS,
        "--base-url",
        &server.base_url(),
        "--out",
        out,
        "--max-unscored",
        "1",
    ]);
    let output = command.output().unwrap();
    (
        output.status.code(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

#[test]
fn a_real_server_answers_the_criteria_of_an_answer_in_one_request() {
    let Some(plain) = shared() else { return };
    let long = ON_TIDES.repeat(60);
    let work = Work::new(&[("yeast", ON_YEAST), ("tides", &long)]);
    let criterion = |text: &str| json!({"criterion": text, "points": 2, "tags": []});
    let criteria = ["Names the alcohol", "Names the Moon", "Is about physics"].map(criterion);
    let case = |id: &str| {
        json!({"prompt_id": id, "prompt": [{"role": "user", "content": "What is known?"}], "rubrics": criteria}).to_string() + "\n"
    };
    std::fs::write(
        work.path().join("criteria.jsonl"),
        case("yeast") + &case("tides"),
    )
    .unwrap();

    // Without the mark llama.cpp answers 501, and it has no /decisions.
    let (code, stderr) = scored(&work, &plain, "systemone", "plain");
    assert_eq!(code, Some(4), "{stderr}");
    assert!(stderr.contains("status 501"), "{stderr}");
    let server = marked(&plain, work.path());
    let (code, stderr) = scored(&work, &server, "decisions", "lists");
    assert_eq!(code, Some(4), "{stderr}");
    assert!(stderr.contains("--judge systemone"), "{stderr}");

    let (code, stderr) = scored(&work, &server, "systemone", "out");
    assert_eq!(code, Some(0), "{stderr}");
    // One request for the first answer; for the second all, two and one, one and one.
    assert!(stderr.contains("6 calls made"), "{stderr}");
    let scores = std::fs::read_to_string(work.path().join("out/scores.jsonl")).unwrap();
    for score in scores
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
    {
        for at in 1..=3 {
            let detail = &score["details"][format!("c{at}")];
            if score["case_id"] == "tides" {
                assert_eq!(detail["unscored"]["kind"], "context_overflow", "{detail}");
                continue;
            }
            let (expected, doubt) = (&detail["belief"]["expected"], &detail["belief"]["doubt"]);
            let p = expected.as_f64().unwrap();
            assert!(p > 0.0 && p < 1.0, "{detail}");
            assert!(
                (doubt.as_f64().unwrap() - p * (1.0 - p)).abs() < 1e-9,
                "{detail}"
            );
            assert_eq!(detail["value"], f64::from(u8::from(p > 0.5)), "{detail}");
        }
    }
    let (code, stderr) = scored(&work, &server, "systemone", "out");
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("nothing to ask"), "{stderr}");
}
