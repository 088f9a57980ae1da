//! Words to keys, and how rare they are.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use crate::text::stems::Stems;
use crate::text::tokens::tokens;

use super::stop_words::is_stop_word;

/// So many words are remembered with their keys.
const REMEMBERED: usize = 200_000;

/// Gives each stem a key of 64 bits (a hash: the same in every run) and a weight.
#[derive(Default)]
pub(super) struct Vocabulary {
    stems: Stems,
    keys: RwLock<HashMap<Box<str>, Option<u64>>>,
    documents: f64,
    document_counts: HashMap<u64, f64>,
}

impl Vocabulary {
    /// The key of a lower-cased word's stem; `None` for a word without content.
    pub(super) fn key(&self, word: &str) -> Option<u64> {
        if let Some(key) = self.keys.read().unwrap_or_else(PoisonError::into_inner).get(word) {
            return *key;
        }
        let key = (!is_stop_word(word)).then(|| {
            let hash = blake3::hash(self.stems.stem(word).as_bytes());
            hash.as_bytes().iter().take(8).fold(0_u64, |key, byte| key << 8 | u64::from(*byte))
        });
        let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        if keys.len() < REMEMBERED {
            keys.insert(word.into(), key);
        }
        key
    }

    /// The keys of a text's content words, in order.
    pub(super) fn content_keys(&self, text: &str) -> Vec<u64> {
        tokens(text).iter().filter_map(|token| self.key(&token.text)).collect()
    }

    /// Learns how many documents hold each key; a document is a list of distinct keys.
    pub(super) fn count_documents<'a>(&mut self, documents: impl Iterator<Item = &'a Vec<u64>>) {
        for document in documents {
            self.documents += 1.0;
            for key in document {
                *self.document_counts.entry(*key).or_default() += 1.0;
            }
        }
    }

    /// `ln(1 + (1 + N) / (1 + df))`: above 0 for every word, highest for words no document has.
    pub(super) fn weight(&self, key: u64) -> f64 {
        let with_it = self.document_counts.get(&key).copied().unwrap_or_default();
        ((1.0 + self.documents) / (1.0 + with_it)).ln_1p()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_share_a_key_and_stop_words_have_none() {
        let vocabulary = Vocabulary::default();
        assert_eq!(vocabulary.key("citations"), vocabulary.key("citation"));
        assert_ne!(vocabulary.key("citation"), vocabulary.key("station"));
        assert_eq!(vocabulary.key("the"), None);
        assert_eq!(vocabulary.content_keys("The citation, of citations!").len(), 2);
    }

    #[test]
    fn rare_words_weigh_more_than_common_ones() {
        let mut vocabulary = Vocabulary::default();
        vocabulary.count_documents([vec![1, 2], vec![1], vec![1]].iter());
        // N = 3: df 3 gives ln(1 + 4/4), df 1 gives ln(1 + 4/2), df 0 gives ln(1 + 4/1).
        let expected = [2.0_f64.ln(), 3.0_f64.ln(), 5.0_f64.ln()];
        for (key, expected) in [1, 2, 3].into_iter().zip(expected) {
            assert!((vocabulary.weight(key) - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn without_documents_all_words_weigh_the_same_and_something() {
        assert!((Vocabulary::default().weight(7) - 2.0_f64.ln()).abs() < 1e-12);
    }
}
