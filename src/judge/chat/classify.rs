//! What an error response means: ask again, go on without this call, or stop the run.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::words::ServerWords;
use crate::domain::UnscoredKind;
use crate::error::Error;
use crate::judge::AskError;
use crate::judge::endpoint::Endpoint;
use crate::judge::kind::JudgeKind;

/// So many 400s of one message in a row stop the run.
pub(super) const EQUAL_REFUSALS: u32 = 5;

/// How a refusal begins that is about the text of an answer.
const MODERATED: &str = "moderated: ";

/// An error response, or an error body under status 200.
#[derive(Debug)]
pub(super) struct ErrorResponse {
    /// HTTP status, or the one the error body stands for.
    pub(super) status: u16,
    /// How long the server asks to wait.
    pub(super) retry_after: Option<Duration>,
    /// What it said.
    pub(super) words: ServerWords,
}

impl ErrorResponse {
    /// An error that came under status 200: its `code` (a number or a string of one) is the status; else what the
    /// named code stands for; else 500, for a gateway that lost its server.
    pub(super) fn under_200(error: &Value, retry_after: Option<Duration>, endpoint: &Endpoint) -> Self {
        let words = ServerWords::of_value(error, endpoint);
        let numeric = words.code.parse::<u16>().ok().filter(|code| (400..=599).contains(code));
        let named = || match () {
            () if is_quota(&words) => 429,
            () if words.is_named(&["rate_limit_exceeded", "rate_limit_error"]) => 429,
            () if words.is_named(&["invalid_api_key", "authentication_error"]) => 401,
            () if words.is_named(&["model_not_found"]) => 404,
            () if words.is_named(&["overloaded_error", "overloaded"]) => 529,
            () if is_context_overflow(&words) => 400,
            () if words.is_named(&["invalid_request_error", "BadRequestError"]) => 400,
            () => 500,
        };
        Self { status: numeric.unwrap_or_else(named), retry_after, words }
    }

    /// What to do about it. Equal 400s are not counted here, see [`EqualRefusals`].
    pub(super) fn classify(self, endpoint: &Endpoint, kind: JudgeKind) -> AskError {
        let quoted = self.quoted();
        let Self { status, retry_after, words } = self;
        let refused = |kind| AskError::Refused { message: quoted.clone(), status, kind };
        if status == 402 || is_quota(&words) {
            return fatal(format!(
                "the quota of the judge's account is spent ({quoted}); add credit or give another key in {}, \
                 the same command goes on where it stopped",
                endpoint.api_key_env
            ));
        }
        if is_context_overflow(&words) && matches!(status, 400 | 413 | 422 | 500) {
            return refused(UnscoredKind::ContextOverflow);
        }
        match status {
            400 | 401 | 403 | 422 if is_moderation(&words) => {
                AskError::Refused { message: format!("{MODERATED}{quoted}"), status, kind: UnscoredKind::Refused }
            }
            401 | 403 => fatal(key_refused(endpoint, &quoted)),
            404 | 405 if is_unknown_model(&words) => fatal(unknown_model(endpoint, &quoted)),
            404 | 405 => fatal(unknown_route(endpoint, kind, &quoted)),
            300..=399 => fatal(format!(
                "the judge at {} redirects elsewhere ({quoted}); give the new address with --base-url",
                endpoint.masked_url()
            )),
            // A single request above the limit per minute is answered with 429 for ever.
            429 if words.mentions(&["request too large"]) => refused(UnscoredKind::Refused),
            408 | 409 | 425 | 429 | 500.. => AskError::Transient { message: quoted, status: Some(status), retry_after },
            _ => refused(UnscoredKind::Refused),
        }
    }

    fn quoted(&self) -> String {
        if self.words.message.is_empty() {
            return format!("status {}", self.status);
        }
        format!("status {}: {}", self.status, self.words.message)
    }
}

fn fatal(message: String) -> AskError {
    AskError::Fatal(Error::JudgeUnavailable(message))
}

/// The message for a key that is wrong or missing.
pub(in crate::judge) fn key_refused(endpoint: &Endpoint, quoted: &str) -> String {
    let (url, variable) = (endpoint.masked_url(), &endpoint.api_key_env);
    if endpoint.api_key.is_some() {
        format!(
            "the judge at {url} refused the key from {variable} ({quoted}); check {variable} or name another with --api-key-env"
        )
    } else {
        format!(
            "the judge at {url} wants a key and {variable} holds none ({quoted}); set {variable} or name another with --api-key-env"
        )
    }
}

fn is_unknown_model(words: &ServerWords) -> bool {
    words.is_named(&["model_not_found"]) || words.mentions(&["model"])
}

