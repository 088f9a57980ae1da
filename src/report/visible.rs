//! Makes foreign text safe to show.

use std::borrow::Cow;

/// The text with unreadable characters escaped (as `\u{9b}`, `\n`): control characters, which could move the cursor,
/// forge lines or send commands to a terminal, bidirectional controls and zero-width characters.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unseen) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unseen(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// [`visible`], cut after `limit` characters with an ellipsis.
pub(super) fn shortened(text: &str, limit: usize) -> String {
    // After the escapes, which make a text longer.
    let mut shown: String = visible(text).chars().take(limit + 1).collect();
    if shown.chars().count() > limit {
        shown.pop();
        shown.push('…');
    }
    shown
}

/// Shortens the text to `limit` characters with an ellipsis in the middle: names of one set (`RUN/SYSTEM`, files)
/// differ at both ends.
pub(super) fn without_middle(text: &str, limit: usize) -> String {
    let characters: Vec<char> = text.chars().collect();
    if characters.len() <= limit {
        return text.to_owned();
    }
    let tail = limit / 2;
    let head = limit.saturating_sub(1 + tail);
    characters[..head]
        .iter()
        .chain(&['…'])
        .chain(&characters[characters.len() - tail..])
        .collect()
}

/// Control characters, line separators, bidirectional controls, what has no width, and what XML cannot have.
pub(super) fn is_unseen(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{061c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursor_controls_are_escaped() {
        assert_eq!(visible("a\u{1b}[2Jb\r\n\u{9b}x"), r"a\u{1b}[2Jb\r\n\u{9b}x");
        assert_eq!(visible("\u{202e}gpt"), r"\u{202e}gpt");
        // XML has no way to write these two.
        assert_eq!(visible("a\u{fffe}\u{ffff}"), r"a\u{fffe}\u{ffff}");
        assert!(matches!(visible("größe 模型"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_long_text_is_cut() {
        assert_eq!(shortened("abcdef", 4), "abcd…");
        assert_eq!(shortened("abcd", 4), "abcd");
    }
}
