//! Judges in Anthropic's protocol.

use scholareval::text::model_tokens::estimate_tokens;
use serde_json::{Value, json};

use super::judging::{answer_of, constant_judge, constant_reply, kind_of};
use super::workspace::{AT_MOST, KEY, Workspace};
use super::{Act, FakeServer, Recorded};

const KIND: [&str; 4] = ["--judge", "anthropic", "--api-key-env", "OPENAI_API_KEY"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&KIND[..], more].concat()
}

/// An error as Anthropic writes it.
fn error(status: u16, kind: &str, message: &str) -> Act {
    Act::status(
        status,
        json!({"type": "error", "error": {"type": kind, "message": message}}).to_string(),
    )
}

#[test]
fn requests_have_the_form_of_the_messages_api() {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(constant_judge());
    work.score(&server, &with(&[])).exits_with(0);
    assert_eq!(server.chat_count(), AT_MOST);
    let mut shared = Vec::new();
    for chat in server.chats() {
        let body = chat.json();
        assert_eq!(
            (chat.path.as_str(), chat.header("x-api-key")),
            ("/v1/messages", Some(KEY))
        );
        assert_eq!(
            (
                chat.header("anthropic-version"),
                chat.header("authorization")
            ),
            (Some("2023-06-01"), None)
        );
        let limit = if kind_of(&chat) == "citations" {
            // 2,000, and three for each token of the answer
            2_000 + 3 * estimate_tokens("The alpha answer to c1, in few words.")
        } else {
            100
        };
        assert_eq!(
            (&body["max_tokens"], &body["temperature"]),
            (&json!(limit), &json!(0.0))
        );
        assert!(body["system"].is_string() && body["messages"].as_array().unwrap().len() == 1);
        for absent in [
            "stream",
            "response_format",
            "seed",
            "tools",
            "thinking",
            "output_config",
        ] {
            assert!(body.get(absent).is_none(), "{absent} in {body}");
        }
        let blocks = &body["messages"][0]["content"];
        assert_eq!(blocks[0]["cache_control"], json!({"type": "ephemeral"}));
        assert!(
            blocks[0]["text"]
                .as_str()
                .unwrap()
                .contains(&answer_of(&chat))
        );
        shared.push(blocks[0]["text"].clone());
    }
    assert!(
        shared.iter().all(|text| *text == shared[0]),
        "the calls of an answer share their prefix"
    );
    let chat = FakeServer::start(constant_judge());
    work.score(&chat, &["--out", "chat"]).exits_with(0);
    let of = |dir: &str| {
        work.lines(&format!("{dir}/scores.jsonl"))
            .into_iter()
            .map(|line| line["score"].clone())
    };
    assert!(of("out").eq(of("chat")), "the protocol changes no score");
    assert_eq!(chat.chat_count(), AT_MOST, "and has its own keys");
}

/// The list of models with these capabilities of `fake-judge`.
fn listing(capabilities: &Value) -> Act {
    let entry = json!({"id": "fake-judge", "type": "model", "capabilities": capabilities});
    Act::json(&json!({"data": [entry]}))
}

