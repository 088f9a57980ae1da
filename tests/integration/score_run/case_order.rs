//! A run asks case by case over all systems, so that one that stops early can still compare them.

use std::time::Duration;

use serde_json::json;

use super::judging::{answer_of, constant_judge, kind_of};
use super::workspace::{AT_MOST, Workspace, plain_case};
use super::{Act, Behaviour, FakeServer, Recorded};

/// The cases of each system that have a score in the record, in its order.
fn scored_cases(work: &Workspace, system: &str) -> Vec<String> {
    let lines = work.lines("out/scores.jsonl");
    let own = lines.iter().filter(|line| line["system"] == system);
    own.filter_map(|line| line["case_id"].as_str().map(str::to_owned))
        .collect()
}

#[test]
fn a_run_that_stops_early_has_the_same_cases_of_every_system() {
    let work = Workspace::new(&["alpha", "beta", "gamma"], 5);
    let quota = Act::error(429, "insufficient_quota", "You exceeded your current quota");
    // Two whole cases of three answers, an answer to the third, and half of the next one.
    let paid = 2 * 3 * AT_MOST + AT_MOST + 3;
    let server = FakeServer::start(constant_judge().nth(paid, quota));
    work.score(&server, &["--concurrency", "1"]).exits_with(4);
    assert_eq!(scored_cases(&work, "alpha"), ["c1", "c2", "c3"]);
    assert_eq!(scored_cases(&work, "beta"), ["c1", "c2"]);
    assert_eq!(scored_cases(&work, "gamma"), ["c1", "c2"]);

    let rescored = work
        .run(&["rescore", "out", "--max-unscored", "1"])
        .exits_with(0);
    let note = "Unfinished run: every system has a value of score for 2 of 5 cases.";
    assert!(rescored.stdout.contains(note), "{}", rescored.stdout);
}

#[test]
fn a_run_without_a_score_of_one_system_has_no_winner() {
    let work = Workspace::new(&["alpha", "beta", "gamma"], 1);
    let quota = Act::error(429, "insufficient_quota", "You exceeded your current quota");
    // The answer of alpha is better than that of beta; gamma is not asked.
    let is_better =
        |request: &Recorded| kind_of(request) == "property" && answer_of(request).contains("alpha");
    let best = Act::Content(json!({"score": 10}).to_string());
    let judge = constant_judge()
        .when(is_better, best)
        .nth(2 * AT_MOST + 1, quota);
    let server = FakeServer::start(judge);
    work.score(&server, &["--concurrency", "1"]).exits_with(4);
    let table = work
        .run(&["table", "out", "--format", "latex"])
        .exits_with(0);
    assert!(table.stdout.contains("beta & "), "{}", table.stdout);
    assert!(!table.stdout.contains("textbf"), "{}", table.stdout);

    let server = server.replaced_by(
        constant_judge().when(is_better, Act::Content(json!({"score": 10}).to_string())),
    );
    work.score(&server, &[]).exits_with(0);
    let table = work
        .run(&["table", "out", "--format", "latex"])
        .exits_with(0);
    assert!(table.stdout.contains("textbf"), "{}", table.stdout);
}

#[test]
fn a_batch_has_the_answers_to_a_case_one_after_the_other_and_long_cases_first() {
    let work = Workspace::with_cases(&[plain_case("c1"), plain_case("c2")]);
    for system in ["alpha", "beta"] {
        let long = format!("The long answer of {system} to c2, {}", "word ".repeat(50));
        let short = format!("The answer of {system} to c1, in few words.");
        work.answers(system, [("c1", short), ("c2", long)]);
    }
    let server = FakeServer::start(constant_judge());
    let url = server.base_url();
    let mut export = vec!["batch", "export", "answers", "--tests", "tests.json"];
    export.extend([
        "--model",
        "fake-judge",
        "--base-url",
        &url,
        "--out",
        "batch",
    ]);
    work.run(&export).exits_with(0);
    let manifest = work.json("batch/batch.json");
    let file = manifest["parts"][0]["file"].as_str().unwrap();
    let mut order: Vec<String> = Vec::new();
    for request in work.lines(&format!("batch/{file}")) {
        let text = request["body"]["messages"].to_string();
        let answers = ["alpha to c1", "beta to c1", "alpha to c2", "beta to c2"];
        let own = answers.iter().find(|own| text.contains(**own)).unwrap();
        if order.last().is_none_or(|last| last != own) {
            order.push((*own).to_owned());
        }
    }
    assert_eq!(
        order,
        ["alpha to c2", "beta to c2", "alpha to c1", "beta to c1"]
    );
}

/// The most calls at once about two answers of so many words.
fn most_at_once(words: usize) -> usize {
    let work = Workspace::new(&[], 2);
    let answer = "word ".repeat(words);
    work.answers("plain", [("c1", answer.clone()), ("c2", answer)]);
    let server = FakeServer::start(Behaviour::good().latency(Duration::from_millis(400)));
    // No kind of call has a parameter that the others lack, so that the first one shows what the server takes.
    let options = ["--concurrency", "32", "--max-tokens", "citations=none"];
    work.score(&server, &options).exits_with(0);
    server.max_in_flight()
}

#[test]
fn the_first_call_goes_alone_where_the_calls_share_a_prefix_that_providers_cache() {
    // All but the very first of 2 x 4 calls.
    assert_eq!(most_at_once(20), 7);
    // 3,000 words are some 3,000 tokens, more than the 1,024 from which on prefixes are cached: after the very first call 3
    // about the same answer and the first about the other one, whose 3 others come when that is answered.
    assert!(most_at_once(3000) <= 6);
}
