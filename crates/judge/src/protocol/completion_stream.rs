//! Completions that come as streams of events, put together into the body that would have come whole.
//!
//! A chunk looks like a completion whose `message` is a `delta`; raw completions carry a piece of `text`. With
//! `stream_options.include_usage` the last chunk holds the usage and no choice. llama.cpp adds `timings`.

use bytes::Bytes;
use memchr::memmem;
use serde_json::{Map, Value, json};

use super::completion::{MENDED, reasoning_of, text_of};
use super::events::StreamReader;

/// How bodies are rendered, and how a stream is asked for. The member cannot stand inside a JSON string, where its
/// quotes would have a backslash, and nothing of the user's comes before it ([`crate::body`]).
const WHOLE: &[u8] = br#","stream":false"#;
const STREAM: &[u8] = br#","stream":true,"stream_options":{"include_usage":true}"#;
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

/// A completion that is being received.
#[derive(Debug, Default)]
pub(super) struct CompletionStream {
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
}

impl StreamReader for CompletionStream {
    fn push(&mut self, mut chunk: Map<String, Value>) {
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

    fn end(&mut self) {
        self.is_done = true;
    }

    /// The server has reported why it stopped. (Some write an empty reason into each chunk.)
    fn is_whole(&self) -> bool {
        self.is_done
            || self
                .finish_reason
                .as_str()
                .is_some_and(|reason| !reason.is_empty())
    }

    fn texts(&self) -> Vec<&str> {
        vec![&self.content, &self.reasoning]
    }

    fn finish(mut self: Box<Self>, is_broken: bool) -> Option<Value> {
        let stray = self.stray.take().filter(|_| !self.has_choices);
        if let Some(error) = self.members.remove("error").or(stray) {
            return Some(json!({"error": error}));
        }
        // A stream that ends without a reason was cut by the network or a restart: what is there
        // could be read as a shorter list, so it is asked again.
        let is_reply = self.has_choices && !is_broken && self.is_whole();
        is_reply.then(|| self.whole())
    }
}

impl CompletionStream {
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
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::completion::read_reply;
    use super::super::events::Assembly;
    use super::*;
    use crate::body::RequestOptions;
    use crate::prompt::Messages;
    use scholareval_core::question::PROPERTY;

    const CHAT: &str = "data: {\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":null}}]}\n\n\
        : keep-alive\n\
        data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"{\\\"score\\\"\"},\"logprobs\":{\"content\":[{\"token\":\"a\"}]}}]}\r\n\r\n\
        data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\": caf\u{e9}}\"},\"logprobs\":{\"content\":[{\"token\":\"b\"}]},\"finish_reason\":\"stop\"}]}\n\n\
        data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2},\"timings\":{\"cache_n\":4}}\n\n\
        data: [DONE]\n\n";

    fn assembly() -> Assembly {
        Assembly::new(Box::<CompletionStream>::default())
    }

    fn read(stream: &str) -> Option<Value> {
        let mut assembly = assembly();
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
            let mut assembly = assembly();
            cuts.windows(2).for_each(|pair| assembly.push(&CHAT.as_bytes()[pair[0]..pair[1]]));
            prop_assert_eq!(assembly.rest(), Some(std::time::Duration::from_secs(1)));
            prop_assert_eq!(serde_json::from_slice::<Value>(&assembly.finish().unwrap()).unwrap(), whole_chat());
        }
    }

    fn streamed(texts: &[&str]) -> Assembly {
        let mut assembly = assembly();
        for text in texts {
            let event = json!({"choices": [{"delta": {"content": text}}]});
            assembly.push(format!("data: {event}\n\n").as_bytes());
        }
        assembly
    }

    #[test]
    fn tokens_are_the_events_with_text() {
        assert!(streamed(&["", ""]).written.is_none());
        let written = streamed(&["", "a", "", "b c", "d"]).written;
        assert_eq!(written.map(|(_, tokens)| tokens), Some(3));
    }

    #[test]
    fn a_reply_repeats_itself_once_two_thousand_bytes_are_the_same_text_four_times() {
        let item = format!("{{\"claim\": \"{}\"}}, ", "word ".repeat(90));
        // 465 bytes an item: five of them are 2,325 bytes, four 1,860
        assert_eq!(item.len(), 465);
        let start = "[{\"claim\": \"Another one.\"}, ";
        assert!(!streamed(&[start, &item.repeat(4)]).repeats());
        assert!(streamed(&[start, &item.repeat(5)]).repeats());
        assert!(streamed(&[start, &" ".repeat(2_000)]).repeats());
        let counted: String = (0..400).map(|n| format!("{{\"id\": {n}}}, ")).collect();
        assert!(!streamed(&[&counted]).repeats());
        // a longer text repeated three times is no loop yet
        let long = format!("{{\"claim\": \"{}\"}}, ", "words ".repeat(120));
        assert!(!streamed(&[&long.repeat(3)]).repeats());
        let over = streamed(&[&item.repeat(5), "] That is all."]);
        assert!(!over.repeats());
        let mut whole = streamed(&[&item.repeat(5)]);
        whole.push(b"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n");
        assert!(!whole.repeats());
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
                let mut by_bytes = assembly();
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
                .render(&PROPERTY, &options.prompt(hostile.clone(), true), 0, 0)
                .body
                .bytes
                .clone()
        };
        let mut options = RequestOptions::new("m");
        let whole = render(&options);
        let (plain, streamed) = (json_of(&whole), json_of(&requested(&whole).unwrap()));
        assert_eq!(
            (&streamed["stream"], &streamed["stream_options"]),
            (&json!(true), &json!({"include_usage": true}))
        );
        assert_eq!(
            (&streamed["messages"], &plain["stream"]),
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