#[test]
fn a_schema_is_the_format_of_the_output_and_thinking_is_counted() {
    let work = Workspace::new(&["alpha"], 1);
    let reply = |request: &Recorded| {
        let format = &request.json()["output_config"]["format"];
        assert_eq!(format["type"], "json_schema");
        assert_eq!(format["schema"]["additionalProperties"], false);
        let text = constant_reply(kind_of(request));
        Some(Act::json(&json!({
            "type": "message",
            "content": [{"type": "thinking", "thinking": "", "signature": "EqQB"}, {"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 100, "cache_read_input_tokens": 300, "cache_creation_input_tokens": 40, "output_tokens": 9,
                "output_tokens_details": {"thinking_tokens": 4}},
        })))
    };
    let server = FakeServer::start(constant_judge().deciding(reply));
    work.score(
        &server,
        &with(&["--structured", "schema", "--price", "10,100"]),
    )
    .exits_with(0);
    for call in work.lines("out/calls.jsonl") {
        let usage = json!({"prompt_tokens": 440, "cached_prompt_tokens": 300, "completion_tokens": 9, "reasoning_tokens": 4,
            "cache_write_tokens": 40});
        assert_eq!(call["reply"]["usage"], usage);
    }
}

#[test]
fn an_effort_that_the_model_does_not_take_is_an_error_before_the_first_call() {
    let supported = |is_taken: bool| json!({"supported": is_taken});
    let capabilities = json!({
        "effort": {"supported": true, "low": supported(true), "medium": supported(true), "high": supported(true),
            "xhigh": supported(false), "max": supported(true)},
        "thinking": {"supported": true, "types": {"adaptive": supported(true), "enabled": supported(false),
            "disabled": supported(false), "between_tools": supported(false)}},
    });
    for effort in ["none", "xhigh"] {
        let work = Workspace::new(&["alpha"], 1);
        let server = FakeServer::start(constant_judge().models(listing(&capabilities)));
        let what = format!(
            "fake-judge does not take --reasoning-effort {effort}; give one that it takes (minimal, low, medium, high, max)"
        );
        work.score(&server, &with(&["--reasoning-effort", effort]))
            .exits_with(4)
            .says(&[&what]);
        assert_eq!(server.chat_count(), 0);
        work.score(
            &server,
            &with(&["--reasoning-effort", "max", "--out", "max"]),
        )
        .exits_with(0);
        assert_eq!(server.chats()[0].json()["output_config"]["effort"], "max");
    }
}

#[test]
fn an_effort_that_the_service_refuses_ends_the_run_after_one_call() {
    let work = Workspace::new(&["alpha", "beta"], 8);
    let message = "\"thinking.type.disabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.";
    let server = FakeServer::start(constant_judge().when(
        |request: &Recorded| request.json()["thinking"]["type"] == "disabled",
        error(400, "invalid_request_error", message),
    ));
    let arguments = with(&["--reasoning-effort", "none", "--concurrency", "32"]);
    work.score(&server, &arguments).exits_with(4).says(&[
        "refuses this --reasoning-effort",
        "not supported for this model",
    ]);
    assert_eq!(server.chat_count(), 1);
}

#[test]
fn a_refusal_has_the_category_that_the_service_states() {
    let work = Workspace::new(&["alpha"], 1);
    let refused = json!({"type": "message", "content": [], "stop_reason": "refusal",
        "stop_details": {"type": "refusal", "category": "bio", "explanation": null},
        "usage": {"input_tokens": 5, "output_tokens": 2}});
    let server = FakeServer::start(constant_judge().when(
        |request: &Recorded| kind_of(request) == "expertise",
        Act::json(&refused),
    ));
    work.score(&server, &with(&["--max-unscored", "1"]))
        .exits_with(0);
    let scores = work.read("out/scores.jsonl");
    assert!(scores.contains("the reply was blocked (bio)"), "{scores}");
}

#[test]
fn replies_to_a_schema_are_found_after_the_service_refused_schemas() {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(constant_judge());
    let schema = ["--structured", "schema", "--concurrency", "1"];
    work.score(&server, &with(&schema)).exits_with(0);
    // A second system, whose first call is refused.
    work.answers("beta", [("c1", "Another answer.".to_owned())]);
    let has_format = |request: &Recorded| !request.json()["output_config"]["format"].is_null();
    let message = "output_config: Extra inputs are not permitted";
    let refusal = error(400, "invalid_request_error", message);
    let refusing = FakeServer::start(constant_judge().when(has_format, refusal));
    let again = [&schema[..], &["--out", "again"]].concat();
    work.score(&refusing, &with(&again)).exits_with(0);
    assert_eq!(refusing.chat_count(), 1 + AT_MOST, "those of beta alone");
}

#[test]
fn a_stream_gives_the_message_that_would_have_come_whole() {
    let work = Workspace::new(&["alpha"], 1);
    let stream = |request: &Recorded| {
        assert_eq!(request.json()["stream"], true);
        let text = constant_reply(kind_of(request));
        let (first, rest) = text.split_at(text.len() / 2);
        let usage = json!({"input_tokens": 100, "output_tokens": 1});
        let events = [
            json!({"type": "message_start", "message": {"model": "fake-judge", "content": [], "stop_reason": null, "usage": usage}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}),
            json!({"type": "ping"}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "EqQB"}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": first}}),
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": rest}}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null},
                "usage": {"output_tokens": 30, "output_tokens_details": {"thinking_tokens": 20}}}),
            json!({"type": "message_stop"}),
        ];
        let body: String = events
            .iter()
            .map(|event| {
                format!(
                    "event: {}\ndata: {event}\n\n",
                    event["type"].as_str().unwrap()
                )
            })
            .collect();
        Some(Act::status(200, body).with_header("content-type", "text/event-stream"))
    };
    let server = FakeServer::start(constant_judge().deciding(stream));
    work.score(&server, &with(&["--stream", "on"]))
        .exits_with(0);
    for call in work.lines("out/calls.jsonl") {
        let usage = json!({"prompt_tokens": 100, "cached_prompt_tokens": 0, "completion_tokens": 30, "reasoning_tokens": 20});
        assert_eq!(call["reply"]["usage"], usage);
        assert_eq!(call["reply"]["reasoning"], "hm");
    }
    let whole = FakeServer::start(constant_judge());
    work.score(&whole, &with(&["--out", "whole", "--no-cache"]))
        .exits_with(0);
    assert_eq!(
        work.read("out/scores.jsonl"),
        work.read("whole/scores.jsonl")
    );
}

