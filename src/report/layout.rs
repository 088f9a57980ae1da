//! Lists and lines of text.

use textwrap::{WordSeparator, WordSplitter};

use super::visible::shortened;
pub(super) use crate::text::names::counted;

/// Items of a list in a note before the rest is counted.
const LISTED: usize = 5;

/// The first of the items, each at most 120 characters, then the number of the others; `None` without items.
pub(super) fn listed(items: impl IntoIterator<Item = String>) -> Option<String> {
    let items = items.into_iter();
    let mut list: Vec<String> = items.map(|item| shortened(&item, 120)).collect();
    if list.is_empty() {
        return None;
    }
    let more = list.len().saturating_sub(LISTED);
    if more > 0 {
        list.truncate(LISTED);
        list.push(format!("and {more} more"));
    }
    Some(list.join("; "))
}

/// Wraps `text` to `width` characters, without a final line break. Continuation lines keep the indent of the first; a
/// word longer than a line (a path, an address) is not cut.
pub fn wrapped(text: &str, width: usize) -> String {
    let mut lines = Vec::new();
    for line in text.split('\n') {
        lines.push(wrapped_line(line, width));
    }
    lines.join("\n")
}

/// Wraps a text without line breaks.
fn wrapped_line(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    let content = line.trim_start_matches(' ');
    let indent = &line[..line.len() - content.len()];
    // Below the text of a list's item, not below its dash.
    let hanging = if content.starts_with("- ") {
        format!("{indent}  ")
    } else {
        indent.to_owned()
    };
    let options = textwrap::Options::new(width)
        .initial_indent(indent)
        .subsequent_indent(&hanging)
        .word_separator(WordSeparator::AsciiSpace)
        // Names of systems have hyphens: a break at one would look like another name.
        .word_splitter(WordSplitter::NoHyphenation)
        .break_words(false);
    textwrap::fill(content, options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_blanks_and_continue_below_their_beginning() {
        assert_eq!(wrapped("one two three four", 9), "one two\nthree\nfour");
        assert_eq!(wrapped("  one two three", 9), "  one two\n  three");
        assert_eq!(wrapped("- one two three", 9), "- one two\n  three");
        assert_eq!(
            wrapped("short  as it is\nand a longer line", 15),
            "short  as it is\nand a longer\nline"
        );
        assert_eq!(
            wrapped("see /a/very/long/path now", 10),
            "see\n/a/very/long/path\nnow"
        );
    }

    #[test]
    fn long_lists_are_cut_and_counted() {
        let items = |count: usize| (1..=count).map(|item| item.to_string());
        assert_eq!(listed(items(7)).unwrap(), "1; 2; 3; 4; 5; and 2 more");
        assert_eq!(listed(items(0)), None);
        assert_eq!(
            [0, 1, 1200].map(|n| counted(n, "case")),
            ["0 cases", "1 case", "1,200 cases"]
        );
        assert_eq!(
            [1, 2].map(|n| counted(n, "reply")),
            ["1 reply", "2 replies"]
        );
    }
}
