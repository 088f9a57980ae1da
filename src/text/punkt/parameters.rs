//! Parameters of the English Punkt model: abbreviations, collocations, sentence starters, orthographic contexts.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// NLTK's English parameters (`punkt_tab/english`), sorted; origin and license: `NOTICE`.
const ENGLISH: &str = include_str!("english.tsv");

/// Seen with a capital inside a sentence.
const MIDDLE_UPPER: u8 = 1 << 2;
/// Seen in lower case at the beginning of a sentence.
const BEGIN_LOWER: u8 = 1 << 4;
/// Seen with a capital: at the beginning (2), inside (4), somewhere unknown (8).
const UPPER: u8 = 2 | 4 | 8;
/// Seen in lower case: at the beginning (16), inside (32), somewhere unknown (64).
const LOWER: u8 = 16 | 32 | 64;

/// Orthographic contexts of a word type; empty if unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Contexts(u8);

impl Contexts {
    pub(super) fn lower(self) -> bool {
        self.0 & LOWER != 0
    }

    pub(super) fn upper(self) -> bool {
        self.0 & UPPER != 0
    }

    pub(super) fn upper_within(self) -> bool {
        self.0 & MIDDLE_UPPER != 0
    }

    pub(super) fn lower_at_beginning(self) -> bool {
        self.0 & BEGIN_LOWER != 0
    }
}

/// A trained model. All words are in lower case.
#[derive(Debug)]
pub(super) struct Parameters {
    /// Without their last full stop.
    pub(super) abbreviations: HashSet<&'static str>,
    /// Words between which a full stop ends no sentence.
    pub(super) collocations: HashSet<(&'static str, &'static str)>,
    pub(super) starters: HashSet<&'static str>,
    contexts: HashMap<&'static str, Contexts>,
}

impl Parameters {
    /// The English model; parsed once.
    pub(super) fn english() -> &'static Self {
        static PARAMETERS: LazyLock<Parameters> = LazyLock::new(|| Parameters {
            abbreviations: section("abbreviations").collect(),
            collocations: section("collocations").filter_map(|line| line.split_once('\t')).collect(),
            starters: section("sentence_starters").collect(),
            contexts: section("orthography")
                .filter_map(|line| line.split_once('\t'))
                .map(|(word, contexts)| (word, Contexts(contexts.parse().unwrap_or(0))))
                .collect(),
        });
        &PARAMETERS
    }

    pub(super) fn contexts_of(&self, word: &str) -> Contexts {
        self.contexts.get(word).copied().unwrap_or_default()
    }
}

/// The lines of a section: it begins with its name and ends at an empty line.
fn section(name: &str) -> impl Iterator<Item = &'static str> {
    let lines = ENGLISH.split("\n\n").find_map(|section| section.strip_prefix(name)?.strip_prefix('\n'));
    lines.unwrap_or_default().split('\n').filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_whole() {
        let english = Parameters::english();
        let sizes = [english.abbreviations.len(), english.collocations.len(), english.starters.len()];
        assert_eq!((sizes, english.contexts.len()), ([156, 37, 39], 20_366));
        assert!(english.contexts.values().all(|contexts| contexts.0 != 0), "every number was read");
    }

    #[test]
    fn words_are_known_with_what_was_learned_of_them() {
        let english = Parameters::english();
        assert!(["dr", "u.s"].iter().all(|word| english.abbreviations.contains(word)));
        assert!(english.abbreviations.contains(". . "), "the blank at the end belongs to it");
        assert!(english.collocations.contains(&("##number##", "international")));
        // coverage: 36 = 4 + 32, seen inside sentences in both cases.
        let coverage = english.contexts_of("coverage");
        assert!(coverage.upper_within() && coverage.lower() && coverage.upper() && !coverage.lower_at_beginning());
        assert_eq!(english.contexts_of("zzz"), Contexts(0));
    }
}
