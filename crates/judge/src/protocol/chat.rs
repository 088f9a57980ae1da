//! Chat of OpenAI and of servers that speak its protocol: `POST /chat/completions`.
//!
//! The server makes the prompt from messages. Newer models of OpenAI take the reply limit as `max_completion_tokens` only.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{
    Members, OPENAI, ParameterForm, Protocol, ServiceAddress, WhenRefused, WireRequest,
    completion_stream,
};
use crate::parameter::Parameter;
use crate::prompt::Messages;

/// Chat.
pub(crate) static CHAT: ChatProtocol = ChatProtocol;

/// The limit field that newer models want.
const MAX_COMPLETION_TOKENS: &str = "max_completion_tokens";
const FORM: &str = "response_format";

static PARAMETERS: [ParameterForm; 9] = [
    ParameterForm::left_out(Parameter::Temperature, "temperature", &["temperature"]),
    ParameterForm::left_out(Parameter::TopP, "top_p", &["top_p"]),
    ParameterForm::left_out(Parameter::Seed, "seed", &["seed"]),
    ParameterForm::left_out(
        Parameter::Logprobs,
        "logprobs",
        &["logprobs", "top_logprobs"],
    ),
    ParameterForm::left_out(Parameter::Schema, FORM, &[FORM, "json_schema"]),
    ParameterForm::left_out(Parameter::ResponseFormat, FORM, &[FORM, "json_object"]),
    ParameterForm {
        parameter: Parameter::MaxTokens,
        field: "max_tokens",
        names: &["max_tokens"],
        when_refused: WhenRefused::Renamed(MAX_COMPLETION_TOKENS),
    },
    ParameterForm::left_out(
        Parameter::MaxCompletionTokens,
        MAX_COMPLETION_TOKENS,
        &[MAX_COMPLETION_TOKENS],
    ),
    ParameterForm::left_out(
        Parameter::Effort,
        "reasoning_effort",
        &["reasoning_effort", "reasoning", "Reasoning"],
    ),
];

/// See the module.
#[derive(Debug)]
pub(crate) struct ChatProtocol;

impl Protocol for ChatProtocol {
    fn address(&self) -> &'static ServiceAddress {
        &OPENAI
    }

    fn path(&self) -> &'static str {
        "/chat/completions"
    }

    fn key_route(&self) -> Value {
        json!(false)
    }

    fn fields<'a>(&self, request: &WireRequest<'a>) -> Members<'a> {
        vec![
            ("model", json!(request.model)),
            ("messages", json!("")),
            ("temperature", json!(request.temperature)),
            ("top_p", json!(request.top_p)),
            (request.limit_field, json!(request.limit)),
            (FORM, response_format(request)),
            ("seed", json!(request.seed)),
            // Written out though it is the default: the streaming form of the body replaces this
            // member, and all bytes before it stay the same.
            ("stream", json!(false)),
            ("logprobs", json!(request.logprobs.map(|_| true))),
            ("top_logprobs", json!(request.logprobs)),
            ("reasoning_effort", json!(request.effort)),
            ("service_tier", json!(request.tier)),
        ]
    }

    fn texts(&self, messages: &Messages) -> Members<'static> {
        let mut list = Vec::new();
        if let Some(system) = &messages.system {
            list.push(json!({"role": "system", "content": system}));
        }
        list.push(json!({"role": "user", "content": messages.user}));
        vec![("messages", Value::Array(list))]
    }

    fn texts_of(&self, body: &Value) -> String {
        let messages = body["messages"].as_array().into_iter().flatten();
        messages
            .filter_map(|message| message["content"].as_str())
            .collect()
    }

    fn limit_field<'a>(&self, chosen: &'a str) -> &'a str {
        chosen
    }

    fn parameters(&self) -> &'static [ParameterForm] {
        &PARAMETERS
    }

    fn repeats_with_schema(&self) -> bool {
        true
    }

    fn streaming_body(&self, body: &Bytes) -> Option<Bytes> {
        completion_stream::requested(body)
    }
}

/// The form that is asked for; null for none. A schema with a name is sent as it is.
fn response_format(request: &WireRequest<'_>) -> Value {
    let Some(schema) = request.schema else {
        return if request.json_mode {
            json!({"type": "json_object"})
        } else {
            Value::Null
        };
    };
    if schema.get("schema").is_some() {
        return json!({"type": "json_schema", "json_schema": schema});
    }
    let name = request.kind.name;
    json!({"type": "json_schema", "json_schema": {"name": name, "strict": true, "schema": schema}})
}
