//! References: what answers cite, and libraries in BibTeX, CSL-JSON, RIS and the format of PubMed.
//!
//! One file for each form. A form is recognized by what a file holds, not by its name. A broken entry is left out, counted and
//! named with its line; a file of which more than a few entries are broken is refused, since a reference that nobody looked up
//! must not pass for one that is fine.

mod answers;
mod bibtex;
mod csl;
mod links;
#[cfg(test)]
mod list_tests;
mod lists;
mod nbib;
mod ris;

use std::path::{Path, PathBuf};

use encoding_rs::WINDOWS_1252;

use crate::markup::plain;
use crate::names::parse_name;
use scholareval_core::domain::{Fingerprint, PersonName, Reference, ReferenceKind};
use scholareval_core::error::{InputFault, Result};
use scholareval_core::files::broken_tally::too_many_broken;
use scholareval_core::files::read_bytes;
use scholareval_core::text::tokens::composed;

pub use answers::references_of;
pub(crate) use csl::is_csl_record;

/// Broken entries that any library may have: one in a small library would already be too many.
const ALLOWED_BROKEN: usize = 3;

/// Endings of libraries; JSON may be something else.
const LIBRARY_ENDINGS: [&str; 5] = ["bib", "bibtex", "biblatex", "ris", "nbib"];

/// The references of a library.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceList {
    /// In the order of the file.
    pub references: Vec<Reference>,
    /// Entries that could not be read.
    pub faults: Vec<InputFault>,
    /// BLAKE3 of the file.
    pub blake3: Fingerprint,
}

/// Reads a library in BibTeX, CSL-JSON, RIS or the format of PubMed.
///
/// # Errors
/// A file that cannot be read, has none of these forms, no entries or many broken ones.
pub fn load_library(path: &Path) -> Result<ReferenceList> {
    let (bytes, blake3) = read_bytes(path)?;
    let text = text_of(bytes);
    let Some(form) = LibraryForm::of(&text) else {
        let fault = InputFault::new(path, "not a library");
        return Err(fault
            .refuse("expected BibTeX (@article{..), CSL-JSON ([{\"type\": .., \"title\": ..}]), RIS (TY  - JOUR) or PubMed (PMID- 1)"));
    };
    let mut list = ReferenceList {
        references: Vec::new(),
        faults: Vec::new(),
        blake3,
    };
    for entry in form.parse(&text, path)? {
        match entry {
            Ok(reference) => list.references.push(reference),
            Err(fault) => list.faults.push(fault),
        }
    }
    let broken = list.faults.len();
    let all = list.references.len() + broken;
    if all == 0 {
        return Err(InputFault::new(path, "a library without entries").into());
    }
    let is_refused = broken > ALLOWED_BROKEN && too_many_broken(broken as u64, all as u64);
    if is_refused || list.references.is_empty() {
        let what = format!("{broken} of {all} entries cannot be read");
        let fault = InputFault::new(path, what).hint("mend or remove them");
        list.faults.push(fault);
        return Err(scholareval_core::Error::Input(list.faults));
    }
    Ok(list)
}

/// Whether a file is a library by its name, or by what it holds if it is JSON: answers are JSON as well.
///
/// # Errors
/// A file of JSON that cannot be read.
pub fn is_library(path: &Path) -> Result<bool> {
    if path
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("json"))
        && path.is_file()
    {
        let (bytes, _) = read_bytes(path)?;
        return Ok(csl::is_csl(&text_of(bytes)));
    }
    Ok(is_library_name(path))
}

/// Whether this is the name of a library in BibTeX, RIS or the format of PubMed.
pub(crate) fn is_library_name(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default();
    LIBRARY_ENDINGS
        .iter()
        .any(|known| ending.eq_ignore_ascii_case(known))
}

/// The form of a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LibraryForm {
    Bibtex,
    Csl,
    Ris,
    Nbib,
}

