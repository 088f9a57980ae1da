//! How long a prompt may be, where the server tells: found before a call is sent, and not by its refusal.
//!
//! | server | where the limit stands | counts | tokens are counted by |
//! |---|---|---|---|
//! | vLLM | `max_model_len` in `GET /v1/models` | prompt and reply limit together | `POST /tokenize` `{model, prompt}` |
//! | llama.cpp | `default_generation_settings.n_ctx` in `GET /props` (one slot), `meta.n_ctx` in `GET /v1/models` | the prompt | `POST /tokenize` `{content}` |
//!
//! The context that a model was trained for (`n_ctx_train`) is no limit of the server, and is not looked at.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::Rendered;
use super::chat::transport::{Fault, Transport};
use super::endpoint::Endpoint;
use super::identity::get_json;
use crate::error::Result;

/// Counting the tokens of one prompt takes no longer.
const COUNT_LIMIT: Duration = Duration::from_secs(30);
/// Of an estimate of English text, so much is there at the least. (95% of answers are within 12%, see
/// [`super::tokens`].)
const LEAST_SHARE: f64 = 0.75;
/// And so much at the most.
const MOST_SHARE: f64 = 1.4;
/// Bytes of UTF-8 outside ASCII that are estimated as one token; some tokenizers need far fewer, so that nothing is
/// certain of such text.
const FOREIGN_BYTES_PER_TOKEN: u64 = 3;

/// Which server counts tokens, and so in which words it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tokenizer {
    /// `POST /tokenize` with `content`; chats go through `POST /apply-template` before.
    LlamaCpp,
    /// `POST /tokenize` with `model` and `prompt` or `messages`.
    Vllm,
}

/// What a server says of the length of prompts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Capacity {
    /// Tokens that a call may have; `None` where the server does not tell.
    pub context_tokens: Option<u64>,
    /// True where the reply limit counts too: such a call is refused although its prompt would fit.
    pub counts_reply: bool,
    /// Who can count tokens exactly.
    pub tokenizer: Option<Tokenizer>,
}

impl Capacity {
    /// Asks the server of `endpoint` about `model`. A server that does not tell is no error; OpenAI's own is not asked.
    /// Whoever also asks for its identity gets both from [`super::identity::ask_server`], for half of the questions.
    ///
    /// # Errors
    /// When no HTTP client can be set up.
    pub async fn of(endpoint: &Endpoint, model: &str) -> Result<Self> {
        if endpoint.is_openai() {
            return Ok(Self::default());
        }
        let transport = Transport::new(Arc::new(endpoint.clone()))?;
        let models = get_json(&transport, &format!("{}/models", endpoint.base_url)).await.unwrap_or_default();
        let props = get_json(&transport, &endpoint.beside_v1("/props")).await.unwrap_or_default();
        Ok(Self::told_by(&models, &props, model))
    }

    /// What `GET /v1/models` and `GET /props` say of `model`; null stands for a route that is not there.
    pub(super) fn told_by(models: &Value, props: &Value, model: &str) -> Self {
        let listed = Self::from_models(models, model);
        match positive(props.pointer("/default_generation_settings/n_ctx")) {
            Some(slot) if listed.tokenizer != Some(Tokenizer::Vllm) => {
                Self { context_tokens: Some(slot), counts_reply: false, tokenizer: Some(Tokenizer::LlamaCpp) }
            }
            _ => listed,
        }
    }

    fn from_models(models: &Value, model: &str) -> Self {
        let entries = models.get("data").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let own = entries.iter().find(|entry| entry.get("id").and_then(Value::as_str) == Some(model));
        let Some(entry) = own.or_else(|| entries.first().filter(|_| entries.len() == 1)) else {
            return Self::default();
        };
        if let Some(tokens) = positive(entry.get("max_model_len")) {
            return Self { context_tokens: Some(tokens), counts_reply: true, tokenizer: Some(Tokenizer::Vllm) };
        }
        match positive(entry.pointer("/meta/n_ctx")) {
            Some(tokens) => {
                Self { context_tokens: Some(tokens), counts_reply: false, tokenizer: Some(Tokenizer::LlamaCpp) }
            }
            None => Self::default(),
        }
    }

