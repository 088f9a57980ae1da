//! Citations as texts write them: numbers in brackets and superscript, ids, links, addresses, author with year.
//!
//! What they lead to is decided where the sources are known (`domain::citations`).

use std::collections::BTreeSet;
use std::ops::Range;

use super::addresses::{address_ranges, page_key};
use super::citation_markers::{
    MarkerPlace, NumberMarker, author_year_markers, is_year, marker_at, places_of_markers,
    superscript_at, superscript_digit,
};
use super::tokens::{token_ranges, tokens};

/// Maximum length of the title of a link, in bytes.
const LONGEST_TITLE: usize = 300;

/// Maximum length of an address in a link, in bytes.
const LONGEST_ADDRESS: usize = 2000;

/// How far before its year the name of an author is looked for, in bytes.
const LONGEST_NAMES: usize = 80;

/// Digits of an id of Semantic Scholar.
const ID_DIGITS: usize = 40;

/// Ends of words that have an exponent more often than a marker: units and functions.
const OF_EXPONENTS: [&str; 9] = [
    "log", "sin", "cos", "tan", "exp", "min", "max", "mol", "sec",
];

/// A citation as it is written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WrittenCitation<'a> {
    pub(crate) place: MarkerPlace,
    pub(crate) name: WrittenName<'a>,
}

/// What a citation names as it is written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum WrittenName<'a> {
    /// Numbers in a form that nothing else has, perhaps with an address: `[^1]`, `[cite: 1]`, `[[1]](https://..)`.
    Numbers {
        numbers: Vec<u64>,
        address: Option<&'a str>,
    },
    /// Numbers in square brackets.
    PlainNumbers(Vec<u64>),
    Superscript(Vec<u64>),
    /// Ids of Semantic Scholar.
    Ids(Vec<&'a str>),
    Address(&'a str),
    /// A picture, which cites nothing.
    Image,
    /// Names with one year each, and all of it as it is written.
    AuthorYear {
        named: Vec<NamedYear>,
        written: &'a str,
    },
}

/// Names of authors with a year.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedYear {
    /// In lower case, word by word.
    pub(crate) names: Vec<String>,
    /// Four digits, perhaps with a letter.
    pub(crate) year: String,
}

/// The citations of a text, in order. None overlaps with another.
pub(crate) fn written_citations(text: &str) -> Vec<WrittenCitation<'_>> {
    let mut found: Vec<WrittenCitation<'_>> = Vec::new();
    let defined = defined_labels(text);
    let mut end = 0;
    for at in places_of_markers(text) {
        if at >= end
            && let Some(citation) = citation_at(text, at, &defined)
        {
            end = citation.place.range.end;
            found.push(citation);
        }
    }
    for range in address_ranges(text) {
        let address = &text[range.clone()];
        let is_enclosed = text[..range.start].ends_with('<') && text[range.end..].starts_with('>');
        let around = usize::from(is_enclosed);
        let range = range.start - around..range.end + around;
        add_apart(&mut found, range, || Some(WrittenName::Address(address)));
    }
    for range in author_year_markers(text) {
        add_apart(&mut found, range.clone(), || author_year(text, &range));
    }
    found.retain(|citation| citation.name != WrittenName::Image);
    for citation in &mut found {
        let is_narrative = text[citation.place.range.clone()].starts_with('(');
        if is_narrative && matches!(citation.name, WrittenName::AuthorYear { .. }) {
            citation.place.kept = citation.place.range.clone();
        }
    }
    found
}

/// The labels of lines such as `[1]: https://..`, to which `[title][1]` leads.
fn defined_labels(text: &str) -> BTreeSet<&str> {
    let lines = text.lines().map(str::trim_start);
    let labels = lines.filter_map(|line| Some(line.strip_prefix('[')?.split_once("]:")?.0));
    labels.collect()
}

/// Adds a citation at its place, unless it overlaps with another.
fn add_apart<'a>(
    found: &mut Vec<WrittenCitation<'a>>,
    range: Range<usize>,
    name: impl FnOnce() -> Option<WrittenName<'a>>,
) {
    let place = found.partition_point(|other| other.place.range.end <= range.start);
    let is_apart = found
        .get(place)
        .is_none_or(|other| other.place.range.start >= range.end);
    if is_apart && let Some(name) = name() {
        let place_in_text = MarkerPlace::marker(range);
        let citation = WrittenCitation {
            place: place_in_text,
            name,
        };
        found.insert(place, citation);
    }
}

