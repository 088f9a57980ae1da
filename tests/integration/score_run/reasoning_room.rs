//! Judges that reason before they reply: the room that their replies get, and its bounds.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use super::judging::{constant_reply, kind_of};
use super::workspace::{AT_MOST, Workspace};
use super::{Act, Behaviour, FakeServer, Recorded};
use crate::rubric_golden::shared;
use crate::support::fake_server::{limit_of, reasoned};

/// A judge that reasons for so many tokens, by the request.
fn reasons(tokens: impl Fn(&Recorded) -> u64 + Send + Sync + 'static) -> Behaviour {
    Behaviour::good().deciding(move |request| {
        let content = constant_reply(kind_of(request));
        Some(Act::json(&reasoned(request, tokens(request), &content)))
    })
}

fn limits(server: &FakeServer, from: usize) -> Vec<u64> {
    let chats = server.chats();
    chats[from..].iter().filter_map(limit_of).collect()
}

#[test]
fn a_judge_that_reasons_scores_everything_by_default_and_is_asked_once_in_the_next_run() {
    let work = Workspace::new(&["alpha"], 3);
    let server = FakeServer::start(reasons(|_| 500));
    work.score(&server, &[]).exits_with(0);
    let scores = work.lines("out/scores.jsonl");
    assert!(
        scores.iter().all(|score| score["score"].is_number()),
        "{scores:?}"
    );
    let sent: BTreeSet<u64> = limits(&server, 0)
        .into_iter()
        .filter(|limit| *limit < 5000)
        .collect();
    assert!(sent.contains(&100) && sent.contains(&4100), "{sent:?}");
    let asked = server.chat_count();

    // Equal scores from the cache, and no call.
    let again = work.score(&server, &["--out", "again"]).exits_with(0);
    again.says(&["nothing to ask"]);
    assert_eq!(server.chat_count(), asked);
    let values = |name: &str| -> Vec<Value> {
        work.lines(name)
            .iter()
            .map(|score| score["value"].clone())
            .collect()
    };
    assert_eq!(values("out/scores.jsonl"), values("again/scores.jsonl"));

    // New calls begin with the room that was learned: each is made once.
    work.score(&server, &["--out", "new", "--top-p", "0.9"])
        .exits_with(0);
    let new = limits(&server, asked);
    assert_eq!(new.len(), 3 * AT_MOST);
    assert!(new.iter().all(|limit| *limit > 4000), "{new:?}");
}

#[test]
fn the_room_of_a_run_without_a_cache_is_in_its_record() {
    let work = Workspace::new(&["alpha"], 2);
    let server = FakeServer::start(reasons(|_| 500));
    work.score(&server, &["--no-cache"]).exits_with(0);
    let asked = server.chat_count();
    let judge = &work.json("out/manifest.json")["roles"]["rubric"]["judges"][0];
    assert_eq!(judge["room"]["tokens"], 4000);
    assert_eq!(judge["room"]["calls"], 2 * AT_MOST);
    work.score(&server, &["--no-cache"]).exits_with(0);
    assert_eq!(
        server.chat_count(),
        asked,
        "every reply is found in the record"
    );
}

#[test]
fn an_endless_judge_stops_the_run_with_few_tokens_and_true_advice() {
    let work = Workspace::new(&["alpha", "beta"], 20);
    let spent = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&spent);
    let server = FakeServer::start(reasons(move |request| {
        let effort = request.json()["reasoning_effort"].clone();
        if effort == "low" {
            return 300;
        }
        counted.fetch_add(limit_of(request).unwrap(), Ordering::Relaxed);
        1_000_000
    }));
    let stop = work.score(&server, &["--concurrency", "8"]).exits_with(5);
    stop.says(&[
        "3 calls in a row filled their limit of 32",
        "a lower --reasoning-effort",
        "--out NEW_RUN",
    ]);
    // Three calls with all rungs, 100 + 4,100 + 16,100 + 32,100, and those in flight with the limits of their kinds.
    let tokens = spent.load(Ordering::Relaxed);
    assert!((150_000..=200_000).contains(&tokens), "{tokens}");

    // What is advised works: in a new run, since in this one it would mix two judges.
    work.score(&server, &["--reasoning-effort", "low"])
        .exits_with(3);
    work.score(&server, &["--reasoning-effort", "low", "--out", "low"])
        .exits_with(0);
}

