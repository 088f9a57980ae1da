//! Parameters of the English Punkt model: abbreviations, collocations, sentence starters, orthographic contexts.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use crate::text::tables::section;

/// NLTK's English parameters (`punkt_tab/english`), sorted; origin and license: `NOTICE`.
const ENGLISH: &str = include_str!("english.tsv");

/// Seen with a capital inside a sentence.
pub(super) const MIDDLE_UPPER: u8 = 4;
/// Seen in lower case at the beginning of a sentence.
pub(super) const BEGIN_LOWER: u8 = 16;
/// Seen with a capital: at the beginning (2), inside (4), somewhere unknown (8).
pub(super) const UPPER: u8 = 2 | 4 | 8;
/// Seen in lower case: at the beginning (16), inside (32), somewhere unknown (64).
pub(super) const LOWER: u8 = 16 | 32 | 64;

/// A trained model. All words are in lower case.
#[derive(Debug)]
pub(super) struct Parameters {
    /// Without their last full stop.
    pub(super) abbreviations: HashSet<&'static str>,
    /// Words between which a full stop ends no sentence.
    pub(super) collocations: HashSet<(&'static str, &'static str)>,
    pub(super) starters: HashSet<&'static str>,
    /// Orthographic contexts of word types, as bits.
    contexts: HashMap<&'static str, u8>,
}

impl Parameters {
    /// The English model; parsed once.
    pub(super) fn english() -> &'static Self {
        static PARAMETERS: LazyLock<Parameters> = LazyLock::new(|| Parameters {
            abbreviations: lines("abbreviations").collect(),
            collocations: lines("collocations")
                .filter_map(|line| line.split_once('\t'))
                .collect(),
            starters: lines("sentence_starters").collect(),
            contexts: lines("orthography")
                .filter_map(|line| line.split_once('\t'))
                .map(|(word, contexts)| (word, contexts.parse().unwrap_or(0)))
                .collect(),
        });
        &PARAMETERS
    }

    /// Whether the word was seen in any of these contexts.
    pub(super) fn has(&self, word: &str, contexts: u8) -> bool {
        self.contexts
            .get(word)
            .is_some_and(|seen| seen & contexts != 0)
    }
}

/// The lines of a part of the model.
fn lines(name: &str) -> impl Iterator<Item = &'static str> {
    section(ENGLISH, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_whole() {
        let english = Parameters::english();
        let sizes = [
            english.abbreviations.len(),
            english.collocations.len(),
            english.starters.len(),
        ];
        assert_eq!((sizes, english.contexts.len()), ([156, 37, 39], 20_366));
        assert!(
            english.contexts.values().all(|contexts| *contexts != 0),
            "every number was read"
        );
    }

    #[test]
    fn words_are_known_with_what_was_learned_of_them() {
        let english = Parameters::english();
        assert!(
            ["dr", "u.s"]
                .iter()
                .all(|word| english.abbreviations.contains(word))
        );
        assert!(
            english.abbreviations.contains(". . "),
            "the blank at the end belongs to it"
        );
        assert!(
            english
                .collocations
                .contains(&("##number##", "international"))
        );
        // coverage: 36 = 4 + 32, seen inside sentences in both cases.
        let coverage = |contexts| english.has("coverage", contexts);
        assert!(
            coverage(MIDDLE_UPPER) && coverage(LOWER) && coverage(UPPER) && !coverage(BEGIN_LOWER)
        );
        assert!(!english.has("zzz", u8::MAX));
    }
}