impl LibraryForm {
    /// The form of this text; `None` if it has none.
    fn of(text: &str) -> Option<Self> {
        if text.trim_start().starts_with(['[', '{']) {
            return Some(Self::Csl);
        }
        if text.lines().take(100).any(ris::is_type_line) {
            return Some(Self::Ris);
        }
        if text.lines().take(100).any(nbib::is_first_line) {
            return Some(Self::Nbib);
        }
        bibtex::has_entry(text).then_some(Self::Bibtex)
    }

    fn parse(self, text: &str, path: &Path) -> Result<Vec<ParsedEntry>> {
        match self {
            Self::Bibtex => Ok(bibtex::parse(text, path)),
            Self::Csl => csl::parse(text, path),
            Self::Ris => Ok(ris::parse(text, path)),
            Self::Nbib => Ok(nbib::parse(text, path)),
        }
    }
}

/// An entry of a library, or what is wrong with it.
type ParsedEntry = std::result::Result<Reference, InputFault>;

/// Text of a file: older libraries are in Latin-1, which Windows-1252 extends.
fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| WINDOWS_1252.decode(error.as_bytes()).0.into_owned())
}

/// A title or venue without LaTeX and HTML, its accents on their letters.
fn plain_text(raw: &str) -> String {
    composed(&plain(raw))
}

/// The name of an author, which may be in LaTeX.
fn named(raw: &str) -> PersonName {
    let mut name = parse_name(raw);
    name.family = composed(&name.family);
    name.given = composed(&name.given);
    name
}

/// `refs.bib:12`, by which a person finds the entry.
fn place_of(path: &Path, line: usize) -> String {
    let name = path.file_name().map(PathBuf::from).unwrap_or_default();
    format!("{}:{line}", name.display())
}

/// Takes an arXiv id from a field that holds only an id.
fn take_arxiv_id(reference: &mut Reference, id: &str) {
    if reference.arxiv.is_none() {
        reference.take_identifiers(&format!("arXiv:{}", id.trim()));
    }
}

/// Adds an author as a list names one. `et al.`, alone or behind a name, says that the list is cut.
fn add_author(reference: &mut Reference, name: &str) {
    let (name, is_cut) = without_others(name.trim());
    reference.has_more_authors |= is_cut;
    if !name.is_empty() {
        reference.authors.push(named(name));
    }
}

/// The words for authors that are left out, without the marks behind them.
const OTHERS: [&str; 4] = ["et al", "et. al", "et alii", "et alia"];

/// What separates a name from these words.
const SPACES: [char; 3] = [' ', ',', '\u{a0}'];

/// A name without the words for authors that are left out, and whether it had them.
fn without_others(name: &str) -> (&str, bool) {
    let bare = name.trim_end_matches(['.', ',', ';']);
    // Alone only: a family may be called Others.
    if bare.eq_ignore_ascii_case("others") {
        return ("", true);
    }
    for others in OTHERS {
        let (before, end) =
            bare.split_at(bare.floor_char_boundary(bare.len().saturating_sub(others.len())));
        // `Bret Al` is a person.
        let is_word = before.is_empty() || before.ends_with(SPACES);
        if is_word && end.eq_ignore_ascii_case(others) {
            return (before.trim_end_matches(SPACES), true);
        }
    }
    (name, false)
}

/// Servers of preprints, as venues name them.
const PREPRINT_SERVERS: &str =
    "arxiv,biorxiv,medrxiv,chemrxiv,psyarxiv,osf preprints,ssrn,research square,preprint";

/// Makes an article a preprint where the reference says that it is one: its venue is a server of preprints, or it has an
/// arXiv id and neither a venue nor a DOI.
fn settle_preprint(reference: &mut Reference) {
    let is_of_papers = matches!(
        reference.kind,
        ReferenceKind::Article | ReferenceKind::Other
    );
    if !is_of_papers {
        return;
    }
    let venue = reference.venue.as_deref().unwrap_or_default();
    let venue = venue.to_lowercase();
    let is_server = PREPRINT_SERVERS
        .split(',')
        .any(|server| venue.contains(server));
    let has_only_arxiv = reference.arxiv.is_some() && reference.doi.is_none() && venue.is_empty();
    if is_server || has_only_arxiv {
        reference.kind = ReferenceKind::Preprint;
    }
}