/// The citation that begins at this byte with a bracket or in superscript.
fn citation_at<'a>(
    text: &'a str,
    at: usize,
    defined: &BTreeSet<&str>,
) -> Option<WrittenCitation<'a>> {
    if let Some(link) = link_at(text, at, defined) {
        return Some(link);
    }
    if let Some(marker) = marker_at(text, at) {
        let written = &text[marker.range.clone()];
        let is_plain = written.starts_with('[') && !written.contains(['^', ':']);
        let is_plain = is_plain && !written.contains(char::is_alphabetic);
        let numbers = marker.numbers;
        return Some(WrittenCitation {
            place: MarkerPlace::marker(marker.range),
            name: if is_plain {
                WrittenName::PlainNumbers(numbers)
            } else {
                WrittenName::Numbers {
                    numbers,
                    address: None,
                }
            },
        });
    }
    let is_within = text[..at].ends_with(|c| superscript_digit(c).is_some());
    if let Some(marker) = superscript_at(text, at).filter(|_| !is_within) {
        let is_bracketed = text[marker.range.clone()].contains('[');
        if !is_bracketed && is_exponent(&text[..at]) {
            return None;
        }
        let numbers = marker.numbers;
        return Some(WrittenCitation {
            place: MarkerPlace::marker(marker.range),
            name: if is_bracketed {
                WrittenName::PlainNumbers(numbers)
            } else {
                WrittenName::Superscript(numbers)
            },
        });
    }
    ids_at(text, at)
}

/// Whether a superscript behind this text is an exponent: behind a digit or a short word.
fn is_exponent(before: &str) -> bool {
    let word_start = before
        .rfind(|c: char| !c.is_alphanumeric())
        .map_or(0, |at| {
            at + before[at..].chars().next().map_or(1, char::len_utf8)
        });
    let word = &before[word_start..];
    let is_short = !word.is_empty() && word.len() < 3;
    is_short || word.ends_with(|c: char| c.is_numeric()) || OF_EXPONENTS.contains(&word)
}

/// `[0a1b..]`: ids of Semantic Scholar.
fn ids_at(text: &str, at: usize) -> Option<WrittenCitation<'_>> {
    let inner = text[at..].strip_prefix('[')?;
    let is_id = |id: &str| id.len() == ID_DIGITS && id.bytes().all(|c| c.is_ascii_hexdigit());
    inner.get(..ID_DIGITS).filter(|first| is_id(first))?;
    let inner = &inner[..inner
        .find(['[', ']'])
        .filter(|end| inner[*end..].starts_with(']'))?];
    let ids: Vec<&str> = inner.split([',', ';']).map(str::trim).collect();
    ids.iter().all(|id| is_id(id)).then(|| WrittenCitation {
        place: MarkerPlace::marker(at..at + inner.len() + 2),
        name: WrittenName::Ids(ids),
    })
}

/// A link of Markdown, `[title](address)` or `[title][1]` with a line `[1]: address`.
fn link_at<'a>(text: &'a str, at: usize, defined: &BTreeSet<&str>) -> Option<WrittenCitation<'a>> {
    let length = inner_length(&text[at..], '[', ']', LONGEST_TITLE)?;
    let title = at + 1..at + 1 + length;
    let behind = title.end + 1;
    let target = &text[behind..];
    let is_web = target.starts_with("(http") || target.starts_with("(<http");
    if is_web && let Some(length) = inner_length(target, '(', ')', LONGEST_ADDRESS) {
        let inner = &target[1..=length];
        let address = inner.split(' ').next().unwrap_or_default();
        let address = address.trim_matches(['<', '>']);
        page_key(address)?;
        let range = at..behind + length + 2;
        if text[..at].ends_with('!') {
            let place = MarkerPlace::marker(range);
            let name = WrittenName::Image;
            return Some(WrittenCitation { place, name });
        }
        let numbers = link_numbers(text, at, &title);
        let kept = if numbers.is_some() || is_mere_source(text, &range, &title, address) {
            range.end..range.end
        } else {
            title
        };
        return Some(WrittenCitation {
            place: MarkerPlace { range, kept },
            name: match numbers {
                Some(numbers) => WrittenName::Numbers {
                    numbers,
                    address: Some(address),
                },
                None => WrittenName::Address(address),
            },
        });
    }
    let NumberMarker { range, numbers } = marker_at(text, behind)?;
    let label = text[range.clone()].trim_matches(['[', ']']);
    if !text[title.clone()].contains(char::is_alphabetic) || !defined.contains(label) {
        return None;
    }
    let range = at..range.end;
    let is_enclosed = text[..at].ends_with('(') && text[range.end..].starts_with(')');
    let kept = if is_enclosed {
        range.end..range.end
    } else {
        title
    };
    Some(WrittenCitation {
        place: MarkerPlace { range, kept },
        name: WrittenName::Numbers {
            numbers,
            address: None,
        },
    })
}

