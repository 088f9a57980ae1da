//! Lower-cased word tokens of any script.

use std::ops::Range;

use icu_normalizer::ComposingNormalizerBorrowed;

use super::python_chars::is_letter_mark_or_number;

/// Articles, prepositions, conjunctions, pronouns, auxiliaries; sorted, to be searched by halving.
const STOP_WORDS: [&str; 119] = [
    "a", "about", "after", "all", "also", "although", "an", "and", "any", "are", "as", "at", "be",
    "because", "been", "before", "being", "both", "but", "by", "can", "could", "did", "do", "does",
    "doing", "done", "during", "each", "either", "etc", "every", "few", "for", "from", "had",
    "has", "have", "having", "he", "her", "here", "him", "his", "how", "however", "i", "if", "in",
    "into", "is", "it", "its", "itself", "just", "may", "me", "might", "more", "most", "much",
    "must", "my", "no", "nor", "not", "of", "on", "only", "or", "other", "our", "out", "over",
    "own", "same", "she", "should", "since", "so", "some", "such", "than", "that", "the", "their",
    "them", "then", "there", "these", "they", "this", "those", "through", "thus", "to", "too",
    "under", "until", "up", "upon", "us", "very", "was", "we", "were", "what", "when", "where",
    "which", "while", "who", "whose", "why", "will", "with", "would", "you", "your",
];

/// Lower-cased word tokens of a text, in order.
///
/// A token is a maximal run of letters, digits and combining marks. Scripts written without spaces (Han, kana, Thai,
/// Lao, Khmer, Burmese) give one token per letter, so that their texts can be compared.
pub fn tokens(text: &str) -> impl Iterator<Item = String> {
    token_ranges(text).map(|range| lower_case(&text[range]))
}

/// Letters with their accents as one character each, as people type them.
pub fn composed(text: &str) -> String {
    ComposingNormalizerBorrowed::new_nfc()
        .normalize(text)
        .into_owned()
}

fn lower_case(word: &str) -> String {
    // Most words: no table of cases is needed for them.
    if word.is_ascii() {
        word.to_ascii_lowercase()
    } else {
        word.to_lowercase()
    }
}

/// Whether a lower-cased English word has no content, as articles and auxiliaries.
pub fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// Byte ranges of [`tokens`], lazily, for callers that need only the first few or their number.
pub fn token_ranges(text: &str) -> impl Iterator<Item = Range<usize>> {
    runs(text, char::is_alphanumeric, continues_token)
}

/// The runs of letters, marks and numbers of a text, in order; in scripts written without spaces one for each character.
pub fn character_runs(text: &str) -> impl Iterator<Item = &str> {
    runs(text, is_letter_mark_or_number, is_letter_mark_or_number).map(|range| &text[range])
}

fn runs(
    text: &str,
    begins: fn(char) -> bool,
    continues: fn(char) -> bool,
) -> impl Iterator<Item = Range<usize>> {
    let mut chars = text.char_indices().peekable();
    std::iter::from_fn(move || {
        let (start, first) = chars.find(|(_, c)| begins(*c))?;
        let mut end = start + first.len_utf8();
        while !is_unspaced(first)
            && let Some((at, c)) = chars.next_if(|(_, c)| continues(*c) && !is_unspaced(*c))
        {
            end = at + c.len_utf8();
        }
        Some(start..end)
    })
}

/// Combining marks that `char::is_alphanumeric` excludes and that would split words.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5c7}' | '\u{64b}'..='\u{65f}' | '\u{93c}' | '\u{94d}'
        | '\u{9bc}' | '\u{9cd}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{200c}' | '\u{200d}'
        | '\u{20d0}'..='\u{20ff}')
}

/// Characters of scripts written without spaces.
fn is_unspaced(c: char) -> bool {
    is_han_or_kana(c)
        || matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
            | '\u{a9e0}'..='\u{a9ff}' | '\u{aa60}'..='\u{aa7f}')
}

/// Characters of Chinese and Japanese.
pub fn is_han_or_kana(c: char) -> bool {
    matches!(c, '\u{3005}'..='\u{3007}' | '\u{3021}'..='\u{3029}' | '\u{3031}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9f}'
        | '\u{1aff0}'..='\u{1b16f}' | '\u{20000}'..='\u{3ffff}')
}

fn continues_token(c: char) -> bool {
    is_mark(c) || c.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(text: &str) -> Vec<String> {
        tokens(text).collect()
    }

    #[test]
    fn words_and_numbers_are_lower_cased_and_punctuation_separates() {
        assert_eq!(
            texts("BERT-based F1: 0.93 (n=3)"),
            ["bert", "based", "f1", "0", "93", "n", "3"]
        );
        assert_eq!(
            texts("ÉCOLE Straße cafe\u{301}"),
            ["école", "straße", "cafe\u{301}"]
        );
    }

    #[test]
    fn scripts_without_spaces_give_one_token_a_letter() {
        assert_eq!(texts("深度 BERT学习"), ["深", "度", "bert", "学", "习"]);
    }

    #[test]
    fn words_without_content_are_stop_words() {
        assert!(STOP_WORDS.is_sorted());
        assert_eq!(["the", "lipid"].map(is_stop_word), [true, false]);
    }

    #[test]
    fn a_text_without_words_has_no_tokens() {
        assert_eq!(texts(" .,–\u{301}\n"), Vec::<String>::new());
    }

    proptest! {
        #[test]
        fn the_ranges_cut_out_the_words(text in any::<String>()) {
            let words: Vec<String> = token_ranges(&text).map(|range| text[range].to_lowercase()).collect();
            prop_assert_eq!(words, texts(&text));
        }
    }
}
