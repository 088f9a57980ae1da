//! Who can say exactly how many tokens a prompt has, before it is asked.

use bytes::Bytes;

use super::capacity::{TokenCounter, Tokenizer};
use super::openai_tokens::Encoding;

/// Counts the prompt tokens of rendered calls. No reply is ever asked for.
pub enum PromptCounter {
    /// The server, with the tokenizer of its model.
    Server(Box<TokenCounter>),
    /// A vocabulary that is built in.
    BuiltIn(Encoding),
}

impl PromptCounter {
    /// Who counts, in a word: `llama.cpp`, `vllm`, or the name of an encoding.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Server(counter) => match counter.tokenizer() {
                Tokenizer::LlamaCpp => "llama.cpp",
                Tokenizer::Vllm => "vllm",
            },
            Self::BuiltIn(encoding) => encoding.as_str(),
        }
    }

    /// True if counting costs no request.
    pub fn is_built_in(&self) -> bool {
        matches!(self, Self::BuiltIn(_))
    }

    /// The prompt tokens of a rendered body; `None` if that cannot be told.
    pub async fn count(&self, body: &Bytes) -> Option<u64> {
        match self {
            Self::Server(counter) => counter.count(body).await,
            Self::BuiltIn(encoding) => {
                let (encoding, body) = (*encoding, body.clone());
                tokio::task::spawn_blocking(move || encoding.count_body(&body)).await.ok().flatten()
            }
        }
    }
}
