//! Services state when they end a model: `check`, `plan`, `score`, `batch export` and `runs` say so, and a model that has ended
//! is not asked.

use std::time::Duration;

use scholareval::judge::endpoint::Endpoint;
use scholareval::judge::identity::stated_model;
use serde_json::{Value, json};

use crate::support::fake_server::{Act, Behaviour, FakeServer, Recorded, good_content};
use crate::support::workspace::{AT_MOST, Finished, Workspace};

const FAR: &str = "2999-01-14";
const PAST: &str = "2020-10-23";

/// A server whose list of models has this entry for `fake-judge`.
fn stating(members: &Value) -> Behaviour {
    let mut entry = json!({"id": "fake-judge", "object": "model"});
    let members = members.as_object().unwrap().clone();
    entry.as_object_mut().unwrap().extend(members);
    Behaviour::good().models(Act::json(&json!({"object": "list", "data": [entry]})))
}

/// The arguments of another command in place of `score`.
fn command<'a>(name: &'a str, url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let common = [
        "answers",
        "--tests",
        "tests.json",
        "--model",
        "fake-judge",
        "--base-url",
        url,
    ];
    let name: Vec<&str> = name.split(' ').collect();
    [&name[..], &common, more].concat()
}

/// Where the end of the judge of rubrics stands in the record.
fn recorded_end(work: &Workspace) -> Value {
    work.json("out/manifest.json")["roles"]["rubric"]["judges"][0]["end"].clone()
}

#[test]
fn an_end_date_is_reported_before_the_calls_and_recorded() {
    for (kind, members) in [
        ("chat", json!({"shutdown_date": FAR})),
        (
            "chat",
            json!({"expiration_date": "2999-01-14T10:00:00+02:00"}),
        ),
        (
            "anthropic",
            json!({"lifecycle": "deprecated", "retires_at": "2999-01-14T00:00:00Z"}),
        ),
    ] {
        let work = Workspace::new(&["alpha"], 1);
        let server = FakeServer::start(stating(&members));
        let url = server.base_url();
        let kind = ["--judge", kind, "--api-key-env", "OPENAI_API_KEY"];
        let sentence = "fake-judge ends on 2999-01-14, in ";
        let planned = work.run(&command("plan", &url, &kind)).exits_with(0);
        assert!(planned.stdout.contains(sentence), "{planned:?}");
        let json = [&kind[..], &["--format", "json"]].concat();
        let planned = work.run(&command("plan", &url, &json)).exits_with(0);
        let planned: Value = serde_json::from_str(&planned.stdout).unwrap();
        assert_eq!(planned["ending_models"][0]["model"], "fake-judge");
        assert_eq!(planned["ending_models"][0]["date"], FAR);
        let checked = work.run(&command("check", &url, &kind)).exits_with(0);
        assert!(checked.stdout.contains(sentence), "{checked:?}");
        if kind[1] == "chat" {
            let batch = [&kind[..], &["--out", "batch"]].concat();
            work.run(&command("batch export", &url, &batch))
                .exits_with(0)
                .says(&[sentence]);
        }

        work.score(&server, &kind).exits_with(0).says(&[sentence]);
        assert_eq!(recorded_end(&work)["date"], FAR);

        // Where all is cached nothing is said, and the record keeps what it had.
        let again = work.score(&server, &kind).exits_with(0);
        assert!(!again.stderr.contains("ends on"), "{again:?}");
        assert_eq!(recorded_end(&work)["date"], FAR);
    }
}

#[test]
fn a_list_without_an_end_or_with_a_malformed_one_states_nothing() {
    for members in [
        json!({}),
        json!({"shutdown_date": null}),
        json!({"shutdown_date": "in January"}),
        json!({"shutdown_date": "2999-02-30"}),
        json!({"shutdown_date": 32_472_144_000_u64}),
        json!({"shutdown_date": {"date": FAR}}),
    ] {
        let work = Workspace::new(&["alpha"], 1);
        let server = FakeServer::start(stating(&members));
        let scored = work.score(&server, &[]).exits_with(0);
        assert!(!scored.all_text().contains("fake-judge ends"), "{scored:?}");
        assert_eq!(recorded_end(&work), Value::Null, "{members}");
        let listed = work.run(&["runs", "out"]).exits_with(0);
        assert!(!listed.stdout.contains("judge ends"), "{listed:?}");
    }
}

