//! The references of answers: a list of references in the text, or else the sources of a prediction, or else the links.
//!
//! A list that the system wrote is what it cites, so it comes first. Its entries are free text: they are not taken apart, since
//! each style puts title, names and year elsewhere. Only identifiers and addresses are taken from them.

use std::collections::{HashMap, HashSet};

use super::links::{ids_in_brackets, inline_citations};
use super::lists::{LONGEST_REFERENCE, ListEntry, listed_entries};
use super::{add_author, settle_preprint, year_in};
use crate::entry_text::{names_people, without_remarks};
use crate::normalize::folded;
use scholareval_core::domain::{
    Answer, IndexBase, Mode, Prediction, Reference, ReferenceKind, Source,
};
use scholareval_core::text::addresses::{addresses_in, page_key};
use scholareval_core::text::identifiers::identifiers_and_rest;

/// Letters of words by which two entries are compared: shorter ones are in most.
const WORD_LETTERS: usize = 4;

/// The works that an answer cites, each once, in the order of their first mention.
///
/// Without a list in the text these are the sources that its markers name and its other links and addresses, or else all of
/// its sources.
pub fn references_of(answer: &Answer, base: IndexBase) -> Vec<Reference> {
    let place = answer.case_id.as_str();
    let text = answer.own_text();
    let listed = listed_references(text, place);
    if !listed.is_empty() {
        return listed;
    }
    let Some(prediction) = answer.prediction.as_deref() else {
        return linked_references(text, place, Vec::new(), HashSet::new());
    };
    let cited = prediction.cited_sources(base, Mode::Default);
    let sources = cited.iter().map(|index| &prediction.sources[*index]);
    let pages = sources.filter_map(|source| page_key(source.work.as_ref()?.url.as_deref()?));
    let pages = pages.collect();
    let cited = source_references(prediction, cited, base, place);
    let references = linked_references(text, place, cited, pages);
    if references.is_empty() {
        let all = (0..prediction.sources.len()).collect();
        return source_references(prediction, all, base, place);
    }
    references
}

/// The references of these sources of a prediction.
fn source_references(
    prediction: &Prediction,
    cited: Vec<usize>,
    base: IndexBase,
    place: &str,
) -> Vec<Reference> {
    let mut references = Vec::with_capacity(cited.len());
    for index in cited {
        let key = format!("[{}]", base.number_of(index));
        references.push(source_reference(&prediction.sources[index], key, place));
    }
    references
}

/// The reference of a source with its fields; of a page, whose title may have the name of its site, in free text.
fn source_reference(source: &Source, key: String, place: &str) -> Reference {
    let title = source.title.as_deref().unwrap_or_default();
    let work = source.work.as_deref().cloned().unwrap_or_default();
    if let Some(address) = &work.url
        && work.authors.is_empty()
        && work.year.is_none()
    {
        let text = format!("{title}: {address}");
        let text = text.trim_start_matches(": ").to_owned();
        return text_reference(ListEntry::inline(key, text), place);
    }
    let mut reference = Reference::new(key, place);
    reference.title = without_remarks(title).trim().to_owned();
    for name in &work.authors {
        add_author(&mut reference, name);
    }
    reference.year = work.year;
    reference.take_identifiers(work.url.as_deref().unwrap_or_default());
    settle_preprint(&mut reference);
    reference
}

/// The references of the lists in a text.
fn listed_references(text: &str, place: &str) -> Vec<Reference> {
    let mut references: Vec<Reference> = Vec::new();
    // Earlier references of a work or page.
    let mut known: HashMap<String, Vec<usize>> = HashMap::new();
    let mut seen = HashSet::new();
    for entry in listed_entries(text) {
        if !seen.insert(entry.text.clone()) {
            continue;
        }
        let reference = text_reference(entry, place);
        if let Some(identity) = identity_of(&reference) {
            let earlier = known.entry(identity).or_default();
            let is_known = |index: &usize| is_same_entry(&references[*index], &reference);
            if earlier.iter().any(is_known) {
                continue;
            }
            earlier.push(references.len());
        }
        references.push(reference);
    }
    references
}

/// These references, and behind them the works that a text without a list cites by links, addresses and identifiers; `seen`
/// has the pages of these references.
fn linked_references(
    text: &str,
    place: &str,
    mut references: Vec<Reference>,
    mut seen: HashSet<String>,
) -> Vec<Reference> {
    let markers: HashSet<String> = references.iter().map(|known| known.key.clone()).collect();
    for known in &references {
        seen.extend(identity_of(known));
        seen.extend(known.identifiers().map(|identifier| identifier.key()));
    }
    for citation in inline_citations(text) {
        let mut reference = text_reference(citation.entry, place);
        reference.take_read(citation.identifier.into_iter().collect());
        // `[3](address)` of a source with the number 3.
        if markers.contains(&reference.key) {
            continue;
        }
        if let Some(identity) = identity_of(&reference)
            && seen.insert(identity)
        {
            // Of a work that an address gives with several identifiers, none is another reference.
            seen.extend(reference.identifiers().map(|identifier| identifier.key()));
            references.push(reference);
        }
    }
    references
}

