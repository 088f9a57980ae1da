//! Simple sentence splitter for the lexical judge, where a wrong split matters little; see `punkt` for the other.

use std::ops::Range;

use icu_properties::CodePointSetData;
use icu_properties::props::SentenceTerminal;

use super::citation_markers::marker_at;

/// Abbreviations whose full stop ends no sentence, in lower case.
const ABBREVIATIONS: [&str; 22] = [
    "al", "e.g", "i.e", "fig", "figs", "eq", "eqs", "sec", "ref", "refs", "no", "vol", "pp", "vs",
    "cf", "etc", "dr", "prof", "mr", "ms", "approx", "resp",
];

/// Byte ranges of the sentences, trimmed, none empty.
///
/// The rule: a line break ends a sentence; so does a run of `.`, `!`, `?` (with closing quotes, brackets and citation
/// numbers in square brackets after it) before white space or the end, unless the full stop follows a known
/// abbreviation or one letter, or the next word begins in lower case. The full stops of scripts without Latin ones end
/// a sentence everywhere.
pub fn simple_sentences(text: &str) -> Vec<Range<usize>> {
    let mut sentences = Vec::new();
    let mut start = 0;
    let mut skip_to = 0;
    for (at, c) in text.char_indices() {
        if at < skip_to {
            continue;
        }
        let (end, ends) = match c {
            '\n' | '\r' | '\u{2028}' | '\u{2029}' => (at, true),
            '.' | '!' | '?' => end_after(text, at, start),
            _ => match other_stop(&text[at..]) {
                Some(length) => (behind_markers(text, at + length), true),
                None => continue,
            },
        };
        skip_to = end;
        if ends {
            push(text, start..end, &mut sentences);
            start = end;
        }
    }
    push(text, start..text.len(), &mut sentences);
    sentences
}

fn push(text: &str, range: Range<usize>, sentences: &mut Vec<Range<usize>>) {
    let sentence = &text[range.clone()];
    let start = range.start + (sentence.len() - sentence.trim_start().len());
    let trimmed = sentence.trim();
    if !trimmed.is_empty() {
        sentences.push(start..start + trimmed.len());
    }
}

/// End of the run of marks at `at`, and whether the sentence ends there.
fn end_after(text: &str, at: usize, start: usize) -> (usize, bool) {
    let marks = |c: char| matches!(c, '.' | '!' | '?') || closes(c);
    let marks_end = text.len() - text[at..].trim_start_matches(marks).len();
    // `.[3]` and `. [3]`: the number belongs to the sentence before it.
    let end = behind_markers(text, marks_end);
    let Some(next) = text[end..].chars().next() else {
        return (end, true);
    };
    if !next.is_whitespace() {
        return (marks_end, false);
    }
    let follows = text[end..].trim_start().chars().next().unwrap_or(' ');
    // Only a full stop abbreviates; `?` and `!` end a sentence whatever follows.
    let goes_on = text[at..].starts_with('.')
        && (follows.is_lowercase() || is_abbreviation(&text[start..at]));
    (end, !goes_on)
}

/// The end of the citation markers behind `at`.
fn behind_markers(text: &str, at: usize) -> usize {
    let mut end = at;
    loop {
        let next = text.len() - text[end..].trim_start_matches(' ').len();
        match marker_at(text, next) {
            Some(marker) => end = marker.range.end,
            None => return end,
        }
    }
}

/// Whether it is a closing quote or bracket.
pub(super) fn closes(c: char) -> bool {
    "\"')]}”’»」』）》〉】］〕".contains(c)
}

/// The length of the full stops of another script at the start of `rest`, with closing quotes and brackets behind them.
pub(super) fn other_stop(rest: &str) -> Option<usize> {
    let behind = rest.trim_start_matches(is_other_stop);
    let is_decimal = rest.starts_with('．') && behind.starts_with(char::is_numeric);
    let length = rest.len() - behind.trim_start_matches(closes).len();
    (behind.len() < rest.len() && !is_decimal).then_some(length)
}

fn is_other_stop(c: char) -> bool {
    !c.is_ascii() && CodePointSetData::new::<SentenceTerminal>().contains(c)
}

/// Whether the text before a full stop ends with an abbreviation.
pub(super) fn is_abbreviation(before: &str) -> bool {
    let word = before
        .rsplit(|c: char| c.is_whitespace() || matches!(c, '(' | '[' | ','))
        .next()
        .unwrap_or_default();
    let mut chars = word.chars();
    let one_letter = matches!((chars.next(), chars.next()), (Some(c), None) if c.is_alphabetic());
    one_letter || ABBREVIATIONS.contains(&word.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split(text: &str) -> Vec<&str> {
        simple_sentences(text)
            .into_iter()
            .map(|range| &text[range])
            .collect()
    }

    #[test]
    fn full_stops_line_breaks_and_questions_end_sentences() {
        assert_eq!(
            split("One. Two? \"Three!\" Four\nFive"),
            ["One.", "Two?", "\"Three!\"", "Four", "Five"]
        );
    }

    #[test]
    fn abbreviations_initials_and_numbers_do_not() {
        assert_eq!(
            split("Wang et al. 2023 found it, e.g. In J. Doe, 0.5 v1.2.x. End."),
            [
                "Wang et al. 2023 found it, e.g. In J. Doe, 0.5 v1.2.x.",
                "End."
            ]
        );
    }

    #[test]
    fn citation_numbers_behind_the_full_stop_stay_with_their_sentence() {
        assert_eq!(
            split("It works.[3] It scales. [1, 2] [4] Done."),
            ["It works.[3]", "It scales. [1, 2] [4]", "Done."]
        );
    }

    #[test]
    fn full_stops_of_other_scripts_end_sentences() {
        assert_eq!(split("一。二！三"), ["一。", "二！", "三"]);
        assert_eq!(
            split("「一。」【1】二؟ [2] ３．５"),
            ["「一。」【1】", "二؟ [2]", "３．５"]
        );
    }

    proptest! {
        #[test]
        fn every_other_character_than_white_space_is_in_exactly_one_sentence(text in any::<String>()) {
            let joined: String = split(&text).concat();
            let without = |s: &str| s.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(without(&joined), without(&text));
        }
    }
}
