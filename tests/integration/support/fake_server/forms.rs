//! The wire forms of judges. Replies are written for chat; each other form says how its calls are recognized and how a
//! reply looks in it. The fault tests run over every form that stands here.

use serde_json::{Value, json};

use super::behaviour::Recorded;

/// One wire form.
#[derive(Debug)]
pub struct WireForm {
    /// What `--judge` calls it.
    pub kind: &'static str,
    /// Whether a request is a call in this form.
    pub is_call: fn(&Recorded) -> bool,
    /// The user's text in a call.
    pub user_message: fn(&Value) -> String,
    /// The members of a body that ask for the form of the reply: an object, and the member in it.
    pub reply_members: &'static [(&'static str, &'static str)],
    /// A reply of chat's in this form. What is neither a reply nor an error stays as it is.
    pub of_chat: fn(Value) -> Value,
    /// Its streams; `None` if it has none, or none that the fault tests need.
    pub stream: Option<StreamForm>,
}

/// The streams of a wire form.
#[derive(Debug)]
pub struct StreamForm {
    /// Whether a call asks for one.
    pub is_asked: fn(&Recorded) -> bool,
    /// A reply in many pieces.
    pub pieces: fn(&Value) -> String,
    /// A reply, or an error, in one piece; `None` for what is neither.
    pub one_piece: fn(&Value) -> Option<String>,
}

pub static CHAT: WireForm = WireForm {
    kind: "chat",
    is_call: |request| request.path.ends_with("/chat/completions"),
    user_message: last_message,
    reply_members: &[("", "response_format")],
    of_chat: |body| body,
    stream: Some(StreamForm {
        is_asked: |request| request.json()["stream"] == true,
        pieces: completion_events,
        one_piece: chat_event,
    }),
};

pub static RAW: WireForm = WireForm {
    kind: "completions",
    is_call: |request| {
        request.path.ends_with("/completions") && !request.path.ends_with("/chat/completions")
    },
    user_message: |body| body["prompt"].as_str().unwrap_or_default().to_owned(),
    reply_members: &[],
    of_chat: raw_completion,
    stream: None,
};

static ANTHROPIC: WireForm = WireForm {
    kind: "anthropic",
    is_call: |request| request.path.ends_with("/messages"),
    user_message: last_message,
    reply_members: &[],
    of_chat: anthropic_message,
    stream: None,
};

static GEMINI: WireForm = WireForm {
    kind: "gemini",
    is_call: |request| {
        request.path.ends_with(":generateContent") || asks_gemini_for_a_stream(request)
    },
    user_message: |body| {
        let text = body["contents"][0]["parts"][0]["text"].as_str();
        text.unwrap_or_default().to_owned()
    },
    reply_members: &[
        ("/generationConfig", "responseMimeType"),
        ("/generationConfig", "responseJsonSchema"),
    ],
    of_chat: gemini_response,
    stream: Some(StreamForm {
        is_asked: asks_gemini_for_a_stream,
        pieces: gemini_events,
        one_piece: gemini_event,
    }),
};

/// All of them.
pub static FORMS: [&WireForm; 4] = [&CHAT, &RAW, &ANTHROPIC, &GEMINI];

/// One event of a stream.
pub fn event(chunk: &Value) -> String {
    format!("data: {chunk}\n\n")
}

/// The last event of a stream.
pub const DONE: &str = "data: [DONE]\n\n";

