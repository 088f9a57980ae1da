//! ROUGE-1, ROUGE-2 and ROUGE-L, as google's `rouge_score` 0.1.2 computes them with stemming.
//!
//! C.-Y. Lin: *ROUGE: A Package for Automatic Evaluation of Summaries* (2004). With m the shared n-grams (each counted
//! as often as the text that has it less often), or for L the length of a longest common subsequence of tokens:
//!
//! ```text
//! precision = m / n-grams of the hypothesis     recall = m / n-grams of the reference
//! f = 2 precision recall / (precision + recall)
//! ```
//!
//! all in 0..=1, and 0 where nothing can be divided. Line breaks and sentences do not matter for L.

mod common;
mod numbered;

use std::cell::Cell;
use std::sync::Arc;

pub use common::{common_subsequence, longest_common_subsequence};
use numbered::Comparison;

use crate::text::stems::{StemNumbers, Stems};
use crate::text::tokens::PlainText;

/// Memory for texts of more bytes is given back.
const LARGEST_KEPT: usize = 1 << 20;

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
    let mut plain = PlainText::new();
    plain.read(text);
    plain.words().map(|word| stems.stem(word.text())).collect()
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
    let mut desk = Desk::take();
    let mut numbers = StemNumbers::new(stems);
    desk.read_hypothesis(hypothesis, &mut numbers);
    let scores = desk.scores(reference, &mut numbers);
    desk.keep();
    scores
}

/// All three measures against the reference with the greater F of ROUGE-L; of equal ones the last. Its index comes
/// with them. `None` without a reference.
pub fn rouge_best(references: &[&str], hypothesis: &str, stems: &Stems) -> Option<(usize, RougeScores)> {
    let mut desk = Desk::take();
    let mut numbers = StemNumbers::new(stems);
    desk.read_hypothesis(hypothesis, &mut numbers);
    let mut best: Option<(usize, RougeScores)> = None;
    for (at, reference) in references.iter().enumerate() {
        let scores = desk.scores(reference, &mut numbers);
        if best.is_none_or(|(_, so_far)| scores.rouge_l.f >= so_far.rouge_l.f) {
            best = Some((at, scores));
        }
    }
    desk.keep();
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

/// Memory for one comparison. Each thread keeps one: sentences are compared faster than memory is made.
#[derive(Default)]
struct Desk {
    plain: PlainText,
    reference: Vec<u32>,
    hypothesis: Vec<u32>,
    comparison: Comparison,
}

thread_local! {
    static DESK: Cell<Option<Box<Desk>>> = const { Cell::new(None) };
}

impl Desk {
    fn take() -> Box<Self> {
        DESK.take().unwrap_or_default()
    }

    /// Lays it back, unless a huge text made it huge: all of its memory is in proportion to the longest text.
    fn keep(self: Box<Self>) {
        if self.plain.capacity() <= LARGEST_KEPT {
            DESK.set(Some(self));
        }
    }

    fn read_hypothesis(&mut self, text: &str, numbers: &mut StemNumbers<'_>) {
        self.plain.read(text);
        numbers.read(&self.plain, &mut self.hypothesis);
    }

    fn scores(&mut self, reference: &str, numbers: &mut StemNumbers<'_>) -> RougeScores {
        self.plain.read(reference);
        numbers.read(&self.plain, &mut self.reference);
        self.comparison.scores(&self.reference, &self.hypothesis)
    }
}

#[cfg(test)]
mod tests;
