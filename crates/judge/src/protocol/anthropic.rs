//! Anthropic's Messages API: `POST /v1/messages`.
//!
//! - The system text is a separate field, and `max_tokens` is required.
//! - The text that an answer's calls share ends with a cache breakpoint (`cache_control`): its tokens are written to the
//!   provider's cache by the first call, at 1.25 times their price, and read by the others.
//! - The entry of a model (`GET /v1/models/ID`) states under `capabilities` how it reasons, which efforts it takes and whether
//!   it takes a schema; an effort is a budget for models without adaptive thinking. Where there is no entry (a gateway), the
//!   forms of today's models are sent.
//! - There is no JSON mode, no seed and no token probability.

use bytes::Bytes;
use clap::ValueEnum as _;
use serde_json::{Map, Value, json};

use super::anthropic_stream::{AnthropicStream, requested};
use super::completion::tokens;
use super::events::StreamReader;
use super::{BodyFault, Members, ParameterForm, Protocol, ServiceAddress, WireRequest, completion};
use crate::forms::Effort;
use crate::parameter::Parameter;
use crate::prompt::Messages;
use scholareval_core::domain::{JudgeReply, ModelEnd};

/// Anthropic's messages.
pub(crate) static ANTHROPIC: AnthropicProtocol = AnthropicProtocol;

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
/// The least budget of reasoning.
const SMALLEST_BUDGET: u64 = 1_024;

/// Without the reply limit, which cannot be left out.
static PARAMETERS: [ParameterForm; 4] = [
    ParameterForm::left_out(Parameter::Temperature, "temperature", &["temperature"]),
    ParameterForm::left_out(Parameter::TopP, "top_p", &["top_p"]),
    ParameterForm::left_out(
        Parameter::Schema,
        "output_config.format",
        &["format", "schema", "grammar"],
    ),
    ParameterForm::left_out(Parameter::Effort, "thinking", &["thinking", "effort"]),
];