    /// Tokens that a prompt may have beside a reply limited to `max_tokens`; `None` where the server does not tell.
    pub fn prompt_room(&self, max_tokens: Option<u64>) -> Option<u64> {
        // One token of a reply there must be.
        let reply = if self.counts_reply { max_tokens.unwrap_or(1).max(1) } else { 1 };
        Some(self.context_tokens?.saturating_sub(reply))
    }

    /// What an estimate says of whether a call fits.
    pub fn fits(&self, call: &Rendered) -> Fits {
        let Some(room) = self.prompt_room(call.max_tokens) else { return Fits::Surely };
        let foreign = call.body.iter().filter(|byte| !byte.is_ascii()).count() as u64 / FOREIGN_BYTES_PER_TOKEN;
        let least = call.prompt_tokens.saturating_sub(foreign) as f64 * LEAST_SHARE;
        let most = call.prompt_tokens as f64 * MOST_SHARE;
        match room as f64 {
            room if least > room => Fits::Never,
            room if most > room => Fits::Perhaps,
            _ => Fits::Surely,
        }
    }
}

/// What is known of a call before it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fits {
    /// It fits, or nobody knows a limit.
    Surely,
    /// It may: counting, or the server, decides.
    Perhaps,
    /// It does not, however far the estimate errs.
    Never,
}

fn positive(value: Option<&Value>) -> Option<u64> {
    value.and_then(Value::as_u64).filter(|tokens| *tokens > 0)
}

/// Counts the tokens of prompts with the server's own tokenizer.
pub struct TokenCounter {
    transport: Transport,
    endpoint: Endpoint,
    tokenizer: Tokenizer,
}

impl TokenCounter {
    /// A counter at the server of `endpoint`.
    ///
    /// # Errors
    /// When no HTTP client can be set up.
    pub fn new(endpoint: &Endpoint, tokenizer: Tokenizer) -> Result<Self> {
        let transport = Transport::new(Arc::new(endpoint.clone()))?;
        Ok(Self { transport, endpoint: endpoint.clone(), tokenizer })
    }

    /// Which server counts.
    pub fn tokenizer(&self) -> Tokenizer {
        self.tokenizer
    }

    /// The tokens of the prompt of a rendered body, of either kind; `None` if the server does not say.
    pub async fn count(&self, body: &[u8]) -> Option<u64> {
        let body: Map<String, Value> = serde_json::from_slice(body).ok()?;
        let prompt = body.get("prompt");
        let messages = body.get("messages");
        match self.tokenizer {
            Tokenizer::Vllm => {
                let (name, value) = prompt.map(|prompt| ("prompt", prompt)).or(messages.map(|m| ("messages", m)))?;
                let mut asked = json!({"model": body.get("model")?, name: value});
                add_template_settings(&mut asked, &body);
                let counted = self.ask("/tokenize", &asked).await?;
                counted.get("count").and_then(Value::as_u64)
            }
            Tokenizer::LlamaCpp => {
                let prompt = match (prompt, messages) {
                    (Some(prompt), _) => prompt.clone(),
                    (None, messages) => {
                        let mut asked = json!({"messages": messages?});
                        add_template_settings(&mut asked, &body);
                        self.ask("/apply-template", &asked).await?.get("prompt")?.clone()
                    }
                };
                let asked = json!({"content": prompt, "add_special": true, "parse_special": true});
                let counted = self.ask("/tokenize", &asked).await?;
                counted.get("tokens").and_then(Value::as_array).map(|tokens| tokens.len() as u64)
            }
        }
    }

