//! Servers that fail in passing, for good, or in ways that nobody can read.

use std::time::Duration;

use serde_json::{Value, json};

use super::judging::{answer_of, constant_judge, kind_of, section};
use super::workspace::{AT_MOST, NOW, Running, Workspace, wait_until};
use super::{Act, Behaviour, FakeServer, Gate, Recorded};

#[test]
fn failures_that_pass_change_neither_scores_nor_cache() {
    let calm = Workspace::new(&["alpha", "beta"], 3);
    let server = FakeServer::start(Behaviour::good());
    let expected = calm.score(&server, &[]).exits_with(0);
    let calls = server.chat_count();
    let work = Workspace::new(&["alpha", "beta"], 3);
    let throttled =
        Act::error(429, "rate_limit_exceeded", "slow down").with_header("retry-after-ms", "20");
    let failures = [
        throttled,
        Act::status(500, "<html>oops</html>"),
        Act::ResetBefore,
        Act::ResetWithin,
        Act::Cut,
        Act::status(200, "<html>a proxy's page</html>"),
        Act::error(529, "overloaded_error", "busy").with_header("retry-after", "0"),
        Act::json(&json!({"error": {"code": 503, "message": "no backend"}})),
        Act::status(200, "{\"choices\": [{\"message\": {\"content\": \"{\\\"sco"),
    ];
    let count = failures.len();
    let judge = failures
        .into_iter()
        .enumerate()
        .fold(Behaviour::good(), |judge, (i, act)| {
            judge.nth(2 * i + 1, act)
        });
    let server = FakeServer::start(judge);
    let done = work.score(&server, &[]).exits_with(0);
    assert_eq!(
        (done.stdout, server.chat_count()),
        (expected.stdout, calls + count),
        "each failure costs one more try"
    );
    assert_eq!(work.read("out/scores.jsonl"), calm.read("out/scores.jsonl"));
    assert!(
        work.lines("out/calls.jsonl")
            .iter()
            .all(|call| call["attempt"] == 0),
        "no reply was unreadable"
    );
    // what failed was not stored: the re-run finds whole replies only
    work.score(&server, &["--out", "again"])
        .exits_with(0)
        .says(&["nothing to ask"]);
    assert_eq!(
        work.read("again/scores.jsonl"),
        calm.read("out/scores.jsonl")
    );
}

#[test]
fn a_call_that_fails_to_the_end_is_unscored_and_asked_by_the_next_run() {
    let work = Workspace::new(&["alpha"], 1);
    let is_claims = |request: &Recorded| request.asks_for_claims();
    let server =
        FakeServer::start(constant_judge().when(is_claims, Act::status(503, "no backend")));
    let arguments = ["--retries", "1", "--max-unscored", "1"];
    work.score(&server, &arguments).exits_with(0);
    assert_eq!(server.chat_count(), AT_MOST + 1);
    let reason = work.lines("out/scores.jsonl")[0]["details"]["excerpts"]["unscored"].clone();
    assert_eq!(reason["kind"], "unreachable");
    assert!(
        reason["message"]
            .as_str()
            .unwrap()
            .contains("no backend (after 2 attempts)"),
        "{reason}"
    );
    let before: Vec<Value> = work.lines("out/calls.jsonl");
    assert_eq!(
        before
            .iter()
            .filter(|call| call["reply"]["content"].is_null())
            .count(),
        1
    );
    // the server is well again: one call, and the line without a reply is replaced
    let server = server.replaced_by(constant_judge());
    work.score(&server, &[]).exits_with(0);
    assert_eq!(server.chat_count(), 1);
    let after = work.lines("out/calls.jsonl");
    assert!(
        after.len() == before.len()
            && after
                .iter()
                .all(|call| call["reply"]["content"].is_string()),
        "{after:?}"
    );
}

#[test]
fn a_server_that_never_answers_one_call_is_given_up_after_the_timeout() {
    let work = Workspace::new(&["alpha"], 1);
    let is_claims = |request: &Recorded| request.asks_for_claims();
    let server = FakeServer::start(constant_judge().when(is_claims, Act::Silent));
    work.score(
        &server,
        &["--timeout", "8s", "--retries", "0", "--max-unscored", "1"],
    )
    .exits_with(0);
    let score = &work.lines("out/scores.jsonl")[0];
    assert_eq!(
        (
            &score["details"]["citations"]["unscored"]["kind"],
            &score["components"]["p1"]
        ),
        (&json!("unreachable"), &json!(0.8))
    );
}