#[track_caller]
fn is_refused(finished: Finished, sentence: &str) {
    let text = finished.exits_with(4).stderr;
    assert!(text.contains(sentence), "{text}");
    assert!(
        text.contains("scholareval score OLD_RUN --model NEW --out NEW_RUN"),
        "{text}"
    );
}

#[test]
fn a_model_that_has_ended_is_not_asked() {
    for (kind, members, sentence) in [
        (
            "chat",
            json!({"shutdown_date": PAST}),
            "fake-judge ended on 2020-10-23, ",
        ),
        (
            "anthropic",
            json!({"lifecycle": "retired", "retires_at": "2020-10-23T00:00:00Z"}),
            "fake-judge was retired on 2020-10-23, ",
        ),
        (
            "anthropic",
            json!({"lifecycle": "retired"}),
            "fake-judge is retired, as its service states",
        ),
    ] {
        let work = Workspace::new(&["alpha"], 1);
        let server = FakeServer::start(stating(&members));
        let kind = ["--judge", kind, "--api-key-env", "OPENAI_API_KEY"];
        is_refused(work.score(&server, &kind), sentence);
        is_refused(
            work.run(&command("check", &server.base_url(), &kind)),
            sentence,
        );
        let batch = [&kind[..], &["--out", "batch"]].concat();
        is_refused(
            work.run(&command("batch export", &server.base_url(), &batch)),
            sentence,
        );
        assert!(!work.path("batch").exists());
        assert_eq!(server.chat_count(), 0);
    }
}

#[test]
fn a_run_from_the_cache_needs_no_judge_that_lasts() {
    let work = Workspace::new(&["alpha"], 1);
    let port = FakeServer::start(Behaviour::good());
    work.score(&port, &[]).exits_with(0);
    let ended = FakeServer::start(stating(&json!({"shutdown_date": PAST})));
    work.score(&ended, &["--out", "again"]).exits_with(0);
    assert_eq!(ended.chat_count(), 0);
}

#[test]
fn an_error_that_names_the_end_stops_the_run_at_once() {
    for act in [
        Act::error(
            404,
            "model_not_found",
            "The model `fake-judge` has been deprecated, learn more here: https://example.org",
        ),
        Act::error(
            400,
            "model_decommissioned",
            "The model `fake-judge` has been decommissioned and is no longer supported.",
        ),
        Act::error(410, "gone", "fake-judge is no longer available"),
        Act::error(
            429,
            "rate_limit",
            "fake-judge was retired; choose another model",
        ),
    ] {
        let work = Workspace::new(&["alpha", "beta"], 3);
        let server = FakeServer::start(Behaviour::always(act));
        let scored = work.score(&server, &["--concurrency", "1"]);
        is_refused(scored, "states that the model has ended");
        assert_eq!(server.chat_count(), 1, "one call, never repeated");
        let scores = work.lines("out/scores.jsonl");
        assert!(scores.is_empty(), "no score of 0: {scores:?}");
    }
}

