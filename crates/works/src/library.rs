//! A library of the user's as a file of works: BibTeX, CSL-JSON, RIS, PubMed.

use std::path::Path;

use serde_json::{Map, Value};

/// Members that works in CSL-JSON have and saved pages do not.
const CSL_MEMBERS: [&str; 5] = ["issued", "DOI", "container-title", "ISBN", "citation-key"];

/// Whether this is a work in CSL-JSON.
pub(super) fn is_csl_record(record: &Map<String, Value>) -> bool {
    record.contains_key("title") && CSL_MEMBERS.iter().any(|name| record.contains_key(*name))
}

/// Whether this is a library in BibTeX, RIS or the format of PubMed, by its name.
pub(super) fn is_library(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
    ["bib", "bibtex", "ris", "nbib"]
        .iter()
        .any(|known| ending == *known)
}
