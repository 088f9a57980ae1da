//! Wire forms: how a call is written for a server, and how its replies, streams, errors and lists of models are read.
//!
//! Each protocol is one file with a static object, named by [`JudgeKind::protocol`](super::kind::JudgeKind::protocol).
//! The way of a call: [`body`](super::body) asks the protocol for the members of the request and for the parts of the
//! cache key, [`chat`](super::chat) for its route and headers; what comes back goes through [`Protocol::stream`] if it is
//! a stream of events, and through [`Protocol::read`]. Which errors stop a run is decided in one table for all of them
//! (`chat/server_error.rs`); a protocol only says where an error's name and its wait stand.
//!
//! | file | route | where the prompt goes |
//! |---|---|---|
//! | `chat.rs` | `/chat/completions` | `messages` |
//! | `completions.rs` | `/completions` | `prompt`, written out in a conversation format |
//! | `anthropic.rs` | `/messages` | `system` and `messages` |
//! | `gemini.rs` | `/models/MODEL:generateContent` | `systemInstruction` and `contents` |
//! | `systemone.rs` | `/systemone` | `state`, and `questions` by name |
//! | `decisions.rs` | `/decisions` | `input`, and a list of `questions` |
//!
//! `completion.rs` reads completions of OpenAI's form, into which those of Anthropic and Google bring their replies first;
//! `decision_reply.rs` reads those of decision models.

mod anthropic;
mod anthropic_stream;
mod chat;
pub(super) mod completion;
mod completion_stream;
mod completions;
mod decision_reply;
mod decisions;
pub(super) mod events;
mod gemini;
mod systemone;

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

pub(super) use anthropic::ANTHROPIC;
pub(super) use chat::CHAT;
pub(super) use completion::BodyFault;
pub(super) use completions::COMPLETIONS;
pub(super) use decisions::DECISIONS;
pub(super) use gemini::GEMINI;
pub(super) use systemone::{GOOGLE_DECISIONS, SYSTEM_ONE};

use super::capacity::Capacity;
use super::conversation::Conversation;
use super::forms::{Effort, ServiceTier};
use super::parameter::Parameter;
use crate::prompt::Messages;
use completion_stream::CompletionStream;
use events::StreamReader;
use scholareval_core::domain::{JudgeReply, ModelEnd};
use scholareval_core::question::{DecisionShape, KindInfo};

/// The service that a protocol belongs to, and how it is reached and named.
#[derive(Debug, PartialEq, Eq)]
pub struct ServiceAddress {
    /// Its name in messages.
    pub name: &'static str,
    /// Where calls go if no address is given.
    pub base_url: &'static str,
    /// The path of an address that has none.
    pub default_path: &'static str,
    /// Its host: a key that nobody named is sent to no other public server.
    pub host: &'static str,
    /// The environment variable of its key.
    pub key_variable: &'static str,
    /// How its keys begin: what looks like one is masked in foreign text.
    pub key_beginning: &'static str,
    /// The environment variable of the address that other clients of this protocol read.
    pub address_variable: Option<&'static str>,
}

/// OpenAI, whose protocols many servers speak.
pub(super) const OPENAI: ServiceAddress = ServiceAddress {
    name: "OpenAI",
    base_url: "https://api.openai.com/v1",
    default_path: "/v1",
    host: "api.openai.com",
    key_variable: "OPENAI_API_KEY",
    key_beginning: "sk-",
    address_variable: Some("OPENAI_BASE_URL"),
};

/// What one call asks for, before it has the form of a protocol.
pub struct WireRequest<'a> {
    /// The model's name as the server lists it.
    pub model: &'a str,
    /// The kind of question.
    pub kind: &'a KindInfo,
    /// The temperature; `None` leaves it to the server.
    pub temperature: Option<f64>,
    /// The share of probability that is sampled from.
    pub top_p: Option<f64>,
    /// The reply limit in tokens.
    pub limit: Option<u64>,
    /// The name of the limit: see [`Protocol::limit_field`].
    pub limit_field: &'a str,
    /// The schema of the reply, bare or with a name.
    pub schema: Option<&'a Value>,
    /// Whether a JSON object is asked for where there is no schema.
    pub json_mode: bool,
    /// The seed of this sample and attempt.
    pub seed: Option<i64>,
    /// How many likeliest tokens are asked for at each place.
    pub logprobs: Option<u32>,
    /// The effort of reasoning.
    pub effort: Option<Effort>,
    /// Whether the effort is a budget where the protocol has levels, too.
    pub by_budget: bool,
    /// What the model's entry states about its parameters; null for nothing.
    pub capabilities: &'a Value,
    /// The service tier.
    pub tier: Option<ServiceTier>,
}

