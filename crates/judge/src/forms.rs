//! Forms of a request: how much a model reasons, whether its reply follows a schema, how soon it is wanted.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// How much a reasoning model thinks before it replies.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ValueEnum,
)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Not at all.
    None,
    /// As little as it can.
    Minimal,
    /// A little.
    Low,
    /// Somewhat.
    Medium,
    /// Thoroughly.
    High,
    /// More than thoroughly.
    Xhigh,
    /// As much as it can.
    Max,
}

impl Effort {
    /// Tokens that a reply limit grows by, since it holds for the reasoning as well: 0, 1,000, 4,000, 12,000, 32,000,
    /// 64,000 and 96,000. A limit that the user gives is not changed.
    pub fn tokens(self) -> u64 {
        match self {
            Self::None => 0,
            Self::Minimal => 1_000,
            Self::Low => 4_000,
            Self::Medium => 12_000,
            Self::High => 32_000,
            Self::Xhigh => 64_000,
            // Models that have this level write 128,000 tokens at most, the verdict included.
            Self::Max => 96_000,
        }
    }

    /// The names of these, for a message.
    pub(super) fn names(efforts: impl IntoIterator<Item = Self>) -> String {
        let values = efforts
            .into_iter()
            .filter_map(|effort| effort.to_possible_value());
        let names: Vec<String> = values.map(|value| value.get_name().to_owned()).collect();
        names.join(", ")
    }
}

/// The form of a reply that is asked of the server, for questions whose reply is a JSON object. All replies are validated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Structured {
    /// A schema where the prompts declare one, else JSON mode; over chat, repeats of unreadable replies have the schema of
    /// the question, and so have first attempts once most replies without it were unreadable.
    #[default]
    Auto,
    /// A schema for every question: that of the prompts, else that of the question.
    Schema,
    /// JSON mode.
    Json,
    /// Nothing: the prompt alone asks for JSON.
    Off,
}

/// How soon a reply is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum ServiceTier {
    /// Flex processing (OpenAI, Gemini): at the price of batches, slower, and sometimes refused for now (429).
    Flex,
}

impl ServiceTier {
    /// The share of the listed price.
    pub fn price_share(self) -> f64 {
        match self {
            // Both price lists: the price of a batch.
            Self::Flex => 0.5,
        }
    }

    /// Time-out and retries are multiplied by this.
    pub fn patience(self) -> u32 {
        match self {
            Self::Flex => 3,
        }
    }
}
