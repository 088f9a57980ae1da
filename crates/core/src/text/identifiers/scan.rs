//! The addresses and identifiers of a clean text, from left to right.

use std::ops::Range;

use super::address::identifiers_of;
use super::arxiv::{id_at_start, id_behind_label, leading_digits};
use super::doi;
use super::hal::hal_id;
use super::hosts::is_known_host;
use super::web_address::percent_decoded;
use super::word::word_end;
use super::{IdentifierScheme, WorkIdentifier};

/// The longest host, in bytes.
const HOST_BYTES: usize = 253;

/// The beginning of a path in which a DOI is looked for, in bytes.
const PATH_BYTES: usize = 200;

/// Digits of a number of PubMed, at most.
const PMID_DIGITS: usize = 9;

/// Labels before a number of PubMed.
const PMID_LABELS: [&str; 4] = ["pmid", "pubmed id", "pubmed pmid", "pubmed:"];

/// Labels before the number of a paper in the corpus of Semantic Scholar.
const CORPUS_LABELS: [&str; 2] = ["corpusid", "corpus id"];

/// An address or identifier in a text.
pub(super) struct Mention {
    /// Where it stands, with its label.
    pub(super) range: Range<usize>,
    /// What it gives; of most web pages nothing.
    pub(super) identifiers: Vec<WorkIdentifier>,
}

/// The addresses and identifiers of a text, in their order; none within another one.
pub(super) fn mentions_in(text: &str) -> Vec<Mention> {
    let mut mentions = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let next = if bytes[at].is_ascii_alphanumeric() {
            mention_at(text, at)
        } else {
            None
        };
        at = match &next {
            Some(mention) => mention.range.end.max(at + 1),
            None => at + 1,
        };
        mentions.extend(next);
    }
    mentions
}

/// What begins at a place, if it is an address or an identifier.
fn mention_at(text: &str, at: usize) -> Option<Mention> {
    let rest = &text[at..];
    if rest.starts_with("10.") && doi::begins_at(text, at) {
        return doi_at(text, at);
    }
    let before = &text[..at];
    if before.ends_with(|c: char| c.is_ascii_alphanumeric()) {
        return None;
    }
    if is_address_at(text, at) {
        let end = word_end(text, at);
        return Some(Mention {
            range: at..end,
            identifiers: identifiers_of(&text[at..end]),
        });
    }
    let (length, identifier) = labeled(rest)?;
    Some(Mention {
        range: at..at + length,
        identifiers: vec![identifier],
    })
}

/// The DOI at a place, with the `doi:` before it.
fn doi_at(text: &str, at: usize) -> Option<Mention> {
    let end = word_end(text, at);
    let word = percent_decoded(&text[at..end]);
    let identifiers = doi::of_text(&word[..word_end(&word, 0)]);
    let before = text[..at].trim_end_matches([':', ' ']);
    let label = before.len().saturating_sub(3);
    let has_label = before.as_bytes()[label..].eq_ignore_ascii_case(b"doi");
    Some(Mention {
        range: if has_label { label } else { at }..end,
        identifiers: identifiers.into_iter().collect(),
    })
}

/// Whether an address begins here: with a scheme, or with the host where it is known or holds a DOI.
fn is_address_at(text: &str, at: usize) -> bool {
    let rest = &text[at..];
    if starts_with(rest, "http://") || starts_with(rest, "https://") {
        return true;
    }
    let is_of_host = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    let length = rest.bytes().take(HOST_BYTES).take_while(is_of_host).count();
    let host = &rest[..length];
    let top = host.rsplit('.').next().unwrap_or_default();
    let is_host =
        top.len() >= 2 && top.len() < length && top.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_inside = text[..at].ends_with(['/', '.', '@', '-', '_']);
    if !is_host || is_inside || !rest[length..].starts_with('/') {
        return false;
    }
    starts_with(host, "www.")
        || is_known_host(&host.to_ascii_lowercase())
        || path_head(&rest[length..]).contains("/10.")
}

/// The beginning of a path, up to the end of the word: a DOI in it is not far.
fn path_head(path: &str) -> &str {
    let head = &path[..path.floor_char_boundary(PATH_BYTES)];
    head.split(char::is_whitespace).next().unwrap_or_default()
}

/// An identifier with its label at the beginning of a text, and the length of both.
fn labeled(text: &str) -> Option<(usize, WorkIdentifier)> {
    match text.as_bytes()[0].to_ascii_lowercase() {
        b'a' if starts_with(text, "arxiv") => {
            let (length, id) = id_behind_label(text)?;
            Some((length, WorkIdentifier::new(IdentifierScheme::Arxiv, id)))
        }
        // `CoRR, abs/2101.00001`
        b'a' if starts_with(text, "abs/") => {
            let (length, id) = id_at_start(&text["abs/".len()..])?;
            Some((
                length + "abs/".len(),
                WorkIdentifier::new(IdentifierScheme::Arxiv, id),
            ))
        }
        b'p' => pubmed_id(text),
        b'c' => {
            let (length, number) = number_behind(text, &CORPUS_LABELS)?;
            Some((
                length,
                WorkIdentifier::new(IdentifierScheme::Corpusid, number),
            ))
        }
        b'h' => {
            let id = hal_id(text)?;
            Some((id.len(), WorkIdentifier::new(IdentifierScheme::Hal, id)))
        }
        _ => None,
    }
}

/// `PMID: 123`, `PMC123`, `PMCID: PMC123`.
fn pubmed_id(text: &str) -> Option<(usize, WorkIdentifier)> {
    if let Some((length, number)) = number_behind(text, &PMID_LABELS) {
        let is_id = number.len() <= PMID_DIGITS;
        return is_id.then(|| (length, WorkIdentifier::new(IdentifierScheme::Pmid, number)));
    }
    let label = if starts_with(text, "pmcid") {
        text["pmcid".len()..].trim_start_matches([':', ' '])
    } else {
        text
    };
    let number = label
        .strip_prefix("PMC")
        .unwrap_or(label)
        .trim_start_matches(' ');
    let digits = leading_digits(number);
    let is_labeled = number.len() < text.len() && digits > 0;
    let length = text.len() - number.len() + digits;
    is_labeled.then(|| {
        let id = format!("PMC{}", &number[..digits]);
        (length, WorkIdentifier::new(IdentifierScheme::Pmcid, id))
    })
}

/// The number behind one of these labels, and the length of both. 0 stands for none.
fn number_behind<'a>(text: &'a str, labels: &[&str]) -> Option<(usize, &'a str)> {
    let label = labels.iter().find(|label| starts_with(text, label))?;
    let rest = text[label.len()..].trim_start_matches([':', ' ', '#', '=', '(', '-', '{', '"']);
    let digits = leading_digits(rest);
    let number = rest[..digits].trim_start_matches('0');
    let is_number = !number.is_empty() && !rest[digits..].starts_with(char::is_alphanumeric);
    is_number.then(|| (text.len() - rest.len() + digits, number))
}

fn starts_with(text: &str, beginning: &str) -> bool {
    let head = text.as_bytes().get(..beginning.len());
    head.is_some_and(|head| head.eq_ignore_ascii_case(beginning.as_bytes()))
}
