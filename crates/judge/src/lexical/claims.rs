//! Claims, citations and excerpts by sentences and markers.
//!
//! The rules, all of them crude:
//!
//! - A claim is a sentence of at least [`CLAIM_WORDS`] words that is neither a heading (`#`) nor in a reference list.
//! - A reference list starts with a line that says only *References*, *Sources*, *Bibliography* or *Works cited* and
//!   ends with a heading or two empty lines.
//! - A citation of a claim is a marker in its sentence: each number of `[1, 2]`, each author-year form.
//! - An excerpt is a quotation of at least [`EXCERPT_WORDS`] words in the claim's sentence, for the nearest marker; or
//!   the text of at least [`EXCERPT_WORDS`] words on the lines below the citation's entry in a reference list.

use std::collections::HashMap;
use std::ops::Range;

use serde_json::{Value, json};

use scholareval_core::text::citation_markers::{
    author_year_markers, citation_markers, is_title, source_list_lines,
};
use scholareval_core::text::sentences::simple_sentences;
use scholareval_core::text::tokens::{token_ranges, tokens};

/// Shorter sentences are headings or fragments.
const CLAIM_WORDS: usize = 5;
/// Shorter quotations are terms.
const EXCERPT_WORDS: usize = 5;
/// Number of words of a text in the reply: enough to recognize it.
const SHOWN_WORDS: usize = 6;
/// What a reference list is called.
const LIST_NAMES: [&str; 5] = [
    "references",
    "sources",
    "bibliography",
    "works cited",
    "reference list",
];

/// A marker of one source: where it stands, how it reads, by what it is found in the reference list.
struct SourceMarker {
    range: Range<usize>,
    text: String,
    key: String,
}

/// The claims of an answer, as in replies about citations.
pub(super) fn claims(answer: &str) -> Value {
    let (body, listed) = split_references(answer);
    let sentences = body.into_iter().flat_map(|line| {
        simple_sentences(line)
            .into_iter()
            .map(move |range| &line[range])
    });
    let claims = sentences
        .filter(|sentence| has_words(sentence, CLAIM_WORDS))
        .map(|sentence| claim(sentence, &listed));
    claims.collect()
}

fn claim(sentence: &str, listed: &HashMap<String, String>) -> Value {
    let markers = markers(sentence);
    let mut excerpts: Vec<Vec<String>> = Vec::new();
    for marker in &markers {
        let in_list = listed.get(&marker.key).map(|text| first_words(text));
        excerpts.push(in_list.into_iter().collect());
    }
    for quotation in quotations(sentence) {
        // A quotation belongs to the nearest marker; counted for all markers of the sentence, one
        // quotation would support every source.
        let nearest = (0..markers.len()).min_by_key(|at| gap(&markers[*at].range, &quotation));
        if let Some(nearest) = nearest {
            excerpts[nearest].push(first_words(&sentence[quotation]));
        }
    }
    let mut citations = Vec::new();
    for (marker, excerpts) in markers.into_iter().zip(excerpts) {
        citations.push(json!({"citation_text": marker.text, "excerpts": excerpts}));
    }
    json!({"claim_text": first_words(sentence), "citations": citations})
}

/// The bytes between two ranges of a text; 0 if they touch or overlap.
fn gap(a: &Range<usize>, b: &Range<usize>) -> usize {
    a.start.saturating_sub(b.end) + b.start.saturating_sub(a.end)
}

fn markers(text: &str) -> Vec<SourceMarker> {
    let mut markers = Vec::new();
    for marker in citation_markers(text) {
        for number in &marker.numbers {
            markers.push(SourceMarker {
                range: marker.range.clone(),
                text: format!("[{number}]"),
                key: number.to_string(),
            });
        }
    }
    for range in author_year_markers(text) {
        let marker = &text[range.clone()];
        let key = tokens(marker).collect::<Vec<_>>().join(" ");
        markers.push(SourceMarker {
            range,
            text: marker.to_owned(),
            key,
        });
    }
    markers.sort_by_key(|marker| marker.range.start);
    markers
}

