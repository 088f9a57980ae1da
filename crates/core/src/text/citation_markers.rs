//! Finds and removes citation markers: `[3]`, `[1, 2]`, `[1-3]`, `【3】`, `[cite: 3]`, and author-year forms.

use std::ops::Range;

use super::python_chars::{decimal_digit, is_python_whitespace};

/// Maximum length of an author-year marker in bytes: more is a remark in brackets.
// Some ten authors with their years.
const LONGEST_AUTHOR_YEAR: usize = 240;

/// Brackets of markers.
const BRACKETS: [(char, char); 3] = [('[', ']'), ('【', '】'), ('［', '］')];

/// How markers begin, those in superscript too.
const OPENINGS: [char; 5] = ['[', '【', '［', '\\', '<'];

/// What separates the numbers of a marker.
pub(super) const SEPARATORS: [char; 7] = [',', ';', '，', '；', '、', '،', '؛'];

/// Maximum count of numbers in a range; a longer one counts as its two ends.
// No passage rests on more sources, and `[1-999999999]` must not fill the memory.
const LONGEST_RANGE: u64 = 100;

/// Words before the numbers of a marker: `[cite: 1]`.
const LABELS: [&str; 8] = [
    "citations",
    "citation",
    "cite",
    "sources",
    "source",
    "references",
    "reference",
    "ref",
];

/// A citation marker with numbers in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberMarker {
    /// Its range, brackets included.
    pub range: Range<usize>,
    /// Its numbers as written; one too large for the type becomes the largest.
    pub numbers: Vec<u64>,
}

/// Where a citation stands in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkerPlace {
    /// All that belongs to it: brackets, the address of a link, the parentheses around it.
    pub range: Range<usize>,
    /// The part of it that is text of the sentence, such as the title of a link; empty for a mere marker.
    pub kept: Range<usize>,
}

impl MarkerPlace {
    /// A marker of which nothing is text.
    pub fn marker(range: Range<usize>) -> Self {
        let kept = range.end..range.end;
        Self { range, kept }
    }
}

/// The markers `\[(\d+(?:,\s*\d+)*)\]` of a text, in order (`docs/metrics.md`, citations). Digits and white space are
/// Python's: decimal digits of every script count, `[²]` does not.
///
/// ```
/// use scholareval_core::text::citation_markers::number_markers;
/// let numbers: Vec<Vec<u64>> = number_markers("A [0]. B [1, 12], not [12 mice].").into_iter().map(|m| m.numbers).collect();
/// assert_eq!(numbers, [vec![0], vec![1, 12]]);
/// ```
pub fn number_markers(text: &str) -> Vec<NumberMarker> {
    let brackets = text.match_indices('[');
    let markers = brackets.filter_map(|(start, _)| marker_at(text, start));
    markers
        .filter(|marker| is_of_reference(&text[marker.range.clone()]))
        .collect()
}

/// Whether the reference knows the marker `[..]`: with commas only, and white space only behind them.
fn is_of_reference(marker: &str) -> bool {
    let mut parts = marker[1..marker.len() - 1].split(',');
    parts.next().is_some_and(is_digits)
        && parts.all(|part| is_digits(part.trim_start_matches(is_python_whitespace)))
}

fn is_digits(text: &str) -> bool {
    leading_digits(text).1.is_empty()
}

/// The markers of a text in every form that answers use, in order: `[3]`, `[1, 2]`, `[0; 1]`, `[1-3]`, `[1, 4–6]`, `【3】`,
/// with white space anywhere within; `[^3]`, `\\[3\\]`, `[cite: 1, 3]`, `【3†source】`, `【4:3†source】`.
///
/// An index in code is not a marker: a bracket directly behind a word between back ticks, as in `` `x[0]` ``.
///
/// ```
/// use scholareval_core::text::citation_markers::citation_markers;
/// let markers = citation_markers("A [0-2]. B【7†L3-L5】 `c[1]` [cite: 4].");
/// let numbers: Vec<Vec<u64>> = markers.into_iter().map(|marker| marker.numbers).collect();
/// assert_eq!(numbers, [vec![0, 1, 2], vec![7], vec![4]]);
/// ```
pub fn citation_markers(text: &str) -> Vec<NumberMarker> {
    let places = places_of_markers(text).into_iter();
    places.filter_map(|at| marker_at(text, at)).collect()
}