#[test]
fn a_judge_that_is_never_understood_stops_the_run_before_all_is_paid() {
    let work = Workspace::new(&["alpha", "beta"], 20);
    let prose = Act::Content("I find this answer rather good.".to_owned());
    let server =
        FakeServer::start(constant_judge().when(|request| kind_of(request) == "property", prose));
    let done = work.score(&server, &["--concurrency", "2"]).exits_with(5);
    done.says(&[
        "no reply to the property calls about",
        "different cases can be read; the first one is \"I find this answer rather good.\"",
        "does not pay for these replies again",
    ]);
    let properties = server
        .chats()
        .iter()
        .filter(|chat| kind_of(chat) == "property")
        .count();
    // Two criteria of both answers to two cases and one criterion of the third case, each asked three times; and what was
    // in flight: at most two criteria of each of two answers.
    assert!(
        (27..=39).contains(&properties),
        "{properties} of 240 were paid"
    );
}

#[test]
fn answers_that_the_server_refuses_stop_neither_the_run_nor_its_repetition() {
    for (refused, concurrency) in [
        (&["c7"][..], "1"),
        (&["c7"], "32"),
        (&["c3", "c12", "c20"], "1"),
        (&["c3", "c12", "c20"], "32"),
    ] {
        let work = Workspace::new(&["alpha"], 24);
        let is_refused = |request: &Recorded| {
            refused
                .iter()
                .any(|id| answer_of(request).contains(&format!("to {id},")))
        };
        let act = Act::error(400, "invalid_request_error", "cannot take this text");
        let server = FakeServer::start(constant_judge().when(is_refused, act));
        let more = ["--concurrency", concurrency, "--max-unscored", "1"];
        // what was scored in the first run shows in the second that the request itself is not at fault
        for first_asked in [
            (24 - refused.len()) * AT_MOST + refused.len() * NOW,
            refused.len() * NOW,
        ] {
            let before = server.chat_count();
            work.score(&server, &more).exits_with(0);
            assert_eq!(
                server.chat_count() - before,
                first_asked,
                "{refused:?} {concurrency}"
            );
            let scores = work.lines("out/scores.jsonl");
            assert_eq!(
                scores
                    .iter()
                    .filter(|score| score["score"].is_number())
                    .count(),
                24 - refused.len()
            );
            let reasons: Vec<&Value> = scores
                .iter()
                .map(|score| &score["details"]["p0"]["unscored"])
                .collect();
            let words = "status 400: cannot take this text";
            assert_eq!(
                reasons
                    .iter()
                    .filter(|reason| reason["message"] == words)
                    .count(),
                refused.len()
            );
        }
    }
}

#[test]
fn texts_that_the_server_refuses_concern_their_answers_only_and_count_as_asked() {
    let openai = Act::error(400, "invalid_prompt", "limited access to this content");
    let azure = json!({"error": {"code": "400", "message": "a policy was triggered",
        "innererror": {"code": "ResponsibleAIPolicyViolation"}}});
    let azure = Act::status(400, azure.to_string());
    for act in [openai, azure] {
        let work = Workspace::new(&["alpha"], 6);
        let is_refused = |request: &Recorded| {
            ["c1", "c2", "c3", "c4"]
                .iter()
                .any(|id| answer_of(request).contains(&format!("to {id},")))
        };
        let server = FakeServer::start(constant_judge().when(is_refused, act));
        let more = ["--concurrency", "1", "--max-unscored", "1"];
        work.score(&server, &more).exits_with(0);
        assert_eq!(server.chat_count(), 2 * AT_MOST + 4 * NOW);
        let scores = work.lines("out/scores.jsonl");
        let reason = &scores[0]["details"]["p0"]["unscored"];
        assert_eq!(reason["kind"], "moderated", "{reason}");
        assert!(
            reason["message"]
                .as_str()
                .unwrap()
                .starts_with("status 400: ")
        );

        // The same command asks nothing, not even without the cache.
        work.score(&server, &more).exits_with(0);
        work.score(&server, &[&more[..], &["--no-cache"]].concat())
            .exits_with(0);
        assert_eq!(server.chat_count(), 2 * AT_MOST + 4 * NOW);
        assert_eq!(work.lines("out/calls.jsonl").len(), 2 * AT_MOST + 4 * NOW);

        let server = server.replaced_by(constant_judge());
        work.score(&server, &[&more[..], &["--retry-unscored"]].concat())
            .exits_with(0);
        assert_eq!(server.chat_count(), 4 * AT_MOST);
        let calls = work.lines("out/calls.jsonl");
        assert!(calls.iter().all(|call| call["reply"].is_object()));
    }
}

