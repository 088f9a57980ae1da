//! The ways in which replies come: chat, raw completions, streams of events, Anthropic's messages, Gemini's responses and
//! their streams.

use serde_json::{Value, json};

use super::{Act, Behaviour, CALM, CALM_RAW, Calm};
use crate::support::fake_server::{DONE, event};

/// How a judge is asked and answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Protocol {
    #[default]
    Chat,
    Raw,
    Stream,
    Anthropic,
    Gemini,
    GeminiStream,
}

impl Protocol {
    pub(super) const ALL: [Self; 6] = [
        Self::Chat,
        Self::Raw,
        Self::Stream,
        Self::Anthropic,
        Self::Gemini,
        Self::GeminiStream,
    ];

    /// The arguments of `score` that choose it, before `more`.
    pub(super) fn arguments<'a>(self, more: &[&'a str]) -> Vec<&'a str> {
        let own: &[&str] = match self {
            Self::Chat => &[],
            Self::Raw => &["--judge", "completions"],
            Self::Stream => &["--stream", "on"],
            Self::Anthropic => &["--judge", "anthropic", "--api-key-env", "OPENAI_API_KEY"],
            Self::Gemini => &["--judge", "gemini", "--api-key-env", "OPENAI_API_KEY"],
            Self::GeminiStream => &[
                "--judge",
                "gemini",
                "--api-key-env",
                "OPENAI_API_KEY",
                "--stream",
                "on",
            ],
        };
        [own, more].concat()
    }

    /// A good judge that answers in it.
    pub(super) fn judge(self) -> Behaviour {
        if matches!(self, Self::Stream | Self::GeminiStream) {
            Behaviour::good().streaming()
        } else {
            Behaviour::good()
        }
    }

    /// The run that nobody disturbs. Streams and messages bring the replies of chat.
    pub(super) fn calm(self) -> &'static Calm {
        if self == Self::Raw { &CALM_RAW } else { &CALM }
    }

    /// An act that is written for chat, in the form of this protocol.
    pub(super) fn act(self, act: Act) -> Act {
        let (status, headers, body) = match act {
            Act::Response {
                status: 200,
                headers,
                body,
            } if self != Self::Chat => (200, headers, body),
            Act::After(wait, then) => return Act::After(wait, Box::new(self.act(*then))),
            other => return other,
        };
        match serde_json::from_slice(&body) {
            Ok(json) if self == Self::Raw => Act::json(&raw(json)),
            Ok(json) if self == Self::Anthropic => Act::json(&message(json)),
            Ok(json) if self == Self::Gemini => Act::json(&response(json)),
            Ok(json) if self == Self::GeminiStream => match response(json) {
                response
                    if response.get("candidates").is_some() || response.get("error").is_some() =>
                {
                    Act::status(status, event(&response))
                        .with_header("content-type", "text/event-stream")
                }
                other => Act::json(&other),
            },
            Ok(json) if json["choices"].is_array() || !json["error"].is_null() => {
                Act::status(status, event(&delta(json)) + DONE)
                    .with_header("content-type", "text/event-stream")
            }
            _ => Act::Response {
                status,
                headers,
                body,
            },
        }
    }
}

/// The choices of a completion, changed one by one.
fn with_choices(mut body: Value, change: impl Fn(&mut Value)) -> Value {
    body["choices"]
        .as_array_mut()
        .into_iter()
        .flatten()
        .filter(|choice| choice.is_object())
        .for_each(change);
    body
}

/// A raw completion of a chat's.
fn raw(body: Value) -> Value {
    if !body["choices"].is_array() {
        return body;
    }
    with_choices(body, |choice| {
        let message = choice
            .as_object_mut()
            .and_then(|choice| choice.remove("message"))
            .unwrap_or_default();
        choice["text"] = message["content"].clone();
    })
}

/// A message of a chat's.
fn message(mut body: Value) -> Value {
    let Some(choices) = body.as_object_mut().and_then(|body| body.remove("choices")) else {
        return body;
    };
    if choices.is_null() {
        return body;
    }
    let choice = &choices[0];
    let content = match &choice["message"]["content"] {
        Value::Null | Value::Bool(_) => json!([]),
        Value::Array(parts) => json!(parts),
        Value::String(text) => json!([{"type": "text", "text": text}]),
        other => json!([{"type": "text", "text": other.to_string()}]),
    };
    body["content"] = content;
    body["stop_reason"] = match choice["finish_reason"].as_str() {
        Some("stop") => json!("end_turn"),
        Some("length") => json!("max_tokens"),
        other => json!(other),
    };
    body
}

/// A response of Gemini's of a chat's.
fn response(mut body: Value) -> Value {
    let Some(choices) = body.as_object_mut().and_then(|body| body.remove("choices")) else {
        return body;
    };
    let Some(list) = choices.as_array() else {
        body["candidates"] = choices;
        return body;
    };
    body["candidates"] = list.iter().map(candidate).collect();
    body
}

fn candidate(choice: &Value) -> Value {
    if !choice.is_object() {
        return choice.clone();
    }
    let parts = match &choice["message"]["content"] {
        Value::Null | Value::Bool(_) => json!([]),
        Value::Array(parts) => json!(parts),
        Value::String(text) => json!([{"text": text}]),
        other => json!([{"text": other.to_string()}]),
    };
    let reason = match choice["finish_reason"].as_str() {
        Some("stop") => json!("STOP"),
        Some("length") => json!("MAX_TOKENS"),
        // A stream without a reason is a cut one.
        _ => json!("OTHER"),
    };
    json!({"content": {"parts": parts, "role": "model"}, "finishReason": reason})
}

/// A whole chat as one event of a stream.
fn delta(body: Value) -> Value {
    if !body["choices"].is_array() {
        return body;
    }
    with_choices(body, |choice| {
        let message = choice
            .as_object_mut()
            .and_then(|choice| choice.remove("message"))
            .unwrap_or_default();
        choice["delta"] = message;
    })
}

#[test]
fn acts_are_translated() {
    let chat = Act::json(
        &json!({"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}], "model": "m"}),
    );
    let body = |protocol: Protocol| match protocol.act(chat.clone()) {
        Act::Response { body, .. } => String::from_utf8(body).unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        serde_json::from_str::<Value>(&body(Protocol::Raw)).unwrap(),
        json!({"choices": [{"text": "x", "finish_reason": "stop"}], "model": "m"})
    );
    assert_eq!(
        serde_json::from_str::<Value>(&body(Protocol::Anthropic)).unwrap(),
        json!({"content": [{"type": "text", "text": "x"}], "stop_reason": "end_turn", "model": "m"})
    );
    let response = json!({"candidates": [{"content": {"parts": [{"text": "x"}], "role": "model"}, "finishReason": "STOP"}], "model": "m"});
    assert_eq!(
        serde_json::from_str::<Value>(&body(Protocol::Gemini)).unwrap(),
        response
    );
    let stream = body(Protocol::GeminiStream);
    let data = stream.trim_end().strip_prefix("data: ").unwrap();
    assert_eq!(serde_json::from_str::<Value>(data).unwrap(), response);
    let stream = body(Protocol::Stream);
    let (first, rest) = stream.split_once("\n\n").unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(first.strip_prefix("data: ").unwrap()).unwrap(),
        json!({"choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}], "model": "m"})
    );
    assert_eq!(rest, DONE);
}
