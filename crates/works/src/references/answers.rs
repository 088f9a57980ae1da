//! The references of answers: a list of references in the text, or else the sources of a prediction.
//!
//! A list that the system wrote is what it cites, so it comes first. Its entries are free text: they are not taken apart, since
//! each style puts title, names and year elsewhere. Only identifiers and addresses are taken from them.

use std::collections::HashSet;

use super::{add_author, settle_preprint, year_in};
use scholareval_core::domain::{
    Answer, IndexBase, Mode, Prediction, Reference, ReferenceKind, Source,
};
use scholareval_core::text::addresses::addresses_in;
use scholareval_core::text::citation_markers::is_title;
use scholareval_core::text::claims::{bullet, leading_number, numbered};
use scholareval_core::text::identifiers::identifiers_and_rest;

/// Titles of lists of references, in lower case.
const LIST_TITLES: [&str; 10] = [
    "references",
    "key references",
    "reference list",
    "bibliography",
    "sources",
    "works cited",
    "cited works",
    "literature cited",
    "literature",
    "citations",
];

/// The longest reference, in bytes; what is longer is cut.
const LONGEST_REFERENCE: usize = 2000;

/// Letters that a reference has at least: "see above" and rules of dashes are none.
const FEWEST_LETTERS: usize = 10;

/// The works that an answer cites, each once, in the order of their first mention.
///
/// Without a list in the text these are the sources that its markers name, or all sources if no marker names one.
pub fn references_of(answer: &Answer, base: IndexBase) -> Vec<Reference> {
    let place = answer.case_id.as_str();
    let listed = listed_references(answer.own_text(), place);
    if !listed.is_empty() {
        return listed;
    }
    let Some(prediction) = answer.prediction.as_deref() else {
        return Vec::new();
    };
    cited_sources(prediction, base, place)
}

/// The references of the sources that a prediction cites.
fn cited_sources(prediction: &Prediction, base: IndexBase, place: &str) -> Vec<Reference> {
    let mut cited = prediction.cited_sources(base, Mode::Default);
    if cited.is_empty() {
        cited = (0..prediction.sources.len()).collect();
    }
    let mut references = Vec::with_capacity(cited.len());
    for index in cited {
        let key = format!("[{}]", base.number_of(index));
        references.push(source_reference(&prediction.sources[index], key, place));
    }
    references
}

/// The reference of a source with its fields.
fn source_reference(source: &Source, key: String, place: &str) -> Reference {
    let mut reference = Reference::new(key, place);
    reference.title = source.title.clone().unwrap_or_default();
    let mut address = "";
    if let Some(work) = &source.work {
        for name in &work.authors {
            add_author(&mut reference, name);
        }
        reference.year = work.year;
        address = work.url.as_deref().unwrap_or_default();
        reference.take_identifiers(address);
    }
    let is_page = !address.is_empty()
        && !reference.has_identifier()
        && reference.authors.is_empty()
        && reference.year.is_none();
    if is_page {
        reference.kind = ReferenceKind::Web;
    }
    settle_preprint(&mut reference);
    reference
}

/// The references of the lists in a text: those below a title such as "References", or else a list of `[n]` at its end.
fn listed_references(text: &str, place: &str) -> Vec<Reference> {
    let mut entries = titled_lists(text);
    if entries.is_empty() {
        entries = list_at_end(text);
    }
    let mut seen = HashSet::new();
    let mut references = Vec::new();
    for entry in entries {
        let letters = entry.text.chars().filter(|c| c.is_alphanumeric()).count();
        if letters >= FEWEST_LETTERS && seen.insert(entry.text.clone()) {
            references.push(text_reference(entry, place));
        }
    }
    references
}

/// The reference of a free text.
fn text_reference(entry: ListEntry, place: &str) -> Reference {
    let mut text = entry.text;
    text.truncate(text.floor_char_boundary(LONGEST_REFERENCE));
    let mut reference = Reference::new(entry.marker, place);
    let (identifiers, words) = identifiers_and_rest(&text);
    let has_identifier = reference.take_read(identifiers);
    let has_address = !addresses_in(&text).is_empty();
    // A page that is cited by address, without the year that each style of citing a paper has.
    if !has_identifier && has_address && year_in(&words).is_none() {
        reference.kind = ReferenceKind::Web;
    } else if !has_identifier && is_book(&text) {
        reference.kind = ReferenceKind::Book;
    }
    reference.text = Some(text);
    settle_preprint(&mut reference);
    reference
}