/// Where markers may begin: every character but the brackets of indices in code.
pub(crate) fn places_of_markers(text: &str) -> Vec<usize> {
    let mut places = Vec::new();
    let (mut is_fenced, mut line_start) = (false, 0);
    for line in text.split_inclusive('\n') {
        is_fenced ^= line.trim_start().starts_with("```");
        let (mut is_code, mut before) = (is_fenced, ' ');
        for (at, c) in line.char_indices() {
            is_code ^= c == '`';
            let is_index = is_code && (before.is_alphanumeric() || "_)]".contains(before));
            if !is_index && (OPENINGS.contains(&c) || superscript_digit(c).is_some()) {
                places.push(line_start + at);
            }
            before = c;
        }
        line_start += line.len();
    }
    places
}

/// The marker in brackets that begins at this byte.
pub(crate) fn marker_at(text: &str, start: usize) -> Option<NumberMarker> {
    let whole = &text[start..];
    // Markdown escapes brackets.
    let (bracketed, is_escaped) = match whole.strip_prefix('\\') {
        Some(rest) => (rest.strip_prefix('[').map(|_| rest)?, true),
        None => (whole, false),
    };
    let (open, close) = *BRACKETS
        .iter()
        .find(|(open, _)| bracketed.starts_with(*open))?;
    let inner = &bracketed[open.len_utf8()..];
    let (numbers, rest) = numbers_of(without_label(inner))?;
    // What OpenAI's tools show behind a number: the lines, or the word "source".
    let rest = match rest.strip_prefix('†') {
        Some(shown) if open == '【' => &shown[shown.find([open, close, '\n'])?..],
        _ => rest,
    };
    let rest = rest
        .strip_prefix('\\')
        .filter(|_| is_escaped)
        .unwrap_or(rest);
    let behind = rest.strip_prefix(close)?;
    let range = start..text.len() - behind.len();
    Some(NumberMarker { range, numbers })
}

/// Numbers with their separators, and what follows.
fn numbers_of(text: &str) -> Option<(Vec<u64>, &str)> {
    let mut numbers = Vec::new();
    let mut rest = text;
    loop {
        let (mut first, mut after) = spaced_number(rest.trim_start_matches([' ', '^']))?;
        // `【4:1†source】`: the first result of the fourth search.
        if let Some((inner, behind)) = after.strip_prefix(':').and_then(spaced_number)
            && behind.starts_with('†')
        {
            (first, after) = (inner, behind);
        }
        let behind_dashes = after.trim_start_matches(is_dash);
        rest = after;
        let mut last = first;
        if behind_dashes.len() < after.len() {
            (last, rest) = spaced_number(behind_dashes)?;
        }
        match last.checked_sub(first)? {
            0 => numbers.push(first),
            1..LONGEST_RANGE => numbers.extend(first..=last),
            _ => numbers.extend([first, last]),
        }
        match rest.strip_prefix(SEPARATORS) {
            Some(next) => rest = next,
            None => return Some((numbers, rest)),
        }
    }
}

/// The inside of a marker without the word before its numbers.
fn without_label(inner: &str) -> &str {
    for label in LABELS {
        let word = inner.get(..label.len()).unwrap_or_default();
        if word.eq_ignore_ascii_case(label) {
            let behind = &inner[label.len()..];
            return behind.strip_prefix([':', '：', '.']).unwrap_or(behind);
        }
    }
    inner
}

