//! Completions of OpenAI's form, read leniently: servers differ in everything but the text of the message. Other protocols
//! bring their replies into this form first.
//!
//! Token probabilities come in two forms, whatever the route: the list of chat (`{"content": [{"token", "logprob",
//! "top_logprobs": [{"token", "logprob"}]}]}`; llama.cpp writes it for raw completions too) and the columns of raw
//! completions (`{"tokens": [..], "token_logprobs": [..], "top_logprobs": [{token: logprob}]}`; OpenAI, vLLM).

use serde_json::{Value, json};

use crate::Rendered;
use scholareval_core::domain::python_json::{self, PythonJsonFault};
use scholareval_core::domain::{JudgeReply, TokenLogprob, Usage, bare};

/// Stands for a probability of zero, whose logarithm JSON cannot write: what vLLM sends in its place.
const NEVER: f64 = -9999.0;

/// Member of bodies that had to be mended.
pub(crate) const MENDED: &str = "scholareval.mended";
/// The note on their replies.
pub(crate) const MENDED_NOTE: &str =
    "a reply was not valid JSON in UTF-8; U+FFFD stands for what could not be decoded";

/// No reply has so many tokens. A server that counts more does not count.
pub(super) const MOST_TOKENS: u64 = 1_000_000_000;
/// Tokens that a server may add to a prompt.
const HIDDEN_PROMPT: u64 = 100_000;
/// Tokens of reasoning that some servers count beside the reply limit.
const MOST_REASONING: u64 = 64_000;
/// The note on replies whose tokens cannot be right.
pub(crate) const USAGE_NOTE: &str = "a server reported more tokens than a call can have; of a reply its limit \
     counts instead, of a prompt a token per byte";

/// Why a JSON body under status 200 has no reply.
#[derive(Debug, PartialEq)]
pub enum BodyFault {
    /// It is this error of the server.
    Error(Value),
    /// It is neither a reply nor an error.
    NotACompletion,
}

/// The reply with no more tokens than the call can have: those of its limit, and no prompt of more tokens than bytes.
/// Budgets, costs and sums would be wrong otherwise.
pub(crate) fn with_plausible_usage(mut reply: JudgeReply, call: &Rendered) -> JudgeReply {
    let usage = &mut reply.usage;
    let bytes = u64::try_from(call.body.bytes.len()).unwrap_or(u64::MAX);
    let reasoning = usage.reasoning_tokens.min(MOST_REASONING);
    let most = call
        .max_tokens
        .map_or(MOST_TOKENS, |limit| limit.saturating_add(reasoning));
    // Some servers of decision models read the text again for each question, and count it each time.
    let prompt = call.prompt.as_ref();
    let readings = prompt.map_or(1, |prompt| prompt.sent().question_count());
    let most_of_prompt = bytes.saturating_mul(readings).saturating_add(HIDDEN_PROMPT);
    let is_plausible = usage.completion_tokens <= most && usage.prompt_tokens <= most_of_prompt;
    if is_plausible {
        return reply;
    }
    usage.completion_tokens = usage.completion_tokens.min(most);
    usage.prompt_tokens = usage.prompt_tokens.min(bytes);
    usage.reasoning_tokens = usage.reasoning_tokens.min(usage.completion_tokens);
    usage.cached_prompt_tokens = usage.cached_prompt_tokens.min(usage.prompt_tokens);
    usage.cache_write_tokens = usage.cache_write_tokens.min(usage.prompt_tokens);
    reply.note = Some(match reply.note {
        Some(note) => format!("{note}; {USAGE_NOTE}"),
        None => USAGE_NOTE.to_owned(),
    });
    reply
}

/// The JSON of a reply's body. A whole body is paid for: bytes that are not text become U+FFFD, and a reply that is
/// nested too deeply, or is followed by more, becomes a completion that says so. `None` for a cut body and for other text,
/// which has no `reply_member` (`Protocol::reply_member`).
pub(crate) fn decode(body: &[u8], reply_member: &str) -> Option<Value> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    if let Ok(value) = serde_json::from_slice(body) {
        return Some(value);
    }
    match mended(body) {
        Ok(value) => Some(value),
        Err(PythonJsonFault::Decode(why)) if !why.starts_with("trailing characters") => None,
        Err(_) => {
            let text = String::from_utf8_lossy(body);
            let is_reply = text.trim_start().starts_with('{') && text.contains(reply_member);
            is_reply.then(|| json!({"choices": [{"text": text, "finish_reason": "undecodable"}]}))
        }
    }
}

