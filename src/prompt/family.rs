//! The three families of prompts: rubric, aspects, attribution.

use std::fmt;

use crate::domain::CallKind;

/// Calls whose prompts belong together; each family of a set has a fingerprint and a label of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PromptFamily {
    /// The four kinds of the ScholarQA-CS rubric.
    Rubric,
    /// Grades of aspects.
    Aspect,
    /// Whether a document bears a claim out.
    Attribution,
}

impl PromptFamily {
    /// All families.
    pub const ALL: [Self; 3] = [Self::Rubric, Self::Aspect, Self::Attribution];

    /// The family of a kind of call.
    pub fn of(kind: CallKind) -> Self {
        match kind {
            CallKind::Expertise | CallKind::Property | CallKind::Evidence | CallKind::Citations => Self::Rubric,
            CallKind::Aspect => Self::Aspect,
            CallKind::Attribution => Self::Attribution,
        }
    }

    /// The kinds of calls of the family.
    pub fn kinds(self) -> &'static [CallKind] {
        match self {
            Self::Rubric => &CallKind::RUBRIC,
            Self::Aspect => &[CallKind::Aspect],
            Self::Attribution => &[CallKind::Attribution],
        }
    }

    /// The family's name in files and tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rubric => "rubric",
            Self::Aspect => "aspect",
            Self::Attribution => "attribution",
        }
    }
}

impl fmt::Display for PromptFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