/// See the module.
#[derive(Debug)]
pub(crate) struct AnthropicProtocol;

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
        vec![
            ("model", json!(request.model)),
            (request.limit_field, json!(request.limit)),
            ("system", json!("")),
            ("messages", json!("")),
            ("temperature", json!(request.temperature)),
            ("top_p", json!(request.top_p)),
            ("thinking", thinking(request)),
            ("output_config", output_config(request)),
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

    fn efforts(&self, _model: &str, capabilities: &Value) -> Option<Vec<Effort>> {
        takes(capabilities, "thinking")?;
        let efforts = Effort::value_variants().iter().copied();
        let taken = efforts.filter(|effort| takes_effort(capabilities, *effort));
        Some(taken.collect())
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

    fn streaming_body(&self, body: &Bytes) -> Option<Bytes> {
        requested(body)
    }

    fn stream(&self) -> Box<dyn StreamReader> {
        Box::<AnthropicStream>::default()
    }

    fn end(&self, entry: &Value) -> Option<ModelEnd> {
        ModelEnd::stated(&entry["retires_at"], &entry["lifecycle"])
    }
}

/// Whether the model's entry states that it takes this; `None` if it does not say.
fn takes(capabilities: &Value, path: &str) -> Option<bool> {
    capabilities
        .pointer(&format!("/{path}/supported"))?
        .as_bool()
}

/// The level of an effort.
fn level(effort: Effort) -> Effort {
    // Low is the lowest one.
    effort.max(Effort::Low)
}

/// Whether the model can be asked for this effort, by its entry.
fn takes_effort(capabilities: &Value, effort: Effort) -> bool {
    let has = |path: &str| takes(capabilities, path) == Some(true);
    if effort == Effort::None {
        return !has("thinking")
            || has("thinking/types/disabled")
            || has("thinking/types/between_tools");
    }
    let is_level = has("effort") && has(&format!("effort/{}", Effort::names([level(effort)])));
    let is_budget = !has("effort") && has("thinking/types/enabled");
    is_level || is_budget
}

/// How the model reasons; null leaves it to the model. Without an entry these are the forms that most models take.
fn thinking(request: &WireRequest<'_>) -> Value {
    let takes = |form: &str| takes(request.capabilities, &format!("thinking/types/{form}"));
    let Some(effort) = request.effort else {
        return Value::Null;
    };
    if effort == Effort::None {
        // Models that cannot be kept from reasoning altogether reason after tools alone, of which a call has none.
        let is_between = takes("disabled") == Some(false) && takes("between_tools") == Some(true);
        let form = if is_between {
            "between_tools"
        } else {
            "disabled"
        };
        return json!({"type": form});
    }
    if takes("adaptive") == Some(false) && takes("enabled") == Some(true) {
        let most = request.limit.unwrap_or(LONGEST_REPLY).saturating_sub(1);
        let budget = effort.tokens().min(most).max(SMALLEST_BUDGET);
        return json!({"type": "enabled", "budget_tokens": budget});
    }
    json!({"type": "adaptive"})
}

/// How much the model reasons, and the schema of its reply; null for neither.
fn output_config(request: &WireRequest<'_>) -> Value {
    let mut config = Map::new();
    let has_levels = takes(request.capabilities, "effort") != Some(false);
    let effort = request.effort.filter(|effort| *effort != Effort::None);
    if let Some(effort) = effort.filter(|_| has_levels) {
        config.insert("effort".to_owned(), json!(level(effort)));
    }
    let has_schemas = takes(request.capabilities, "structured_outputs") != Some(false);
    let schema = request.bare_schema().filter(|_| has_schemas);
    if let Some(schema) = schema {
        let format = json!({"type": "json_schema", "schema": allowed_schema(schema)});
        config.insert("format".to_owned(), format);
    }
    json!(Some(config).filter(|config| !config.is_empty()))
}

/// The schema without what the service refuses; its objects have no further members.
fn allowed_schema(schema: &Value) -> Value {
    let Value::Object(members) = schema else {
        return schema.clone();
    };
    let mut allowed = Map::new();
    for (name, value) in members {
        let value = match name.as_str() {
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf"
            | "minLength" | "maxLength" | "maxItems" => continue,
            "minItems" if value.as_u64().is_none_or(|items| items > 1) => continue,
            "items" => allowed_schema(value),
            "properties" | "$defs" | "definitions" | "anyOf" | "allOf" => allowed_schemas(value),
            _ => value.clone(),
        };
        allowed.insert(name.clone(), value);
    }
    if members.contains_key("properties") {
        allowed.insert("additionalProperties".to_owned(), json!(false));
    }
    Value::Object(allowed)
}

/// The same of schemas by the names of members, or in a list.
fn allowed_schemas(schemas: &Value) -> Value {
    let mut schemas = schemas.clone();
    match &mut schemas {
        Value::Object(by_name) => by_name
            .values_mut()
            .for_each(|schema| *schema = allowed_schema(schema)),
        Value::Array(list) => list
            .iter_mut()
            .for_each(|schema| *schema = allowed_schema(schema)),
        _ => {}
    }
    schemas
}

/// The user's turn, with the breakpoint behind what calls about the same answer share.
fn turns(messages: &Messages) -> Value {
    let block = |text: &str| json!({"type": "text", "text": text});
    let parts = messages.user.split_at_checked(messages.shared);
    let content =
        // An empty block is an error of the service.
        match parts.filter(|(shared, rest)| !shared.trim().is_empty() && !rest.trim().is_empty()) {
            Some((shared, rest)) => {
                let mut shared = block(shared);
                shared["cache_control"] = json!({"type": "ephemeral"});
                json!([shared, block(rest)])
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
        .filter(|block| block["type"] != "thinking");
    let reasoning: String = blocks
        .iter()
        .filter_map(|block| block["thinking"].as_str())
        .collect();
    let reason = match members.get("stop_reason").and_then(Value::as_str) {
        Some("end_turn" | "stop_sequence") => json!("stop"),
        // Both cut the reply; without the second one a cut list would be read as a whole one.
        Some("max_tokens" | "model_context_window_exceeded") => json!("length"),
        other => json!(other),
    };
    let words = refusal(members.get("stop_details")).filter(|_| reason == "refusal");
    let words = words.map(|words| json!({"text": words}));
    let text: Vec<&Value> = texts.chain(&words).collect();
    let choice = json!({"message": {"content": text, "reasoning_content": reasoning}, "finish_reason": reason});
    let usage = members.get("usage").cloned().unwrap_or_default();
    let (read, written) = ("cache_read_input_tokens", "cache_creation_input_tokens");
    let usage = json!({
        // `input_tokens` leaves out cached tokens here; other protocols count them, too.
        "prompt_tokens": tokens(&usage, &["input_tokens", read, written]),
        "prompt_tokens_details": {"cached_tokens": usage[read], "cache_write_tokens": usage[written]},
        "completion_tokens": usage["output_tokens"],
        "completion_tokens_details": {"reasoning_tokens": usage["output_tokens_details"]["thinking_tokens"]},
    });
    members.insert("choices".to_owned(), json!([choice]));
    members.insert("usage".to_owned(), usage);
    message
}

/// What the service states about a refusal.
fn refusal(details: Option<&Value>) -> Option<String> {
    let details = details?;
    let category = details["category"].as_str().unwrap_or("no category");
    let explanation = details["explanation"].as_str();
    let why = explanation.map_or_else(String::new, |explanation| format!(": {explanation}"));
    Some(format!("the reply was blocked ({category}){why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use crate::body::RequestOptions;
    use crate::kind::JudgeKind;
    use crate::protocol::completion::read_reply;
    use scholareval_core::question::{PROPERTY, Property, Question};

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

    /// A request with this effort to a model with this entry.
    fn request(effort: Option<Effort>, schema: Option<Value>, capabilities: &Value) -> Value {
        let options = RequestOptions {
            endpoint: JudgeKind::Anthropic,
            reasoning_effort: effort,
            schema,
            capabilities: Arc::new(capabilities.clone()),
            max_tokens: [(PROPERTY.kind(), 4_100)].into(),
            ..RequestOptions::new("m")
        };
        let rendered = options.render(
            &PROPERTY,
            &options.prompt(Messages::new(None, "u"), true),
            0,
            0,
        );
        serde_json::from_slice(&rendered.body.bytes).unwrap()
    }

    /// The entry of a model with these kinds of thinking and these levels of effort.
    fn capabilities(thinking: &[&str], levels: &[&str]) -> Value {
        let supported = |is_taken| json!({"supported": is_taken});
        let mut effort = supported(!levels.is_empty());
        for level in ["low", "medium", "high", "xhigh", "max"] {
            effort[level] = supported(levels.contains(&level));
        }
        let mut types = json!({});
        for kind in ["adaptive", "enabled", "disabled", "between_tools"] {
            types[kind] = supported(thinking.contains(&kind));
        }
        json!({"effort": effort, "thinking": {"supported": !thinking.is_empty(), "types": types}})
    }

    #[test]
    fn the_entry_of_a_model_decides_how_it_is_asked_to_reason() {
        let all = ["low", "medium", "high", "xhigh", "max"];
        let adaptive = json!({"type": "adaptive"});
        let disabled = json!({"type": "disabled"});
        let cases = [
            // haiku-4-5: budgets alone, of 1,024 tokens and below the limit of 4,100 at least
            (
                capabilities(&["enabled", "disabled"], &[]),
                Some(json!({"type": "enabled", "budget_tokens": 4_000})),
                None,
                Some(disabled.clone()),
                "none, minimal, low, medium, high, xhigh, max",
            ),
            // opus-4-6
            (
                capabilities(
                    &["adaptive", "enabled", "disabled"],
                    &["low", "medium", "high", "max"],
                ),
                Some(adaptive.clone()),
                Some("low"),
                Some(disabled.clone()),
                "none, minimal, low, medium, high, max",
            ),
            // sonnet-5-5
            (
                capabilities(&["adaptive", "between_tools"], &all),
                Some(adaptive.clone()),
                Some("low"),
                Some(json!({"type": "between_tools"})),
                "none, minimal, low, medium, high, xhigh, max",
            ),
            // opus-5-5
            (
                capabilities(&["adaptive"], &all),
                Some(adaptive.clone()),
                Some("low"),
                None,
                "minimal, low, medium, high, xhigh, max",
            ),
        ];
        for (entry, thinking, level, off, efforts) in cases {
            let low = request(Some(Effort::Low), None, &entry);
            assert_eq!(low.get("thinking"), thinking.as_ref(), "{entry}");
            assert_eq!(low["output_config"]["effort"].as_str(), level, "{entry}");
            if let Some(off) = off {
                assert_eq!(request(Some(Effort::None), None, &entry)["thinking"], off);
            }
            let taken = ANTHROPIC.efforts("m", &entry).unwrap();
            assert_eq!(Effort::names(taken), efforts);
        }
        let minimal = request(Some(Effort::Minimal), None, &cases_of_haiku());
        assert_eq!(minimal["thinking"]["budget_tokens"], SMALLEST_BUDGET);
        let most = request(Some(Effort::Max), None, &cases_of_haiku());
        assert_eq!(most["thinking"]["budget_tokens"], 4_100 - 1);
        // a gateway without entries
        assert_eq!(ANTHROPIC.efforts("m", &Value::Null), None);
        let unknown = request(Some(Effort::Max), None, &Value::Null);
        assert_eq!(
            (&unknown["thinking"], &unknown["output_config"]),
            (&adaptive, &json!({"effort": "max"}))
        );
        let unknown = request(Some(Effort::None), None, &Value::Null);
        assert_eq!(
            (&unknown["thinking"], unknown.get("output_config")),
            (&disabled, None)
        );
    }

    fn cases_of_haiku() -> Value {
        capabilities(&["enabled", "disabled"], &[])
    }

    #[test]
    fn a_schema_is_sent_without_what_the_service_refuses() {
        let item = json!({"type": "object", "properties": {"minimum": {"type": "number", "minimum": 0, "maximum": 10}}});
        let schema = json!({"type": "object", "required": ["list"], "properties": {
            "list": {"type": "array", "minItems": 2, "maxItems": 9, "items": item},
            "text": {"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}]},
            "some": {"type": "array", "minItems": 1},
        }});
        let sent = json!({"type": "object", "required": ["list"], "additionalProperties": false, "properties": {
            "list": {"type": "array", "items": {"type": "object", "additionalProperties": false, "properties": {"minimum": {"type": "number"}}}},
            "text": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "some": {"type": "array", "minItems": 1},
        }});
        let format = json!({"type": "json_schema", "schema": sent});
        let body = request(None, Some(schema.clone()), &Value::Null);
        assert_eq!(body["output_config"], json!({"format": format}));
        let named = json!({"name": "n", "schema": schema});
        let both = request(Some(Effort::Low), Some(named), &Value::Null);
        let config = json!({"effort": "low", "format": format});
        assert_eq!(both["output_config"], config);
        let has_none = json!({"structured_outputs": {"supported": false}});
        let body = request(None, Some(schema), &has_none);
        assert_eq!(body.get("output_config"), None);
    }

    #[test]
    fn our_schemas_are_sent_as_they_are() {
        let question = Property {
            question: "q".into(),
            answer: "a".into(),
            criterion: "c".into(),
        };
        let schema = question.schema().unwrap();
        assert_eq!(allowed_schema(&schema), schema);
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