#[test]
fn the_advice_for_replies_that_are_cut_continues_the_run() {
    let work = Workspace::new(&["alpha"], 4);
    let long = "x".repeat(1200);
    let server = FakeServer::start(Behaviour::good().deciding(move |request| {
        let content = match kind_of(request) {
            "property" => json!({"reason": long, "score": 8}).to_string(),
            kind => constant_reply(kind),
        };
        Some(Act::json(&reasoned(request, 0, &content)))
    }));
    let stop = work.score(&server, &["--concurrency", "1"]).exits_with(5);
    stop.says(&["the same command with --max-tokens property=1000 continues the run"]);
    let asked = server.chat_count();
    work.score(&server, &["--max-tokens", "property=1000"])
        .exits_with(0);
    let properties = limits(&server, asked)
        .into_iter()
        .filter(|limit| *limit == 1000);
    // Two criteria of four answers; what was not cut is not asked again.
    assert_eq!(properties.count(), 2 * 4);
    assert!(
        limits(&server, 0).iter().all(|limit| *limit < 4000),
        "nobody reasons"
    );
}

#[test]
fn no_call_has_more_tokens_than_the_total() {
    let work = Workspace::new(&["alpha"], 4);
    let server = FakeServer::start(reasons(|_| 1500));
    let stop = work
        .score(
            &server,
            &["--max-tokens", "total=1000", "--concurrency", "1"],
        )
        .exits_with(5);
    stop.says(&["a higher limit than --max-tokens total=1000 continues the run"]);
    assert!(limits(&server, 0).iter().all(|limit| *limit <= 1000));
    work.score(&server, &["--max-tokens", "total=6000"])
        .exits_with(0);
    assert!(limits(&server, 0).iter().all(|limit| *limit <= 6000));
    let wrong = work
        .score(&server, &["--max-tokens", "total=none"])
        .exits_with(2);
    wrong.says(&["write total=20000"]);
}

#[test]
fn compat_asks_first_as_the_reference_does_whatever_is_known() {
    let work = Workspace::new(&["alpha"], 2);
    let server = FakeServer::start(reasons(|_| 500));
    work.score(&server, &[]).exits_with(0);
    let asked = server.chat_count();
    work.score(&server, &["--compat", "--out", "compat", "--top-p", "0.9"])
        .exits_with(0);
    let sent = limits(&server, asked);
    assert!(
        sent.iter().all(|limit| [100, 4100].contains(limit)),
        "{sent:?}"
    );
    let firsts = sent.iter().filter(|limit| **limit == 100).count();
    assert_eq!(
        firsts,
        sent.len() - firsts,
        "each is asked under its limit, then with room"
    );
}

#[test]
fn every_protocols_cut_reply_is_asked_again_with_more_room() {
    let Some(shared) = shared() else { return };
    let read = |name: &str| -> Value {
        let text = std::fs::read(shared.join("golden/protocols").join(name)).unwrap();
        serde_json::from_slice(&text).unwrap()
    };
    for (kind, name) in [
        ("chat", "openai_cut_in_reasoning.json"),
        ("chat", "deepseek_cut.json"),
        ("chat", "vllm_cut.json"),
        ("chat", "openai_errors.json"),
        ("anthropic", "anthropic_cut_in_thinking.json"),
        ("gemini", "gemini_cut_in_thoughts.json"),
    ] {
        let sample = read(name);
        let act = match name {
            "openai_errors.json" => Act::status(400, sample["errors"][0]["body"].to_string()),
            _ => Act::json(&sample["response"]),
        };
        let is_short = |request: &Recorded| limit_of(request).is_some_and(|limit| limit < 3_000);
        let work = Workspace::new(&["alpha"], 1);
        let server = FakeServer::start(super::judging::constant_judge().when(is_short, act));
        let more = [
            "--judge",
            kind,
            "--api-key-env",
            "OPENAI_API_KEY",
            "--concurrency",
            "1",
        ];
        work.score(&server, &more).exits_with(0);
        let sent = limits(&server, 0);
        // The first call shows that the judge reasons: it alone is made twice.
        assert_eq!(sent.len(), AT_MOST + 1, "{name}: {sent:?}");
        assert!(
            sent[0] < 3_000 && sent[1] == sent[0] + 4_000,
            "{name}: {sent:?}"
        );
        let score = &work.lines("out/scores.jsonl")[0];
        assert!(score["score"].is_number(), "{name}: {score}");
    }
}
