//! Citations of an answer: where they are, and which sources they name.
//!
//! [`citations`] is the one reader of markers by default: scorers, the page and the lexical baseline bind what it finds. A marker
//! counts by what it leads to: an entry of the answer's [list of sources](crate::text::source_lists), or one of its `ctxs`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;

use super::Prediction;
use crate::text::addresses::{addresses_in, page_key};
use crate::text::citation_markers::{MarkerPlace, is_year, removed};
use crate::text::claims::text_claims;
use crate::text::identifiers::{WorkIdentifier, identifiers_in};
use crate::text::source_lists::{SourceList, source_lists};
use crate::text::tokens::tokens;
use crate::text::written_citations::{NamedYear, WrittenCitation, WrittenName, written_citations};

/// What a citation names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum CitedName {
    /// The number of a source: in `ctxs`, else in the list of the answer.
    Number(u64),
    /// An id, an address, or author and year of a source without a number.
    Text(String),
}

impl CitedName {
    /// The number, if it is one.
    pub fn number(&self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(_) => None,
        }
    }
}

impl fmt::Display for CitedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// A citation in an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Citation {
    /// Its position, in bytes, and what of it is text.
    pub place: MarkerPlace,
    /// What it names, in order, with repeats; empty for author and year of which no source is known.
    pub names: Vec<CitedName>,
    /// Indices of the cited sources, from 0.
    pub sources: Vec<usize>,
    /// Numbers without a source; always empty if there are no sources at all.
    pub dangling: Vec<u64>,
    /// Addresses of the cited pages, as far as the answer gives them.
    pub urls: Vec<String>,
    /// Where the entries of its list stand that it leads to, without their labels.
    pub listed: Vec<Range<usize>>,
}

/// The citations of a text, in order, without those in its list of sources: in brackets and superscript, ids, links, addresses,
/// author with year. `base` is the number of the first source of the prediction.
///
/// ```
/// use scholareval_core::domain::citations;
///
/// let text = "Snow melts.[1] See (Doe, 2019) on x[2020].\n\nReferences\n1. Roe. Ice.\n2. Doe, J. (2019). Snow.";
/// let found = citations(text, None, 0);
/// let numbers: Vec<_> = found.iter().flat_map(|citation| &citation.names).map(ToString::to_string).collect();
/// assert_eq!(numbers, ["1", "2"]);
/// ```
pub fn citations(text: &str, prediction: Option<&Prediction>, base: u64) -> Vec<Citation> {
    let written = written_citations(text);
    if written.is_empty() {
        return Vec::new();
    }
    let known = KnownSources::new(text, prediction, base);
    let outside = written.into_iter().filter(|one| {
        let start = one.place.range.start;
        let list = known.lists.partition_point(|list| list.range.end <= start);
        let list = known.lists.get(list);
        list.is_none_or(|list| !list.range.contains(&start))
    });
    let mut found: Vec<Citation> = outside
        .filter_map(|written| known.citation(written))
        .collect();
    take_parentheses(text, &mut found);
    found
}

/// A claim of an answer with its citations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CitedSentence {
    /// Its range in the text, markers included.
    pub range: Range<usize>,
    /// What it says, without markers.
    pub text: String,
    /// Its citations, in order.
    pub citations: Vec<Citation>,
}

impl CitedSentence {
    /// What its citations name, in order, with repeats.
    pub fn names(&self) -> impl Iterator<Item = &CitedName> {
        self.citations.iter().flat_map(|citation| &citation.names)
    }
}

/// The claims of an answer, in order (`docs/metrics/citations.md`), each with its [`citations`].
///
/// ```
/// use scholareval_core::domain::cited_claims;
///
/// let claims = cited_claims("Snow melts.[1] Ice stays. [0-2] finds why.\n- Rain falls [3]\n- Wind blows", None, 0);
/// let claims: Vec<(&str, usize)> = claims.iter().map(|claim| (claim.text.as_str(), claim.names().count())).collect();
/// assert_eq!(claims, [("Snow melts.", 1), ("Ice stays.", 0), ("finds why.", 3), ("Rain falls", 1), ("Wind blows", 0)]);
/// ```
pub fn cited_claims(text: &str, prediction: Option<&Prediction>, base: u64) -> Vec<CitedSentence> {
    let citations = citations(text, prediction, base);
    let claims = text_claims(text, &places(&citations)).into_iter();
    claims
        .map(|claim| CitedSentence {
            range: claim.range,
            text: claim.text,
            citations: citations[claim.markers].to_vec(),
        })
        .collect()
}

