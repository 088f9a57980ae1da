//! What comes back, read leniently: servers differ in all but the text of the message.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::logprobs::token_logprobs;
use crate::domain::{JudgeReply, Usage};

/// A completion, of a chat or raw, or an error under status 200. Unknown members are let be, missing ones have a default.
#[derive(Debug, serde::Deserialize)]
pub(super) struct WireReply {
    /// `None` if the member is missing: then it is no completion at all.
    #[serde(default)]
    choices: Option<Vec<WireChoice>>,
    #[serde(default, deserialize_with = "text_or_none")]
    model: Option<String>,
    #[serde(default)]
    usage: Value,
    #[serde(default)]
    timings: Value,
    #[serde(default)]
    error: Value,
}

#[derive(Debug, Default, serde::Deserialize)]
struct WireChoice {
    /// Chat.
    #[serde(default)]
    message: Option<WireMessage>,
    /// Raw completions.
    #[serde(default)]
    text: Content,
    #[serde(default)]
    logprobs: Value,
    #[serde(default, deserialize_with = "text_or_none")]
    finish_reason: Option<String>,
}

#[derive(Debug, serde::Deserialize)]
struct WireMessage {
    #[serde(default)]
    content: Content,
}

impl WireReply {
    /// The error that stands in the place of a reply: the `error` member (of a body without choices).
    pub(super) fn error(&self) -> Option<&Value> {
        let is_empty = self.choices.as_ref().is_none_or(Vec::is_empty);
        Some(&self.error).filter(|error| is_empty && !error.is_null())
    }

    /// False if the body has no `choices`: something else than a judge answered.
    pub(super) fn is_completion(&self) -> bool {
        self.choices.is_some()
    }

    /// The reply; the first choice counts. No choice or null content give empty text: the call is paid all the same.
    pub(super) fn into_reply(self, latency_ms: u64) -> JudgeReply {
        let usage = self.usage();
        let choice = self.choices.unwrap_or_default().into_iter().next().unwrap_or_default();
        JudgeReply {
            content: choice.message.map_or(choice.text.0, |message| message.content.0),
            finish_reason: choice.finish_reason,
            model: self.model,
            logprobs: token_logprobs(&choice.logprobs),
            usage,
            latency_ms,
            note: None,
            cached: false,
        }
    }

    fn usage(&self) -> Usage {
        let cached = [
            self.usage.pointer("/prompt_tokens_details/cached_tokens"),
            self.usage.get("prompt_cache_hit_tokens"),
            self.timings.get("cache_n"),
        ];
        Usage {
            prompt_tokens: count(self.usage.get("prompt_tokens")),
            cached_prompt_tokens: cached.into_iter().map(count).find(|&tokens| tokens > 0).unwrap_or(0),
            completion_tokens: count(self.usage.get("completion_tokens")),
        }
    }
}

/// The error that a body holds in the place of a reply, if it does.
pub(super) fn error_in_place_of_reply(body: &[u8]) -> Option<Value> {
    serde_json::from_slice::<WireReply>(body).ok()?.error().cloned()
}

/// A whole number >= 0, however written; 0 for anything else.
fn count(value: Option<&Value>) -> u64 {
    let Some(value) = value else { return 0 };
    // `as` saturates: a negative or broken number becomes 0.
    value.as_u64().or_else(|| value.as_f64().map(|number| number as u64)).unwrap_or(0)
}

fn text_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => Some(text),
        _ => None,
    })
}

