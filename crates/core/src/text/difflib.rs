//! Similarity of two texts as Python's `difflib.SequenceMatcher(None, a, b).ratio()`, and Python's paragraphs.
//!
//! Ratcliff and Metzener, *Pattern Matching: The Gestalt Approach* (1988), over code points, with `difflib`'s
//! "autojunk": in a long `b`, frequent characters begin no match.

use std::collections::HashMap;

use super::python_chars::is_python_whitespace;

/// From this length on, frequent characters of `b` begin no match.
const LONG: usize = 200;

/// 2 x matched characters / characters of both, 0..=1; 1 if both are empty. The order of the texts matters.
pub fn ratio(a: &str, b: &str) -> f64 {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.is_empty() && b.is_empty() {
        return 1.0;
    }
    let mut places: HashMap<char, Vec<usize>> = HashMap::new();
    for (at, c) in b.iter().enumerate() {
        places.entry(*c).or_default().push(at);
    }
    if b.len() >= LONG {
        // `difflib`'s threshold of 1% + 1. It changes ratios, and with them whether a paragraph
        // counts as irrelevant.
        places.retain(|_, at| at.len() <= b.len() / 100 + 1);
    }
    let mut matched = 0;
    // A stack instead of recursion: the depth grows with the text. Only the sum matters, so that
    // the order does not.
    let mut open = vec![(0..a.len(), 0..b.len())];
    while let Some((of_a, of_b)) = open.pop() {
        let (start_a, start_b, size) = longest(
            &a[..of_a.end],
            &b[..of_b.end],
            (of_a.start, of_b.start),
            &places,
        );
        if size > 0 {
            matched += size;
            open.push((of_a.start..start_a, of_b.start..start_b));
            open.push((start_a + size..of_a.end, start_b + size..of_b.end));
        }
    }
    2.0 * matched as f64 / (a.len() + b.len()) as f64
}

/// The longest equal run from `starts` on, as its starts and its length: of equal ones the earliest in `a`, then in `b`.
/// `places` has those of the characters of `b` that may begin a match.
fn longest(
    a: &[char],
    b: &[char],
    starts: (usize, usize),
    places: &HashMap<char, Vec<usize>>,
) -> (usize, usize, usize) {
    let (mut best_a, mut best_b, mut best) = (starts.0, starts.1, 0);
    // Lengths of the runs that end at the previous character of `a`, by their ends in `b`.
    let mut before: HashMap<usize, usize> = HashMap::new();
    for (at_a, c) in a.iter().enumerate().skip(starts.0) {
        // Two rows in place of a table of |a| x |b|: paragraphs have thousands of characters.
        let mut now = HashMap::new();
        let ends = places
            .get(c)
            .into_iter()
            .flatten()
            .filter(|at_b| (starts.1..b.len()).contains(*at_b));
        for at_b in ends {
            let size = 1 + at_b
                .checked_sub(1)
                .and_then(|end| before.get(&end))
                .unwrap_or(&0);
            now.insert(*at_b, size);
            if size > best {
                (best_a, best_b, best) = (at_a + 1 - size, at_b + 1 - size, size);
            }
        }
        before = now;
    }
    // Frequent characters may extend a run.
    while best_a > starts.0 && best_b > starts.1 && a[best_a - 1] == b[best_b - 1] {
        (best_a, best_b, best) = (best_a - 1, best_b - 1, best + 1);
    }
    while a
        .get(best_a + best)
        .is_some_and(|next| b.get(best_b + best) == Some(next))
    {
        best += 1;
    }
    (best_a, best_b, best)
}

/// The paragraphs of a text: what Python's `re.split(r"\n\s*\n", text.strip())` gives; one empty one for an empty text.
pub fn paragraphs(text: &str) -> Vec<&str> {
    let mut rest = text.trim_matches(is_python_whitespace);
    let (mut paragraphs, mut from) = (Vec::new(), 0);
    while let Some(at) = rest[from..].find('\n').map(|at| from + at) {
        let after = &rest[at + 1..];
        let blank = &after[..after.len() - after.trim_start_matches(is_python_whitespace).len()];
        match blank.rfind('\n') {
            Some(last) => {
                paragraphs.push(&rest[..at]);
                (rest, from) = (&after[last + 1..], 0);
            }
            None => from = at + 1,
        }
    }
    paragraphs.push(rest);
    paragraphs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matched_characters_of_both_count() {
        // "bcd" matches: 2 x 3 / 8.
        assert_eq!(ratio("abcd", "bcde"), 0.75);
        assert_eq!(
            (ratio("", ""), ratio("", "a"), ratio("é", "é")),
            (1.0, 0.0, 1.0)
        );
        // All characters of a long b are frequent: they begin no match, but extend one at the start.
        assert_eq!(ratio(&"ab".repeat(100), &"ba".repeat(100)), 0.0);
        assert_eq!(ratio(&"ab".repeat(100), &"ab".repeat(100)), 1.0);
    }

    #[test]
    fn blank_lines_of_python_white_space_separate_paragraphs() {
        assert_eq!(
            paragraphs(" a\n\u{1e}\n b\nc\n\u{200b}\nd\n\n"),
            ["a", " b\nc\n\u{200b}\nd"]
        );
        assert_eq!(paragraphs(" \n "), [""]);
    }
}
