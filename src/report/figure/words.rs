//! How much room texts take in a figure, and texts that are cut or wrapped to a room.
//!
//! The font is not known: SVG has that of the reader's machine, TikZ that of the paper. Widths are those of Helvetica, rounded up
//! to what Computer Modern needs; what is still wider in a paper is narrowed there (see `tikz.rs`).

use unicode_width::UnicodeWidthChar as _;

use crate::report::visible::visible;

/// Height of a line of text, in sizes of the font.
pub(super) const LINE: f64 = 1.2;
/// A bold text is wider by this factor.
const BOLD: f64 = 1.08;
/// What stands for the characters that are cut.
const ELLIPSIS: char = '…';

/// About how wide a text is, at most.
pub(super) fn text_width(text: &str, font: f64) -> f64 {
    font * text.chars().map(char_width).sum::<f64>()
}

/// The size of a plain font that is as wide as the bold one of this size.
pub(super) fn bold(font: f64) -> f64 {
    BOLD * font
}

/// The width of a character in sizes of the font.
fn char_width(c: char) -> f64 {
    match c {
        '@' | 'W' => 1.03,
        'm' | 'M' | '%' => 0.9,
        'A'..='H' | 'K' | 'N'..='V' | 'X'..='Z' | '&' | '#' | '+' | '<' | '=' | '>' | '~' | '−' => {
            0.8
        }
        'w' => 0.75,
        'J' | 'L' => 0.64,
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '!' | '\'' | '|' => 0.31,
        'f' | 'r' | 't' | 'I' | '(' | ')' | '[' | ']' | '{' | '}' | '/' | '\\' | '-' | '`' => 0.4,
        ' ' => 0.33,
        c if c.is_ascii() || c == '–' => 0.57,
        // Combining marks have none; letters of CJK are as wide as high, pictures wider.
        c => match c.width().unwrap_or(0) {
            0 => 0.0,
            1 if c.is_lowercase() => 0.62,
            1 if c.is_alphanumeric() => 0.85,
            1 => 1.0,
            _ if c >= '\u{1f000}' => 1.3,
            _ => 1.02,
        },
    }
}

/// A character with the combining marks that follow it, which must not be cut from it.
struct Cluster<'a> {
    text: &'a str,
    width: f64,
}

fn clusters(text: &str) -> Vec<Cluster<'_>> {
    let mut clusters = Vec::new();
    let mut start = 0;
    let mut width = 0.0;
    for (at, c) in text.char_indices() {
        let advance = char_width(c);
        if at > 0 && advance > 0.0 {
            clusters.push(Cluster {
                text: &text[start..at],
                width,
            });
            start = at;
            width = 0.0;
        }
        width += advance;
    }
    if !text.is_empty() {
        clusters.push(Cluster {
            text: &text[start..],
            width,
        });
    }
    clusters
}

/// The text without control characters on one line of this width, cut in its middle: names of one set differ at both ends.
pub(super) fn fitting(text: &str, width: f64, font: f64) -> String {
    let text = visible(text);
    if text_width(&text, font) <= width {
        return text.into_owned();
    }
    let clusters = clusters(&text);
    let room = (width / font - char_width(ELLIPSIS)).max(0.0);
    let mut tail = clusters.len();
    let mut used = 0.0;
    while tail > 0 && used + clusters[tail - 1].width <= room / 2.0 {
        tail -= 1;
        used += clusters[tail].width;
    }
    let mut head = 0;
    while head < tail && used + clusters[head].width <= room {
        used += clusters[head].width;
        head += 1;
    }
    let mut shown = String::new();
    for cluster in &clusters[..head] {
        shown += cluster.text;
    }
    shown.push(ELLIPSIS);
    for cluster in &clusters[tail..] {
        shown += cluster.text;
    }
    shown
}

/// The text without control characters in lines of this width, at most `most`, the last of which ends in an ellipsis if text is left.
pub(super) fn wrapped(text: &str, width: f64, font: f64, most: usize) -> Vec<String> {
    // Line breaks of a criterion are spaces here.
    let one_line: Vec<&str> = text.split_whitespace().collect();
    let text = visible(&one_line.join(" ")).into_owned();
    let mut lines = Vec::new();
    let mut rest = text.as_str();
    while !rest.is_empty() {
        if lines.len() + 1 == most && text_width(rest, font) > width {
            lines.push(beginning(rest, width, font));
            break;
        }
        let end = line_end(rest, width, font);
        lines.push(rest[..end].trim_end().to_owned());
        rest = rest[end..].trim_start();
    }
    lines
}

/// Where the first line of a text ends: after the last space, hyphen or letter of CJK that fits, else within a word.
fn line_end(text: &str, width: f64, font: f64) -> usize {
    let mut used = 0.0;
    let mut end = 0;
    let mut last_break = None;
    for cluster in clusters(text) {
        used += cluster.width * font;
        let is_space = cluster.text == " ";
        // A space may hang over the end of its line. One character fits any line, or there would be no end.
        if used > width && !is_space && end > 0 {
            return last_break.unwrap_or(end);
        }
        end += cluster.text.len();
        if is_space || matches!(cluster.text, "-" | "–" | "/") || cluster.width >= 1.02 {
            last_break = Some(end);
        }
    }
    text.len()
}

/// As many words of the beginning as fit with an ellipsis; letters, where not one word fits.
fn beginning(text: &str, width: f64, font: f64) -> String {
    let room = width / font - char_width(ELLIPSIS);
    let mut shown = String::new();
    let mut used = 0.0;
    for cluster in clusters(text) {
        used += cluster.width;
        if used > room {
            break;
        }
        shown += cluster.text;
    }
    if let Some(space) = shown.rfind(' ') {
        shown.truncate(space);
    }
    shown.push(ELLIPSIS);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_name_keeps_both_ends_and_its_marks() {
        // Ten letters, of which five fit with the ellipsis: 10 * 0.57 = 5.7, room for (4 - 1) / 0.57 = 5.
        assert_eq!(fitting("abcdeabcde", 4.0, 1.0), "abc…de");
        assert_eq!(fitting("abcdeabcde", 5.8, 1.0), "abcdeabcde");
        // The acute of the last letter stays with it.
        assert!(fitting("aaaaaaaaaae\u{301}", 4.0, 1.0).ends_with("e\u{301}"));
        assert_eq!(fitting("a\u{1b}", 90.0, 1.0), "a\\u{1b}");
    }

    #[test]
    fn lines_break_at_spaces_and_between_letters_of_cjk_and_the_last_one_says_that_text_is_left() {
        assert_eq!(
            wrapped("aaaa bbbb\ncccc", 5.2, 1.0, 3),
            ["aaaa bbbb", "cccc"]
        );
        assert_eq!(wrapped("aaaa bbbb cccc", 2.4, 1.0, 2), ["aaaa", "bb…"]);
        assert_eq!(wrapped("aaaa bbbb cccc", 4.6, 1.0, 1), ["aaaa…"]);
        assert_eq!(wrapped("名前名前", 2.1, 1.0, 9), ["名前", "名前"]);
        assert_eq!(wrapped("aaaaaaaa", 2.4, 1.0, 9), ["aaaa", "aaaa"]);
        assert!(wrapped("", 2.4, 1.0, 9).is_empty());
        // Narrower than any letter.
        assert_eq!(wrapped("ab", 0.1, 1.0, 9), ["a", "b"]);
    }

    #[test]
    fn combining_marks_have_no_width() {
        assert_eq!(text_width("e\u{301}", 8.0), text_width("e", 8.0));
        assert!(text_width("名", 8.0) > 8.0);
    }
}
