//! Keeps secrets out of whatever is shown: header values, URLs, request fields.

use serde_json::Value;

pub use super::endpoint::is_secret_name;

/// What stands in place of a secret.
pub const MASK: &str = "***";

/// The value, or the mask if the name says that it is a secret.
pub fn masked_value<'a>(name: &str, value: &'a str) -> &'a str {
    if is_secret_name(name) { MASK } else { value }
}

/// A URL without its user information and without the values of key-like query parameters. Works on the text, so that
/// a URL too broken to be parsed gives nothing away either.
pub fn masked_url(url: &str) -> String {
    let (scheme, rest) = match url.find("://") {
        Some(at) => url.split_at(at + 3),
        None => ("", url),
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    // A password may hold a raw `/`, `?` or `#`: then the last `@` stands behind what looks like the end of the host.
    let (authority, tail) = match rest.rfind('@') {
        Some(at) => {
            let host = &rest[at + 1..];
            let host_end = host.find(['/', '?', '#']).unwrap_or(host.len());
            // An `@` in a query or path of a URL without user information is harmless: mask too much rather than too little.
            (format!("{MASK}@{}", &host[..host_end]), &host[host_end..])
        }
        None => (rest[..end].to_owned(), &rest[end..]),
    };
    format!("{scheme}{authority}{}", masked_tail(tail))
}

/// Masks `name=value` pairs behind `?`, `#`, `&` and `;`.
fn masked_tail(tail: &str) -> String {
    let Some(start) = tail.find(['?', '#']) else { return tail.to_owned() };
    let mut text = tail[..start].to_owned();
    for piece in tail[start..].split_inclusive(['?', '#', '&', ';']) {
        let (body, separator) = match piece.char_indices().next_back() {
            Some((at, c @ ('?' | '#' | '&' | ';'))) => (&piece[..at], Some(c)),
            _ => (piece, None),
        };
        match body.split_once('=') {
            Some((name, value)) => text.push_str(&format!("{name}={}", masked_value(name, value))),
            None => text.push_str(body),
        }
        text.extend(separator);
    }
    text
}

/// A copy in which strings under key-like names are masked, at any depth. Numbers stay: `max_tokens` is no secret.
pub fn masked_json(value: &Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.iter()
                .map(|(name, inner)| {
                    let hide = is_secret_name(name) && inner.is_string();
                    (name.clone(), if hide { Value::from(MASK) } else { masked_json(inner) })
                })
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.iter().map(masked_json).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_password_in_a_url_is_masked() {
        assert_eq!(masked_url("https://me:hunter2@host:8000/v1"), "https://***@host:8000/v1");
        assert_eq!(masked_url("me:hunter2@host/v1"), "***@host/v1");
        assert_eq!(masked_url("https://me:hun/te?r2@host/v1"), "https://***@host/v1");
    }

    #[test]
    fn key_like_query_values_are_masked_and_others_stay() {
        assert_eq!(
            masked_url("https://h/v1?api-version=2024-06&api-key=abc&sig=xyz#access_token=q"),
            "https://h/v1?api-version=2024-06&api-key=***&sig=***#access_token=***"
        );
        assert_eq!(masked_url("http://localhost:8000/v1"), "http://localhost:8000/v1");
    }

    #[test]
    fn headers_that_carry_keys_are_known_by_name() {
        for name in ["Authorization", "api-key", "X-API-KEY", "Cookie", "Proxy-Authorization", "x-auth-token"] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["x-team", "OpenAI-Organization", "api-version", "accept"] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn secrets_within_json_are_masked_at_any_depth_and_numbers_stay() {
        let shown = masked_json(&json!({"max_tokens": 5, "a": [{"api_key": "abc", "top_k": 3}]}));
        assert_eq!(shown, json!({"max_tokens": 5, "a": [{"api_key": "***", "top_k": 3}]}));
    }
}
