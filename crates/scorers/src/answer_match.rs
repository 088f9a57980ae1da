//! Short answers against gold answers: exact match, token F1, presence, match.
//!
//! Source: `scripts/citation_correctness_eval.py` of ScholarQABench (`normalize_answer`, `compute_f1`, `compute_exact`,
//! `exact_presence`, `compute_str_em`, `compute_match`); normalization and F1 are those of SQuAD. For the number of
//! words see [`word_count`].

use std::collections::HashMap;

use scholareval_core::domain::Mode;
use scholareval_core::text::python_chars::{is_python_whitespace, is_python_word};
use scholareval_core::text::words::{word_count, words};
use scholareval_stats::Prf;

/// Lowercases, deletes ASCII punctuation, replaces the words `a`, `an`, `the` by a space and collapses white space.
///
/// ```
/// assert_eq!(scholareval_scorers::answer_match::normalize("  The U.S. an-swer "), "us answer");
/// ```
pub fn normalize(text: &str) -> String {
    let mut kept = text.to_lowercase();
    kept.retain(|c| !c.is_ascii_punctuation());
    let mut normal = String::with_capacity(kept.len());
    let mut rest = kept.as_str();
    while let Some(first) = rest.chars().next() {
        // A run of word characters, or of others.
        // The script's `\b(a|an|the)\b`: Python's word boundaries are those of Unicode, so a run of
        // word characters is compared as a whole.
        let end = rest.find(|c| is_python_word(c) != is_python_word(first));
        let (part, behind) = rest.split_at(end.unwrap_or(rest.len()));
        rest = behind;
        if matches!(part, "a" | "an" | "the") {
            normal.push(' ');
        } else {
            normal.push_str(part);
        }
    }
    words(&normal).collect::<Vec<_>>().join(" ")
}

/// Whether the gold answer and the output are equal after normalization.
pub fn exact_match(gold: &str, output: &str) -> bool {
    normalize(gold) == normalize(output)
}

/// F1 of the bags of normalized tokens, 0..=1: 2 p r / (p + r), p = shared / output tokens, r = shared / gold tokens.
/// If either has no tokens: 1 if neither has any, else 0.
///
/// ```
/// // "answer is true 0" has 4 tokens, gold 1: p = 1/4, r = 1, F1 = 0.5 / 1.25 = 0.4.
/// assert_eq!(scholareval_scorers::answer_match::token_f1("true", "The answer is: **true** [0]."), 0.4);
/// ```
pub fn token_f1(gold: &str, output: &str) -> f64 {
    let (gold, output) = (normalize(gold), normalize(output));
    if gold.is_empty() || output.is_empty() {
        return f64::from(u8::from(gold == output));
    }
    let mut open: HashMap<&str, usize> = HashMap::new();
    for token in words(&gold) {
        *open.entry(token).or_default() += 1;
    }
    let gold_tokens = word_count(&gold);
    let mut shared = 0;
    for token in words(&output) {
        if let Some(count) = open.get_mut(token).filter(|count| **count > 0) {
            *count -= 1;
            shared += 1;
        }
    }
    let output_tokens = word_count(&output);
    Prf::of(shared as f64, output_tokens as f64, gold_tokens as f64).f1
}

/// Whether the normalized output contains any of the normalized short answers as a substring. A short answer that
/// normalizes to nothing, such as `A`, is in no output; in compat it is in every output.
pub fn is_present<S: AsRef<str>>(short_answers: &[S], output: &str, mode: Mode) -> bool {
    is_within(short_answers, &normalize(output), mode)
}

fn is_within<S: AsRef<str>>(short_answers: &[S], normal: &str, mode: Mode) -> bool {
    let mut answers = short_answers
        .iter()
        .map(|answer| normalize(answer.as_ref()));
    answers.any(|answer| normal.contains(&answer) && (mode == Mode::Compat || !answer.is_empty()))
}