impl WireRequest<'_> {
    /// The schema without its name.
    fn bare_schema(&self) -> Option<&Value> {
        let schema = self.schema?;
        Some(schema.get("schema").unwrap_or(schema))
    }
}

/// Members of a request, in order; null is not sent.
pub type Members<'a> = Vec<(&'a str, Value)>;

/// A parameter as a protocol writes it.
pub struct ParameterForm {
    /// Which parameter it is.
    pub parameter: Parameter,
    /// The member that is present when it is sent; a dot leads to one of a member.
    pub field: &'static str,
    /// The names by which servers refer to it when they refuse it.
    pub names: &'static [&'static str],
    /// What becomes of it.
    pub when_refused: WhenRefused,
}

impl ParameterForm {
    /// A parameter that is left out when the server refuses it.
    const fn left_out(
        parameter: Parameter,
        field: &'static str,
        names: &'static [&'static str],
    ) -> Self {
        Self {
            parameter,
            field,
            names,
            when_refused: WhenRefused::LeftOut,
        }
    }

    /// The member of the request that the field is, or is in.
    pub(crate) fn root(&self) -> &'static str {
        self.field.split('.').next().unwrap_or(self.field)
    }
}

/// What becomes of a parameter that the server refuses. (In place of a schema comes JSON mode, if the protocol has it.)
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum WhenRefused {
    /// It is not sent any more.
    LeftOut,
    /// It is sent under this name.
    Renamed(&'static str),
}

/// What an error object says beyond its message, code and type.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ErrorFacts {
    /// Names of what went wrong.
    pub reasons: Vec<String>,
    /// How long the server asks to wait.
    pub wait: Option<Duration>,
}

/// A model in a server's list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListedModel {
    /// Its name in requests.
    pub id: String,
    /// The weights behind it.
    pub root: Option<String>,
    /// llama.cpp: the bytes of its tensors.
    pub size: Option<u64>,
    /// The number of its parameters.
    pub parameters: Option<u64>,
    /// The longest prompt it takes.
    pub capacity: Option<Capacity>,
    /// What the service states about its end.
    pub end: Option<ModelEnd>,
    /// What the service states about its parameters; null for nothing.
    pub capabilities: Arc<Value>,
}

/// One wire form.
pub trait Protocol: Send + Sync {
    /// The service that it belongs to.
    fn address(&self) -> &'static ServiceAddress;

    /// The header of the key, and what stands there before it.
    fn key_header(&self) -> (&'static str, &'static str) {
        ("authorization", "Bearer ")
    }

    /// Further headers of every request.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// The end of the address of every call; also its name in messages.
    fn path(&self) -> &'static str;

