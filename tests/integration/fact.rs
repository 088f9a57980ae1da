//! FACT of DeepResearch Bench: the steps of its scripts with `--compat`, and the import of its files.

use std::path::Path;

use serde_json::{Value, json};

use crate::html_report::browse;
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

const HOSTILE: &str = "<img src=x onerror=window.pwned=1></script><script>window.pwned=2</script>";

/// A page with one statement.
fn page(fact: &str, content: &str, result: &str) -> Value {
    json!({"facts": [fact], "url_content": content, "article_id": 51, "validate_error": null,
           "validate_res": [{"idx": 0, "result": result}]})
}

/// The lines of a finished run of FACT: four pages of one report, and two reports without citations.
fn validated(first: &str) -> String {
    let wall = "Just a moment...\n\n\n\nVerify you are human before you continue.";
    let ice = format!("Ice\n\n\n\nIce shrank by 13% per decade. {HOSTILE}");
    let fact = format!("{first} {HOSTILE}");
    let pages = json!({
        "https://a.example/": page(&fact, &ice, "supported"),
        "https://b.example/": page("Ice is thin.", wall, "unsupported"),
        "https://c.example/": page("Ice is cold.", "scrape failed: 404", "unsupported"),
        "https://d.example/": page("Ice grows.", &ice, "unsupported"),
    });
    let article = format!("{first} [1]. {HOSTILE}");
    lines(&[
        json!({"id": 51, "prompt": "Why does ice shrink?", "article": article, "citations": [{}], "citations_deduped": pages}),
        json!({"id": 52, "prompt": "Why not?", "article": "Nobody says.", "citations": [], "citations_deduped": {}}),
        json!({"id": 53, "prompt": "And then?", "article": "Nobody asks.", "citations": [], "citations_deduped": {}}),
    ])
}

/// A directory with the last file of a run.
fn write_run(work: &Workspace, system: &str, lines: &str) {
    let dir = work.path("fact").join(system);
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("validated.jsonl"), lines).unwrap();
}

#[test]
fn finished_runs_become_a_run_with_the_numbers_of_either_mode_and_a_page() {
    let work = Workspace::with_cases(&[]);
    write_run(&work, "alpha", &validated("Ice shrank by 13%."));
    write_run(&work, "beta", &validated("Ice shrank by 12%."));
    let compat = work
        .run(&["import", "fact/alpha", "fact/beta", "--out", "compat"])
        .exits_with(0);
    assert!(
        compat.all_text().contains("--mode default for ours"),
        "{}",
        compat.all_text()
    );
    let metrics = |run: &str| {
        work.json(&format!("{run}/summary.json"))["scorers"][0]["rows"][0]["metrics"].clone()
    };
    // One of four is supported, over the one report with citations.
    assert_eq!(metrics("compat")["citation_accuracy"]["estimate"], 0.25);
    assert_eq!(metrics("compat")["effective_citations"]["estimate"], 1.0);
    work.run(&[
        "import",
        "fact/alpha",
        "fact/beta",
        "--mode",
        "default",
        "--out",
        "own",
    ])
    .exits_with(0);
    // The wall and the failed fetch are open; the reports without citations count.
    assert_eq!(metrics("own")["citation_accuracy"]["estimate"], 0.5);
    let effective = &metrics("own")["effective_citations"]["estimate"];
    assert_eq!(*effective, json!(1.0 / 3.0));

    work.run(&["report", "own"]).exits_with(0);
    let html = work.read("report.html");
    assert!(!html.contains("<img") && !html.contains("<script>window.pwned"));
    browse(work.path("report.html"), &["cited"]);
}

#[test]
fn a_directory_that_is_no_run_of_fact_and_options_that_do_not_fit_are_named() {
    let work = Workspace::with_cases(&[]);
    std::fs::create_dir(work.path("empty")).unwrap();
    work.run(&["import", "empty", "--out", "out"])
        .exits_with(3)
        .says(&[
            "empty: has no validated.jsonl",
            "name a directory with a finished run of FACT",
        ]);
    write_run(&work, "alpha", &validated("Ice shrank."));
    work.run(&["import", "fact/alpha", "--answers", "x", "--out", "out"])
        .exits_with(2)
        .says(&["leave out --tests and --answers"]);
}
