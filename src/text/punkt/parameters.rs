//! What Punkt learned of English: abbreviations, collocations, sentence starters, orthographic contexts.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// NLTK's English parameters (`punkt_tab/english`), sorted; origin and licence are told in `NOTICE`.
const ENGLISH: &str = include_str!("english.tsv");

/// Seen with a capital inside a sentence.
const MIDDLE_UPPER: u8 = 1 << 2;
/// Seen in lower case at the beginning of a sentence.
const BEGIN_LOWER: u8 = 1 << 4;
/// Seen with a capital: at the beginning (2), inside (4), somewhere unknown (8).
const UPPER: u8 = 2 | 4 | 8;
/// Seen in lower case: at the beginning (16), inside (32), somewhere unknown (64).
const LOWER: u8 = 16 | 32 | 64;

/// The orthographic contexts in which a word type was seen; empty for an unknown one.
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

/// A trained model.
#[derive(Debug, Default)]
pub(super) struct Parameters {
    abbreviations: HashSet<&'static str>,
    longest_abbreviation: usize,
    collocations: HashMap<&'static str, HashSet<&'static str>>,
    longest_collocation: usize,
    starters: HashSet<&'static str>,
    contexts: HashMap<&'static str, Contexts>,
}

impl Parameters {
    /// The English model; read once.
    pub(super) fn english() -> &'static Self {
        static PARAMETERS: LazyLock<Parameters> = LazyLock::new(|| Parameters::parse(ENGLISH));
        &PARAMETERS
    }

    /// Sections are separated by an empty line and begin with their name.
    fn parse(text: &'static str) -> Self {
        let mut parameters = Self { contexts: HashMap::with_capacity(20_480), ..Self::default() };
        for section in text.split("\n\n") {
            let (name, lines) = section.split_once('\n').unwrap_or((section, ""));
            for line in lines.split('\n').filter(|line| !line.is_empty()) {
                parameters.add(name, line);
            }
        }
        parameters
    }

    fn add(&mut self, section: &str, line: &'static str) {
        match (section, line.split_once('\t')) {
            ("abbreviations", _) => {
                self.abbreviations.insert(line);
                self.longest_abbreviation = self.longest_abbreviation.max(line.len());
            }
            ("collocations", Some((first, second))) => {
                self.collocations.entry(first).or_default().insert(second);
                self.longest_collocation = self.longest_collocation.max(first.len());
            }
            ("sentence_starters", _) => {
                self.starters.insert(line);
            }
            (_, Some((word, contexts))) => {
                self.contexts.insert(word, Contexts(contexts.parse().unwrap_or(0)));
            }
            (_, None) => {}
        }
    }

    /// Whether a lower-cased word without its full stop is an abbreviation.
    pub(super) fn is_abbreviation(&self, word: &str) -> bool {
        word.len() <= self.longest_abbreviation && self.abbreviations.contains(word)
    }

    /// The words that may follow `first` within a sentence in spite of the full stop between them.
    pub(super) fn collocates_of(&self, first: &str) -> Option<&HashSet<&'static str>> {
        if first.len() > self.longest_collocation {
            return None;
        }
        self.collocations.get(first)
    }

    pub(super) fn is_starter(&self, word: &str) -> bool {
        self.starters.contains(word)
    }

    pub(super) fn contexts_of(&self, word: &str) -> Contexts {
        self.contexts.get(word).copied().unwrap_or_default()
    }

    /// No longer word is an abbreviation (bytes).
    pub(super) fn longest_abbreviation(&self) -> usize {
        self.longest_abbreviation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_whole() {
        let english = Parameters::english();
        let collocations: usize = english.collocations.values().map(HashSet::len).sum();
        let sizes = (english.abbreviations.len(), collocations, english.starters.len(), english.contexts.len());
        assert_eq!(sizes, (156, 37, 39, 20_366));
        assert!(english.contexts.values().all(|contexts| contexts.0 != 0), "every number was read");
    }

    #[test]
    fn what_was_learned_can_be_asked() {
        let english = Parameters::english();
        assert!(english.is_abbreviation("dr") && english.is_abbreviation("u.s") && !english.is_abbreviation("fig"));
        assert!(english.is_abbreviation(". . "), "the blank at the end belongs to it");
        assert!(english.collocates_of("##number##").is_some_and(|words| words.contains("international")));
        assert!(english.is_starter("however") && !english.is_starter("cat"));
        // coverage: 36 = 4 + 32, seen inside sentences in both cases.
        let coverage = english.contexts_of("coverage");
        assert!(coverage.upper_within() && coverage.lower() && coverage.upper() && !coverage.lower_at_beginning());
        assert_eq!(english.contexts_of("zzz"), Contexts(0));
    }
}
