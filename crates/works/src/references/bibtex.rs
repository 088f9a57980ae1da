//! BibTeX and BibLaTeX.
//!
//! The readers of other crates refuse a whole library for one entry with an open brace, an unknown abbreviation or a key that
//! occurs twice, which libraries of several thousand entries have. Here such an entry is a fault with its line, and reading
//! continues at the next one. LaTeX in values stays until a title or name is taken from it.

use std::collections::HashMap;
use std::path::Path;

use super::{
    ParsedEntry, add_author, place_of, plain_text, settle_preprint, take_arxiv_id, year_in,
};
use scholareval_core::domain::{Reference, ReferenceKind};
use scholareval_core::error::InputFault;

/// Fields whose values decide: an abbreviation in them that is not defined is an error. The venue is only shown, and its
/// abbreviations are often in a file of their own (IEEEabrv.bib).
const READ_FIELDS: [&str; 8] = [
    "author", "editor", "title", "subtitle", "year", "date", "doi", "eprint",
];

/// Abbreviations that every style of BibTeX defines.
const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// The longest value that is joined from several, in bytes: thirty abbreviations, each twice the one before, stand for
/// gigabytes.
const JOINED_BYTES: usize = 64 << 10;

/// Bytes for which all abbreviations of a library may stand.
const EXPANDED_BYTES: usize = 64 << 20;

/// Whether the text has the beginning of an entry.
pub(super) fn has_entry(text: &str) -> bool {
    text.match_indices('@')
        .any(|(at, _)| entry_head(&text[at..]).is_some())
}

/// The entries of a library, in their order.
pub(super) fn parse(text: &str, path: &Path) -> Vec<ParsedEntry> {
    let mut reader = BibtexReader {
        text,
        at: 0,
        counted: 0,
        line: 1,
        abbreviations: HashMap::new(),
        expanded: 0,
    };
    let mut entries: Vec<std::result::Result<BibtexEntry, InputFault>> = Vec::new();
    while let Some(start) = reader.next_entry() {
        let line = reader.line_of(start);
        reader.at = start;
        match reader.entry() {
            Ok(Some(entry)) => entries.push(Ok(BibtexEntry { line, ..entry })),
            Ok(None) => {}
            Err(what) => {
                entries.push(Err(InputFault::new(path, what).at_line(line)));
                reader.at = reader.at.max(start + 1);
            }
        }
    }
    let parents = parents_of(&entries);
    let mut references = Vec::with_capacity(entries.len());
    for entry in &entries {
        references.push(match entry {
            Ok(entry) => Ok(reference(entry, &parents, path)),
            Err(fault) => Err(fault.clone()),
        });
    }
    references
}

/// An entry, its values not yet read as LaTeX.
#[derive(Debug, Default)]
struct BibtexEntry {
    line: usize,
    kind: String,
    key: String,
    fields: HashMap<String, String>,
}

impl BibtexEntry {
    /// The first of these fields that is not empty.
    fn field(&self, names: &[&str]) -> Option<&str> {
        let values = names.iter().filter_map(|name| self.fields.get(*name));
        values
            .map(|value| value.trim())
            .find(|value| !value.is_empty())
    }
}

/// Reads a library from one entry to the next.
struct BibtexReader<'a> {
    text: &'a str,
    /// The position.
    at: usize,
    /// Up to here, lines are counted.
    counted: usize,
    line: usize,
    abbreviations: HashMap<String, String>,
    /// Bytes that abbreviations stood for.
    expanded: usize,
}

impl<'a> BibtexReader<'a> {
    /// The line of a position, which must not be before that of an earlier call.
    fn line_of(&mut self, at: usize) -> usize {
        self.line += self.text[self.counted..at].matches('\n').count();
        self.counted = at;
        self.line
    }

    /// Where the next entry begins.
    fn next_entry(&self) -> Option<usize> {
        let rest = &self.text[self.at..];
        let mut heads = rest.match_indices('@');
        let start = heads.find(|(at, _)| entry_head(&rest[*at..]).is_some())?.0;
        Some(self.at + start)
    }

