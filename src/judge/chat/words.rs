//! The server's own words in an error: found, cleaned and cut.

use serde_json::Value;

use crate::judge::endpoint::Endpoint;

/// Longest quotation of a server in a message, in characters.
const LONGEST_QUOTE: usize = 300;

/// What a server says about a failure. All texts are hostile: cleaned by [`quote`] before they are shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ServerWords {
    /// The message, fit to be shown.
    pub(super) message: String,
    /// `code`, whether written as a string or a number.
    pub(super) code: String,
    /// `type`.
    pub(super) kind: String,
}

impl ServerWords {
    /// Reads an error body: OpenAI's `{"error": {..}}`, a bare `{"message": ..}` (older vLLM), `{"detail": ..}`
    /// (FastAPI), or any text.
    pub(super) fn read(body: &[u8], endpoint: &Endpoint) -> Self {
        match serde_json::from_slice::<Value>(body) {
            Ok(Value::Object(object)) => {
                let error = object.get("error").filter(|error| !error.is_null()).cloned();
                Self::of_value(&error.unwrap_or(Value::Object(object)), endpoint)
            }
            _ => Self { message: quote(&String::from_utf8_lossy(body), endpoint), ..Self::default() },
        }
    }

    /// Reads the value of an `error` member.
    pub(super) fn of_value(error: &Value, endpoint: &Endpoint) -> Self {
        let named = ["message", "detail", "error", "msg"].into_iter().find_map(|name| error.get(name));
        let message = named.unwrap_or(error);
        let message = message.as_str().map_or_else(|| message.to_string(), str::to_owned);
        Self {
            message: quote(&message, endpoint),
            code: scalar(error.get("code").or_else(|| error.get("status"))),
            kind: scalar(error.get("type")),
        }
    }

    /// True if `code` or `type` is one of `names`.
    pub(super) fn is_named(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.code == *name || self.kind == *name)
    }

    /// True if the message has one of these (lower-case) phrases.
    pub(super) fn mentions(&self, phrases: &[&str]) -> bool {
        let message = self.message.to_lowercase();
        phrases.iter().any(|phrase| message.contains(phrase))
    }
}

/// `text` fit for one line of a message: secrets masked, control characters and runs of white space made one
/// space, at most [`LONGEST_QUOTE`] characters.
pub(super) fn quote(text: &str, endpoint: &Endpoint) -> String {
    // Only so much of a long page is looked at: masking can shorten, never by this much.
    let start: String = text.chars().take(16 * LONGEST_QUOTE).collect();
    let clean = endpoint.scrub(&start);
    let is_gap = |c: char| c.is_whitespace() || c.is_control() || is_invisible(c);
    let line = clean.split(is_gap).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST_QUOTE) {
        Some((cut, _)) => format!("{}..", &line[..cut]),
        None => line,
    }
}

/// Characters that reorder or hide text on a terminal without being control characters.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

fn scalar(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> ServerWords {
        ServerWords::read(body.as_bytes(), &Endpoint::new("localhost").unwrap())
    }

    #[test]
    fn each_shape_of_error_body_gives_its_words() {
        for body in [
            r#"{"error":{"message":"too long","code":"400","type":"bad"}}"#,
            r#"{"error":{"message":"too long","code":400,"type":"bad"}}"#,
            r#"{"object":"error","message":"too long","code":400,"type":"bad"}"#,
        ] {
            let expected = ServerWords { message: "too long".into(), code: "400".into(), kind: "bad".into() };
            assert_eq!(read(body), expected, "{body}");
        }
        assert_eq!(read(r#"{"error":"no luck"}"#).message, "no luck");
        assert_eq!(read(r#"{"detail":"Not Found"}"#).message, "Not Found");
        assert_eq!(read(r#"{"detail":[{"msg":"x"}]}"#).message, r#"[{"msg":"x"}]"#);
        assert_eq!(read("<html>\n<h1>Bad\tGateway</h1>").message, "<html> <h1>Bad Gateway</h1>");
        assert_eq!(read("").message, "");
    }

    #[test]
    fn hostile_words_are_cleaned_and_cut() {
        assert_eq!(read("a\u{1b}[31mred\u{7}\u{202e}b").message, "a [31mred b");
        let long = read(&"x".repeat(1000)).message;
        assert_eq!(long.chars().count(), 302, "300 and two dots");
    }
}
