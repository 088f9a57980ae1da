//! Keeps secrets out of whatever is shown: header values, URLs, request fields.

use serde_json::Value;

pub use super::endpoint::{is_secret_name, mask_url as masked_url};

/// What stands in place of a secret.
const MASK: &str = "***";

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
        for broken in ["me:hunter2@host/v1", "https://me:hun/te?r2@host/v1"] {
            assert_eq!(masked_url(broken), "***");
        }
    }

    #[test]
    fn key_like_query_values_are_masked_and_others_stay() {
        assert_eq!(
            masked_url("https://h/v1?api-version=2024-06&api-key=abc&sig=xyz#access_token=q"),
            "https://h/v1?api-version=2024-06&api-key=***&sig=***"
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