    /// Reads the entry at the position; `None` for comments, preambles and abbreviations.
    ///
    /// # Errors
    /// What is wrong with it; the position is where reading can continue.
    fn entry(&mut self) -> Result<Option<BibtexEntry>, String> {
        let Some((kind, head)) = entry_head(&self.text[self.at..]) else {
            return Ok(None);
        };
        let kind = kind.to_ascii_lowercase();
        self.at += head;
        match kind.as_str() {
            "comment" | "preamble" => {
                // A comment that is not closed ends with its first line.
                if self.enclosed('}').is_err() {
                    self.skip_line();
                }
                Ok(None)
            }
            "string" => {
                let (name, value) = self.assignment(true)?;
                self.abbreviations.insert(name, value);
                Ok(None)
            }
            _ => {
                let mut entry = BibtexEntry {
                    kind,
                    ..BibtexEntry::default()
                };
                self.fields(&mut entry)?;
                Ok(Some(entry))
            }
        }
    }

    /// Reads the key and the fields, up to the end of the entry.
    fn fields(&mut self, entry: &mut BibtexEntry) -> Result<(), String> {
        let rest = &self.text[self.at..];
        let end = rest.find([',', '}', ')', '\n', '=']).unwrap_or(rest.len());
        // `@article{title = ..}`: no key, which is no reason to lose the entry.
        if rest[end..].starts_with('=') {
            entry.key = String::new();
        } else {
            entry.key = rest[..end].trim().to_owned();
            self.at += end;
            if entry.key.contains(['{', '"']) {
                return Err("expected a comma behind the key".to_owned());
            }
        }
        loop {
            self.skip_space();
            match self.peek() {
                None => return Err("the entry is not closed: } is missing".to_owned()),
                Some('}' | ')') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(',') => self.at += 1,
                Some('%') => self.skip_line(),
                Some('@') => return Err("the entry is not closed: } is missing".to_owned()),
                Some(_) => {
                    let (name, value) = self.assignment(false)?;
                    // Of a field that occurs twice BibTeX takes the first.
                    entry.fields.entry(name).or_insert(value);
                }
            }
        }
    }

    /// Reads `name = value # value`, of an abbreviation or a field.
    fn assignment(&mut self, is_abbreviation: bool) -> Result<(String, String), String> {
        self.skip_space();
        let name = self.word();
        if name.is_empty() {
            let next = self.peek().map_or_else(String::new, |c| format!("{c:?}"));
            return Err(format!("expected the name of a field, found {next}"));
        }
        self.skip_space();
        if self.peek() != Some('=') {
            return Err(format!("expected = behind {name:?}"));
        }
        self.at += 1;
        let mut value = String::new();
        loop {
            self.skip_space();
            let is_read =
                is_abbreviation || READ_FIELDS.contains(&name.to_ascii_lowercase().as_str());
            let part = self.value(name, is_read)?;
            value.push_str(&part);
            if value.len() > part.len() && value.len() > JOINED_BYTES {
                return Err(format!(
                    "the joined value of {name} is longer than {JOINED_BYTES} bytes"
                ));
            }
            self.skip_space();
            if self.peek() != Some('#') {
                return Ok((name.to_ascii_lowercase(), value));
            }
            self.at += 1;
        }
    }

    /// Reads a value in braces or quotes, a number, or an abbreviation. One that is not defined is an error in a field that
    /// is read, and stands for itself in any other.
    fn value(&mut self, name: &str, is_read: bool) -> Result<String, String> {
        let close = match self.peek() {
            Some('{') => '}',
            Some('"') => '"',
            _ => return self.number_or_abbreviation(name, is_read),
        };
        self.at += 1;
        let value = self.enclosed(close).map(str::to_owned);
        value.map_err(|()| format!("the value of {name} is not closed: {close} is missing"))
    }

    fn number_or_abbreviation(&mut self, name: &str, is_read: bool) -> Result<String, String> {
        let word = self.word();
        if word.is_empty() {
            return Err(format!("{name} has no value"));
        }
        let lower = word.to_ascii_lowercase();
        let Some(known) = self.abbreviations.get(&lower) else {
            let is_number = word.starts_with(|c: char| c.is_ascii_digit());
            if is_read && !is_number && !MONTHS.contains(&lower.as_str()) {
                return Err(format!(
                    "{name} is the abbreviation {word:?}, which no @string defines"
                ));
            }
            return Ok(word.to_owned());
        };
        self.expanded += known.len();
        if self.expanded > EXPANDED_BYTES {
            return Err(format!(
                "abbreviations expand to over {EXPANDED_BYTES} bytes"
            ));
        }
        Ok(known.clone())
    }

