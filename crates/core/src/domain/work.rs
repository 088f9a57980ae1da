//! A work as a file of works records it.

use serde::{Deserialize, Serialize};

use super::reference::{PersonName, Reference, ReferenceKind, fields_as_identifiers};
use crate::named_enum;
use crate::text::identifiers::{IdentifierScheme, WorkIdentifier, identifiers_in};

/// The longest title that is kept, in bytes.
const TITLE_BYTES: usize = 2000;

named_enum! {
    /// Who made a record.
    pub enum WorkSource {
        /// Crossref, the registry of the DOIs of most publishers.
        Crossref = "crossref",
        /// OpenAlex.
        Openalex = "openalex",
        /// Semantic Scholar.
        SemanticScholar = "semantic_scholar",
        /// The metadata of arXiv.
        Arxiv = "arxiv",
        /// A library of the user's, in BibTeX, CSL-JSON or RIS.
        Library = "library",
    }
}

impl WorkSource {
    /// Whether the source records retractions, so that a record without one says that it knows of none. arXiv has
    /// withdrawals in comments only, Semantic Scholar and libraries have nothing.
    pub fn records_retractions(self) -> bool {
        matches!(self, Self::Crossref | Self::Openalex)
    }

    /// Whether the source is meant to hold works of this kind, so that one that is missing says something.
    ///
    /// Books, web pages and software are in every source by chance. Crossref does not have the preprints of arXiv, whose
    /// DOIs are DataCite's. A library holds what its user put in; whoever names it as a source of works says that it covers
    /// what is looked up.
    pub fn covers(self, kind: ReferenceKind) -> bool {
        match kind {
            ReferenceKind::Article | ReferenceKind::Other => self != Self::Arxiv,
            ReferenceKind::Preprint => self != Self::Crossref,
            ReferenceKind::Book | ReferenceKind::Web | ReferenceKind::Software => false,
        }
    }
}

/// A work in a file of works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkRecord {
    /// Who recorded it.
    pub source: WorkSource,
    /// Its identifier in the source: a DOI, `W2741809807`, a corpus id, an arXiv id, the key in a library.
    pub id: String,
    /// The title, as it is recorded.
    pub title: String,
    /// The subtitle, where the source keeps it apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subtitle: Option<String>,
    /// The authors, in their order.
    #[serde(default)]
    pub authors: Vec<PersonName>,
    /// Whether the list of authors is cut.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_more_authors: bool,
    /// The year of publication.
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
    /// Its ids in other systems.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_ids: Vec<WorkIdentifier>,
    /// Whether this is a preprint, whose year may be two before that of the published work.
    #[serde(default)]
    pub is_preprint: bool,
    /// A retraction or another notice that the source records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retraction: Option<Retraction>,
}

impl WorkRecord {
    /// An empty record of a source.
    pub fn new(source: WorkSource) -> Self {
        Self {
            source,
            id: String::new(),
            title: String::new(),
            subtitle: None,
            authors: Vec::new(),
            has_more_authors: false,
            year: None,
            venue: None,
            doi: None,
            arxiv: None,
            pmid: None,
            other_ids: Vec::new(),
            is_preprint: false,
            retraction: None,
        }
    }

    /// Takes a title, on one line.
    pub fn set_title(&mut self, title: &str) {
        let title = &title[..title.floor_char_boundary(TITLE_BYTES)];
        self.title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    }

    /// Takes the identifiers that a text states, as [`identifiers_in`] reads them. Of one kind the first one stays.
    pub fn take_identifiers(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        for identifier in identifiers_in(text) {
            let field = match identifier.scheme {
                _ if identifier.is_derived => continue,
                IdentifierScheme::Doi => &mut self.doi,
                IdentifierScheme::Arxiv => &mut self.arxiv,
                IdentifierScheme::Pmid => &mut self.pmid,
                scheme => {
                    if self.other_ids.iter().all(|other| other.scheme != scheme) {
                        self.other_ids.push(identifier);
                    }
                    continue;
                }
            };
            field.get_or_insert(identifier.id);
        }
    }

    /// Its identifiers. The id of a record of Semantic Scholar is one of them.
    pub fn identifiers(&self) -> impl Iterator<Item = WorkIdentifier> {
        let is_paper = self.source == WorkSource::SemanticScholar && !self.id.is_empty();
        let corpus =
            is_paper.then(|| WorkIdentifier::new(IdentifierScheme::Corpusid, self.id.as_str()));
        fields_as_identifiers([&self.doi, &self.arxiv, &self.pmid])
            .chain(self.other_ids.iter().cloned())
            .chain(corpus)
    }

    /// The work of a reference, for a library that is used as a file of works.
    pub fn from_reference(reference: Reference) -> Self {
        let mut record = Self::new(WorkSource::Library);
        record.set_title(&reference.title);
        let mut other_ids = reference.other_ids;
        other_ids.retain(|identifier| !identifier.is_derived);
        Self {
            id: reference.key,
            authors: reference.authors,
            has_more_authors: reference.has_more_authors,
            year: reference.year,
            is_preprint: reference.kind == ReferenceKind::Preprint
                || reference.arxiv.is_some() && reference.doi.is_none(),
            venue: reference.venue,
            doi: reference.doi,
            arxiv: reference.arxiv,
            pmid: reference.pmid,
            other_ids,
            ..record
        }
    }
}

named_enum! {
    /// What a notice says about a work.
    pub enum RetractionKind {
        /// Retracted or withdrawn.
        Retracted = "retracted",
        /// An expression of concern.
        Concern = "concern",
        /// Corrected.
        Corrected = "corrected",
        /// Retracted once, and reinstated.
        Reinstated = "reinstated",
    }
}

/// A notice about a work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retraction {
    /// What the notice says.
    pub status: RetractionKind,
    /// Its date, `2021-05-14` or a part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// The DOI or PMID of the notice, or its words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
    /// Who says so: `retraction_watch`, `crossref`, ..
    pub source: String,
    /// Found by the title only: shown, and not counted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_possible: bool,
    /// The notices before this one, the latest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Retraction>,
}

impl Retraction {
    /// A notice that a source records, without date and DOI.
    pub fn new(status: RetractionKind, source: &str) -> Self {
        Self {
            status,
            date: None,
            notice: None,
            source: source.to_owned(),
            is_possible: false,
            earlier: Vec::new(),
        }
    }
}
