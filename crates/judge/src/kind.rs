//! Kinds of judges: the built-in baseline, a protocol of a server, or a model that answers with one label.

use clap::ValueEnum;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::protocol::{
    ANTHROPIC, CHAT, COMPLETIONS, DECISIONS, GEMINI, GOOGLE_DECISIONS, Protocol, SYSTEM_ONE,
};
use scholareval_core::question::{KindInfo, ReplyKind};

/// Reply limit of a model that answers with one label, as published for AttrScore (ScholarQABench,
/// `citation_correctness_eval.py`).
const LABEL_TOKENS: u64 = 10;

/// Reply limit of a list without what it restates of the answer.
const LIST_TOKENS: u64 = 2_000;
/// Reply tokens of a list for each token of the answer: claims restate it, with the excerpts of their sources.
const LIST_TOKENS_PER_TOKEN: u64 = 3;

/// What judges, and over which route it is asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
#[value(rename_all = "lower")]
pub enum JudgeKind {
    /// The built-in baseline: deterministic, offline, no LLM; it has no route.
    Lexical,
    /// An LLM behind `POST /chat/completions`: the server makes the prompt from messages.
    #[default]
    Chat,
    /// An LLM behind `POST /completions`: the prompt is made here, in a named [conversation
    /// format](super::conversation::Conversation).
    Completions,
    /// A model behind `POST /completions` whose whole reply is one literal label (AttrScore).
    Label,
    /// An LLM behind Anthropic's `POST /messages`.
    Anthropic,
    /// An LLM behind Google's `POST /models/MODEL:generateContent`.
    Gemini,
    /// A decision model behind `POST /systemone`, whose questions are named.
    SystemOne,
    /// A decision model behind OpenAI's `POST /decisions`, whose questions are listed.
    Decisions,
}

impl JudgeKind {
    /// The protocol in which it is asked; that of chat for the baseline, which sends nothing.
    pub fn protocol(self) -> &'static dyn Protocol {
        match self {
            Self::Lexical | Self::Chat => &CHAT,
            Self::Completions | Self::Label => &COMPLETIONS,
            Self::Anthropic => &ANTHROPIC,
            Self::Gemini => &GEMINI,
            Self::SystemOne => &SYSTEM_ONE,
            Self::Decisions => &DECISIONS,
        }
    }

    /// The protocol in which it is asked at this address.
    pub fn protocol_at(self, base_url: &str) -> &'static dyn Protocol {
        match self {
            Self::SystemOne if base_url.contains(GEMINI.address().host) => &GOOGLE_DECISIONS,
            _ => self.protocol(),
        }
    }

    /// Whether it answers questions with fixed options, by probabilities.
    pub fn is_decision_model(self) -> bool {
        self.protocol().decision_shape().is_some()
    }

    /// What it is, in the help of `--judge`.
    pub fn about(self) -> &'static str {
        match self {
            Self::Lexical => "the built-in baseline: no LLM, offline",
            Self::Chat => "OpenAI, and servers with its API",
            Self::Completions => "the conversation is written out here",
            Self::Label => "a model that answers with one label",
            Self::Anthropic => "its Messages API",
            Self::Gemini => "Google's own API",
            Self::SystemOne => "a decision model: TypeSafe, llama.cpp, vLLM, SGLang",
            Self::Decisions => "a decision model: OpenAI, vLLM, Fireworks",
        }
    }

    /// Every protocol, some several times.
    pub fn protocols() -> impl Iterator<Item = &'static dyn Protocol> {
        Self::value_variants().iter().map(|kind| kind.protocol())
    }

    /// The reply limit of a list about an answer of so many tokens, where neither the user nor the reference decides: a
    /// small model may not find the end of a list, and write for minutes.
    pub fn list_limit(answer_tokens: u64) -> u64 {
        answer_tokens
            .saturating_mul(LIST_TOKENS_PER_TOKEN)
            .saturating_add(LIST_TOKENS)
    }

    /// The reply limit in tokens of a kind of question where no other is given: that of the kind, 10 where the reply is
    /// only a label; `None` (no limit) for lists that restate the answer (see [`JudgeKind::list_limit`]).
    pub fn default_max_tokens(self, info: &KindInfo) -> Option<u64> {
        if self.is_decision_model() {
            // It writes no text.
            Some(0)
        } else if self == Self::Label && info.reply == ReplyKind::Label {
            Some(LABEL_TOKENS)
        } else {
            info.reply_limit
        }
    }
}

impl fmt::Display for JudgeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_possible_value()
            .map_or(Ok(()), |value| f.write_str(value.get_name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scholareval_core::question::{ASPECT, ATTRIBUTION, CITATIONS};
    use serde_json::json;

    #[test]
    fn options_and_files_use_the_same_names() {
        for kind in JudgeKind::value_variants() {
            assert_eq!(
                JudgeKind::from_str(&kind.to_string(), false).as_ref(),
                Ok(kind)
            );
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.to_string());
        }
    }

    #[test]
    fn only_a_label_model_is_held_to_ten_tokens() {
        let limit = |kind: JudgeKind| kind.default_max_tokens(&ATTRIBUTION);
        let limits = [JudgeKind::Chat, JudgeKind::Completions, JudgeKind::Label].map(limit);
        assert_eq!(limits, [Some(100), Some(100), Some(10)]);
        assert_eq!(
            JudgeKind::Completions.default_max_tokens(&ASPECT),
            Some(512)
        );
        assert_eq!(JudgeKind::Chat.default_max_tokens(&CITATIONS), None);
    }

    /// A usage whose counts no number can sum, as each protocol's service writes it.
    #[test]
    fn usage_saturates_in_every_protocol() {
        let most = u64::MAX;
        let chat = json!({"choices": [{"message": {"content": "a"}, "text": "a", "finish_reason": "stop"}],
            "usage": {"prompt_tokens": most, "completion_tokens": most}});
        let anthropic = json!({"content": [{"type": "text", "text": "a"}], "stop_reason": "end_turn",
            "usage": {"input_tokens": most, "cache_read_input_tokens": most, "cache_creation_input_tokens": 2,
                "output_tokens": most}});
        let gemini = json!({"candidates": [{"content": {"parts": [{"text": "a"}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": most, "candidatesTokenCount": most, "thoughtsTokenCount": most}});
        let decisions =
            json!({"answers": {}, "usage": {"input_tokens": most, "output_tokens": most}});
        for kind in JudgeKind::value_variants() {
            let body = match kind {
                JudgeKind::Anthropic => &anthropic,
                JudgeKind::Gemini => &gemini,
                JudgeKind::SystemOne | JudgeKind::Decisions => &decisions,
                _ => &chat,
            };
            let usage = kind.protocol().read(body.clone(), 1).unwrap().usage;
            // What a count can be at most: a budget of that many tokens is spent.
            assert_eq!(
                [usage.prompt_tokens, usage.completion_tokens],
                [1_000_000_000; 2],
                "{kind:?}"
            );
        }
    }
}