/// The work or the page that a reference means: its first identifier, or else its address.
fn identity_of(reference: &Reference) -> Option<String> {
    let mut identifiers = reference.identifiers();
    if let Some(first) = identifiers.find(|identifier| !identifier.is_derived) {
        return Some(first.key());
    }
    let text = reference.text.as_deref()?;
    page_key(addresses_in(text).first()?)
}

/// Whether two entries of a list with one identity are one reference: most words of the shorter one are in the other. One
/// identifier below two titles is an error of the list.
fn is_same_entry(earlier: &Reference, later: &Reference) -> bool {
    let earlier = long_words(earlier);
    let later = long_words(later);
    let shared = earlier.intersection(&later).count();
    2 * shared >= earlier.len().min(later.len())
}

/// The long words of an entry without its addresses.
fn long_words(reference: &Reference) -> HashSet<String> {
    let (_, rest) = identifiers_and_rest(reference.text.as_deref().unwrap_or_default());
    let words = folded(&rest);
    let words = words.split(' ').filter(|word| word.len() >= WORD_LETTERS);
    words.map(str::to_owned).collect()
}

/// The reference of a free text.
fn text_reference(entry: ListEntry, place: &str) -> Reference {
    let mut text = entry.text;
    text.truncate(text.floor_char_boundary(LONGEST_REFERENCE));
    let mut reference = Reference::new(entry.marker, place);
    let (mut identifiers, rest) = identifiers_and_rest(&text);
    identifiers.extend(ids_in_brackets(&text).into_iter().map(|(id, _)| id));
    let has_identifier = reference.take_read(identifiers);
    let has_address = !addresses_in(&text).is_empty();
    let words = without_remarks(&rest);
    let is_paper = names_people(&words) && year_in(&words).is_some();
    // A page that is cited by address, without the names and the year that each style of citing a paper has.
    if !has_identifier && has_address && !is_paper {
        reference.kind = ReferenceKind::Web;
    } else if !has_identifier && is_book(&text) {
        reference.kind = ReferenceKind::Book;
    }
    reference.text = (!text.is_empty()).then_some(text);
    settle_preprint(&mut reference);
    reference
}

/// How references to books end: with their publisher.
const PUBLISHERS: &str = "press, wiley, wiley & sons, mcgraw-hill, mcgraw hill, addison-wesley, pearson, prentice hall, \
    prentice-hall, o'reilly media, packt publishing ltd, springer, elsevier, routledge";

/// Words of references to papers, which may end with a publisher, too.
const OF_PAPERS: &str = "proceedings, conference, symposium, workshop, journal, lecture notes";