    /// The text up to the mark that closes it, a quote or the brace of the one before the position. BibTeX counts braces
    /// behind a backslash, too. A line that begins an entry ends the text as well: a brace is missing, and without this
    /// rule the value would swallow the rest of the library.
    fn enclosed(&mut self, close: char) -> Result<&'a str, ()> {
        let start = self.at;
        let rest = &self.text[start..];
        let mut depth: usize = 0;
        for (at, c) in rest.char_indices() {
            if c == close && depth == 0 {
                self.at = start + at + 1;
                return Ok(&rest[..at]);
            }
            match c {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                '@' if rest[..at].ends_with('\n') && entry_head(&rest[at..]).is_some() => {
                    self.at = start + at;
                    return Err(());
                }
                _ => {}
            }
        }
        self.at = self.text.len();
        Err(())
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn skip_space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn skip_line(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.find('\n').map_or(rest.len(), |end| end + 1);
    }

    /// The name or number at the position.
    fn word(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let end = rest
            .find(|c: char| c.is_whitespace() || "{}()\"=,#%@\\~'".contains(c))
            .unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }
}

/// The type of an entry with which the text begins, and the length up to its first brace; `None` if it begins with none.
fn entry_head(text: &str) -> Option<(&str, usize)> {
    let rest = text.strip_prefix('@')?.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_alphabetic())?;
    let behind = rest[end..].trim_start();
    let is_head = end > 0 && behind.starts_with(['{', '(']);
    is_head.then(|| (&rest[..end], text.len() - behind.len() + 1))
}

/// What entries inherit by `crossref`, by the key of the parent: its title and year.
type Parents<'a> = HashMap<String, &'a BibtexEntry>;

/// The entries by their keys, of which others may inherit.
fn parents_of(entries: &[std::result::Result<BibtexEntry, InputFault>]) -> Parents<'_> {
    let entries = entries.iter().flatten();
    entries
        .map(|entry| (entry.key.to_lowercase(), entry))
        .collect()
}

/// The reference of an entry.
fn reference(entry: &BibtexEntry, parents: &Parents<'_>, path: &Path) -> Reference {
    let parent = entry
        .field(&["crossref"])
        .and_then(|key| parents.get(&key.to_lowercase()));
    let mut reference = Reference::new(&*entry.key, place_of(path, entry.line));
    reference.title = entry.field(&["title"]).map(plain_text).unwrap_or_default();
    if let Some(subtitle) = entry.field(&["subtitle"]) {
        reference
            .title
            .push_str(&format!(": {}", plain_text(subtitle)));
    }
    let authors = entry.field(&["author"]).or(entry.field(&["editor"]));
    for name in authors.into_iter().flat_map(names_of) {
        add_author(&mut reference, name);
    }
    let dated = entry.field(&["year", "date"]);
    let dated = dated.or_else(|| parent?.field(&["year", "date"]));
    reference.year = dated.and_then(year_in);
    let venue = entry.field(&["journal", "journaltitle", "booktitle"]);
    let venue = venue.or_else(|| parent?.field(&["title"]));
    reference.venue = venue.map(plain_text);
    reference.kind = kind_of(&entry.kind);
    take_identifiers_of(&mut reference, entry);
    settle_preprint(&mut reference);
    let is_page = reference.kind == ReferenceKind::Other
        && entry.field(&["url", "howpublished"]).is_some()
        && !reference.has_identifier();
    if is_page {
        reference.kind = ReferenceKind::Web;
    }
    reference
}

