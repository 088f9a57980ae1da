//! Chat bodies: rendered once to canonical bytes, hashed, sent as they are.
//!
//! The body is written straight from borrowed texts (a run renders 1e5 bodies of 13 kB; async-openai's request type
//! would own a copy of each text). That it reads back as that type is tested below.
//!
//! The fingerprint is blake3 over the name and version of the encoding and then each part with its length in front, so
//! that no two different calls can run together into the same bytes. It does not hold URL, key, model alias (the
//! judge's identity covers it) or the name of the limit field, so that the same judge under another address finds its
//! replies again.

mod canonical;

use std::collections::BTreeMap;

use async_openai::types::chat::ResponseFormat;
use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};

use self::canonical::{KeyHasher, escaped, write_json, write_sorted_object};
use super::Rendered;
use super::tokens::estimate_messages;
use crate::domain::{CallKind, Fingerprint};
use crate::error::{Error, Result};
use crate::prompt::Messages;

/// The reply limit of kinds that answer with one number.
const SCORE_TOKENS: u64 = 100;
/// How far the seeds of two draws are apart, so that attempts (counted by one) of different draws never meet.
const SEEDS_PER_DRAW: i64 = 1000;
/// Room for the parameters around the texts of a body.
const BODY_FRAME: usize = 512;

/// What is sent besides the messages.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatOptions {
    /// The model's name as the server knows it.
    pub model: String,
    /// Sampling temperature; `None` sends none (`--no-temperature`).
    pub temperature: Option<f64>,
    /// Base seed; `None` sends none. Draw d and attempt a send `seed + 1000 d + a`.
    pub seed: Option<i64>,
    /// Whether to ask for `response_format: json_object`.
    pub json_mode: bool,
    /// The reply limit in tokens of each kind; no entry, no limit.
    pub max_tokens: BTreeMap<CallKind, u64>,
    /// The name of the limit field: `max_tokens` or `max_completion_tokens`.
    pub max_tokens_field: String,
    /// Further members of the body; one of the same name as a parameter of ours replaces it.
    pub extra_body: Map<String, Value>,
    /// The judge's identity, part of every fingerprint (see `judge::identity::judge_id`).
    pub judge_id: String,
}

impl ChatOptions {
    /// The reference's parameters for `model`: temperature 0, JSON mode, 100 tokens for scores, no limit for claims,
    /// no seed. The judge's identity is the model's name until the server has been asked.
    pub fn new(model: impl Into<String>) -> Self {
        let model = model.into();
        let scores = [CallKind::Expertise, CallKind::Property, CallKind::Evidence];
        Self {
            judge_id: model.clone(),
            model,
            temperature: Some(0.0),
            seed: None,
            json_mode: true,
            max_tokens: scores.into_iter().map(|kind| (kind, SCORE_TOKENS)).collect(),
            max_tokens_field: "max_tokens".to_owned(),
            extra_body: Map::new(),
        }
    }

    /// Checks what would only fail, or cost, at the first call.
    ///
    /// # Errors
    /// [`Error::Settings`] for an empty model name, a temperature that is no number >= 0, a limit of 0, an empty limit
    /// field, and extra members that would break how replies are read (`messages`, `model`, `stream`, `n`).
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
    /// Members stand in a fixed order: model, messages, temperature, limit, response format, seed, stream, then the
    /// extra ones sorted by name (at every depth).
    pub fn render(&self, kind: CallKind, messages: &Messages, draw: u32, attempt: u32) -> Rendered {
        let system = messages.system.as_deref();
        let max_tokens = self.max_tokens.get(&kind).copied();
        let length = system.map_or(0, str::len) + messages.user.len();
        let mut body = Body { bytes: Vec::with_capacity(length + length / 16 + BODY_FRAME), extra: &self.extra_body };
        body.open(&self.model, messages);
        body.parameter("temperature", self.temperature);
        body.parameter(&self.max_tokens_field, max_tokens);
        body.parameter("response_format", self.json_mode.then_some(ResponseFormat::JsonObject));
        body.parameter("seed", self.seed.map(|seed| seed_of(seed, draw, attempt)));
        body.parameter("stream", Some(false));
        let replaced_limit = self.extra_body.get(&self.max_tokens_field).map(Value::as_u64);
        Rendered {
            body: body.close(),
            fingerprint: self.fingerprint(kind, messages, draw, attempt),
            prompt_tokens: estimate_messages(messages),
            max_tokens: replaced_limit.unwrap_or(max_tokens),
        }
    }

