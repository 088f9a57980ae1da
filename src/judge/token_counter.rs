//! Exact token counts of prompts, before they are asked. No reply is ever requested.
//!
//! A server counts with the tokenizer of its model: vLLM by `POST /tokenize` `{model, prompt}`, llama.cpp by
//! `POST /tokenize` `{content}`. For OpenAI's models the vocabulary is built in:
//!
//! | models | encoding |
//! |---|---|
//! | `gpt-4o`, `gpt-4.1`, `gpt-4.5`, `gpt-5` and their kin, `chatgpt-4o`, `o1`, `o3`, `o4` | `o200k_base` |
//! | other `gpt-4`, `gpt-3.5` (`gpt-35` at Azure) | `cl100k_base` |
//!
//! (As in `tiktoken/model.py` of github.com/openai/tiktoken.) A chat has more tokens than its texts: 3 for each message,
//! those of its role and of its content, 1 more for a name, and 3 that begin the reply. That arithmetic is documented in
//! OpenAI's cookbook, "How to count tokens with tiktoken" (section 6), with the counts of the API for its example: 129 by
//! `gpt-4` and `gpt-3.5-turbo`, 124 by `gpt-4o`.
//!
//! A vocabulary is unpacked at its first use, which takes a moment and some tens of megabytes: only what counts pays for it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Map, Value, json};
use tiktoken::CoreBpe;

use super::capacity::Tokenizer;
use super::chat::transport::Transport;
use super::endpoint::Endpoint;
use crate::error::Result;

/// Counting the tokens of one prompt takes no longer.
const COUNT_LIMIT: Duration = Duration::from_secs(30);
/// Members of a body (from `--extra-body`) that change how the server's chat template writes a prompt, such as whether a
/// model thinks.
const TEMPLATE_SETTINGS: [&str; 2] = ["chat_template_kwargs", "add_generation_prompt"];
/// Tokens that frame a message.
const PER_MESSAGE: u64 = 3;
/// Further tokens of a message with a name.
const PER_NAME: u64 = 1;
/// Tokens that begin the reply.
const REPLY_PRIMER: u64 = 3;

/// How the names of the models of each encoding begin; the first that fits counts.
const MODELS: [(&[&str], Encoding); 2] = [
    (&["gpt-5", "gpt-4o", "chatgpt-4o", "gpt-4.1", "gpt-4.5", "o1", "o3", "o4"], Encoding::O200k),
    (&["gpt-4", "gpt-3.5", "gpt-35"], Encoding::Cl100k),
];

/// How a model of OpenAI cuts texts into tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// `o200k_base`.
    O200k,
    /// `cl100k_base`.
    Cl100k,
}

impl Encoding {
    /// The encoding of a model, by its name: with a date behind it (`gpt-4o-2024-11-20`), as a gateway writes it
    /// (`openai/gpt-4o`), or fine-tuned (`ft:gpt-4o:..`). `None` for models that are not known to be OpenAI's.
    pub fn of_model(model: &str) -> Option<Self> {
        let name = model.strip_prefix("openai/").unwrap_or(model);
        let name = name.strip_prefix("ft:").unwrap_or(name);
        // `o1-mini` is one of them, `o10` is not.
        let is_end = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_digit());
        let begins = |prefix: &&str| name.strip_prefix(*prefix).is_some_and(is_end);
        MODELS.iter().find(|(prefixes, _)| prefixes.iter().any(begins)).map(|(_, encoding)| *encoding)
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::O200k => "o200k_base",
            Self::Cl100k => "cl100k_base",
        }
    }

    /// The tokens of `text`; control tokens such as `<|endoftext|>` are text. `None` if the vocabulary is not built in.
    pub fn count(self, text: &str) -> Option<u64> {
        Some(self.vocabulary()?.count(text) as u64)
    }

    /// The prompt tokens of a rendered body, of either kind; `None` for what is no body of ours.
    pub fn count_body(self, body: &[u8]) -> Option<u64> {
        let vocabulary = self.vocabulary()?;
        let count = |text: &Value| text.as_str().map(|text| vocabulary.count(text) as u64);
        let body: Value = serde_json::from_slice(body).ok()?;
        if let Some(prompt) = body.get("prompt") {
            return count(prompt);
        }
        let messages = body["messages"].as_array().filter(|messages| !messages.is_empty())?;
        let of_message = |message: &Value| {
            let name = message.get("name").map_or(Some(0), |name| Some(PER_NAME + count(name)?))?;
            Some(PER_MESSAGE + count(&message["role"])? + count(&message["content"])? + name)
        };
        Some(REPLY_PRIMER + messages.iter().map(of_message).sum::<Option<u64>>()?)
    }

    fn vocabulary(self) -> Option<&'static CoreBpe> {
        tiktoken::get_encoding(self.as_str())
    }
}