/// The names of a list, which are separated by the word "and" outside of braces.
fn names_of(authors: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut depth: usize = 0;
    let mut start = 0;
    for (at, c) in authors.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ if depth == 0 && c.is_whitespace() => {
                let rest = authors[at..].trim_start();
                let word = authors.len() - rest.len();
                let is_and = rest
                    .get(..3)
                    .is_some_and(|word| word.eq_ignore_ascii_case("and"))
                    && rest[3..].starts_with(char::is_whitespace);
                if is_and && at >= start {
                    names.push(authors[start..at].trim());
                    start = word + 3;
                }
            }
            _ => {}
        }
    }
    names.push(authors.get(start..).unwrap_or_default().trim());
    names
}

/// The identifiers in the fields of an entry, those that are meant as identifiers first.
fn take_identifiers_of(reference: &mut Reference, entry: &BibtexEntry) {
    if let Some(doi) = entry.field(&["doi"]) {
        reference.take_identifiers(doi);
    }
    if let Some(eprint) = entry.field(&["eprint", "arxivid", "arxiv"]) {
        match entry
            .field(&["archiveprefix", "eprinttype"])
            .map(str::to_lowercase)
            .as_deref()
        {
            None | Some("arxiv") => take_arxiv_id(reference, eprint),
            Some("pubmed") => {
                reference.take_identifiers(&format!("PMID: {eprint}"));
            }
            Some(_) => {
                reference.take_identifiers(eprint);
            }
        }
    }
    for name in ["pmid", "pmcid"] {
        if let Some(id) = entry.field(&[name]) {
            reference.take_identifiers(&format!("{}: {id}", name.to_uppercase()));
        }
    }
    for name in ["url", "howpublished", "journal", "note", "volume", "hal_id"] {
        if let Some(text) = entry.field(&[name]) {
            reference.take_identifiers(text);
        }
    }
}

