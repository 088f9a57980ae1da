//! Where an address or identifier ends in a text.

/// The longest part of a SICI in angle brackets, in bytes.
const SICI_BYTES: usize = 100;

/// How an identifier or address begins. Behind a comma or semicolon it is another one.
const BEGINNINGS: [&str; 6] = ["10.", "http", "doi", "pmid", "pmcid", "arxiv"];

/// The end of the address or identifier that begins at a place of a text, without the marks of the sentence around it.
///
/// White space, quotes and marks of other scripts end it, a closing bracket that was not opened in it, and the marker of a
/// citation. Angle brackets belong to it only in the DOIs that hold a SICI (`10.1130/0091(1990)018<0001:ABC>2.3.CO;2`).
pub(in crate::text) fn word_end(text: &str, start: usize) -> usize {
    let word = &text[start..];
    let mut end = word.len();
    let mut open = [0_usize; 3];
    let mut inside_sici = 0;
    for (at, c) in word.char_indices() {
        if at < inside_sici {
            continue;
        }
        let is_closed = match c {
            '[' if is_marker(&word[at..]) => true,
            '(' | '[' | '{' => {
                open[bracket(c)] += 1;
                false
            }
            ')' | ']' | '}' => {
                let left = open[bracket(c)].checked_sub(1);
                open[bracket(c)] = left.unwrap_or_default();
                left.is_none() || word[at..].starts_with("](")
            }
            '<' => {
                inside_sici = at + sici_bytes(&word[at..]);
                inside_sici == at
            }
            ',' | ';' => begins_another(&word[at + 1..]),
            _ => is_end(c),
        };
        if is_closed {
            end = at;
            break;
        }
    }
    let trimmed = word[..end].trim_end_matches(is_trailing);
    start + trimmed.len()
}

fn bracket(c: char) -> usize {
    match c {
        '(' | ')' => 0,
        '[' | ']' => 1,
        _ => 2,
    }
}

/// Quotes, signs and marks of other scripts that end an address.
const ENDS: &str = ">\"`|\\^…•“”„‟‘’«»‹›。，、；：！？（）【】《》〈〉「」『』¹²³⁰⁴⁵⁶⁷⁸⁹";

/// What ends an address.
fn is_end(c: char) -> bool {
    c.is_whitespace() || c.is_control() || ENDS.contains(c)
}

/// Whether `[2]`, `[1, 3]` or `[1][2]` stands here with nothing of the word behind it. A SICI has words in its brackets, and
/// continues behind them.
fn is_marker(text: &str) -> bool {
    let Some((numbers, rest)) = text[1..].split_once(']') else {
        return false;
    };
    let is_of_numbers = |c: char| c.is_ascii_digit() || matches!(c, ',' | '-' | ' ');
    let rest = rest.trim_start_matches(['.', ',', ';', ':', '!', '?', ')', '*', '_']);
    numbers.starts_with(|c: char| c.is_ascii_digit())
        && numbers.chars().all(is_of_numbers)
        && rest
            .chars()
            .next()
            .is_none_or(|c| matches!(c, '[' | '(') || is_end(c))
}

/// Marks of a sentence or of Markdown at the end, and brackets that are opened there.
pub(super) fn is_trailing(c: char) -> bool {
    ".,;:!?*~_'([{".contains(c)
}

/// The length of `<0001:ABC>2.3.CO;2` at the beginning of a text; 0 if it begins otherwise.
fn sici_bytes(text: &str) -> usize {
    let head = &text[..text.floor_char_boundary(SICI_BYTES)];
    let Some(close) = head.find('>') else {
        return 0;
    };
    let is_one_word = !head[1..close].contains(|c: char| c.is_whitespace() || c == '<');
    let is_sici = match head.as_bytes()[close + 1..] {
        [a, b'.', b, b'.', c, d, b';', e, ..] => {
            [a, b].iter().all(u8::is_ascii_digit)
                && [c, d].iter().all(u8::is_ascii_alphabetic)
                && e.is_ascii_alphanumeric()
        }
        _ => false,
    };
    if is_one_word && is_sici {
        close + "<1.2.CO;2".len()
    } else {
        0
    }
}

fn begins_another(text: &str) -> bool {
    BEGINNINGS.iter().any(|beginning| {
        let head = text.get(..beginning.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(beginning))
    })
}
