//! Judge calls: structured tasks, independent of the prompt text.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Aspect, CaseCriterion, ReplyShape};

/// Kind of a question; used in records, limits per kind and cache keys.
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
    /// How good is the answer in one aspect? A grade 1-5 with feedback.
    Aspect,
    /// Does a source support a claim? A label.
    Attribution,
    /// Which level does the answer reach on each of some criteria? One level each.
    Criteria,
    /// Which paragraphs of the answer are irrelevant to the question? A list of texts.
    Precision,
    /// Which claims of a section do its citations support? A list.
    CitationGroup,
}

impl CallKind {
    /// All kinds, in documentation order.
    pub const ALL: [Self; 9] = [
        Self::Expertise,
        Self::Property,
        Self::Evidence,
        Self::Citations,
        Self::Aspect,
        Self::Attribution,
        Self::Criteria,
        Self::Precision,
        Self::CitationGroup,
    ];

    /// The kinds used by the ScholarQA-CS rubric.
    pub const RUBRIC: [Self; 4] = [
        Self::Expertise,
        Self::Property,
        Self::Evidence,
        Self::Citations,
    ];

    /// The kind's name in files and options.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Expertise => "expertise",
            Self::Property => "property",
            Self::Evidence => "evidence",
            Self::Citations => "citations",
            Self::Aspect => "aspect",
            Self::Attribution => "attribution",
            Self::Criteria => "criteria",
            Self::Precision => "precision",
            Self::CitationGroup => "citation_group",
        }
    }

    /// Parses a kind's name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

impl fmt::Display for CallKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

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
}

impl Role {
    /// The role's name in files and options.
    pub fn name(&self) -> Cow<'static, str> {
        match self {
            Self::Rubric => "rubric".into(),
            Self::Aspect(aspect) => format!("aspect.{aspect}").into(),
            Self::Citation => "citation".into(),
            Self::Criteria => "criteria".into(),
        }
    }

    /// Parses a role's name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "rubric" => Some(Self::Rubric),
            "citation" => Some(Self::Citation),
            "criteria" => Some(Self::Criteria),
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

/// One question to a judge. Texts are shared: the calls of one answer hold one copy of it.
#[derive(Debug, Clone, PartialEq)]
pub enum JudgeTask {
    /// Rate the answer 0-10 on the fixed criterion about the asker's expertise.
    Expertise {
        /// The question.
        question: Arc<str>,
        /// The answer.
        answer: Arc<str>,
    },
    /// Rate the answer 0-10 on one criterion.
    Property {
        /// The question.
        question: Arc<str>,
        /// The answer.
        answer: Arc<str>,
        /// The criterion.
        criterion: Arc<str>,
    },
    /// Count the snippets that are partly or wholly present in the answer.
    Evidence {
        /// The question.
        question: Arc<str>,
        /// The answer.
        answer: Arc<str>,
        /// The snippets, in file order; never empty.
        snippets: Arc<[String]>,
    },
    /// Split the answer into claims, citations and excerpts.
    Citations {
        /// The question.
        question: Arc<str>,
        /// The answer.
        answer: Arc<str>,
    },
    /// Grade the answer 1-5 in one aspect (Prometheus).
    Aspect {
        /// The aspect with its five descriptions.
        aspect: Arc<Aspect>,
        /// Text before the question (`--instruction`); may be empty.
        instruction: Arc<str>,
        /// The question.
        question: Arc<str>,
        /// The answer, with the titles or texts of its sources appended if the aspect needs them.
        answer: Arc<str>,
        /// An answer of grade 5, if available.
        reference: Option<Arc<str>>,
    },
    /// Decide whether a document supports a claim (AutoAIS; AttrScore).
    Attribution {
        /// The claim.
        claim: Arc<str>,
        /// The document, or several joined by line feeds.
        document: Arc<str>,
    },
    /// Decide which level of a scale the answer reaches on each of these criteria.
    Criteria {
        /// The question.
        question: Arc<str>,
        /// The answer.
        answer: Arc<str>,
        /// The criteria; never empty.
        criteria: Arc<[CaseCriterion]>,
        /// How the reply is read.
        shape: Arc<ReplyShape>,
        /// The article that the answer is compared with, if the shape has a second score.
        reference: Option<Arc<str>>,
    },
    /// List the paragraphs of the answer that are irrelevant to the question (ScholarQA-CS2).
    Precision {
        /// The question.
        question: Arc<str>,
        /// The answer.
        answer: Arc<str>,
    },
    /// Decide which claims of a section or table are supported by its citations (ScholarQA-CS2).
    CitationGroup {
        /// The section's or the table's text.
        text: Arc<str>,
        /// All its citations, cited in the text or not; never empty.
        citations: Arc<[ShownCitation]>,
    },
}

