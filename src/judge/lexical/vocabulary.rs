//! Words to stems, and how rare they are.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::text::stems::Stems;
use crate::text::tokens::tokens;

/// Articles, prepositions, conjunctions, pronouns, auxiliaries; sorted, to be searched by halving.
const STOP_WORDS: [&str; 119] = [
    "a", "about", "after", "all", "also", "although", "an", "and", "any", "are", "as", "at", "be", "because", "been",
    "before", "being", "both", "but", "by", "can", "could", "did", "do", "does", "doing", "done", "during", "each",
    "either", "etc", "every", "few", "for", "from", "had", "has", "have", "having", "he", "her", "here", "him", "his",
    "how", "however", "i", "if", "in", "into", "is", "it", "its", "itself", "just", "may", "me", "might", "more",
    "most", "much", "must", "my", "no", "nor", "not", "of", "on", "only", "or", "other", "our", "out", "over", "own",
    "same", "she", "should", "since", "so", "some", "such", "than", "that", "the", "their", "them", "then", "there",
    "these", "they", "this", "those", "through", "thus", "to", "too", "under", "until", "up", "upon", "us", "very",
    "was", "we", "were", "what", "when", "where", "which", "while", "who", "whose", "why", "will", "with", "would",
    "you", "your",
];

/// True for a lower-cased word without content.
fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// Gives each stem a weight.
#[derive(Default)]
pub(super) struct Vocabulary {
    stems: Stems,
    documents: f64,
    document_counts: HashMap<Arc<str>, f64>,
}

impl Vocabulary {
    /// The stem of a lower-cased word; `None` for a word without content.
    pub(super) fn stem(&self, word: &str) -> Option<Arc<str>> {
        (!is_stop_word(word)).then(|| self.stems.stem(word))
    }

    /// The stems of a text's content words, each once, in order.
    pub(super) fn distinct_stems(&self, text: &str) -> Vec<Arc<str>> {
        let mut seen = HashSet::new();
        let stems = tokens(text).into_iter().filter_map(|token| self.stem(&token.text));
        stems.filter(|stem| seen.insert(Arc::clone(stem))).collect()
    }

    /// Counts in how many documents each stem stands; a document is a list of distinct stems.
    pub(super) fn count_documents<'a>(&mut self, documents: impl Iterator<Item = &'a Vec<Arc<str>>>) {
        for document in documents {
            self.documents += 1.0;
            for stem in document {
                *self.document_counts.entry(Arc::clone(stem)).or_default() += 1.0;
            }
        }
    }

    /// `ln(1 + (1 + N) / (1 + df))`: above 0 for every word, highest for words no document has.
    pub(super) fn weight(&self, stem: &str) -> f64 {
        let with_it = self.document_counts.get(stem).copied().unwrap_or_default();
        ((1.0 + self.documents) / (1.0 + with_it)).ln_1p()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_every_word_of_it_is_found() {
        assert!(STOP_WORDS.is_sorted());
        assert!(STOP_WORDS.iter().all(|word| is_stop_word(word)));
        assert!(!is_stop_word("matter"));
    }

    #[test]
    fn forms_of_a_word_share_a_stem_and_stop_words_have_none() {
        let vocabulary = Vocabulary::default();
        assert_eq!(vocabulary.stem("citations"), vocabulary.stem("citation"));
        assert_ne!(vocabulary.stem("citation"), vocabulary.stem("station"));
        assert_eq!(vocabulary.stem("the"), None);
        assert_eq!(vocabulary.distinct_stems("The citation, of citations!").len(), 1);
    }

    #[test]
    fn rare_words_weigh_more_than_common_ones() {
        let mut vocabulary = Vocabulary::default();
        let document = |stems: &[&str]| stems.iter().map(|stem| Arc::from(*stem)).collect::<Vec<Arc<str>>>();
        vocabulary.count_documents([document(&["a", "b"]), document(&["a"]), document(&["a"])].iter());
        // N = 3: df 3 gives ln(1 + 4/4), df 1 gives ln(1 + 4/2), df 0 gives ln(1 + 4/1).
        for (stem, expected) in [("a", 2.0_f64), ("b", 3.0), ("c", 5.0)] {
            assert!((vocabulary.weight(stem) - expected.ln()).abs() < 1e-12);
        }
    }

    #[test]
    fn without_documents_all_words_weigh_the_same_and_something() {
        assert!((Vocabulary::default().weight("x") - 2.0_f64.ln()).abs() < 1e-12);
    }
}
