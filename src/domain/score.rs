//! The score of one answer.

use serde::{Deserialize, Serialize};

use super::UnscoredReason;

/// What a component measures; the tidy `items.csv` carries it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ComponentKind {
    /// Counted from the text, no judge.
    Length,
    /// One judged criterion, the fixed one about expertise.
    Expertise,
    /// Share of claims with a citation.
    Citations,
    /// Share of citations with an excerpt.
    Excerpts,
    /// One judged criterion of the test case.
    Property,
    /// Share of a criterion's snippets that are present.
    Evidence,
}

impl ComponentKind {
    /// The kind's name in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Expertise => "expertise",
            Self::Citations => "citations",
            Self::Excerpts => "excerpts",
            Self::Property => "property",
            Self::Evidence => "evidence",
        }
    }

    /// True for the components that come from the annotator's rubric (they make up `ann_score`).
    pub fn is_annotated(self) -> bool {
        matches!(self, Self::Property | Self::Evidence)
    }
}

/// One weighted part of a score.
#[derive(Debug, Clone, PartialEq)]
pub struct Component {
    /// Its name, unique within a score.
    pub name: String,
    /// What it measures.
    pub kind: ComponentKind,
    /// What was judged: the criterion's text, or how many snippets.
    pub text: String,
    /// Its weight in the score.
    pub weight: f64,
    /// 0..=1; `None` if it could not be judged. (In compat mode it may leave 0..=1.)
    pub value: Option<f64>,
    /// Why there is no value.
    pub reason: Option<UnscoredReason>,
    /// What the judge said besides the number, where it did.
    pub feedback: Option<String>,
}

/// The score of one answer by one scorer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Score {
    /// The scorer's name.
    pub scorer: &'static str,
    /// Sum of weight x value; `None` if a component has no value.
    pub value: Option<f64>,
    /// The same over annotated components, divided by their total weight; `None` if one of them has no value.
    pub ann_score: Option<f64>,
    /// Every component, in the order of the rubric.
    pub components: Vec<Component>,
    /// What a reader must know of how it came about (weights scaled, ..).
    pub notes: Vec<String>,
}

impl Score {
    /// The component of that name.
    pub fn component(&self, name: &str) -> Option<&Component> {
        self.components.iter().find(|component| component.name == name)
    }

    /// True if every component has a value.
    pub fn is_complete(&self) -> bool {
        self.components.iter().all(|component| component.value.is_some())
    }
}
