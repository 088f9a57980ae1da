//! The format of PubMed (`.nbib`): lines of `TAG - value`, a work from one `PMID-` to the next.

use std::path::Path;

use super::ris::TaggedEntry;
use super::{ParsedEntry, add_author, place_of, plain_text, settle_preprint, year_in};
use scholareval_core::domain::{Reference, ReferenceKind};

/// Whether a line begins an entry.
pub(super) fn is_first_line(line: &str) -> bool {
    tagged(line).is_some_and(|(tag, _)| tag == "PMID")
}

/// The entries of a library.
pub(super) fn parse(text: &str, path: &Path) -> Vec<ParsedEntry> {
    let mut entries: Vec<TaggedEntry> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        match tagged(line.trim_end()) {
            Some((tag, value)) => {
                if tag == "PMID" || entries.is_empty() {
                    entries.push(TaggedEntry::new(index + 1, ""));
                }
                if let Some(entry) = entries.last_mut() {
                    entry.push(tag, value);
                }
            }
            None => {
                if let Some(entry) = entries.last_mut() {
                    entry.continue_with(line.trim_end());
                }
            }
        }
    }
    entries
        .iter()
        .map(|entry| Ok(reference(entry, path)))
        .collect()
}

/// Tag and value of a line: the tag has four places.
fn tagged(line: &str) -> Option<(&str, &str)> {
    let (tag, rest) = line.split_at_checked(4)?;
    let tag = tag.trim_end();
    let is_tag = tag.len() > 1 && tag.bytes().all(|byte| byte.is_ascii_uppercase());
    rest.strip_prefix('-')
        .filter(|_| is_tag)
        .map(|value| (tag, value.trim()))
}

/// The reference of an entry.
fn reference(entry: &TaggedEntry, path: &Path) -> Reference {
    let pmid = entry.field(&["PMID"]).unwrap_or_default();
    let mut reference = Reference::new(pmid, place_of(path, entry.line));
    reference.title = entry
        .field(&["TI", "BTI"])
        .map(plain_text)
        .unwrap_or_default();
    // Whole names, else those with initials; groups in any case.
    let names = if entry.field(&["FAU"]).is_some() {
        "FAU"
    } else {
        "AU"
    };
    for name in entry.values(&[names, "CN"]) {
        add_author(&mut reference, name);
    }
    reference.year = entry.field(&["DP", "DEP"]).and_then(year_in);
    reference.venue = entry.field(&["JT", "TA"]).map(plain_text);
    let kinds: Vec<&str> = entry.values(&["PT"]).collect();
    reference.kind = if kinds.contains(&"Preprint") {
        ReferenceKind::Preprint
    } else if entry.field(&["BTI"]).is_some() {
        ReferenceKind::Book
    } else {
        ReferenceKind::Article
    };
    for (tag, label) in [
        ("LID", ""),
        ("AID", ""),
        ("PMID", "PMID: "),
        ("PMC", "PMCID: "),
    ] {
        for value in entry.values(&[tag]) {
            reference.take_identifiers(&format!("{label}{value}"));
        }
    }
    settle_preprint(&mut reference);
    reference
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_pubmed_are_read() {
        let text = "\nPMID- 678\nOWN - NLM\nDP  - 2021 May 4\nTI  - Ice and snow\n      and more ice.\n\
            LID - S0001(20)1 [pii]\nLID - 10.1000/ABC [doi]\nFAU - Müller, Jörg\nAU  - Muller J\nFAU - Doe, Jane\n\
            PMC - PMC77\nJT  - Journal of ice\nPT  - Journal Article\n\nPMID- 679\nTI  - B\nAU  - Doe J\nCN  - The Group\n";
        let entries = parse(text, "r.nbib".as_ref());
        let read: Vec<&Reference> = entries
            .iter()
            .map(|entry| entry.as_ref().unwrap())
            .collect();
        assert_eq!(read.len(), 2);
        assert_eq!(read[0].title, "Ice and snow and more ice.");
        assert_eq!(read[0].authors.len(), 2);
        assert_eq!(read[0].authors[0].family, "Müller");
        assert_eq!(
            (read[0].year, read[0].doi.as_deref()),
            (Some(2021), Some("10.1000/abc"))
        );
        assert_eq!(
            (read[0].pmid.as_deref(), read[0].other_ids[0].id.as_str()),
            (Some("678"), "PMC77")
        );
        assert_eq!(read[1].authors[1].family, "Group");
        assert_eq!(read[1].place, "r.nbib:16");
    }
}