/// How references to books end: with their publisher.
const PUBLISHERS: [&str; 14] = [
    "press",
    "wiley",
    "wiley & sons",
    "mcgraw-hill",
    "mcgraw hill",
    "addison-wesley",
    "pearson",
    "prentice hall",
    "prentice-hall",
    "o'reilly media",
    "packt publishing ltd",
    "springer",
    "elsevier",
    "routledge",
];

/// Words of references to papers, which may end with a publisher, too.
const OF_PAPERS: [&str; 6] = [
    "proceedings",
    "conference",
    "symposium",
    "workshop",
    "journal",
    "lecture notes",
];

/// Whether a reference is that of a book. One that is taken for a paper would count as not found, since indexes of papers have
/// few books.
fn is_book(text: &str) -> bool {
    let text = text.to_lowercase();
    let end = text.trim_end_matches(|c: char| !c.is_alphanumeric());
    let ends_so = PUBLISHERS.iter().any(|publisher| end.ends_with(publisher));
    ends_so && !OF_PAPERS.iter().any(|word| text.contains(word))
}

/// An entry of a list of references.
#[derive(Debug, Clone, PartialEq)]
struct ListEntry {
    /// Its marker: `[3]`, `3.`; empty for a bullet or none.
    marker: String,
    text: String,
    /// White space before the marker: what is further in belongs to the entry. `None` without a marker.
    indent: Option<usize>,
    /// Whether quotes or remarks follow, which are not part of the reference.
    is_closed: bool,
}

/// The entries of all lists below a title.
fn titled_lists(text: &str) -> Vec<ListEntry> {
    let mut entries: Vec<ListEntry> = Vec::new();
    // Index of the first entry of the open list; `None` outside of lists.
    let mut list: Option<usize> = None;
    let mut is_after_blank = false;
    for line in text.lines() {
        if is_list_title(line) {
            list = Some(entries.len());
            is_after_blank = false;
            continue;
        }
        let Some(start) = list else {
            continue;
        };
        if line.trim().is_empty() {
            is_after_blank = true;
            continue;
        }
        let is_heading = line.trim_start().starts_with('#');
        let goes_on = !is_heading && add_line(&mut entries, start, line, is_after_blank);
        if !goes_on {
            list = None;
        }
        is_after_blank = false;
    }
    entries
}

/// Whether a line is the title of a list, perhaps with the number of its section: `## 7. References`.
fn is_list_title(line: &str) -> bool {
    let title = line.trim().trim_start_matches('#').trim_start();
    let unnumbered = title.trim_start_matches(|c: char| c.is_ascii_digit());
    let unnumbered = unnumbered.strip_prefix('.').unwrap_or(unnumbered);
    is_title(unnumbered.trim(), &LIST_TITLES)
}

/// Adds a line to a list that begins at `start`; false if the line does not belong to the list.
fn add_line(entries: &mut Vec<ListEntry>, start: usize, line: &str, is_after_blank: bool) -> bool {
    let open = entries.len() > start;
    let is_marked_list = open && entries[start].indent.is_some();
    if let Some(entry) = marked_entry(line) {
        let is_nested = entries[start..].last().is_some_and(|last| {
            is_marked_list && entry.marker.is_empty() && entry.indent > last.indent
        });
        if !is_nested {
            entries.push(entry);
        }
        return true;
    }
    if is_marked_list {
        // A paragraph behind the list is not a reference.
        if is_after_blank {
            return false;
        }
        continue_entry(entries, line);
        return true;
    }
    // A list without markers has one reference a line or a paragraph.
    entries.push(ListEntry {
        marker: String::new(),
        text: line.trim().to_owned(),
        indent: None,
        is_closed: false,
    });
    true
}

/// Adds a line to the last entry.
fn continue_entry(entries: &mut [ListEntry], line: &str) {
    if let Some(last) = entries.last_mut()
        && !last.is_closed
        && last.text.len() < LONGEST_REFERENCE
    {
        last.text.push(' ');
        last.text.push_str(line.trim());
    }
}

