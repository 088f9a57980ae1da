//! Bodies of chat and of raw completions: canonical bytes, sent as they are.
//!
//! The fingerprint is blake3 over a JSON list of everything that decides a reply, and the texts of the prompt. It does not hold URL, key, model alias
//! (the judge's identity covers it) or the name of the limit field, so that the same judge under another address finds
//! its replies again.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::conversation::Conversation;
use super::forms::{Effort, ServiceTier};
use super::kind::JudgeKind;
use super::messages_api;
use super::parameter::Parameter;
use super::tokens::{estimate_messages, estimate_tokens};
use super::{Body, Rendered};
use crate::domain::{CallKind, Fingerprint};
use crate::prompt::Messages;

/// How far the seeds of two samples are apart, so that attempts (counted by one) of different samples never meet.
const SEEDS_PER_SAMPLE: i64 = 1000;
/// The limit field of raw completions, and of chat unless the server refuses it.
const MAX_TOKENS: &str = "max_tokens";
/// The limit field of chat for servers that refuse the other.
const MAX_COMPLETION_TOKENS: &str = "max_completion_tokens";
/// Name and version of what is hashed; changes with every change of the list.
const ENCODING: &str = "scholareval call 1";

/// What is sent besides the messages, and in which form.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestOptions {
    /// Chat, raw completions, or a label.
    pub endpoint: JudgeKind,
    /// How raw prompts mark their turns; chat has no use for it.
    pub conversation: Conversation,
    /// Whether control tokens inside raw prompts are made harmless; not for published wordings, which are sent byte for
    /// byte. See [`Conversation::render`].
    pub neutralize: bool,
    /// The model's name as the server lists it.
    pub model: String,
    /// Sampling temperature; `None` sends none.
    pub temperature: Option<f64>,
    /// Share of the probability that is sampled from, above 0 and at most 1; `None` sends none.
    pub top_p: Option<f64>,
    /// How many alternatives of each token come back with their probabilities; `None` asks for none.
    pub logprobs: Option<u32>,
    /// Base seed; `None` sends none. Sample d and attempt a send `seed + 1000 d + a`.
    pub seed: Option<i64>,
    /// Whether to ask for `response_format: json_object`: in chat, of the kinds whose reply is JSON.
    pub json_mode: bool,
    /// The schema to ask for in chat in place of JSON mode; `None` asks for none.
    pub schema: Option<Value>,
    /// How much the model reasons; `None` sends nothing.
    pub reasoning_effort: Option<Effort>,
    /// How soon the reply is wanted; no part of the fingerprint. `None` sends nothing.
    pub service_tier: Option<ServiceTier>,
    /// The reply limit in tokens of each kind; no entry, no limit.
    pub max_tokens: BTreeMap<CallKind, u64>,
    /// The name of the limit field in chat: `max_tokens` or `max_completion_tokens`. Raw completions have only the
    /// former.
    pub max_tokens_field: String,
    /// Further members of the body; one of the same name as a parameter of ours replaces it.
    pub extra_body: Map<String, Value>,
    /// The judge's identity, part of every fingerprint (see `judge::identity::judge_id`).
    pub judge_id: String,
}

impl RequestOptions {
    /// The rubric reference's parameters for `model`: chat, temperature 0, JSON mode, no seed, and the default limits of
    /// [`JudgeKind::default_max_tokens`]. The judge's identity is the model's name until the server has been asked.
    pub fn new(model: impl Into<String>) -> Self {
        let model = model.into();
        Self {
            endpoint: JudgeKind::Chat,
            conversation: Conversation::None,
            neutralize: true,
            judge_id: model.clone(),
            model,
            temperature: Some(0.0),
            top_p: None,
            logprobs: None,
            seed: None,
            json_mode: true,
            schema: None,
            reasoning_effort: None,
            service_tier: None,
            max_tokens: default_limits(JudgeKind::Chat),
            max_tokens_field: MAX_TOKENS.to_owned(),
            extra_body: Map::new(),
        }
    }

    /// The same without this parameter; the reply limit of chat is renamed first.
    #[must_use]
    pub fn without(&self, parameter: Parameter) -> Self {
        let mut options = self.clone();
        match parameter {
            Parameter::Temperature => options.temperature = None,
            Parameter::TopP => options.top_p = None,
            Parameter::Seed => options.seed = None,
            Parameter::Logprobs => options.logprobs = None,
            Parameter::Schema => options.schema = None,
            Parameter::ResponseFormat => options.json_mode = false,
            Parameter::MaxTokens if !self.endpoint.is_raw() => {
                MAX_COMPLETION_TOKENS.clone_into(&mut options.max_tokens_field);
            }
            Parameter::MaxTokens | Parameter::MaxCompletionTokens => options.max_tokens.clear(),
            // The renderer does not set it.
            Parameter::ListLimit => {}
        }
        options
    }

