//! FACT of DeepResearch Bench: the steps of its scripts with `--compat`.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::fake_server::{Behaviour, FakeServer, Recorded};
use crate::support::workspace::Workspace;

const ICE: &str = "https://ice.example/a";

/// The set of the made-up checkout, whose prompts have the shape of the published ones.
fn with_prompts(work: &Workspace) {
    let checkout =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/prompts/deep_research_bench");
    work.run(&[
        "prompts",
        "import",
        checkout.to_str().unwrap(),
        "--family",
        "fact",
        "--out",
        "prompts",
    ])
    .exits_with(0);
}

fn lines(values: &[Value]) -> String {
    values.iter().map(|value| format!("{value}\n")).collect()
}

/// A judge that reads the three prompts of the made-up checkout.
fn replies(request: &Recorded) -> String {
    let message = request.user_message();
    if message.starts_with("Count the nests") {
        return extracted(&message);
    }
    if message.starts_with("Which nests are the same?") {
        return "```json\n[1, 2]\n```".to_owned();
    }
    let (page, rest) = message.split_once("</map>").unwrap();
    let mut verdicts = Vec::new();
    for line in rest.lines() {
        let Some((number, text)) = line.split_once(". ") else {
            continue;
        };
        let Ok(idx) = number.parse::<usize>() else {
            continue;
        };
        let result = if page.contains(text) {
            "supported"
        } else {
            "not there"
        };
        verdicts.push(json!({"idx": idx, "result": result}));
    }
    json!(verdicts).to_string()
}

/// The lines of the report that end with an address.
fn extracted(message: &str) -> String {
    let mut citations = Vec::new();
    for line in message.lines() {
        if let Some((fact, url)) = line.trim_end_matches('>').split_once(" <") {
            citations.push(json!({"fact": fact, "ref_idx": 1, "url": url}));
        }
    }
    json!(citations).to_string()
}

#[test]
fn compat_judges_errors_counts_addresses_apart_and_leaves_uncited_reports_out() {
    let work = Workspace::with_cases(&[]);
    with_prompts(&work);
    let report = format!(
        "Ice shrinks. <{ICE}>\nIce grows. <{ICE}>\nIce shrinks. <{ICE}>\nIce shrinks. <{ICE}#top>\n\
         Seas rise. <https://gone.example/>\nNobody saved this. <https://lost.example/>"
    );
    let answers = [
        json!({"id": 51, "prompt": "Why?", "article": report}),
        json!({"id": 52, "prompt": "Why not?", "article": "Nobody says."}),
    ];
    work.write("answers/system.jsonl", &lines(&answers));
    let filler = "It is measured every day of the year. ".repeat(60);
    let pages = [
        json!({"url": ICE, "text": format!("Ice shrinks. {filler}")}),
        json!({"url": "https://gone.example/", "error": "status 404"}),
    ];
    work.write("pages.jsonl", &lines(&pages));
    work.run(&["sources", "index", "pages.jsonl"]).exits_with(0);
    let server = FakeServer::start(Behaviour::good().saying(replies));
    let url = server.base_url();
    let score = [
        "score",
        "answers",
        "--sources",
        "sources.sqlite",
        "--scorers",
        "pages",
        "--compat",
        "--prompts",
        "prompts",
        "--model",
        "fake-judge",
        "--base-url",
        &url,
        "--out",
        "out",
    ];
    work.run(&score).exits_with(0);
    // Two extractions; one deduplication; the ice under two addresses, and the message of the failure.
    assert_eq!(server.chat_count(), 2 + 1 + 3);
    let shown: Vec<String> = server
        .requests()
        .iter()
        .map(Recorded::user_message)
        .collect();
    assert!(
        shown
            .iter()
            .any(|message| message.contains("<map>scrape failed: status 404</map>"))
    );

    let metrics = &work.json("out/summary.json")["scorers"][0]["rows"][0]["metrics"];
    // Supported: ice by two addresses. Not supported: "Ice grows.", "Seas rise.". Nobody was asked about the lost page.
    assert_eq!(metrics["citations"]["estimate"], 4.0);
    assert_eq!(metrics["effective_citations"]["estimate"], 2.0);
    assert_eq!(metrics["effective_citations"]["n"], 1);
    assert_eq!(metrics["citation_accuracy"]["estimate"], 0.5);
    let manifest = work.json("out/manifest.json");
    assert_eq!(
        manifest["reference"]["pages"],
        "deep_research_bench@214741e"
    );

    let before = work.read("out/scores.jsonl");
    work.run(&["rescore", "out"]).exits_with(0);
    assert_eq!(work.read("out/scores.jsonl"), before);
}