/// The last list of `[1] ..` in a text without a title above it. One paragraph may follow it; a single entry must have a
/// number that the text before it cites.
fn list_at_end(text: &str) -> Vec<ListEntry> {
    let lines: Vec<&str> = text.lines().collect();
    let mut entries: Vec<ListEntry> = Vec::new();
    let mut is_after_blank = true;
    let mut paragraphs_behind = 0;
    let mut first_line = 0;
    for (index, line) in lines.iter().enumerate() {
        if line.trim().is_empty() {
            is_after_blank = true;
            continue;
        }
        match marked_entry(line).filter(|entry| entry.marker.starts_with('[')) {
            Some(entry) => {
                if paragraphs_behind > 0 || entries.is_empty() {
                    entries.clear();
                    first_line = index;
                }
                paragraphs_behind = 0;
                entries.push(entry);
            }
            None if is_after_blank || paragraphs_behind > 0 => {
                paragraphs_behind += usize::from(is_after_blank);
            }
            None => continue_entry(&mut entries, line),
        }
        is_after_blank = false;
    }
    let is_at_end = paragraphs_behind <= 1;
    let is_cited = |entry: &ListEntry| {
        let mut before = lines[..first_line].iter();
        before.any(|line| line.contains(&entry.marker))
    };
    let is_list = entries.len() > 1 || entries.first().is_some_and(is_cited);
    if is_at_end && is_list {
        entries
    } else {
        Vec::new()
    }
}

/// The entry that a line begins: `[3] ..`, `[^3]: ..`, `3. ..`, `(3) ..`, `- ..`.
fn marked_entry(line: &str) -> Option<ListEntry> {
    let trimmed = line.trim_start();
    let indent = line.len() - trimmed.len();
    let (marker, rest) = bracketed(trimmed)
        .or_else(|| numbered(trimmed).map(|(number, rest)| (format!("{number}."), rest)))
        .or_else(|| bullet(trimmed).map(|rest| (String::new(), rest)))?;
    // A bullet may stand before the number.
    let (marker, rest) = match bracketed(rest) {
        Some((inner, rest)) if marker.is_empty() => (inner, rest),
        _ => (marker, rest),
    };
    let text = rest.trim();
    Some(ListEntry {
        marker,
        text: text.to_owned(),
        indent: Some(indent),
        is_closed: text.ends_with(':'),
    })
}

