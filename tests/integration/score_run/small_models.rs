//! Judges that do not know the form of a reply or do not find its end, and runs under other reply limits.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::judging::{constant_judge, constant_reply, kind_of};
use super::workspace::{AT_MOST, Workspace};
use super::{Act, Behaviour, FakeServer, Recorded};

fn has_schema(request: &Recorded) -> bool {
    request.text().contains("json_schema")
}

/// Requests with a schema, and all.
fn asked(server: &FakeServer) -> (usize, usize) {
    let chats = server.chats();
    let with_schema = chats.iter().filter(|chat| has_schema(chat)).count();
    (with_schema, chats.len())
}

/// Replies with an object of another form, unless a schema tells it the form.
fn small_model() -> Behaviour {
    Behaviour::good().saying(|request| {
        if has_schema(request) {
            constant_reply(kind_of(request))
        } else {
            "{\"id\": 11}".to_owned()
        }
    })
}

/// A reply that was cut.
fn cut(content: &str) -> Act {
    Act::json(&json!({
        "model": "fake-judge",
        "choices": [{"message": {"content": content}, "finish_reason": "length"}],
        "usage": {"prompt_tokens": 50, "completion_tokens": 100},
    }))
}

#[test]
fn a_judge_that_needs_a_schema_is_readable_without_an_option_and_nothing_is_paid_twice() {
    let work = Workspace::new(&["alpha", "beta"], 3);
    let server = FakeServer::start(small_model());
    work.score(&server, &["--concurrency", "1"]).exits_with(0);
    let calls = 2 * 3 * AT_MOST;
    assert_eq!(
        asked(&server),
        (calls, calls + 3),
        "three first attempts without a schema are enough to learn"
    );
    let sent = server.chat_count();
    for more in [
        &["--out", "again"][..],
        &["--no-cache"],
        // another judge would not know what was learned of this one
        &["--out", "out", "--concurrency", "3"],
    ] {
        work.score(&server, more)
            .exits_with(0)
            .says(&["nothing to ask"]);
    }
    assert_eq!(server.chat_count(), sent);
    // the next run begins with the schema
    work.answers("gamma", [("c1", "Another answer.".to_owned())]);
    work.score(&server, &["--out", "more"]).exits_with(0);
    assert_eq!(asked(&server), (calls + AT_MOST, sent + AT_MOST));
    work.run(&["rescore", "out", "--out", "rescored"])
        .exits_with(0);
    assert_eq!(
        work.read("out/scores.jsonl"),
        work.read("rescored/scores.jsonl")
    );
}

#[test]
fn one_unreadable_reply_of_a_judge_that_works_changes_no_other_call() {
    let work = Workspace::new(&["alpha"], 3);
    let count = AtomicUsize::new(0);
    let fifth = move |_: &Recorded| count.fetch_add(1, Ordering::Relaxed) == 4;
    let server = FakeServer::start(constant_judge().when(fifth, Act::Content("{}".to_owned())));
    work.score(&server, &["--concurrency", "1"]).exits_with(0);
    assert_eq!(asked(&server), (1, 3 * AT_MOST + 1));
}

#[test]
fn a_cut_object_of_another_form_is_asked_again_with_a_schema() {
    let work = Workspace::new(&["alpha"], 2);
    let server = FakeServer::start(constant_judge().when(
        |request| !has_schema(request),
        cut("{\"id\": 1, \"title\": "),
    ));
    work.score(&server, &["--concurrency", "1"]).exits_with(0);
    assert_eq!(asked(&server), (2 * AT_MOST, 2 * AT_MOST + 3));
    work.run(&["rescore", "out", "--out", "rescored"])
        .exits_with(0);
    assert_eq!(
        work.read("out/scores.jsonl"),
        work.read("rescored/scores.jsonl")
    );
}

#[test]
fn compat_and_other_forms_never_get_our_schema() {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(small_model());
    for more in [
        &["--compat", "--out", "a"][..],
        &["--structured", "json", "--out", "b"],
        &["--structured", "off", "--out", "c"],
    ] {
        work.score(&server, more);
    }
    assert_eq!(asked(&server).0, 0);
}

