//! Estimates of token counts.
//!
//! No tokenizer is loaded: the number is for a tokens-per-minute limit, for budgets, and for plans where nothing
//! counts (see [`super::token_counter`]); the reply states what was really used. The rule is a count over runs of one sort of character:
//!
//! | run | tokens |
//! |---|---|
//! | ASCII letters, up to 8 | 1 |
//! | ASCII letters, more | 1 + 1/6 for each letter above 8 |
//! | digits | 1 for every 3 begun |
//! | punctuation | 1 for every 2 begun |
//! | one space | 0 (it is part of the next word) |
//! | more spaces, or white space with a line break or tab | 1 |
//! | anything outside ASCII | 1/3 for each byte of UTF-8 |
//!
//! Measured on the 400 ScholarQA-CS answers of four systems (about 860,000 tokens): the sum of a system is within 4%
//! of o200k and Llama 3 and within 8% of Qwen 2, 95% of single answers are within 10% of the first two (12% of the last).
//! Characters / 4 is 12 to 25% high on the same texts. Scripts other than Latin come out high, which a limit
//! forgives.

use crate::prompt::Messages;

/// Letters of a word that one token is assumed to hold.
const LETTERS_IN_FIRST_TOKEN: usize = 8;
/// Tokens are summed up in these parts, so that the rule needs no fractions.
const PARTS: usize = 12;
/// What a chat server adds around one message (role, separators), in tokens.
const TOKENS_PER_MESSAGE: u64 = 4;

/// About how many tokens `text` has; see the module for the rule and its error.
pub fn estimate_tokens(text: &str) -> u64 {
    let runs = text.as_bytes().chunk_by(|a, b| Sort::of(*a) == Sort::of(*b));
    let sum: usize = runs.map(|run| parts(Sort::of(run[0]), run)).sum();
    sum.div_ceil(PARTS) as u64
}

/// About how many tokens a chat prompt of these messages has, their framing included.
pub fn estimate_messages(messages: &Messages) -> u64 {
    let texts = messages.system.as_deref().into_iter().chain([messages.user.as_str()]);
    texts.map(|text| estimate_tokens(text) + TOKENS_PER_MESSAGE).sum()
}

/// The tokens of a run of bytes of one sort, in parts.
fn parts(sort: Sort, run: &[u8]) -> usize {
    match sort {
        Sort::Letters => PARTS + run.len().saturating_sub(LETTERS_IN_FIRST_TOKEN) * PARTS / 6,
        Sort::Digits => run.len().div_ceil(3) * PARTS,
        Sort::Space if run == b" " => 0,
        Sort::Space => PARTS,
        Sort::Punctuation => run.len().div_ceil(2) * PARTS,
        Sort::Foreign => run.len() * PARTS / 3,
    }
}

/// Sorts of characters that tokenizers split between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Letters,
    Digits,
    Space,
    Punctuation,
    Foreign,
}

impl Sort {
    fn of(byte: u8) -> Self {
        Self::OF_BYTES[usize::from(byte)]
    }

    const OF_BYTES: [Self; 256] = {
        let mut sorts = [Self::Punctuation; 256];
        let mut byte = 0;
        while byte < sorts.len() {
            sorts[byte] = match byte as u8 {
                b'a'..=b'z' | b'A'..=b'Z' => Self::Letters,
                b'0'..=b'9' => Self::Digits,
                0..=b' ' | 0x7f => Self::Space,
                0x80.. => Self::Foreign,
                _ => Self::Punctuation,
            };
            byte += 1;
        }
        sorts
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_counts_words_and_marks() {
        // The(1) cat(1) sat(1) on(1) the(1) mat(1) .(1)
        assert_eq!(estimate_tokens("The cat sat on the mat."), 7);
    }

    #[test]
    fn long_words_digits_and_breaks_follow_the_table() {
        // 14 letters: 1 + 6/6
        assert_eq!(estimate_tokens("electrodynamic"), 2);
        // 7 digits: 3
        assert_eq!(estimate_tokens("1234567"), 3);
        // a(1) break(1) b(1); a single space is free
        assert_eq!(estimate_tokens("a\n\nb c"), 4);
        // three CJK characters are nine bytes
        assert_eq!(estimate_tokens("\u{8a9e}\u{8a9e}\u{8a9e}"), 3);
        assert_eq!(estimate_tokens(""), 0);
    }

    #[test]
    fn every_message_costs_its_framing() {
        // (1 + 4) + (2 + 4)
        assert_eq!(estimate_messages(&Messages::new(Some("hello".into()), "hello there")), 11);
    }
}