    /// Path and query of a call below the base URL.
    fn route(&self, _model: &str, _is_streaming: bool) -> Cow<'static, str> {
        self.path().into()
    }

    /// A path that a user pasted, without the route of a call.
    fn without_route<'a>(&self, path: &'a str) -> &'a str {
        path.strip_suffix(self.path()).unwrap_or(path)
    }

    /// A pasted path that leads to a call by another route: the path before that route, and the route.
    fn other_route<'a>(&self, _path: &'a str) -> Option<(&'a str, &'a str)> {
        None
    }

    /// How the questions to a decision model are written; `None` where a prompt is sent.
    fn decision_shape(&self) -> Option<DecisionShape> {
        None
    }

    /// Path and query of the list of models below the base URL.
    fn models_route(&self) -> &'static str {
        "/models"
    }

    /// The path of the entry of one model below the base URL; `None` if no entry states when a model ends.
    fn model_route(&self, model: &str) -> Option<String> {
        Some(format!("/models/{}", in_path(model)))
    }

    /// What a user may need to know if the server does not have the route.
    fn missing_route_hint(&self) -> &'static str {
        ""
    }

    /// The route in cache keys.
    fn key_route(&self) -> Value;

    /// The whole prompt, where the protocol sends one text; `None` where the server makes it from messages.
    fn raw_prompt(
        &self,
        _messages: &Messages,
        _conversation: Conversation,
        _neutralize: bool,
    ) -> Option<String> {
        None
    }

    /// The members of a request. The texts are added by [`Protocol::texts`] when the body is used; a placeholder here
    /// keeps their place.
    fn fields<'a>(&self, request: &WireRequest<'a>) -> Members<'a>;

    /// The member that holds the parameters; `None` if they stand in the body itself. A user's member of that name is
    /// merged with ours.
    fn settings_member(&self) -> Option<&'static str> {
        None
    }

    /// The members with the texts of the prompt.
    fn texts(&self, messages: &Messages) -> Members<'static>;

    /// The texts of a body, for a server that counts their tokens.
    fn texts_of(&self, body: &Value) -> String;

    /// The name of the reply limit; `chosen` is the one for servers of chat models, which have two.
    fn limit_field<'a>(&self, _chosen: &'a str) -> &'a str {
        "max_tokens"
    }

    /// The reply limit that is sent where none is wanted, if the protocol requires one.
    fn required_limit(&self) -> Option<u64> {
        None
    }

    /// The parameters that it has, in the order of [`Parameter::ALL`].
    fn parameters(&self) -> &'static [ParameterForm];

    /// The form of a parameter; `None` if it has none.
    fn parameter(&self, parameter: Parameter) -> Option<&'static ParameterForm> {
        self.parameters()
            .iter()
            .find(|form| form.parameter == parameter)
    }

    /// The efforts that the model takes, by its name or its entry; `None` if that is unknown.
    fn efforts(&self, _model: &str, _capabilities: &Value) -> Option<Vec<Effort>> {
        None
    }

    /// Judge options that would be without effect, as the config file names them.
    fn missing_options(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether repeats of unreadable replies may ask for our schema, though nobody asked for one.
    fn repeats_with_schema(&self) -> bool {
        false
    }

    /// What helps against replies that cannot be read, besides a schema.
    fn form_advice(&self) -> &'static str {
        "try another model"
    }

    /// A member, in quotes, that every whole reply has: it shows that a body which cannot be decoded is a reply.
    fn reply_member(&self) -> &'static str {
        "\"choices\""
    }

    /// The reply in a body.
    ///
    /// # Errors
    /// For an error in its place, and for JSON that is not a reply.
    fn read(&self, body: Value, latency_ms: u64) -> Result<JudgeReply, BodyFault> {
        completion::read(&body, latency_ms)
    }

    /// The body that asks for a stream; `None` if it cannot.
    fn streaming_body(&self, _body: &Bytes) -> Option<Bytes> {
        None
    }

    /// Puts the events of a stream together.
    fn stream(&self) -> Box<dyn StreamReader> {
        Box::<CompletionStream>::default()
    }

    /// What an error object says in the members of this protocol.
    fn error_facts(&self, error: &Value) -> ErrorFacts {
        // Azure gives the reason behind a code that many errors share.
        let inner = error.pointer("/innererror/code").and_then(Value::as_str);
        ErrorFacts {
            reasons: inner.into_iter().map(str::to_owned).collect(),
            wait: None,
        }
    }

    /// The models in a server's list of them, or the one whose entry it is; entries without a name are left out.
    fn models(&self, list: &Value) -> Vec<ListedModel> {
        let entries = list["data"].as_array();
        let entries = entries.map_or(std::slice::from_ref(list), Vec::as_slice);
        let mut models = Vec::new();
        for entry in entries {
            if let Some(model) = listed_by_openai(entry) {
                let end = self.end(entry);
                models.push(ListedModel { end, ..model });
            }
        }
        models
    }

    /// What the entry of a model states about its end (`shutdown_date`: OpenAI; `expiration_date`: `OpenRouter`).
    fn end(&self, entry: &Value) -> Option<ModelEnd> {
        let dates = ["shutdown_date", "expiration_date"];
        dates
            .into_iter()
            .find_map(|name| ModelEnd::stated(&entry[name], &Value::Null))
    }

    /// The route of a call in the files of a batch.
    fn batch_route(&self, model: &str) -> String {
        format!(
            "{}{}",
            self.address().default_path,
            self.route(model, false)
        )
    }
}

/// An entry of `GET /v1/models` (OpenAI, vLLM, llama.cpp).
fn listed_by_openai(entry: &Value) -> Option<ListedModel> {
    let text = |name: &str| entry[name].as_str().filter(|text| !text.is_empty());
    Some(ListedModel {
        id: text("id")?.to_owned(),
        root: text("root").map(str::to_owned),
        size: entry["meta"]["size"].as_u64(),
        parameters: entry["meta"]["n_params"].as_u64(),
        capacity: Capacity::listed(entry),
        end: None,
        capabilities: Arc::new(entry["capabilities"].clone()),
    })
}

/// A model's name as a part of a path, slashes kept.
fn in_path(model: &str) -> String {
    let mut path = String::with_capacity(model.len());
    for byte in model.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/@".contains(&byte) {
            path.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(path, "%{byte:02X}");
        }
    }
    path
}