/// The kind of work of an entry type. Theses and reports are in indexes by chance, as books are.
fn kind_of(kind: &str) -> ReferenceKind {
    match kind {
        "article" | "inproceedings" | "conference" | "suppperiodical" | "review" => {
            ReferenceKind::Article
        }
        "book" | "mvbook" | "inbook" | "bookinbook" | "suppbook" | "booklet" | "collection"
        | "incollection" | "suppcollection" | "proceedings" | "mvproceedings" | "reference"
        | "inreference" | "manual" | "report" | "techreport" | "thesis" | "phdthesis"
        | "mastersthesis" | "patent" => ReferenceKind::Book,
        "online" | "electronic" | "www" | "webpage" => ReferenceKind::Web,
        "software" | "dataset" => ReferenceKind::Software,
        _ => ReferenceKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Reference> {
        parse(text, "refs.bib".as_ref())
            .into_iter()
            .map(|entry| entry.unwrap())
            .collect()
    }

    fn faults(text: &str) -> (usize, Vec<String>) {
        let entries = parse(text, "refs.bib".as_ref());
        let faults = entries.iter().filter_map(|entry| entry.as_ref().err());
        let faults: Vec<String> = faults.map(ToString::to_string).collect();
        (entries.len() - faults.len(), faults)
    }

    #[test]
    fn an_entry_with_everything() {
        let text = r#"
            Text outside of entries, with me@home.org, is a comment.
            @string{nat = "Nature"}
            @Article{mueller2021,
              author  = {M{\"u}ller, J{\"o}rg and {The ATLAS Collaboration} and others},
              title   = "{Ice} and {\'e}tudes: a {S}tudy",
              journal = nat # " Methods",
              year    = 2021, % in print
              doi     = {https://doi.org/10.1000/A\_b},
              pmid    = {123},
            }"#;
        let references = read(text);
        let reference = &references[0];
        assert_eq!(reference.key, "mueller2021");
        assert_eq!(reference.place, "refs.bib:4");
        assert_eq!(reference.title, "Ice and études: a Study");
        assert_eq!(reference.authors.len(), 2);
        assert_eq!(reference.authors[0].family, "Müller");
        assert_eq!(reference.authors[1].family, "The ATLAS Collaboration");
        assert!(reference.has_more_authors);
        assert_eq!(reference.venue.as_deref(), Some("Nature Methods"));
        assert_eq!(reference.year, Some(2021));
        assert_eq!(reference.doi.as_deref(), Some("10.1000/a_b"));
        assert_eq!(reference.pmid.as_deref(), Some("123"));
        assert_eq!(reference.kind, ReferenceKind::Article);
    }

    #[test]
    fn kinds_and_preprints() {
        let text = "@misc{a, title={T}, eprint={1706.03762}, archivePrefix={arXiv}}
            @article{b, title={T}, journal={arXiv preprint arXiv:1706.03762}}
            @inproceedings{c, title={T}, booktitle={NeurIPS}, eprint={1706.03762v5}, eprinttype={arxiv}}
            @misc{d, title={T}, howpublished={\\url{https://example.org/x}}}
            @phdthesis{e, title={T}}
            @software{f, title={T}}
            @article(g, title={T}, url={https://doi.org/10.1000/x})";
        let references = read(text);
        let kinds: Vec<ReferenceKind> = references.iter().map(|reference| reference.kind).collect();
        use ReferenceKind::*;
        assert_eq!(
            kinds,
            [Preprint, Preprint, Article, Web, Book, Software, Article]
        );
        for reference in &references[..3] {
            assert_eq!(reference.arxiv.as_deref(), Some("1706.03762"));
        }
        assert_eq!(references[6].doi.as_deref(), Some("10.1000/x"));
    }

    #[test]
    fn an_entry_inherits_from_its_proceedings() {
        let text = "@inproceedings{a, title={T}, crossref={P}}
            @proceedings{p, title={Proceedings of X}, year={2020}}";
        let references = read(text);
        assert_eq!(references[0].year, Some(2020));
        assert_eq!(references[0].venue.as_deref(), Some("Proceedings of X"));
    }

    #[test]
    fn a_broken_entry_costs_only_itself() {
        let text = "@article{a, title = {T}}\n@article{b, title = {Open,\n year = 2020}\n\n@article{c, title = {U}}\n\
            @article{d title {V}}\n@article{e, title = \"W}\n@comment{skipped @article{x, title={X}}}\n@article{f, title = nat}\n@article{g, title={Y}";
        let (read, faults) = faults(text);
        assert_eq!(read, 2);
        assert_eq!(
            faults,
            [
                "refs.bib:2: the entry is not closed: } is missing",
                "refs.bib:6: expected a comma behind the key",
                "refs.bib:7: the value of title is not closed: \" is missing",
                "refs.bib:9: title is the abbreviation \"nat\", which no @string defines",
                "refs.bib:10: the entry is not closed: } is missing",
            ]
        );
    }

    #[test]
    fn abbreviations_are_bounded_and_must_be_defined() {
        let mut text = "@string{a0 = {ha}}\n".to_owned();
        for n in 1..40 {
            text.push_str(&format!("@string{{a{n} = a{0} # a{0}}}\n", n - 1));
        }
        let (_, faults) = faults(&text);
        let joined = "the joined value of a16 is longer than 65536 bytes";
        assert_eq!(faults[0], format!("refs.bib:17: {joined}"));
        let text = "@article{a, author = doe, title={T}}\n@article{b, title={U}, month = sept, journal = jacm}";
        let (read, faults) = self::faults(text);
        let undefined = "author is the abbreviation \"doe\", which no @string defines";
        assert_eq!(
            (read, faults),
            (1, vec![format!("refs.bib:1: {undefined}")])
        );
    }

    #[test]
    fn identifiers_are_read_from_their_fields() {
        let text = "@article{a, title={T}, doi={10.1000/a{\\_}b}, journal={CoRR}, volume={abs/1706.03762}, pmid={678.0}, pmcid={PMC7}}";
        let reference = &read(text)[0];
        assert_eq!(reference.doi.as_deref(), Some("10.1000/a_b"));
        assert_eq!(reference.arxiv.as_deref(), Some("1706.03762"));
        assert_eq!(
            (
                reference.pmid.as_deref(),
                reference.other_ids[0].id.as_str()
            ),
            (Some("678"), "PMC7")
        );
    }

    #[test]
    fn names_are_separated_by_and() {
        assert_eq!(
            names_of("A Anders and {B and C}\nAND D, E"),
            ["A Anders", "{B and C}", "D, E"]
        );
        assert_eq!(names_of("Sand Andrea"), ["Sand Andrea"]);
        assert_eq!(names_of("A and and B"), ["A", "", "B"]);
    }
}