/// The lines that may hold claims, and the texts given for sources in reference lists.
fn split_references(answer: &str) -> (Vec<&str>, HashMap<String, String>) {
    let (mut body, mut listed) = (Vec::new(), HashMap::<String, String>::new());
    let mut entry: Vec<String> = Vec::new();
    for (line, in_list) in answer
        .lines()
        .map(str::trim)
        .zip(source_list_lines(answer, &LIST_NAMES))
    {
        if is_title(line, &LIST_NAMES) {
            entry.clear();
        } else if !in_list && !line.is_empty() && !line.starts_with('#') {
            body.push(line);
        } else if in_list && let Some(keys) = entry_keys(line) {
            entry = keys;
        } else if in_list && has_words(line, EXCERPT_WORDS) {
            for key in &entry {
                listed.entry(key.clone()).or_insert_with(|| line.to_owned());
            }
        }
    }
    (body, listed)
}

/// What an entry of a reference list is found by; `None` for a line that starts no entry.
fn entry_keys(line: &str) -> Option<Vec<String>> {
    let starts_with_number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let number = &line[..line.len() - starts_with_number.len()];
    let numbered = !number.is_empty() && starts_with_number.starts_with(['.', ')', ':']);
    // Lines below an entry are its text; only such a start begins the next one.
    if !numbered && !line.starts_with(['[', '(', '-', '*']) {
        return None;
    }
    let mut keys: Vec<String> = markers(line).into_iter().map(|marker| marker.key).collect();
    if numbered {
        keys.push(number.to_owned());
    }
    Some(keys)
}

/// Where quotations of enough words stand.
fn quotations(sentence: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut open: Option<(usize, char)> = None;
    for (at, c) in sentence.char_indices() {
        let closing = match c {
            '"' => Some('"'),
            '“' => Some('”'),
            '«' => Some('»'),
            // German quotation marks close with what opens in English; so the open one decides.
            '„' => Some('“'),
            _ => None,
        };
        match (open, closing) {
            (Some((start, end)), _) if c == end => {
                if has_words(&sentence[start..at], EXCERPT_WORDS) {
                    ranges.push(start..at);
                }
                open = None;
            }
            (None, Some(closing)) => open = Some((at + c.len_utf8(), closing)),
            _ => {}
        }
    }
    ranges
}

/// The start of a text. Scripts without spaces have one token a letter, so this is short in every script.
fn first_words(text: &str) -> String {
    let shown: Vec<_> = token_ranges(text).take(SHOWN_WORDS).collect();
    match (shown.first(), shown.last()) {
        (Some(first), Some(last)) => text[first.start..last.end].to_owned(),
        _ => String::new(),
    }
}

fn has_words(text: &str, count: usize) -> bool {
    token_ranges(text).nth(count - 1).is_some()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sentences_are_claims_and_markers_their_citations() {
        let list = claims(
            "# A heading that has many words in it\nIt is known to work well [1, 2]. \
                            Nobody has ever shown why this is. Ok [3].",
        );
        assert_eq!(
            list,
            json!([
                {"claim_text": "It is known to work well", "citations": [
                    {"citation_text": "[1]", "excerpts": []}, {"citation_text": "[2]", "excerpts": []}]},
                {"claim_text": "Nobody has ever shown why this", "citations": []},
            ])
        );
    }

    #[test]
    fn a_quotation_is_an_excerpt_of_the_nearest_marker() {
        let list = claims(
            "Some doubt it (Lee, 2020) but “it held in every single trial” (Kim et al., 2021), a \"term\".",
        );
        assert_eq!(
            list[0]["citations"],
            json!([
                {"citation_text": "Lee, 2020", "excerpts": []},
                {"citation_text": "Kim et al., 2021", "excerpts": ["it held in every single trial"]},
            ])
        );
    }

    #[test]
    fn a_reference_list_gives_excerpts_and_no_claims() {
        let list = claims(
            "Graphs help in many of the cases (4, Lee et al., 2020) and trees too [2].\n\nReferences:\n\
             1. [(4, Lee et al., 2020) | n_citations: 7 | On graphs ]:\nWe find that graphs help in most cases.\n\n\
             2. Trees. A title only.\n\n\n\nThe next part begins here, not in the list.",
        );
        assert_eq!(list.as_array().unwrap().len(), 2);
        assert_eq!(
            list[0]["citations"][0]["excerpts"],
            json!(["We find that graphs help in"])
        );
        assert_eq!(
            list[0]["citations"][1],
            json!({"citation_text": "[2]", "excerpts": []})
        );
    }

    proptest! {
        #[test]
        fn every_text_gives_readable_claims(
            text in "(\\PC|[\n\"“”„«.\\[\\](),;#]|References:\n|1\\. |Lee, 2020|深度学习){0,60}"
        ) {
            prop_assert!(claims(&text).is_array());
        }
    }
}