/// The text without these citations, all of them in it.
pub fn without_citations_of(text: &str, citations: &[Citation]) -> String {
    removed(text, 0..text.len(), &places(citations))
}

fn places(citations: &[Citation]) -> Vec<MarkerPlace> {
    let citations = citations.iter();
    citations.map(|citation| citation.place.clone()).collect()
}

/// A source that a citation may lead to.
struct KnownSource {
    /// The number by which a marker names it.
    number: Option<u64>,
    /// Keys of its page and its work, and its ids.
    keys: BTreeSet<String>,
    /// Authors, year and what else is known, as lower-cased words between spaces.
    words: String,
    /// The years among the words.
    years: Vec<String>,
    url: Option<String>,
    /// Where its entry stands in the text.
    entry: Option<Range<usize>>,
}

/// Bytes of an entry in which its authors and year are looked for.
const ENTRY_START: usize = 400;

impl KnownSource {
    fn new(number: Option<u64>, description: &str, addresses: &[&str]) -> Self {
        let mut keys = BTreeSet::new();
        for address in addresses {
            keys.extend(keys_of(address));
        }
        let words: Vec<String> = tokens(description).collect();
        Self {
            number,
            keys,
            years: words.iter().filter(|word| is_year(word)).cloned().collect(),
            words: format!(" {} ", words.join(" ")),
            url: addresses.first().map(|address| (*address).to_owned()),
            entry: None,
        }
    }

    /// How well author and year fit: how many names are those of the source, and how late the first one stands. `None` if they
    /// do not fit.
    fn fit(&self, named: &NamedYear) -> Option<(usize, std::cmp::Reverse<usize>)> {
        // A letter behind the year may be missing on either side.
        let is_same = |year: &String| year.starts_with(&named.year) || named.year.starts_with(year);
        if !self.years.is_empty() && !self.years.iter().any(is_same) {
            return None;
        }
        let at = |name: &String| self.words.find(&format!(" {name} "));
        let places: Vec<usize> = named.names.iter().filter_map(at).collect();
        let first = places.iter().min()?;
        (2 * places.len() >= named.names.len()).then_some((places.len(), std::cmp::Reverse(*first)))
    }
}

/// The keys by which an address or an identifier is compared.
fn keys_of(address: &str) -> Vec<String> {
    let mut keys: Vec<String> = page_key(address).into_iter().collect();
    let identifiers = identifiers_in(address).into_iter();
    keys.extend(identifiers.map(|identifier: WorkIdentifier| identifier.key()));
    keys
}

/// What the citations of a text may lead to.
struct KnownSources<'a> {
    prediction: Option<&'a Prediction>,
    base: u64,
    lists: Vec<SourceList>,
    /// The entries of the lists.
    listed: Vec<KnownSource>,
    /// Places in `listed` by number: several where each part of an answer has a list.
    by_label: BTreeMap<u64, Vec<usize>>,
    /// The sources of the prediction.
    given: Vec<KnownSource>,
}

impl<'a> KnownSources<'a> {
    fn new(text: &str, prediction: Option<&'a Prediction>, base: u64) -> Self {
        let lists = source_lists(text);
        let mut listed = Vec::new();
        let mut by_label: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for entry in lists.iter().flat_map(|list| &list.entries) {
            let text = &text[entry.range.clone()];
            let start = &text[..text.floor_char_boundary(ENTRY_START)];
            if let Some(label) = entry.label {
                by_label.entry(label).or_default().push(listed.len());
            }
            let mut known = KnownSource::new(entry.label, start, &addresses_in(text));
            known.entry = Some(entry.range.clone());
            listed.push(known);
        }
        let mut given = Vec::new();
        for (number, source) in (base..).zip(prediction.map_or(&[][..], |it| &it.sources)) {
            let work = source.work.as_deref();
            let mut description = work.map_or(String::new(), |work| work.authors.join(" "));
            if let Some(year) = work.and_then(|work| work.year) {
                description.push_str(&format!(" {year}"));
            }
            let url = work.and_then(|work| work.url.as_deref());
            let mut known = KnownSource::new(Some(number), &description, url.as_slice());
            let ids = [work.and_then(|work| work.id.as_ref()), source.key.as_ref()];
            known.keys.extend(ids.into_iter().flatten().cloned());
            given.push(known);
        }
        Self {
            prediction,
            base,
            lists,
            listed,
            by_label,
            given,
        }
    }

