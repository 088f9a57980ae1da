//! How rare words are, where those of an answer stand, and how much of a query its windows cover.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use scholareval_core::text::stems::Stems;
use scholareval_core::text::tokens::{is_stop_word, tokens};

/// Minimum length of a long word, in characters.
pub(super) const LONG_WORD: usize = 9;

/// Gives each stem a weight.
#[derive(Default)]
pub(super) struct Vocabulary {
    stems: Stems,
    documents: f64,
    document_counts: HashMap<Arc<str>, f64>,
}

impl Vocabulary {
    /// The stem of a lower-cased word; `None` for a word without content.
    fn stem(&self, word: &str) -> Option<Arc<str>> {
        (!is_stop_word(word)).then(|| self.stems.stem(word))
    }

    /// The stems of a text's content words, each once, in order.
    fn distinct_stems(&self, text: &str) -> Vec<Arc<str>> {
        let mut seen = HashSet::new();
        let stems = tokens(text).filter_map(|token| self.stem(&token));
        stems.filter(|stem| seen.insert(Arc::clone(stem))).collect()
    }

    /// Counts one more document of the corpus.
    pub(super) fn count_document(&mut self, text: &str) {
        self.documents += 1.0;
        for stem in self.distinct_stems(text) {
            *self.document_counts.entry(stem).or_default() += 1.0;
        }
    }

    /// `ln(1 + (1 + N) / (1 + df))`: above 0 for every word, highest for words no document has.
    fn weight(&self, stem: &str) -> f64 {
        let with_it = self.document_counts.get(stem).copied().unwrap_or_default();
        // Smoothed, so that with a single document no word weighs 0 and nothing is divided by 0.
        ((1.0 + self.documents) / (1.0 + with_it)).ln_1p()
    }
}

/// An answer, tokenized and stemmed.
pub(super) struct Index {
    /// Positions among the content words, ascending, by stem.
    positions: HashMap<Arc<str>, Vec<u32>>,
    pub(super) content_words: u32,
    pub(super) long_words: u32,
}

impl Index {
    pub(super) fn new(text: &str, vocabulary: &Vocabulary) -> Self {
        let mut index = Self {
            positions: HashMap::new(),
            content_words: 0,
            long_words: 0,
        };
        for token in tokens(text) {
            let Some(stem) = vocabulary.stem(&token) else {
                continue;
            };
            index
                .positions
                .entry(stem)
                .or_default()
                .push(index.content_words);
            index.content_words = index.content_words.saturating_add(1);
            index.long_words += u32::from(token.chars().count() >= LONG_WORD);
        }
        index
    }
}

/// The distinct content words of a criterion or snippet with their weights.
pub(super) struct Query {
    words: Vec<(Arc<str>, f64)>,
}

impl Query {
    pub(super) fn new(text: &str, vocabulary: &Vocabulary) -> Self {
        let stems = vocabulary.distinct_stems(text).into_iter();
        Self {
            words: stems
                .map(|stem| (Arc::clone(&stem), vocabulary.weight(&stem)))
                .collect(),
        }
    }

    pub(super) fn word_count(&self) -> u32 {
        u32::try_from(self.words.len()).unwrap_or(u32::MAX)
    }
}

/// Position of an occurrence of a query's word, and which word it is.
type Hit = (u32, usize);

/// The covered share of the query's weight, 0..=1; 0 for a query without content words. Windows have `width` content
/// words; windows after the best one earn these shares of what they add.
pub(super) fn coverage(query: &Query, index: &Index, width: u32, later_windows: &[f64]) -> f64 {
    let total: f64 = query.words.iter().map(|(_, weight)| weight).sum();
    if total <= 0.0 {
        return 0.0;
    }
    let mut hits: Vec<Hit> = Vec::new();
    for (word, (key, _)) in query.words.iter().enumerate() {
        let positions = index.positions.get(&**key).map_or(&[][..], Vec::as_slice);
        hits.extend(positions.iter().map(|position| (*position, word)));
    }
    hits.sort_unstable_by_key(|(position, _)| *position);
    let mut covered = 0.0;
    for earns in [1.0].iter().chain(later_windows) {
        let words = best_window(query, &hits, width);
        if words.is_empty() {
            break;
        }
        covered += earns * words.iter().map(|word| query.words[*word].1).sum::<f64>();
        // A word earns once: an answer that repeats itself covers no more of the criterion.
        hits.retain(|(_, word)| !words.contains(word));
    }
    (covered / total).min(1.0)
}