/// The marker in superscript that begins at this byte: `¹`, `²,³`, `<sup>1</sup>`, `<sup>2, 3</sup>`, `<sup>[1][2]</sup>`. Alone
/// it may as well be an exponent.
pub(crate) fn superscript_at(text: &str, start: usize) -> Option<NumberMarker> {
    let whole = &text[start..];
    let Some(tagged) = whole.strip_prefix("<sup>") else {
        let signs = ",˒⁻–-";
        let end = whole.find(|c| superscript_digit(c).is_none() && !signs.contains(c));
        let written = whole[..end.unwrap_or(whole.len())].trim_end_matches(|c| signs.contains(c));
        let plain: String = written
            .chars()
            .map(|c| match superscript_digit(c) {
                Some(digit) => digit,
                None if c == '˒' => ',',
                None if c == '⁻' => '-',
                None => c,
            })
            .collect();
        let (numbers, rest) = numbers_of(&plain)?;
        let range = start..start + written.len();
        return rest.is_empty().then_some(NumberMarker { range, numbers });
    };
    let (inner, tag) = tagged.split_at(tagged.find('<')?);
    let behind = tag.strip_prefix("</sup>")?;
    let range = start..text.len() - behind.len();
    if let Some((numbers, "")) = numbers_of(inner) {
        return Some(NumberMarker { range, numbers });
    }
    let mut numbers = Vec::new();
    let mut rest = inner.trim_start();
    while let Some(marker) = marker_at(rest, 0) {
        numbers.extend(marker.numbers);
        rest = rest[marker.range.end..].trim_start_matches([' ', ',', ';']);
    }
    (rest.is_empty() && !numbers.is_empty()).then_some(NumberMarker { range, numbers })
}

/// The digit that a superscript one stands for.
pub(super) fn superscript_digit(c: char) -> Option<char> {
    let digit = match c {
        '¹' => 1,
        '²' => 2,
        '³' => 3,
        '⁰' | '⁴'..='⁹' => u32::from(c) - u32::from('⁰'),
        _ => return None,
    };
    char::from_digit(digit, 10)
}

/// A number with the white space around it, and what follows.
fn spaced_number(text: &str) -> Option<(u64, &str)> {
    let (digits, after) = leading_digits(text.trim_start_matches(is_python_whitespace));
    let after = after.trim_start_matches(is_python_whitespace);
    (!digits.is_empty()).then(|| (number(digits), after))
}

/// Whether it is a hyphen or a dash of any length or width.
pub(crate) fn is_dash(c: char) -> bool {
    matches!(
        c,
        '-' | '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{ff0d}' | '～'
    )
}

fn leading_digits(text: &str) -> (&str, &str) {
    let after = text.trim_start_matches(|c| decimal_digit(c).is_some());
    text.split_at(text.len() - after.len())
}

fn number(digits: &str) -> u64 {
    let mut number: u64 = 0;
    for c in digits.chars() {
        let digit = u64::from(decimal_digit(c).unwrap_or(0));
        // `[99999999999999999999]` is a marker, too, of a source that does not exist.
        number = number.saturating_mul(10).saturating_add(digit);
    }
    number
}

/// The digits in ASCII without leading zeros, of any length, as in Python's `str(int(digits))`.
fn canonical(digits: &str) -> String {
    let ascii: String = digits
        .chars()
        .filter_map(decimal_digit)
        .map(|digit| char::from(b'0' + digit))
        .collect();
    let significant = ascii.trim_start_matches('0');
    if significant.is_empty() {
        "0".to_owned()
    } else {
        significant.to_owned()
    }
}

/// Every number of every marker as a separate marker, in order, with duplicates: `[1, 02] [1]` gives `[1]`, `[2]`,
/// `[1]`. Source: `extract_citations` of ScholarQABench's `citation_correctness_eval.py`.
pub fn citation_ids(text: &str) -> Vec<String> {
    let mut ids = Vec::new();
    for marker in number_markers(text) {
        let inner = &text[marker.range.start + 1..marker.range.end - 1];
        for digits in inner.split(',') {
            ids.push(format!("[{}]", canonical(digits)));
        }
    }
    ids
}

/// Citations as read by the reference's entailment: the digits right after any `[`, so that `[1, 2]` is 1 and `[12
/// mice]` is 12 (a fault that compat mode keeps). Decimal, without leading zeros.
pub fn first_numbers(text: &str) -> Vec<String> {
    let mut numbers = Vec::new();
    for (at, _) in text.match_indices('[') {
        let (digits, _) = leading_digits(&text[at + 1..]);
        if !digits.is_empty() {
            numbers.push(canonical(digits));
        }
    }
    numbers
}

