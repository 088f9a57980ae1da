//! Bodies of chat and of raw completions: rendered once to canonical bytes, hashed, sent as they are.
//!
//! The fingerprint is blake3 over the name and version of the encoding and then each part with its length in front, so
//! that no two different calls can run together into the same bytes. It does not hold URL, key, model alias (the
//! judge's identity covers it) or the name of the limit field, so that the same judge under another address finds its
//! replies again. A chat call that uses none of the newer parameters is encoded as it was before there were any, so that
//! caches stay good.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::Rendered;
use super::conversation::Conversation;
use super::kind::JudgeKind;
use super::tokens::{estimate_messages, estimate_tokens};
use crate::domain::{CallKind, Fingerprint};
use crate::prompt::Messages;

/// How far the seeds of two samples are apart, so that attempts (counted by one) of different samples never meet.
const SEEDS_PER_DRAW: i64 = 1000;
/// The limit field of raw completions, and of chat unless another is named.
const MAX_TOKENS: &str = "max_tokens";
/// Name and version of what is hashed of a chat call; changes with every change of the encoding.
const CHAT_ENCODING: &[u8] = b"scholareval chat call 1";
/// The same of a raw completion.
const RAW_ENCODING: &[u8] = b"scholareval raw call 1";

/// What is sent besides the messages, and in which form.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestOptions {
    /// Chat, raw completions, or a label.
    pub endpoint: JudgeKind,
    /// How raw prompts mark their turns; chat has no use for it.
    pub conversation: Conversation,
    /// Whether control tokens inside raw prompts are made harmless; not for published wordings, which are sent byte for
    /// byte. See [`Conversation::render`].
    pub neutralise: bool,
    /// The model's name as the server lists it.
    pub model: String,
    /// Sampling temperature; `None` sends none (`--no-temperature`).
    pub temperature: Option<f64>,
    /// Share of the probability that is sampled from, above 0 and at most 1; `None` sends none.
    pub top_p: Option<f64>,
    /// Texts that end a reply.
    pub stop: Vec<String>,
    /// How many alternatives of each token come back with their probabilities; `None` asks for none.
    pub logprobs: Option<u32>,
    /// Base seed; `None` sends none. Sample d and attempt a send `seed + 1000 d + a`.
    pub seed: Option<i64>,
    /// Whether to ask for `response_format: json_object`: in chat, of the kinds whose reply is JSON.
    pub json_mode: bool,
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
            neutralise: true,
            judge_id: model.clone(),
            model,
            temperature: Some(0.0),
            top_p: None,
            stop: Vec::new(),
            logprobs: None,
            seed: None,
            json_mode: true,
            max_tokens: default_limits(JudgeKind::Chat),
            max_tokens_field: MAX_TOKENS.to_owned(),
            extra_body: Map::new(),
        }
    }

    /// The published parameters of Prometheus (ScholarQABench, `prometheus_eval.py`): raw completions in Llama-2's
    /// format, temperature 0.01, `top_p` 0.95, 512 tokens.
    pub fn prometheus(model: impl Into<String>) -> Self {
        Self {
            endpoint: JudgeKind::Completions,
            conversation: Conversation::Llama2,
            temperature: Some(0.01),
            top_p: Some(0.95),
            json_mode: false,
            max_tokens: default_limits(JudgeKind::Completions),
            ..Self::new(model)
        }
    }

    /// The published parameters of AttrScore (ScholarQABench, `citation_correctness_eval.py`): the bare prompt, the most
    /// probable tokens, 10 of them.
    pub fn attrscore(model: impl Into<String>) -> Self {
        Self {
            endpoint: JudgeKind::Label,
            json_mode: false,
            max_tokens: default_limits(JudgeKind::Label),
            ..Self::new(model)
        }
    }

    /// The body and the fingerprint of one call.
    ///
    /// Members stand in a fixed order. Chat: model, messages, temperature, `top_p`, limit, response format, seed, stop,
    /// stream, `logprobs`, `top_logprobs`. Raw completions: model, prompt, temperature, `top_p`, `max_tokens`, seed, stop,
    /// stream, `logprobs`. Then the extra ones sorted by name (at every depth).
    pub fn render(&self, kind: CallKind, messages: &Messages, draw: u32, attempt: u32) -> Rendered {
        let call = Call { kind, draw, attempt };
        let extra = sorted(&self.extra_body);
        let (prompt, fingerprint, prompt_tokens, limit_field) = if self.endpoint.is_raw() {
            let prompt = self.conversation.render(messages, self.neutralise);
            let (fingerprint, tokens) = (self.raw_fingerprint(call, &prompt, &extra), estimate_tokens(&prompt));
            (("prompt", Value::String(prompt)), fingerprint, tokens, MAX_TOKENS)
        } else {
            let message = |role: &str, content: &str| json!({"role": role, "content": content});
            let system = messages.system.as_deref().map(|system| message("system", system));
            let list = system.into_iter().chain([message("user", &messages.user)]).collect();
            let fingerprint = self.chat_fingerprint(call, messages, &extra);
            (("messages", Value::Array(list)), fingerprint, estimate_messages(messages), self.max_tokens_field.as_str())
        };
        let mut body = Map::from_iter([("model".to_owned(), json!(self.model)), (prompt.0.to_owned(), prompt.1)]);
        for (name, value) in self.parameters(call, limit_field) {
            if !value.is_null() && !extra.contains_key(name) {
                body.insert(name.to_owned(), value);
            }
        }
        let max_tokens = extra.get(limit_field).map_or(self.max_tokens.get(&kind).copied(), Value::as_u64);
        body.extend(extra);
        let body = Bytes::from(Value::Object(body).to_string());
        Rendered { body, fingerprint, prompt_tokens, max_tokens, note: None, is_unpaid: false }
    }

    /// The parameters in their order; null is not sent.
    fn parameters<'a>(&self, call: Call, limit_field: &'a str) -> [(&'a str, Value); 9] {
        let is_raw = self.endpoint.is_raw();
        let json_mode = !is_raw && self.json_mode && is_json(call.kind);
        let seed = self.seed.map(|seed| {
            let of_draw = i64::from(call.draw) * SEEDS_PER_DRAW;
            seed.wrapping_add(of_draw).wrapping_add(i64::from(call.attempt))
        });
        [
            ("temperature", json!(self.temperature)),
            ("top_p", json!(self.top_p)),
            (limit_field, json!(self.max_tokens.get(&call.kind))),
            ("response_format", if json_mode { json!({"type": "json_object"}) } else { Value::Null }),
            ("seed", json!(seed)),
            ("stop", if self.stop.is_empty() { Value::Null } else { json!(self.stop) }),
            ("stream", json!(false)),
            ("logprobs", if is_raw { json!(self.logprobs) } else { json!(self.logprobs.map(|_| true)) }),
            ("top_logprobs", if is_raw { Value::Null } else { json!(self.logprobs) }),
        ]
    }

    fn chat_fingerprint(&self, call: Call, messages: &Messages, extra: &Map<String, Value>) -> Fingerprint {
        let mut key = Key::new(CHAT_ENCODING);
        key.part(call.kind.as_str().as_bytes());
        key.part(self.judge_id.as_bytes());
        key.option(messages.system.as_deref().map(str::as_bytes));
        key.part(messages.user.as_bytes());
        self.key_of_sampling(&mut key, call, Some(self.json_mode && is_json(call.kind)), extra);
        // The first version had none of these; a call that uses none is encoded as it was then.
        if self.top_p.is_some() || !self.stop.is_empty() || self.logprobs.is_some() {
            self.key_of_newer(&mut key);
        }
        key.finish()
    }

    /// Of a raw call the whole prompt counts, however it was put together.
    fn raw_fingerprint(&self, call: Call, prompt: &str, extra: &Map<String, Value>) -> Fingerprint {
        let mut key = Key::new(RAW_ENCODING);
        key.part(call.kind.as_str().as_bytes());
        key.part(self.judge_id.as_bytes());
        key.part(prompt.as_bytes());
        self.key_of_sampling(&mut key, call, None, extra);
        self.key_of_newer(&mut key);
        key.finish()
    }

    fn key_of_sampling(&self, key: &mut Key, call: Call, json_mode: Option<bool>, extra: &Map<String, Value>) {
        key.option(self.temperature.map(bits));
        key.option(self.max_tokens.get(&call.kind).map(|limit| limit.to_le_bytes()));
        if let Some(json_mode) = json_mode {
            key.part(&[u8::from(json_mode)]);
        }
        key.part(json!(extra).to_string().as_bytes());
        key.option(self.seed.map(i64::to_le_bytes));
        key.part(&call.draw.to_le_bytes());
        key.part(&call.attempt.to_le_bytes());
    }

    fn key_of_newer(&self, key: &mut Key) {
        key.option(self.top_p.map(bits));
        key.part(json!(self.stop).to_string().as_bytes());
        key.option(self.logprobs.map(u32::to_le_bytes));
    }
}

