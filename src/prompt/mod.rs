//! Prompt sets: templates, rendering a task into messages, the fence, import of published wordings.

/// What is sent for one task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Messages {
    /// The system message, if the set has one for this task.
    pub system: Option<String>,
    /// The user message.
    pub user: String,
}
