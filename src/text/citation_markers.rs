//! Markers that point to sources: `[3]`, `[1, 2]`, and author-year forms.

use std::ops::Range;

/// The longest author-year marker that is looked for, in bytes: more is a remark in brackets.
const LONGEST_AUTHOR_YEAR: usize = 240;

/// `[3]` or `[1, 2]` in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberMarker {
    /// Where it stands, brackets included.
    pub range: Range<usize>,
    /// Its numbers as written; one that is too large for the type is the largest.
    pub numbers: Vec<u64>,
}

/// The markers `\[(\d+(?:,\s*\d+)*)\]` of a text, in order (`docs/metrics.md`, section 3; ASCII digits).
pub fn number_markers(text: &str) -> Vec<NumberMarker> {
    text.match_indices('[')
        .filter_map(|(start, _)| {
            let (numbers, length) = numbers_in(&text[start + 1..])?;
            Some(NumberMarker { range: start..start + 1 + length, numbers })
        })
        .collect()
}

/// Numbers up to the closing bracket, and the length with the bracket.
fn numbers_in(inner: &str) -> Option<(Vec<u64>, usize)> {
    let mut numbers = Vec::new();
    let mut rest = inner;
    loop {
        let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let digits = &rest[..rest.len() - after.len()];
        if digits.is_empty() {
            return None;
        }
        numbers.push(digits.parse().unwrap_or(u64::MAX));
        if after.starts_with(']') {
            return Some((numbers, inner.len() - after.len() + 1));
        }
        rest = after.strip_prefix(',')?.trim_start();
    }
}

/// The author-year markers of a text, in order: `(Wang et al., 2023)`, `(1, Mir et al., 2021)`, `Lee (2020a)`.
///
/// The rule: round brackets without brackets inside, at most 240 bytes long, that hold a year from 1800 to 2099 as a
/// word of its own (a letter may follow) and, before it, a word with a capital; or years only, behind a capitalised
/// word or `al.`. Several separated by semicolons are one range each. For the lexical judge only.
pub fn author_year_markers(text: &str) -> Vec<Range<usize>> {
    let mut markers = Vec::new();
    for (start, _) in text.match_indices('(') {
        let inner_start = start + 1;
        let Some(length) = text[inner_start..].find(['(', ')', '\n']).filter(|l| *l <= LONGEST_AUTHOR_YEAR) else {
            continue;
        };
        let inner = &text[inner_start..inner_start + length];
        if !text[inner_start + length..].starts_with(')') {
            continue;
        }
        if is_years_only(inner) {
            if follows_a_name(&text[..start]) {
                markers.push(start..inner_start + length + 1);
            }
            continue;
        }
        let mut offset = inner_start;
        for part in inner.split(';') {
            if names_and_year(part) {
                let lead = part.len() - part.trim_start().len();
                markers.push(offset + lead..offset + lead + part.trim().len());
            }
            offset += part.len() + 1;
        }
    }
    markers
}

fn is_year(word: &str) -> bool {
    let digits = word.strip_suffix(|c: char| c.is_ascii_lowercase()).unwrap_or(word);
    digits.len() == 4 && digits.parse::<u32>().is_ok_and(|year| (1800..2100).contains(&year))
}

fn is_years_only(inner: &str) -> bool {
    let mut words = inner.split([',', ';', ' ']).filter(|word| !word.is_empty()).peekable();
    words.peek().is_some() && words.all(is_year)
}

fn names_and_year(part: &str) -> bool {
    let mut words = part.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty());
    let mut named = false;
    words.any(|word| {
        let year = is_year(word);
        named |= !year && word.starts_with(|c: char| c.is_uppercase()) && word.chars().count() > 1;
        year && named
    })
}

fn follows_a_name(before: &str) -> bool {
    let word = before.trim_end_matches(' ').rsplit(char::is_whitespace).next().unwrap_or_default();
    word == "al." || (word.starts_with(|c: char| c.is_uppercase()) && word.chars().count() > 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn numbers(text: &str) -> Vec<Vec<u64>> {
        number_markers(text).into_iter().map(|marker| marker.numbers).collect()
    }

    fn authors(text: &str) -> Vec<&str> {
        author_year_markers(text).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn number_markers_are_lists_of_digits_in_square_brackets() {
        assert_eq!(numbers("a [3], b [1, 2] c[0][12,13]"), [vec![3], vec![1, 2], vec![0], vec![12, 13]]);
        assert_eq!(numbers("[] [a] [1 ] [1;2] [1,] [12 patients] ["), Vec::<Vec<u64>>::new());
        assert_eq!(numbers("[[7]"), [vec![7]]);
        assert_eq!(numbers("[99999999999999999999999]"), [vec![u64::MAX]]);
    }

    #[test]
    fn author_year_markers_have_a_name_and_a_year() {
        assert_eq!(
            authors("x (Wang et al., 2023) (12, Mir et al., 2021)"),
            ["Wang et al., 2023", "12, Mir et al., 2021"]
        );
        assert_eq!(authors("(Doe, 1999a; see Ng & Li, 2004)"), ["Doe, 1999a", "see Ng & Li, 2004"]);
        assert_eq!(authors("Lee et al. (2020b) and Kim (2019, 2021)"), ["(2020b)", "(2019, 2021)"]);
    }

    #[test]
    fn other_brackets_are_no_markers() {
        assert_eq!(authors("(in 2023) since (2020) (n = 2000) (Section 3) f(x) (A, 2001"), Vec::<&str>::new());
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "([\\[\\](),; ]|et al.|[A-Zé]|20[0-9]{2}|\\PC){0,40}") {
            for range in author_year_markers(&text) {
                prop_assert!(!text[range].is_empty());
            }
            number_markers(&text);
        }
    }
}