/// A citation as it is shown to the judge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownCitation {
    /// The marker, as it is in the text.
    pub id: String,
    /// What is known of the source.
    pub shown: ShownText,
}

/// What is known of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShownText {
    /// Quotes from it, already joined.
    Quotes(String),
    /// Nothing but its title, which a null makes `None`; shown after the prompt set's title marker.
    Title(Option<String>),
}

impl ShownText {
    /// The text shown: a title after the prompt set's marker, and `None`, as Python writes a null, for no title.
    pub fn text(&self, title_marker: &str) -> Cow<'_, str> {
        match self {
            Self::Quotes(quotes) => quotes.into(),
            Self::Title(title) => {
                format!("{title_marker}{}", title.as_deref().unwrap_or("None")).into()
            }
        }
    }
}

impl JudgeTask {
    /// The question's kind.
    pub fn kind(&self) -> CallKind {
        match self {
            Self::Expertise { .. } => CallKind::Expertise,
            Self::Property { .. } => CallKind::Property,
            Self::Evidence { .. } => CallKind::Evidence,
            Self::Citations { .. } => CallKind::Citations,
            Self::Aspect { .. } => CallKind::Aspect,
            Self::Attribution { .. } => CallKind::Attribution,
            Self::Criteria { .. } => CallKind::Criteria,
            Self::Precision { .. } => CallKind::Precision,
            Self::CitationGroup { .. } => CallKind::CitationGroup,
        }
    }

    /// The judged text: the answer, the section, or the claim.
    pub fn answer(&self) -> &Arc<str> {
        match self {
            Self::Attribution { claim, .. } => claim,
            Self::CitationGroup { text, .. } => text,
            Self::Expertise { answer, .. }
            | Self::Property { answer, .. }
            | Self::Evidence { answer, .. }
            | Self::Citations { answer, .. }
            | Self::Aspect { answer, .. }
            | Self::Criteria { answer, .. }
            | Self::Precision { answer, .. } => answer,
        }
    }

    /// The text it is judged against: the question, or the cited document; a section has only its own.
    pub fn question(&self) -> &Arc<str> {
        match self {
            Self::Attribution { document, .. } => document,
            Self::CitationGroup { text, .. } => text,
            Self::Expertise { question, .. }
            | Self::Property { question, .. }
            | Self::Evidence { question, .. }
            | Self::Citations { question, .. }
            | Self::Aspect { question, .. }
            | Self::Criteria { question, .. }
            | Self::Precision { question, .. } => question,
        }
    }
}

/// One judge call of a scorer.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgeCall {
    /// The component that the verdict is for (`expertise`, `citations`, `<name>`, `<name>_evidence`), or the first and
    /// the last criterion of several (`c1..c8`).
    pub item: Arc<str>,
    /// The judge's role.
    pub role: Role,
    /// The task.
    pub task: JudgeTask,
    /// Index of the sample, 0-based (`--samples K` asks for samples 0..K).
    pub sample: u32,
    /// Index of the judge in the role's panel, 0-based.
    pub member: u32,
}