    /// The citation that is written here; `None` if it is not one.
    fn citation(&self, written: WrittenCitation<'_>) -> Option<Citation> {
        let mut citation = Citation {
            place: written.place,
            names: Vec::new(),
            sources: Vec::new(),
            dangling: Vec::new(),
            urls: Vec::new(),
            listed: Vec::new(),
        };
        match written.name {
            WrittenName::Image => return None,
            // With a list, a number without an entry is an index or the end of an interval; without a source, a superscript is
            // an exponent.
            WrittenName::PlainNumbers(numbers) if !self.may_be_entries(&numbers) => return None,
            WrittenName::Superscript(numbers) if !self.has_all(&numbers) => return None,
            WrittenName::PlainNumbers(numbers) | WrittenName::Superscript(numbers) => {
                self.add_numbers(&mut citation, &numbers);
            }
            WrittenName::Numbers { numbers, address } => {
                match address.and_then(|address| self.by_keys(&keys_of(address))) {
                    Some(source) => self.add(&mut citation, source, ""),
                    None => self.add_numbers(&mut citation, &numbers),
                }
                if citation.urls.is_empty() {
                    citation.urls.extend(address.map(str::to_owned));
                }
            }
            WrittenName::Ids(ids) => {
                for id in ids {
                    match self.by_keys(&[id.to_owned(), format!("s2:{id}")]) {
                        Some(source) => self.add(&mut citation, source, id),
                        None => citation.names.push(CitedName::Text(id.to_owned())),
                    }
                }
            }
            WrittenName::Address(address) => {
                match self.by_keys(&keys_of(address)) {
                    Some(source) => self.add(&mut citation, source, address),
                    // A page that was not given to the system is text.
                    None if !self.given.is_empty() => return None,
                    None => citation.names.push(CitedName::Text(address.to_owned())),
                }
                citation.urls = vec![address.to_owned()];
            }
            WrittenName::AuthorYear { named, written } => {
                for named in &named {
                    if let Some(source) = self.by_author(named, written) {
                        self.add(&mut citation, source, written);
                    }
                }
                if citation.names.is_empty() {
                    citation.place.kept = citation.place.range.clone();
                }
            }
        }
        Some(citation)
    }

    /// Whether the list of the answer, if it has one with numbers, has all of these.
    fn may_be_entries(&self, numbers: &[u64]) -> bool {
        let is_entry = |number| self.by_label.contains_key(number);
        self.by_label.is_empty() || numbers.iter().all(is_entry)
    }

    /// Whether all numbers lead to entries of the list, or without a list to sources.
    fn has_all(&self, numbers: &[u64]) -> bool {
        let sources = self.base..self.base + self.given.len() as u64;
        let is_source = |number| !self.by_label.is_empty() || sources.contains(number);
        self.may_be_entries(numbers) && numbers.iter().all(is_source)
    }

    /// The source with one of these keys, in the prediction first.
    fn by_keys(&self, keys: &[String]) -> Option<&KnownSource> {
        let mut all = self.given.iter().chain(&self.listed);
        all.find(|source| keys.iter().any(|key| source.keys.contains(key)))
    }

    /// The source that author and year mean, in the prediction first; `None` if several fit as well.
    fn by_author(&self, named: &NamedYear, written: &str) -> Option<&KnownSource> {
        // Entries may repeat the marker: `1. [(4, Roe et al., 2021) | ..`.
        let repeated: String = tokens(written).map(|word| format!(" {word}")).collect();
        for sources in [&self.given, &self.listed] {
            let mut best: Option<(_, &KnownSource)> = None;
            let mut is_tied = false;
            for source in sources {
                let Some(fit) = source.fit(named) else {
                    continue;
                };
                let fit = (source.words.starts_with(&repeated), fit);
                match &best {
                    Some((best_fit, _)) if fit < *best_fit => {}
                    Some((best_fit, _)) if fit == *best_fit => is_tied = true,
                    _ => {
                        is_tied = false;
                        best = Some((fit, source));
                    }
                }
            }
            if let Some((_, source)) = best {
                return Some(source).filter(|_| !is_tied);
            }
        }
        None
    }

    /// Adds a source; `written` names one that has no number of its own.
    fn add(&self, citation: &mut Citation, source: &KnownSource, written: &str) {
        let is_label = source.entry.is_some();
        match source.number {
            Some(number) if !is_label || !self.is_ambiguous(number) => {
                self.add_number(citation, number);
            }
            _ => {
                citation.names.push(CitedName::Text(written.to_owned()));
                self.add_entry(citation, source);
            }
        }
    }

