//! Recognizes answers that are nothing but the error text of a failed generation.
//!
//! Scripts that collect answers often write the text of a client's exception where the answer should be. A judge would
//! grade it, and the mean of the system would be that of its provider's bad hours.

use serde_json::Value;

use super::nearly_json;

/// Longer texts are answers.
const MAX_CHARS: usize = 500;

/// What clients, servers and gateways write, a form a line, in lower case and without a period at the end. `#` is a digit,
/// `@` a word of letters, digits, `_` and `.` or nothing, `*` a text in one line, `~` one of several lines, and `&` another
/// error text.
const FORMS: &str = include_str!("error_texts.txt");

/// Whether the text is nothing but an error text of a listed form.
pub fn is_error_text(text: &str) -> bool {
    text.trim().chars().count() <= MAX_CHARS && is_error(text)
}

fn is_error(text: &str) -> bool {
    let text = text.trim();
    let without_period = text.strip_suffix('.').unwrap_or(text);
    is_error_body(text) || FORMS.lines().any(|form| has_form(without_period, form))
}

fn has_form(text: &str, form: &str) -> bool {
    let Some(sign) = form.chars().next() else {
        return text.is_empty();
    };
    let behind = &form[sign.len_utf8()..];
    if sign == '&' {
        return is_error(text);
    }
    let is_part = |c: char| match sign {
        '@' => c.is_ascii_alphanumeric() || matches!(c, '_' | '.'),
        '*' => c != '\n',
        '~' => true,
        '#' => c.is_ascii_digit(),
        sign => c.eq_ignore_ascii_case(&sign),
    };
    if !matches!(sign, '@' | '*' | '~') {
        let mut chars = text.chars();
        return chars.next().is_some_and(is_part) && has_form(chars.as_str(), behind);
    }
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    let mut ends = text[..end].char_indices().map(|(at, _)| at).chain([end]);
    ends.any(|end| has_form(&text[end..], behind))
}

/// Whether the text is the JSON of an error, or how Python prints it, also in a fence of Markdown, and has nothing else in it.
fn is_error_body(text: &str) -> bool {
    let fenced = text
        .strip_prefix("```")
        .and_then(|text| text.strip_suffix("```"));
    let text = fenced.map_or(text, |text| text.trim_start_matches("json").trim());
    let body = Some(text).filter(|text| text.starts_with('{'));
    let Some(Value::Object(fields)) = body.and_then(nearly_json::parse) else {
        return false;
    };
    let message = match fields.get("error") {
        Some(Value::Object(error)) => error.get("message"),
        None if fields.get("object").is_some_and(|object| object == "error") => {
            fields.get("message")
        }
        error => error.or_else(|| fields.get("detail")),
    };
    let has_message = message
        .and_then(Value::as_str)
        .is_some_and(|text| !text.is_empty());
    has_message && fields.keys().all(|key| is_error_key(key))
}

/// Whether servers have this key in the JSON of an error.
fn is_error_key(key: &str) -> bool {
    let keys = "error type error_type message code status status_code statusCode detail request_id user_id object param";
    keys.split(' ').any(|known| known == key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clients_write_in_place_of_an_answer_is_an_error_text() {
        for text in [
            "Error code: 429 - {'error': {'message': \"You've reached it\", 'type': 'x', 'param': None, 'code': None}}",
            "Error code: 500",
            " Error code: 429 - Rate limit exceeded. \n",
            "ERROR: Error code: 503 - {'error': 'Service Unavailable'}",
            "openai.RateLimitError: Error code: 429 - {'error': {'message': 'x'}}",
            "RateLimitError: Rate limit reached for gpt-4 in organization org-x on tokens per min.",
            "litellm.RateLimitError: RateLimitError: OpenAIException - You exceeded your current quota.",
            "anthropic.APIStatusError: Overloaded",
            "anthropic.InternalServerError: Error code: 529 - {'type': 'error', 'error': {'type': 'overloaded_error', 'message': 'Overloaded'}}",
            r#"{"error": {"message": "Rate limit", "type": "requests", "code": 429}}"#,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"r"}"#,
            r#"{"error":"model not found"}"#,
            r#"{"detail": "Internal Server Error"}"#,
            "```json\n{\"error\": {\"message\": \"Rate limit\"}}\n```",
            "RateLimitError(\"Error code: 429 - {'error': {'message': 'x'}}\")",
            "APIConnectionError('Connection error.')",
            r#"429 {"type":"error","error":{"type":"rate_limit_error","message":"x"}}"#,
            "Request timed out.",
            "APITimeoutError: Request timed out.",
            "Connection error.",
            "Exception: Connection error.",
            "503 Service Unavailable",
            "HTTP Error 503: Service Unavailable",
            "HTTP/1.1 502 Bad Gateway",
            "429 RESOURCE_EXHAUSTED. {'error': {'code': 429, 'message': 'x', 'status': 'RESOURCE_EXHAUSTED'}}",
            "google.api_core.exceptions.ResourceExhausted: 429 Resource has been exhausted (e.g. check quota).",
            "requests.exceptions.HTTPError: 429 Client Error: Too Many Requests for url: https://a.example/v1",
            "Client error '429 Too Many Requests' for url 'https://a.example'\nFor more information check: https://b.example",
            "Traceback (most recent call last):\n  File \"a.py\", line 1\nopenai.APIConnectionError: Connection error.",
            "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>x</body>\r\n</html>",
        ] {
            assert!(is_error_text(text), "{text}");
        }
    }

    #[test]
    fn an_answer_about_errors_is_an_answer() {
        let long = format!(
            "Error code: 429 - {{'error': {{'message': '{}'}}}}",
            "x".repeat(500)
        );
        for text in [
            "Error code 429 is returned when a client sends too many requests.",
            "Error code: 429 means that the limit was reached [1].",
            "RateLimitError: this exception is raised when the limit is reached.",
            "503 Service Unavailable is the status of a server that is down.",
            "Service unavailable areas of the city were mapped [2].",
            "Request timed out. The study then asked again.",
            "Connection error. Ice melts because it is warm.",
            "Error code: 429 - {'error': 'x'}\n\nIce melts because it is warm.",
            "Standard error: 0.3",
            "Error: the estimate is 5% too high.",
            "429",
            "500 patients",
            r#"{"answer": "Ice melts.", "error": {"message": "none"}}"#,
            r#"{"error": null}"#,
            r#"{"detail": ["Ice melts."]}"#,
            r#"{"detail": "Ice melts.", "answer": "yes"}"#,
            "TypeError('x') is raised where a text is added to a number.",
            "```json\n{\"error\": {\"message\": \"x\"}}\n```\nis what the server returns.",
            r#"{"error": 0.05}"#,
            "{'sections': []}",
            "",
            &long,
        ] {
            assert!(!is_error_text(text), "{text}");
        }
        assert!(!is_error_text(&"error: ".repeat(71)), "without an end");
    }
}