/// The words of the window with the greatest weight; of equal ones the first.
fn best_window(query: &Query, hits: &[Hit], width: u32) -> Vec<usize> {
    let mut inside = vec![0_u32; query.words.len()];
    let (mut left, mut weight) = (0, 0.0);
    let (mut best, mut best_range) = (0.0, 0..0);
    for (right, (position, word)) in hits.iter().enumerate() {
        inside[*word] += 1;
        if inside[*word] == 1 {
            weight += query.words[*word].1;
        }
        while position - hits[left].0 >= width {
            let word = hits[left].1;
            inside[word] -= 1;
            if inside[word] == 0 {
                weight -= query.words[word].1;
            }
            left += 1;
        }
        // More than rounding: sums that come and go are off by the last digits.
        if weight > best + 1e-9 {
            (best, best_range) = (weight, left..right + 1);
        }
    }
    let mut words: Vec<usize> = hits[best_range].iter().map(|(_, word)| *word).collect();
    words.sort_unstable();
    words.dedup();
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coverage(query: &str, answer: &str, width: u32, later_windows: &[f64]) -> f64 {
        let vocabulary = Vocabulary::default();
        let query = Query::new(query, &vocabulary);
        super::coverage(
            &query,
            &Index::new(answer, &vocabulary),
            width,
            later_windows,
        )
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn coverage_is_the_share_of_words_in_the_best_window() {
        // Without documents all words weigh the same: 2 of 4.
        assert!(close(
            coverage("red green blue black", "a red or green thing", 10, &[]),
            0.5
        ));
        assert!(close(coverage("red green", "green and red", 10, &[]), 1.0));
        assert!(close(coverage("red green", "nothing here", 10, &[]), 0.0));
    }

    #[test]
    fn words_apart_are_not_in_one_window_but_later_windows_earn_their_share() {
        // Window of 2 content words: red | x y z | green. Second window adds 1 of 2 words at 0.7.
        let answer = "red xx yy zz green";
        assert!(close(coverage("red green", answer, 2, &[]), 0.5));
        assert!(close(
            coverage("red green", answer, 2, &[0.7]),
            0.5 + 0.7 * 0.5
        ));
        assert!(close(coverage("red green", answer, 5, &[0.7]), 1.0));
    }

    #[test]
    fn repeating_a_word_earns_nothing_more() {
        assert!(close(
            coverage("red green", "red red red", 10, &[0.7, 0.5]),
            0.5
        ));
    }

    #[test]
    fn a_query_without_content_words_is_covered_by_nothing() {
        assert!(close(coverage("the of, and!", "the of and", 10, &[]), 0.0));
    }

    #[test]
    fn forms_of_a_word_share_a_stem_and_stop_words_have_none() {
        let vocabulary = Vocabulary::default();
        assert_eq!(vocabulary.stem("citations"), vocabulary.stem("citation"));
        assert_ne!(vocabulary.stem("citation"), vocabulary.stem("station"));
        assert_eq!(vocabulary.stem("the"), None);
        assert_eq!(
            vocabulary
                .distinct_stems("The citation, of citations!")
                .len(),
            1
        );
    }

    #[test]
    fn rare_words_weigh_more_than_common_ones() {
        let mut vocabulary = Vocabulary::default();
        ["cat bird", "cat", "cat"]
            .into_iter()
            .for_each(|document| vocabulary.count_document(document));
        // N = 3: df 3 gives ln(1 + 4/4), df 1 gives ln(1 + 4/2), df 0 gives ln(1 + 4/1).
        for (stem, expected) in [("cat", 2.0_f64), ("bird", 3.0), ("dog", 5.0)] {
            assert!((vocabulary.weight(stem) - expected.ln()).abs() < 1e-12);
        }
    }

    #[test]
    fn without_documents_all_words_weigh_the_same_and_something() {
        assert!((Vocabulary::default().weight("x") - 2.0_f64.ln()).abs() < 1e-12);
    }
}
