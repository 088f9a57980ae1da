//! Anthropic's Messages API: `POST /v1/messages`.
//!
//! - The system text is a field of its own, and `max_tokens` is required.
//! - The text that an answer's calls share ends with a cache breakpoint (`cache_control`): its tokens are written to the
//!   provider's cache by the first call, at 1.25 times their price, and read by the others.
//! - A schema becomes a tool that the model has to call; the tool's input is the reply. A model that reasons cannot be made to
//!   call it, but may.
//! - There is no JSON mode, no seed and no token probability.

use serde_json::{Value, json};

use super::completion::tokens;
use super::{BodyFault, Members, ParameterForm, Protocol, ServiceAddress, WireRequest, completion};
use crate::domain::{JudgeReply, ModelEnd};
use crate::judge::forms::Effort;
use crate::judge::parameter::Parameter;
use crate::prompt::Messages;

/// Anthropic's messages.
pub(in crate::judge) static ANTHROPIC: AnthropicProtocol = AnthropicProtocol;

static ADDRESS: ServiceAddress = ServiceAddress {
    name: "Anthropic",
    base_url: "https://api.anthropic.com/v1",
    default_path: "/v1",
    host: "api.anthropic.com",
    key_variable: "ANTHROPIC_API_KEY",
    key_beginning: "sk-ant-",
    address_variable: None,
};

/// The reply limit where a kind of question has none.
const LONGEST_REPLY: u64 = 8_192;
/// The tool whose input is the verdict.
const TOOL: &str = "verdict";

/// Without the reply limit, which cannot be left out.
static PARAMETERS: [ParameterForm; 3] = [
    ParameterForm::left_out(Parameter::Temperature, "temperature", &["temperature"]),
    ParameterForm::left_out(Parameter::TopP, "top_p", &["top_p"]),
    ParameterForm::left_out(Parameter::Schema, "tools", &["tools", "tool_choice"]),
];

/// See the module.
#[derive(Debug)]
pub(in crate::judge) struct AnthropicProtocol;

impl Protocol for AnthropicProtocol {
    fn address(&self) -> &'static ServiceAddress {
        &ADDRESS
    }

    fn key_header(&self) -> (&'static str, &'static str) {
        ("x-api-key", "")
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("anthropic-version", "2023-06-01")]
    }

    fn path(&self) -> &'static str {
        "/messages"
    }

    /// By default a page of the list has 20 models.
    fn models_route(&self) -> &'static str {
        "/models?limit=1000"
    }

    fn key_route(&self) -> Value {
        json!("anthropic")
    }

    fn fields<'a>(&self, request: &WireRequest<'a>) -> Members<'a> {
        let thinking = thinking(request.effort);
        let schema = request.bare_schema();
        vec![
            ("model", json!(request.model)),
            (request.limit_field, json!(request.limit)),
            ("system", json!("")),
            ("messages", json!("")),
            ("temperature", json!(request.temperature)),
            ("top_p", json!(request.top_p)),
            ("tools", schema.map_or(Value::Null, tools)),
            (
                "tool_choice",
                schema.map_or(Value::Null, |_| choice(thinking)),
            ),
            (
                "thinking",
                thinking.map_or(Value::Null, |kind| json!({"type": kind})),
            ),
            ("output_config", level(request.effort)),
        ]
    }

    fn texts(&self, messages: &Messages) -> Members<'static> {
        vec![
            ("system", json!(messages.system)),
            ("messages", turns(messages)),
        ]
    }

    fn texts_of(&self, body: &Value) -> String {
        let turns = body["messages"].as_array().into_iter().flatten();
        let blocks = turns.flat_map(|turn| turn["content"].as_array().into_iter().flatten());
        [&body["system"]]
            .into_iter()
            .chain(blocks.map(|block| &block["text"]))
            .filter_map(Value::as_str)
            .collect()
    }

    fn required_limit(&self) -> Option<u64> {
        Some(LONGEST_REPLY)
    }

    fn parameters(&self) -> &'static [ParameterForm] {
        &PARAMETERS
    }

    fn missing_options(&self) -> &'static [&'static str] {
        &["seed", "logprobs", "service_tier"]
    }

    fn reply_member(&self) -> &'static str {
        "\"stop_reason\""
    }

    fn read(&self, body: Value, latency_ms: u64) -> Result<JudgeReply, BodyFault> {
        completion::read(&completion(body), latency_ms)
    }

    fn end(&self, entry: &Value) -> Option<ModelEnd> {
        ModelEnd::stated(&entry["retires_at"], &entry["lifecycle"])
    }
}