/// A good reply of Gemini with this status of its model.
fn with_status(request: &Recorded, status: &Value) -> Act {
    Act::json(&json!({
        "candidates": [{"content": {"parts": [{"text": good_content(request)}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 2},
        "modelVersion": "fake-judge",
        "modelStatus": status,
    }))
}

const GEMINI: [&str; 4] = ["--judge", "gemini", "--api-key-env", "OPENAI_API_KEY"];

#[test]
fn gemini_states_the_end_with_its_replies() {
    let work = Workspace::new(&["alpha"], 1);
    let status = json!({"modelStage": "LEGACY", "retirementTime": "2999-01-14T00:00:00Z"});
    let server = FakeServer::start(
        Behaviour::good().deciding(move |request| Some(with_status(request, &status))),
    );
    let checked = work.run(&command("check", &server.base_url(), &GEMINI));
    assert!(
        checked
            .stdout
            .contains("fake-judge ends on 2999-01-14, in "),
        "{checked:?}"
    );
    let scored = work.score(&server, &GEMINI).exits_with(0);
    assert_eq!(
        scored
            .stderr
            .matches("fake-judge ends on 2999-01-14, in ")
            .count(),
        1,
        "{scored:?}"
    );
    assert_eq!(recorded_end(&work), json!({"date": FAR}));
    assert_eq!(server.chat_count(), AT_MOST, "one reply is the check's");

    // What a cached reply stated may have changed since.
    let cached = [&GEMINI[..], &["--out", "cached"]].concat();
    let cached = work.score(&server, &cached).exits_with(0);
    assert!(!cached.stderr.contains("ends on"), "{cached:?}");
}

#[test]
fn a_reply_of_a_retired_gemini_model_is_no_verdict() {
    let work = Workspace::new(&["alpha"], 1);
    let status = json!({"modelStage": "RETIRED", "message": "use another model"});
    let server = FakeServer::start(
        Behaviour::good().deciding(move |request| Some(with_status(request, &status))),
    );
    let one = [&GEMINI[..], &["--concurrency", "1"]].concat();
    is_refused(work.score(&server, &one), "fake-judge is retired");
    assert_eq!(server.chat_count(), 1);
    // The day alone is the earliest possible one: the model that answers after it may still be the same.
    let status = json!({"modelStage": "DEPRECATED", "retirementTime": "2020-10-23T00:00:00Z"});
    let server = FakeServer::start(
        Behaviour::good().deciding(move |request| Some(with_status(request, &status))),
    );
    let other = [&GEMINI[..], &["--out", "other"]].concat();
    work.score(&server, &other)
        .exits_with(0)
        .says(&["fake-judge ended on 2020-10-23, "]);
}

/// What a service at its own address states, which is asked for one model.
async fn stated(act: Act) -> Option<String> {
    let server =
        FakeServer::start(Behaviour::good().handler(move |request| {
            (request.path == "/v1/models/ft%3Agpt/x").then(|| act.clone())
        }));
    let endpoint = Endpoint::new(&server.base_url()).unwrap();
    let end = stated_model(&endpoint, "ft:gpt/x").await?.end?;
    assert_eq!(server.requests().len(), 1, "one request");
    end.date.map(|date| date.to_string())
}

#[tokio::test]
async fn a_service_is_asked_once_and_its_failure_is_silent() {
    let entry = json!({"id": "ft:gpt/x", "object": "model", "shutdown_date": FAR});
    assert_eq!(stated(Act::json(&entry)).await.as_deref(), Some(FAR));
    let list = json!({"data": [{"id": "other", "shutdown_date": PAST}, entry]});
    assert_eq!(stated(Act::json(&list)).await.as_deref(), Some(FAR));
    for failure in [
        Act::error(401, "invalid_api_key", "Incorrect API key provided"),
        Act::status(404, "{}"),
        Act::status(500, "down"),
        Act::status(200, "<html>"),
        Act::ResetBefore,
        Act::json(&json!([])),
    ] {
        assert_eq!(stated(failure).await, None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_that_does_not_answer_is_waited_for_five_seconds() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let endpoint = Endpoint::new(&format!("http://{address}/v1")).unwrap();
    let started = tokio::time::Instant::now();
    assert!(stated_model(&endpoint, "gpt").await.is_none());
    // The clock is paused: it shows the time-outs, not the machine's speed.
    assert!(
        started.elapsed() <= Duration::from_secs(11),
        "{:?}",
        started.elapsed()
    );
}
