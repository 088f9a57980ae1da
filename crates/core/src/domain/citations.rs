//! Citations of an answer: where they are, and which sources they name.

use std::ops::Range;

use super::{Mode, Prediction};
use crate::text::citation_markers::{
    self, NumberMarker, author_year_markers, citation_markers, number_markers, without_citations,
};

/// The markers with numbers of a text: in every form, in compat mode those that the reference knows.
pub fn markers(text: &str, mode: Mode) -> Vec<NumberMarker> {
    match mode {
        Mode::Default => citation_markers(text),
        Mode::Compat => number_markers(text),
    }
}

/// The text without its [`markers`].
pub fn without_markers(text: &str, mode: Mode) -> String {
    match mode {
        Mode::Default => citation_markers::without_markers(text),
        Mode::Compat => without_citations(text),
    }
}

/// A citation marker in an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Citation {
    /// Its position, in bytes.
    pub range: Range<usize>,
    /// Indices of the cited sources, from 0.
    pub sources: Vec<usize>,
    /// Numbers without a source; always empty if there are no sources at all.
    pub dangling: Vec<u64>,
}

/// Numbers in brackets, and author-year citations that do not overlap with them, in order.
pub fn citations(text: &str, prediction: Option<&Prediction>, base: u64) -> Vec<Citation> {
    let mut citations = Vec::new();
    for marker in citation_markers(text) {
        citations.push(resolved(marker.range, &marker.numbers, prediction, base));
    }
    for range in author_year_markers(text) {
        citations.push(resolved(range, &[], None, base));
    }
    citations.sort_by_key(|citation| citation.range.start);
    let mut end = 0;
    // A bracket of numbers can also look like an author with a year: characters belong to one citation.
    citations.retain(|citation| {
        let is_apart = citation.range.start >= end;
        if is_apart {
            end = citation.range.end;
        }
        is_apart
    });
    citations
}

/// Resolves numbers. Without sources no number is dangling; if the file has a map from numbers to sources, only
/// the numbers missing from it are.
fn resolved(
    range: Range<usize>,
    numbers: &[u64],
    prediction: Option<&Prediction>,
    base: u64,
) -> Citation {
    let mut citation = Citation {
        range,
        sources: Vec::new(),
        dangling: Vec::new(),
    };
    let Some(prediction) = prediction else {
        return citation;
    };
    let count = prediction.sources.len();
    for number in numbers {
        let place = number
            .checked_sub(base)
            .and_then(|place| usize::try_from(place).ok())
            .filter(|place| *place < count);
        match (&prediction.id_mapping, place) {
            // The map of the file names sources by the ids of the file: which of `ctxs` they are is not known.
            (Some(mapping), _) if mapping.contains_key(&number.to_string()) => {}
            (None, Some(place)) => citation.sources.push(place),
            // Without a list of sources every number would be flagged, and the flag would mean
            // nothing.
            (None, None) if count == 0 => {}
            _ => citation.dangling.push(*number),
        }
    }
    citation
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Source;

    fn prediction(sources: usize) -> Prediction {
        Prediction {
            sources: vec![Source::default(); sources],
            ..Prediction::default()
        }
    }

    #[test]
    fn numbers_lead_to_sources_and_those_beyond_them_dangle() {
        let text = "A [0]. B [1, 7].";
        let found = citations(text, Some(&prediction(2)), 0);
        assert_eq!(
            (found[0].sources.as_slice(), found[0].dangling.as_slice()),
            ([0].as_slice(), [].as_slice())
        );
        assert_eq!(
            (found[1].sources.as_slice(), found[1].dangling.as_slice()),
            ([1].as_slice(), [7].as_slice())
        );
        assert_eq!(&text[found[1].range.clone()], "[1, 7]");
        // Counted from 1, 0 is invalid and 1 is the first source.
        let found = citations(text, Some(&prediction(2)), 1);
        assert_eq!(
            (found[0].dangling.as_slice(), found[1].sources.as_slice()),
            ([0].as_slice(), [0].as_slice())
        );
    }

    #[test]
    fn without_sources_nothing_dangles_and_names_are_found_too() {
        let found = citations("As shown [3] (Wang et al., 2023).", None, 0);
        assert_eq!(found.len(), 2);
        assert!(
            found
                .iter()
                .all(|citation| citation.dangling.is_empty() && citation.sources.is_empty())
        );
        assert!(
            citations("[3]", Some(&prediction(0)), 0)[0]
                .dangling
                .is_empty()
        );
    }
}