fn unknown_model(endpoint: &Endpoint, quoted: &str) -> String {
    format!("the judge at {} does not serve the model ({quoted}); check --model", endpoint.masked_url())
}

fn unknown_route(endpoint: &Endpoint, kind: JudgeKind, quoted: &str) -> String {
    let (url, path) = (endpoint.masked_url(), kind.path());
    let other = if kind.is_raw() { "; servers of chat models alone do not have it" } else { "" };
    format!("{url} has no {path} ({quoted}); check --base-url, it usually ends in /v1{other}")
}

fn is_quota(words: &ServerWords) -> bool {
    words.is_named(&["insufficient_quota", "billing_hard_limit_reached", "billing_not_active"])
}

fn is_moderation(words: &ServerWords) -> bool {
    words.is_named(&["content_filter", "content_policy_violation"])
        || words.mentions(&["moderation", "flagged", "content filter", "content policy", "content management policy"])
}

fn is_context_overflow(words: &ServerWords) -> bool {
    words.is_named(&["context_length_exceeded", "exceed_context_size_error"])
        || words.mentions(&[
            "maximum context length",
            "exceeds the available context size",
            "longer than the maximum model length",
            "context window",
            "prompt is too long",
        ])
}

/// Counts 400s of one message (numbers apart) that come in a row: the request itself is wrong, not the answers.
#[derive(Debug, Default)]
pub(super) struct EqualRefusals(Mutex<(String, u32)>);

impl EqualRefusals {
    /// A call was answered otherwise: the row is broken.
    pub(super) fn reset(&self) {
        let mut row = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        row.1 = 0;
    }

    /// Counts `error` where it is a plain 400 or 422, and turns the fifth equal one into the end of the run.
    pub(super) fn count(&self, error: AskError) -> AskError {
        let AskError::Refused { message, status: 400 | 422, kind: UnscoredKind::Refused } = &error else {
            return error;
        };
        // What one answer says is no fault of the request.
        if message.starts_with(MODERATED) {
            return error;
        }
        let shape = without_numbers(message);
        let mut row = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if row.0 == shape {
            row.1 += 1
        } else {
            *row = (shape, 1)
        }
        if row.1 < EQUAL_REFUSALS {
            return error;
        }
        let words = message.to_lowercase();
        fatal(format!("the judge refused {} calls in a row with {message:?}; try {}", row.1, helping_option(&words)))
    }
}

/// The option that changes what the server complains about.
pub(super) fn helping_option(words: &str) -> &'static str {
    let has = |phrase: &str| words.contains(phrase);
    if has("max_tokens") || has("max_completion_tokens") {
        "--max-tokens-field max_completion_tokens"
    } else if has("logprobs") {
        "--logprobs with fewer alternatives, or without it"
    } else if has("temperature") {
        "--no-temperature"
    } else if has("response_format") || has("json_object") {
        "--no-json-mode"
    } else {
        "--extra-body JSON to send what the server wants"
    }
}

