//! ROUGE-1, ROUGE-2 and ROUGE-L, as google's `rouge_score` 0.1.2 computes them with stemming, for texts of every script.
//!
//! C.-Y. Lin: *ROUGE: A Package for Automatic Evaluation of Summaries* (2004). With m the shared n-grams (each counted
//! as often as in the text that has it less often), or for L the length of a longest common subsequence of tokens:
//!
//! ```text
//! precision = m / n-grams of the hypothesis     recall = m / n-grams of the reference
//! f = 2 precision recall / (precision + recall)
//! ```
//!
//! all in 0..=1, and 0 where nothing can be divided. Line breaks and sentences do not matter for L.

use std::collections::HashMap;
use std::sync::Arc;

use scholareval_core::domain::Mode;
use scholareval_core::text::stems::Stems;
use scholareval_core::text::tokens::{character_runs, composed};
use scholareval_stats::Prf;

/// The three measures of one pair of texts.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RougeScores {
    /// Single tokens.
    pub rouge_1: Prf,
    /// Pairs of neighboring tokens.
    pub rouge_2: Prf,
    /// Longest common subsequence of tokens.
    pub rouge_l: Prf,
}

/// Tokens of a text in lower case: runs of letters, marks and numbers, one for each character in scripts written without
/// spaces; in compat mode runs of `[a-z0-9]`. ASCII tokens of more than three characters are stemmed.
pub fn rouge_tokens(text: &str, mode: Mode, stems: &Stems) -> Vec<Arc<str>> {
    let lower = text.to_lowercase();
    if mode == Mode::Compat {
        // As the package's pattern has it: letters with accents split words, and other scripts have none.
        let words = lower.split(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit()));
        let words = words.filter(|word| !word.is_empty());
        return words.map(|word| stems.stem(word)).collect();
    }
    let mut tokens = Vec::new();
    for word in character_runs(&composed(&lower)) {
        // The stemmer is for English.
        tokens.push(if word.is_ascii() {
            stems.stem(word)
        } else {
            word.into()
        });
    }
    tokens
}

/// All three measures of a hypothesis against one reference.
///
/// ```
/// use scholareval_core::domain::Mode;
/// use scholareval_scorers::rouge::rouge;
/// use scholareval_core::text::stems::Stems;
///
/// // Tokens "the cat sat" and "the cat": 2 shared of 2 and of 3; of the pairs 1 of 1 and of 2.
/// let scores = rouge("The cat sat.", "the cats", Mode::Default, &Stems::default());
/// assert_eq!((scores.rouge_1.precision, scores.rouge_1.recall), (1.0, 2.0 / 3.0));
/// assert_eq!((scores.rouge_2.precision, scores.rouge_2.recall), (1.0, 0.5));
/// ```
pub fn rouge(reference: &str, hypothesis: &str, mode: Mode, stems: &Stems) -> RougeScores {
    scores(
        &rouge_tokens(reference, mode, stems),
        &rouge_tokens(hypothesis, mode, stems),
    )
}

/// All three measures, and the index, of the reference with the highest ROUGE-L F; ties take the last. `None` without
/// references.
pub fn rouge_best(
    references: &[&str],
    hypothesis: &str,
    mode: Mode,
    stems: &Stems,
) -> Option<(usize, RougeScores)> {
    let hypothesis = rouge_tokens(hypothesis, mode, stems);
    let all = references
        .iter()
        .map(|reference| scores(&rouge_tokens(reference, mode, stems), &hypothesis));
    all.enumerate().reduce(|best, next| {
        if next.1.rouge_l.f1 >= best.1.rouge_l.f1 {
            next
        } else {
            best
        }
    })
}

fn scores(reference: &[Arc<str>], hypothesis: &[Arc<str>]) -> RougeScores {
    let mut numbers = HashMap::new();
    let reference = numbered(reference, &mut numbers);
    let hypothesis = numbered(hypothesis, &mut numbers);
    let common = longest_common_subsequence(&reference, &hypothesis);
    RougeScores {
        rouge_1: ngram_scores(1, &reference, &hypothesis),
        rouge_2: ngram_scores(2, &reference, &hypothesis),
        rouge_l: Prf::of(
            common as f64,
            hypothesis.len() as f64,
            reference.len() as f64,
        ),
    }
}

/// The scores of shared n-grams.
fn ngram_scores(n: usize, reference: &[u32], hypothesis: &[u32]) -> Prf {
    let theirs = ngram_keys(reference, n);
    let ours = ngram_keys(hypothesis, n);
    Prf::of(
        shared(&theirs, &ours) as f64,
        ours.len() as f64,
        theirs.len() as f64,
    )
}

/// Tokens as numbers from 0; equal tokens get equal numbers.
fn numbered<'a>(tokens: &'a [Arc<str>], numbers: &mut HashMap<&'a str, u32>) -> Vec<u32> {
    let mut numbered = Vec::with_capacity(tokens.len());
    for token in tokens {
        let next = numbers.len() as u32;
        numbered.push(*numbers.entry(token).or_insert(next));
    }
    numbered
}

/// N-grams, n at most 2, each as one number; sorted.
fn ngram_keys(tokens: &[u32], n: usize) -> Vec<u64> {
    let mut keys: Vec<u64> = tokens.windows(n).map(ngram_key).collect();
    keys.sort_unstable();
    keys
}

/// Two 32-bit numbers side by side.
fn ngram_key(ngram: &[u32]) -> u64 {
    ngram
        .iter()
        .fold(0, |key, token| key << 32 | u64::from(*token))
}

/// Size of the multiset intersection of two sorted lists.
fn shared(left: &[u64], right: &[u64]) -> usize {
    let (mut shared, mut l, mut r) = (0, 0, 0);
    while let (Some(a), Some(b)) = (left.get(l), right.get(r)) {
        shared += usize::from(a == b);
        (l, r) = (l + usize::from(a <= b), r + usize::from(b <= a));
    }
    shared
}

/// Length of the longest common subsequence. Numbers should be small: memory grows with the largest.
///
/// Bit-parallel (H. Hyyrö, *Bit-parallel LCS-length computation revisited*, 2004), 64 items of the shorter sequence at a
/// time against all of the longer one: with lengths n and m about n m / 64 steps. For each item
/// `row = (row + (row & matches)) | (row & !matches)`, where row and matches are one long number over all blocks; a zero
/// marks where the length grows by one.
fn longest_common_subsequence(left: &[u32], right: &[u32]) -> usize {
    let (short, long) = if left.len() <= right.len() {
        (left, right)
    } else {
        (right, left)
    };
    let greatest = left
        .iter()
        .chain(right)
        .max()
        .map_or(0, |greatest| *greatest as usize);
    // For each number, its positions in the block, as bits.
    let mut matches = vec![0_u64; greatest + 1];
    // For each item of the longer sequence, the carry of the block before.
    let mut carries = vec![false; long.len()];
    let mut length = 0;
    for block in short.chunks(64) {
        for (at, item) in block.iter().enumerate() {
            matches[*item as usize] |= 1 << at;
        }
        let mut row = u64::MAX;
        for (item, carry) in long.iter().zip(&mut carries) {
            let matched = matches[*item as usize];
            let (sum, over) = row.carrying_add(row & matched, *carry);
            row = sum | (row & !matched);
            *carry = over;
        }
        length += row.count_zeros() as usize;
        for item in block {
            matches[*item as usize] = 0;
        }
    }
    length
}

#[cfg(test)]
mod tests;
