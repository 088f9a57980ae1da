//! Replies that come token by token (server-sent events), put together into the body that would have come whole.
//!
//! Wire format: lines `data: {chunk}`, blank lines between, `data: [DONE]` at the end (WHATWG HTML, "Server-sent events";
//! OpenAI, "Streaming"). A chunk looks like a completion whose `message` is a `delta`; raw completions carry a piece of
//! `text`. With `stream_options.include_usage` the last chunk holds the usage and no choice. llama.cpp adds `timings`.

use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use memchr::memmem;
use serde_json::{Map, Value, json};

use super::reply::{MENDED, mended, reasoning_of, text_of};

/// How bodies are rendered, and how a stream is asked for. The member cannot stand inside a JSON string, where its
/// quotes would have a backslash, and nothing of the user's comes before it ([`crate::judge::body`]).
const WHOLE: &[u8] = br#","stream":false"#;
const STREAM: &[u8] = br#","stream":true,"stream_options":{"include_usage":true}"#;
/// The end of a body comes right behind the last event.
const END_OF_STREAM: Duration = Duration::from_secs(1);
/// The usage comes soon behind the last token.
const USAGE: Duration = Duration::from_secs(5);
/// Present if the user sets options of streams.
const OPTIONS: &[u8] = br#","stream_options":"#;

/// The same body asking for a stream with usage; `None` if it does not say that it wants the reply whole, or has options
/// for streams already.
pub(super) fn requested(body: &Bytes) -> Option<Bytes> {
    let at = memmem::find(body, WHOLE)?;
    let (before, rest) = (body.get(..at)?, body.get(at + WHOLE.len()..)?);
    if memmem::find(rest, OPTIONS).is_some() {
        return None;
    }
    Some(Bytes::from([before, STREAM, rest].concat()))
}

/// True for a response that is a stream of events. (A server that does not stream answers with JSON.)
pub(super) fn is_event_stream(headers: &HeaderMap) -> bool {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    kind.trim_start()
        .to_ascii_lowercase()
        .starts_with("text/event-stream")
}

/// A reply that is being received.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    /// The line that is not whole yet.
    line: Vec<u8>,
    /// Data of an event of several lines, until they are JSON together.
    event: Vec<u8>,
    /// A chunk had a list of choices, possibly empty: a judge is answering.
    has_choices: bool,
    /// What came without choices and had a message: servers that fail write such a thing in place of a chunk.
    stray: Option<Value>,
    content: String,
    reasoning: String,
    refusal: String,
    finish_reason: Value,
    logprobs: Map<String, Value>,
    /// The last of each of the chunks' other members: `model`, `system_fingerprint`, `usage`, `timings`, `error`.
    members: Map<String, Value>,
    is_raw: bool,
    is_done: bool,
    /// A chunk could not be read: what is there is not what was sent.
    is_broken: bool,
}