/// The length of what stands in the brackets with which a text begins, on one line.
fn inner_length(text: &str, open: char, close: char, longest: usize) -> Option<usize> {
    let inner = text.strip_prefix(open)?;
    let mut depth = 0;
    for (at, c) in inner.char_indices().take_while(|(at, _)| *at <= longest) {
        match c {
            '\n' => return None,
            c if c == open => depth += 1,
            c if c == close && depth == 0 => return Some(at),
            c if c == close => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The numbers that the title of a link is: `[1](..)`, `[[1]](..)`, `[\[1\]](..)`.
fn link_numbers(text: &str, at: usize, title: &Range<usize>) -> Option<Vec<u64>> {
    let bare = marker_at(text, at).filter(|marker| marker.range.end == title.end + 1);
    let nested = || {
        let inner = marker_at(text, title.start).or_else(|| superscript_at(text, title.start));
        inner.filter(|marker| marker.range.end == title.end)
    };
    bare.or_else(nested).map(|marker| marker.numbers)
}

/// Whether the title of a link only names its source: alone in parentheses, behind a full stop, an address, author with year.
fn is_mere_source(text: &str, range: &Range<usize>, title: &Range<usize>, address: &str) -> bool {
    let title = text[title.clone()].trim();
    let before = text[..range.start].trim_end();
    let behind = text[range.end..].trim_start_matches([' ', '*']);
    let is_enclosed = before.ends_with(['(', ';', ',', '（', ':'])
        && behind.starts_with([')', ';', ',', '）', '）']);
    let is_behind_stop = before.ends_with(['.', '!', '?', '。', '”', '"', ')'])
        && (behind.is_empty() || behind.starts_with(['\n', '|', '[', '(']));
    let host = address.split('/').nth(2).unwrap_or_default();
    let host = host.trim_start_matches("www.");
    let is_address = title.contains("://") || !host.is_empty() && title.contains(host);
    let words = title.to_lowercase();
    let is_word = ["source", "link", "ref", "reference", "doi", "来源", "出典"]
        .iter()
        .any(|word| words == *word || words.starts_with(&format!("{word}:")));
    let in_brackets = format!("({title})");
    // `Nandi et al. (2018)` is a subject.
    let is_author = !title.contains('(') && !author_year_markers(&in_brackets).is_empty();
    is_enclosed || is_behind_stop || is_address || is_word || is_author
}

/// The names and years of an author-year marker: what stands in it, or before it if it has only years.
fn author_year<'a>(text: &'a str, range: &Range<usize>) -> Option<WrittenName<'a>> {
    let written = &text[range.clone()];
    let years: Vec<String> = words(written)
        .filter(|word| is_year(word))
        .map(str::to_owned)
        .collect();
    let names = if written.starts_with('(') {
        names_before(&text[..range.start])
    } else {
        let first = years.first()?;
        written.split(first.as_str()).next().unwrap_or_default()
    };
    let mut found = Vec::new();
    for word in words(names) {
        let is_name = word.starts_with(char::is_uppercase) && word.chars().nth(1).is_some();
        if is_name {
            found.extend(tokens(word));
        }
    }
    let named = |year: String| NamedYear {
        names: found.clone(),
        year,
    };
    let named: Vec<NamedYear> = years.into_iter().map(named).collect();
    Some(WrittenName::AuthorYear { named, written })
}

/// The words of a text, in its own case.
fn words(text: &str) -> impl Iterator<Item = &str> {
    token_ranges(text).map(|range| &text[range])
}

/// The names directly before a year in parentheses: `Nandi et al.`, `Berger and Lin`.
fn names_before(text: &str) -> &str {
    let start = text.floor_char_boundary(text.len().saturating_sub(LONGEST_NAMES));
    let near = &text[start..];
    let near = near.rsplit(['\n', ';', ')']).next().unwrap_or_default();
    let mut names = near.len();
    for word in near.split_inclusive(' ').rev() {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '&');
        let is_part = bare.starts_with(char::is_uppercase)
            || [
                "et", "al", "and", "&", "und", "y", "de", "van", "von", "der",
            ]
            .contains(&bare);
        if !is_part && !bare.is_empty() {
            break;
        }
        names -= word.len();
    }
    &near[names..]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each citation as it stands and what stays of it as text.
    fn found(text: &str) -> Vec<(&str, &str)> {
        let all = written_citations(text).into_iter();
        all.map(|citation| (&text[citation.place.range], &text[citation.place.kept]))
            .collect()
    }

    #[test]
    fn links_are_markers_or_words_of_their_sentence() {
        for (text, expected) in [
            (
                "Ice [[7]](https://a.example/b#:~:text=x).",
                ("[[7]](https://a.example/b#:~:text=x)", ""),
            ),
            (
                "Ice [7](https://a.example).",
                ("[7](https://a.example)", ""),
            ),
            (
                "Ice [\\[7\\]](https://a.example).",
                ("[\\[7\\]](https://a.example)", ""),
            ),
            (
                "Ice ([NASA](https://a.example)).",
                ("[NASA](https://a.example)", ""),
            ),
            (
                "Ice. [NASA](https://a.example)\n",
                ("[NASA](https://a.example)", ""),
            ),
            (
                "Ice [a.example](https://a.example/b).",
                ("[a.example](https://a.example/b)", ""),
            ),
            (
                "Ice [Doe, 2019](https://a.example/b).",
                ("[Doe, 2019](https://a.example/b)", ""),
            ),
            (
                "Ice [melts](https://a.example/b_(c)) in May.",
                ("[melts](https://a.example/b_(c))", "melts"),
            ),
            ("Ice <https://a.example/b>.", ("<https://a.example/b>", "")),
            ("Ice (https://a.example/b).", ("https://a.example/b", "")),
        ] {
            assert_eq!(found(text), [expected], "{text}");
        }
        assert!(found("![Ice](https://a.example/b.png) [see](#top) [x] f[i](j)").is_empty());
    }

    #[test]
    fn exponents_are_no_superscript_markers() {
        for text in [
            "5 km² and 10⁶",
            "x<sup>2</sup>, 10<sup>6</sup>, s<sup>-1</sup>",
            "log² n",
            "χ² test",
        ] {
            assert!(found(text).is_empty(), "{text}");
        }
        for text in [
            "Snow melts.¹²",
            "Snow melts¹²",
            "“Snow”<sup>1,2</sup>",
            "m<sup>[1][2]</sup>",
        ] {
            assert_eq!(found(text).len(), 1, "{text}");
        }
    }

    #[test]
    fn authors_stand_in_or_before_the_parentheses() {
        let named = |text: &'static str| {
            let all = written_citations(text).into_iter();
            let named = all.flat_map(|citation| match citation.name {
                WrittenName::AuthorYear { named, .. } => named,
                _ => Vec::new(),
            });
            named
                .map(|named| format!("{} {}", named.names.join(" "), named.year))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            named("As (4, Nandi et al., 2018; Roe & Li-Wu, 2020a) say"),
            ["nandi 2018", "roe li wu 2020a"]
        );
        assert_eq!(
            named("it melts. Nandi et al. (2018) and Doe (2019, 2021)"),
            ["nandi 2018", "doe 2019", "doe 2021"]
        );
        assert_eq!(
            named("found by Ana Berger and Kim Lin (2019)."),
            ["ana berger kim lin 2019"]
        );
    }

    #[test]
    fn one_huge_text_takes_linear_time() {
        for unit in [
            "[",
            "[a](",
            "[1](https://a.example)",
            "<sup>",
            "(Li, 2020",
            "http://",
            "²",
        ] {
            let text = unit.repeat(20_000);
            assert!(written_citations(&text).len() <= text.len());
        }
    }
}