    fn fingerprint(&self, kind: CallKind, messages: &Messages, draw: u32, attempt: u32) -> Fingerprint {
        let texts = messages.system.as_deref().map_or(0, str::len) + messages.user.len();
        let mut key = KeyHasher::new(texts + BODY_FRAME);
        key.part(kind.as_str().as_bytes());
        key.part(self.judge_id.as_bytes());
        key.option(messages.system.as_deref().map(str::as_bytes));
        key.part(messages.user.as_bytes());
        // Adding 0.0 makes -0.0 and 0.0, which are the same temperature, the same bytes.
        key.option(self.temperature.map(|t| (t + 0.0).to_bits().to_le_bytes()));
        key.option(self.max_tokens.get(&kind).map(|limit| limit.to_le_bytes()));
        key.part(&[u8::from(self.json_mode)]);
        let mut extra = Vec::new();
        write_sorted_object(&self.extra_body, &mut extra);
        key.part(&extra);
        key.option(self.seed.map(i64::to_le_bytes));
        key.part(&draw.to_le_bytes());
        key.part(&attempt.to_le_bytes());
        key.finish()
    }
}

fn seed_of(seed: i64, draw: u32, attempt: u32) -> i64 {
    seed.wrapping_add(i64::from(draw) * SEEDS_PER_DRAW).wrapping_add(i64::from(attempt))
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
        let user = messages.user.as_str();
        let shared = messages.shared.as_deref().and_then(|shared| Some((shared, user.strip_prefix(shared.text())?)));
        match shared {
            None => write_json(&user, &mut self.bytes),
            Some((shared, own)) => {
                self.bytes.push(b'"');
                self.bytes.extend_from_slice(shared.json(escaped));
                let quote = self.bytes.len();
                write_json(&own, &mut self.bytes);
                self.bytes.remove(quote);
            }
        }
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
mod tests {
    use std::sync::Arc;

    use async_openai::types::chat::CreateChatCompletionRequest;
    use serde_json::json;

    use super::*;
    use crate::prompt::SharedPrefix;

    fn messages() -> Messages {
        Messages::new(Some("be \"fair\"".into()), "rate\nthis \u{e9}")
    }

    fn body(options: &ChatOptions, kind: CallKind) -> String {
        String::from_utf8(options.render(kind, &messages(), 0, 0).body.to_vec()).unwrap()
    }

    fn key(change: impl FnOnce(&mut ChatOptions)) -> Fingerprint {
        let mut options = ChatOptions::new("m");
        change(&mut options);
        options.render(CallKind::Property, &messages(), 0, 0).fingerprint
    }

    #[test]
    fn the_body_has_a_fixed_order() {
        let mut options = ChatOptions::new("m");
        options.seed = Some(7);
        assert_eq!(
            body(&options, CallKind::Property),
            concat!(
                r#"{"model":"m","messages":[{"role":"system","content":"be \"fair\""},"#,
                r#"{"role":"user","content":"rate\nthis é"}],"temperature":0.0,"max_tokens":100,"#,
                r#""response_format":{"type":"json_object"},"seed":7,"stream":false}"#
            )
        );
    }

    #[test]
    fn the_body_is_what_async_openai_would_send() {
        let mut options = ChatOptions::new("m");
        options.seed = Some(7);
        let ours = body(&options, CallKind::Property);
        let request: CreateChatCompletionRequest = serde_json::from_str(&ours).unwrap();
        let theirs = serde_json::to_value(&request).unwrap();
        assert_eq!(theirs, serde_json::from_str::<Value>(&ours).unwrap());
    }

    #[test]
    fn what_is_switched_off_is_not_sent() {
        let mut options = ChatOptions::new("m");
        options.temperature = None;
        options.json_mode = false;
        let sent: Value = serde_json::from_str(&body(&options, CallKind::Citations)).unwrap();
        let names: Vec<&String> = sent.as_object().unwrap().keys().collect();
        assert_eq!(names, ["model", "messages", "stream"]);
    }

    #[test]
    fn extra_members_are_sorted_and_replace_ours() {
        let mut options = ChatOptions::new("m");
        options.max_tokens_field = "max_completion_tokens".into();
        let extra =
            json!({"z": 1, "a": {"d": [{"y": 1, "x": 2}], "c": null}, "temperature": 1, "max_completion_tokens": 9});
        options.extra_body = extra.as_object().unwrap().clone();
        let sent = body(&options, CallKind::Property);
        assert!(
            sent.ends_with(concat!(
                r#""response_format":{"type":"json_object"},"stream":false,"#,
                r#""a":{"c":null,"d":[{"x":2,"y":1}]},"max_completion_tokens":9,"temperature":1,"z":1}"#
            )),
            "{sent}"
        );
        assert!(serde_json::from_str::<Value>(&sent).is_ok());
        assert_eq!(options.render(CallKind::Property, &messages(), 0, 0).max_tokens, Some(9));
    }

    #[test]
    fn draws_and_attempts_change_the_seed_that_is_sent() {
        let mut options = ChatOptions::new("m");
        options.seed = Some(5);
        let sent = |draw, attempt| {
            let rendered = options.render(CallKind::Property, &messages(), draw, attempt);
            serde_json::from_slice::<Value>(&rendered.body).unwrap()["seed"].as_i64()
        };
        // 5 + 1000 draw + attempt
        assert_eq!([sent(0, 0), sent(0, 2), sent(3, 1)], [Some(5), Some(7), Some(3006)]);
    }

    #[test]
    fn a_shared_start_changes_neither_body_nor_fingerprint() {
        let options = ChatOptions::new("m");
        let (system, user) = (Some("be \"fair\"".to_owned()), "\"a\"\n\u{1}\u{e9}</x> \\ b");
        let plain = options.render(CallKind::Property, &Messages::new(system.clone(), user), 0, 0);
        for end in (0..=user.len()).filter(|end| user.is_char_boundary(*end)) {
            let shared = Some(Arc::new(SharedPrefix::new(&user[..end])));
            let messages = Messages { system: system.clone(), user: user.to_owned(), shared };
            for _first_and_again in 0..2 {
                let rendered = options.render(CallKind::Property, &messages, 0, 0);
                assert_eq!((rendered.body, rendered.fingerprint), (plain.body.clone(), plain.fingerprint));
            }
        }
    }

    #[test]
    fn the_encoding_of_fingerprints_is_the_one_that_caches_were_filled_with() {
        // blake3 fed part by part, as the first version did it
        let part = |hasher: &mut blake3::Hasher, part: &[u8]| {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        };
        let mut hasher = blake3::Hasher::new();
        part(&mut hasher, b"scholareval chat call 1");
        part(&mut hasher, b"property");
        part(&mut hasher, b"m");
        hasher.update(&[1]);
        part(&mut hasher, b"be \"fair\"");
        part(&mut hasher, "rate\nthis \u{e9}".as_bytes());
        hasher.update(&[1]);
        part(&mut hasher, &0.0_f64.to_bits().to_le_bytes());
        hasher.update(&[1]);
        part(&mut hasher, &100_u64.to_le_bytes());
        part(&mut hasher, &[1]);
        part(&mut hasher, b"{}");
        hasher.update(&[0]);
        part(&mut hasher, &2_u32.to_le_bytes());
        part(&mut hasher, &1_u32.to_le_bytes());
        let rendered = ChatOptions::new("m").render(CallKind::Property, &messages(), 2, 1);
        assert_eq!(rendered.fingerprint, Fingerprint::from(hasher.finalize()));
    }

    #[test]
    fn the_fingerprint_covers_what_shapes_the_reply() {
        let base = key(|_| {});
        let changed = [
            key(|o| o.judge_id = "other".into()),
            key(|o| o.temperature = None),
            key(|o| o.temperature = Some(0.5)),
            key(|o| o.json_mode = false),
            key(|o| o.seed = Some(0)),
            key(|o| {
                o.max_tokens.insert(CallKind::Property, 50);
            }),
            key(|o| {
                o.max_tokens.remove(&CallKind::Property);
            }),
            key(|o| {
                o.extra_body.insert("top_p".into(), json!(0.5));
            }),
        ];
        let options = ChatOptions::new("m");
        let calls = [
            options.render(CallKind::Evidence, &messages(), 0, 0),
            options.render(CallKind::Property, &messages(), 1, 0),
            options.render(CallKind::Property, &messages(), 0, 1),
            options.render(CallKind::Property, &Messages::new(None, messages().user), 0, 0),
        ];
        let mut all: Vec<Fingerprint> = changed.into_iter().chain(calls.map(|call| call.fingerprint)).collect();
        all.push(base);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 13, "8 options + 4 calls + the base, all different");
    }

    #[test]
    fn the_fingerprint_does_not_cover_names_and_other_kinds() {
        let base = key(|_| {});
        assert_eq!(base, key(|o| o.model = "alias".into()));
        assert_eq!(base, key(|o| o.max_tokens_field = "max_completion_tokens".into()));
        assert_eq!(
            base,
            key(|o| {
                o.max_tokens.insert(CallKind::Citations, 9);
            })
        );
        assert_eq!(base, key(|o| o.temperature = Some(-0.0)));
    }

    #[test]
    fn text_cannot_move_between_the_parts_of_a_fingerprint() {
        let options = ChatOptions::new("m");
        let key = |system: Option<&str>, user: &str| {
            let messages = Messages::new(system.map(str::to_owned), user);
            options.render(CallKind::Property, &messages, 0, 0).fingerprint
        };
        assert_ne!(key(Some("ab"), "c"), key(Some("a"), "bc"));
        assert_ne!(key(Some(""), "a"), key(None, "a"));
    }

    #[test]
    fn members_that_would_break_reading_are_refused() {
        for name in ["messages", "model", "stream", "n"] {
            let mut options = ChatOptions::new("m");
            options.extra_body.insert(name.into(), json!(1));
            assert!(options.check().unwrap_err().to_string().contains(name));
        }
        assert!(ChatOptions::new(" ").check().is_err());
        assert!(ChatOptions::new("m").check().is_ok());
    }
}