/// STR-EM: the share of the short-answer sets with at least one answer in the output, 0..=1; `None` without sets.
///
/// ```
/// # use scholareval_core::domain::Mode;
/// # use scholareval_scorers::answer_match::str_em;
/// // "cat" is there, "dog" is not: 1 of 2.
/// let sets = [vec!["CAT!", "dog"], vec!["dog"]];
/// assert_eq!(str_em(&sets, "The cat sat", Mode::Default), Some(0.5));
/// ```
pub fn str_em<A: AsRef<[S]>, S: AsRef<str>>(sets: &[A], output: &str, mode: Mode) -> Option<f64> {
    let normal = normalize(output);
    let present = sets
        .iter()
        .filter(|set| is_within(set.as_ref(), &normal, mode))
        .count();
    (!sets.is_empty()).then(|| present as f64 / sets.len() as f64)
}

/// Whether the output contains the gold answer, ignoring case: as whole words (`no` is not in `known`), in compat as
/// any substring. Strip citation markers from both first ([`citation_markers`](scholareval_core::text::citation_markers)).
///
/// A match ends where a letter or digit at either end of the gold answer does not continue in the output. A gold answer
/// that is empty or white space cannot match: `None`. In compat it always matches.
pub fn matches(gold: &str, output: &str, mode: Mode) -> Option<bool> {
    let (gold, output) = (gold.to_lowercase(), output.to_lowercase());
    if mode == Mode::Compat {
        return Some(output.contains(&gold));
    }
    let gold = gold.trim_matches(is_python_whitespace);
    let first = gold.chars().next()?;
    let last = gold.chars().next_back()?;
    // All occurrences are tried, since the first one may lie within a word and the next one not.
    let mut places = occurrences(gold.as_bytes(), output.as_bytes());
    Some(places.any(|at| {
        let before = output[..at].chars().next_back();
        let behind = output[at + gold.len()..].chars().next();
        !is_in_word(before, first) && !is_in_word(behind, last)
    }))
}

/// Whether the character at an end of a match continues a word with its neighbor outside.
fn is_in_word(neighbor: Option<char>, end: char) -> bool {
    is_python_word(end) && neighbor.is_some_and(is_python_word)
}

/// Starts of all occurrences, overlapping ones too (so not `match_indices`), in linear time. Source: D. Knuth,
/// J. Morris, V. Pratt: *Fast pattern matching in strings* (1977).
fn occurrences(needle: &[u8], text: &[u8]) -> impl Iterator<Item = usize> {
    // For each prefix of the needle, the length of the longest other prefix that it ends with.
    let mut borders = vec![0; needle.len()];
    for at in 1..needle.len() {
        borders[at] = extended(needle, &borders, borders[at - 1], needle[at]);
    }
    let mut length = 0;
    text.iter().enumerate().filter_map(move |(at, byte)| {
        length = extended(needle, &borders, length, *byte);
        (length == needle.len()).then(|| at + 1 - length)
    })
}

