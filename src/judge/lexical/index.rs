//! Where the content words of an answer stand, and how much of a query its windows cover.

use std::collections::HashMap;
use std::sync::Arc;

use super::vocabulary::Vocabulary;
use crate::text::tokens::tokens;

/// Words of at least so many characters count as demanding.
pub(super) const LONG_WORD: usize = 9;

/// An answer, tokenised and stemmed.
pub(super) struct Index {
    /// Positions among the content words, ascending, by stem.
    positions: HashMap<Arc<str>, Vec<u32>>,
    pub(super) content_words: u32,
    pub(super) long_words: u32,
}

impl Index {
    pub(super) fn new(text: &str, vocabulary: &Vocabulary) -> Self {
        let mut index = Self { positions: HashMap::new(), content_words: 0, long_words: 0 };
        for token in tokens(text) {
            let Some(stem) = vocabulary.stem(&token.text) else { continue };
            index.positions.entry(stem).or_default().push(index.content_words);
            index.content_words = index.content_words.saturating_add(1);
            index.long_words += u32::from(token.text.chars().count() >= LONG_WORD);
        }
        index
    }
}

/// The distinct content words of a criterion or snippet with their weights.
pub(super) struct Query {
    words: Vec<(Arc<str>, f64)>,
}

impl Query {
    pub(super) fn new(distinct: Vec<Arc<str>>, vocabulary: &Vocabulary) -> Self {
        let weighted = |stem: Arc<str>| {
            let weight = vocabulary.weight(&stem);
            (stem, weight)
        };
        Self { words: distinct.into_iter().map(weighted).collect() }
    }

    pub(super) fn word_count(&self) -> u32 {
        u32::try_from(self.words.len()).unwrap_or(u32::MAX)
    }
}

/// How coverage is measured.
pub(super) struct Coverage<'a> {
    /// Content words of a window.
    pub(super) width: u32,
    /// What further windows earn of what they add.
    pub(super) later_windows: &'a [f64],
}

/// An occurrence of a query's word.
#[derive(Clone, Copy)]
struct Hit {
    position: u32,
    word: usize,
}

impl Coverage<'_> {
    /// The covered share of the query's weight, 0..=1; 0 for a query without content words.
    pub(super) fn of(&self, query: &Query, index: &Index) -> f64 {
        let total: f64 = query.words.iter().map(|(_, weight)| weight).sum();
        if total <= 0.0 {
            return 0.0;
        }
        let mut hits: Vec<Hit> = Vec::new();
        for (word, (key, _)) in query.words.iter().enumerate() {
            let positions = index.positions.get(&**key).map_or(&[][..], Vec::as_slice);
            hits.extend(positions.iter().map(|position| Hit { position: *position, word }));
        }
        hits.sort_unstable_by_key(|hit| hit.position);
        let mut covered = 0.0;
        for earns in [1.0].iter().chain(self.later_windows) {
            let words = self.best_window(query, &hits);
            if words.is_empty() {
                break;
            }
            covered += earns * words.iter().map(|word| query.words[*word].1).sum::<f64>();
            hits.retain(|hit| !words.contains(&hit.word));
        }
        (covered / total).min(1.0)
    }

    /// The words of the window with the greatest weight; of equal ones the first.
    fn best_window(&self, query: &Query, hits: &[Hit]) -> Vec<usize> {
        let mut inside = vec![0_u32; query.words.len()];
        let (mut left, mut weight) = (0, 0.0);
        let (mut best, mut best_range) = (0.0, 0..0);
        for (right, hit) in hits.iter().enumerate() {
            inside[hit.word] += 1;
            if inside[hit.word] == 1 {
                weight += query.words[hit.word].1;
            }
            while hit.position - hits[left].position >= self.width {
                let word = hits[left].word;
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
        let mut words: Vec<usize> = hits[best_range].iter().map(|hit| hit.word).collect();
        words.sort_unstable();
        words.dedup();
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coverage(query: &str, answer: &str, width: u32, later_windows: &[f64]) -> f64 {
        let vocabulary = Vocabulary::default();
        let query = Query::new(vocabulary.distinct_stems(query), &vocabulary);
        Coverage { width, later_windows }.of(&query, &Index::new(answer, &vocabulary))
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn coverage_is_the_share_of_words_in_the_best_window() {
        // Without documents all words weigh the same: 2 of 4.
        assert!(close(coverage("red green blue black", "a red or green thing", 10, &[]), 0.5));
        assert!(close(coverage("red green", "green and red", 10, &[]), 1.0));
        assert!(close(coverage("red green", "nothing here", 10, &[]), 0.0));
    }

    #[test]
    fn words_apart_are_not_in_one_window_but_later_windows_earn_their_share() {
        // Window of 2 content words: red | x y z | green. Second window adds 1 of 2 words at 0.7.
        let answer = "red xx yy zz green";
        assert!(close(coverage("red green", answer, 2, &[]), 0.5));
        assert!(close(coverage("red green", answer, 2, &[0.7]), 0.5 + 0.7 * 0.5));
        assert!(close(coverage("red green", answer, 5, &[0.7]), 1.0));
    }

    #[test]
    fn repeating_a_word_earns_nothing_more() {
        assert!(close(coverage("red green", "red red red", 10, &[0.7, 0.5]), 0.5));
    }

    #[test]
    fn a_query_without_content_words_is_covered_by_nothing() {
        assert!(close(coverage("the of, and!", "the of and", 10, &[]), 0.0));
    }
}