/// JSON with U+FFFD for what is not text (invalid UTF-8, lone surrogates), spaces for line breaks within strings, and
/// numbers that only Python can read.
pub(super) fn mended(body: &[u8]) -> Result<Value, PythonJsonFault> {
    // A space for each control character: line breaks within strings are the usual fault of servers
    // that build JSON by hand, and between members a space changes nothing.
    let text = String::from_utf8_lossy(body).replace(|c: char| c.is_ascii_control(), " ");
    let mut value = python_json::parse(&text)?;
    if let Some(object) = value.as_object_mut() {
        object.insert(MENDED.to_owned(), Value::Bool(true));
    }
    Ok(value)
}

/// The reply of a completion.
///
/// # Errors
/// For an error in its place, and for JSON that is not a completion.
pub(crate) fn read(body: &Value, latency_ms: u64) -> Result<JudgeReply, BodyFault> {
    if let Some(error) = error_in(body) {
        return Err(BodyFault::Error(error.clone()));
    }
    read_reply(body, latency_ms).ok_or(BodyFault::NotACompletion)
}

/// The error that stands in place of a reply: the `error` member of a body without choices.
pub(crate) fn error_in(body: &Value) -> Option<&Value> {
    let has_choice = body["choices"]
        .as_array()
        .is_some_and(|choices| !choices.is_empty());
    Some(&body["error"]).filter(|error| !has_choice && !error.is_null())
}

/// The reply of a completion, chat or raw; the first choice counts. No choice or null content give empty text: the call
/// is paid anyway. A refusal is the text where there is no other, with the finish reason `refusal`. `None` for a body
/// without choices, which is not a completion.
pub(crate) fn read_reply(body: &Value, latency_ms: u64) -> Option<JudgeReply> {
    let choices = Some(&body["choices"]).filter(|choices| !choices.is_null())?;
    let choice = choices.get(0).unwrap_or(&Value::Null);
    let message = &choice["message"];
    let owned = |value: &Value| value.as_str().map(str::to_owned);
    let mut content = text_of(if message.is_null() {
        &choice["text"]
    } else {
        &message["content"]
    });
    let mut finish_reason = owned(&choice["finish_reason"]);
    // A refusal next to a text comments on it; without a text it is the reply.
    if content.trim().is_empty() {
        match owned(&message["refusal"]).filter(|refusal| !refusal.is_empty()) {
            Some(refusal) => (content, finish_reason) = (refusal, Some("refusal".to_owned())),
            None if message["tool_calls"].get(0).is_some() => {
                finish_reason = Some("tool_calls".to_owned())
            }
            None => {}
        }
    }
    Some(JudgeReply {
        content,
        finish_reason,
        model: owned(&body["model"]),
        system_fingerprint: owned(&body["system_fingerprint"]),
        reasoning: reasoning_of(message),
        logprobs: token_logprobs(&choice["logprobs"]),
        end: None,
        usage: usage_of(body),
        latency_ms,
        note: (body[MENDED] == true).then(|| MENDED_NOTE.to_owned()),
        cached: false,
    })
}

/// The text of the model's reasoning, whatever the server calls it (`reasoning_content`: `DeepSeek`, llama.cpp, older vLLM;
/// `reasoning`: vLLM, `OpenRouter`).
pub(super) fn reasoning_of(message: &Value) -> Option<String> {
    let mut texts = ["reasoning_content", "reasoning"]
        .into_iter()
        .filter_map(|name| message[name].as_str());
    texts.find(|text| !text.is_empty()).map(str::to_owned)
}

/// Message text: a string, null, or a list of parts with a `text`.
pub(super) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) => String::new(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part.as_str().or_else(|| part["text"].as_str()))
            .collect(),
        // Some servers parse the model's JSON and send it as such; its text is as good as the original.
        Value::Object(_) | Value::Number(_) => content.to_string(),
    }
}