impl Assembly {
    /// Takes the next bytes. Lines end with a line feed, a carriage return or both; JSON has neither within a string.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let mut pieces = bytes.split(|byte| matches!(byte, b'\n' | b'\r'));
        self.line
            .extend_from_slice(pieces.next().unwrap_or_default());
        for piece in pieces {
            let line = std::mem::replace(&mut self.line, piece.to_vec());
            self.read_line(&line);
        }
    }

    /// How long it is worth to read on once the text is there to its end; `None` before.
    pub(super) fn rest(&self) -> Option<Duration> {
        self.is_whole()
            .then_some(if self.is_done { END_OF_STREAM } else { USAGE })
    }

    /// True once the text is there to its end, since the server has reported why it stopped; the usage may still come. (Some
    /// write an empty reason into each chunk.)
    fn is_whole(&self) -> bool {
        self.is_done
            || self
                .finish_reason
                .as_str()
                .is_some_and(|reason| !reason.is_empty())
    }

    /// The body as it would have come whole; `None` if the reply was cut. An end without `[DONE]` counts where the server
    /// has reported why it stopped; an error in place of the rest is the body.
    pub(super) fn finish(mut self) -> Option<Bytes> {
        let line = std::mem::take(&mut self.line);
        self.read_line(&line);
        self.end_event();
        let is_reply = self.has_choices && !self.is_broken && self.is_whole();
        let body = match (
            self.members.remove("error"),
            self.stray.take().filter(|_| !self.has_choices),
        ) {
            (Some(error), _) | (None, Some(error)) => json!({"error": error}),
            (None, None) if is_reply => self.whole(),
            (None, None) => return None,
        };
        Some(Bytes::from(body.to_string()))
    }

    fn whole(self) -> Value {
        let logprobs = if self.logprobs.is_empty() {
            Value::Null
        } else {
            Value::Object(self.logprobs)
        };
        let mut choice =
            json!({"index": 0, "logprobs": logprobs, "finish_reason": self.finish_reason});
        if self.is_raw {
            choice["text"] = self.content.into();
        } else {
            choice["message"] =
                json!({"role": "assistant", "content": self.content, "refusal": self.refusal});
            if !self.reasoning.is_empty() {
                choice["message"]["reasoning_content"] = self.reasoning.into();
            }
        }
        let mut body = Value::Object(self.members);
        body["choices"] = json!([choice]);
        body
    }

    fn read_line(&mut self, line: &[u8]) {
        let line = line
            .strip_prefix(b"\xef\xbb\xbf")
            .unwrap_or(line)
            .trim_ascii();
        // Comments (keep-alives) and event names carry nothing; llama.cpp has written `error:` lines.
        let Some(data) = line
            .strip_prefix(b"data:")
            .or_else(|| line.strip_prefix(b"error:"))
        else {
            return;
        };
        let data = data.trim_ascii();
        if data == b"[DONE]" {
            self.end_event();
            self.is_done = true;
            return;
        }
        // Most events are one line. Lines of others are joined until they can be read, whatever stands between them.
        let is_first = self.event.is_empty();
        self.event.extend_from_slice(data);
        self.event.push(b'\n');
        // Mending takes its time, so it is tried once: of an event of one line.
        let mended = || is_first.then(|| mended(&self.event).ok()).flatten();
        if let Some(Value::Object(mut chunk)) =
            serde_json::from_slice(&self.event).ok().or_else(mended)
        {
            self.event.clear();
            if line.starts_with(b"error:") && !chunk.contains_key("error") {
                chunk = Map::from_iter([("error".to_owned(), Value::Object(chunk))]);
            }
            self.read_chunk(chunk);
        }
    }

    /// What could not be read is missing, unless the text was there before.
    fn end_event(&mut self) {
        self.is_broken |= !self.event.is_empty() && !self.is_whole();
        self.event.clear();
    }

    fn read_chunk(&mut self, mut chunk: Map<String, Value>) {
        if self.is_whole() {
            // An error after the whole reply does not concern it; the reply is paid for.
            chunk.remove("error");
        }
        if chunk.contains_key("choices") {
            self.has_choices = true;
        } else if chunk.contains_key("message") {
            self.stray = Some(Value::Object(chunk.clone()));
        }
        for name in [
            "model",
            "system_fingerprint",
            "usage",
            "timings",
            "error",
            MENDED,
        ] {
            if let Some(value) = chunk.remove(name).filter(|value| !value.is_null()) {
                self.members.insert(name.to_owned(), value);
            }
        }
        // The first choice counts, as in whole replies; the chunk with the usage has none.
        let Some(choice) = chunk.get("choices").and_then(|choices| choices.get(0)) else {
            return;
        };
        if choice["index"].as_u64().unwrap_or(0) != 0 {
            return;
        }
        let text = choice["text"].as_str();
        self.is_raw |= text.is_some();
        let delta = &choice["delta"];
        self.content.push_str(text.unwrap_or_default());
        self.content.push_str(&text_of(&delta["content"]));
        self.reasoning
            .push_str(&reasoning_of(delta).unwrap_or_default());
        self.refusal
            .push_str(delta["refusal"].as_str().unwrap_or_default());
        if !choice["finish_reason"].is_null() {
            self.finish_reason = choice["finish_reason"].clone();
        }
        for (name, value) in choice["logprobs"].as_object().into_iter().flatten() {
            // Both forms of probabilities are lists under names: each continues where it ended.
            if let Value::Array(values) = value
                && let Value::Array(list) = self.logprobs.entry(name).or_insert(json!([]))
            {
                list.extend(values.iter().cloned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::reply::read_reply;
    use super::*;
    use crate::domain::CallKind;
    use crate::judge::body::RequestOptions;
    use crate::prompt::Messages;

    const CHAT: &str = "data: {\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":null}}]}\n\n\
        : keep-alive\n\
        data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"{\\\"score\\\"\"},\"logprobs\":{\"content\":[{\"token\":\"a\"}]}}]}\r\n\r\n\
        data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\": caf\u{e9}}\"},\"logprobs\":{\"content\":[{\"token\":\"b\"}]},\"finish_reason\":\"stop\"}]}\n\n\
        data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2},\"timings\":{\"cache_n\":4}}\n\n\
        data: [DONE]\n\n";

    fn read(stream: &str) -> Option<Value> {
        let mut assembly = Assembly::default();
        assembly.push(stream.as_bytes());
        assembly
            .finish()
            .map(|body| serde_json::from_slice(&body).unwrap())
    }

    fn whole_chat() -> Value {
        json!({"model": "m",
            "choices": [{"index": 0, "logprobs": {"content": [{"token": "a"}, {"token": "b"}]}, "finish_reason": "stop",
                "message": {"role": "assistant", "content": "{\"score\": caf\u{e9}}", "refusal": ""}}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 2}, "timings": {"cache_n": 4}})
    }

    #[test]
    fn a_chat_is_put_together_with_usage_and_probabilities() {
        assert_eq!(read(CHAT), Some(whole_chat()));
    }

    proptest! {
        #[test]
        fn it_does_not_matter_where_the_stream_is_cut_into_packets(cuts in proptest::collection::vec(0..CHAT.len(), 0..20)) {
            let mut cuts = cuts;
            cuts.extend([0, CHAT.len()]);
            cuts.sort_unstable();
            let mut assembly = Assembly::default();
            cuts.windows(2).for_each(|pair| assembly.push(&CHAT.as_bytes()[pair[0]..pair[1]]));
            prop_assert!(assembly.is_done);
            prop_assert_eq!(serde_json::from_slice::<Value>(&assembly.finish().unwrap()).unwrap(), whole_chat());
        }
    }

    #[test]
    fn a_raw_completion_is_put_together() {
        let whole = read(
            "data: {\"choices\":[{\"text\":\" Attri\",\"logprobs\":{\"tokens\":[\" Attri\"],\"token_logprobs\":[-1.0]}}]}\n\
             data: {\"choices\":[{\"text\":\"butable\",\"logprobs\":{\"tokens\":[\"butable\"],\"token_logprobs\":[-2.0]},\"finish_reason\":\"length\"}]}\n",
        );
        let choice = &whole.unwrap()["choices"][0];
        assert_eq!(
            (&choice["text"], &choice["finish_reason"]),
            (&json!(" Attributable"), &json!("length"))
        );
        assert_eq!(
            choice["logprobs"],
            json!({"tokens": [" Attri", "butable"], "token_logprobs": [-1.0, -2.0]})
        );
    }

    #[test]
    fn a_cut_or_broken_stream_is_no_reply() {
        assert_eq!(read(""), None);
        assert_eq!(
            read("data: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n"),
            None
        );
        assert_eq!(
            read("data: {\"choi\n\ndata: [DONE]\n"),
            None,
            "a piece is missing"
        );
    }

    #[test]
    fn lines_may_end_in_any_way_and_events_may_have_several() {
        let pretty = CHAT
            .lines()
            .map(|line| {
                match line
                    .strip_prefix("data: ")
                    .map(serde_json::from_str::<Value>)
                {
                    Some(Ok(chunk)) => {
                        format!(
                            "data: {}",
                            serde_json::to_string_pretty(&chunk)
                                .unwrap()
                                .replace('\n', "\ndata: ")
                        )
                    }
                    _ => line.to_owned(),
                }
            })
            .collect::<Vec<_>>()
            .join("\n");
        assert!(pretty.contains("data: {\ndata: "), "{pretty}");
        for text in [CHAT, &pretty] {
            let text = text.replace("\r\n", "\n");
            for end in ["\n", "\r\n", "\r"] {
                assert_eq!(
                    read(&text.replace('\n', end)),
                    Some(whole_chat()),
                    "{end:?}"
                );
                let mut by_bytes = Assembly::default();
                text.replace('\n', end)
                    .bytes()
                    .for_each(|byte| by_bytes.push(&[byte]));
                assert_eq!(
                    serde_json::from_slice::<Value>(&by_bytes.finish().unwrap()).unwrap(),
                    whole_chat(),
                    "{end:?}"
                );
            }
        }
    }

    #[test]
    fn what_goes_wrong_behind_the_whole_text_costs_no_reply() {
        let text =
            "data: {\"choices\":[{\"delta\":{\"content\":\"7\"},\"finish_reason\":\"stop\"}]}\n\n";
        for end in [
            "data: {\"choices\":[],\"usa",
            "data: nothing\n\ndata: [DONE]\n",
            "data: {\"error\":{\"code\":500}}\n\n",
        ] {
            let whole = read(&format!("{text}{end}"));
            assert_eq!(
                whole.unwrap_or_default()["choices"][0]["message"]["content"],
                json!("7"),
                "{end}"
            );
        }
        let empty = text.replace("stop", "");
        assert_eq!(read(&empty), None, "an empty reason says nothing");
    }

    #[test]
    fn the_usage_is_read_behind_the_end_too() {
        let text = "data: {\"choices\":[{\"delta\":{\"content\":\"7\"}}]}\n\ndata: [DONE]\n\n";
        let whole = read(&format!(
            "{text}data: {{\"choices\":[],\"usage\":{{\"prompt_tokens\":5}}}}\n\n"
        ));
        assert_eq!(whole.unwrap()["usage"], json!({"prompt_tokens": 5}));
    }

    #[test]
    fn an_end_without_any_choice_is_no_empty_reply() {
        let error = json!({"object": "error", "message": "engine dead", "code": 500});
        for events in [
            format!("data: {error}\n\ndata: [DONE]\n\n"),
            format!("event: error\ndata: {error}\n\n"),
        ] {
            assert_eq!(read(&events), Some(json!({"error": error})), "{events}");
        }
        assert_eq!(read("data: [DONE]\n\n"), None);
    }

    #[test]
    fn refusals_and_numbers_come_through() {
        let reply = |delta: &str| {
            let end = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n";
            let whole = read(&format!(
                "data: {{\"choices\":[{{\"delta\":{delta}}}]}}\n{end}"
            ))
            .unwrap();
            read_reply(&whole, 0).unwrap()
        };
        let refused = reply(r#"{"refusal":"I cannot."}"#);
        assert_eq!(
            (refused.content.as_str(), refused.finish_reason.as_deref()),
            ("I cannot.", Some("refusal"))
        );
        assert_eq!(reply(r#"{"content":7}"#).content, "7");
        let mended = reply(r#"{"content":"x\ud800"}"#);
        assert_eq!(
            (mended.content.as_str(), mended.note.is_some()),
            ("x\u{fffd}", true)
        );
    }

    #[test]
    fn an_error_within_the_stream_is_the_reply() {
        let half = "data: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n";
        for end in [
            "data: {\"error\":{\"code\":503}}\n\ndata: [DONE]\n",
            "error: {\"code\":503}\n",
        ] {
            assert_eq!(
                read(&format!("{half}{end}")),
                Some(json!({"error": {"code": 503}})),
                "{end}"
            );
        }
    }

    #[test]
    fn only_our_own_word_about_streams_is_changed() {
        let hostile = Messages::new(None, "say \",\"stream\":false,\" and ,\"stream\":false");
        let render = |options: &RequestOptions| {
            options
                .render(CallKind::Property, hostile.clone(), 0, 0)
                .body
                .bytes
                .clone()
        };
        let mut options = RequestOptions::new("m");
        let whole = render(&options);
        let (plain, asked) = (json_of(&whole), json_of(&requested(&whole).unwrap()));
        assert_eq!(
            (&asked["stream"], &asked["stream_options"]),
            (&json!(true), &json!({"include_usage": true}))
        );
        assert_eq!(
            (&asked["messages"], &plain["stream"]),
            (&plain["messages"], &json!(false))
        );
        options
            .extra_body
            .insert("stream_options".into(), json!({"include_usage": false}));
        assert_eq!(requested(&render(&options)), None);
    }

    fn json_of(body: &[u8]) -> Value {
        serde_json::from_slice(body).unwrap()
    }
}