/// The kind of reasoning; `None` leaves it to the model.
fn thinking(effort: Option<Effort>) -> Option<&'static str> {
    match effort? {
        Effort::None => Some("disabled"),
        _ => Some("adaptive"),
    }
}

/// How much it reasons; null for what [`thinking`] says already.
fn level(effort: Option<Effort>) -> Value {
    match effort {
        None | Some(Effort::None) => Value::Null,
        // Its lowest level.
        Some(Effort::Minimal) => json!({"effort": Effort::Low}),
        Some(effort) => json!({"effort": effort}),
    }
}

/// The tool that takes a reply of this schema.
fn tools(schema: &Value) -> Value {
    json!([{"name": TOOL, "description": "Takes the verdict.", "input_schema": schema}])
}

fn choice(thinking: Option<&str>) -> Value {
    match thinking {
        // With reasoning the service refuses a forced tool.
        Some("adaptive") => json!({"type": "auto"}),
        _ => json!({"type": "tool", "name": TOOL}),
    }
}

/// The user's turn, with the breakpoint behind what calls about the same answer share.
fn turns(messages: &Messages) -> Value {
    let block = |text: &str| json!({"type": "text", "text": text});
    let parts = messages.user.split_at_checked(messages.shared);
    let content =
        // An empty block is an error of the service.
        match parts.filter(|(shared, own)| !shared.trim().is_empty() && !own.trim().is_empty()) {
            Some((shared, own)) => {
                let mut shared = block(shared);
                shared["cache_control"] = json!({"type": "ephemeral"});
                json!([shared, block(own)])
            }
            None => json!([block(&messages.user)]),
        };
    json!([{"role": "user", "content": content}])
}

/// A message as a chat completion; an error and other JSON stay as they are.
fn completion(mut message: Value) -> Value {
    let Some(members) = message.as_object_mut() else {
        return message;
    };
    let Some(content) = members.get("content").filter(|content| !content.is_null()) else {
        return message;
    };
    let blocks = content.as_array().map_or(&[][..], Vec::as_slice);
    let texts = blocks
        .iter()
        // Thoughts quote scores that the model then discards; read as text, the first of them would
        // count.
        .filter(|block| !matches!(block["type"].as_str(), Some("thinking" | "tool_use")));
    let text: Vec<&Value> = texts.collect();
    let reasoning: String = blocks
        .iter()
        .filter_map(|block| block["thinking"].as_str())
        .collect();
    let input = tool_input(blocks);
    let reason = match members.get("stop_reason").and_then(Value::as_str) {
        Some("end_turn" | "stop_sequence" | "tool_use") => json!("stop"),
        // Both cut the reply; without the second one a cut list would be read as a whole one.
        Some("max_tokens" | "model_context_window_exceeded") => json!("length"),
        other => json!(other),
    };
    let content = input.map_or_else(|| json!(text), Value::from);
    let choice = json!({"message": {"content": content, "reasoning_content": reasoning}, "finish_reason": reason});
    let usage = members.get("usage").cloned().unwrap_or_default();
    let (read, written) = ("cache_read_input_tokens", "cache_creation_input_tokens");
    let usage = json!({
        // `input_tokens` leaves out cached tokens here; other protocols count them, too.
        "prompt_tokens": tokens(&usage, &["input_tokens", read, written]),
        "prompt_tokens_details": {"cached_tokens": usage[read], "cache_write_tokens": usage[written]},
        "completion_tokens": usage["output_tokens"],
    });
    members.insert("choices".to_owned(), json!([choice]));
    members.insert("usage".to_owned(), usage);
    message
}