    async fn ask(&self, path: &str, json: &Value) -> Option<Value> {
        let url = self.endpoint.beside_v1(path);
        let counted = self.transport.post(&url, json.to_string().into_bytes(), COUNT_LIMIT).await;
        let said = |fault: Fault| tracing::debug!(%fault, path, "the server did not count the tokens of a prompt");
        serde_json::from_slice(&counted.map_err(said).ok()?).ok()
    }
}

/// What changes how the server's chat template writes a prompt (from `--extra-body`), such as whether a model thinks.
fn add_template_settings(asked: &mut Value, body: &Map<String, Value>) {
    const SETTINGS: [&str; 2] = ["chat_template_kwargs", "add_generation_prompt"];
    for name in SETTINGS.into_iter().filter(|_| body.contains_key("messages")) {
        if let Some(value) = body.get(name) {
            asked[name] = value.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::domain::Fingerprint;

    fn call(text: &str, prompt_tokens: u64, max_tokens: Option<u64>) -> Rendered {
        let fingerprint = Fingerprint::from([0; 32]);
        Rendered {
            body: Bytes::copy_from_slice(text.as_bytes()),
            fingerprint,
            prompt_tokens,
            max_tokens,
            note: None,
            is_unpaid: false,
        }
    }

    fn capacity(tokens: u64, counts_reply: bool) -> Capacity {
        Capacity { context_tokens: Some(tokens), counts_reply, tokenizer: None }
    }

    #[test]
    fn each_server_tells_its_limit_in_its_own_place() {
        let vllm = json!({"data": [{"id": "m", "max_model_len": 8192}, {"id": "n", "max_model_len": 10}]});
        let expected = Capacity { context_tokens: Some(8192), counts_reply: true, tokenizer: Some(Tokenizer::Vllm) };
        assert_eq!(Capacity::from_models(&vllm, "m"), expected);
        assert_eq!(Capacity::from_models(&vllm, "alias"), Capacity::default(), "which of the two?");
        let llama = json!({"data": [{"id": "m", "meta": {"n_ctx": 2048, "n_ctx_train": 8192}}]});
        assert_eq!(Capacity::from_models(&llama, "alias").context_tokens, Some(2048));
        for silent in [json!(null), json!({"data": [{"id": "m", "meta": {"n_ctx_train": 8192}}]}), json!({"data": 7})] {
            assert_eq!(Capacity::from_models(&silent, "m"), Capacity::default(), "{silent}");
        }
    }

    #[test]
    fn only_what_is_certain_is_refused() {
        let limit = capacity(1001, false);
        // at least 1334 x 0.75 = 1000.5 > 1000, 1333 x 0.75 = 999.75; at most 714 x 1.4 = 999.6, 715 x 1.4 = 1001
        let found = [1334, 1333, 715, 714].map(|tokens| limit.fits(&call("x", tokens, Some(100))));
        assert_eq!(found, [Fits::Never, Fits::Perhaps, Fits::Perhaps, Fits::Surely]);
        assert_eq!(Capacity::default().fits(&call("x", u64::MAX, None)), Fits::Surely);
    }

    #[test]
    fn of_other_scripts_nothing_is_certain() {
        // 6000 bytes are estimated as 2000 tokens, but may be 500
        let russian = "\u{434}".repeat(3000);
        assert_eq!(capacity(1001, false).fits(&call(&russian, 2000, None)), Fits::Perhaps);
    }

    #[test]
    fn the_reply_limit_counts_where_the_server_counts_it() {
        assert_eq!(capacity(1000, true).prompt_room(Some(512)), Some(488));
        assert_eq!(capacity(1000, true).prompt_room(None), Some(999));
        assert_eq!(capacity(1000, false).prompt_room(Some(512)), Some(999));
        assert_eq!(capacity(100, true).prompt_room(Some(512)), Some(0));
        assert_eq!(Capacity::default().prompt_room(Some(1)), None);
    }
}
