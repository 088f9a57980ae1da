//! Replies that cannot be used: unreadable, cut, refused, beyond the context.

use serde_json::{Value, json};

use super::judging::{constant_judge, section};
use super::workspace::{AT_MOST, NOW, Workspace};
use super::{Act, FakeServer, Recorded};

/// Is this the criterion about the causes of that case?
fn causes_of(case_id: &'static str) -> impl Fn(&Recorded) -> bool + Send + Sync + 'static {
    move |request| section(request, "criterion").contains(&format!("causes of {case_id}."))
}

fn content(text: &str) -> Act {
    Act::Content(text.to_owned())
}

/// A completion that the token limit has cut.
fn cut(text: &str, tokens: u64) -> Act {
    Act::json(&json!({
        "id": "x", "object": "chat.completion", "created": 1, "model": "fake-judge",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "length"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": tokens, "total_tokens": 10 + tokens},
    }))
}

/// The calls of one item of `c1`, as the record has them.
fn recorded(work: &Workspace, item: &str) -> Vec<Value> {
    let calls = work.lines("out/calls.jsonl");
    calls
        .into_iter()
        .filter(|call| call["case_id"] == "c1" && call["item"] == item)
        .collect()
}

#[test]
fn an_unreadable_reply_is_asked_again_twice_and_then_unscored_with_its_reason() {
    let work = Workspace::new(&["alpha"], 2);
    let server = FakeServer::start(
        constant_judge().when(causes_of("c1"), content("I would say a solid eight!")),
    );
    let done = work.score(&server, &["--max-unscored", "1"]).exits_with(0);
    // of c1: 4 calls at first, 2 more tries of p0, the snippets of p1; those of p0 depend on it and are not asked
    assert_eq!(server.chat_count(), AT_MOST + NOW + 2 + 1);
    let score = &work.lines("out/scores.jsonl")[0];
    for name in ["score", "ann_score"] {
        assert_eq!(score[name], Value::Null, "{name}");
    }
    assert_eq!(
        (
            &score["components"]["p0"],
            &score["components"]["p0_evidence"]
        ),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(score["details"]["p0"]["unscored"]["kind"], "unreadable");
    assert!(
        score["details"]["p0"]["unscored"]["message"]
            .as_str()
            .unwrap()
            .contains("no JSON object"),
        "{score}"
    );
    assert_eq!(
        score["details"]["p0_evidence"]["unscored"]["kind"],
        "depends_on_unscored"
    );
    let calls = recorded(&work, "p0");
    assert_eq!(
        calls
            .iter()
            .map(|call| call["attempt"].as_u64().unwrap())
            .collect::<Vec<_>>(),
        [0, 1, 2]
    );
    let keys: std::collections::HashSet<&Value> =
        calls.iter().map(|call| &call["fingerprint"]).collect();
    assert_eq!(keys.len(), 3, "the attempt is part of the key");
    assert!(calls.iter().all(
        |call| call["reply"]["content"] == "I would say a solid eight!"
            && call["unscored"]["kind"] == "unreadable"
    ));
    // the table counts it
    let told = done.stdout.replace("\n  ", " ");
    assert!(
        told.contains("unscored answers are left out of the means: alpha 1 of 2"),
        "{told}"
    );
}

#[test]
fn an_unreadable_reply_counts_as_a_used_attempt_until_it_is_wanted_again() {
    let work = Workspace::new(&["alpha"], 1);
    let stubborn = constant_judge().when(causes_of("c1"), content("no"));
    let server = FakeServer::start(stubborn);
    let tolerant = ["--max-unscored", "1"];
    let first = work.score(&server, &tolerant).exits_with(0);
    let asked = server.chat_count();
    let again = work
        .score(&server, &tolerant)
        .exits_with(0)
        .says(&["nothing to ask"]);
    assert_eq!(
        (server.chat_count(), again.stdout),
        (asked, first.stdout.clone())
    );
    // the judge has come to its senses, at the same address
    let server = server.replaced_by(constant_judge());
    work.score(&server, &tolerant).exits_with(0);
    assert_eq!(server.chat_count(), 0);
    let mended = work
        .score(&server, &["--max-unscored", "1", "--retry-unscored"])
        .exits_with(0);
    assert_eq!(server.chat_count(), 2, "the criterion, then its snippets");
    assert!(
        mended.stdout.contains("75.5") && !mended.stdout.contains("unscored"),
        "{}",
        mended.stdout
    );
    // what is mended stays mended, also without the flag
    let after = work
        .score(&server, &tolerant)
        .exits_with(0)
        .says(&["nothing to ask"]);
    assert_eq!((server.chat_count(), after.stdout), (2, mended.stdout));
}

#[test]
fn a_second_try_that_can_be_read_is_taken() {
    let work = Workspace::new(&["alpha"], 1);
    let tries = std::sync::atomic::AtomicUsize::new(0);
    let first = move |request: &Recorded| {
        causes_of("c1")(request) && tries.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0
    };
    let server = FakeServer::start(constant_judge().when(first, content("{\"score\": true}")));
    work.score(&server, &["--judge-seed", "7"]).exits_with(0);
    assert_eq!(server.chat_count(), AT_MOST + 1);
    assert_eq!(work.lines("out/scores.jsonl")[0]["components"]["p0"], 0.8);
    let seeds: Vec<Value> = server
        .chats()
        .iter()
        .filter(|chat| causes_of("c1")(chat))
        .map(|chat| chat.json()["seed"].clone())
        .collect();
    assert_eq!(seeds, [7, 7], "the repeat differs by its schema");
}

#[test]
fn a_reply_that_the_limit_cut_is_not_asked_again() {
    let work = Workspace::new(&["alpha"], 1);
    let is_claims = |request: &Recorded| request.asks_for_claims();
    let server =
        FakeServer::start(constant_judge().when(is_claims, cut("{\"claims\": [{\"claim_te", 16)));
    let tolerant = ["--max-unscored", "1", "--max-tokens", "citations=16"];
    work.score(&server, &tolerant).exits_with(0);
    assert_eq!(server.chat_count(), AT_MOST, "every call once");
    let score = &work.lines("out/scores.jsonl")[0];
    for item in ["citations", "excerpts"] {
        assert_eq!(score["details"][item]["unscored"]["kind"], "cut");
        assert_eq!(
            score["details"][item]["unscored"]["message"],
            "reply cut at 16 tokens"
        );
    }
    // ann_score has all its parts
    assert!(
        (score["ann_score"].as_f64().unwrap() - 0.775).abs() < 1e-12 && score["score"].is_null(),
        "{score}"
    );
    assert_eq!(
        recorded(&work, "citations")[0]["reply"]["finish_reason"],
        "length"
    );
    work.score(&server, &tolerant)
        .exits_with(0)
        .says(&["nothing to ask"]);
    assert_eq!(server.chat_count(), AT_MOST);
    // asking the same again is of no use; with more room it is another call
    work.score(&server, &[&tolerant[..], &["--retry-unscored"]].concat())
        .exits_with(0)
        .says(&["nothing to ask"]);
    let more = [
        "--max-unscored",
        "1",
        "--max-tokens",
        "citations=64",
        "--out",
        "more",
    ];
    work.score(&server, &more).exits_with(0);
    assert_eq!(server.chat_count(), AT_MOST + 1, "the claims only");
}

/// A run of one answer whose first criterion is answered with `act`, and the same command once more: how many requests
/// each of them takes, and what became of that criterion.
fn requests_of(act: &Act) -> ([usize; 2], Value, Value) {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(constant_judge().when(causes_of("c1"), act.clone()));
    let counts = [(); 2].map(|()| {
        let before = server.chat_count();
        work.score(&server, &["--max-unscored", "1", "--retries", "1"])
            .exits_with(0);
        server.chat_count() - before
    });
    let score = work.lines("out/scores.jsonl").remove(0);
    (
        counts,
        score["details"]["p0"].clone(),
        score["notes"].clone(),
    )
}

/// The bytes of a chat completion, its message as given.
fn chat(message: &str) -> Vec<u8> {
    format!("{{\"choices\": [{{\"message\": {message}, \"finish_reason\": \"stop\"}}]}}")
        .into_bytes()
}

#[test]
fn a_whole_reply_is_decoded_leniently_and_flagged() {
    let surrogate = chat(r#"{"content": "{\"score\": 8, \"feedback\": \"x\ud800\"}"}"#);
    let mut latin_1 = chat(r#"{"content": "{\"score\": 8, \"feedback\": \"x#\"}"}"#);
    latin_1
        .iter_mut()
        .filter(|byte| **byte == b'#')
        .for_each(|byte| *byte = 0xe9);
    for body in [surrogate, latin_1] {
        let (counts, p0, notes) = requests_of(&Act::status(200, body));
        assert_eq!(counts, [AT_MOST, 0], "every call once: {p0}");
        assert_eq!(
            (&p0["value"], &p0["feedback"]),
            (&json!(0.8), &json!("x\u{fffd}"))
        );
        assert!(
            notes.to_string().contains("not valid JSON in UTF-8"),
            "{notes}"
        );
    }
    let (counts, p0, notes) = requests_of(&Act::status(200, chat(r#"{"content": {"score": 8}}"#)));
    assert_eq!(
        (counts, &p0["value"], notes.as_array()),
        ([AT_MOST, 0], &json!(0.8), Some(&Vec::new())),
        "an object"
    );
}

#[test]
fn a_whole_reply_that_cannot_be_used_is_asked_again_twice_and_kept() {
    let deep = format!("{{\"content\": {}1{}}}", "[".repeat(200), "]".repeat(200));
    let bodies = [
        chat(r#"{"content": 7}"#),
        chat(r#"{"content": 1e999}"#),
        chat(r#"{"content": null}"#),
        chat(&deep),
        [
            chat(r#"{"content": "{\"score\": 8}"}"#),
            b"<!-- end -->".to_vec(),
        ]
        .concat(),
        br#"{"choices": "none"}"#.to_vec(),
    ];
    for body in bodies {
        let words = String::from_utf8_lossy(&body).into_owned();
        let (counts, p0, _) = requests_of(&Act::status(200, body));
        // two more tries, one more without JSON mode where the reply to it is empty, and its snippets are not asked
        let again = 2 + usize::from(words.contains("null"));
        assert_eq!(counts, [AT_MOST + again - 1, 0], "{words}: {p0}");
        assert_eq!(p0["unscored"]["kind"], "unreadable", "{words}: {p0}");
    }
}

#[test]
fn what_is_no_completion_is_asked_again_as_often_as_retries_allow_and_not_kept() {
    let gzip = b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x4b\x04\0\x43\xbe\xb7\xe8\x01\0\0\0".to_vec();
    for (act, words) in [
        (
            Act::status(200, gzip).with_header("content-encoding", "gzip"),
            "gzip, which was not requested",
        ),
        (Act::status(200, "<html>\"choices\"</html>"), "not JSON"),
        (
            Act::json(&json!({"error": {"code": 502, "message": "lost"}})),
            "status 502: lost",
        ),
        (
            Act::status(200, r#"{"choices": [{"message": {"content": "{"#),
            "not JSON",
        ),
    ] {
        let (counts, p0, _) = requests_of(&act);
        assert_eq!(
            counts,
            [AT_MOST + 1 - 1, 2],
            "two attempts, its snippets are not asked: {p0}"
        );
        assert_eq!(p0["unscored"]["kind"], "unreachable", "{p0}");
        assert!(
            p0["unscored"]["message"].as_str().unwrap().contains(words),
            "{p0}"
        );
    }
}

#[test]
fn no_encoding_is_invited() {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(constant_judge());
    work.score(&server, &[]).exits_with(0);
    assert!(
        server
            .chats()
            .iter()
            .all(|chat| chat.header("accept-encoding") == Some("identity"))
    );
}

#[test]
fn a_refusal_is_unscored_with_its_words_and_not_asked_again() {
    let filtered =
        json!({"choices": [{"message": {"content": "{\"sco"}, "finish_reason": "content_filter"}]});
    for (body, words) in [
        (
            chat(r#"{"content": null, "refusal": "I cannot judge this."}"#),
            "the judge refused: \"I cannot judge this.\"",
        ),
        (
            chat(r#"{"content": null, "tool_calls": [{"id": "x", "function": {"name": "f"}}]}"#),
            "called a tool",
        ),
        (filtered.to_string().into_bytes(), "content_filter"),
    ] {
        let (counts, p0, _) = requests_of(&Act::status(200, body));
        assert_eq!(counts, [AT_MOST - 1, 0], "its snippets are not asked: {p0}");
        assert_eq!(p0["unscored"]["kind"], "refused", "{p0}");
        assert!(
            p0["unscored"]["message"].as_str().unwrap().contains(words),
            "{p0}"
        );
    }
}

#[test]
fn fenced_and_thoughtful_replies_are_read_and_kept_raw() {
    let work = Workspace::new(&["alpha"], 2);
    let fenced = "```json\n{\"score\": 8}\n```";
    let thoughtful = "<think>Perhaps {\"score\": 3}?</think>\nSo: {\"score\": 8}.";
    let judge = constant_judge()
        .when(causes_of("c1"), content(fenced))
        .when(causes_of("c2"), content(thoughtful));
    let server = FakeServer::start(judge);
    work.score(&server, &[]).exits_with(0);
    assert_eq!(server.chat_count(), 2 * AT_MOST);
    for score in work.lines("out/scores.jsonl") {
        assert_eq!(score["components"]["p0"], 0.8, "{score}");
    }
    assert_eq!(recorded(&work, "p0")[0]["reply"]["content"], fenced);
}

#[test]
fn a_call_that_the_server_refuses_is_unscored_with_its_words() {
    let work = Workspace::new(&["alpha"], 1);
    let long = Act::error(
        400,
        "context_length_exceeded",
        "maximum context length is 4096 tokens, you asked for 9000",
    );
    let server = FakeServer::start(constant_judge().when(causes_of("c1"), long));
    let done = work.score(&server, &["--max-unscored", "1"]).exits_with(0);
    let reason = work.lines("out/scores.jsonl")[0]["details"]["p0"]["unscored"].clone();
    assert_eq!(reason["kind"], "context_overflow");
    assert!(
        reason["message"]
            .as_str()
            .unwrap()
            .contains("maximum context length is 4096"),
        "{reason}"
    );
    assert!(
        done.stdout
            .replace("\n  ", " ")
            .contains("alpha 1 of 1 (status 400: maximum context length"),
        "{}",
        done.stdout
    );
    // nothing was paid, nothing is kept: asked again by the next run
    let before = server.chat_count();
    work.score(&server, &["--max-unscored", "1"]).exits_with(0);
    assert_eq!(server.chat_count(), before + 1);
}

#[test]
fn more_unscored_answers_than_tolerated_exit_with_5() {
    let work = Workspace::new(&["alpha"], 2);
    let server = FakeServer::start(constant_judge().when(causes_of("c1"), content("no")));
    work.score(&server, &[]).exits_with(5).says(&[
        "50.0% of the answers are unscored",
        "more than the 1.0% that --max-unscored tolerates",
    ]);
    assert_eq!(work.json("out/manifest.json")["status"], "complete");
    work.score(&server, &["--max-unscored", "0.5"])
        .exits_with(0);
    work.score(&server, &["--max-unscored", "0.49"])
        .exits_with(5);
    work.run(&["rescore", "out"]).exits_with(5);
    work.run(&["rescore", "out", "--max-unscored", "1"])
        .exits_with(0);
}

#[test]
fn missing_components_can_count_as_zero() {
    let work = Workspace::new(&["alpha"], 2);
    let server = FakeServer::start(constant_judge().when(causes_of("c1"), content("no")));
    let zero = ["--on-unscored", "zero"];
    work.score(&server, &zero).exits_with(5);
    let done = work
        .score(&server, &[&zero[..], &["--max-unscored", "0.5"]].concat())
        .exits_with(0);
    let summary = work.json("out/summary.json");
    let estimate = summary["scorers"][0]["rows"][0]["metrics"]["score"]["estimate"]
        .as_f64()
        .unwrap();
    // (0.56 + 0.755) / 2, see the first test of this file
    assert!((estimate - 0.6575).abs() < 1e-12, "{estimate}");
    assert!(
        done.stdout
            .replace("\n  ", " ")
            .contains("unscored answers are counted as the lowest value"),
        "{}",
        done.stdout
    );
    assert_eq!(
        work.lines("out/scores.jsonl")[0]["score"],
        Value::Null,
        "the files still say that it is unscored"
    );
    assert_eq!(summary["scorers"][0]["rows"][0]["unscored"], 1);
}
