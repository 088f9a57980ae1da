//! A judge's reply before parsing.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{Mode, ModelEnd};
use crate::text::names::without_directories;
use crate::text::thinking::reply_start;

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

    /// The model that answered, of a path its last component; `None` if the server named none.
    pub fn answering_model(&self) -> Option<&str> {
        let model = self.model.as_deref().filter(|model| !model.is_empty());
        model.map(without_directories)
    }

    /// Whether the text ends before anything but reasoning has come.
    pub fn is_all_reasoning(&self) -> bool {
        if self.content.trim().is_empty() {
            // Some servers count tokens of reasoning and send no text of it; others do neither.
            return self.reasoning.is_some()
                || self.usage.reasoning_tokens > 0
                || self.is_cut() && self.content.is_empty();
        }
        after_thinking(&self.content).is_err()
    }

    /// Whether the judge ended a reply of which the server sent nothing but reasoning.
    pub fn is_in_reasoning_field(&self) -> bool {
        let is_ended = matches!(self.finish_reason.as_deref(), Some("stop") | None);
        let is_text = |text: &String| !text.trim().is_empty();
        is_ended && self.content.trim().is_empty() && self.reasoning.as_ref().is_some_and(is_text)
    }

    /// The reply without the reasoning in the user's forms that begins its text. Readers know the other forms themselves, and
    /// compat mode none of the user's.
    pub fn without_reasoning(&self, forms: &[String], mode: Mode) -> Cow<'_, Self> {
        // A tag in a text of an object ends nothing.
        let is_object = self.content.trim_start().starts_with('{');
        if forms.is_empty() || is_object || mode == Mode::Compat {
            return Cow::Borrowed(self);
        }
        let mut reply = self.clone();
        reply.content.drain(..reply_start(&self.content, forms));
        Cow::Owned(reply)
    }

    /// A reply whose limit of so many tokens went to its reasoning, where the server says only that.
    pub fn of_used_up_limit(tokens: u64) -> Self {
        Self {
            finish_reason: Some("length".to_owned()),
            usage: Usage {
                completion_tokens: tokens,
                reasoning_tokens: tokens,
                ..Usage::default()
            },
            ..Self::default()
        }
    }

    /// Whether it was cut because reasoning took its limit: nothing else came, or it cannot be read and reasoning came
    /// before its text. `shown` is the reply [without the reasoning](Self::without_reasoning) in the user's forms.
    pub fn is_starved(&self, shown: &Self, is_read: bool) -> bool {
        let is_object = self.content.trim_start().starts_with('{');
        let has_reasoning = self.reasoning.is_some()
            || self.usage.reasoning_tokens > 0
            || shown.content.len() < self.content.len()
            || !is_object && reply_start(&self.content, &[]) > 0;
        let is_all = self.is_all_reasoning() || has_reasoning && shown.content.trim().is_empty();
        self.is_cut() && (is_all || !is_read && has_reasoning)
    }

    /// Whether the reply was cut at the token limit.
    pub fn is_cut(&self) -> bool {
        self.finish_reason.as_deref() == Some("length")
    }
}

/// The reply behind its reasoning, trimmed.
pub(crate) fn after_thinking(text: &str) -> Result<&str, String> {
    let start = reply_start(text, &[]);
    match text[start..].trim() {
        "" if start > 0 => Err("the reply has nothing behind its reasoning".to_owned()),
        "" => Err("the reply is empty".to_owned()),
        rest => Ok(rest),
    }
}
