//! Identifiers of works: one reader for every text that may hold some.
//!
//! Answers, libraries, dumps, lists of retractions and addresses of pages write one DOI in dozens of forms: percent-encoded,
//! escaped for HTML, LaTeX or Markdown, with the dashes of a word processor, the marks of a sentence or the ending of a
//! publisher's page. All of them are read here, so that what is cited and what is recorded meet.
//!
//! A text is cleaned (`clean`), its addresses and identifiers are found in it (`scan`) and end where they end (`word`); an
//! address gives what it holds, and what its host is known to stand for (`address`, `hosts`).

mod address;
mod arxiv;
mod clean;
mod doi;
mod hal;
mod hosts;
mod scan;
#[cfg(test)]
mod tests;
mod web_address;
mod word;

use serde::{Deserialize, Serialize};

use crate::named_enum;

pub use arxiv::is_arxiv_id;
pub(super) use clean::CleanText;
pub(super) use word::word_end;

named_enum! {
    /// A system of identifiers, in the order in which they are preferred.
    pub enum IdentifierScheme {
        /// A DOI, in lower case and without an address before it.
        Doi = "doi",
        /// The number of a paper of arXiv, without version and subject class.
        Arxiv = "arxiv",
        /// A number of PubMed.
        Pmid = "pmid",
        /// A number of PubMed Central, with its `PMC`.
        Pmcid = "pmcid",
        /// The hash by which Semantic Scholar addresses a paper.
        S2 = "s2",
        /// The number of a paper in the corpus of Semantic Scholar.
        Corpusid = "corpusid",
        /// An id of the ACL Anthology.
        Acl = "acl",
        /// The id of a forum of OpenReview.
        Openreview = "openreview",
        /// An id of HAL, without version.
        Hal = "hal",
    }
}

/// What identifies a work.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct WorkIdentifier {
    /// Derived from an address by a rule that its host does not promise: it may find a record, and contradicts none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_derived: bool,
    /// The system.
    pub scheme: IdentifierScheme,
    /// The identifier in it.
    pub id: String,
}

impl WorkIdentifier {
    /// An identifier that a text states.
    pub fn new(scheme: IdentifierScheme, id: impl Into<String>) -> Self {
        Self {
            is_derived: false,
            scheme,
            id: id.into(),
        }
    }

    /// The identifier of a [`key`](Self::key).
    pub fn from_key(key: &str) -> Option<Self> {
        let (name, id) = key.split_once(':')?;
        Some(Self::new(IdentifierScheme::from_name(name)?, id))
    }

    /// As one text: `doi:10.1000/x`.
    pub fn key(&self) -> String {
        format!("{}:{}", self.scheme.name(), self.id)
    }
}

/// The identifiers in a text, each once: what is stated before what is derived, DOIs first, then arXiv, PubMed and the
/// others; those of one kind in the order of the text.
///
/// ```
/// use scholareval_core::text::identifiers::identifiers_in;
/// let keys = |text: &str| identifiers_in(text).iter().map(|id| id.key()).collect::<Vec<_>>();
/// assert_eq!(keys("See [a](https://doi.org/10.1000/A%28b%29/full)."), ["doi:10.1000/a(b)"]);
/// assert_eq!(keys("PMID: 7, arXiv:2101.00001v2"), ["arxiv:2101.00001", "pmid:7"]);
/// ```
pub fn identifiers_in(text: &str) -> Vec<WorkIdentifier> {
    // Dumps have a DOI and nothing else in a field, a hundred million times.
    if let Some(doi) = doi::of_plain_field(text) {
        return vec![doi];
    }
    let clean = CleanText::of(text);
    let mentions = scan::mentions_in(clean.text());
    ordered(mentions.into_iter().flat_map(|mention| mention.identifiers))
}

/// The addresses and identifiers in a text, as they are written, each once, in the order of the text.
///
/// ```
/// use scholareval_core::text::identifiers::mentions_of;
/// let text = "See [a](https://example.org/a\\_b), doi:10.1000/x and https://example.org/p?a=1&amp;b=2.";
/// let mentions = ["https://example.org/a\\_b", "doi:10.1000/x", "https://example.org/p?a=1&amp;b=2"];
/// assert_eq!(mentions_of(text), mentions);
/// ```
pub fn mentions_of(text: &str) -> Vec<&str> {
    let clean = CleanText::of(text);
    let mut mentions = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for mention in scan::mentions_in(clean.text()) {
        let range = clean.raw_place(mention.range.start)..clean.raw_place(mention.range.end);
        let written = text.get(range).unwrap_or_default();
        if seen.insert(written) {
            mentions.push(written);
        }
    }
    mentions
}

/// The identifiers in a text, and the text with ` | ` in the place of them and of all addresses.
pub fn identifiers_and_rest(text: &str) -> (Vec<WorkIdentifier>, String) {
    let clean = CleanText::of(text);
    let mentions = scan::mentions_in(clean.text());
    let mut rest = String::with_capacity(text.len());
    let mut end = 0;
    for mention in &mentions {
        let start = clean.raw_place(mention.range.start).max(end);
        rest.push_str(&text[end..start]);
        rest.push_str(" | ");
        end = clean.raw_place(mention.range.end).max(start);
    }
    rest.push_str(&text[end..]);
    let found = mentions.into_iter().flat_map(|mention| mention.identifiers);
    (ordered(found), rest)
}

fn ordered(found: impl Iterator<Item = WorkIdentifier>) -> Vec<WorkIdentifier> {
    let mut identifiers: Vec<WorkIdentifier> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for identifier in found {
        if seen.insert(identifier.clone()) {
            identifiers.push(identifier);
        }
    }
    identifiers.sort_by_key(|identifier| (identifier.is_derived, identifier.scheme));
    identifiers
}
