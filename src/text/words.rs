//! Words as Python's `str.split()` sees them.
//!
//! The reference scripts count and split words with `str.split()`; its white space is not Unicode's
//! `White_Space` property: the four information separators U+001C..U+001F count as well.

/// True for the 29 characters that Python's `str.split()` splits at.
pub fn is_python_whitespace(c: char) -> bool {
    matches!(
        c,
        '\u{9}'..='\u{d}'
            | '\u{1c}'..='\u{20}'
            | '\u{85}'
            | '\u{a0}'
            | '\u{1680}'
            | '\u{2000}'..='\u{200a}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{202f}'
            | '\u{205f}'
            | '\u{3000}'
    )
}

/// The words of `text`: maximal runs without white space, never empty.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_python_whitespace).filter(|word| !word.is_empty())
}

/// How many words `text` has.
pub fn word_count(text: &str) -> usize {
    word_count_up_to(text, usize::MAX)
}

/// How many words `text` has, or `limit` if it has more; what follows then is not looked at.
pub fn word_count_up_to(text: &str, limit: usize) -> usize {
    // ASCII, which is nearly everything, needs no decoding; looked at in stretches of so many bytes.
    const STRETCH: usize = 512;
    let mut count = 0;
    let mut within = false;
    let mut rest = text;
    while !rest.is_empty() && count < limit {
        let stretch = &rest.as_bytes()[..rest.len().min(STRETCH)];
        // All at once first: most stretches have nothing else.
        let ascii = if stretch.is_ascii() { None } else { stretch.iter().position(|byte| !byte.is_ascii()) };
        let (plain, other) = rest.split_at(ascii.unwrap_or(stretch.len()));
        let (blocks, last) = plain.as_bytes().as_chunks::<BLOCK>();
        for block in blocks {
            count += word_starts(block, &mut within);
        }
        for byte in last {
            count += usize::from(is_in_word(*byte) && !within);
            within = is_in_word(*byte);
        }
        let mut chars = other.chars();
        if ascii.is_some()
            && let Some(c) = chars.next()
        {
            let is_word = !is_python_whitespace(c);
            count += usize::from(is_word && !within);
            within = is_word;
        }
        rest = chars.as_str();
    }
    count.min(limit)
}

/// Bytes that are looked at together.
const BLOCK: usize = 32;

fn is_in_word(ascii: u8) -> bool {
    !matches!(ascii, 0x9..=0xd | 0x1c..=0x20)
}

/// How many words begin in a block of ASCII; `within` says whether the byte before it belongs to a word, and then the same
/// of its last byte. Written without a branch, so that the compiler can take many bytes at a time.
fn word_starts(block: &[u8; BLOCK], within: &mut bool) -> usize {
    let is_word: [u8; BLOCK] = block.map(|byte| u8::from(is_in_word(byte)));
    let mut before = [u8::from(*within); BLOCK];
    before[1..].copy_from_slice(&is_word[..BLOCK - 1]);
    *within = is_word[BLOCK - 1] == 1;
    // At most every other byte begins a word: 16 fit a byte.
    let starts: u8 = is_word.iter().zip(&before).map(|(now, before)| now & !before).sum();
    usize::from(starts)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn as_many_words_are_counted_as_are_found(text in "([a-z .\\n\\t\u{1c}\u{1f}\u{a0}\u{e9}\u{2028}\u{3000}\u{1f600}]|\\PC){0,40}") {
            prop_assert_eq!(word_count(&text), words(&text).count());
            let long = text.repeat(60);
            prop_assert_eq!(word_count(&long), words(&long).count());
            prop_assert_eq!(word_count_up_to(&long, 100), words(&long).count().min(100));
        }
    }

    #[test]
    fn information_separators_split_words_as_in_python() {
        // U+001C..U+001F are no `White_Space` to Rust, but Python splits at each of them: a b c d e = 5.
        assert_eq!(word_count("a\u{1c}b\u{1d}c\u{1e}d\u{1f}e"), 5);
        assert_eq!("a\u{1c}b".split_whitespace().count(), 1);
    }

    #[test]
    fn exactly_pythons_29_white_space_characters_split() {
        let split: Vec<u32> = ('\0'..=char::MAX).filter(|c| is_python_whitespace(*c)).map(u32::from).collect();
        // 9-13 (5), 28-32 (5), 0x85, 0xa0, 0x1680, 0x2000-0x200a (11), 0x2028, 0x2029, 0x202f, 0x205f, 0x3000 = 29.
        assert_eq!(split.len(), 29);
        // Zero-width space, Mongolian vowel separator and the byte order mark are none.
        assert!(!split.contains(&0x200b) && !split.contains(&0x180e) && !split.contains(&0xfeff));
    }

    #[test]
    fn runs_and_ends_of_white_space_make_no_empty_words() {
        assert_eq!(words("  one \n\ttwo\u{a0}\u{3000}three  ").collect::<Vec<_>>(), ["one", "two", "three"]);
        assert_eq!(word_count(""), 0);
        assert_eq!(word_count(" \n "), 0);
    }
}
