//! `--logprobs`: scores as the judge's own probabilities weigh them, and what is told where they say too little.

use serde_json::{Value, json};

use super::workspace::Finished;
use super::{
    Act, Behaviour, FakeServer, Recorded, close, empty_workspace, estimate, prediction,
    write_predictions,
};

/// The reply `.. [RESULT] 4` with these alternatives at the grade's token; `None`: without probabilities.
fn reply(raw: bool, alternatives: Option<&[(&str, f64)]>) -> Act {
    let (before, content) = (
        "Feedback: covers it. [RESULT]",
        "Feedback: covers it. [RESULT] 4",
    );
    let logprobs = alternatives.map_or(Value::Null, |alternatives| {
        let entry = |(token, p): &(&str, f64)| json!({"token": token, "logprob": p.ln()});
        let table: serde_json::Map<_, _> =
            alternatives.iter().map(|(token, p)| ((*token).to_owned(), json!(p.ln()))).collect();
        if raw { json!({"tokens": [before, " 4"], "token_logprobs": [0.0, -0.5], "top_logprobs": [null, table]}) } else { json!({"content": [
                {"token": before, "logprob": 0.0, "top_logprobs": []},
                {"token": " 4", "logprob": -0.5, "top_logprobs": alternatives.iter().map(entry).collect::<Vec<_>>()},
            ]}) }
    });
    let choice = if raw {
        json!({"index": 0, "text": content, "logprobs": logprobs, "finish_reason": "stop"})
    } else {
        let message = json!({"role": "assistant", "content": content});
        json!({"index": 0, "message": message, "logprobs": logprobs, "finish_reason": "stop"})
    };
    Act::json(
        &json!({"id": "x", "object": "x", "created": 1, "model": "fake-judge", "choices": [choice],
        "usage": {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}}),
    )
}

/// A run by a judge of that kind; its summary, what it printed, and the first request.
fn scored(raw: bool, alternatives: Option<&[(&str, f64)]>) -> (Value, Finished, Recorded) {
    let work = empty_workspace();
    write_predictions(
        &work,
        "alpha.json",
        &[prediction("Why?", "For no reason.", json!({}))],
    );
    let server = FakeServer::start(Behaviour::always(reply(raw, alternatives)));
    let url = server.base_url();
    let common = [
        "score",
        "alpha.json",
        "--scorers",
        "prometheus",
        "--aspects",
        "coverage",
        "--no-reference",
    ];
    let judge = [
        "--model",
        "fake-judge",
        "--base-url",
        &url,
        "--judge",
        if raw { "completions" } else { "chat" },
    ];
    let done = work
        .run(&[&common[..], &judge, &["--logprobs", "5", "--out", "out"]].concat())
        .exits_with(0);
    assert_eq!(
        work.run(&["rescore", "out"]).exits_with(0).stdout,
        done.stdout,
        "probabilities are in the record"
    );
    (
        work.json("out/summary.json"),
        done,
        server.chats()[0].clone(),
    )
}

#[test]
fn a_grade_is_the_mean_over_its_alternatives_at_both_kinds_of_endpoint() {
    for raw in [false, true] {
        // 0.6 x 4 + 0.3 x 5 over 0.9; what is not a grade does not count
        let (summary, done, request) =
            scored(raw, Some(&[(" 4", 0.6), (" 5", 0.3), (" good", 0.1)]));
        close(
            &estimate(&summary, "prometheus", "coverage"),
            (0.6 * 4.0 + 0.3 * 5.0) / 0.9,
        );
        let notes = summary["notes"].to_string();
        assert!(
            notes.contains("expected scores") && !done.stdout.contains("plain scores"),
            "{notes}"
        );
        let body = request.json();
        let expected = if raw {
            (json!(5), Value::Null)
        } else {
            (json!(true), json!(5))
        };
        assert_eq!(
            (body["logprobs"].clone(), body["top_logprobs"].clone()),
            expected,
            "{body}"
        );
    }
}

#[test]
fn alternatives_that_cover_too_little_leave_the_plain_grade_and_say_so() {
    for raw in [false, true] {
        let (summary, done, _) = scored(raw, Some(&[(" 4", 0.3), (" 5", 0.1), (" good", 0.6)]));
        close(&estimate(&summary, "prometheus", "coverage"), 4.0);
        let told = done.stdout.replace("\n  ", " ");
        assert!(
            told.contains(
                "plain scores in place of expected ones (aspect): the listed alternatives cover"
            ),
            "{told}"
        );
    }
}

#[test]
fn a_server_that_tells_no_probabilities_leaves_the_plain_grade_and_it_is_said() {
    for raw in [false, true] {
        let (summary, done, _) = scored(raw, None);
        close(&estimate(&summary, "prometheus", "coverage"), 4.0);
        let told = done.stdout.replace("\n  ", " ");
        assert!(
            told.contains("(aspect): the server gave no probabilities"),
            "{told}"
        );
    }
}