/// The length of the longest prefix of the needle that ends with this byte, if one of `length` ends before it.
fn extended(needle: &[u8], borders: &[usize], mut length: usize, byte: u8) -> usize {
    while length > 0 && needle.get(length) != Some(&byte) {
        length = borders[length - 1];
    }
    length + usize::from(needle.get(length) == Some(&byte))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn normalizing_deletes_ascii_punctuation_and_articles_that_are_words() {
        for (text, normal) in [
            ("The the THE", ""),
            ("the1 cat", "the1 cat"),
            ("the-cat", "thecat"),
            ("the\u{2011}cat", "\u{2011}cat"),
            ("a\u{b2}", "a\u{b2}"),
            ("\u{2018}a\u{2019} b", "\u{2018} \u{2019} b"),
            ("a\u{1c}b\u{a0}c", "b c"),
            ("x_y", "xy"),
            ("a\u{93e}", "\u{93e}"),
        ] {
            assert_eq!(normalize(text), normal, "{text:?}");
        }
    }

    #[test]
    fn f1_counts_tokens_as_often_as_both_have_them() {
        // gold cat dog (2), output cat cat (2): shared 1, p = r = 1/2.
        assert_eq!(token_f1("cat dog", "cat cat"), 0.5);
        assert_eq!(
            (
                token_f1("the", ""),
                token_f1("the", "of"),
                token_f1("x", "y")
            ),
            (1.0, 0.0, 0.0)
        );
    }

    #[test]
    fn match_wants_whole_words_and_compat_a_substring() {
        for (gold, output, whole) in [
            ("no", "It is not known", false),
            ("yes", "eyes", false),
            ("no", "known, but: No!", true),
            ("aba", "xaba aba", true),
            ("aa b", "aaa b aa b", true),
            ("5%", "15%", false),
            ("5%", "about 5%of", true),
            ("(x)", "f(x)g", true),
            ("\u{6587}", "\u{6587}\u{3002}", true),
        ] {
            assert_eq!(
                matches(gold, output, Mode::Default),
                Some(whole),
                "{gold} in {output}"
            );
            assert_eq!(
                matches(gold, output, Mode::Compat),
                Some(true),
                "{gold} in {output}"
            );
        }
    }

    #[test]
    fn huge_tokens_are_matched_in_linear_time() {
        // Looking at every overlapping occurrence byte by byte would take hours.
        let token = |letters: usize| "a".repeat(letters);
        let (gold, output) = (token(1_000_000), token(2_000_000));
        assert_eq!(matches(&gold, &output, Mode::Default), Some(false));
        assert_eq!(
            matches(&gold, &format!("{output} {gold}."), Mode::Default),
            Some(true)
        );
        let (gold, output) = ("ab ".repeat(300_000) + "a", "ab ".repeat(600_000));
        assert_eq!(matches(&gold, &output, Mode::Default), Some(false));
        // 2,000 sets of short answers: the output is normalized once.
        assert_eq!(
            str_em(&vec![vec!["zz"]; 2_000], &token(200_000), Mode::Default),
            Some(0.0)
        );
    }

    #[test]
    fn empty_gold_matches_nothing_and_in_compat_everything() {
        assert_eq!(matches("", "x", Mode::Default), None);
        assert_eq!(matches(" \n", "x", Mode::Default), None);
        assert_eq!(matches("", "", Mode::Compat), Some(true));
    }

    #[test]
    fn without_sets_of_short_answers_there_is_no_share() {
        assert_eq!(str_em::<Vec<&str>, &str>(&[], "x", Mode::Default), None);
        assert_eq!(
            str_em(&[Vec::<&str>::new()], "x", Mode::Default),
            Some(0.0),
            "a set without answers is not present"
        );
    }

    #[test]
    fn an_article_is_a_short_answer_of_every_output_in_compat_only() {
        let share = |mode| str_em(&[["A"]], "No idea", mode);
        assert_eq!(
            (share(Mode::Default), share(Mode::Compat)),
            (Some(0.0), Some(1.0))
        );
    }

    fn texts() -> impl Strategy<Value = String> {
        "(a|an|the|cat|[ .,'-]|\u{1c}|\\PC){0,30}"
    }

    proptest! {
        #[test]
        fn normalizing_twice_is_normalizing_once(text in texts()) {
            let once = normalize(&text);
            prop_assert_eq!(normalize(&once), once);
        }

        #[test]
        fn a_text_matches_itself_and_f1_is_a_symmetric_share(first in texts(), second in texts()) {
            prop_assert!(exact_match(&first, &first));
            prop_assert_eq!(token_f1(&first, &first), 1.0);
            let f1 = token_f1(&first, &second);
            prop_assert!((0.0..=1.0).contains(&f1));
            prop_assert_eq!(f1, token_f1(&second, &first));
            prop_assert_eq!(is_present(&[&first], &first, Mode::Default), !normalize(&first).is_empty());
        }

        #[test]
        fn every_occurrence_is_found(needle in "[ab]{1,4}", text in "[ab]{0,30}") {
            let expected = (0..text.len()).filter(|at| text[*at..].starts_with(&needle));
            let places = occurrences(needle.as_bytes(), text.as_bytes());
            prop_assert_eq!(places.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        }

        #[test]
        fn whole_words_are_substrings(gold in texts(), output in texts()) {
            let trimmed = gold.trim_matches(is_python_whitespace);
            if matches(trimmed, &output, Mode::Default) == Some(true) {
                prop_assert_eq!(matches(trimmed, &output, Mode::Compat), Some(true));
            }
            let itself = matches(trimmed, trimmed, Mode::Default);
            prop_assert_eq!(itself, (!trimmed.is_empty()).then_some(true));
        }
    }
}
