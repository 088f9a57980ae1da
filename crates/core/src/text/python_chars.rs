//! Python 3.11's character classes (`str` methods, `re`) where they differ from Rust's.

use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup};

/// The zeros of the 66 blocks of ten decimal digits (category `Nd` of Unicode 14, the version of Python 3.11).
// A table, since newer Unicode versions have added digits that Python 3.11 does not read.
const ZEROS: [u32; 66] = [
    0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66,
    0xde6, 0xe50, 0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90,
    0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10,
    0x104a0, 0x10d30, 0x11066, 0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650,
    0x116c0, 0x11730, 0x118e0, 0x11950, 0x11c50, 0x11d50, 0x11da0, 0x16a60, 0x16ac0, 0x16b50,
    0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0,
];

/// Whether Python's `str.split()` splits here: Unicode's `White_Space` and U+001C..U+001F, 29 characters.
pub fn is_python_whitespace(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

/// Whether Python's `\w` matches: letters and numbers of any script (`str.isalnum`) and the underscore.
///
/// Rust's `char::is_alphanumeric` also includes vowel signs and other marks (`Other_Alphabetic`); in Python
/// `"a\u{93e}"` has a word boundary after the `a`.
pub fn is_python_word(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || c == '_';
    }
    has_category(
        c,
        GeneralCategoryGroup::Letter.union(GeneralCategoryGroup::Number),
    )
}

/// Value of a character matched by Python's `\d`, a decimal digit of any script, 0..=9: `2` and `２`, not `²` or `Ⅳ`.
pub(crate) fn decimal_digit(c: char) -> Option<u8> {
    let code = u32::from(c);
    let block = ZEROS.partition_point(|zero| *zero <= code).checked_sub(1)?;
    let digit = code - ZEROS.get(block)?;
    (digit < 10).then_some(digit as u8)
}

/// Whether it is a letter, combining mark, connector (`_`) or joiner, not a number: `[^\W\d]` in the package `regex`,
/// which NLTK uses (UTS 18).
pub(super) fn is_word_letter(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphabetic() || c == '_';
    }
    let joins = GeneralCategoryGroup::Mark.union(GeneralCategoryGroup::ConnectorPunctuation);
    c.is_alphabetic() || matches!(c, '\u{200c}' | '\u{200d}') || has_category(c, joins)
}

/// Whether it is a letter, a combining mark or a number of any script.
pub(super) fn is_letter_mark_or_number(c: char) -> bool {
    let letters = GeneralCategoryGroup::Letter.union(GeneralCategoryGroup::Mark);
    has_category(c, letters.union(GeneralCategoryGroup::Number))
}

fn has_category(c: char, group: GeneralCategoryGroup) -> bool {
    group.contains(CodePointMapData::<GeneralCategory>::new().get(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_pythons_29_white_space_characters_split() {
        let split: Vec<u32> = ('\0'..=char::MAX)
            .filter(|c| is_python_whitespace(*c))
            .map(u32::from)
            .collect();
        // 9-13 (5), 28-32 (5), 0x85, 0xa0, 0x1680, 0x2000-0x200a (11), 0x2028, 0x2029, 0x202f, 0x205f, 0x3000 = 29.
        assert_eq!(split.len(), 29);
        // Zero-width space, Mongolian vowel separator and the byte order mark are none.
        assert!(!split.contains(&0x200b) && !split.contains(&0x180e) && !split.contains(&0xfeff));
    }

    #[test]
    fn marks_that_rust_takes_for_letters_end_words() {
        // U+093E is a vowel sign (Mc), U+24B6 a circled letter (So): Alphabetic in Unicode, not in Python.
        for mark in ['\u{93e}', '\u{24b6}', '\u{345}', '\u{e31}'] {
            assert!(mark.is_alphanumeric() && !is_python_word(mark), "{mark:?}");
        }
    }

    #[test]
    fn letters_and_numbers_of_any_script_are_of_words() {
        for letter in [
            'a',
            '_',
            '7',
            'é',
            'ʼ',
            '²',
            '½',
            'Ⅷ',
            '字',
            '\u{915}',
            '\u{1d7d8}',
        ] {
            assert!(is_python_word(letter), "{letter:?}");
        }
        assert!(!is_python_word('-') && !is_python_word('’') && !is_python_word(' '));
    }

    #[test]
    fn digits_of_every_script_have_their_value() {
        let value = |c| decimal_digit(c);
        assert_eq!(
            ['0', '9', '２', '٣', '𝟗'].map(value),
            [Some(0), Some(9), Some(2), Some(3), Some(9)]
        );
        assert_eq!(['/', ':', '²', 'Ⅳ', '½', 'a', '\0'].map(value), [None; 7]);
        // 66 scripts' digits of 10 each: what Python 3.11 calls decimal.
        assert_eq!(
            ('\0'..=char::MAX)
                .filter(|c| decimal_digit(*c).is_some())
                .count(),
            660
        );
    }

    #[test]
    fn letters_marks_and_connectors_count_and_numbers_do_not() {
        for letter in [
            'a', '_', 'É', '字', '\u{301}', '\u{e31}', '\u{203f}', '\u{200d}', 'Ⅷ',
        ] {
            assert!(is_word_letter(letter), "{letter:?}");
        }
        for other in ['7', '٣', '²', '½', '-', '’', ' '] {
            assert!(!is_word_letter(other), "{other:?}");
        }
    }
}