/// The text of the last message.
fn last_message(body: &Value) -> String {
    let messages = body["messages"].as_array();
    let last = messages.and_then(|messages| messages.last());
    match last.map(|message| &message["content"]) {
        Some(Value::Array(blocks)) => blocks
            .iter()
            .filter_map(|block| block["text"].as_str())
            .collect(),
        content => content
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned(),
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

/// Takes a member out of an object.
fn taken(value: &mut Value, member: &str) -> Option<Value> {
    value.as_object_mut()?.remove(member)
}

/// A raw completion of a chat's.
fn raw_completion(body: Value) -> Value {
    if !body["choices"].is_array() {
        return body;
    }
    with_choices(body, |choice| {
        let message = taken(choice, "message").unwrap_or_default();
        choice["text"] = message["content"].clone();
    })
}

/// A message of Anthropic's of a chat's.
fn anthropic_message(mut body: Value) -> Value {
    let Some(choices) = taken(&mut body, "choices") else {
        return body;
    };
    if choices.is_null() {
        return body;
    }
    let choice = &choices[0];
    body["content"] = match &choice["message"]["content"] {
        Value::Null | Value::Bool(_) => json!([]),
        Value::Array(parts) => json!(parts),
        Value::String(text) => json!([{"type": "text", "text": text}]),
        other => json!([{"type": "text", "text": other.to_string()}]),
    };
    body["stop_reason"] = match choice["finish_reason"].as_str() {
        Some("stop") => json!("end_turn"),
        Some("length") => json!("max_tokens"),
        other => json!(other),
    };
    if let Some(usage) = taken(&mut body, "usage") {
        body["usage"] = json!({
            "input_tokens": usage["prompt_tokens"],
            "output_tokens": usage["completion_tokens"],
        });
    }
    body
}

/// Whether a call in Gemini's form wants its reply as a stream.
fn asks_gemini_for_a_stream(request: &Recorded) -> bool {
    request.path.ends_with(":streamGenerateContent") && request.query == "alt=sse"
}

/// A response of Gemini's of a chat's.
fn gemini_response(mut body: Value) -> Value {
    let Some(choices) = taken(&mut body, "choices") else {
        return body;
    };
    body["candidates"] = match choices {
        Value::Array(choices) => choices.iter().map(gemini_candidate).collect(),
        other => other,
    };
    if let Some(usage) = taken(&mut body, "usage") {
        body["usageMetadata"] = json!({
            "promptTokenCount": usage["prompt_tokens"],
            "candidatesTokenCount": usage["completion_tokens"],
            "totalTokenCount": usage["total_tokens"],
        });
    }
    if let Some(model) = taken(&mut body, "model") {
        body["modelVersion"] = model;
    }
    body
}

fn gemini_candidate(choice: &Value) -> Value {
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

/// A completion as a stream of events, each character a token, the usage behind them.
fn completion_events(whole: &Value) -> String {
    let choice = &whole["choices"][0];
    let content = choice["message"]["content"].as_str().unwrap_or_default();
    let mut text = String::new();
    for c in content.chars() {
        let piece = json!({"index": 0, "delta": {"content": c.to_string()}});
        text += &event(&json!({"model": whole["model"], "choices": [piece]}));
    }
    let end = json!({"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]});
    text += &event(&json!({"choices": [end]}));
    text += &event(&json!({"choices": [], "usage": whole["usage"]}));
    text + DONE
}

/// A whole chat as one event of a stream, and its end.
fn chat_event(body: &Value) -> Option<String> {
    if !body["choices"].is_array() {
        return (!body["error"].is_null()).then(|| event(body) + DONE);
    }
    let chunk = with_choices(body.clone(), |choice| {
        choice["delta"] = taken(choice, "message").unwrap_or_default();
    });
    Some(event(&chunk) + DONE)
}

/// A response of Gemini as a stream: its text in two pieces, then its end.
fn gemini_events(whole: &Value) -> String {
    let content = whole["candidates"][0]["content"]["parts"][0]["text"].as_str();
    let content = content.unwrap_or_default();
    let middle = content.chars().count() / 2;
    let first: String = content.chars().take(middle).collect();
    let rest: String = content.chars().skip(middle).collect();
    let mut text = String::new();
    for piece in [first, rest] {
        let content = json!({"parts": [{"text": piece}], "role": "model"});
        text += &event(&json!({"candidates": [{"content": content, "index": 0}]}));
    }
    let mut end = whole.clone();
    end["candidates"][0]["content"] = json!({"parts": [{"text": ""}], "role": "model"});
    text + &event(&end)
}

fn gemini_event(response: &Value) -> Option<String> {
    let is_reply = response.get("candidates").is_some() || response.get("error").is_some();
    is_reply.then(|| event(response))
}
