//! Lists and lines of text.

use super::visible::shortened;
pub(super) use crate::facts::claims::counted;

/// At most `limit` of the items, each at most 120 characters, then the number of the others.
pub(super) fn listed(items: impl ExactSizeIterator<Item = String>, limit: usize) -> String {
    let more = items.len().saturating_sub(limit);
    let mut list: Vec<String> = items.take(limit).map(|item| shortened(&item, 120)).collect();
    if more > 0 {
        list.push(format!("and {more} more"));
    }
    list.join(", ")
}

/// Wraps `text` to `width` characters, without a final line break. Continuation lines keep the indent of the first; a
/// word longer than a line (a path, an address) is not cut.
pub fn wrapped(text: &str, width: usize) -> String {
    text.split('\n').map(|line| wrapped_line(line, width)).collect::<Vec<_>>().join("\n")
}

fn wrapped_line(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    let content = line.trim_start_matches(' ');
    let indent = &line[..line.len() - content.len()];
    let hanging = if content.starts_with("- ") { format!("{indent}  ") } else { indent.to_owned() };
    let (mut out, mut used) = (indent.to_owned(), indent.len());
    for (at, word) in content.split(' ').enumerate() {
        let length = word.chars().count();
        if at > 0 && used + 1 + length > width {
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            out.push_str(&hanging);
            used = hanging.len();
        } else if at > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += length;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_blanks_and_continue_below_their_beginning() {
        assert_eq!(wrapped("one two three four", 9), "one two\nthree\nfour");
        assert_eq!(wrapped("  one two three", 9), "  one two\n  three");
        assert_eq!(wrapped("- one two three", 9), "- one two\n  three");
        assert_eq!(wrapped("short  as it is\nand a longer line", 15), "short  as it is\nand a longer\nline");
        assert_eq!(wrapped("see /a/very/long/path now", 10), "see\n/a/very/long/path\nnow");
    }

    #[test]
    fn long_lists_are_cut_and_counted() {
        assert_eq!(listed(["a", "b", "c"].map(String::from).into_iter(), 2), "a, b, and 1 more");
        assert_eq!(counted(1, "case") + " " + &counted(0, "case"), "1 case 0 cases");
    }
}