/// The input of the tool. A model that calls it several times with different inputs contradicts itself: all of them, a
/// line each, are then the reply, which no question can read as one verdict.
fn tool_input(blocks: &[Value]) -> Option<String> {
    let mut inputs: Vec<&Value> = Vec::new();
    for block in blocks.iter().filter(|block| block["type"] == "tool_use") {
        if !inputs.contains(&&block["input"]) {
            inputs.push(&block["input"]);
        }
    }
    if inputs.is_empty() {
        return None;
    }
    let lines: Vec<String> = inputs.iter().map(|input| input.to_string()).collect();
    Some(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Mode, Verdict};
    use crate::judge::protocol::completion::read_reply;
    use crate::question::{PROPERTY, Property, Question};

    #[test]
    fn calls_of_the_tool_that_differ_are_unreadable_and_equal_ones_are_one() {
        let read = |first: Value, second: Value| {
            let blocks = [first, second].map(|input| json!({"type": "tool_use", "input": input}));
            let message = json!({"content": blocks, "stop_reason": "tool_use"});
            let reply = read_reply(&completion(message), 1).unwrap();
            let task = Property {
                question: "q".into(),
                answer: "a".into(),
                criterion: "c".into(),
            };
            task.parse(&reply, Mode::Default)
                .map_err(|unreadable| unreadable.ask_again)
        };
        assert_eq!(
            read(json!({"score": 3}), json!({"score": 9})),
            Err(true),
            "asked again"
        );
        let reading = read(json!({"score": 3}), json!({"score": 3})).unwrap();
        assert_eq!(reading.verdict, Verdict::Points(3.0));
    }

    #[test]
    fn the_shared_part_of_a_prompt_ends_with_a_breakpoint() {
        let whole = Messages::new(None, "q and a. rate it");
        assert_eq!(
            turns(&whole)[0]["content"],
            json!([{"type": "text", "text": "q and a. rate it"}])
        );
        let split = Messages { shared: 8, ..whole };
        let first =
            json!({"type": "text", "text": "q and a.", "cache_control": {"type": "ephemeral"}});
        assert_eq!(
            turns(&split)[0]["content"],
            json!([first, {"type": "text", "text": " rate it"}])
        );
    }

    #[test]
    fn a_schema_is_a_tool_that_must_be_called_unless_the_model_reasons() {
        let schema = json!({"type": "object"});
        let of = |effort| -> Value {
            let request = WireRequest {
                model: "m",
                kind: &PROPERTY,
                temperature: None,
                top_p: None,
                limit: Some(9),
                limit_field: "max_tokens",
                schema: Some(&schema),
                json_mode: false,
                seed: None,
                logprobs: None,
                effort,
                tier: None,
            };
            ANTHROPIC.fields(&request).into_iter().collect()
        };
        assert_eq!(
            of(None)["tool_choice"],
            json!({"type": "tool", "name": "verdict"})
        );
        assert_eq!(of(None)["tools"][0]["input_schema"], schema);
        let thinking = of(Some(Effort::Minimal));
        assert_eq!(
            (
                &thinking["tool_choice"]["type"],
                &thinking["thinking"]["type"]
            ),
            (&json!("auto"), &json!("adaptive"))
        );
        assert_eq!(thinking["output_config"], json!({"effort": "low"}));
        assert_eq!(
            of(Some(Effort::None))["thinking"],
            json!({"type": "disabled"})
        );
    }

    #[test]
    fn a_message_is_read_with_its_end_its_reasoning_and_its_tokens() {
        let message = json!({
            "type": "message", "model": "claude", "stop_reason": "max_tokens",
            "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
            "usage": {"input_tokens": 10, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 6, "output_tokens": 3},
        });
        let reply = read_reply(&completion(message), 1).unwrap();
        assert_eq!(
            (
                reply.content.as_str(),
                reply.reasoning.as_deref(),
                reply.is_cut()
            ),
            ("ab", Some("hm"), true)
        );
        let usage = reply.usage;
        assert_eq!(
            (
                usage.prompt_tokens,
                usage.cached_prompt_tokens,
                usage.cache_write_tokens
            ),
            (20, 4, 6)
        );
        assert_eq!(
            (usage.completion_tokens, reply.model.as_deref()),
            (3, Some("claude"))
        );
        let called = json!({"content": [{"type": "tool_use", "input": {"score": 3}}], "stop_reason": "tool_use"});
        let reply = read_reply(&completion(called), 1).unwrap();
        assert_eq!(
            (reply.content.as_str(), reply.finish_reason.as_deref()),
            (r#"{"score":3}"#, Some("stop"))
        );
        let refused = completion(json!({"content": [], "stop_reason": "refusal"}));
        assert_eq!(
            read_reply(&refused, 1).unwrap().finish_reason.as_deref(),
            Some("refusal")
        );
        for other in [
            json!({"type": "error", "error": {"type": "overloaded_error"}}),
            json!(7),
            json!({"content": null}),
        ] {
            assert_eq!(completion(other.clone()), other);
        }
    }
}