    fn add_entry(&self, citation: &mut Citation, source: &KnownSource) {
        citation.urls.extend(source.url.clone());
        citation.listed.extend(source.entry.clone());
    }

    /// Whether several lists have an entry with this number.
    fn is_ambiguous(&self, number: u64) -> bool {
        let places = self.by_label.get(&number);
        self.given.is_empty() && places.is_some_and(|places| places.len() > 1)
    }

    fn add_numbers(&self, citation: &mut Citation, numbers: &[u64]) {
        for number in numbers {
            self.add_number(citation, *number);
        }
    }

    /// Adds a number. Without sources no number is dangling; if the file has a map from numbers to sources, only the numbers
    /// missing from it are.
    fn add_number(&self, citation: &mut Citation, number: u64) {
        citation.names.push(CitedName::Number(number));
        if let Some(places) = self.by_label.get(&number) {
            // The list of a part stands behind it.
            let mut entries = places.iter().map(|place| &self.listed[*place]);
            let at = citation.place.range.start;
            let mut later = entries
                .clone()
                .filter(|entry| entry.entry.as_ref().is_some_and(|range| range.start > at));
            if let Some(entry) = later.next().or_else(|| entries.next_back()) {
                self.add_entry(citation, entry);
            }
        }
        let Some(prediction) = self.prediction else {
            return;
        };
        let count = prediction.sources.len();
        let place = number
            .checked_sub(self.base)
            .and_then(|place| usize::try_from(place).ok())
            .filter(|place| *place < count);
        match (&prediction.id_mapping, place) {
            // The map of the file names sources by the ids of the file: which of `ctxs` they are is not known.
            (Some(mapping), _) if mapping.contains_key(&number.to_string()) => {}
            (None, Some(place)) => citation.sources.push(place),
            // Without a list of sources every number would be flagged, and the flag would mean
            // nothing.
            (None, None) if count == 0 => {}
            _ => citation.dangling.push(number),
        }
    }
}

/// Words that may stand before the first citation in parentheses.
const LEADS: [&str; 9] = [
    "see", "see also", "e.g.,", "e.g.", "cf.", "source:", "sources:", "via", "from",
];

/// Adds the parentheses around citations that fill them, and the colon before an address at the end of a sentence.
fn take_parentheses(text: &str, citations: &mut [Citation]) {
    for first in 0..citations.len() {
        let start = citations[first].place.range.start;
        if !citations[first].place.kept.is_empty() {
            continue;
        }
        let before = text[..start].trim_end();
        let lower =
            before[before.floor_char_boundary(before.len().saturating_sub(10))..].to_lowercase();
        let lead = LEADS.into_iter().filter(|lead| lower.ends_with(lead));
        let lead = lead.map(str::len).max().unwrap_or(0);
        let open = before[..before.len() - lead].trim_end();
        if open.ends_with(['(', '（']) {
            if let Some((last, end)) = end_of_group(text, citations, first) {
                let bracket = open.chars().next_back().map_or(0, char::len_utf8);
                let mut start = open.len() - bracket;
                for at in first..=last {
                    let next = citations.get(at + 1).filter(|_| at < last);
                    let next = next.map_or(end, |next| next.place.range.start);
                    citations[at].place = MarkerPlace::marker(start..next);
                    start = next;
                }
            }
        } else if before.ends_with(':') && text[start..].starts_with("http") {
            let behind = &text[citations[first].place.range.end..];
            if behind.is_empty() || behind.starts_with(['.', '\n']) {
                citations[first].place.range.start = before.len() - 1;
            }
        }
    }
}

/// The last of the citations that stand from this one to a closing parenthesis with nothing but separators between, and the end
/// of the parenthesis.
fn end_of_group(text: &str, citations: &[Citation], first: usize) -> Option<(usize, usize)> {
    let mut last = first;
    loop {
        let place = &citations[last].place;
        let behind = &text[place.range.end..];
        let next = behind.trim_start_matches(|c: char| c.is_whitespace() || ",;，；&".contains(c));
        if !place.kept.is_empty() {
            return None;
        }
        if next.starts_with([')', '）']) {
            let bracket = next.chars().next().map_or(0, char::len_utf8);
            return Some((last, text.len() - next.len() + bracket));
        }
        let following = citations.get(last + 1)?;
        if following.place.range.start != text.len() - next.len() {
            return None;
        }
        last += 1;
    }
}

#[cfg(test)]
mod tests;
