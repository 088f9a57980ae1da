//! RIS, as reference managers and publishers export it: lines of `TAG  - value`.

use std::path::Path;

use super::{
    ParsedEntry, add_author, place_of, plain_text, settle_preprint, take_arxiv_id, year_in,
};
use scholareval_core::domain::{Reference, ReferenceKind};
use scholareval_core::error::InputFault;

/// Whether a line begins an entry.
pub(super) fn is_type_line(line: &str) -> bool {
    tagged(line).is_some_and(|(tag, _)| tag == "TY")
}

/// The entries of a library.
pub(super) fn parse(text: &str, path: &Path) -> Vec<ParsedEntry> {
    let mut entries = Vec::new();
    let mut open: Option<TaggedEntry> = None;
    // Lines that stand outside of entries are one fault up to the next entry.
    let mut is_lost = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_end();
        match tagged(line) {
            Some(("TY", kind)) => {
                // An entry may also end without its ER.
                entries.extend(open.take().map(|entry| Ok(entry.reference(path))));
                open = Some(TaggedEntry::new(index + 1, kind));
                is_lost = false;
            }
            Some(("ER", _)) => entries.extend(open.take().map(|entry| Ok(entry.reference(path)))),
            Some((tag, value)) => match &mut open {
                Some(entry) => entry.push(tag, value),
                None if !is_lost => {
                    is_lost = true;
                    let what = "an entry does not begin with TY  - ";
                    entries.push(Err(InputFault::new(path, what).at_line(index + 1)));
                }
                None => {}
            },
            None => {
                if let Some(entry) = &mut open {
                    entry.continue_with(line);
                }
            }
        }
    }
    entries.extend(open.map(|entry| Ok(entry.reference(path))));
    entries
}

/// Tag and value of a line.
fn tagged(line: &str) -> Option<(&str, &str)> {
    let tag = line.get(..2)?;
    let is_tag = tag.bytes().next()?.is_ascii_uppercase()
        && tag
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    let rest = line[2..].trim_start_matches(' ').strip_prefix('-')?;
    // Two spaces in the standard, one or three in the wild; `DNA-based` is not a tag.
    (is_tag && line[2..].starts_with(' ')).then(|| (tag, rest.trim()))
}

/// An entry, its tags in their order.
pub(super) struct TaggedEntry {
    pub(super) line: usize,
    kind: String,
    fields: Vec<(String, String)>,
}

impl TaggedEntry {
    pub(super) fn new(line: usize, kind: &str) -> Self {
        Self {
            line,
            kind: kind.to_owned(),
            fields: Vec::new(),
        }
    }

    /// Adds a tag with its value.
    pub(super) fn push(&mut self, tag: &str, value: &str) {
        self.fields.push((tag.to_owned(), value.to_owned()));
    }

    /// Adds a line without a tag to the value before it.
    pub(super) fn continue_with(&mut self, line: &str) {
        if let Some((_, value)) = self.fields.last_mut()
            && !line.is_empty()
        {
            value.push(' ');
            value.push_str(line.trim());
        }
    }

    /// The first of these tags that has a value, in the order of the tags.
    pub(super) fn field(&self, tags: &[&str]) -> Option<&str> {
        let mut tags = tags.iter();
        tags.find_map(|tag| {
            let mut fields = self.fields.iter();
            let field = fields.find(|(name, value)| name == tag && !value.is_empty());
            field.map(|(_, value)| value.as_str())
        })
    }

    /// The values of these tags, in the order of the entry.
    pub(super) fn values(&self, tags: &[&str]) -> impl Iterator<Item = &str> {
        let fields = self.fields.iter();
        let named =
            fields.filter(move |(tag, value)| tags.contains(&tag.as_str()) && !value.is_empty());
        named.map(|(_, value)| value.as_str())
    }

