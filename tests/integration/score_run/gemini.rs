//! Judges in Gemini's protocol.

use serde_json::{Value, json};

use super::judging::{answer_of, constant_judge, constant_reply, kind_of};
use super::workspace::{AT_MOST, KEY, Workspace};
use super::{Act, FakeServer, Recorded};

const KIND: [&str; 4] = ["--judge", "gemini", "--api-key-env", "OPENAI_API_KEY"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&KIND[..], more].concat()
}

/// An error as Google writes it.
fn error(status: u16, name: &str, message: &str, details: Value) -> Act {
    let error = json!({"code": status, "message": message, "status": name, "details": details});
    Act::status(status, json!({"error": error}).to_string())
}

/// A spent quota of this id, with a wait.
fn spent(id: &str) -> Act {
    let details = json!([
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": id}]},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.05s"},
    ]);
    error(
        429,
        "RESOURCE_EXHAUSTED",
        "You exceeded your current quota",
        details,
    )
}

#[test]
fn requests_have_the_form_of_generate_content() {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(constant_judge());
    work.score(&server, &with(&["--reasoning-effort", "low"]))
        .exits_with(0);
    assert_eq!(server.chat_count(), AT_MOST);
    for chat in server.chats() {
        let body = chat.json();
        assert_eq!(chat.path, "/v1/models/fake-judge:generateContent");
        assert_eq!(
            (chat.header("x-goog-api-key"), chat.header("authorization")),
            (Some(KEY), None)
        );
        let members: Vec<&String> = body.as_object().unwrap().keys().collect();
        assert_eq!(
            members,
            ["systemInstruction", "contents", "generationConfig"]
        );
        let settings = &body["generationConfig"];
        assert_eq!(settings["responseMimeType"], "application/json");
        assert_eq!(settings["thinkingConfig"], json!({"thinkingLevel": "LOW"}));
        let text = body["contents"][0]["parts"][0]["text"].as_str().unwrap();
        assert!(text.contains(&answer_of(&chat)));
    }
    let chat = FakeServer::start(constant_judge());
    work.score(&chat, &["--out", "chat"]).exits_with(0);
    let scores = |dir: &str| -> Vec<Value> {
        let lines = work.lines(&format!("{dir}/scores.jsonl"));
        lines
            .into_iter()
            .map(|line| line["score"].clone())
            .collect()
    };
    assert_eq!(
        scores("out"),
        scores("chat"),
        "the protocol changes no score"
    );
    assert_eq!(chat.chat_count(), AT_MOST, "and has its own keys");
}

#[test]
fn a_refused_level_becomes_a_budget_after_one_call_and_a_refused_budget_ends_the_run() {
    let work = Workspace::new(&["alpha", "beta"], 4);
    let has = |request: &Recorded, form: &str| {
        !request.json()["generationConfig"]["thinkingConfig"][form].is_null()
    };
    let level = error(
        400,
        "INVALID_ARGUMENT",
        "Thinking level is not supported for this model.",
        json!([]),
    );
    let has_level = move |request: &Recorded| has(request, "thinkingLevel");
    let server = FakeServer::start(constant_judge().when(has_level, level.clone()));
    let arguments = with(&["--reasoning-effort", "low", "--concurrency", "32"]);
    work.score(&server, &arguments).exits_with(0);
    assert_eq!(server.chat_count(), 8 * AT_MOST + 1);
    assert!(!work.read("out/scores.jsonl").contains("was asked without"));
    let budget = "The thinking budget (4000) is invalid.";
    let budget = error(400, "INVALID_ARGUMENT", budget, json!([]));
    let has_budget = move |request: &Recorded| has(request, "thinkingBudget");
    let server = FakeServer::start(
        constant_judge()
            .when(has_level, level)
            .when(has_budget, budget),
    );
    work.score(
        &server,
        &[&arguments[..], &["--no-cache", "--out", "none"]].concat(),
    )
    .exits_with(4)
    .says(&["refuses this --reasoning-effort"]);
    assert_eq!(server.chat_count(), 2);
    let server = FakeServer::start(constant_judge());
    work.score(&server, &with(&["--reasoning-effort", "none", "--out", "off"]))
        .exits_with(4)
        .says(&["fake-judge does not take --reasoning-effort none; give one that it takes (minimal, low, medium, high, xhigh)"]);
    assert_eq!(server.chat_count(), 0);
}

#[test]
fn the_flex_tier_is_a_member_of_the_request() {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(constant_judge());
    work.score(&server, &with(&["--service-tier", "flex"]))
        .exits_with(0);
    for chat in server.chats() {
        assert_eq!(chat.json()["serviceTier"], "flex");
    }
}

