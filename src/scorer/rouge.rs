//! ROUGE-1, ROUGE-2 and ROUGE-L, as google's `rouge_score` 0.1.2 computes them with stemming.
//!
//! C.-Y. Lin: *ROUGE: A Package for Automatic Evaluation of Summaries* (2004). With m the shared n-grams (each counted
//! as often as the text that has it less often), or for L the length of a longest common subsequence of tokens:
//!
//!     precision = m / n-grams of the hypothesis     recall = m / n-grams of the reference
//!     f = 2 precision recall / (precision + recall)
//!
//! all in 0..=1, and 0 where nothing can be divided. Line breaks and sentences do not matter for L.

mod common;

use std::collections::HashMap;
use std::sync::Arc;

pub use common::{common_subsequence, longest_common_subsequence};

use crate::text::stems::Stems;

/// One ROUGE measure of a hypothesis against a reference, each number in 0..=1.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RougeScore {
    /// The share of the hypothesis that the reference has.
    pub precision: f64,
    /// The share of the reference that the hypothesis has.
    pub recall: f64,
    /// The harmonic mean of the two.
    pub f: f64,
}

impl RougeScore {
    /// The three numbers from counts.
    fn from_counts(shared: usize, reference: usize, hypothesis: usize) -> Self {
        let precision = shared as f64 / hypothesis.max(1) as f64;
        let recall = shared as f64 / reference.max(1) as f64;
        let sum = precision + recall;
        let f = if sum > 0.0 { 2.0 * precision * recall / sum } else { 0.0 };
        Self { precision, recall, f }
    }
}

/// The three measures of one pair of texts.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RougeScores {
    /// Single tokens.
    pub rouge_1: RougeScore,
    /// Pairs of neighbouring tokens.
    pub rouge_2: RougeScore,
    /// The longest common subsequence of tokens.
    pub rouge_l: RougeScore,
}

/// The tokens of a text: lower-cased runs of `[a-z0-9]`, those of more than three characters stemmed.
pub fn rouge_tokens(text: &str, stems: &Stems) -> Vec<Arc<str>> {
    let lower = text.to_lowercase();
    plain_words(&lower).map(|word| stems.stem(word)).filter(|stem| !stem.is_empty()).collect()
}

fn plain_words(lower: &str) -> impl Iterator<Item = &str> {
    lower.split(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit())).filter(|word| !word.is_empty())
}

/// All three measures of a hypothesis against one reference.
///
/// ```
/// use scholareval::scorer::rouge::rouge;
/// use scholareval::text::stems::Stems;
///
/// // Tokens "the cat sat" and "the cat": 2 shared of 2 and of 3; of the pairs 1 of 1 and of 2.
/// let scores = rouge("The cat sat.", "the cats", &Stems::new());
/// assert_eq!((scores.rouge_1.precision, scores.rouge_1.recall), (1.0, 2.0 / 3.0));
/// assert_eq!((scores.rouge_2.precision, scores.rouge_2.recall), (1.0, 0.5));
/// ```
pub fn rouge(reference: &str, hypothesis: &str, stems: &Stems) -> RougeScores {
    let mut vocabulary = Vocabulary::new(stems);
    let reference = vocabulary.numbered(reference);
    let hypothesis = vocabulary.numbered(hypothesis);
    scores_of(&reference, &hypothesis)
}

/// All three measures against the reference with the greater F of ROUGE-L; of equal ones the last. Its index comes
/// with them. `None` without a reference.
pub fn rouge_best(references: &[&str], hypothesis: &str, stems: &Stems) -> Option<(usize, RougeScores)> {
    let mut vocabulary = Vocabulary::new(stems);
    let hypothesis = vocabulary.numbered(hypothesis);
    let mut best: Option<(usize, RougeScores)> = None;
    for (at, reference) in references.iter().enumerate() {
        let scores = scores_of(&vocabulary.numbered(reference), &hypothesis);
        if best.is_none_or(|(_, so_far)| scores.rouge_l.f >= so_far.rouge_l.f) {
            best = Some((at, scores));
        }
    }
    best
}

/// ROUGE-N over tokens, numbered or not; all 0 where a text has fewer than `n` tokens, or for `n` = 0.
pub fn rouge_n<T: Ord>(reference: &[T], hypothesis: &[T], n: usize) -> RougeScore {
    if n == 0 {
        return RougeScore::default();
    }
    let (reference, hypothesis) = (sorted_ngrams(reference, n), sorted_ngrams(hypothesis, n));
    RougeScore::from_counts(shared(&reference, &hypothesis).len(), reference.len(), hypothesis.len())
}

