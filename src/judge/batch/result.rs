//! One line of a result file.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::domain::JudgeReply;
use crate::judge::chat;

/// The result of one request.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchResult {
    /// The id of the request, as it is in the line.
    pub custom_id: String,
    /// The reply, or why there is none: one line, secrets masked.
    pub outcome: Result<JudgeReply, String>,
}

#[derive(Deserialize)]
struct Line<'a> {
    custom_id: String,
    #[serde(borrow, default)]
    response: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<Value>,
}

/// `{status_code, body}`; some services leave these out and write the completion itself.
#[derive(Default, Deserialize)]
struct Response<'a> {
    #[serde(default)]
    status_code: Option<u16>,
    #[serde(borrow, default)]
    body: Option<&'a RawValue>,
    #[serde(borrow, default)]
    choices: Option<&'a RawValue>,
}

/// Reads `{custom_id, response: {status_code, body}, error}`. Anything but status 200 with a completion is an error of
/// that request; a completion whose text is cut or blank is a reply like any other.
///
/// # Errors
/// A fragment, for a line that is no result at all.
pub fn parse_result(line: &str) -> Result<BatchResult, String> {
    let line: Line<'_> = serde_json::from_str(line.trim_ascii()).map_err(|error| {
        // The position is in this line; the caller adds the file's line.
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        let cut = if error.is_eof() { "the line is cut: " } else { "" };
        format!("not a result of a batch ({cut}{message} at column {})", error.column())
    })?;
    let outcome = outcome(line.response, line.error.filter(|error| !error.is_null()));
    Ok(BatchResult { custom_id: line.custom_id, outcome })
}

fn outcome(response: Option<&RawValue>, error: Option<Value>) -> Result<JudgeReply, String> {
    let response = response.filter(|response| response.get() != "null");
    let Some(raw) = response else {
        return Err(error.map_or_else(|| "no response and no error".to_owned(), |error| words(&error)));
    };
    let response: Response<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
    let status = response.status_code.unwrap_or(200);
    let body = response.body.filter(|body| body.get() != "null").or_else(|| response.choices.map(|_| raw));
    if status != 200 {
        let error = error.or_else(|| serde_json::from_str(body?.get()).ok());
        return Err(match error {
            Some(error) => format!("status {status}: {}", words(&error)),
            None => format!("status {status}"),
        });
    }
    if let Some(error) = error {
        return Err(words(&error));
    }
    let body = body.ok_or_else(|| "status 200 without a body".to_owned())?;
    chat::read_completion(body.get())
}

/// The words of an error: the message of its innermost `error`, with the code where it has one.
fn words(error: &Value) -> String {
    let inner = error.get("error").filter(|inner| !inner.is_null()).unwrap_or(error);
    chat::error_words(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(line: &str) -> JudgeReply {
        parse_result(line).unwrap().outcome.unwrap()
    }

    fn refused(line: &str) -> String {
        parse_result(line).unwrap().outcome.unwrap_err()
    }

    #[test]
    fn openai_vllm_and_ray_results_are_read() {
        let body = r#"{"model":"m","choices":[{"message":{"content":"{\"score\": 3}"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2}}"#;
        for line in [
            format!(
                r#"{{"id":"b1","custom_id":"k","response":{{"status_code":200,"request_id":"r","body":{body}}},"error":null}}"#
            ),
            format!(r#"{{"custom_id":"k","response":{{"body":{body},"status_code":200}}}}"#),
            format!(r#"{{"custom_id":"k","response":{body}}}"#),
        ] {
            let reply = reply(&line);
            assert_eq!((reply.content.as_str(), reply.usage.prompt_tokens), ("{\"score\": 3}", 9), "{line}");
            assert!(!reply.cached);
        }
    }

    #[test]
    fn cut_and_blank_completions_are_replies_as_they_are() {
        let line = |choice: &str| {
            format!(r#"{{"custom_id":"k","response":{{"status_code":200,"body":{{"choices":[{choice}]}}}}}}"#)
        };
        assert!(reply(&line(r#"{"text":" Attrib","finish_reason":"length"}"#)).is_cut());
        assert_eq!(reply(&line(r#"{"message":{"content":null}}"#)).content, "");
    }

    #[test]
    fn errors_hold_the_words_of_the_service() {
        for (line, said) in [
            (r#"{"custom_id":"k","response":null,"error":{"code":"batch_expired","message":"too late"}}"#, "too late"),
            (
                r#"{"custom_id":"k","response":{"status_code":400,"body":{"error":{"message":"bad field"}}},"error":null}"#,
                "status 400: bad field",
            ),
            (
                r#"{"custom_id":"k","response":{"status_code":500,"body":null},"error":{"message":"boom"}}"#,
                "status 500: boom",
            ),
            (r#"{"custom_id":"k","response":{"status_code":429}}"#, "status 429"),
            (r#"{"custom_id":"k","response":{"status_code":200,"body":{"error":{"message":"gone"}}}}"#, "gone"),
            (r#"{"custom_id":"k","response":{"status_code":200,"body":{"x":1}}}"#, "no completion"),
            (r#"{"custom_id":"k","response":{"status_code":200}}"#, "without a body"),
            (r#"{"custom_id":"k"}"#, "no response and no error"),
            (r#"{"custom_id":"k","response":7}"#, "without a body"),
        ] {
            assert!(refused(line).contains(said), "{line}: {}", refused(line));
        }
    }

    #[test]
    fn a_key_in_an_error_is_masked() {
        let said = refused(
            r#"{"custom_id":"k","response":{"status_code":401,"body":{"error":{"message":"Incorrect API key provided: sk-abcdefgh1234."}}}}"#,
        );
        assert!(!said.contains("abcdefgh"), "{said}");
    }

    #[test]
    fn a_line_that_is_no_result_is_an_error() {
        let cut = parse_result("{\"custom_id\":\"ab\n").unwrap_err();
        assert_eq!(cut, "not a result of a batch (the line is cut: EOF while parsing a string at column 16)");
        assert!(parse_result("{\"custom_id\":7}").is_err());
        assert!(parse_result("[]").is_err());
    }
}
