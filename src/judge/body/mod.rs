//! Bodies of chat and of raw completions: rendered once to canonical bytes, hashed, sent as they are.
//!
//! The body is written straight from borrowed texts (a run renders 1e5 bodies of 13 kB; async-openai's request type
//! would own a copy of each text). That it reads back as that type is tested below.
//!
//! The fingerprint is blake3 over the name and version of the encoding and then each part with its length in front, so
//! that no two different calls can run together into the same bytes. It does not hold URL, key, model alias (the
//! judge's identity covers it) or the name of the limit field, so that the same judge under another address finds its
//! replies again. A chat call that uses none of the newer parameters is encoded as it was before there were any, so that
//! caches stay good.

mod canonical;

use std::collections::BTreeMap;

use async_openai::types::chat::ResponseFormat;
use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};

use self::canonical::{CHAT_ENCODING, KeyHasher, RAW_ENCODING, escaped, push_escaped, write_json, write_sorted_object};
use super::conversation::Conversation;
use super::kind::JudgeKind;
use super::tokens::{estimate_messages, estimate_tokens};
use super::{Rendered, RenderedKey};
use crate::domain::{CallKind, Fingerprint};
use crate::error::{Error, Result};
use crate::prompt::Messages;

/// How far the seeds of two draws are apart, so that attempts (counted by one) of different draws never meet.
const SEEDS_PER_DRAW: i64 = 1000;
/// The limit field of raw completions, and of chat unless another is named.
const MAX_TOKENS: &str = "max_tokens";
/// Room for the parameters around the texts of a body.
const BODY_FRAME: usize = 512;

