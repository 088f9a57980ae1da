//! Results as JSON.

use serde::Serialize;

use super::visible::is_unseen;
use crate::error::{Error, Result};

/// The value as indented JSON with a line feed at the end. More control characters are escaped than JSON requires, so
/// that the text is safe to show in a terminal.
///
/// # Errors
/// [`Error::Internal`] if it cannot be serialized.
pub fn render_json<T: Serialize>(value: &T) -> Result<String> {
    let json = serde_json::to_string_pretty(value)
        .map_err(|error| Error::Internal(format!("result as JSON: {error}")))?;
    Ok(terminal_safe_json(&json) + "\n")
}

/// Control characters other than the layout's line feeds occur only in strings, where `\uXXXX` is equivalent.
fn terminal_safe_json(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        // `summary.json` on a terminal must not do what its texts say.
        if c != '\n' && is_unseen(c) {
            // All are in the basic plane: four digits suffice.
            safe += &format!("\\u{:04x}", u32::from(c));
        } else {
            safe.push(c);
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_and_mean_the_same() {
        let json = render_json(&"gpt-4o\u{9b}\u{202e}").unwrap();
        assert!(!json.chars().any(|c| c != '\n' && is_unseen(c)), "{json}");
        assert_eq!(
            serde_json::from_str::<String>(&json).unwrap(),
            "gpt-4o\u{9b}\u{202e}"
        );
    }
}