    /// The cache key of one call under this reply limit.
    pub fn fingerprint(
        &self,
        kind: CallKind,
        messages: &Messages,
        (sample, attempt): (u32, u32),
        limit: Option<u64>,
    ) -> Fingerprint {
        let raw = self.raw_prompt(messages);
        self.key(
            kind,
            &texts(messages, raw.as_deref()),
            (sample, attempt),
            limit,
        )
    }

    /// The whole prompt of raw completions.
    fn raw_prompt(&self, messages: &Messages) -> Option<String> {
        self.endpoint
            .is_raw()
            .then(|| self.conversation.render(messages, self.neutralize))
    }

    /// The limit that is sent where this one is wanted: the Messages API requires one.
    fn sent_limit(&self, limit: Option<u64>) -> Option<u64> {
        let longest = messages_api::LONGEST_REPLY + self.reasoning_effort.map_or(0, Effort::tokens);
        limit.or((self.endpoint == JudgeKind::Anthropic).then_some(longest))
    }

    fn asks_json_mode(&self, kind: CallKind) -> bool {
        let has_it = !self.endpoint.is_raw() && self.endpoint != JudgeKind::Anthropic;
        has_it && self.json_mode && is_json(kind)
    }

    fn asked_schema(&self, kind: CallKind) -> Option<&Value> {
        self.schema
            .as_ref()
            .filter(|_| !self.endpoint.is_raw() && is_json(kind))
    }

    /// The hash of everything that decides a reply.
    fn key(
        &self,
        kind: CallKind,
        texts: &[&str],
        (sample, attempt): (u32, u32),
        limit: Option<u64>,
    ) -> Fingerprint {
        let form = self
            .asked_schema(kind)
            .map_or(json!(self.asks_json_mode(kind)), Value::clone);
        let mut sampling = vec![
            json!(self.sent_temperature()),
            json!(self.top_p),
            json!(self.sent_limit(limit)),
            form,
            json!(self.seed),
            json!([]),
        ];
        sampling.push(json!(self.logprobs));
        sampling.extend(self.reasoning_effort.map(|effort| json!(effort)));
        let route = if self.endpoint == JudgeKind::Anthropic {
            json!(self.endpoint)
        } else {
            json!(self.endpoint.is_raw())
        };
        let lengths: Vec<usize> = texts.iter().map(|text| text.len()).collect();
        let head = json!([
            ENCODING,
            kind,
            self.judge_id,
            sample,
            attempt,
            route,
            sampling,
            sorted(&self.extra_body),
            lengths
        ]);
        let mut key = blake3::Hasher::new();
        key.update(head.to_string().as_bytes());
        for text in texts {
            key.update(text.as_bytes());
        }
        Fingerprint::from(key.finalize())
    }

    /// Two zeros are one temperature.
    fn sent_temperature(&self) -> Option<f64> {
        self.temperature.map(|temperature| temperature + 0.0)
    }

    /// The body and the fingerprint of one call.
    ///
    /// Members stand in a fixed order. Chat: model, messages, temperature, `top_p`, limit, response format, seed,
    /// stream, `logprobs`, `top_logprobs`, reasoning effort, service tier. Raw completions: model, prompt, temperature,
    /// `top_p`, `max_tokens`, seed, stream, `logprobs`. Then the extra ones sorted by name (at every depth).
    pub fn render(
        &self,
        kind: CallKind,
        messages: Messages,
        sample: u32,
        attempt: u32,
    ) -> Rendered {
        let is_raw = self.endpoint.is_raw();
        let is_anthropic = self.endpoint == JudgeKind::Anthropic;
        let extra = sorted(&self.extra_body);
        let raw = self.raw_prompt(&messages);
        let name = if is_raw { "prompt" } else { "messages" };
        let given = self.max_tokens.get(&kind).copied();
        let fingerprint = self.key(
            kind,
            &texts(&messages, raw.as_deref()),
            (sample, attempt),
            given,
        );
        let limit = self.sent_limit(given);
        let json_mode = self.asks_json_mode(kind);
        let schema = self.asked_schema(kind);
        let temperature = self.sent_temperature();
        let fields = match is_anthropic {
            true => {
                let schema = schema.map(|schema| schema.get("schema").unwrap_or(schema));
                messages_api::fields(
                    &self.model,
                    [temperature, self.top_p],
                    limit,
                    schema,
                    self.reasoning_effort,
                )
            }
            false => self.fields(
                temperature,
                limit,
                response_format(kind, schema, json_mode),
                (sample, attempt),
            ),
        };
        let max_tokens = extra.get(self.limit_field()).map_or(limit, Value::as_u64);
        let mut body = Map::new();
        for (name, value) in fields {
            if !value.is_null() && !extra.contains_key(name) {
                body.insert(name.to_owned(), value);
            }
        }
        let is_own = !extra.contains_key(name);
        let other_form = if schema.is_some() {
            Parameter::ResponseFormat
        } else {
            Parameter::Schema
        };
        // The Messages API requires a limit.
        let is_required = |parameter: Parameter| is_anthropic && parameter == Parameter::MaxTokens;
        let is_sent = |parameter: &Parameter| {
            // To Anthropic a schema is a tool.
            let is_tool = *parameter == Parameter::Schema && body.contains_key("tools");
            is_tool
                || body.contains_key(parameter.field())
                    && *parameter != other_form
                    && !is_required(*parameter)
        };
        let parameters = Parameter::ALL.into_iter().filter(is_sent).collect();
        body.extend(extra);
        let body = move || {
            let (prompt, prompt_tokens) = match raw {
                Some(prompt) => (json!(prompt), estimate_tokens(&prompt)),
                None if is_anthropic => {
                    (messages_api::turns(&messages), estimate_messages(&messages))
                }
                None => {
                    let message =
                        |role: &str, content: &str| json!({"role": role, "content": content});
                    let system = messages
                        .system
                        .as_deref()
                        .map(|system| message("system", system));
                    let list = system
                        .into_iter()
                        .chain([message("user", &messages.user)])
                        .collect();
                    (Value::Array(list), estimate_messages(&messages))
                }
            };
            if is_own {
                body.insert(name.to_owned(), prompt);
            }
            if is_anthropic {
                match messages.system {
                    Some(system) => body.insert("system".to_owned(), json!(system)),
                    None => body.shift_remove("system"),
                };
            }
            Body {
                bytes: Bytes::from(Value::Object(body).to_string()),
                prompt_tokens,
            }
        };
        Rendered {
            max_tokens,
            parameters,
            ..Rendered::new(fingerprint, body)
        }
    }

