//! JSON inside of HTML.

use serde::Serialize;

use crate::error::{Error, Result};

/// The value as JSON that may stand in a `<script type="application/json">`: no character of it can end the element,
/// open a comment or be taken for a line end by an old parser.
///
/// # Errors
/// [`Error::Internal`] where the value cannot be serialised.
pub(super) fn embedded<T: Serialize>(value: &T) -> Result<String> {
    let json = serde_json::to_string(value)
        .map_err(|error| Error::Internal(format!("data of the report cannot be written: {error}")))?;
    Ok(escaped(&json))
}

/// JSON with `<`, `>`, `&`, U+2028 and U+2029 as `\u` escapes. All of them can only stand within strings there.
fn escaped(json: &str) -> String {
    let mut safe = String::with_capacity(json.len() + json.len() / 64);
    let mut rest = json;
    while let Some(at) = rest.find(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        safe.push_str(&rest[..at]);
        let tail = &rest[at..];
        let (escape, length) = match tail.chars().next() {
            Some('<') => ("\\u003c", 1),
            Some('>') => ("\\u003e", 1),
            Some('&') => ("\\u0026", 1),
            Some('\u{2028}') => ("\\u2028", 3),
            _ => ("\\u2029", 3),
        };
        safe.push_str(escape);
        rest = &tail[length..];
    }
    safe.push_str(rest);
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_in_a_text_can_end_the_element_or_open_a_comment() {
        let json = embedded(&"</script><!-- & \u{2028}\u{2029} ü").unwrap();
        assert_eq!(json, "\"\\u003c/script\\u003e\\u003c!-- \\u0026 \\u2028\\u2029 ü\"");
    }

    proptest! {
        #[test]
        fn every_text_comes_back_as_it_was(text in any::<String>()) {
            let json = embedded(&text).unwrap();
            let is_safe = !json.contains(['<', '>', '&', '\u{2028}', '\u{2029}', '\0']);
            prop_assert!(is_safe);
            prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }
    }
}