/// What is sent besides the messages, and in which form.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestOptions {
    /// Chat, raw completions, or a label.
    pub endpoint: JudgeKind,
    /// How raw prompts mark their turns; chat has no use for it.
    pub conversation: Conversation,
    /// Whether marks of turns inside raw prompts are made harmless; not for published wordings, which are sent byte for
    /// byte. See [`Conversation::render`].
    pub neutralise: bool,
    /// The model's name as the server knows it.
    pub model: String,
    /// Sampling temperature; `None` sends none (`--no-temperature`).
    pub temperature: Option<f64>,
    /// Share of the probability that is sampled from, above 0 and at most 1; `None` sends none.
    pub top_p: Option<f64>,
    /// Texts that end a reply.
    pub stop: Vec<String>,
    /// How many alternatives of each token come back with their probabilities; `None` asks for none.
    pub logprobs: Option<u32>,
    /// Base seed; `None` sends none. Draw d and attempt a send `seed + 1000 d + a`.
    pub seed: Option<i64>,
    /// Whether to ask for `response_format: json_object`: in chat, of the kinds whose reply is JSON.
    pub json_mode: bool,
    /// The reply limit in tokens of each kind; no entry, no limit.
    pub max_tokens: BTreeMap<CallKind, u64>,
    /// The name of the limit field in chat: `max_tokens` or `max_completion_tokens`. Raw completions know only the
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

    /// Checks what would only fail, or cost, at the first call.
    ///
    /// # Errors
    /// [`Error::Settings`] for an empty model name, a temperature that is no number >= 0, a `top_p` outside 0..1, no
    /// alternatives at all, a limit of 0, an empty limit field, an empty stop text, and extra members that would break
    /// how replies are read (`messages`, `prompt`, `echo`, `model`, `stream`, `n`).
    pub fn check(&self) -> Result<()> {
        let fault = |what: String| Err(Error::Settings(what));
        if self.model.trim().is_empty() {
            return fault("the model name is empty; give --model NAME".into());
        }
        if self.temperature.is_some_and(|t| !t.is_finite() || t < 0.0) {
            return fault(
                "the temperature is not a number of at least 0; 0 repeats best, --no-temperature sends none".into(),
            );
        }
        if self.top_p.is_some_and(|share| !(share > 0.0 && share <= 1.0)) {
            return fault("top_p is not above 0 and at most 1; the published Prometheus calls use 0.95".into());
        }
        if self.logprobs == Some(0) {
            return fault("0 alternatives are asked for; --logprobs 5 asks for five, leave it out for none".into());
        }
        if self.stop.iter().any(String::is_empty) {
            return fault("a stop text is empty, which would end every reply at once; leave it out".into());
        }
        if let Some((kind, _)) = self.max_tokens.iter().find(|(_, limit)| **limit == 0) {
            return fault(format!(
                "the token limit of {kind} is 0; give at least 1, or leave {kind} out of --max-tokens"
            ));
        }
        if self.max_tokens_field.is_empty() {
            return fault("--max-tokens-field is empty; it is max_tokens or max_completion_tokens".into());
        }
        for (name, instead) in [
            ("messages", "messages come from the prompt set (--prompts DIR)"),
            ("prompt", "prompts come from the prompt set (--prompts DIR)"),
            ("echo", "a reply must not begin with its prompt"),
            ("model", "give --model NAME"),
            ("stream", "replies are read whole"),
            ("n", "ask several times with --samples K"),
        ] {
            if self.extra_body.contains_key(name) {
                return fault(format!("--extra-body must not set {name:?}; {instead}"));
            }
        }
        Ok(())
    }

    /// The body and the fingerprint of one call.
    ///
    /// Members stand in a fixed order. Chat: model, messages, temperature, `top_p`, limit, response format, seed, stop,
    /// stream, `logprobs`, `top_logprobs`. Raw completions: model, prompt, temperature, `top_p`, `max_tokens`, seed, stop,
    /// stream, `logprobs`. Then the extra ones sorted by name (at every depth).
    pub fn render(&self, kind: CallKind, messages: &Messages, draw: u32, attempt: u32) -> Rendered {
        self.rendered_as(Call { kind, draw, attempt }, messages, None)
    }

    /// The same of a call that was rendered before, as a plan does for the run behind it: `key` is what it had then, and
    /// is not found out again.
    pub fn render_again(
        &self,
        kind: CallKind,
        messages: &Messages,
        (draw, attempt): (u32, u32),
        key: RenderedKey,
    ) -> Rendered {
        self.rendered_as(Call { kind, draw, attempt }, messages, Some(key))
    }

    /// The same of another draw or attempt of the call that gave `other` from these messages; without a seed its body is
    /// the same, and only the key is another.
    pub fn render_like(
        &self,
        kind: CallKind,
        messages: &Messages,
        (draw, attempt): (u32, u32),
        other: &Rendered,
        key: Option<RenderedKey>,
    ) -> Rendered {
        let call = Call { kind, draw, attempt };
        if self.seed.is_some() {
            return self.rendered_as(call, messages, key);
        }
        let fingerprint = key.map_or_else(|| self.key_of(call, messages), |key| key.fingerprint);
        debug_assert_eq!(fingerprint, self.key_of(call, messages), "the key of another call");
        Rendered { fingerprint, is_unpaid: false, ..other.clone() }
    }

    fn rendered_as(&self, call: Call, messages: &Messages, key: Option<RenderedKey>) -> Rendered {
        debug_assert!(key.is_none_or(|key| key.fingerprint == self.key_of(call, messages)), "the key of another call");
        if self.endpoint.is_raw() {
            self.render_raw(call, messages, key)
        } else {
            self.render_chat(call, messages, key)
        }
    }

    fn key_of(&self, call: Call, messages: &Messages) -> Fingerprint {
        match self.endpoint.is_raw() {
            true => self.raw_fingerprint(call, &self.conversation.render(messages, self.neutralise)),
            false => self.fingerprint(call, messages),
        }
    }

    fn render_chat(&self, call: Call, messages: &Messages, key: Option<RenderedKey>) -> Rendered {
        let length = messages.text_len();
        let mut body = Body { bytes: Vec::with_capacity(length + length / 16 + BODY_FRAME), extra: &self.extra_body };
        body.open(&self.model, messages);
        let json_mode = self.json_mode && is_json(call.kind);
        self.sampling(&mut body, call, &self.max_tokens_field, json_mode);
        body.parameter("logprobs", self.logprobs.is_some().then_some(true));
        body.parameter("top_logprobs", self.logprobs);
        let key = key.unwrap_or_else(|| RenderedKey {
            fingerprint: self.fingerprint(call, messages),
            prompt_tokens: estimate_messages(messages),
        });
        self.rendered(body, call, &self.max_tokens_field, key)
    }

    /// The prompt is made here and sent as one text.
    fn render_raw(&self, call: Call, messages: &Messages, key: Option<RenderedKey>) -> Rendered {
        let prompt = self.conversation.render(messages, self.neutralise);
        let room = prompt.len() + prompt.len() / 16 + BODY_FRAME;
        let mut body = Body { bytes: Vec::with_capacity(room), extra: &self.extra_body };
        body.bytes.extend_from_slice(b"{\"model\":");
        write_json(&self.model, &mut body.bytes);
        body.bytes.extend_from_slice(b",\"prompt\":");
        write_json(&prompt, &mut body.bytes);
        self.sampling(&mut body, call, MAX_TOKENS, false);
        body.parameter("logprobs", self.logprobs);
        let key = key.unwrap_or_else(|| RenderedKey {
            fingerprint: self.raw_fingerprint(call, &prompt),
            prompt_tokens: estimate_tokens(&prompt),
        });
        self.rendered(body, call, MAX_TOKENS, key)
    }

    /// What both forms have in common, from the temperature on.
    fn sampling(&self, body: &mut Body<'_>, call: Call, limit_field: &str, json_mode: bool) {
        body.parameter("temperature", self.temperature);
        body.parameter("top_p", self.top_p);
        body.parameter(limit_field, self.max_tokens.get(&call.kind));
        body.parameter("response_format", json_mode.then_some(ResponseFormat::JsonObject));
        body.parameter("seed", self.seed.map(|seed| seed_of(seed, call)));
        body.parameter("stop", Some(&self.stop).filter(|stop| !stop.is_empty()));
        body.parameter("stream", Some(false));
    }

    fn rendered(&self, body: Body<'_>, call: Call, limit_field: &str, key: RenderedKey) -> Rendered {
        let RenderedKey { fingerprint, prompt_tokens } = key;
        let replaced_limit = self.extra_body.get(limit_field).map(Value::as_u64);
        let max_tokens = replaced_limit.unwrap_or(self.max_tokens.get(&call.kind).copied());
        Rendered { body: body.close(), fingerprint, prompt_tokens, max_tokens, note: None, is_unpaid: false }
    }

    fn fingerprint(&self, call: Call, messages: &Messages) -> Fingerprint {
        let mut key = KeyHasher::new(CHAT_ENCODING, messages.text_len() + BODY_FRAME);
        key.part(call.kind.as_str().as_bytes());
        key.part(self.judge_id.as_bytes());
        key.option(messages.system.as_deref().map(str::as_bytes));
        key.part_of(&[messages.shared().map_or("", |shared| shared.text()), messages.own()]);
        self.key_of_sampling(&mut key, call, Some(self.json_mode && is_json(call.kind)));
        // The first version had none of these; a call that uses none is encoded as it was then.
        if self.top_p.is_some() || !self.stop.is_empty() || self.logprobs.is_some() {
            self.key_of_newer(&mut key);
        }
        key.finish()
    }

    /// Of a raw call the whole prompt counts, however it was put together.
    fn raw_fingerprint(&self, call: Call, prompt: &str) -> Fingerprint {
        let mut key = KeyHasher::new(RAW_ENCODING, prompt.len() + BODY_FRAME);
        key.part(call.kind.as_str().as_bytes());
        key.part(self.judge_id.as_bytes());
        key.part(prompt.as_bytes());
        self.key_of_sampling(&mut key, call, None);
        self.key_of_newer(&mut key);
        key.finish()
    }

    fn key_of_sampling(&self, key: &mut KeyHasher, call: Call, json_mode: Option<bool>) {
        key.option(self.temperature.map(bits));
        key.option(self.max_tokens.get(&call.kind).map(|limit| limit.to_le_bytes()));
        if let Some(json_mode) = json_mode {
            key.part(&[u8::from(json_mode)]);
        }
        let mut extra = Vec::new();
        write_sorted_object(&self.extra_body, &mut extra);
        key.part(&extra);
        key.option(self.seed.map(i64::to_le_bytes));
        key.part(&call.draw.to_le_bytes());
        key.part(&call.attempt.to_le_bytes());
    }

    fn key_of_newer(&self, key: &mut KeyHasher) {
        key.option(self.top_p.map(bits));
        let mut stop = Vec::new();
        write_json(&self.stop, &mut stop);
        key.part(&stop);
        key.option(self.logprobs.map(u32::to_le_bytes));
    }
}