#[test]
fn a_server_that_refuses_the_schema_is_asked_as_before() {
    let work = Workspace::new(&["alpha"], 1);
    let server =
        FakeServer::start(small_model().when(has_schema, Act::error(400, "bad_request", "no")));
    work.score(&server, &["--concurrency", "1"])
        .exits_with(5)
        .says(&["{\"id\": 11}"]);
    assert_eq!(asked(&server).0, 1);
}

/// Cuts replies about criteria below 500 tokens.
fn wordy_judge() -> Behaviour {
    constant_judge().when(
        |request| {
            let limit = request.json()["max_tokens"].as_u64();
            kind_of(request) == "property" && limit.is_some_and(|limit| limit < 500)
        },
        cut("It is so"),
    )
}

#[test]
fn a_run_continues_under_other_reply_limits() {
    for cache in [&[][..], &["--no-cache"]] {
        let work = Workspace::new(&["alpha"], 2);
        let server = FakeServer::start(wordy_judge());
        work.score(&server, cache).exits_with(5);
        let before = server.chat_count();
        assert_eq!(before, 2 * 4, "no snippets behind cut criteria");
        let raised = ["--max-tokens", "expertise=700,citations=9000,property=1000"];
        work.score(&server, &[cache, &raised].concat())
            .exits_with(0);
        let chats = server.chats();
        let new: Vec<&str> = chats[before..].iter().map(kind_of).collect();
        assert!(
            new.iter()
                .all(|kind| ["property", "evidence"].contains(kind)),
            "only what was cut or missing: {new:?}"
        );
        assert_eq!(new.len(), 2 * (2 + 2));
        let calls = work.read("out/calls.jsonl");
        assert!(calls.contains("It is so"), "cut replies stay in the record");
        assert!(
            work.read("out/scores.jsonl")
                .contains("another reply limit")
        );
        let sent = server.chat_count();
        work.score(&server, &[cache, &raised].concat())
            .exits_with(0)
            .says(&["nothing to ask"]);
        assert_eq!(server.chat_count(), sent);
        // Replies of the first session are found in the third, too.
        let again = ["--max-tokens", "expertise=800,citations=9500,property=1100"];
        for _ in 0..2 {
            work.score(&server, &[cache, &again].concat())
                .exits_with(0)
                .says(&["nothing to ask"]);
        }
        assert_eq!(server.chat_count(), sent);
        work.run(&["rescore", "out", "--out", "rescored"])
            .exits_with(0);
        let scores = |file: &str| -> Vec<Value> {
            let lines = work.lines(file);
            lines.iter().map(|line| line["score"].clone()).collect()
        };
        assert_eq!(scores("out/scores.jsonl"), scores("rescored/scores.jsonl"));
    }
}

/// The limits of the requests about citations.
fn list_limits(server: &FakeServer) -> Vec<Value> {
    let chats = server.chats();
    let lists = chats.iter().filter(|chat| kind_of(chat) == "citations");
    lists
        .map(|chat| chat.json()["max_tokens"].clone())
        .collect()
}

#[test]
fn lists_have_a_limit_by_the_answer_unless_another_is_given() {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(constant_judge());
    work.score(&server, &["--out", "a", "--no-cache"])
        .exits_with(0);
    let limit = list_limits(&server)[0].as_u64().unwrap();
    // seven words and two marks: about ten tokens
    assert!((2_020..2_050).contains(&limit), "{limit}");
    let none = ["--max-tokens", "citations=none", "--out", "b"];
    work.score(&server, &none).exits_with(0);
    work.score(&server, &["--compat", "--no-cache", "--out", "c"])
        .exits_with(0);
    assert_eq!(list_limits(&server)[1..], [Value::Null, Value::Null]);
    // a whole reply counts, whatever its limit was
    work.score(&server, &["--out", "d"])
        .exits_with(0)
        .says(&["nothing to ask"]);
}

