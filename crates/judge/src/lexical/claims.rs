//! Claims, citations and excerpts by sentences and markers.
//!
//! The rules, all of them crude:
//!
//! - A claim is a [claim](cited_claims) of at least [`CLAIM_WORDS`] words that is not a heading.
//! - Its citations are its [markers](citations), one for each number; also an author with year of whom no source is known.
//! - An excerpt is a quotation of at least [`EXCERPT_WORDS`] words in the claim's sentence, for the nearest marker; or
//!   the first line of at least [`EXCERPT_WORDS`] words below the citation's entry in a list of sources.
//!
//! [citations]: scholareval_core::domain::citations

use std::ops::Range;

use serde_json::{Value, json};

use scholareval_core::domain::{Citation, CitedName, CitedSentence, cited_claims};
use scholareval_core::text::tokens::token_ranges;

/// Shorter sentences are headings or fragments.
const CLAIM_WORDS: usize = 5;
/// Shorter quotations are terms.
const EXCERPT_WORDS: usize = 5;
/// Number of words of a text in the reply: enough to recognize it.
const SHOWN_WORDS: usize = 6;

/// A marker of one source: where it stands, how it reads, what the list of sources says of it.
struct SourceMarker {
    range: Range<usize>,
    text: String,
    excerpt: Option<String>,
}

/// The claims of an answer, as in replies about citations.
pub(super) fn claims(answer: &str) -> Value {
    let claims = cited_claims(answer, None, 0).into_iter();
    let long = claims.filter(|claim| {
        let is_heading = answer[claim.range.clone()].starts_with('#');
        !is_heading && has_words(&claim.text, CLAIM_WORDS)
    });
    long.map(|claim| reply_about(answer, &claim)).collect()
}

fn reply_about(answer: &str, claim: &CitedSentence) -> Value {
    let sentence = &answer[claim.range.clone()];
    let mut markers: Vec<SourceMarker> = Vec::new();
    for citation in &claim.citations {
        markers.extend(source_markers(answer, citation));
    }
    let mut excerpts: Vec<Vec<String>> = Vec::new();
    for marker in &markers {
        excerpts.push(marker.excerpt.iter().cloned().collect());
    }
    for quotation in quotations(sentence) {
        let at = claim.range.start + quotation.start..claim.range.start + quotation.end;
        // A quotation belongs to the nearest marker; counted for all markers of the sentence, one
        // quotation would support every source.
        let nearest = (0..markers.len()).min_by_key(|place| gap(&markers[*place].range, &at));
        if let Some(nearest) = nearest {
            excerpts[nearest].push(first_words(&sentence[quotation]));
        }
    }
    let mut citations = Vec::new();
    for (marker, excerpts) in markers.into_iter().zip(excerpts) {
        citations.push(json!({"citation_text": marker.text, "excerpts": excerpts}));
    }
    json!({"claim_text": first_words(&claim.text), "citations": citations})
}

/// The bytes between two ranges of a text; 0 if they touch or overlap.
fn gap(a: &Range<usize>, b: &Range<usize>) -> usize {
    a.start.saturating_sub(b.end) + b.start.saturating_sub(a.end)
}

/// A marker for each name of a citation; one as it is written for a citation without names.
fn source_markers(answer: &str, citation: &Citation) -> Vec<SourceMarker> {
    let range = citation.place.range.clone();
    let mut texts: Vec<String> = Vec::new();
    for name in &citation.names {
        texts.push(match name {
            CitedName::Number(number) => format!("[{number}]"),
            CitedName::Text(text) => text.clone(),
        });
    }
    if texts.is_empty() {
        texts.push(answer[range.clone()].to_owned());
    }
    let mut entries = citation.listed.iter();
    let mut markers = Vec::new();
    for text in texts {
        let below = entries.next().and_then(|entry| {
            let lines = answer[entry.clone()].lines().skip(1);
            lines
                .map(str::trim)
                .find(|line| has_words(line, EXCERPT_WORDS))
        });
        markers.push(SourceMarker {
            range: range.clone(),
            text,
            excerpt: below.map(first_words),
        });
    }
    markers
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
