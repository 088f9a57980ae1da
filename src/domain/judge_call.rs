//! What a scorer asks a judge: a structured task, not a prompt.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The kind of a question; stands in records, limits per kind and cache keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    /// Does the expertise the answer needs match the asker's? 0-10.
    Expertise,
    /// Does the answer meet one criterion? 0-10.
    Property,
    /// How many of the snippets are in the answer? A count.
    Evidence,
    /// Which claims, citations and excerpts has the answer? A list.
    Citations,
}

impl CallKind {
    /// All kinds, in the order they are documented.
    pub const ALL: [Self; 4] = [Self::Expertise, Self::Property, Self::Evidence, Self::Citations];

    /// The kind's name in files and options.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Expertise => "expertise",
            Self::Property => "property",
            Self::Evidence => "evidence",
            Self::Citations => "citations",
        }
    }

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

impl fmt::Display for CallKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Which judge a call is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The judge of ScholarQA-CS rubrics.
    Rubric,
}

impl Role {
    /// The role's name in files and options.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rubric => "rubric",
        }
    }
}

/// One question to a judge. Texts are shared: the calls of one answer hold one copy of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JudgeTask {
    /// Rate the answer 0-10 on the fixed criterion about the asker's expertise.
    Expertise {
        /// The question that was answered.
        question: Arc<str>,
        /// The answer.
        answer: Arc<str>,
    },
    /// Rate the answer 0-10 on one criterion.
    Property {
        /// The question that was answered.
        question: Arc<str>,
        /// The answer.
        answer: Arc<str>,
        /// The criterion.
        criterion: Arc<str>,
    },
    /// Count the snippets that are partly or wholly present in the answer.
    Evidence {
        /// The question that was answered.
        question: Arc<str>,
        /// The answer.
        answer: Arc<str>,
        /// The snippets, in file order; never empty.
        snippets: Arc<[String]>,
    },
    /// Split the answer into claims, citations and excerpts.
    Citations {
        /// The question that was answered.
        question: Arc<str>,
        /// The answer.
        answer: Arc<str>,
    },
}

impl JudgeTask {
    /// The kind of the question.
    pub fn kind(&self) -> CallKind {
        match self {
            Self::Expertise { .. } => CallKind::Expertise,
            Self::Property { .. } => CallKind::Property,
            Self::Evidence { .. } => CallKind::Evidence,
            Self::Citations { .. } => CallKind::Citations,
        }
    }

    /// The answer the question is about.
    pub fn answer(&self) -> &Arc<str> {
        match self {
            Self::Expertise { answer, .. }
            | Self::Property { answer, .. }
            | Self::Evidence { answer, .. }
            | Self::Citations { answer, .. } => answer,
        }
    }

    /// The question that was answered.
    pub fn question(&self) -> &Arc<str> {
        match self {
            Self::Expertise { question, .. }
            | Self::Property { question, .. }
            | Self::Evidence { question, .. }
            | Self::Citations { question, .. } => question,
        }
    }
}

/// One call that a scorer asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgeCall {
    /// The component the verdict is for (`expertise`, `citations`, `<name>`, `<name>_evidence`).
    pub item: Arc<str>,
    /// Which judge is asked.
    pub role: Role,
    /// What is asked.
    pub task: JudgeTask,
    /// Index of the draw, 0-based (`--samples K` asks draws 0..K).
    pub draw: u32,
}