/// The text without its number markers: runs of two or more white-space characters become one space, the ends are
/// trimmed, ` .` and ` ,` become `.` and `,`. Source: `remove_citations` of the same script.
///
/// ```
/// use scholareval_core::text::citation_markers::without_citations;
/// assert_eq!(without_citations("Lipids help [1, 2] , proteins too [3] ."), "Lipids help, proteins too.");
/// ```
pub fn without_citations(text: &str) -> String {
    removed(text, 0..text.len(), &places(number_markers(text)))
}

/// The text without its markers in every form, tidied as by [`without_citations`].
pub fn without_markers(text: &str) -> String {
    removed(text, 0..text.len(), &places(citation_markers(text)))
}

fn places(markers: Vec<NumberMarker>) -> Vec<MarkerPlace> {
    let markers = markers.into_iter();
    markers
        .map(|marker| MarkerPlace::marker(marker.range))
        .collect()
}

/// The text without its markers in every form. Nothing else changes but the spaces between a marker and a full stop or comma
/// behind it: `.05` keeps the space before it, so that equal texts stay equal.
///
/// ```
/// use scholareval_core::text::citation_markers::cut_markers;
/// assert_eq!(cut_markers("Lipids help [1, 2] , with p of .05 [3–5]."), "Lipids help, with p of .05.");
/// ```
pub fn cut_markers(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut end = 0;
    for marker in citation_markers(text) {
        kept.push_str(&text[end..marker.range.start]);
        end = marker.range.end;
        let behind = text[end..].trim_start_matches(' ');
        if behind.starts_with(['.', ',']) {
            kept.truncate(kept.trim_end_matches(' ').len());
            end = text.len() - behind.len();
        }
    }
    kept.push_str(&text[end..]);
    kept
}

/// A part of a text without these markers, all of them in the part.
pub(crate) fn removed(text: &str, part: Range<usize>, markers: &[MarkerPlace]) -> String {
    let mut left = String::with_capacity(part.len());
    let mut end = part.start;
    for MarkerPlace { range, kept } in markers {
        left.push_str(&text[end..range.start]);
        left.push_str(&text[kept.clone()]);
        end = range.end;
    }
    left.push_str(&text[end..part.end]);
    let single = single_spaces(&left);
    single
        .trim_matches(is_python_whitespace)
        .replace(" .", ".")
        .replace(" ,", ",")
}

/// Collapses runs of two or more white-space characters to one space; a single one is unchanged.
fn single_spaces(text: &str) -> String {
    let mut single = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_python_whitespace) {
        let (before, from) = rest.split_at(at);
        let after = from.trim_start_matches(is_python_whitespace);
        let run = &from[..from.len() - after.len()];
        single.push_str(before);
        single.push_str(if run.chars().nth(1).is_some() {
            " "
        } else {
            run
        });
        rest = after;
    }
    single.push_str(rest);
    single
}

