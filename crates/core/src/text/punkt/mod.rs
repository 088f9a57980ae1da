//! Sentence splitting with NLTK's English Punkt model.
//!
//! T. Kiss, J. Strunk: *Unsupervised Multilingual Sentence Boundary Detection*, Computational Linguistics 32 (2006),
//! 485-525. A full stop ends a sentence unless its word is an abbreviation, an initial or a number and the next word
//! does not look like a beginning; `?` and `!` end one before white space or punctuation. Line breaks end nothing.
//!
//! Model and results match `nltk.sent_tokenize` (NLTK 3.10.4, `punkt_tab/english`).

mod parameters;
mod rules;
mod tokens;

use std::ops::Range;

use parameters::Parameters;
use tokens::{QUOTATION_MARKS, ends_word, tokens};

use crate::text::python_chars::is_python_whitespace;

/// Byte ranges of the sentences, in order, none empty.
///
/// White space between sentences is excluded; white space inside and at the start of the text is included. Closing
/// quotes and brackets after a full stop belong to the sentence before them.
///
/// ```
/// use scholareval_core::text::punkt::sentences;
///
/// let text = "Dr. Lee et al. found it [1]. (See Fig. 2.) It holds.";
/// let found: Vec<&str> = sentences(text).into_iter().map(|range| &text[range]).collect();
/// assert_eq!(found, ["Dr. Lee et al.", "found it [1].", "(See Fig.", "2.)", "It holds."]);
/// ```
pub fn sentences(text: &str) -> Vec<Range<usize>> {
    realign(text, &slices(text))
}

/// A mark that may end a sentence, with its context.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    /// Start of the word before the mark.
    start: usize,
    /// The mark: `.`, `?` or `!`, one byte.
    mark: usize,
    /// What follows it.
    behind: Behind,
}

/// What follows a mark that may end a sentence.
#[derive(Debug, Clone, Copy)]
enum Behind {
    /// White space; the next word begins here.
    Word(usize),
    /// Punctuation; it ends here.
    Punctuation(usize),
}

impl Candidate {
    /// The word with its mark, and the next word or punctuation character.
    fn context<'a>(&self, text: &'a str) -> &'a str {
        let end = match self.behind {
            Behind::Word(next) => text[next..]
                .find(char::is_whitespace)
                .map_or(text.len(), |length| next + length),
            Behind::Punctuation(end) => end,
        };
        &text[self.start..end]
    }

    fn ends_sentence(&self, text: &str, model: &Parameters) -> bool {
        let mut tokens = tokens(self.context(text));
        let Some(mut token) = tokens.next() else {
            return false;
        };
        tokens.any(|next| rules::ends_sentence(std::mem::replace(&mut token, next), next, model))
    }
}

/// The text cut after every mark that ends a sentence.
fn slices(text: &str) -> Vec<Range<usize>> {
    let model = Parameters::english();
    let end = text.trim_end_matches(is_python_whitespace).len();
    let mut slices = Vec::new();
    let mut start = 0;
    let mut cut = |candidate: Candidate| {
        if candidate.ends_sentence(text, model) {
            slices.push(start..candidate.mark + 1);
            start = match candidate.behind {
                Behind::Word(next) => next,
                Behind::Punctuation(_) => candidate.mark + 1,
            };
        }
    };
    // Held back until the next mark shows that the word has ended.
    let mut pending: Option<Candidate> = None;
    let (mut previous_start, mut previous_mark) = (0, 0);
    let mut at = 0;
    while let Some(offset) = text.as_bytes()[at..]
        .iter()
        .position(|byte| matches!(byte, b'.' | b'?' | b'!'))
    {
        let mark = at + offset;
        at = mark + 1;
        let Some(behind) = what_follows(text, at) else {
            continue;
        };
        let word = last_blank(&text.as_bytes()[previous_mark..mark])
            .map(|blank| previous_mark + blank + 1);
        let word_start = word.unwrap_or(previous_start);
        // Several marks in one word are one candidate: the last.
        if let Some(candidate) = pending.filter(|_| previous_mark <= word_start) {
            cut(candidate);
        }
        pending = Some(Candidate {
            start: word_start,
            mark,
            behind,
        });
        (previous_start, previous_mark) = (word_start, mark);
    }
    if let Some(candidate) = pending {
        cut(candidate);
    }
    slices.push(start..end.max(start));
    slices
}

