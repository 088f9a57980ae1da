//! Replies token by token.

use serde_json::json;

use crate::support::fake_server::{Act, Behaviour, FakeServer};
use crate::support::workspace::{Workspace, scoring};

use super::{CASES, SYSTEMS, calm};

/// What vLLM lists.
fn vllm(behaviour: Behaviour) -> Behaviour {
    behaviour.models(Act::json(
        &json!({"data": [{"id": "fake-judge", "max_model_len": 100_000}]}),
    ))
}

fn streamed(server: &FakeServer) -> usize {
    server
        .chats()
        .iter()
        .filter(|sent| sent.json()["stream"] == true)
        .count()
}

#[test]
fn a_server_that_is_known_to_stop_streams_and_the_replies_are_the_same() {
    let (calls, scores) = calm(CASES);
    let server = FakeServer::start(vllm(Behaviour::good().streaming()));
    let work = Workspace::new(&SYSTEMS, CASES);
    work.score(&server, &["--no-cache"]).exits_with(0);
    assert_eq!((server.chat_count(), streamed(&server)), (calls, calls));
    assert_eq!(work.read("out/scores.jsonl"), scores);
    let told = work.json("out/summary.json")["endpoints"][0].clone();
    let tokens: usize = server.chats().iter().map(|sent| sent.body.len() / 4).sum();
    assert_eq!(
        told["prompt_tokens"], tokens,
        "the usage came at the end of each stream"
    );
}

#[test]
fn whether_replies_are_streamed_changes_no_key() {
    let work = Workspace::new(&SYSTEMS, 1);
    let server = FakeServer::start(vllm(Behaviour::good().streaming()));
    work.score(&server, &["--stream", "off"]).exits_with(0);
    let calls = server.chat_count();
    assert_eq!(streamed(&server), 0);
    work.score(&server, &["--out", "on", "--stream", "on"])
        .exits_with(0)
        .says(&["nothing to ask"]);
    assert_eq!(server.chat_count(), calls);
    // of a server of which nothing is known: not unless it is said, and one that sends JSON all the same does no harm
    for (more, expected) in [
        (&["--no-cache"][..], 0),
        (&["--no-cache", "--stream", "on"], calls),
    ] {
        let plain = FakeServer::start(Behaviour::good());
        let out = format!("plain-{expected}");
        work.score(&plain, &[more, &["--out", &out]].concat())
            .exits_with(0);
        assert_eq!((plain.chat_count(), streamed(&plain)), (calls, expected));
    }
}

#[test]
fn a_stream_that_does_not_begin_is_dropped_and_asked_again() {
    let work = Workspace::new(&SYSTEMS, 1);
    let server = FakeServer::start(Behaviour::good().nth(0, Act::Silent));
    let more = ["--stream", "on", "--timeout", "8s", "--concurrency", "1"];
    work.score(&server, &more).exits_with(0);
    let told = work.json("out/summary.json")["endpoints"][0].clone();
    assert_eq!(
        (&told["errors"], &told["calls"]),
        (&json!(1), &json!(server.chat_count()))
    );
    let url = server.base_url();
    work.run(&scoring(&url, &["--timeout", "0s"]))
        .exits_with(2)
        .says(&["--timeout: 0s leaves"]);
    work.run(&scoring(&url, &["--stream", "often"]))
        .exits_with(2)
        .says(&["[possible values: auto, on, off]"]);
}
