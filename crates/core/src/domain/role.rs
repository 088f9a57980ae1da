//! Roles of judges.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The judge that a call is for; in files its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Role {
    /// The judge of ScholarQA-CS rubrics.
    Rubric,
    /// The judge of the aspect with this name.
    Aspect(Arc<str>),
    /// The citation judge: does a source support a claim?
    Citation,
    /// The judge of a list of criteria.
    Criteria,
    /// The judge of pairs of answers.
    Pair,
    /// The judge of cited pages.
    Page,
}

impl Role {
    /// The role's name in files and options.
    pub fn name(&self) -> Cow<'static, str> {
        match self {
            Self::Rubric => "rubric".into(),
            Self::Aspect(aspect) => format!("aspect.{aspect}").into(),
            Self::Citation => "citation".into(),
            Self::Criteria => "criteria".into(),
            Self::Pair => "pair".into(),
            Self::Page => "page".into(),
        }
    }

    /// Parses a role's name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "rubric" => Some(Self::Rubric),
            "citation" => Some(Self::Citation),
            "criteria" => Some(Self::Criteria),
            "pair" => Some(Self::Pair),
            "page" => Some(Self::Page),
            _ => name
                .strip_prefix("aspect.")
                .filter(|aspect| !aspect.is_empty())
                .map(|a| Self::Aspect(a.into())),
        }
    }
}

impl From<Role> for String {
    fn from(role: Role) -> Self {
        role.name().into_owned()
    }
}

impl TryFrom<String> for Role {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        Self::from_name(&name).ok_or_else(|| format!("{name:?} is not a role"))
    }
}
