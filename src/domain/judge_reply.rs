//! What a judge answered, before it is read.

use serde::{Deserialize, Serialize};

/// At most this many characters of a reply are quoted in a message.
const QUOTED_CHARS: usize = 40;

/// Tokens of one call as the server counted them; 0 where it did not say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the prompt, cached ones included.
    pub prompt_tokens: u64,
    /// Prompt tokens the server took from its prefix cache.
    pub cached_prompt_tokens: u64,
    /// Tokens of the reply.
    pub completion_tokens: u64,
}

/// One token of a reply as the server sampled it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TokenLogprob {
    /// The token's text.
    pub token: String,
    /// Natural logarithm of its probability.
    pub logprob: f64,
    /// Alternatives at its place with their logarithms, the token itself among them where the server lists it. Kept
    /// only for tokens that hold a digit, a score being nowhere else, and for the token behind such a one, which tells
    /// whether the number might have gone on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub top: Vec<(String, f64)>,
}

/// One whole reply of a judge, raw.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct JudgeReply {
    /// The message text, exactly as it came; empty where the server sent null.
    pub content: String,
    /// Why the server stopped: `stop`, `length`, ..; `None` where it did not say.
    pub finish_reason: Option<String>,
    /// The model the server says it used.
    pub model: Option<String>,
    /// The tokens with their probabilities, where they were asked for and came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logprobs: Option<Vec<TokenLogprob>>,
    /// Token counts.
    pub usage: Usage,
    /// Milliseconds from sending to the whole body; of the original call where cached.
    pub latency_ms: u64,
    /// What a reader of the verdict must know of how it was asked, such as that the text was cut to fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// True if the reply was not asked for now but found in the cache.
    pub cached: bool,
}

impl JudgeReply {
    /// A reply of this text that ended by itself; for built-in and test judges.
    pub fn of_text(content: impl Into<String>) -> Self {
        Self { content: content.into(), finish_reason: Some("stop".to_owned()), ..Self::default() }
    }

    /// True if the server cut the reply at its token limit.
    pub fn is_cut(&self) -> bool {
        self.finish_reason.as_deref() == Some("length")
    }
}

/// What follows a leading `<think>` block. A chat template may have swallowed the opening tag: then everything up to
/// the closing one is thinking.
pub(super) fn after_thinking(text: &str) -> Result<&str, String> {
    const OPEN: &str = "<think>";
    const CLOSE: &str = "</think>";
    match (text.strip_prefix(OPEN), text.split_once(CLOSE)) {
        (_, Some((_, rest))) => Ok(rest),
        (Some(_), None) => Err("the reply ends inside its <think> block".to_owned()),
        (None, None) => Ok(text),
    }
}

/// The first characters of hostile text, escaped, for messages.
pub(super) fn quoted(text: &str) -> String {
    let mut out: String = text.chars().take(QUOTED_CHARS).flat_map(char::escape_debug).collect();
    if text.chars().nth(QUOTED_CHARS).is_some() {
        out.push_str("..");
    }
    out
}