/// Whether a reference is that of a book. One that is taken for a paper would count as not found, since indexes of papers have
/// few books.
fn is_book(text: &str) -> bool {
    let text = text.to_lowercase();
    let end = text.trim_end_matches(|c: char| !c.is_alphanumeric());
    let mut publishers = PUBLISHERS.split(", ");
    let ends_so = publishers.any(|publisher| end.ends_with(publisher));
    ends_so && !OF_PAPERS.split(", ").any(|word| text.contains(word))
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
    fn lists_have_groups_tables_and_pairs_of_lines() {
        let keys = |text: &str| {
            let references = listed_references(text, "c");
            let keys: Vec<String> = references.into_iter().map(|one| one.key).collect();
            keys.join(" ")
        };
        let groups = "## Sources\n### Papers\n[1] Doe. Ice and snow.\n\n**Web**\n[2] Snow: https://a.org/x\n\nMore below.\n\n\
            [3] Rain: https://a.org/y\n\n## Next\n[4] is not a reference.";
        assert_eq!(keys(groups), "[1] [2] [3]");
        let bullets = "### Sources\n\n**Papers**\n- Doe (2020). Ice and snow.\n\n**Pages:**\n- [Snow](https://a.org/x)\n- a remark without an address";
        assert_eq!(texts(bullets).len(), 2);
        let table = "References\n| No. | Title |\n|---|:--|\n| [1] | Ice and snow of 2020 |\n| 2 | Snow and ice |";
        assert_eq!(keys(table), "[1] [2]");
        let lines = "Sources:\nIce and snow\nhttps://a.org/x\n\nSnow and ice\n<https://a.org/y>\n\nI hope that this helps.";
        assert_eq!(
            pairs(&texts(lines)),
            [
                ("", "Ice and snow https://a.org/x"),
                ("", "Snow and ice <https://a.org/y>")
            ]
        );
        let within = "References\n1. **Ice and snow**\n   - Authors: Doe\n   - https://a.org/x\n2. Snow and ice:\n   https://a.org/y";
        assert_eq!(
            pairs(&texts(within)),
            [
                ("1.", "**Ice and snow** https://a.org/x"),
                ("2.", "Snow and ice: https://a.org/y")
            ]
        );
        // Text below a heading that has the name of a list.
        let prose = "## Data Sources\nWe took the census of 2019 as it is.\n\nIt has many rows.";
        assert_eq!(texts(prose), []);
        let html = "<h3>Sources</h3><ol><li>Doe (2020). Ice and snow.</li><li>Roe (2021). Snow and ice.</li></ol>";
        assert_eq!(texts(html).len(), 2);
        // A bracket that is not a label.
        assert_eq!(
            keys("References\n- [GPT4](https://a.org/gpt4)\n- [S2] Snow of 2020"),
            " [S2]"
        );
        assert_eq!(
            keys("> **Sources**\n>\n> [1] Snow and ice\n> [2] Ice and snow"),
            "[1] [2]"
        );
    }

    #[test]
    fn a_work_that_is_listed_in_other_words_counts_once() {
        let count = |second: &str| {
            let first =
                "[1] Doe, J. (2020). Walls of ice and snow. Cold Places. https://doi.org/10.1000/x";
            listed_references(&format!("References\n{first}\n[2] {second}\n"), "c").len()
        };
        assert_eq!(count("Doe J. Walls of ice and snow. doi:10.1000/X"), 1);
        assert_eq!(count("https://doi.org/10.1000/x"), 1);
        // One of the two has a wrong identifier.
        assert_eq!(count("Roe K. Rivers carrying sand. doi:10.1000/x"), 2);
        assert_eq!(count("Doe J. Walls of ice and snow. doi:10.1000/y"), 2);
    }

    #[test]
    fn links_are_references_where_the_text_has_no_list() {
        let cited = |text: &str| {
            let references = linked_references(text, "c", Vec::new(), HashSet::new());
            let shown = references.into_iter();
            shown
                .map(|one| (one.key, one.text.unwrap_or_default(), one.kind))
                .collect::<Vec<_>>()
        };
        let text = "So it is [[1]](https://a.org/x#:~:text=ice) and [2](https://doi.org/10.1000/x), as [Snow and ice](https://a.org/y) \
            says, again [[3]](http://www.a.org/x/#:~:text=snow), [here](https://dx.doi.org/10.1000/X) or (arXiv:2101.00001v2).\n\
            ```\ncurl https://a.org/code\n```\nSee PMID: 77, <https://b.org> and https://arxiv.org/pdf/2101.00001.";
        use ReferenceKind::*;
        assert_eq!(
            cited(text),
            [
                ("[1]", "https://a.org/x", Web),
                ("[2]", "https://doi.org/10.1000/x", Other),
                ("", "Snow and ice: https://a.org/y", Web),
                ("", "arXiv:2101.00001v2", Preprint),
                ("", "https://b.org", Web),
                ("", "pmid:77", Other),
            ]
            .map(|(key, text, kind)| (key.to_owned(), text.to_owned(), kind))
        );
        let hash = "0a".repeat(20);
        let ids = format!(
            "So [{hash}, {}] and [257663729 | Doe et al. | 2023 | Citations: 5; 1234567 | Roe | 2021 | Citations: 2].",
            "0b".repeat(20)
        );
        let keys = linked_references(&ids, "c", Vec::new(), HashSet::new())
            .into_iter()
            .map(|one| one.identifiers().map(|id| id.key()).collect::<String>());
        let keys: Vec<String> = keys.collect();
        assert_eq!(keys[0], format!("s2:{hash}"));
        assert_eq!(keys[2..], ["corpusid:257663729", "corpusid:1234567"]);
        assert_eq!(cited("No [12] link [a; b] or [2019 | x]."), []);
    }

    #[test]
    fn sources_are_references_where_the_text_has_no_list() {
        let work = SourceWork {
            authors: vec!["Jörg Müller".to_owned()],
            year: Some(2020),
            url: Some("https://arxiv.org/abs/2101.00001".to_owned()),
            id: None,
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
        let linked = "So it is [2] ([Ice](https://a.org/ice)).";
        let linked = references_of(&answer(linked), IndexBase::One);
        let keys: Vec<&str> = linked.iter().map(|one| one.key.as_str()).collect();
        // The link is not one of the sources: it may be invented.
        assert_eq!((keys.len(), keys[0]), (2, "[2]"), "{keys:?}");
        let page = Source {
            title: Some("[PDF] Ice and snow - ResearchGate".to_owned()),
            work: Some(Box::new(SourceWork {
                url: Some("https://a.org/x".to_owned()),
                ..SourceWork::default()
            })),
            ..Source::default()
        };
        let page = source_reference(&page, "[1]".to_owned(), "c");
        assert_eq!(
            (page.text.as_deref(), page.kind),
            (
                Some("[PDF] Ice and snow - ResearchGate: https://a.org/x"),
                ReferenceKind::Web
            )
        );
        let listed = answer("So [2].\n\nReferences\n[1] Doe, J. (2020). Ice and snow.");
        assert_eq!(references_of(&listed, IndexBase::One)[0].key, "[1]");
    }
}
