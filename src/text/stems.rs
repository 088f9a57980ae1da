//! Porter's stemmer in NLTK's extended mode, as google's `rouge_score` uses it, with a memory.

mod porter;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// So many words are remembered; the language of one benchmark has about 40,000.
const REMEMBERED: usize = 200_000;
/// Longer words (encoded data, addresses) are not remembered.
const LONGEST_REMEMBERED: usize = 64;
/// Words of at most so many characters stay as they are.
const LONGEST_UNSTEMMED: usize = 3;

/// A stemmer that remembers what it has stemmed, for words repeat. May be shared between threads.
#[derive(Debug, Default)]
pub struct Stems {
    known: RwLock<HashMap<Box<str>, Arc<str>>>,
}

impl Stems {
    /// A stemmer that remembers nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The stem of a lower-cased word; words of at most three characters are their own stem.
    pub fn stem(&self, word: &str) -> Arc<str> {
        if word.chars().nth(LONGEST_UNSTEMMED).is_none() {
            return word.into();
        }
        if let Some(stem) = self.known.read().unwrap_or_else(PoisonError::into_inner).get(word) {
            return Arc::clone(stem);
        }
        let stem: Arc<str> = porter::stem(word).into();
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() < REMEMBERED && word.len() <= LONGEST_REMEMBERED {
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

    #[test]
    fn words_of_any_length_are_stemmed() {
        let long = "x".repeat(100);
        assert_eq!(&*Stems::new().stem(&format!("{long}s")), long);
    }

    proptest! {
        #[test]
        fn no_word_makes_it_panic(word in "\\PC{0,80}") {
            Stems::new().stem(&word);
        }
    }
}