/// ROUGE-L over numbered tokens: equal numbers are equal tokens.
pub fn rouge_l(reference: &[u32], hypothesis: &[u32]) -> RougeScore {
    let length = longest_common_subsequence(reference, hypothesis);
    RougeScore::from_counts(length, reference.len(), hypothesis.len())
}

/// The n-grams that both texts have, sorted, each as often as it counts for ROUGE-N. None for `n` = 0.
pub fn shared_ngrams<'a, T: Ord>(reference: &'a [T], hypothesis: &'a [T], n: usize) -> Vec<&'a [T]> {
    if n == 0 {
        return Vec::new();
    }
    shared(&sorted_ngrams(reference, n), &sorted_ngrams(hypothesis, n))
}

fn sorted_ngrams<T: Ord>(tokens: &[T], n: usize) -> Vec<&[T]> {
    let mut ngrams: Vec<&[T]> = tokens.windows(n).collect();
    ngrams.sort_unstable();
    ngrams
}

/// What two sorted lists share, counted as often as the list that has it less often.
fn shared<T: Ord + Copy>(left: &[T], right: &[T]) -> Vec<T> {
    let mut shared = Vec::new();
    let (mut l, mut r) = (0, 0);
    while let (Some(a), Some(b)) = (left.get(l), right.get(r)) {
        match a.cmp(b) {
            std::cmp::Ordering::Less => l += 1,
            std::cmp::Ordering::Greater => r += 1,
            std::cmp::Ordering::Equal => {
                shared.push(*a);
                l += 1;
                r += 1;
            }
        }
    }
    shared
}

fn scores_of(reference: &[u32], hypothesis: &[u32]) -> RougeScores {
    let pairs = |tokens: &[u32]| {
        let joined = |pair: &[u32]| pair.iter().fold(0, |joined, token| joined << 32 | u64::from(*token));
        let mut pairs: Vec<u64> = tokens.windows(2).map(joined).collect();
        pairs.sort_unstable();
        pairs
    };
    let (left, right) = (pairs(reference), pairs(hypothesis));
    RougeScores {
        rouge_1: rouge_1(reference, hypothesis),
        rouge_2: RougeScore::from_counts(shared(&left, &right).len(), left.len(), right.len()),
        rouge_l: rouge_l(reference, hypothesis),
    }
}

/// ROUGE-1 over small numbers: a count each instead of sorting.
fn rouge_1(reference: &[u32], hypothesis: &[u32]) -> RougeScore {
    let size = reference.iter().max().map_or(0, |most| *most as usize + 1);
    let mut left = vec![0_u32; size];
    for token in reference {
        left[*token as usize] += 1;
    }
    let mut shared = 0;
    for token in hypothesis {
        if let Some(count) = left.get_mut(*token as usize).filter(|count| **count > 0) {
            *count -= 1;
            shared += 1;
        }
    }
    RougeScore::from_counts(shared, reference.len(), hypothesis.len())
}

/// Numbers for the stems of a few texts, so that each distinct word is stemmed once and tokens compare as integers.
struct Vocabulary<'a> {
    stems: &'a Stems,
    words: HashMap<Box<str>, Option<u32>>,
    numbers: HashMap<Arc<str>, u32>,
}

impl<'a> Vocabulary<'a> {
    fn new(stems: &'a Stems) -> Self {
        Self { stems, words: HashMap::new(), numbers: HashMap::new() }
    }

    /// The tokens of a text as numbers from 0.
    fn numbered(&mut self, text: &str) -> Vec<u32> {
        let lower = text.to_lowercase();
        plain_words(&lower).filter_map(|word| self.number_of(word)).collect()
    }

    fn number_of(&mut self, word: &str) -> Option<u32> {
        if let Some(number) = self.words.get(word) {
            return *number;
        }
        let stem = self.stems.stem(word);
        // A text has fewer than 2^32 tokens: it is shorter than 4 GiB.
        let next = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        let number = (!stem.is_empty()).then(|| *self.numbers.entry(stem).or_insert(next));
        self.words.insert(word.into(), number);
        number
    }
}

#[cfg(test)]
mod tests;
