//! Raw completions of vLLM, llama.cpp and their like: `POST /completions`.
//!
//! The prompt is one text, in which the turns of a chat are marked by a [`Conversation`]. There is no JSON mode, and no
//! schema that all servers know.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{
    Members, OPENAI, ParameterForm, Protocol, ServiceAddress, WireRequest, completion_stream,
};
use crate::conversation::Conversation;
use crate::parameter::Parameter;
use crate::prompt::Messages;

/// Raw completions.
pub(crate) static COMPLETIONS: CompletionsProtocol = CompletionsProtocol;

static PARAMETERS: [ParameterForm; 5] = [
    ParameterForm::left_out(Parameter::Temperature, "temperature", &["temperature"]),
    ParameterForm::left_out(Parameter::TopP, "top_p", &["top_p"]),
    ParameterForm::left_out(Parameter::Seed, "seed", &["seed"]),
    ParameterForm::left_out(
        Parameter::Logprobs,
        "logprobs",
        &["logprobs", "top_logprobs"],
    ),
    ParameterForm::left_out(Parameter::MaxTokens, "max_tokens", &["max_tokens"]),
];

/// See the module.
#[derive(Debug)]
pub(crate) struct CompletionsProtocol;

impl Protocol for CompletionsProtocol {
    fn address(&self) -> &'static ServiceAddress {
        &OPENAI
    }

    fn path(&self) -> &'static str {
        "/completions"
    }

    fn missing_route_hint(&self) -> &'static str {
        "; servers of chat models alone do not have it"
    }

    fn key_route(&self) -> Value {
        json!(true)
    }

    fn raw_prompt(
        &self,
        messages: &Messages,
        conversation: Conversation,
        neutralize: bool,
    ) -> Option<String> {
        Some(conversation.render(messages, neutralize))
    }

    /// There are no messages whose framing would count.
    fn fields<'a>(&self, request: &WireRequest<'a>) -> Members<'a> {
        vec![
            ("model", json!(request.model)),
            ("prompt", json!("")),
            ("temperature", json!(request.temperature)),
            ("top_p", json!(request.top_p)),
            (request.limit_field, json!(request.limit)),
            ("seed", json!(request.seed)),
            ("stream", json!(false)),
            ("logprobs", json!(request.logprobs)),
            ("reasoning_effort", json!(request.effort)),
            ("service_tier", json!(request.tier)),
        ]
    }

    fn texts(&self, messages: &Messages) -> Members<'static> {
        vec![("prompt", json!(messages.user))]
    }

    fn texts_of(&self, body: &Value) -> String {
        body["prompt"].as_str().unwrap_or_default().to_owned()
    }

    fn parameters(&self) -> &'static [ParameterForm] {
        &PARAMETERS
    }

    fn missing_options(&self) -> &'static [&'static str] {
        &["service_tier", "reasoning_effort"]
    }

    fn form_advice(&self) -> &'static str {
        "try another --conversation, or another model"
    }

    fn streaming_body(&self, body: &Bytes) -> Option<Bytes> {
        completion_stream::requested(body)
    }
}