/// Adding 0.0 makes -0.0 and 0.0, which are the same temperature, the same bytes.
fn bits(number: f64) -> [u8; 8] {
    (number + 0.0).to_bits().to_le_bytes()
}

/// What distinguishes the calls of one prompt.
#[derive(Debug, Clone, Copy)]
struct Call {
    kind: CallKind,
    draw: u32,
    attempt: u32,
}

/// True for the kinds whose reply is a JSON object: JSON mode would make a judge write anything but a grade or a label.
fn is_json(kind: CallKind) -> bool {
    !matches!(kind, CallKind::Aspect | CallKind::Attribution)
}

fn default_limits(endpoint: JudgeKind) -> BTreeMap<CallKind, u64> {
    CallKind::ALL.into_iter().filter_map(|kind| Some((kind, endpoint.default_max_tokens(kind)?))).collect()
}

/// The same object with its members sorted by name at every depth.
fn sorted(object: &Map<String, Value>) -> Map<String, Value> {
    let mut object = object.clone();
    object.sort_keys();
    object.values_mut().for_each(Value::sort_all_objects);
    object
}

/// The parts of a fingerprint, each with its length in front.
struct Key(Vec<u8>);

impl Key {
    fn new(encoding: &[u8]) -> Self {
        let mut key = Self(Vec::new());
        key.part(encoding);
        key
    }

    fn part(&mut self, part: &[u8]) {
        self.0.extend_from_slice(&(part.len() as u64).to_le_bytes());
        self.0.extend_from_slice(part);
    }

    /// A part that may be missing; missing and empty differ.
    fn option(&mut self, part: Option<impl AsRef<[u8]>>) {
        self.0.push(u8::from(part.is_some()));
        if let Some(part) = part {
            self.part(part.as_ref());
        }
    }

    /// Hashed in one go: blake3 then works on several chunks at once.
    fn finish(self) -> Fingerprint {
        Fingerprint::from(blake3::hash(&self.0))
    }
}

#[cfg(test)]
mod tests;
