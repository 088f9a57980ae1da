//! Words as Punkt cuts them: at white space, and around punctuation that is no part of a word.

use crate::text::words::is_python_whitespace;

/// Quotation marks beyond ASCII; NLTK 3.10 closes sentences and words with them as with `"`.
pub(super) const QUOTATION_MARKS: [char; 6] = ['«', '»', '‘', '’', '“', '”'];

/// The length of the punctuation character at the start of `text` that ends a word before it; 0 where there is none.
/// The full stop is not among them.
pub(super) fn punctuation_length(text: &str) -> usize {
    match text.as_bytes() {
        [b')' | b'"' | b';' | b'}' | b']' | b'*' | b':' | b'@' | b'\'' | b'(' | b'{' | b'[' | b'?' | b'!', ..] => 1,
        [0xc2 | 0xe2, ..] => text.chars().next().filter(|c| QUOTATION_MARKS.contains(c)).map_or(0, char::len_utf8),
        _ => 0,
    }
}

/// Punctuation that begins no word: it is a token by itself.
fn begins_no_word(byte: u8) -> bool {
    matches!(
        byte,
        b'(' | b'"' | b'`' | b'{' | b'[' | b':' | b';' | b'&' | b'#' | b'*' | b'@' | b')' | b'}' | b']' | b'-' | b','
    )
}

/// The length of the white space character at the start of `text`; 0 where there is none. Unlike Python's, it does not
/// hold U+001C..U+001F.
pub(super) fn whitespace_length(text: &str) -> usize {
    match text.as_bytes().first() {
        Some(byte) if byte.is_ascii() => usize::from(char::from(*byte).is_whitespace()),
        _ => text.chars().next().filter(|c| c.is_whitespace()).map_or(0, char::len_utf8),
    }
}

/// The tokens of a text, in order; a line break separates everything.
pub(super) struct Tokens<'a> {
    lines: std::str::Split<'a, char>,
    line: &'a str,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { lines: text.split('\n'), line: "" }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        loop {
            self.line = self.line.trim_start();
            if self.line.is_empty() {
                self.line = self.lines.find(|line| !line.chars().all(is_python_whitespace))?;
                continue;
            }
            let (token, rest) = self.line.split_at(token_length(self.line));
            self.line = rest;
            return Some(token);
        }
    }
}

/// The length of the token at the start of a text that begins with no white space and is not empty.
fn token_length(line: &str) -> usize {
    let repeated = repeated_mark_length(line);
    if repeated > 0 {
        return repeated;
    }
    let first = line.chars().next().map_or(0, char::len_utf8);
    if line.bytes().next().is_some_and(begins_no_word) {
        return first;
    }
    let mut end = first;
    while end < line.len() && !is_word_end(&line[end..]) {
        end += line[end..].chars().next().map_or(1, char::len_utf8);
    }
    end
}

/// Whether a word ends before `rest`, which is not empty.
fn is_word_end(rest: &str) -> bool {
    let stops = |rest: &str| match rest.as_bytes() {
        [] => true,
        [b'-' | b'.', ..] => repeated_mark_length(rest) > 0,
        [byte, ..] if byte.is_ascii_alphanumeric() => false,
        _ => punctuation_length(rest) > 0 || whitespace_length(rest) > 0,
    };
    stops(rest) || rest.strip_prefix(',').is_some_and(stops)
}

/// The length of dashes (`--`), dots (`..`) or spaced dots (`. . .`) at the start of `rest`; 0 where there are none.
fn repeated_mark_length(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let run = |mark: u8| bytes.iter().take_while(|byte| **byte == mark).count();
    match bytes {
        [b'-', b'-', ..] => run(b'-'),
        [b'.', b'.', ..] => run(b'.'),
        [b'.', _, ..] => spaced_dots_length(rest),
        _ => 0,
    }
}

/// A dot with white space behind it twice or more, then a last dot.
fn spaced_dots_length(rest: &str) -> usize {
    let mut length = 0;
    let mut pairs = 0;
    let mut last_dot = 0;
    while rest.as_bytes().get(length) == Some(&b'.') {
        if pairs >= 2 {
            last_dot = length + 1;
        }
        let space = whitespace_length(&rest[length + 1..]);
        if space == 0 {
            break;
        }
        length += 1 + space;
        pairs += 1;
    }
    last_dot
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tokens(text: &str) -> Vec<&str> {
        Tokens::new(text).collect()
    }

    #[test]
    fn words_keep_their_full_stop_and_lose_other_punctuation() {
        assert_eq!(
            tokens("Dr. Who (e.g., x): yes!?"),
            ["Dr.", "Who", "(", "e.g.", ",", "x", ")", ":", "yes", "!", "?"]
        );
        assert_eq!(tokens("1,000 a,b c,) 'tis it's"), ["1,000", "a,b", "c", ",", ")", "'tis", "it", "'s"]);
    }

    #[test]
    fn runs_of_dashes_and_dots_are_one_token() {
        assert_eq!(tokens("wait...what--no - -x"), ["wait", "...", "what", "--", "no", "-", "-", "x"]);
        assert_eq!(tokens("so . . . on"), ["so", ". . .", "on"]);
        assert_eq!(tokens(". . on"), [".", ".", "on"], "two are too few");
        assert_eq!(tokens(". . . . x"), [". . . .", "x"]);
        assert_eq!(tokens(". . .\n. x"), [". . .", ".", "x"], "a line break separates");
    }

    proptest! {
        #[test]
        fn tokens_are_all_that_is_not_white_space(text in "([.,?!'\"()\\[\\]a-c\\n -]|\u{a0}|\u{1c}|\\PC){0,40}") {
            let joined: String = tokens(&text).concat();
            let without = |s: &str| s.chars().filter(|c| !is_python_whitespace(*c)).collect::<String>();
            prop_assert_eq!(without(&joined), without(&text));
        }
    }
}
