//! The references of a text without a list: its links, addresses and identifiers.

use super::lists::ListEntry;
use scholareval_core::text::addresses::addresses_in;
use scholareval_core::text::identifiers::{IdentifierScheme, WorkIdentifier, identifiers_in};

/// Digits of the hash by which Semantic Scholar addresses a paper.
const HASH_DIGITS: usize = 40;

/// How a browser's link to a passage of a page begins.
const PASSAGE: &str = "#:~:text=";

/// A work that a text cites where it speaks of it.
pub(super) struct InlineCitation {
    /// Its marker and its text.
    pub(super) entry: ListEntry,
    /// The identifier that is its marker.
    pub(super) identifier: Option<WorkIdentifier>,
}

/// What a text cites without a list, in the order of the text; not what is in blocks of code.
pub(super) fn inline_citations(text: &str) -> Vec<InlineCitation> {
    let mut citations = Vec::new();
    for part in text.split("```").step_by(2) {
        for address in addresses_in(part) {
            let at = address.as_ptr() as usize - part.as_ptr() as usize;
            citations.push(linked(&part[..at], address));
        }
        for (identifier, words) in ids_in_brackets(part) {
            let marker = format!("[{}]", identifier.id);
            citations.push(InlineCitation {
                entry: ListEntry::inline(marker, words.to_owned()),
                identifier: Some(identifier),
            });
        }
        for identifier in identifiers_in(part) {
            let text = identifier.key();
            if !identifier.is_derived {
                citations.push(InlineCitation {
                    entry: ListEntry::inline(String::new(), text),
                    identifier: Some(identifier),
                });
            }
        }
    }
    citations
}

/// The citation by an address, with the label of its link: `[3](..)`, `[[3]](..)`, `[title](..)`.
fn linked(before: &str, address: &str) -> InlineCitation {
    let address = address.split(PASSAGE).next().unwrap_or(address);
    let label = before.strip_suffix("](").unwrap_or_default();
    let label = label.trim_end_matches(']');
    let label = label.rsplit(['[', '\n']).next().unwrap_or_default().trim();
    let is_number = !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_digit());
    // The words of a link to a paper are those of a sentence more often than its title.
    let is_title = !is_number && !label.is_empty() && identifiers_in(address).is_empty();
    let text = if is_title && !label.contains("://") {
        format!("{label}: {address}")
    } else {
        address.to_owned()
    };
    let marker = if is_number {
        format!("[{label}]")
    } else {
        String::new()
    };
    InlineCitation {
        entry: ListEntry::inline(marker, text),
        identifier: None,
    }
}

/// The papers of Semantic Scholar that stand in brackets, with the words behind each: `[hash, hash]`,
/// `[257663729 | Doe et al. | 2023 | Citations: 5; ..]`.
pub(super) fn ids_in_brackets(text: &str) -> Vec<(WorkIdentifier, &str)> {
    let mut ids = Vec::new();
    for inner in text.split('[').skip(1) {
        let Some((inner, _)) = inner.split_once(']') else {
            continue;
        };
        let is_row = inner.matches('|').count() > 1;
        for part in inner.split(|c| c == ';' || c == ',' && !is_row) {
            let (id, words) = part.split_once('|').unwrap_or((part, ""));
            let id = id.trim();
            let is_number = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
            let is_hash =
                id.len() == HASH_DIGITS && id.bytes().all(|byte| byte.is_ascii_hexdigit());
            let scheme = if is_hash {
                IdentifierScheme::S2
            } else if is_row && is_number {
                IdentifierScheme::Corpusid
            } else {
                continue;
            };
            let identifier = WorkIdentifier::new(scheme, id.to_ascii_lowercase());
            ids.push((identifier, words.trim()));
        }
    }
    ids
}