/// `[3]` or `[^3]:`
fn bracketed(text: &str) -> Option<(String, &str)> {
    let inner = text.strip_prefix("**").unwrap_or(text).strip_prefix('[')?;
    let inner = inner.strip_prefix('^').unwrap_or(inner);
    let (number, rest) = leading_number(inner)?;
    let rest = rest.strip_prefix(']')?;
    let rest = rest.strip_prefix("**").unwrap_or(rest);
    let rest = rest.strip_prefix([':', '.']).unwrap_or(rest);
    Some((format!("[{number}]"), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use scholareval_core::domain::SourceWork;
    use std::sync::Arc;

    fn texts(text: &str) -> Vec<(String, String)> {
        let references = listed_references(text, "c");
        let shown = references.into_iter();
        shown
            .map(|reference| (reference.key, reference.text.unwrap_or_default()))
            .collect()
    }

    fn pairs(texts: &[(String, String)]) -> Vec<(&str, &str)> {
        texts
            .iter()
            .map(|(key, text)| (key.as_str(), text.as_str()))
            .collect()
    }

    #[test]
    fn lists_below_a_title_in_every_style() {
        let text = "Body [1].\n\n## References\n\n[1] Doe, J. (2020). Ice and snow.\n\n[2] Roe, K. (2021). Snow\nand ice.\n\n\
            These references help.\n";
        let listed = texts(text);
        assert_eq!(
            pairs(&listed),
            [
                ("[1]", "Doe, J. (2020). Ice and snow."),
                ("[2]", "Roe, K. (2021). Snow and ice.")
            ]
        );
        let text = "**References:**\n- Doe, J. (2020). Ice and snow.\n  - an annotation of it\n- Roe, K. (2021). Snow and ice.\n\n### 2. Next\n- not a reference, of course";
        assert_eq!(texts(text).len(), 2);
        for title in ["## 7. References", "**Key References**", "3 References:"] {
            let text = format!("{title}\n1. Doe, J. (2020). Ice and snow.");
            assert_eq!(texts(&text).len(), 1, "{title}");
        }
        let text = "Sources\nDoe, J. (2020). Ice and snow.\n\nRoe, K. (2021). Snow and ice.\n# More\nno more of this";
        assert_eq!(texts(text).len(), 2);
        let text = "References:\n1. [(1, Mir et al., 2021) | ManyTypes4Py: A Benchmark ]: \nA quote of the paper.\n\n2. [^7]: other text here";
        let listed = texts(text);
        assert_eq!(
            pairs(&listed),
            [
                (
                    "1.",
                    "[(1, Mir et al., 2021) | ManyTypes4Py: A Benchmark ]:"
                ),
                ("2.", "[^7]: other text here")
            ]
        );
    }

    #[test]
    fn a_list_of_numbers_at_the_end_needs_no_title() {
        let text = "Ice is cold [1].\n\n[1] Doe, J. (2020). Ice and snow.\n[2] https://example.org/a/page\n\nI hope that this helps.";
        let listed = texts(text);
        assert_eq!(listed.len(), 2);
        assert_eq!(
            texts("It is so [1].\n[1] Doe, J. (2020). Ice and snow.").len(),
            1
        );
        // A line in the middle of a text that begins with a citation is not a list.
        assert!(texts("[1] shows that ice is cold.\n\nMore.\n\nAnd more.").is_empty());
        assert!(texts("So it is.\n\n[1] shows that ice is cold.").is_empty());
    }

    #[test]
    fn a_reference_that_is_listed_twice_counts_once() {
        let list = "References\n1. Doe, J. (2020). Ice and snow.\n\n";
        assert_eq!(texts(&format!("{list}## Next\ntext\n\n{list}")).len(), 1);
    }

    #[test]
    fn free_text_keeps_its_identifiers_and_pages_are_pages() {
        let text = "References\n1. Doe (2020). Ice. https://doi.org/10.1000/X\n2. The page of the WHO: https://who.int/ice\n\
            3. Roe, K. (2021). Snow. https://example.org/snow.pdf\n4. Poe. arXiv preprint arXiv:2101.00001\n\
            5. Marr, D. (1982). Vision. MIT Press.\n6. Low, D. (1999). Features. In Proceedings of the ICCV. IEEE Press.";
        let listed = listed_references(text, "c");
        assert_eq!(listed[0].doi.as_deref(), Some("10.1000/x"));
        let kinds: Vec<ReferenceKind> = listed.iter().map(|reference| reference.kind).collect();
        use ReferenceKind::*;
        assert_eq!(kinds, [Other, Web, Other, Preprint, Book, Other]);
        assert!(
            listed
                .iter()
                .all(|reference| reference.title.is_empty() && reference.place == "c")
        );
    }

    #[test]
    fn sources_are_references_where_the_text_has_no_list() {
        let work = SourceWork {
            authors: vec!["Jörg Müller".to_owned()],
            year: Some(2020),
            url: Some("https://arxiv.org/abs/2101.00001".to_owned()),
        };
        let source = |title: &str| Source {
            title: Some(title.to_owned()),
            work: Some(work.clone().into()),
            ..Source::default()
        };
        let answer = |text: &str| {
            let prediction = Prediction {
                output: Some(text.into()),
                sources: vec![source("One"), source("Two")],
                ..Prediction::default()
            };
            Answer {
                prediction: Some(Arc::new(prediction)),
                ..Answer::new("s".into(), "c".into(), text)
            }
        };
        let cited = references_of(&answer("So it is [2]."), IndexBase::One);
        assert_eq!(cited.len(), 1);
        assert_eq!(
            (cited[0].key.as_str(), cited[0].title.as_str()),
            ("[2]", "Two")
        );
        assert_eq!(cited[0].authors[0].family, "Müller");
        assert_eq!(cited[0].arxiv.as_deref(), Some("2101.00001"));
        assert_eq!(references_of(&answer("So it is."), IndexBase::One).len(), 2);
        let listed = answer("So [2].\n\nReferences\n[1] Doe, J. (2020). Ice and snow.");
        assert_eq!(references_of(&listed, IndexBase::One)[0].key, "[1]");
    }
}