/// The year with which a text begins or that stands in it: `2021`, `2021-05-14`, `May 2021`.
fn year_in(text: &str) -> Option<i32> {
    text.split(|c: char| !c.is_ascii_digit())
        .filter(|digits| digits.len() == 4)
        .filter_map(|digits| digits.parse().ok())
        .find(|year| (1500..=2199).contains(year))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(name: &str, bytes: &[u8]) -> Result<ReferenceList> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        load_library(&path)
    }

    #[test]
    fn words_for_further_authors_are_no_author() {
        for (name, before) in [
            ("Chao et al.", "Chao"),
            ("Chao, P. et al", "Chao, P."),
            ("Chao et. al.", "Chao"),
            ("et al.", ""),
            ("others", ""),
        ] {
            assert_eq!(without_others(name), (before, true), "{name}");
        }
        for name in ["Ana Others", "Bret Al", "Ibn al", "Jörg Müller"] {
            assert_eq!(without_others(name), (name, false));
        }
    }

    #[test]
    fn the_form_is_that_of_the_text() {
        assert_eq!(
            LibraryForm::of("% refs\n@article{a,}"),
            Some(LibraryForm::Bibtex)
        );
        assert_eq!(LibraryForm::of("\n [{}]"), Some(LibraryForm::Csl));
        assert_eq!(
            LibraryForm::of("TY  - JOUR\nER  - "),
            Some(LibraryForm::Ris)
        );
        assert_eq!(LibraryForm::of("mail me @ home"), None);
        let error = load("x.txt", b"nothing").unwrap_err().to_string();
        assert!(error.contains("not a library; expected BibTeX"), "{error}");
        let error = load("x.bib", b"@string{a = {b}}").unwrap_err().to_string();
        assert!(error.contains("a library without entries"), "{error}");
    }

    #[test]
    fn one_broken_entry_is_counted_and_many_stop() {
        let good = "@article{a, title = {T}}\n";
        let broken = "@article{b, title = }\n";
        let list = load("x.bib", format!("{good}{broken}").as_bytes()).unwrap();
        assert_eq!((list.references.len(), list.faults.len()), (1, 1));
        assert_eq!(list.faults[0].line, Some(2));
        let error = load("x.bib", format!("{good}{}", broken.repeat(4)).as_bytes());
        let error = error.unwrap_err().to_string();
        assert!(error.contains("x.bib:2: "), "{error}");
        assert!(error.contains("4 of 5 entries cannot be read"), "{error}");
    }

    #[test]
    fn latin_1_is_read() {
        let list = load("x.bib", b"@article{a, title = {Caf\xe9}}").unwrap();
        assert_eq!(list.references[0].title, "Café");
    }

    #[test]
    fn identifiers_stand_in_texts() {
        let of = |text: &str| {
            let mut reference = Reference::new("", "");
            reference.take_identifiers(text);
            (reference.doi, reference.arxiv, reference.pmid)
        };
        let some = |id: &str| Some(id.to_owned());
        assert_eq!(
            of("Nature 5, 1. 10.1038/S41586-020-1. PMID: 123"),
            (some("10.1038/s41586-020-1"), None, some("123"))
        );
        assert_eq!(
            of("see doi.org/10.1038/abc, and more").0,
            some("10.1038/abc")
        );
        assert_eq!(
            of("arXiv preprint arXiv:1706.03762 (2017)").1,
            some("1706.03762")
        );
        assert_eq!(of("Nature 5, 1. PMID: 0"), (None, None, None));
        assert_eq!(of("pages 210.1038/5, 10.5"), (None, None, None));
    }
}
