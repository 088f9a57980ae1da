//! Porter's stemmer in NLTK's extended mode, as in Google's `rouge_score`, with a cache.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use nltk_porter::{Mode, PorterStemmer};

static PORTER: LazyLock<PorterStemmer> = LazyLock::new(|| PorterStemmer::new(Mode::Nltk));

/// Maximum number of cached words; a benchmark has about 40,000.
const REMEMBERED: usize = 200_000;
/// Maximum word length in bytes: longer ones are data, on which the stemmer may take quadratic time.
const LONGEST_WORD: usize = 1_000;

/// A stemmer with a cache; may be shared between threads.
#[derive(Debug, Default)]
pub struct Stems {
    known: RwLock<HashMap<Box<str>, Arc<str>>>,
}

impl Stems {
    /// Stem of a lower-cased word; words of at most three characters or over 1,000 bytes are unchanged.
    pub fn stem(&self, word: &str) -> Arc<str> {
        // Google's tokenizer stems only words of more than three characters.
        if word.chars().nth(3).is_none() || word.len() > LONGEST_WORD {
            return word.into();
        }
        if let Some(stem) = self
            .known
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(word)
        {
            return Arc::clone(stem);
        }
        let stem: Arc<str> = PORTER.stem(word).into();
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        // Full, it stays as it is: throwing words out would cost more than stemming rare ones
        // again.
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
        let stems = Stems::default();
        for (word, stem) in [
            ("relational", "relat"),
            ("citations", "citat"),
            ("dying", "die"),
            ("was", "was"),
            ("ties", "tie"),
        ] {
            assert_eq!(&*stems.stem(word), stem);
            assert_eq!(&*stems.stem(word), stem, "from memory");
        }
    }

    #[test]
    fn long_words_are_stemmed_and_data_is_not() {
        let long = "x".repeat(100);
        assert_eq!(&*Stems::default().stem(&format!("{long}s")), long);
        // Quadratic work would take many minutes.
        let data = "y".repeat(1_000_000);
        assert_eq!(&*Stems::default().stem(&data), data);
    }

    proptest! {
        #[test]
        fn no_word_makes_it_panic(word in "\\PC{0,80}") {
            Stems::default().stem(&word);
        }
    }
}
