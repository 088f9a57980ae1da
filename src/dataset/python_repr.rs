//! Python's `repr` of a string.

use std::fmt::Write as _;

/// `repr(text)`: in single quotes, or in double quotes where the text has single and no double ones; what cannot be
/// printed is escaped.
pub(super) fn python_repr(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::with_capacity(text.len() + 2);
    out.push(quote);
    for c in text.chars() {
        // Writing to a string cannot fail.
        let _ = match c {
            '\\' => write!(out, "\\\\"),
            '\n' => write!(out, "\\n"),
            '\r' => write!(out, "\\r"),
            '\t' => write!(out, "\\t"),
            c if c == quote => write!(out, "\\{c}"),
            c if is_printable(c) => write!(out, "{c}"),
            c if u32::from(c) < 0x100 => write!(out, "\\x{:02x}", u32::from(c)),
            c if u32::from(c) < 0x1_0000 => write!(out, "\\u{:04x}", u32::from(c)),
            c => write!(out, "\\U{:08x}", u32::from(c)),
        };
    }
    out.push(quote);
    out
}

/// Python's `str.isprintable`: Rust escapes the same categories in debug output of a string behind its first
/// character (controls, formats, private use, unassigned, separators other than the space).
fn is_printable(c: char) -> bool {
    if matches!(c, '"' | '\'' | '\\') {
        return true;
    }
    let pair: String = ['a', c].iter().collect();
    let mut escaped = pair.escape_debug().skip(1);
    escaped.next() == Some(c) && escaped.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_look_as_in_python() {
        // Each pair as CPython 3.11 prints it.
        for (text, expected) in [
            ("plain", "'plain'"),
            ("it's", "\"it's\""),
            ("say \"it's\"", "'say \"it\\'s\"'"),
            ("a\\b\n\t\r", "'a\\\\b\\n\\t\\r'"),
            ("é \u{301}x 模", "'é \u{301}x 模'"),
            ("\u{0}\u{7f}\u{a0}\u{ad}", "'\\x00\\x7f\\xa0\\xad'"),
            ("\u{200b}\u{2028}\u{e000}", "'\\u200b\\u2028\\ue000'"),
            ("\u{1f600}\u{10ffff}", "'\u{1f600}\\U0010ffff'"),
        ] {
            assert_eq!(python_repr(text), expected);
        }
    }
}
