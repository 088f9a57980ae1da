//! A judge's reply before parsing.

use serde::{Deserialize, Serialize};

use super::ModelEnd;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Tokens of one call as counted by the server; 0 if unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the prompt, cached ones included.
    pub prompt_tokens: u64,
    /// Prompt tokens from the server's prefix cache.
    pub cached_prompt_tokens: u64,
    /// Tokens of the reply, those of its reasoning included.
    pub completion_tokens: u64,
    /// Tokens of the reasoning.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reasoning_tokens: u64,
    /// Prompt tokens that the provider wrote into its prefix cache and bills for it (Anthropic).
    #[serde(default, skip_serializing_if = "is_default")]
    pub cache_write_tokens: u64,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// One token of a reply with its probability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TokenLogprob {
    /// The token's text.
    pub token: String,
    /// Natural logarithm of its probability.
    pub logprob: f64,
    /// Alternatives with their log probabilities, the token itself included if the server lists it. Kept only where a
    /// score or a preference can stand: at tokens with a digit and the token after each, which shows whether the number could have
    /// continued, at `m` and `M`, and at a first token that could have been one of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub top: Vec<(String, f64)>,
}

/// One complete reply of a judge.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct JudgeReply {
    /// The message text, unchanged; empty if the server sent null.
    pub content: String,
    /// The reasoning before the text, where the server sends it apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// The finish reason: `stop`, `length`, ..; `None` if the server sent none. Also `refusal`, where the text is one, and
    /// `undecodable`, where it is a body that could not be decoded.
    pub finish_reason: Option<String>,
    /// The model as reported by the server.
    pub model: Option<String>,
    /// The `system_fingerprint` of the server's configuration, if it sent one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_fingerprint: Option<String>,
    /// The tokens with their probabilities, if requested and sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logprobs: Option<Vec<TokenLogprob>>,
    /// When the service ends the model, if it says so with the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<ModelEnd>,
    /// Token counts.
    pub usage: Usage,
    /// Milliseconds from request to complete body; of the original call if cached.
    pub latency_ms: u64,
    /// Notes on the call that affect the verdict: a text cut to fit, characters that could not be decoded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Whether the reply came from the cache.
    pub cached: bool,
}

impl JudgeReply {
    /// A complete reply with this text, for built-in and test judges.
    pub fn of_text(content: impl Into<String>) -> Self {
        Self {
            content: content.into(),
            finish_reason: Some("stop".to_owned()),
            ..Self::default()
        }
    }

    /// The model that answered; `None` if the server named none.
    pub fn answering_model(&self) -> Option<&str> {
        self.model.as_deref().filter(|model| !model.is_empty())
    }

    /// Whether the text ends before anything but reasoning has come.
    pub(crate) fn is_all_reasoning(&self) -> bool {
        // Some servers count tokens of reasoning and send no text of it.
        let is_apart = self.reasoning.is_some() || self.usage.reasoning_tokens > 0;
        is_apart && self.content.trim().is_empty() || is_unfinished_thinking(&self.content)
    }

    /// Whether the reply was cut at the token limit.
    pub fn is_cut(&self) -> bool {
        self.finish_reason.as_deref() == Some("length")
    }
}

/// Whether the text has the start of a `<think>` block and not its end.
fn is_unfinished_thinking(text: &str) -> bool {
    text.trim_start().starts_with(OPEN) && !text.contains(CLOSE)
}

/// The reply after a leading `<think>` block, trimmed. A chat template may have dropped the opening tag: then
/// everything up to the closing one is thinking.
pub(crate) fn after_thinking(text: &str) -> Result<&str, String> {
    match text.split_once(CLOSE) {
        Some((_, rest)) => Ok(rest.trim()),
        None if is_unfinished_thinking(text) => {
            Err("the reply ends inside its <think> block".to_owned())
        }
        None if text.trim().is_empty() => Err("the reply is empty".to_owned()),
        None => Ok(text.trim()),
    }
}
