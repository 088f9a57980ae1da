//! Words as Python's `str.split()` sees them.
//!
//! The reference scripts count and split words with `str.split()`, whose white space is Unicode's `White_Space` plus
//! the information separators U+001C..U+001F.

use super::python_chars::is_python_whitespace;

/// The words of `text`: maximal runs without white space, never empty.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_python_whitespace)
        .filter(|word| !word.is_empty())
}

/// Number of words in `text`.
pub fn word_count(text: &str) -> usize {
    words(text).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn information_separators_split_words_as_in_python() {
        // U+001C..U+001F are not `White_Space` to Rust, but Python splits at each of them: a b c d e = 5.
        assert_eq!(word_count("a\u{1c}b\u{1d}c\u{1e}d\u{1f}e"), 5);
        assert_eq!("a\u{1c}b".split_whitespace().count(), 1);
    }

    #[test]
    fn runs_and_ends_of_white_space_make_no_empty_words() {
        assert_eq!(
            words("  one \n\ttwo\u{a0}\u{3000}three  ").collect::<Vec<_>>(),
            ["one", "two", "three"]
        );
        assert_eq!(word_count(""), 0);
        assert_eq!(word_count(" \n "), 0);
    }
}
