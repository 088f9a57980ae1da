//! Estimates of token counts.
//!
//! No tokenizer is loaded: the number is for planning and for a tokens-per-minute limit, and what was really used
//! stands in the reply. The rule is a count over runs of one sort of character:
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

/// Letters of a word that one token is assumed to hold.
const LETTERS_IN_FIRST_TOKEN: usize = 8;
/// Letters above those that are counted as one more token.
const LETTERS_PER_FURTHER_TOKEN: usize = 6;
/// Tokens are summed up in these parts, so that the rule needs no fractions.
const PARTS: usize = 12;
/// What a chat server adds around one message (role, separators), in tokens.
const TOKENS_PER_MESSAGE: u64 = 4;

/// About how many tokens `text` has; see the module for the rule and its error.
pub fn estimate_tokens(text: &str) -> u64 {
    let mut parts = 0;
    let mut rest = text.as_bytes();
    while let Some(&first) = rest.first() {
        let sort = Sort::of(first);
        let length = rest.iter().position(|&byte| Sort::of(byte) != sort).unwrap_or(rest.len());
        let (run, tail) = rest.split_at(length);
        parts += sort.parts(run);
        rest = tail;
    }
    parts.div_ceil(PARTS) as u64
}

/// About how many tokens a chat prompt of these message texts has, the framing of the messages included.
pub fn estimate_prompt_tokens<'a>(messages: impl IntoIterator<Item = &'a str>) -> u64 {
    messages.into_iter().map(|text| estimate_tokens(text) + TOKENS_PER_MESSAGE).sum()
}

/// Sorts of characters that tokenizers split between.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Letters,
    Digits,
    Space,
    Punctuation,
    Foreign,
}

impl Sort {
    fn of(byte: u8) -> Self {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => Self::Letters,
            b'0'..=b'9' => Self::Digits,
            0..=b' ' | 0x7f => Self::Space,
            0x80.. => Self::Foreign,
            _ => Self::Punctuation,
        }
    }

    fn parts(self, run: &[u8]) -> usize {
        let length = run.len();
        match self {
            Self::Letters => PARTS + length.saturating_sub(LETTERS_IN_FIRST_TOKEN) * PARTS / LETTERS_PER_FURTHER_TOKEN,
            Self::Digits => length.div_ceil(3) * PARTS,
            Self::Space if run == b" " => 0,
            Self::Space => PARTS,
            Self::Punctuation => length.div_ceil(2) * PARTS,
            Self::Foreign => length * PARTS / 3,
        }
    }
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
        assert_eq!(estimate_prompt_tokens(["hello", "hello there"]), 11);
    }
}