/// `text` with each run of digits made one `#`.
fn without_numbers(text: &str) -> String {
    let mut shape = String::with_capacity(text.len());
    for c in text.chars() {
        let mark = if c.is_ascii_digit() { '#' } else { c };
        if mark != '#' || !shape.ends_with('#') {
            shape.push(mark);
        }
    }
    shape
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn endpoint() -> Endpoint {
        Endpoint::new("http://localhost:8000").unwrap()
    }

    fn classify(status: u16, body: &str) -> AskError {
        let words = ServerWords::read(body.as_bytes(), &endpoint());
        ErrorResponse { status, retry_after: Some(Duration::from_secs(1)), words }
            .classify(&endpoint(), JudgeKind::Chat)
    }

    fn stops_with(error: &AskError, part: &str) -> bool {
        matches!(error, AskError::Fatal(Error::JudgeUnavailable(message)) if message.contains(part))
    }

    fn refused(error: &AskError) -> Option<UnscoredKind> {
        if let AskError::Refused { kind, .. } = error { Some(*kind) } else { None }
    }

    #[test]
    fn keys_quotas_models_and_routes_stop_the_run() {
        assert!(stops_with(&classify(401, "{}"), "OPENAI_API_KEY"));
        assert!(stops_with(&classify(403, "no"), "--api-key-env"));
        assert!(stops_with(&classify(402, "pay"), "quota"));
        assert!(stops_with(&classify(429, r#"{"error":{"code":"insufficient_quota"}}"#), "quota"));
        assert!(stops_with(&classify(429, r#"{"error":{"type":"insufficient_quota","code":429}}"#), "quota"));
        assert!(stops_with(&classify(404, r#"{"error":{"message":"The model `x` does not exist"}}"#), "--model"));
        assert!(stops_with(&classify(404, r#"{"detail":"Not Found"}"#), "--base-url"));
        assert!(stops_with(&classify(301, ""), "redirects"));
    }

    #[test]
    fn a_missing_route_is_told_by_its_name() {
        let words = ServerWords::read(br#"{"detail":"Not Found"}"#, &endpoint());
        let response = ErrorResponse { status: 404, retry_after: None, words };
        let error = response.classify(&endpoint(), JudgeKind::Label);
        assert!(stops_with(&error, "has no /completions"), "{error:?}");
    }

    #[test]
    fn passing_failures_keep_their_retry_after() {
        for status in [408, 409, 425, 429, 500, 502, 503, 504, 529] {
            let wait = Some(Duration::from_secs(1));
            let error = classify(status, "busy");
            assert!(
                matches!(&error, AskError::Transient { status: Some(s), retry_after, .. } if *s == status && *retry_after == wait),
                "{status}: {error:?}"
            );
        }
    }

    #[test]
    fn moderated_answers_do_not_stop_the_run() {
        let refusals = EqualRefusals::default();
        for _ in 0..3 * EQUAL_REFUSALS {
            let error = classify(400, r#"{"error":{"code":"content_filter","message":"The response was filtered"}}"#);
            assert_eq!(refused(&refusals.count(error)), Some(UnscoredKind::Refused));
        }
    }

    #[test]
    fn a_full_context_is_told_apart_from_other_refusals() {
        for body in [
            r#"{"error":{"type":"exceed_context_size_error","code":400,"message":"request (5000 tokens) exceeds"}}"#,
            r#"{"error":{"code":"context_length_exceeded","message":"x"}}"#,
            r#"{"object":"error","message":"This model's maximum context length is 4096 tokens."}"#,
        ] {
            assert_eq!(refused(&classify(400, body)), Some(UnscoredKind::ContextOverflow), "{body}");
        }
        assert_eq!(refused(&classify(400, "bad")), Some(UnscoredKind::Refused));
        assert_eq!(refused(&classify(422, "bad")), Some(UnscoredKind::Refused));
        assert_eq!(refused(&classify(403, "input was flagged")), Some(UnscoredKind::Refused));
        assert_eq!(refused(&classify(429, "Request too large for m on tokens per min")), Some(UnscoredKind::Refused));
    }

    #[test]
    fn an_error_under_200_stands_for_its_code() {
        let status = |error: Value| ErrorResponse::under_200(&error, None, &endpoint()).status;
        assert_eq!(status(json!({"code": 502})), 502);
        assert_eq!(status(json!({"code": "429"})), 429);
        assert_eq!(status(json!({"code": "invalid_api_key"})), 401);
        assert_eq!(status(json!({"type": "insufficient_quota"})), 429);
        assert_eq!(status(json!({"code": "context_length_exceeded"})), 400);
        assert_eq!(status(json!("gone")), 500);
        assert_eq!(status(json!({"code": 7})), 500);
    }

    #[test]
    fn the_fifth_equal_400_in_a_row_stops_the_run_with_the_option_that_helps() {
        let row = EqualRefusals::default();
        let refuse = |n: u32, words: &str| row.count(classify(400, &format!("{words} in request {n}")));
        for n in 0..4 {
            assert!(refused(&refuse(n, "max_tokens is unsupported")).is_some());
        }
        assert!(stops_with(&refuse(10, "max_tokens is unsupported"), "--max-tokens-field max_completion_tokens"));
        assert!(refused(&refuse(0, "temperature")).is_some(), "another message starts another row");
        for n in 1..4 {
            refuse(n, "temperature");
        }
        row.reset();
        assert!(refused(&refuse(5, "temperature")).is_some(), "a reply in between breaks the row");
    }

    #[test]
    fn long_answers_in_a_row_do_not_stop_the_run() {
        let row = EqualRefusals::default();
        for _ in 0..20 {
            let error = row.count(classify(400, r#"{"error":{"code":"context_length_exceeded"}}"#));
            assert_eq!(refused(&error), Some(UnscoredKind::ContextOverflow));
        }
    }

    #[test]
    fn each_complaint_has_its_option() {
        assert_eq!(helping_option("temperature must be 1"), "--no-temperature");
        assert_eq!(helping_option("response_format is unknown"), "--no-json-mode");
        let words = "requested sample logprobs of 8, which is greater than max allowed: 5";
        assert!(helping_option(words).starts_with("--logprobs"));
        assert!(helping_option("?").starts_with("--extra-body"));
    }
}
