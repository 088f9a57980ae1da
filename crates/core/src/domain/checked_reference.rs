//! What files of works say about a cited reference.

use serde::{Deserialize, Serialize};

use super::reference::Reference;
use super::work::{Retraction, WorkRecord};
use crate::named_enum;

named_enum! {
    /// What the files of works say about a reference. A work that they do not hold may well exist.
    pub enum WorkState {
        /// A record agrees in title, authors and year, as far as the reference gives them.
        Exists = "exists",
        /// A record was found, and some fields differ.
        Differs = "differs",
        /// The sources contradict each other about the same work.
        SourcesDisagree = "sources_disagree",
        /// A short title that several records have.
        Ambiguous = "ambiguous",
        /// Nothing was found in a source that covers works of this kind.
        NotInIndex = "not_in_index",
        /// It could not be looked up: see [`UncheckedReason`].
        Unchecked = "unchecked",
    }
}

impl WorkState {
    /// Whether the state leaves open if the work was found: it counts in the bounds only.
    pub fn is_open(self) -> bool {
        matches!(
            self,
            Self::SourcesDisagree | Self::Ambiguous | Self::Unchecked
        )
    }

    /// Whether a record of the work was found.
    pub fn is_found(self) -> bool {
        matches!(self, Self::Exists | Self::Differs)
    }
}

/// Why a reference could not be looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UncheckedReason {
    /// It has neither an identifier nor a title.
    NoTitle,
    /// A book, a web page or software, which no source covers.
    Kind,
    /// The sources that were named do not cover works of its kind.
    NotCovered,
}

named_enum! {
    /// A field in which a reference and a record may differ.
    pub enum WorkField {
        /// The title.
        Title = "title",
        /// The authors: those that are cited are not those of the record.
        Authors = "authors",
        /// The year.
        Year = "year",
        /// The identifier leads to another work, or to none.
        Identifier = "identifier",
        /// The venue, which is shown and never decides.
        Venue = "venue",
    }
}

/// A field with what is cited and what is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DifferingField {
    /// Which field.
    pub field: WorkField,
    /// As it is cited.
    pub cited: String,
    /// As the record has it; empty if it has none.
    pub recorded: String,
}

/// What is known about a retraction of a work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetractionStatus {
    /// No source of retractions covers it: nothing is known.
    #[default]
    Unknown,
    /// A source of retractions was read and has no notice.
    NoNotice,
    /// A notice.
    Notice(Retraction),
}

/// A reference with what the files of works say about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckedReference {
    /// The decision.
    pub state: WorkState,
    /// Why it was not looked up, if the state is [`WorkState::Unchecked`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<UncheckedReason>,
    /// The fields that differ; never the venue.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<DifferingField>,
    /// The venue, where it is cited and recorded in different words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub venue: Option<DifferingField>,
    /// The record that it was compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<WorkRecord>,
    /// What is known about a retraction, by the record.
    pub retraction: RetractionStatus,
}

impl CheckedReference {
    /// A reference that was not looked up.
    pub fn unchecked(reason: UncheckedReason) -> Self {
        Self {
            state: WorkState::Unchecked,
            reason: Some(reason),
            fields: Vec::new(),
            venue: None,
            record: None,
            retraction: RetractionStatus::Unknown,
        }
    }
}

/// A reference of an answer, or of a library, with what is known about its work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CitedWork {
    /// As it is cited.
    pub reference: Reference,
    /// What the files of works say.
    #[serde(flatten)]
    pub checked: CheckedReference,
}