#[test]
fn a_blocked_prompt_is_a_reply_that_is_paid_once() {
    let work = Workspace::new(&["alpha"], 1);
    let blocked = json!({
        "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
        "usageMetadata": {"promptTokenCount": 12, "totalTokenCount": 12},
        "modelVersion": "fake-judge",
    });
    let server = FakeServer::start(constant_judge().when(
        |request: &Recorded| kind_of(request) == "expertise",
        Act::json(&blocked),
    ));
    let tolerant = with(&["--max-unscored", "1"]);
    work.score(&server, &tolerant).exits_with(0);
    let refused: Vec<Value> = work
        .lines("out/calls.jsonl")
        .into_iter()
        .filter(|call| call["reply"]["finish_reason"] == "refusal")
        .collect();
    assert!(!refused.is_empty());
    for call in &refused {
        assert_eq!(call["reply"]["usage"]["prompt_tokens"], 12);
        assert_eq!(
            call["reply"]["content"],
            "the prompt was blocked (PROHIBITED_CONTENT)"
        );
    }
    let sent = server.chat_count();
    work.score(&server, &tolerant).exits_with(0);
    assert_eq!(server.chat_count(), sent, "it is stored as a reply");
}

#[test]
fn a_quota_per_day_stops_and_one_per_minute_is_waited_for() {
    let work = Workspace::new(&["alpha"], 1);
    let minute = spent("GenerateRequestsPerMinutePerProjectPerModel");
    let server = FakeServer::start(constant_judge().nth(0, minute));
    work.score(&server, &with(&["--out", "minute"]))
        .exits_with(0);
    assert_eq!(server.chat_count(), AT_MOST + 1);
    let day = spent("GenerateRequestsPerDayPerProjectPerModel-FreeTier");
    let server = FakeServer::start(constant_judge().nth(0, day));
    let arguments = with(&["--out", "day", "--no-cache", "--concurrency", "1"]);
    work.score(&server, &arguments)
        .exits_with(4)
        .says(&["the quota per day", "is spent"]);
    assert_eq!(server.chat_count(), 1);
}

#[test]
fn a_wrong_key_stops_whatever_its_status() {
    let work = Workspace::new(&["alpha"], 1);
    let details =
        json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]);
    let refusal = error(400, "INVALID_ARGUMENT", "API key not valid.", details);
    let server = FakeServer::start(constant_judge().nth(0, refusal));
    work.score(&server, &with(&["--concurrency", "1"]))
        .exits_with(4)
        .says(&["refused the key from OPENAI_API_KEY"]);
}

#[test]
fn a_parameter_that_a_model_does_not_have_is_left_out() {
    let work = Workspace::new(&["alpha"], 1);
    let refusal = error(
        400,
        "INVALID_ARGUMENT",
        "JSON mode is not enabled for models/fake-judge",
        json!([]),
    );
    let server = FakeServer::start(constant_judge().when(
        |request: &Recorded| request.json()["generationConfig"]["responseMimeType"].is_string(),
        refusal,
    ));
    work.score(&server, &with(&[])).exits_with(0);
    let scores = work.read("out/scores.jsonl");
    assert!(
        scores.contains("the judge was asked without JSON mode"),
        "{scores}"
    );
}

#[test]
fn a_stream_gives_the_scores_of_whole_replies() {
    let work = Workspace::new(&["alpha"], 1);
    let whole = FakeServer::start(constant_judge());
    work.score(&whole, &with(&["--out", "whole"])).exits_with(0);
    let streaming = FakeServer::start(constant_judge().streaming());
    let arguments = with(&["--stream", "on", "--no-cache"]);
    work.score(&streaming, &arguments).exits_with(0);
    for chat in streaming.chats() {
        assert_eq!(chat.path, "/v1/models/fake-judge:streamGenerateContent");
        assert_eq!(chat.query, "alt=sse");
    }
    assert_eq!(
        work.read("out/scores.jsonl"),
        work.read("whole/scores.jsonl")
    );
}

#[test]
fn a_model_that_is_not_named_is_the_only_one_of_the_list() {
    let work = Workspace::new(&["alpha"], 1);
    let list = json!({"models": [
        {"name": "models/fake-judge", "supportedGenerationMethods": ["generateContent"]},
        {"name": "models/embedding", "supportedGenerationMethods": ["embedContent"]},
    ]});
    let server = FakeServer::start(constant_judge().models(Act::json(&list)));
    let url = server.base_url();
    let arguments = [
        "score",
        "answers",
        "--tests",
        "tests.json",
        "--base-url",
        &url,
        "--out",
        "out",
    ];
    work.run(&[&arguments[..], &KIND].concat()).exits_with(0);
    assert_eq!(
        server.chats()[0].path,
        "/v1/models/fake-judge:generateContent"
    );
}

#[test]
fn a_reply_without_its_object_is_asked_for_again_with_a_schema() {
    let work = Workspace::new(&["alpha"], 1);
    let has_schema =
        |request: &Recorded| !request.json()["generationConfig"]["responseJsonSchema"].is_null();
    let server = FakeServer::start(constant_judge().saying(move |request| {
        if has_schema(request) {
            constant_reply(kind_of(request))
        } else {
            "good".to_owned()
        }
    }));
    work.score(&server, &with(&[])).exits_with(0);
    assert!(server.chats().iter().any(has_schema));
}
