//! Request parameters that some servers refuse.

use serde::{Deserialize, Serialize};

/// A parameter of a request that is left out, or renamed, where the server refuses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Parameter {
    /// The sampling temperature.
    Temperature,
    /// The share of the probability that is sampled from.
    TopP,
    /// The seed.
    Seed,
    /// Token probabilities.
    Logprobs,
    /// JSON mode.
    ResponseFormat,
    /// The reply limit; in chat it becomes `max_completion_tokens`.
    MaxTokens,
    /// The reply limit under its new name.
    MaxCompletionTokens,
}

impl Parameter {
    /// All parameters.
    pub const ALL: [Self; 7] = [
        Self::Temperature,
        Self::TopP,
        Self::Seed,
        Self::Logprobs,
        Self::ResponseFormat,
        Self::MaxTokens,
        Self::MaxCompletionTokens,
    ];

    /// The field of the request.
    pub fn field(self) -> &'static str {
        match self {
            Self::Temperature => "temperature",
            Self::TopP => "top_p",
            Self::Seed => "seed",
            Self::Logprobs => "logprobs",
            Self::ResponseFormat => "response_format",
            Self::MaxTokens => "max_tokens",
            Self::MaxCompletionTokens => "max_completion_tokens",
        }
    }

    /// Names by which servers refer to it.
    pub(super) fn names(self) -> &'static [&'static str] {
        match self {
            Self::Temperature => &["temperature"],
            Self::TopP => &["top_p"],
            Self::Seed => &["seed"],
            Self::Logprobs => &["logprobs", "top_logprobs"],
            Self::ResponseFormat => &["response_format", "json_object"],
            Self::MaxTokens => &["max_tokens"],
            Self::MaxCompletionTokens => &["max_completion_tokens"],
        }
    }
}
