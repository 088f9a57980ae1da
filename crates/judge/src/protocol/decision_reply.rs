//! Replies of decision models, whose answers stand under `answers` in both shapes of requests.
//!
//! The answers are the text of the reply, as they came: the question reads them. What stands around them differs: Cloudflare
//! puts a reply into an envelope, Gemini blocks a request in place of answering it, some servers name no model.

use serde_json::{Value, json};

use super::BodyFault;
use super::completion::{MENDED, MOST_TOKENS};
use scholareval_core::domain::{JudgeReply, Usage};

/// The methods of [`Protocol`](super::Protocol) that both protocols of decision models have.
macro_rules! decision_replies {
    () => {
        fn parameters(&self) -> &'static [$crate::protocol::ParameterForm] {
            &[]
        }

        fn missing_options(&self) -> &'static [&'static str] {
            $crate::decision_bounds::NO_SAMPLING
        }

        fn form_advice(&self) -> &'static str {
            "try the other kind of --judge (systemone, decisions), another model, or fewer questions a request \
             (--criteria-per-call N)"
        }

        fn reply_member(&self) -> &'static str {
            "\"answers\""
        }

        fn read(&self, body: Value, latency_ms: u64) -> Result<JudgeReply, BodyFault> {
            $crate::protocol::decision_reply::read(body, latency_ms)
        }
    };
}
pub(super) use decision_replies;

/// The reply in a body.
///
/// # Errors
/// For an error in its place, and for JSON that is neither.
pub(super) fn read(body: Value, latency_ms: u64) -> Result<JudgeReply, BodyFault> {
    let body = without_envelope(body)?;
    if let Some(reason) = body["prompt_feedback"]["block_reason"].as_str() {
        return Ok(JudgeReply {
            finish_reason: Some("refusal".to_owned()),
            latency_ms,
            usage: usage(&body["usage"]),
            ..JudgeReply::of_text(reason)
        });
    }
    let answers = &body["answers"];
    let error = &body["error"];
    if answers.is_null() && !error.is_null() {
        return Err(BodyFault::Error(error.clone()));
    }
    // Paid for, whatever is wrong with it: it is kept, and asked for again as any reply that cannot be read.
    if answers.is_null() && body["model"].is_null() && body["usage"].is_null() {
        return Err(BodyFault::NotACompletion);
    }
    // NaN and the like are not JSON: what was mended of such a body may be a number that nobody sent.
    let is_mended = body.get(MENDED).is_some();
    Ok(JudgeReply {
        content: answers.to_string(),
        finish_reason: Some(if is_mended { "undecodable" } else { "stop" }.to_owned()),
        model: body["model"].as_str().map(str::to_owned),
        usage: usage(&body["usage"]),
        latency_ms,
        ..JudgeReply::default()
    })
}

/// The reply in Cloudflare's envelope, `{"result", "success", "errors"}`.
fn without_envelope(mut body: Value) -> Result<Value, BodyFault> {
    if !body["answers"].is_null() || !body["result"].is_object() {
        return Ok(body);
    }
    if body["success"] == json!(false) {
        let error = body["errors"].get(0).unwrap_or(&body);
        return Err(BodyFault::Error(error.clone()));
    }
    Ok(body["result"].take())
}

fn usage(usage: &Value) -> Usage {
    let details = &usage["input_tokens_details"];
    let count = |value: &Value| value.as_u64().unwrap_or(0).min(MOST_TOKENS);
    Usage {
        prompt_tokens: count(&usage["input_tokens"]),
        cached_prompt_tokens: count(&details["cached_tokens"]),
        completion_tokens: count(&usage["output_tokens"]),
        reasoning_tokens: count(&usage["output_tokens_details"]["reasoning_tokens"]),
        cache_write_tokens: count(&details["cache_write_tokens"]),
    }
}
