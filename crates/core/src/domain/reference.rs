//! A reference as somebody cites it.

use serde::{Deserialize, Serialize};

use crate::text::identifiers::{IdentifierScheme, WorkIdentifier, identifiers_in};

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
    /// Identifiers of other systems, further ones of a text that has several, and those that are only derived from an
    /// address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_ids: Vec<WorkIdentifier>,
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

    /// Takes the identifiers that a text holds, as [`identifiers_in`] reads them; false if it states none. One that the
    /// reference has stays.
    pub fn take_identifiers(&mut self, text: &str) -> bool {
        self.take_read(identifiers_in(text))
    }

    /// Takes identifiers that were read; false if all of them are derived, or there are none.
    pub fn take_read(&mut self, identifiers: Vec<WorkIdentifier>) -> bool {
        let mut states_one = false;
        for identifier in identifiers {
            states_one |= !identifier.is_derived;
            let field = match identifier.scheme {
                _ if identifier.is_derived => None,
                IdentifierScheme::Doi => Some(&mut self.doi),
                IdentifierScheme::Arxiv => Some(&mut self.arxiv),
                IdentifierScheme::Pmid => Some(&mut self.pmid),
                _ => None,
            };
            match field {
                Some(field @ None) => *field = Some(identifier.id),
                Some(Some(id)) if *id == identifier.id => {}
                // Of two DOIs one may be that of a part, a comment or a version: the second one contradicts nothing.
                field => {
                    let identifier = WorkIdentifier {
                        is_derived: identifier.is_derived || field.is_some(),
                        ..identifier
                    };
                    if !self.other_ids.contains(&identifier) {
                        self.other_ids.push(identifier);
                    }
                }
            }
        }
        states_one
    }

    /// Its identifiers, those of [`other_ids`](Self::other_ids) last.
    pub fn identifiers(&self) -> impl Iterator<Item = WorkIdentifier> {
        fields_as_identifiers([&self.doi, &self.arxiv, &self.pmid])
            .chain(self.other_ids.iter().cloned())
    }

    /// Whether the reference states an identifier, and not only an address from which one is derived.
    pub fn has_identifier(&self) -> bool {
        self.identifiers().any(|identifier| !identifier.is_derived)
    }
}

/// DOI, arXiv id and PMID as identifiers.
pub(super) fn fields_as_identifiers(
    ids: [&Option<String>; 3],
) -> impl Iterator<Item = WorkIdentifier> {
    let schemes = [
        IdentifierScheme::Doi,
        IdentifierScheme::Arxiv,
        IdentifierScheme::Pmid,
    ];
    let ids: [Option<String>; 3] = ids.map(Clone::clone);
    let pairs = schemes.into_iter().zip(ids);
    pairs.filter_map(|(scheme, id)| Some(WorkIdentifier::new(scheme, id?)))
}