#[test]
fn a_stream_that_breaks_off_or_ends_with_an_error_is_asked_again() {
    let work = Workspace::new(&["alpha"], 1);
    let start = json!({"type": "message_start", "message": {"content": [], "stop_reason": null}});
    let block = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "{"}});
    let overloaded =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let events = |events: &[&Value]| {
        let body: String = events
            .iter()
            .map(|event| format!("data: {event}\n\n"))
            .collect();
        Act::status(200, body).with_header("content-type", "text/event-stream")
    };
    let server = FakeServer::start(
        constant_judge()
            .nth(0, events(&[&start, &block]))
            .nth(1, events(&[&start, &block, &overloaded])),
    );
    let arguments = with(&["--stream", "on", "--concurrency", "1"]);
    work.score(&server, &arguments).exits_with(0);
    assert_eq!(server.chat_count(), AT_MOST + 2);
}

#[test]
fn a_judge_that_ignores_or_refuses_schemas_is_asked_without_from_then_on() {
    let has_format = |request: &Recorded| !request.json()["output_config"]["format"].is_null();
    let message = "output_config.format.schema: Invalid schema: The compiled grammar is too large, which would cause performance issues.";
    let refusal = error(400, "invalid_request_error", message);
    for (name, act) in [
        ("prose", Act::Content("I prefer to write.".to_owned())),
        ("refused", refusal),
    ] {
        let work = Workspace::new(&["alpha"], 1);
        work.run(&["prompts", "export", "set"]).exits_with(0);
        let schema = "[property]\nschema = '{\"type\": \"object\", \"properties\": {\"score\": {\"type\": \"number\"}}}'\n";
        let manifest = work
            .read("set/manifest.toml")
            .replacen("[property]\n", schema, 1);
        std::fs::write(work.path("set/manifest.toml"), manifest).unwrap();
        let server = FakeServer::start(constant_judge().when(has_format, act));
        let options = ["--prompts", "set", "--concurrency", "1"];
        work.score(&server, &with(&options)).exits_with(0);
        assert_eq!(server.chat_count(), AT_MOST + 1, "{name}");
        work.score(
            &server,
            &with(&[&options[..], &["--out", "again"]].concat()),
        )
        .exits_with(0)
        .says(&["nothing to ask"]);
    }
}

#[test]
fn errors_are_told_apart_by_their_type() {
    let work = Workspace::new(&["alpha"], 1);
    let overloaded = error(529, "overloaded_error", "Overloaded").with_header("retry-after", "0.1");
    let server = FakeServer::start(
        constant_judge()
            .nth(0, overloaded)
            .nth(2, error(500, "api_error", "no")),
    );
    work.score(&server, &with(&[])).exits_with(0);
    assert_eq!(server.chat_count(), AT_MOST + 2, "each is asked again");
    for (act, words) in [
        (
            error(401, "authentication_error", "invalid x-api-key"),
            "refused the key from OPENAI_API_KEY",
        ),
        (
            error(
                400,
                "invalid_request_error",
                "Your credit balance is too low to access the API",
            ),
            "quota",
        ),
        (
            error(404, "not_found_error", "model: claude-x"),
            "does not serve the model",
        ),
    ] {
        let server = FakeServer::start(constant_judge().nth(0, act));
        work.score(&server, &with(&["--no-cache", "--out", words]))
            .exits_with(4)
            .says(&[words]);
    }
    let temperature = error(
        400,
        "invalid_request_error",
        "`temperature` is deprecated for this model.",
    );
    let refuses = |request: &Recorded| request.json().get("temperature").is_some();
    let server = FakeServer::start(constant_judge().when(refuses, temperature));
    work.score(&server, &with(&["--no-cache", "--out", "without"]))
        .exits_with(0);
    assert_eq!(server.chat_count(), AT_MOST + 1, "one call learns it");
}

#[test]
fn reasoning_has_its_own_fields_and_room() {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(constant_judge());
    work.score(&server, &with(&["--reasoning-effort", "medium"]))
        .exits_with(0);
    for chat in server.chats() {
        let body = chat.json();
        let limit = 12_000
            + if kind_of(&chat) == "citations" {
                2_000 + 3 * estimate_tokens("The alpha answer to c1, in few words.")
            } else {
                100
            };
        assert_eq!(
            (&body["thinking"]["type"], &body["max_tokens"]),
            (&json!("adaptive"), &json!(limit))
        );
        assert_eq!(body["output_config"], json!({"effort": "medium"}));
    }
}

#[test]
fn what_the_protocol_does_not_have_is_an_error_before_the_first_call() {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(constant_judge());
    for (option, value, name) in [
        ("--judge-seed", "1", "seed"),
        ("--logprobs", "5", "logprobs"),
        ("--service-tier", "flex", "service_tier"),
    ] {
        let what = format!("the protocol of a judge of kind anthropic has no {name}");
        work.score(&server, &with(&[option, value]))
            .exits_with(2)
            .says(&[&what]);
    }
    let raw = ["--judge", "completions", "--reasoning-effort", "low"];
    work.score(&server, &raw)
        .exits_with(2)
        .says(&["kind completions has no reasoning_effort"]);
    assert_eq!(server.chat_count(), 0);
}