/// Message text: a string, null, or a list of parts with a `text`.
#[derive(Debug, Default)]
struct Content(String);

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the text of a message, null, or a list of text parts")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Content, E> {
        Ok(Content(text.to_owned()))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<Content, E> {
        Ok(Content(text))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Content, E> {
        Ok(Content::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Content, A::Error> {
        let mut text = String::new();
        while let Some(part) = parts.next_element::<Value>()? {
            if let Some(part) = part.as_str().or_else(|| part.get("text").and_then(Value::as_str)) {
                text.push_str(part);
            }
        }
        Ok(Content(text))
    }

    // Some servers parse the model's JSON and send it as such; its text is as good as the original.
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Content, A::Error> {
        let object = Value::deserialize(de::value::MapAccessDeserializer::new(map))?;
        Ok(Content(object.to_string()))
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<Content, E> {
        Ok(Content::default())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Content, E> {
        Ok(Content(number.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(body: &str) -> JudgeReply {
        serde_json::from_str::<WireReply>(body).unwrap().into_reply(3)
    }

    #[test]
    fn a_whole_reply_is_read() {
        let reply = reply(
            r#"{"id":"x","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant",
            "content":"{\"score\": 3}"}}],"usage":{"prompt_tokens":12,"completion_tokens":4,
            "prompt_tokens_details":{"cached_tokens":8}}}"#,
        );
        assert_eq!(reply.content, "{\"score\": 3}");
        assert_eq!((reply.finish_reason.as_deref(), reply.model.as_deref()), (Some("stop"), Some("m")));
        assert_eq!(reply.usage, Usage { prompt_tokens: 12, cached_prompt_tokens: 8, completion_tokens: 4 });
        assert_eq!(reply.latency_ms, 3);
    }

    #[test]
    fn a_raw_completion_is_read() {
        let reply = reply(
            r#"{"object":"text_completion","model":"m","choices":[{"index":0,"text":" Attributable","finish_reason":"length",
            "logprobs":null,"stop_reason":null}],"usage":{"prompt_tokens":12,"completion_tokens":4}}"#,
        );
        assert_eq!((reply.content.as_str(), reply.is_cut()), (" Attributable", true));
        assert_eq!((reply.usage.prompt_tokens, reply.logprobs), (12, None));
    }

    #[test]
    fn probabilities_come_with_either_form() {
        let tokens =
            |body: &str| reply(body).logprobs.unwrap().into_iter().map(|token| token.token).collect::<String>();
        let raw = r#"{"choices":[{"text":"a7","logprobs":{"tokens":["a","7"],"token_logprobs":[-1,-2],"top_logprobs":null}}]}"#;
        assert_eq!(tokens(raw), "a7");
        let chat = r#"{"choices":[{"message":{"content":"a7"},"logprobs":{"content":[{"token":"a7","logprob":-1}]}}]}"#;
        assert_eq!(tokens(chat), "a7");
        assert_eq!(reply(r#"{"choices":[{"text":"x","logprobs":"none"}]}"#).logprobs, None);
    }

    #[test]
    fn what_servers_leave_out_or_write_otherwise_is_no_error() {
        assert_eq!(reply(r#"{"choices":[]}"#), JudgeReply { latency_ms: 3, ..JudgeReply::default() });
        assert_eq!(reply(r#"{"choices":[{"message":{"content":null},"finish_reason":7}]}"#).content, "");
        assert_eq!(reply(r#"{"choices":[{"message":null}],"usage":null,"error":null}"#).content, "");
        assert_eq!(
            reply(r#"{"choices":[{"message":{"content":[{"type":"text","text":"a"},"b",{"x":1}]}}]}"#).content,
            "ab"
        );
        assert_eq!(reply(r#"{"choices":[{"message":{"content":{"score":1}}}]}"#).content, r#"{"score":1}"#);
        assert_eq!(reply(r#"{"choices":[],"usage":"none"}"#).usage, Usage::default());
    }

    #[test]
    fn cached_tokens_are_found_where_each_server_puts_them() {
        for usage in [
            r#""usage":{"prompt_tokens_details":{"cached_tokens":5}}"#,
            r#""usage":{"prompt_tokens_details":null,"prompt_cache_hit_tokens":5.0}"#,
            r#""usage":{},"timings":{"cache_n":5,"prompt_n":2}"#,
        ] {
            assert_eq!(reply(&format!(r#"{{"choices":[],{usage}}}"#)).usage.cached_prompt_tokens, 5, "{usage}");
        }
    }

    #[test]
    fn an_error_counts_only_where_there_is_no_choice() {
        let error = |body: &str| serde_json::from_str::<WireReply>(body).unwrap().error().is_some();
        assert!(error(r#"{"error":{"code":502}}"#) && error(r#"{"choices":[],"error":"x"}"#));
        assert!(!error(r#"{"choices":[{}],"error":{"code":502}}"#) && !error(r#"{"choices":[],"error":null}"#));
    }
}