#[test]
fn a_server_that_refuses_the_limit_of_lists_is_asked_without_it() {
    let work = Workspace::new(&["alpha"], 2);
    let message =
        "max_tokens is too large: 2035. This model supports at most 1024 completion tokens";
    let server = FakeServer::start(constant_judge().when(
        |request| request.json()["max_tokens"].as_u64() > Some(1024),
        Act::error(400, "invalid_request_error", message),
    ));
    work.score(&server, &["--concurrency", "1"]).exits_with(0);
    let limits = list_limits(&server);
    assert_eq!(limits.len(), 3, "one refusal: {limits:?}");
    assert_eq!(limits[1..], [Value::Null, Value::Null]);
    let chats = server.chats();
    let others = chats.iter().filter(|chat| kind_of(chat) != "citations");
    assert!(
        others
            .into_iter()
            .all(|chat| chat.json()["max_tokens"] == 100)
    );
}

/// What llama.cpp reports of itself.
fn llama_cpp(behaviour: Behaviour) -> Behaviour {
    behaviour.props(Act::json(&json!({
        "default_generation_settings": {"n_ctx": 100_000}, "total_slots": 2, "model_path": "/models/m.gguf",
    })))
}

#[test]
fn llama_cpp_is_asked_with_the_schema_at_once_where_a_schema_may_be_added() {
    let work = Workspace::new(&["alpha"], 2);
    let server = FakeServer::start(llama_cpp(small_model()));
    work.score(&server, &[]).exits_with(0);
    let calls = 2 * AT_MOST;
    assert_eq!(asked(&server), (calls, calls));
    assert!(!work.read("out/scores.jsonl").contains("without one were"));
    for more in [&["--compat"][..], &["--structured", "json"]] {
        let before = asked(&server);
        work.score(
            &server,
            &[more, &["--no-cache", "--out", more[0].trim_matches('-')]].concat(),
        );
        let after = asked(&server);
        assert!(after.0 == before.0 && after.1 > before.1, "{more:?}");
    }
}

#[test]
fn replies_to_llama_cpp_without_a_schema_still_count() {
    let work = Workspace::new(&["alpha"], 2);
    let server = FakeServer::start(constant_judge().model_path("/models/m.gguf"));
    work.score(&server, &[]).exits_with(0);
    assert_eq!(asked(&server).0, 0);
    let server = server.replaced_by(llama_cpp(constant_judge()));
    work.score(&server, &["--out", "again"])
        .exits_with(0)
        .says(&["nothing to ask"]);
}

#[test]
fn a_llama_cpp_that_refuses_the_schema_is_asked_without_it() {
    let work = Workspace::new(&["alpha"], 2);
    let refused = Act::error(400, "invalid_request_error", "failed to parse grammar");
    let server = FakeServer::start(llama_cpp(constant_judge().when(has_schema, refused)));
    work.score(&server, &["--concurrency", "1"]).exits_with(0);
    assert_eq!(asked(&server), (1, 1 + 2 * AT_MOST));
}

#[test]
fn a_list_that_repeats_itself_is_stopped_and_one_with_a_given_limit_is_not() {
    let work = Workspace::new(&["alpha"], 1);
    let item = "{\"text\": \"The same claim.\", \"citations\": []}, ";
    let judge = constant_judge().saying(move |request| {
        if kind_of(request) == "citations" {
            format!("{{\"claims\": [{}", item.repeat(200))
        } else {
            constant_reply(kind_of(request))
        }
    });
    let server = FakeServer::start(judge.streaming());
    let more = ["--stream", "on", "--parse-retries", "0"];
    work.score(&server, &more).exits_with(5);
    let calls = work.read("out/calls.jsonl");
    let stopped: Vec<&str> = calls
        .lines()
        .filter(|call| call.contains("repeats itself"))
        .collect();
    assert_eq!(stopped.len(), 1, "{calls}");
    let call: Value = serde_json::from_str(stopped[0]).unwrap();
    assert_eq!(call["unscored"]["kind"], "cut");
    assert!(stopped[0].contains("--max-tokens KIND=N"), "{}", stopped[0]);
    let given = ["--max-tokens", "citations=9000", "--out", "given"];
    work.score(&server, &[&more[..], &given].concat());
    assert!(!work.read("given/calls.jsonl").contains("repeats itself"));
}
