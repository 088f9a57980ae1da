//! Porter's stemmer in NLTK's extended mode, as google's `rouge_score` uses it, with a memory.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use nltk_porter::{Mode, PorterStemmer};

/// Words of at most so many characters stay as they are.
const LONGEST_UNSTEMMED: usize = 3;
/// Longer words are no words (encoded data, addresses); stemming them is wasted and stays out of the memory.
const LONGEST_STEMMED: usize = 64;
/// So many words are remembered; the language of one benchmark has about 40,000.
const REMEMBERED: usize = 200_000;

/// A stemmer that remembers what it has stemmed: the algorithm is slow, and words repeat.
///
/// May be shared between threads.
pub struct Stems {
    stemmer: PorterStemmer,
    known: RwLock<HashMap<Box<str>, Arc<str>>>,
}

impl Default for Stems {
    fn default() -> Self {
        Self { stemmer: PorterStemmer::new(Mode::Nltk), known: RwLock::default() }
    }
}

impl fmt::Debug for Stems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stems").finish_non_exhaustive()
    }
}

impl Stems {
    /// A stemmer that remembers nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The stem of a lower-cased word; words of at most three characters are their own stem.
    pub fn stem(&self, word: &str) -> Arc<str> {
        let length = word.chars().count();
        if length <= LONGEST_UNSTEMMED || length > LONGEST_STEMMED {
            return word.into();
        }
        if let Some(stem) = self.known.read().unwrap_or_else(PoisonError::into_inner).get(word) {
            return Arc::clone(stem);
        }
        let stem: Arc<str> = self.stemmer.stem(word).into();
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() < REMEMBERED {
            known.insert(word.into(), Arc::clone(&stem));
        }
        stem
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn stems_are_nltks_and_short_words_stay() {
        let stems = Stems::new();
        for (word, stem) in
            [("relational", "relat"), ("citations", "citat"), ("dying", "die"), ("was", "was"), ("ties", "tie")]
        {
            assert_eq!(&*stems.stem(word), stem);
            assert_eq!(&*stems.stem(word), stem, "from memory");
        }
    }

    proptest! {
        #[test]
        fn no_word_makes_it_panic(word in "\\PC{0,80}") {
            Stems::new().stem(&word);
        }
    }
}