    /// The name of the limit field.
    fn limit_field(&self) -> &str {
        if self.endpoint == JudgeKind::Chat {
            &self.max_tokens_field
        } else {
            MAX_TOKENS
        }
    }

    /// The fields of a request for chat or raw completions, in order; null is not sent. The prompt comes when the body is
    /// used.
    fn fields(
        &self,
        temperature: Option<f64>,
        limit: Option<u64>,
        response_format: Value,
        (sample, attempt): (u32, u32),
    ) -> Vec<(&str, Value)> {
        let is_raw = self.endpoint.is_raw();
        let seed = self.seed.map(|seed| {
            let of_sample = i64::from(sample) * SEEDS_PER_SAMPLE;
            seed.wrapping_add(of_sample)
                .wrapping_add(i64::from(attempt))
        });
        vec![
            ("model", json!(self.model)),
            (if is_raw { "prompt" } else { "messages" }, json!("")),
            ("temperature", json!(temperature)),
            ("top_p", json!(self.top_p)),
            (self.limit_field(), json!(limit)),
            ("response_format", response_format),
            ("seed", json!(seed)),
            ("stream", json!(false)),
            (
                "logprobs",
                if is_raw {
                    json!(self.logprobs)
                } else {
                    json!(self.logprobs.map(|_| true))
                },
            ),
            (
                "top_logprobs",
                if is_raw {
                    Value::Null
                } else {
                    json!(self.logprobs)
                },
            ),
            ("reasoning_effort", json!(self.reasoning_effort)),
            ("service_tier", json!(self.service_tier)),
        ]
    }
}

/// The texts of a prompt: a raw one, or the system message, if there is one, and the user's.
fn texts<'a>(messages: &'a Messages, raw: Option<&'a str>) -> Vec<&'a str> {
    match raw {
        Some(prompt) => vec![prompt],
        None => messages
            .system
            .as_deref()
            .into_iter()
            .chain([messages.user.as_str()])
            .collect(),
    }
}

/// The form that is asked for; null for none.
fn response_format(kind: CallKind, schema: Option<&Value>, json_mode: bool) -> Value {
    match schema {
        // A schema with a name is sent as it is.
        Some(named) if named.get("schema").is_some() => {
            json!({"type": "json_schema", "json_schema": named})
        }
        Some(schema) => {
            json!({"type": "json_schema", "json_schema": {"name": kind.as_str(), "strict": true, "schema": schema}})
        }
        None if json_mode => json!({"type": "json_object"}),
        None => Value::Null,
    }
}

/// True for the kinds whose reply is a JSON object: JSON mode would make a judge write anything but a grade or a label.
fn is_json(kind: CallKind) -> bool {
    !matches!(kind, CallKind::Aspect | CallKind::Attribution)
}

fn default_limits(endpoint: JudgeKind) -> BTreeMap<CallKind, u64> {
    CallKind::ALL
        .into_iter()
        .filter_map(|kind| Some((kind, endpoint.default_max_tokens(kind)?)))
        .collect()
}

/// The same object with its members sorted by name at every depth.
fn sorted(object: &Map<String, Value>) -> Map<String, Value> {
    let mut object = object.clone();
    object.sort_keys();
    object.values_mut().for_each(Value::sort_all_objects);
    object
}

#[cfg(test)]
mod tests;
