//! What a judge answered, before it is read.

use serde::{Deserialize, Serialize};

use super::TokenLogprob;

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