/// Counts the prompt tokens of rendered calls.
pub struct TokenCounter(Counter);

#[expect(clippy::large_enum_variant, reason = "there is one for each judge")]
enum Counter {
    Server { transport: Transport, endpoint: Endpoint, tokenizer: Tokenizer },
    BuiltIn(Encoding),
}

impl TokenCounter {
    /// Counts with the tokenizer of the server at `endpoint`.
    ///
    /// # Errors
    /// When no HTTP client can be set up.
    pub fn of_server(endpoint: &Endpoint, tokenizer: Tokenizer) -> Result<Self> {
        let transport = Transport::new(Arc::new(endpoint.clone()))?;
        Ok(Self(Counter::Server { transport, endpoint: endpoint.clone(), tokenizer }))
    }

    /// Counts with the built-in vocabulary of a model of OpenAI; `None` for other models.
    pub fn built_in(model: &str) -> Option<Self> {
        Encoding::of_model(model).map(|encoding| Self(Counter::BuiltIn(encoding)))
    }

    /// What counts: `llama.cpp`, `vllm`, or the name of an encoding.
    pub fn name(&self) -> &'static str {
        match self.0 {
            Counter::Server { tokenizer: Tokenizer::LlamaCpp, .. } => "llama.cpp",
            Counter::Server { tokenizer: Tokenizer::Vllm, .. } => "vllm",
            Counter::BuiltIn(encoding) => encoding.as_str(),
        }
    }

    /// True if counting costs no request.
    pub fn is_built_in(&self) -> bool {
        matches!(self.0, Counter::BuiltIn(_))
    }

    /// The tokens of the prompt of a rendered body, chat or raw; `None` if they cannot be counted.
    pub async fn count(&self, body: &Bytes) -> Option<u64> {
        match &self.0 {
            Counter::BuiltIn(encoding) => {
                let (encoding, body) = (*encoding, body.clone());
                tokio::task::spawn_blocking(move || encoding.count_body(&body)).await.ok().flatten()
            }
            Counter::Server { transport, endpoint, tokenizer } => {
                let ask = async |path: &str, asked: Value| {
                    let (url, asked) = (endpoint.beside_v1(path), asked.to_string().into_bytes());
                    let reply = transport.post(&url, asked, COUNT_LIMIT).await;
                    let log = |fault| tracing::debug!(%fault, path, "the server did not count the tokens of a prompt");
                    serde_json::from_slice::<Value>(&reply.map_err(log).ok()?).ok()
                };
                let body: Map<String, Value> = serde_json::from_slice(body).ok()?;
                if *tokenizer == Tokenizer::Vllm {
                    let member = if body.contains_key("prompt") { "prompt" } else { "messages" };
                    return ask("/tokenize", members(&body, &["model", member])?).await?["count"].as_u64();
                }
                let prompt = match body.get("prompt") {
                    Some(prompt) => prompt.clone(),
                    None => ask("/apply-template", members(&body, &["messages"])?).await?["prompt"].clone(),
                };
                let asked = json!({"content": prompt, "add_special": true, "parse_special": true});
                ask("/tokenize", asked).await?["tokens"].as_array().map(|tokens| tokens.len() as u64)
            }
        }
    }
}

