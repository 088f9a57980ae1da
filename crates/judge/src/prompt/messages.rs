//! The messages of a prompt.

use scholareval_core::domain::Fingerprint;

/// Messages of one question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Messages {
    /// The system message, if the set has one for this question.
    pub system: Option<String>,
    /// The user message.
    pub user: String,
    /// Bytes of it that calls about the same answer begin with, so that providers can process them once; 0 if unknown.
    pub shared: usize,
}

impl Messages {
    /// Messages with these texts.
    pub fn new(system: Option<String>, user: impl Into<String>) -> Self {
        Self {
            system,
            user: user.into(),
            shared: 0,
        }
    }

    /// The texts in the order in which they are sent.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.system.as_deref().into_iter().chain([&*self.user])
    }

    /// The hash of the texts, by which a prompt that is rendered again is checked.
    pub fn hash(&self) -> Fingerprint {
        let mut hasher = blake3::Hasher::new();
        for text in self.texts() {
            // Lengths first: the end of one text could otherwise be moved into the next.
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        hasher.finalize().into()
    }
}
