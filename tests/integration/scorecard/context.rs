//! A context that the server tells: what does not fit is found before it is sent, and cut only where that is asked for.

use serde_json::{Value, json};

use super::workspace::{Finished, Workspace};
use super::{
    Act, FakeServer, close, empty_workspace, grader, judging, prediction, write_predictions,
};

/// Tokens of context, prompt and reply together.
const CONTEXT: u64 = 4000;

/// A short answer, and one of 12,000 words: more tokens than the context has.
fn short_and_long() -> Workspace {
    let work = empty_workspace();
    let long = "one two three four five six ".repeat(2000);
    let items = [
        prediction("A question?", "A short answer.", json!({})),
        prediction("Another?", &long, json!({})),
    ];
    write_predictions(&work, "alpha.json", &items);
    work
}

fn server(tells: bool) -> FakeServer {
    let mut entry = json!({"id": "fake-judge", "object": "model"});
    if tells {
        entry["max_model_len"] = json!(CONTEXT);
    }
    FakeServer::start(grader(4).models(Act::json(&json!({"object": "list", "data": [entry]}))))
}

fn run(work: &Workspace, server: &FakeServer, more: &[&str]) -> Finished {
    let url = server.base_url();
    let common = [
        "score",
        "alpha.json",
        "--scorers",
        "prometheus",
        "--aspects",
        "relevance",
        "--no-reference",
    ];
    let judge = ["--model", "fake-judge", "--base-url", &url, "--out", "out"];
    work.run(&[&common[..], &judge, more].concat())
}

#[test]
fn a_prompt_that_cannot_fit_is_not_sent_and_unscored_with_the_numbers() {
    let (work, server) = (short_and_long(), server(true));
    let done = run(&work, &server, &[])
        .exits_with(5)
        .says(&["50.0% of the answers are unscored", "--max-unscored"]);
    assert_eq!(
        server.chat_count(),
        1,
        "only the short answer is asked about"
    );
    assert_eq!(judging::answer_of(&server.chats()[0]), "A short answer.");
    let lines = work.lines("out/scores.jsonl");
    assert_eq!(
        (
            &lines[0]["components"]["relevance"],
            &lines[1]["components"]["relevance"]
        ),
        (&json!(4.0), &Value::Null)
    );
    let reason = &lines[1]["details"]["relevance"]["unscored"];
    assert_eq!(reason["kind"], "context_overflow");
    let message = reason["message"].as_str().unwrap();
    assert!(
        message.contains("context holds 4000") && message.contains("it was not sent"),
        "{message}"
    );
    assert!(
        done.stdout
            .replace("\n  ", " ")
            .contains("prometheus: unscored answers are left out of the means: alpha 1 of 2"),
        "{}",
        done.stdout
    );
    let csv = super::csv_cell(&work, "alpha", "relevance_unscored");
    assert_eq!(csv, "1");
}

#[test]
fn truncate_cuts_marks_and_sends() {
    let (work, server) = (short_and_long(), server(true));
    let done = run(&work, &server, &["--truncate"]).exits_with(0);
    assert_eq!(server.chat_count(), 2);
    let answers: Vec<String> = server.chats().iter().map(judging::answer_of).collect();
    let cut = answers
        .iter()
        .find(|answer| *answer != "A short answer.")
        .unwrap();
    let words = cut.split_whitespace().count();
    // The limit holds 4000 - 512 tokens, an eighth of them free; a word is a token here, and what we say takes some.
    assert!((1500..3052).contains(&words), "{words} words were sent");
    assert!(
        cut.starts_with("one two three") && cut.ends_with(|c: char| c.is_alphabetic()),
        "cut at a word's end"
    );
    let lines = work.lines("out/scores.jsonl");
    assert!(
        lines[1]["notes"]
            .to_string()
            .contains("cut to fit its context (--truncate)"),
        "{}",
        lines[1]
    );
    assert!(
        !lines[0]["notes"].to_string().contains("cut to fit"),
        "{}",
        lines[0]
    );
    close(&lines[1]["components"]["relevance"], 4.0);
    assert!(
        done.stdout
            .replace("\n  ", " ")
            .contains("(--truncate) (1 answer)"),
        "{}",
        done.stdout
    );
    let rescored = work.run(&["rescore", "out"]).exits_with(0);
    assert!(
        rescored
            .stdout
            .replace("\n  ", " ")
            .contains("(--truncate) (1 answer)"),
        "{}",
        rescored.stdout
    );
}

#[test]
fn a_server_that_tells_no_limit_gets_the_whole_and_truncate_is_refused() {
    let (work, server) = (short_and_long(), server(false));
    run(&work, &server, &["--truncate"])
        .exits_with(4)
        .says(&["does not report the length of its context"]);
    assert_eq!(server.chat_count(), 0);
    run(&work, &server, &["--overwrite"]).exits_with(0);
    assert_eq!(server.chat_count(), 2);
}