/// Adding 0.0 makes -0.0 and 0.0, which are the same temperature, the same bytes.
fn bits(number: f64) -> [u8; 8] {
    (number + 0.0).to_bits().to_le_bytes()
}

/// What tells the calls of one prompt apart.
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

fn seed_of(seed: i64, call: Call) -> i64 {
    seed.wrapping_add(i64::from(call.draw) * SEEDS_PER_DRAW).wrapping_add(i64::from(call.attempt))
}

/// A JSON object on its way to bytes.
struct Body<'a> {
    bytes: Vec<u8>,
    extra: &'a Map<String, Value>,
}

impl Body<'_> {
    fn open(&mut self, model: &str, messages: &Messages) {
        self.bytes.extend_from_slice(b"{\"model\":");
        write_json(&model, &mut self.bytes);
        self.bytes.extend_from_slice(b",\"messages\":[");
        if let Some(system) = &messages.system {
            self.bytes.extend_from_slice(b"{\"role\":\"system\",\"content\":");
            write_json(system, &mut self.bytes);
            self.bytes.extend_from_slice(b"},");
        }
        self.bytes.extend_from_slice(b"{\"role\":\"user\",\"content\":");
        self.user(messages);
        self.bytes.extend_from_slice(b"}]");
    }

    /// The user message as a JSON string; of what is known to be shared the escaped form is kept.
    fn user(&mut self, messages: &Messages) {
        self.bytes.push(b'"');
        if let Some(shared) = messages.shared() {
            self.bytes.extend_from_slice(shared.json(escaped));
        }
        push_escaped(messages.own(), &mut self.bytes);
        self.bytes.push(b'"');
    }

    /// A member, unless there is no value or the extra members bring their own.
    fn parameter(&mut self, name: &str, value: Option<impl Serialize>) {
        let Some(value) = value.filter(|_| !self.extra.contains_key(name)) else { return };
        self.bytes.push(b',');
        write_json(&name, &mut self.bytes);
        self.bytes.push(b':');
        write_json(&value, &mut self.bytes);
    }

    fn close(mut self) -> Bytes {
        if self.extra.is_empty() {
            self.bytes.push(b'}');
        } else {
            let start = self.bytes.len();
            write_sorted_object(self.extra, &mut self.bytes);
            // The object's own opening brace becomes the comma after our members.
            self.bytes[start] = b',';
        }
        Bytes::from(self.bytes)
    }
}

#[cfg(test)]
mod tests;
