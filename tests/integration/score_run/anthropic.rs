//! Judges in Anthropic's protocol.

use scholareval::text::model_tokens::estimate_tokens;
use serde_json::{Value, json};

use super::judging::{answer_of, constant_judge, constant_reply, kind_of};
use super::workspace::{AT_MOST, KEY, NOW, Workspace};
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
        for absent in ["stream", "response_format", "seed", "tools", "thinking"] {
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

#[test]
fn a_schema_is_a_tool_and_its_input_the_reply() {
    let work = Workspace::new(&["alpha"], 1);
    let reply = |request: &Recorded| {
        let body = request.json();
        assert_eq!(
            body["tool_choice"],
            json!({"type": "tool", "name": body["tools"][0]["name"]})
        );
        assert_eq!(body["tools"][0]["input_schema"]["type"], "object");
        let input: Value = serde_json::from_str(&constant_reply(kind_of(request))).unwrap();
        Some(Act::json(&json!({
            "type": "message",
            "content": [{"type": "tool_use", "id": "t", "name": "verdict", "input": input}],
            "stop_reason": "tool_use",
            "usage": {"input_tokens": 100, "cache_read_input_tokens": 300, "cache_creation_input_tokens": 40, "output_tokens": 9},
        })))
    };
    let server = FakeServer::start(constant_judge().deciding(reply));
    work.score(
        &server,
        &with(&["--structured", "schema", "--price", "10,100"]),
    )
    .exits_with(0);
    for call in work.lines("out/calls.jsonl") {
        let usage = json!({"prompt_tokens": 440, "cached_prompt_tokens": 300, "completion_tokens": 9, "cache_write_tokens": 40});
        assert_eq!(call["reply"]["usage"], usage);
    }
}

#[test]
fn a_judge_that_does_not_call_its_tool_or_refuses_tools_is_asked_without_from_then_on() {
    let has_tools = |request: &Recorded| request.json().get("tools").is_some();
    let refusal = error(
        400,
        "invalid_request_error",
        "tools: this model does not support tools.",
    );
    for (name, act) in [
        ("prose", Act::Content("I prefer to write.".to_owned())),
        ("refused", refusal),
    ] {
        let work = Workspace::new(&["alpha"], 1);
        work.run(&["prompts", "export", "set"]).exits_with(0);
        let schema = "[property]\nschema = '{\"type\": \"object\"}'\n";
        let manifest = work
            .read("set/manifest.toml")
            .replacen("[property]\n", schema, 1);
        std::fs::write(work.path("set/manifest.toml"), manifest).unwrap();
        let server = FakeServer::start(constant_judge().when(has_tools, act));
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
    // The calls that start together learn it together.
    assert!((AT_MOST + 1..=AT_MOST + NOW).contains(&server.chat_count()));
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
