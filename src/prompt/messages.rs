//! The messages of a prompt.

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
}