#[test]
fn a_run_whose_every_text_is_refused_does_not_blame_the_judge() {
    let work = Workspace::new(&["alpha"], 4);
    let act = Act::error(400, "invalid_prompt", "limited access to this content");
    let server = FakeServer::start(Behaviour::always(act));
    work.score(&server, &[])
        .exits_with(5)
        .says(&["--retry-unscored"]);
    assert_eq!(server.chat_count(), 4 * NOW);
}

#[test]
fn a_silent_server_ends_the_run_early() {
    for answers in [1, 8] {
        let work = Workspace::new(&["alpha"], answers);
        let server = FakeServer::start(Behaviour::always(Act::Silent));
        let done = work
            .score(&server, &["--timeout", "1s", "--concurrency", "2"])
            .exits_with(4);
        done.says(&[
            "is silent",
            "2 calls timed out",
            "none was answered",
            "--timeout 30m",
        ]);
        assert!(server.chat_count() <= 6, "{} calls", server.chat_count());
    }
}

#[test]
fn calls_that_are_the_same_are_asked_once() {
    let work = Workspace::new(&["alpha"], 2);
    // another system with the very same answers
    std::fs::copy(
        work.path("answers/alpha.jsonl"),
        work.path("answers/copy.jsonl"),
    )
    .unwrap();
    let server = FakeServer::start(constant_judge().latency(Duration::from_millis(5)));
    work.score(&server, &[]).exits_with(0);
    assert_eq!(server.chat_count(), 2 * AT_MOST);
    assert_eq!(
        work.lines("out/calls.jsonl").len(),
        4 * AT_MOST,
        "the record has both"
    );
    let scores = work.lines("out/scores.jsonl");
    assert_eq!(scores[0]["components"], scores[2]["components"]);
}

#[test]
fn no_more_calls_than_places_are_in_flight() {
    let work = Workspace::new(&["alpha", "beta"], 5);
    let gate = Gate::after(0);
    let server = FakeServer::start(
        constant_judge()
            .latency(Duration::from_millis(5))
            .behind(&gate),
    );
    let run = work.spawn_score(&server, &["--concurrency", "3"]);
    wait_until("all places are taken", || server.max_in_flight() == 3);
    gate.open();
    Running::of(run).finish().exits_with(0);
    assert_eq!(server.max_in_flight(), 3);
}

#[test]
fn imported_wording_goes_as_it_is_and_is_told_under_the_table() {
    let checkout = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/fixtures/prompts/checkout"
    );
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(Behaviour::good());
    let done = work
        .run(&["prompts", "import", checkout, "--out", "theirs"])
        .exits_with(0);
    let done = (
        done.stdout,
        work.score(&server, &["--prompts", "theirs"]).exits_with(0),
    );
    let entry = work.json("out/manifest.json")["roles"]["rubric"]["prompts"].clone();
    let label = entry["label"].as_str().unwrap();
    // the fixture has the shape of the published script, not its words
    assert_eq!(entry["comparable_with_published"], false);
    assert!(
        done.0.contains(label) && done.1.stdout.contains(label),
        "{label}: {} {}",
        done.0,
        done.1.stdout
    );
    for chat in server.chats() {
        let message = chat.user_message();
        assert!(
            section(&chat, "response").is_empty() && !message.contains(" id=\""),
            "no fence: {message}"
        );
        assert!(
            message.contains("The alpha answer to c1, in few words."),
            "{message}"
        );
    }
}