/// The sum of counts of tokens by their names in a service's usage, as [`count`] reads each.
pub(super) fn tokens(usage: &Value, names: &[&str]) -> u64 {
    let counts = names.iter().map(|name| count(&usage[*name]));
    counts.fold(0, u64::saturating_add)
}

fn usage_of(body: &Value) -> Usage {
    let (usage, timings) = (&body["usage"], &body["timings"]);
    let cached = [
        &usage["prompt_tokens_details"]["cached_tokens"],
        &usage["prompt_cache_hit_tokens"],
        &timings["cache_n"],
    ];
    Usage {
        prompt_tokens: count(&usage["prompt_tokens"]),
        cached_prompt_tokens: cached
            .into_iter()
            .map(count)
            // Servers that have several of these names fill one and leave 0 in the others.
            .find(|&tokens| tokens > 0)
            .unwrap_or(0),
        completion_tokens: count(&usage["completion_tokens"]),
        reasoning_tokens: count(&usage["completion_tokens_details"]["reasoning_tokens"]),
        cache_write_tokens: count(&usage["prompt_tokens_details"]["cache_write_tokens"]),
    }
}

/// A whole number >= 0, however written, up to [`MOST_TOKENS`]; 0 for anything else.
fn count(value: &Value) -> u64 {
    // `as` saturates: a negative or broken number becomes 0.
    value
        .as_u64()
        .or_else(|| value.as_f64().map(|number| number as u64))
        .unwrap_or(0)
        .min(MOST_TOKENS)
}

/// The tokens of a choice's `logprobs` member; `None` where there are none.
///
/// Alternatives are kept, the most probable first, where a score or a preference can stand: at tokens with an ASCII digit, at the
/// token behind one, which shows whether the number would have continued, at `m` and `M` (the pairs of AlpacaEval), and at a first
/// token that could have been one of these. Of a long reply that is a small part.
fn token_logprobs(value: &Value) -> Option<Vec<TokenLogprob>> {
    let mut tokens = listed(value)
        .or_else(|| in_columns(value))
        .filter(|tokens| !tokens.is_empty())?;
    let mut is_after_digit = false;
    for (at, token) in tokens.iter_mut().enumerate() {
        let has_digit = token.token.contains(|c: char| c.is_ascii_digit());
        let is_preference = names_answer(&token.token)
            || at == 0 && token.top.iter().any(|(text, _)| names_answer(text));
        // Alternatives of every token are most of a reply's bytes in the cache, and only those at a
        // number or a preference are ever read.
        if has_digit || is_after_digit || is_preference {
            token.top.sort_by(|a, b| b.1.total_cmp(&a.1));
        } else {
            token.top = Vec::new();
        }
        is_after_digit = has_digit;
    }
    Some(tokens)
}

/// Whether the token is AlpacaEval's name of an answer.
fn names_answer(token: &str) -> bool {
    matches!(&*bare(token), "m" | "M")
}

/// A token that cannot be read would shift all that follow: then there are none.
fn listed(value: &Value) -> Option<Vec<TokenLogprob>> {
    let token_of = |entry: &Value| {
        Some((
            entry["token"].as_str()?.to_owned(),
            logprob(&entry["logprob"]),
        ))
    };
    let tokens = value["content"].as_array()?.iter().map(|entry| {
        let (token, logprob) = token_of(entry)?;
        let top = entry["top_logprobs"]
            .as_array()
            .map(|top| top.iter().filter_map(token_of).collect());
        Some(TokenLogprob {
            token,
            logprob,
            top: top.unwrap_or_default(),
        })
    });
    tokens.collect()
}

fn in_columns(value: &Value) -> Option<Vec<TokenLogprob>> {
    let tokens = value["tokens"]
        .as_array()?
        .iter()
        .enumerate()
        .map(|(i, token)| {
            let top = value["top_logprobs"][i].as_object();
            let top = top.map(|top| {
                top.iter()
                    .map(|(text, number)| (text.clone(), logprob(number)))
                    .collect()
            });
            let token = token.as_str()?.to_owned();
            Some(TokenLogprob {
                token,
                logprob: logprob(&value["token_logprobs"][i]),
                top: top.unwrap_or_default(),
            })
        });
    tokens.collect()
}