/// What follows a mark; `None` within a word and at the end of the text, where it ends nothing.
fn what_follows(text: &str, at: usize) -> Option<Behind> {
    if let Some(c) = text[at..].chars().next().filter(|c| ends_word(*c)) {
        return Some(Behind::Punctuation(at + c.len_utf8()));
    }
    let rest = text[at..].trim_start();
    let next = text.len() - rest.len();
    (next > at && !rest.is_empty()).then_some(Behind::Word(next))
}

/// The last ASCII white space, unless it is the first byte.
fn last_blank(bytes: &[u8]) -> Option<usize> {
    bytes
        .iter()
        .rposition(|byte| matches!(byte, b' ' | b'\t'..=b'\r'))
        .filter(|at| *at > 0)
}

/// Moves closing quotes and brackets at the start of a slice to the slice before it.
fn realign(text: &str, slices: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut sentences = Vec::with_capacity(slices.len());
    let mut moved = 0;
    for (at, slice) in slices.iter().enumerate() {
        let start = slice.start + moved;
        let mut end = slice.end;
        moved = 0;
        if let Some(next) = slices.get(at + 1)
            && let Some((closing, length)) = closing_length(&text[next.clone()])
        {
            end = next.start + closing;
            moved = length;
        }
        if start < end {
            sentences.push(start..end);
        }
    }
    sentences
}

/// Length of the closing quotes and brackets at the start of a slice, without and with the white space after them; they
/// count only before white space, a dash (`--`) or the end.
fn closing_length(slice: &str) -> Option<(usize, usize)> {
    let closes =
        |c: char| matches!(c, '"' | '\'' | ')' | ']' | '}') || QUOTATION_MARKS.contains(&c);
    let rest = slice.trim_start_matches(closes);
    let closing = slice.len() - rest.len();
    let after = rest.trim_start();
    let counts = rest.is_empty() || after.len() < rest.len() || rest.starts_with("--");
    (closing > 0 && counts).then(|| (closing, slice.len() - after.len()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split(text: &str) -> Vec<&str> {
        sentences(text)
            .into_iter()
            .map(|range| &text[range])
            .collect()
    }

    #[test]
    fn full_stops_and_questions_end_sentences_and_line_breaks_do_not() {
        assert_eq!(
            split("One. Two? Three! Four\nfive"),
            ["One.", "Two?", "Three!", "Four\nfive"]
        );
        assert_eq!(split("v1.2 and 0.5.It"), ["v1.2 and 0.5.It"]);
    }

    #[test]
    fn closing_quotes_and_brackets_stay_with_their_sentence() {
        assert_eq!(
            split("He said \"no.\" Then (yes.) Done."),
            ["He said \"no.\"", "Then (yes.)", "Done."]
        );
        assert_eq!(
            split("It works.[3] It scales. [1] Done."),
            ["It works.", "[3] It scales.", "[1] Done."]
        );
    }

    #[test]
    fn white_space_around_the_text_is_dropped_at_its_end_only() {
        assert_eq!(split("  One.  \n Two. \n"), ["  One.", "Two."]);
        assert_eq!(split(" \n "), Vec::<&str>::new());
        assert_eq!(split(""), Vec::<&str>::new());
    }

    #[test]
    fn a_long_text_without_blanks_takes_linear_time() {
        // 600,000 bytes, each third one a candidate: quadratic work would take minutes.
        assert_eq!(split(&"a.)".repeat(200_000)).len(), 1);
    }

    proptest! {
        #[test]
        fn every_character_but_white_space_is_in_exactly_one_sentence(
            text in "([.?!,;:'\")\\]}(-]|[ \\n\\t]|Dr\\.|The|the|[A-C]|[a-c]|[0-9]|\u{a0}|\u{1c}|\\PC){0,60}"
        ) {
            let ranges = sentences(&text);
            prop_assert!(ranges.iter().all(|range| !range.is_empty()));
            prop_assert!(ranges.windows(2).all(|pair| pair[0].end <= pair[1].start));
            let without = |s: &str| s.chars().filter(|c| !is_python_whitespace(*c)).collect::<String>();
            prop_assert_eq!(without(&split(&text).concat()), without(&text));
        }
    }
}