    /// The reference of the entry.
    fn reference(&self, path: &Path) -> Reference {
        let key = self.field(&["ID"]).unwrap_or_default();
        let mut reference = Reference::new(key, place_of(path, self.line));
        let title = self.field(&["TI", "T1", "CT", "BT"]);
        reference.title = title.map(plain_text).unwrap_or_default();
        for tags in [["AU", "A1"], ["A2", "ED"]] {
            if reference.authors.is_empty() {
                for name in self.values(&tags) {
                    add_author(&mut reference, name);
                }
            }
        }
        reference.year = self.field(&["PY", "Y1", "DA"]).and_then(year_in);
        let venue = self.field(&["JO", "JF", "T2", "JA", "J2", "BT"]);
        reference.venue = venue.map(plain_text);
        reference.kind = kind_of(&self.kind);
        if let Some(doi) = self.field(&["DO"]) {
            reference.take_identifiers(doi);
        }
        let is_pubmed = self
            .field(&["DB", "DP"])
            .is_some_and(|name| name.to_ascii_lowercase().contains("pubmed") || name == "NLM");
        if let Some(number) = self.field(&["AN"]).filter(|_| is_pubmed) {
            reference.take_identifiers(&format!("PMID: {number}"));
        }
        for tag in ["UR", "L1", "L2", "LK", "M3", "N1", "JO", "T2", "C2", "C7"] {
            for value in self.values(&[tag]) {
                reference.take_identifiers(value);
            }
        }
        if let Some(number) = self.field(&["M1", "AN"]) {
            take_arxiv_id(&mut reference, number);
        }
        settle_preprint(&mut reference);
        reference
    }
}

/// The kind of work of a RIS type.
fn kind_of(kind: &str) -> ReferenceKind {
    match kind {
        "JOUR" | "EJOUR" | "CONF" | "CPAPER" | "MGZN" | "NEWS" | "INPR" | "JFULL" | "ABST" => {
            ReferenceKind::Article
        }
        "PREPRINT" => ReferenceKind::Preprint,
        "BOOK" | "CHAP" | "ECHAP" | "EBOOK" | "EDBOOK" | "THES" | "RPRT" | "STAND" | "SER"
        | "ENCYC" | "DICT" | "PAT" | "CASE" | "LEGAL" | "STAT" => ReferenceKind::Book,
        "ELEC" | "WEB" | "ICOMM" | "BLOG" | "VIDEO" => ReferenceKind::Web,
        "COMP" | "DATA" | "DBASE" | "AGGR" => ReferenceKind::Software,
        _ => ReferenceKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_with_and_without_their_end() {
        let text = "TY  - JOUR\nTI  - Ice and\n  more ice\nAU  - Müller, Jörg\nAU  - et al.\nPY  - 2021/05/14/\n\
            JO  - Nature\nDO  - 10.1000/ABC\nER  - \n\nTY  - CHAP\nT1  - B\nA1  - Doe, J.\nY1  - 1999\n\
            TY  - WEB\nTI  - C\nUR  - https://arxiv.org/abs/2101.00001v2\nER  -\n";
        let entries = parse(text, "r.ris".as_ref());
        let read: Vec<&Reference> = entries
            .iter()
            .map(|entry| entry.as_ref().unwrap())
            .collect();
        assert_eq!(read.len(), 3);
        assert_eq!(read[0].title, "Ice and more ice");
        assert_eq!(read[0].authors[0].family, "Müller");
        assert!(read[0].has_more_authors);
        assert_eq!(
            (read[0].year, read[0].doi.as_deref()),
            (Some(2021), Some("10.1000/abc"))
        );
        assert_eq!(
            (read[1].year, read[1].kind),
            (Some(1999), ReferenceKind::Book)
        );
        assert_eq!(read[2].arxiv.as_deref(), Some("2101.00001"));
        assert_eq!(read[2].place, "r.ris:15");
    }

    #[test]
    fn lines_before_a_type_are_one_fault() {
        let text = "TY  - JOUR\nTI  - A\nER  - \nTI  - B\nAU  - C\nTY  - JOUR\nTI  - D\nER  - \n";
        let entries = parse(text, "r.ris".as_ref());
        assert_eq!(entries.len(), 3);
        let fault = entries[1].as_ref().unwrap_err().to_string();
        assert_eq!(fault, "r.ris:4: an entry does not begin with TY  - ");
        assert!(is_type_line("TY - JOUR") && !is_type_line("TYPE - x"));
    }
}