/// These members of a body, and of a chat what changes its template; `None` if one is missing.
fn members(body: &Map<String, Value>, names: &[&str]) -> Option<Value> {
    let mut asked = Map::new();
    for name in names {
        asked.insert((*name).to_owned(), body.get(*name)?.clone());
    }
    for name in TEMPLATE_SETTINGS.into_iter().filter(|_| body.contains_key("messages")) {
        asked.extend(body.get(name).map(|value| (name.to_owned(), value.clone())));
    }
    Some(Value::Object(asked))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn models_are_known_by_how_their_names_begin() {
        for (model, encoding) in [
            ("gpt-4o-2024-11-20", Some(Encoding::O200k)),
            ("openai/gpt-4o-mini", Some(Encoding::O200k)),
            ("ft:gpt-4o-mini:org::id", Some(Encoding::O200k)),
            ("gpt-4.1-nano", Some(Encoding::O200k)),
            ("gpt-5", Some(Encoding::O200k)),
            ("o3-mini", Some(Encoding::O200k)),
            ("o4-mini", Some(Encoding::O200k)),
            ("gpt-4", Some(Encoding::Cl100k)),
            ("gpt-4-turbo", Some(Encoding::Cl100k)),
            ("gpt-3.5-turbo", Some(Encoding::Cl100k)),
            ("gpt-35-turbo", Some(Encoding::Cl100k)),
            ("o10", None),
            ("gpt-oss-20b", None),
            ("prometheus-7b-v2.0", None),
            ("", None),
        ] {
            assert_eq!(Encoding::of_model(model), encoding, "{model}");
        }
    }

    /// Numbers of Python's tiktoken 0.14.0 with the published vocabularies (`disallowed_special=()`).
    #[test]
    fn texts_count_what_pythons_tiktoken_counts() {
        let long = "a".repeat(100);
        for (text, cl100k, o200k) in [
            ("You are a fair judge of scientific answers.", 9, 9),
            ("hello world", 2, 2),
            (
                "The transformer (Vaswani et al., 2017) replaced recurrence; see [12].\n\n  - 3.14159 \u{2248} \u{3c0}\n",
                32,
                31,
            ),
            ("\u{8a9e}\u{8a9e}\u{8a9e} caf\u{e9} na\u{ef}ve \u{1f9ea}", 12, 9),
            ("don't they're I'LL <|endoftext|>", 13, 11),
            (&long, 13, 13),
            ("  \t\n\n   x   \r\n", 5, 5),
            ("ElectroDynamics CamelCaseWord 1234567890", 12, 11),
        ] {
            let counted = (Encoding::Cl100k.count(text), Encoding::O200k.count(text));
            assert_eq!(counted, (Some(cl100k), Some(o200k)), "{text:?}");
        }
    }

    #[test]
    fn the_cookbooks_chat_counts_what_the_api_counted() {
        let said = |name: &str, content: &str| json!({"role": "system", "name": name, "content": content});
        let messages = json!([
            {"role": "system", "content": "You are a helpful, pattern-following assistant that translates corporate \
                jargon into plain English."},
            said("example_user", "New synergies will help drive top-line growth."),
            said("example_assistant", "Things working well together will increase revenue."),
            said("example_user", "Let's circle back when we have more bandwidth to touch base on opportunities for \
                increased leverage."),
            said("example_assistant", "Let's talk later when we're less busy about how to do better."),
            {"role": "user", "content": "This late pivot means we don't have time to boil the ocean for the client \
                deliverable."},
        ]);
        let body = json!({"model": "gpt-4o", "messages": messages, "temperature": 0}).to_string();
        assert_eq!(Encoding::Cl100k.count_body(body.as_bytes()), Some(129));
        assert_eq!(Encoding::O200k.count_body(body.as_bytes()), Some(124));
    }

    #[test]
    fn a_raw_prompt_has_no_frame_and_what_is_no_body_no_count() {
        let count = |body: &str| Encoding::O200k.count_body(body.as_bytes());
        assert_eq!(count(r#"{"model":"m","prompt":"hello\u0020world"}"#), Some(2));
        assert_eq!(count(r#"{"model":"m"}"#), None);
        assert_eq!(count("[]"), None);
    }
}
