//! Words of `[a-z0-9]`, the tokens of ROUGE, found sixteen bytes at a time.

/// So many bytes of a word are its [`key`](PlainWord::key).
pub const KEY_BYTES: usize = 16;

/// A one in every byte, and the highest bit of every byte.
const ONES: u128 = u128::MAX / 0xff;
const HIGHEST: u128 = ONES << 7;

/// A text as its words of `[a-z0-9]` in lower case, kept in memory that is used again for the next text.
#[derive(Debug, Default)]
pub struct PlainText {
    /// The text in lower case, a zero for every byte that is in no word, and [`KEY_BYTES`] zeros behind it: they can
    /// be read at the start of any word.
    bytes: Vec<u8>,
}

/// One word of a [`PlainText`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlainWord<'a> {
    /// The word: ASCII letters in lower case, and digits.
    pub bytes: &'a [u8],
    /// Its first [`KEY_BYTES`] bytes as a little-endian number, zeros behind a shorter word. Of two words that are no
    /// longer than that, equal keys are equal words.
    pub key: u128,
}

impl<'a> PlainWord<'a> {
    /// The word as text.
    pub fn text(&self) -> &'a str {
        std::str::from_utf8(self.bytes).unwrap_or_default()
    }
}

impl PlainText {
    /// A text without words.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes another text. Lower case is Unicode's, all characters but `[a-z0-9]` in it separate words.
    pub fn read(&mut self, text: &str) {
        self.bytes.clear();
        if may_become_ascii(text.as_bytes()) {
            self.bytes.extend(text.to_lowercase().bytes().map(plain));
        } else {
            self.bytes.extend(text.bytes().map(plain));
        }
        self.bytes.extend([0; KEY_BYTES]);
    }

    /// The words in order.
    ///
    /// ```
    /// use scholareval::text::tokens::PlainText;
    ///
    /// let mut text = PlainText::new();
    /// text.read("Naïve BERT-based, 0.93");
    /// let words: Vec<&str> = text.words().map(|word| word.text()).collect();
    /// assert_eq!(words, ["na", "ve", "bert", "based", "0", "93"]);
    /// ```
    pub fn words(&self) -> PlainWords<'_> {
        PlainWords { bytes: &self.bytes, at: 0 }
    }

    /// Bytes of memory held.
    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }
}

/// Whether the text may have the Kelvin sign or `İ`, the only letters beyond ASCII whose lower case begins with an ASCII
/// letter; the block of the Kelvin sign says yes too. Without branches, as [`plain`].
fn may_become_ascii(text: &[u8]) -> bool {
    let begins = |two: &[u8]| ((two[0] == 0xe2) & (two[1] == 0x84)) | ((two[0] == 0xc4) & (two[1] == 0xb0));
    text.windows(2).fold(false, |may, two| may | begins(two))
}

/// The byte in lower case, 0 for all but `[A-Za-z0-9]`. Without branches, so that many bytes are done at once.
const fn plain(byte: u8) -> u8 {
    // This bit makes letters lower case, and every digit has it.
    let lower = byte | 0x20;
    let letter = lower.wrapping_sub(b'a') < 26;
    let digit = byte.wrapping_sub(b'0') < 10;
    if letter | digit { lower } else { 0 }
}

/// The iterator of [`PlainText::words`].
#[derive(Debug, Clone)]
pub struct PlainWords<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Iterator for PlainWords<'a> {
    type Item = PlainWord<'a>;

    #[inline]
    fn next(&mut self) -> Option<PlainWord<'a>> {
        let (start, head) = loop {
            let head = u128::from_le_bytes(*self.bytes.get(self.at..)?.first_chunk()?);
            let separators = head.trailing_zeros() as usize / 8;
            if separators == 0 {
                break (self.at, head);
            }
            self.at += separators;
        };
        // No byte is above 0x7f: subtracting 1 sets the highest bit of a zero, and of no byte before the first zero.
        let mut length = (head.wrapping_sub(ONES) & HIGHEST).trailing_zeros() as usize / 8;
        let key = head & (u128::MAX >> (8 * (KEY_BYTES - length)));
        if length == KEY_BYTES {
            length += self.bytes[start + length..].iter().take_while(|byte| **byte != 0).count();
        }
        // What stands behind a word is a separator.
        self.at = start + length + 1;
        Some(PlainWord { bytes: &self.bytes[start..start + length], key })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut plain = PlainText::new();
        plain.read("what was read before");
        plain.read(text);
        plain.words().map(|word| word.text().to_owned()).collect()
    }

    fn plainly(text: &str) -> Vec<String> {
        let lower = text.to_lowercase();
        let words = lower.split(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit()));
        words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }

    #[test]
    fn words_of_any_length_and_at_any_place_are_found() {
        for length in 1..70 {
            for gap in 1..40 {
                let text = format!("{0}{1}{0}{1}z", "x".repeat(length), " ".repeat(gap));
                assert_eq!(words(&text), ["x".repeat(length), "x".repeat(length), "z".to_owned()]);
            }
        }
        assert_eq!(words(""), Vec::<String>::new());
    }

    #[test]
    fn two_letters_beyond_ascii_become_ascii_in_lower_case() {
        let becomes = |c: &char| c.to_lowercase().any(|lower| lower.is_ascii());
        assert_eq!(('\u{80}'..=char::MAX).filter(becomes).collect::<String>(), "İ\u{212a}");
    }

    #[test]
    fn every_character_gives_what_its_lower_case_gives() {
        let most_scripts: Vec<char> = ('\0'..'\u{3000}').collect();
        for some in most_scripts.chunks(64) {
            let text: String = some.iter().flat_map(|c| ['a', *c, 'b', ' ']).collect();
            assert_eq!(words(&text), plainly(&text), "{some:?}");
        }
    }

    #[test]
    fn keys_are_the_first_bytes() {
        let mut plain = PlainText::new();
        plain.read("ab 0123456789abcdefg");
        let keys: Vec<u128> = plain.words().map(|word| word.key).collect();
        assert_eq!(keys, [0x6261, u128::from_le_bytes(*b"0123456789abcdef")]);
    }

    proptest! {
        #[test]
        fn words_are_those_of_the_plain_way(text in "([A-Za-z0-9]{0,20}|[ .,]{1,18}|İ|\u{212a}|\\PC){0,40}") {
            prop_assert_eq!(words(&text), plainly(&text));
        }
    }
}
