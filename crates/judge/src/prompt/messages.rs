//! The messages of a prompt.

use std::sync::OnceLock;

use serde_json::Value;

use crate::tokens::estimate_messages;
use scholareval_core::domain::Fingerprint;
use scholareval_core::text::model_tokens::estimate_tokens;

/// Messages of one question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Messages {
    /// The system message, if the set has one for this question.
    pub system: Option<String>,
    /// The user message.
    pub user: String,
    /// The questions to a decision model, as they are sent; the user message is then the text that they are about.
    pub questions: Option<String>,
    /// Bytes of it that calls about the same answer begin with, so that providers can process them once; 0 if unknown.
    pub shared: usize,
}

impl Messages {
    /// Messages with these texts.
    pub fn new(system: Option<String>, user: impl Into<String>) -> Self {
        Self {
            system,
            user: user.into(),
            questions: None,
            shared: 0,
        }
    }

    /// The questions to a decision model; null without any.
    pub fn questions_json(&self) -> Value {
        let questions = self.questions.as_deref();
        questions
            .and_then(|questions| serde_json::from_str(questions).ok())
            .unwrap_or_default()
    }

    /// How many questions the text is read for: one without any to a decision model.
    pub fn question_count(&self) -> u64 {
        let count = match self.questions_json() {
            Value::Array(questions) => questions.len(),
            Value::Object(questions) => questions.len(),
            _ => 1,
        };
        count.max(1) as u64
    }

    /// The texts in the order in which they are sent.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let system = self.system.as_deref().into_iter();
        let questions = self.questions.as_deref();
        system.chain([&*self.user]).chain(questions)
    }
}

/// The prompt of one call as a judge is asked. What is computed of its texts is computed once, for all requests of the call.
#[derive(Debug)]
pub struct Prompt {
    messages: Messages,
    /// The one text that is sent in their place, where the protocol writes them out.
    raw: Option<Messages>,
    tokens: OnceLock<u64>,
    hash: OnceLock<Fingerprint>,
}

impl Prompt {
    /// These messages, sent as they are or as the `raw` text.
    pub fn new(messages: Messages, raw: Option<String>) -> Self {
        Self {
            messages,
            raw: raw.map(|text| Messages::new(None, text)),
            tokens: OnceLock::new(),
            hash: OnceLock::new(),
        }
    }

    /// The messages in the form in which they are sent: a raw prompt is one text.
    pub fn sent(&self) -> &Messages {
        self.raw.as_ref().unwrap_or(&self.messages)
    }

    /// About how many tokens the messages have, their framing included.
    pub fn tokens(&self) -> u64 {
        *self
            .tokens
            .get_or_init(|| estimate_messages(&self.messages))
    }

    /// About how many tokens are sent. A raw prompt holds its framing.
    pub fn sent_tokens(&self) -> u64 {
        match &self.raw {
            Some(raw) => estimate_tokens(&raw.user),
            None => self.tokens(),
        }
    }

    /// The hash of the texts that are sent, by which a prompt that is rendered again is checked.
    pub fn hash(&self) -> Fingerprint {
        *self.hash.get_or_init(|| {
            let mut hasher = blake3::Hasher::new();
            for text in self.sent().texts() {
                // Lengths first: the end of one text could otherwise be moved into the next.
                hasher.update(&(text.len() as u64).to_le_bytes());
                hasher.update(text.as_bytes());
            }
            hasher.finalize().into()
        })
    }
}
