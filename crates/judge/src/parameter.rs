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
    /// A schema of the reply; JSON mode takes its place.
    Schema,
    /// JSON mode.
    ResponseFormat,
    /// The reply limit; in chat it becomes `max_completion_tokens`.
    MaxTokens,
    /// The reply limit under its new name.
    MaxCompletionTokens,
    /// The reply limit of a list that nobody gave: such a call then has none.
    ListLimit,
    /// Gemini's thinking level, in whose place a budget is sent.
    ThinkingLevel,
    /// How much the model reasons. Never left out: that would be another judge, so the run ends.
    Effort,
    /// The room for reasoning in the reply limit: such a call has less.
    Room,
}

impl Parameter {
    /// All parameters that are fields of a request.
    pub const ALL: [Self; 8] = [
        Self::Temperature,
        Self::TopP,
        Self::Seed,
        Self::Logprobs,
        Self::Schema,
        Self::ResponseFormat,
        Self::MaxTokens,
        Self::MaxCompletionTokens,
    ];

    /// Whether it is how much the model reasons, in one form or another.
    pub(super) fn is_effort(self) -> bool {
        matches!(self, Self::ThinkingLevel | Self::Effort)
    }

    /// What is missing without it, for a reader of the scores.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Schema => "a reply schema",
            Self::ResponseFormat => "JSON mode",
            Self::MaxTokens | Self::MaxCompletionTokens | Self::ListLimit => "a reply limit",
            Self::Room => "room for reasoning",
            Self::Temperature => "temperature",
            Self::TopP => "top_p",
            Self::Seed => "seed",
            Self::Logprobs => "logprobs",
            Self::ThinkingLevel | Self::Effort => "a reasoning effort",
        }
    }
}