/// The author-year markers of a text, in order: `(Wang et al., 2023)`, `(1, Mir et al., 2021)`, `[Ng & Li, 2004]`, `Lee (2020a)`.
///
/// The rule: brackets without nested ones, at most 240 bytes long, that hold a year from 1800 to 2099 as a
/// word (a letter may follow) and, before it, a capitalized word; or only years, after a capitalized word or `al.`.
/// Several separated by semicolons are one range each.
pub fn author_year_markers(text: &str) -> Vec<Range<usize>> {
    let mut markers = Vec::new();
    // The last word before a bracket with years only.
    let mut word = 0..0;
    for (start, open) in text.match_indices(['(', '[']) {
        let inner_start = start + 1;
        let close = if open == "(" { ')' } else { ']' };
        let Some(length) = text[inner_start..]
            .find(['(', '[', close, '\n'])
            .filter(|l| *l <= LONGEST_AUTHOR_YEAR)
        else {
            continue;
        };
        let inner = &text[inner_start..inner_start + length];
        if !text[inner_start + length..].starts_with(close) {
            continue;
        }
        if open == "(" && is_years_only(inner) {
            // Looking back no further than to the last such bracket takes linear time on one huge token.
            let before = text[..start].trim_end_matches(' ');
            let space = before[word.end..]
                .rmatch_indices(char::is_whitespace)
                .next();
            word =
                space.map_or(word.start, |(at, space)| word.end + at + space.len())..before.len();
            if is_name(&text[word.clone()]) {
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

/// Whether the line has only one of these titles, perhaps as a heading.
pub fn is_title(line: &str, titles: &[&str]) -> bool {
    let name = line.trim_matches(|c: char| c.is_whitespace() || matches!(c, '#' | '*' | '_' | ':'));
    // No title is longer: a text of one line must not be lower-cased for each look.
    name.len() <= 20 && titles.contains(&name.to_lowercase().as_str())
}

pub(crate) fn is_year(word: &str) -> bool {
    let digits = word
        .strip_suffix(|c: char| c.is_ascii_lowercase())
        .unwrap_or(word);
    digits.len() == 4
        && digits
            .parse::<u32>()
            .is_ok_and(|year| (1800..2100).contains(&year))
}

fn is_years_only(inner: &str) -> bool {
    let mut words = inner
        .split([',', ';', ' '])
        .filter(|word| !word.is_empty())
        .peekable();
    words.peek().is_some() && words.all(is_year)
}

fn names_and_year(part: &str) -> bool {
    let mut words = part
        .split(|c: char| c.is_whitespace() || c == ',')
        .filter(|word| !word.is_empty());
    let mut named = false;
    words.any(|word| {
        let year = is_year(word);
        named |= !year && word.starts_with(|c: char| c.is_uppercase()) && word.chars().count() > 1;
        year && named
    })
}

fn is_name(word: &str) -> bool {
    // One capital letter is mostly a variable or a panel: `B (2020)`.
    word == "al." || (word.starts_with(|c: char| c.is_uppercase()) && word.chars().nth(1).is_some())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn numbers(text: &str) -> Vec<Vec<u64>> {
        number_markers(text)
            .into_iter()
            .map(|marker| marker.numbers)
            .collect()
    }

    fn authors(text: &str) -> Vec<&str> {
        author_year_markers(text)
            .into_iter()
            .map(|range| &text[range])
            .collect()
    }

    #[test]
    fn number_markers_are_lists_of_digits_in_square_brackets() {
        assert_eq!(
            numbers("a [3], b [1, 2] c[0][12,13]"),
            [vec![3], vec![1, 2], vec![0], vec![12, 13]]
        );
        assert_eq!(
            numbers("[] [a] [1 ] [1;2] [1,] [12 patients] ["),
            Vec::<Vec<u64>>::new()
        );
        assert_eq!(numbers("[[7]"), [vec![7]]);
        assert_eq!(numbers("[99999999999999999999999]"), [vec![u64::MAX]]);
    }

    #[test]
    fn answers_use_more_forms_than_the_reference_knows() {
        let numbers = |text: &str| -> Vec<Vec<u64>> {
            let markers = citation_markers(text).into_iter();
            markers.map(|marker| marker.numbers).collect()
        };
        for (text, expected) in [
            (
                "a [0-1] b [0; 1] c【0】 d [1,2] e[3]",
                vec![vec![0, 1], vec![0, 1], vec![0], vec![1, 2], vec![3]],
            ),
            (
                "[1–3, 5] [1—2] [1‑2] [1−2] [1--2] [0 - 1 ; 3 , 4]",
                vec![
                    vec![1, 2, 3, 5],
                    vec![1, 2],
                    vec![1, 2],
                    vec![1, 2],
                    vec![1, 2],
                    vec![0, 1, 3, 4],
                ],
            ),
            (
                "【1，2、3；4】［5］【6-7】【1】【2】",
                vec![vec![1, 2, 3, 4], vec![5], vec![6, 7], vec![1], vec![2]],
            ),
            (
                "[2023] [1-999999999] [1-100] [7-7]",
                vec![
                    vec![2023],
                    vec![1, 999_999_999],
                    (1..=100).collect(),
                    vec![7],
                ],
            ),
            (
                "(1-5) [3-1] [-1] [1-] [1-2-3] [a-1] [1.5] [1:2] [1 2] [1】 [2020-01-15] [] [,]",
                vec![],
            ),
            // Code has indices; a marker that is set as code is one.
            (
                "`arr[0-1]` `f(x)[0]` `x[0][1]` `[4]` arr [5]\n```\nlist[6]\n# why [7]\n```\nSnow[8]",
                vec![vec![4], vec![5], vec![7], vec![8]],
            ),
        ] {
            assert_eq!(numbers(text), expected, "{text}");
        }
        assert_eq!(without_markers("Snow [0-1] , ice【2】 . [3]"), "Snow, ice.");
    }

    #[test]
    fn digits_of_other_scripts_and_all_of_pythons_white_space_count() {
        assert_eq!(
            numbers("[1,\u{a0}2] [1, ２] [٣,\u{1c}4]"),
            [vec![1, 2], vec![1, 2], vec![3, 4]]
        );
        assert_eq!(numbers("[²] [Ⅳ] [1\u{200b}]"), Vec::<Vec<u64>>::new());
    }

    #[test]
    fn an_id_is_a_number_in_brackets_without_leading_zeros() {
        assert_eq!(
            citation_ids("A [0] B [00] C [007, 1] [1]"),
            ["[0]", "[0]", "[7]", "[1]", "[1]"]
        );
        assert_eq!(
            citation_ids("[123456789012345678901234567890]"),
            ["[123456789012345678901234567890]"]
        );
    }

    #[test]
    fn the_reference_sees_the_first_number_behind_every_bracket() {
        assert_eq!(
            first_numbers("[1, 2] [12 mice] [2023] [a] [ 1] [[04]"),
            ["1", "12", "2023", "4"]
        );
    }

    #[test]
    fn removing_citations_tightens_the_text_around_them() {
        assert_eq!(without_citations("a [1]  .  [2]  ,"), "a.,");
        assert_eq!(
            without_citations("nl\n[1]\nnl, one\nbreak"),
            "nl nl, one\nbreak"
        );
    }

    #[test]
    fn author_year_markers_have_a_name_and_a_year() {
        assert_eq!(
            authors("x (Wang et al., 2023) (12, Mir et al., 2021)"),
            ["Wang et al., 2023", "12, Mir et al., 2021"]
        );
        assert_eq!(
            authors("(Doe, 1999a; see Ng & Li, 2004)"),
            ["Doe, 1999a", "see Ng & Li, 2004"]
        );
        assert_eq!(
            authors("Lee et al. (2020b) and Kim (2019, 2021)"),
            ["(2020b)", "(2019, 2021)"]
        );
    }

    #[test]
    fn one_huge_token_takes_linear_time() {
        assert_eq!(
            authors(&format!("in Li{}", "(2020)".repeat(200_000))).len(),
            200_000
        );
        assert_eq!(
            authors(&format!("Li in{} Li\n(2020)", "(2020)".repeat(3))),
            Vec::<&str>::new()
        );
    }

    #[test]
    fn other_brackets_are_no_markers() {
        assert_eq!(
            authors("(in 2023) since (2020) (n = 2000) (Section 3) f(x) (A, 2001"),
            Vec::<&str>::new()
        );
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "([\\[\\](),; ]|et al.|[A-Zé]|20[0-9]{2}|\\PC){0,40}") {
            for range in author_year_markers(&text) {
                prop_assert!(!text[range].is_empty());
            }
            let ids = citation_ids(&text);
            prop_assert_eq!(ids.len(), number_markers(&text).iter().map(|marker| marker.numbers.len()).sum::<usize>());
            prop_assert!(first_numbers(&text).len() >= number_markers(&text).len());
            if !text.contains('`') {
                prop_assert!(citation_markers(&text).len() >= number_markers(&text).len());
            }
        }

        #[test]
        fn what_is_left_has_no_outer_space_and_no_double_space(text in "([\\[\\],. ]|[0-9]|\\n|\\PC){0,40}") {
            let left = without_citations(&text);
            prop_assert_eq!(left.trim_matches(is_python_whitespace), &left);
            prop_assert!(!left.contains("  ") && left.len() <= text.len());
        }
    }
}
