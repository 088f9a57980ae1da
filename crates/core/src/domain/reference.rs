//! A reference as somebody cites it.

use serde::{Deserialize, Serialize};

use crate::text::addresses::work_key;

/// What kind of work a reference cites.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum ReferenceKind {
    /// An article of a journal, a paper in proceedings.
    Article,
    /// A preprint.
    Preprint,
    /// A book, or a chapter of one.
    Book,
    /// A web page.
    Web,
    /// Software or data.
    Software,
    /// Another kind, or none stated: looked up as an article.
    #[default]
    Other,
}

/// The name of an author.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PersonName {
    /// The family name; of a group, all of its name.
    pub family: String,
    /// Given names or initials; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub given: String,
}

impl PersonName {
    /// The name as text, given names first.
    pub fn text(&self) -> String {
        format!("{} {}", self.given, self.family).trim().to_owned()
    }
}

/// A cited work: fields, or a text that is not parsed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// The key in its library, or the marker in its answer.
    pub key: String,
    /// Where it stands: file and line, or the case.
    pub place: String,
    /// A reference in free text. Its title, authors and year are sought in it, and the fields below may be empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The title as it is cited.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The authors, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub authors: Vec<PersonName>,
    /// Whether the list of authors is cut ("et al.", "and others").
    #[serde(default)]
    pub has_more_authors: bool,
    /// The year.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub year: Option<i32>,
    /// Journal, proceedings or server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub venue: Option<String>,
    /// The DOI in lower case, without `https://doi.org/`. A DOI that arXiv gave is in `arxiv`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doi: Option<String>,
    /// The arXiv id without its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arxiv: Option<String>,
    /// The id in PubMed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pmid: Option<String>,
    /// What kind of work it is.
    #[serde(default)]
    pub kind: ReferenceKind,
}

impl Reference {
    /// A reference without fields.
    pub fn new(key: impl Into<String>, place: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            place: place.into(),
            ..Self::default()
        }
    }

    /// A reference in free text.
    pub fn of_text(
        key: impl Into<String>,
        place: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        Self {
            text: Some(text.into()),
            ..Self::new(key, place)
        }
    }

    /// Takes the identifier from a DOI, an arXiv id (`arXiv:2101.00001`), or an address that holds one; false if there is
    /// none in it. One that the reference has stays.
    pub fn take_identifier(&mut self, address: &str) -> bool {
        let Some(key) = work_key(address) else {
            return false;
        };
        let Some((scheme, id)) = key.split_once(':') else {
            return false;
        };
        let field = match scheme {
            "doi" => &mut self.doi,
            "arxiv" => &mut self.arxiv,
            _ => &mut self.pmid,
        };
        field.get_or_insert_with(|| id.to_owned());
        true
    }
}