/// A logarithm of a probability: at most 0; [`NEVER`] where nothing usable is written.
fn logprob(value: &Value) -> f64 {
    value
        .as_f64()
        .filter(|number| number.is_finite())
        .map_or(NEVER, |number| number.clamp(NEVER, 0.0))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Body;
    use scholareval_core::domain::Fingerprint;

    fn reply(body: &str) -> JudgeReply {
        read_reply(&serde_json::from_str(body).unwrap(), 3).unwrap()
    }

    /// A call with a body of 1,000 bytes.
    fn call(max_tokens: Option<u64>) -> Rendered {
        Rendered {
            max_tokens,
            ..Rendered::new(Fingerprint::from([0; 32]), || {
                Body::new(0, || vec![b'x'; 1000].into())
            })
        }
    }

    fn counted(prompt: &str, completion: &str, limit: Option<u64>) -> (u64, u64, bool) {
        let usage = format!(r#"{{"prompt_tokens":{prompt},"completion_tokens":{completion}}}"#);
        let body = format!(r#"{{"choices":[{{"text":"x"}}],"usage":{usage}}}"#);
        let reply = with_plausible_usage(reply(&body), &call(limit));
        let usage = reply.usage;
        let is_noted = reply.note.as_deref() == Some(USAGE_NOTE);
        (usage.prompt_tokens, usage.completion_tokens, is_noted)
    }

    #[test]
    fn tokens_beyond_what_a_call_can_have_saturate_and_are_noted() {
        assert_eq!(counted("250", "100", Some(100)), (250, 100, false));
        // text of a gateway before the prompt
        assert_eq!(counted("5000", "7", None), (5000, 7, false));
        assert_eq!(counted("250", "101", Some(100)), (250, 100, true));
        for nonsense in ["1e300", "18446744073709551615"] {
            assert_eq!(counted(nonsense, "7", Some(100)), (1000, 7, true));
            assert_eq!(counted("250", nonsense, Some(100)), (250, 100, true));
            let (_, unlimited, _) = counted("250", nonsense, None);
            assert_eq!(unlimited, MOST_TOKENS);
        }
    }

    #[test]
    fn reasoning_that_a_server_counts_beside_the_limit_is_paid_for() {
        let body = r#"{"choices":[{"text":"x"}],"usage":{"completion_tokens":2100,
            "completion_tokens_details":{"reasoning_tokens":2000}}}"#;
        let reply = with_plausible_usage(reply(body), &call(Some(100)));
        assert_eq!((reply.usage.completion_tokens, reply.note), (2100, None));
    }

    #[test]
    fn reasoning_is_kept_beside_the_reply_and_counted_apart() {
        for name in ["reasoning_content", "reasoning"] {
            let body = json!({"choices": [{"message": {"content": "{}", (name): "hm"}}],
                "usage": {"completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 7}}});
            let reply = reply(&body.to_string());
            assert_eq!(
                (reply.content.as_str(), reply.reasoning.as_deref()),
                ("{}", Some("hm"))
            );
            assert_eq!(
                (reply.usage.completion_tokens, reply.usage.reasoning_tokens),
                (9, 7)
            );
        }
        let none =
            r#"{"choices":[{"message":{"content":"x","reasoning_content":null,"reasoning":""}}]}"#;
        assert_eq!(reply(none).reasoning, None);
    }

    #[test]
    fn a_whole_reply_is_read() {
        let reply = reply(
            r#"{"id":"x","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant",
            "content":"{\"score\": 3}"}}],"usage":{"prompt_tokens":12,"completion_tokens":4,
            "prompt_tokens_details":{"cached_tokens":8}}}"#,
        );
        assert_eq!(reply.content, "{\"score\": 3}");
        assert_eq!(
            (reply.finish_reason.as_deref(), reply.model.as_deref()),
            (Some("stop"), Some("m"))
        );
        let usage = Usage {
            prompt_tokens: 12,
            cached_prompt_tokens: 8,
            completion_tokens: 4,
            ..Usage::default()
        };
        assert_eq!(reply.usage, usage);
        assert_eq!(reply.latency_ms, 3);
    }

    #[test]
    fn only_a_whole_completion_is_mended() {
        let read = |body: &[u8]| decode(body, "\"choices\"").and_then(|body| read_reply(&body, 0));
        let mended = read(b"{\"choices\":[{\"text\":\"a\nb\xff\"}]}").unwrap();
        assert_eq!(
            (mended.content.as_str(), mended.note.is_some()),
            ("a b\u{fffd}", true)
        );
        let marked = read(b"\xef\xbb\xbf{\"choices\":[{\"text\":\"a\"}]}").unwrap();
        assert_eq!((marked.content.as_str(), marked.note), ("a", None));
        for body in [
            &b"{\"choices\":[{\"text\":\"a\xff"[..],
            b"{\"choices\":[{\"text\":\"a\"]}",
            b"<p>\"choices\"</p>",
        ] {
            assert!(read(body).is_none(), "{}", String::from_utf8_lossy(body));
        }
    }

    #[test]
    fn a_raw_completion_is_read() {
        let reply = reply(
            r#"{"object":"text_completion","model":"m","choices":[{"index":0,"text":" Attributable","finish_reason":"length",
            "logprobs":null,"stop_reason":null}],"usage":{"prompt_tokens":12,"completion_tokens":4}}"#,
        );
        assert_eq!(
            (reply.content.as_str(), reply.is_cut()),
            (" Attributable", true)
        );
        assert_eq!((reply.usage.prompt_tokens, reply.logprobs), (12, None));
    }

    #[test]
    fn probabilities_come_with_either_form() {
        let tokens = |body: &str| {
            reply(body)
                .logprobs
                .unwrap()
                .into_iter()
                .map(|token| token.token)
                .collect::<String>()
        };
        let raw = r#"{"choices":[{"text":"a7","logprobs":{"tokens":["a","7"],"token_logprobs":[-1,-2],"top_logprobs":null}}]}"#;
        assert_eq!(tokens(raw), "a7");
        let chat = r#"{"choices":[{"message":{"content":"a7"},"logprobs":{"content":[{"token":"a7","logprob":-1}]}}]}"#;
        assert_eq!(tokens(chat), "a7");
        assert_eq!(
            reply(r#"{"choices":[{"text":"x","logprobs":"none"}]}"#).logprobs,
            None
        );
    }

    #[test]
    fn what_servers_leave_out_or_write_otherwise_is_no_error() {
        assert_eq!(
            reply(r#"{"choices":[]}"#),
            JudgeReply {
                latency_ms: 3,
                ..JudgeReply::default()
            }
        );
        assert_eq!(
            reply(r#"{"choices":[{"message":{"content":null},"finish_reason":7}]}"#).content,
            ""
        );
        assert_eq!(
            reply(r#"{"choices":[{"message":null}],"usage":null,"error":null}"#).content,
            ""
        );
        assert_eq!(
            reply(
                r#"{"choices":[{"message":{"content":[{"type":"text","text":"a"},"b",{"x":1}]}}]}"#
            )
            .content,
            "ab"
        );
        assert_eq!(
            reply(r#"{"choices":[{"message":{"content":{"score":1}}}]}"#).content,
            r#"{"score":1}"#
        );
        assert_eq!(
            reply(r#"{"choices":[],"usage":"none"}"#).usage,
            Usage::default()
        );
    }

    #[test]
    fn cached_tokens_are_found_where_each_server_puts_them() {
        for usage in [
            r#""usage":{"prompt_tokens_details":{"cached_tokens":5}}"#,
            r#""usage":{"prompt_tokens_details":null,"prompt_cache_hit_tokens":5.0}"#,
            r#""usage":{},"timings":{"cache_n":5,"prompt_n":2}"#,
        ] {
            assert_eq!(
                reply(&format!(r#"{{"choices":[],{usage}}}"#))
                    .usage
                    .cached_prompt_tokens,
                5,
                "{usage}"
            );
        }
    }

    #[test]
    fn an_error_counts_only_where_there_is_no_choice() {
        let error = |body: &str| error_in(&serde_json::from_str(body).unwrap()).is_some();
        assert!(error(r#"{"error":{"code":502}}"#) && error(r#"{"choices":[],"error":"x"}"#));
        assert!(
            !error(r#"{"choices":[{}],"error":{"code":502}}"#)
                && !error(r#"{"choices":[],"error":null}"#)
        );
    }

    fn token(token: &str, logprob: f64, top: &[(&str, f64)]) -> TokenLogprob {
        let top = top
            .iter()
            .map(|(text, logprob)| ((*text).to_owned(), *logprob))
            .collect();
        TokenLogprob {
            token: token.to_owned(),
            logprob,
            top,
        }
    }

    #[test]
    fn both_forms_give_the_same_tokens() {
        let chat = json!({"content": [
            {"token": ": ", "bytes": [58, 32], "logprob": -0.25, "top_logprobs": [{"token": ": ", "logprob": -0.25}]},
            {"token": "4", "logprob": -0.5, "top_logprobs": [{"token": "5", "logprob": -1.0}, {"token": "4", "logprob": -0.5}]},
            {"token": "}", "logprob": -0.0, "top_logprobs": [{"token": "}", "logprob": 0.0}]},
            {"token": "\n", "logprob": -0.125, "top_logprobs": []},
        ]});
        let columns = json!({
            "tokens": [": ", "4", "}", "\n"], "token_logprobs": [-0.25, -0.5, 0, -0.125], "text_offset": [0, 2, 3, 4],
            "top_logprobs": [{": ": -0.25}, {"5": -1.0, "4": -0.5}, {"}": 0}, null],
        });
        let expected = [
            token(": ", -0.25, &[]),
            token("4", -0.5, &[("4", -0.5), ("5", -1.0)]),
            token("}", 0.0, &[("}", 0.0)]),
            token("\n", -0.125, &[]),
        ];
        for form in [chat, columns] {
            assert_eq!(
                token_logprobs(&form).as_deref(),
                Some(&expected[..]),
                "{form}"
            );
        }
    }

    #[test]
    fn a_preference_keeps_its_alternatives() {
        let entry = |text: &str, logprob: f64| json!({"token": text, "logprob": logprob});
        let kept = |tokens: &[&str], alternative: &str| -> Vec<bool> {
            let content = tokens.iter().map(|text| {
                json!({"token": text, "logprob": -0.5, "top_logprobs": [entry(alternative, -1.0), entry(text, -0.5)]})
            });
            let list = json!({"content": content.collect::<Vec<_>>()});
            let tokens = token_logprobs(&list).unwrap();
            tokens.iter().map(|token| token.top.len() == 2).collect()
        };
        assert_eq!(kept(&["m"], "M"), [true]);
        // Behind reasoning, with the sign of a space that tokenizers write, and before an end.
        assert_eq!(
            kept(&["so", "\u{120}M", "<|im_end|>"], "x"),
            [false, true, false]
        );
        // What was sampled is neither; the preference is between the alternatives.
        assert_eq!(kept(&["Both", "are"], " m"), [true, false]);
        assert_eq!(kept(&["more", "Much"], "x"), [false, false]);
    }

    #[test]
    fn what_servers_leave_out_is_no_error() {
        for nothing in [
            json!(null),
            json!({}),
            json!({"content": null}),
            json!({"tokens": []}),
            json!({"content": []}),
        ] {
            assert_eq!(token_logprobs(&nothing), None, "{nothing}");
        }
        // OpenAI gives the first token of an echoed prompt no probability, vLLM writes -inf as null.
        let sparse = json!({"tokens": ["7"], "token_logprobs": [null]});
        assert_eq!(token_logprobs(&sparse), Some(vec![token("7", NEVER, &[])]));
        assert_eq!(
            token_logprobs(&json!({"content": [{"token": "7", "logprob": 3.5}]})).unwrap()[0]
                .logprob,
            0.0
        );
        assert_eq!(
            token_logprobs(&json!({"content": [{"token": "7", "logprob": -1}, {"logprob": -1}]})),
            None
        );
    }
}
