//! Keeps foreign text from becoming markup or code: Content-Security-Policy of the page, escaped values in markup, and JSON
//! inside HTML.

use std::fmt;
use std::fmt::{Display, Formatter, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

/// The policy for a page with this script and this style sheet, exactly as between their tags.
///
/// Only the script and style sheet with the hashes in the policy are allowed: no script or style attributes, images,
/// fonts, frames, forms or connections. An answer that became markup could neither run nor send anything. The policy is
/// in the file, so it applies wherever the file is opened.
pub(crate) fn content_security_policy(script: &str, style: &str) -> String {
    format!(
        "default-src 'none'; script-src {}; style-src {}; img-src 'none'; font-src 'none'; connect-src 'none'; \
         frame-src 'none'; object-src 'none'; base-uri 'none'; form-action 'none'",
        source_hash(script),
        source_hash(style)
    )
}

/// The text as the policy names it: `'sha256-..'`.
fn source_hash(text: &str) -> String {
    let hash = STANDARD.encode(Sha256::digest(text.as_bytes()));
    format!("'sha256-{hash}'")
}

/// Adds markup to a page. The literal is the markup; every value in it is [`Escaped`], so that a text can be forgotten
/// nowhere.
///
/// `concat!` is there for what it forbids: in a literal that comes out of a macro, `{name}` does not stand for the variable,
/// whose text would become markup.
macro_rules! push_html {
    ($page:expr, $markup:literal $(, $value:expr)* $(,)?) => {
        // Writing to a `String` does not fail.
        let _ = ::std::fmt::Write::write_fmt(
            $page,
            format_args!(concat!($markup), $($crate::report::html::safety::Escaped(&$value)),*),
        );
    };
}
pub(super) use push_html;

/// A value as text of a page: between tags, or in an attribute with double quotes.
pub(super) struct Escaped<'a>(pub(super) &'a dyn Display);

impl Display for Escaped<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(EscapingWriter(out), "{}", self.0)
    }
}

/// Passes text on with entities in place of what HTML reads as markup.
struct EscapingWriter<'a, 'b>(&'a mut Formatter<'b>);

impl Write for EscapingWriter<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            match c {
                '<' => self.0.write_str("&lt;")?,
                '>' => self.0.write_str("&gt;")?,
                '&' => self.0.write_str("&amp;")?,
                '"' => self.0.write_str("&quot;")?,
                '\'' => self.0.write_str("&#x27;")?,
                '/' => self.0.write_str("&#x2f;")?,
                _ => self.0.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// The value as JSON for a `<script type="application/json">`: `<`, `>`, `&`, U+2028 and U+2029, which occur only in
/// strings, become `\u` escapes, so that nothing can close the element, open a comment or end a line.
///
/// # Errors
/// [`Error::Internal`] if the value cannot be serialized.
pub(super) fn embedded<T: Serialize>(value: &T) -> Result<String> {
    let mut json = serde_json::to_string(value)
        .map_err(|error| Error::Internal(format!("data of the report: {error}")))?;
    // `</script>` or `<!--` within a string would end the element, whatever its type; JSON reads
    // the escapes as the same characters.
    for c in ['<', '>', '&', '\u{2028}', '\u{2029}'] {
        json = json.replace(c, &format!("\\u{:04x}", u32::from(c)));
    }
    Ok(json)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_in_a_text_can_end_the_element_or_open_a_comment() {
        let json = embedded(&"</script><!-- & \u{2028}\u{2029} ü").unwrap();
        assert_eq!(
            json,
            "\"\\u003c/script\\u003e\\u003c!-- \\u0026 \\u2028\\u2029 ü\""
        );
    }

    #[test]
    fn a_value_in_markup_is_text_and_the_literal_is_markup() {
        let mut page = String::new();
        push_html!(
            &mut page,
            r#"<p title="{}">{} of {}</p>"#,
            "\" onclick='x'",
            "</p><b>&amp;",
            7
        );
        assert_eq!(
            page,
            "<p title=\"&quot; onclick=&#x27;x&#x27;\">&lt;&#x2f;p&gt;&lt;b&gt;&amp;amp; of 7</p>"
        );
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
