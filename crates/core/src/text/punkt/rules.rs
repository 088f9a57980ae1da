//! Rules that decide whether a word's full stop ends a sentence.
//!
//! Kiss and Strunk call the first step type-based (is it a known abbreviation?) and the second token-based (what does
//! the next word look like?); section 4 of the paper describes the heuristics named below.

use super::parameters::{BEGIN_LOWER, LOWER, MIDDLE_UPPER, Parameters, UPPER};
use crate::text::python_chars::{decimal_digit, is_word_letter};

/// The type of all numbers.
const NUMBER: &str = "##number##";

/// Whether a sentence ends after `token`, given the token that follows it.
pub(super) fn ends_sentence(token: &str, next: &str, model: &Parameters) -> bool {
    if !token.ends_with('.') {
        return matches!(token, "?" | "!");
    }
    let kind = TokenKind::of(token, model);
    let initial = is_initial(token);
    let word_type = word_type(token);
    let plain_type = without_full_stop(&word_type);
    let following = next_type(next, model);
    if model
        .collocations
        .contains(&(plain_type, following.as_str()))
    {
        return false;
    }
    let seen = |contexts| model.has(&following, contexts);
    let starts = starts_sentence(next, seen);
    // An abbreviation may still end a sentence: only then do both heuristics look at the next word.
    if kind == TokenKind::Abbreviation && !initial {
        return starts == Some(true)
            || (starts_upper(next) && model.starters.contains(following.as_str()));
    }
    if initial || plain_type == NUMBER {
        let is_name = initial && starts.is_none() && starts_upper(next) && !seen(LOWER);
        if starts == Some(false) || is_name {
            return false;
        }
    }
    kind == TokenKind::SentenceEnd
}

/// Classification of a token with a final full stop by its form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TokenKind {
    SentenceEnd,
    /// An abbreviation, or an ellipsis, which is treated alike.
    Abbreviation,
    /// Final dots that are not an ellipsis.
    Unmarked,
}

impl TokenKind {
    fn of(token: &str, model: &Parameters) -> Self {
        let Some(word) = token.strip_suffix('.').filter(|word| !word.is_empty()) else {
            return Self::SentenceEnd;
        };
        if word.bytes().all(|byte| byte == b'.') {
            return Self::Abbreviation;
        }
        if word.ends_with('.') {
            return Self::Unmarked;
        }
        let lower = word.to_lowercase();
        let last = lower.rsplit('-').next().unwrap_or(&lower);
        let is_known =
            model.abbreviations.contains(lower.as_str()) || model.abbreviations.contains(last);
        if is_known {
            Self::Abbreviation
        } else {
            Self::SentenceEnd
        }
    }
}

/// The orthographic heuristic (4.1.1 of the paper): does this word begin a sentence? `None`: undecided.
fn starts_sentence(token: &str, seen: impl Fn(u8) -> bool) -> Option<bool> {
    if matches!(token, ";" | ":" | "," | "." | "!" | "?") {
        return Some(false);
    }
    if starts_upper(token) && seen(LOWER) && !seen(MIDDLE_UPPER) {
        return Some(true);
    }
    let lower = token.chars().next().is_some_and(char::is_lowercase);
    if lower && (seen(UPPER) || !seen(BEGIN_LOWER)) {
        return Some(false);
    }
    None
}

fn starts_upper(token: &str) -> bool {
    token.chars().next().is_some_and(char::is_uppercase)
}

/// One letter (mark, underscore) and a full stop.
fn is_initial(token: &str) -> bool {
    let mut chars = token.chars();
    chars.next().is_some_and(is_word_letter) && chars.as_str() == "."
}

/// The token in lower case; all numbers have one type.
fn word_type(token: &str) -> String {
    if is_number(token) {
        NUMBER.to_owned()
    } else {
        token.to_lowercase()
    }
}

/// Type of the second word of a pair: without its full stop if that seems to end a sentence.
fn next_type(token: &str, model: &Parameters) -> String {
    let word_type = word_type(token);
    let ends = token.ends_with('.')
        && word_type != NUMBER
        && TokenKind::of(token, model) == TokenKind::SentenceEnd;
    if ends {
        without_full_stop(&word_type).to_owned()
    } else {
        word_type
    }
}

fn without_full_stop(word_type: &str) -> &str {
    word_type
        .strip_suffix('.')
        .filter(|rest| !rest.is_empty())
        .unwrap_or(word_type)
}

/// `-`, then `.` or `,`, each at most once, then a digit, then digits, `,`, `.` and `-` in any order.
fn is_number(token: &str) -> bool {
    let unsigned = token.strip_prefix('-').unwrap_or(token);
    let digits = unsigned.strip_prefix(['.', ',']).unwrap_or(unsigned);
    let is_digit = |c: char| decimal_digit(c).is_some();
    digits.starts_with(is_digit)
        && digits
            .chars()
            .all(|c| is_digit(c) || matches!(c, ',' | '.' | '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(token: &str, next: &str) -> bool {
        ends_sentence(token, next, Parameters::english())
    }

    #[test]
    fn an_unknown_word_with_a_full_stop_ends_a_sentence() {
        assert!(ends("works.", "it") && ends("works.", "It") && ends("?", "x") && ends("!", "\""));
        assert!(!ends("works", "It") && !ends("what?!", "It"));
    }

    #[test]
    fn an_abbreviation_ends_one_only_before_a_word_that_begins_sentences() {
        assert!(!ends("Dr.", "Smith") && !ends("inc.", "said"));
        // "the" is a starter and was seen in lower case.
        assert!(ends("Inc.", "The") && !ends("Inc.", "the"));
        assert!(
            !ends("non-u.s.", "Smith"),
            "what stands behind the last hyphen counts"
        );
    }

    #[test]
    fn initials_and_numbers_look_at_the_next_word() {
        assert!(!ends("J.", "Doe") && !ends("3.", "percent") && ends("3.", "Results"));
        assert!(!ends("2.", ","));
    }

    #[test]
    fn collocations_hold_across_the_full_stop() {
        assert!(!ends("7.", "International") && !ends("B.", "Smith"));
    }

    #[test]
    fn an_ellipsis_is_like_an_abbreviation() {
        assert!(!ends("...", "and") && ends("...", "However"));
    }

    #[test]
    fn numbers_are_recognized() {
        for number in ["1", "-1", ".5", "-,5", "1,000.", "1-2", "3..", "٣."] {
            assert!(is_number(number), "{number}");
        }
        for other in ["", "-", ".", "1a", "--1", "..5", "²"] {
            assert!(!is_number(other), "{other}");
        }
    }
}
