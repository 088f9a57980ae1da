//! Rejects prompts that are longer than the model's context before they are sent.

use std::sync::Arc;

use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};

use crate::capacity::Capacity;
use crate::chat::transport::{PROBE_LIMIT, Transport};
use crate::endpoint::Endpoint;
use crate::{AskFuture, Judge, JudgeRequest, Outcome, Rendered};
use scholareval_core::domain::{UnscoredKind, UnscoredReason};
use scholareval_core::error::Result;
use scholareval_core::question::DecisionChunk;

/// Lower bound of an English text's tokens, as a share of the estimate. (95% of answers are within 7%, see
/// [`crate::tokens`].)
const LEAST_SHARE: f64 = 0.75;
/// Upper bound, from which on the server is asked to count.
const MOST_SHARE: f64 = 1.25;
/// Tokens estimated for a byte outside ASCII; some tokenizers need far fewer, so there is no bound for such text.
const FOREIGN_TOKENS: f64 = 1.0 / 3.0 + 1.0 / 24.0;

/// A judge with a context limit.
///
/// A call that cannot fit becomes [`Outcome::Unscored`] with the numbers: some servers would reject it, others cut it
/// silently. Since estimates err, a call is held back only if even three quarters of its estimated tokens are too many.
/// Where a quarter more would be, the server counts the tokens, if it can; otherwise it decides.
///
/// It is inside the cache (cached replies need no room) and outside retries and limits (nothing is sent).
pub struct ContextLimited<J> {
    inner: J,
    capacity: Option<(Capacity, Transport)>,
}

impl<J> ContextLimited<J> {
    /// Puts the limits of `capacity`, if any are known, before `inner`; its server counts tokens.
    ///
    /// # Errors
    /// When no HTTP client can be set up.
    pub fn new(inner: J, capacity: Option<(Capacity, &Endpoint)>) -> Result<Self> {
        let server = |endpoint: &Endpoint| Transport::new(Arc::new(endpoint.clone()));
        let counted =
            capacity.map(|(capacity, endpoint)| server(endpoint).map(|server| (capacity, server)));
        Ok(Self {
            inner,
            capacity: counted.transpose()?,
        })
    }
}

/// Why this call cannot be sent, by the server's count or by our estimate; `None` if it may fit.
fn too_long(capacity: Capacity, call: &Rendered, counted: Option<u64>) -> Option<UnscoredReason> {
    let foreign = call
        .body
        .bytes
        .iter()
        // Only text in ASCII has a known lower bound; what other text could need is taken off, so
        // that no call that fits is held back.
        .filter(|byte| !byte.is_ascii())
        .count() as f64
        * FOREIGN_TOKENS;
    let estimated = (call.body.prompt_tokens as f64 - foreign) * LEAST_SHARE;
    let least = counted.map_or(estimated, |tokens| tokens as f64);
    if least <= capacity.prompt_room(call.max_tokens) as f64 {
        return None;
    }
    let reply = capacity.counted_reply(call.max_tokens);
    let reply = reply.map_or_else(String::new, |limit| format!(" and its reply up to {limit}"));
    let prompt = counted.map_or_else(
        || format!("about {}", call.body.prompt_tokens),
        |tokens| tokens.to_string(),
    );
    let context = capacity.context_tokens;
    let what = format!(
        "the prompt has {prompt} tokens{reply}, the model's context holds {context}; it was not sent"
    );
    Some(UnscoredReason::new(UnscoredKind::ContextOverflow, what))
}

/// The tokens of a call's texts, without their framing, as the server counts them: `POST /tokenize`, which reads `prompt` in
/// vLLM and SGLang, and `content` in llama.cpp. `None` if it gives no count.
async fn count_tokens(server: &Transport, model: &str, body: &[u8]) -> Option<u64> {
    let call: Value = serde_json::from_slice(body).ok()?;
    let text = server.endpoint.protocol.texts_of(&call);
    let document =
        json!({"model": model, "prompt": text, "content": text, "add_special_tokens": false});
    let request = server
        .http
        .post(server.endpoint.beside_v1("/tokenize"))
        .query(&server.endpoint.query);
    let request = request
        .header(CONTENT_TYPE, "application/json")
        .timeout(PROBE_LIMIT)
        .body(document.to_string());
    let counted = server
        .response(request.build().ok()?)
        .await
        .ok()?
        .bytes()
        .await
        .ok()?;
    let counted: Value = serde_json::from_slice(&counted).ok()?;
    counted["count"]
        .as_u64()
        .or_else(|| Some(counted["tokens"].as_array()?.len() as u64))
}

impl<J: Judge> Judge for ContextLimited<J> {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        let question = &request.call.question;
        // A decision model holds each question alone against its context, and says when one is too long.
        let is_chunk = question.downcast_ref::<DecisionChunk>().is_some();
        let limit = self.capacity.as_ref().filter(|_| !is_chunk);
        let Some(((capacity, server), call)) = limit.zip(request.rendered.as_ref()) else {
            return self.inner.ask(request);
        };
        Box::pin(async move {
            let room = capacity.prompt_room(call.max_tokens) as f64;
            let mut reason = too_long(*capacity, call, None);
            // Counting is another request, so it is made only where the answer can matter.
            if reason.is_none() && call.body.prompt_tokens as f64 * MOST_SHARE > room {
                let counted = count_tokens(server, &call.model, &call.body.bytes).await;
                reason = counted.and_then(|tokens| too_long(*capacity, call, Some(tokens)));
            }
            match reason {
                Some(reason) => Ok(Outcome::Unscored(reason)),
                // A server that cannot count decides by itself: its refusal is recognized, and
                // costs nothing.
                None => self.inner.ask(request).await,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::Body;
    use scholareval_core::domain::Fingerprint;

    fn call(text: &str, prompt_tokens: u64) -> Rendered {
        let bytes = Bytes::copy_from_slice(text.as_bytes());
        let rendered = Rendered::new(Fingerprint::from([0; 32]), move || {
            Body::new(prompt_tokens, move || bytes)
        });
        Rendered {
            max_tokens: Some(100),
            ..rendered
        }
    }

    fn is_rejected(call: &Rendered) -> bool {
        too_long(
            Capacity {
                context_tokens: 1001,
                counts_reply: false,
            },
            call,
            None,
        )
        .is_some()
    }

    #[test]
    fn only_certain_overflows_are_rejected() {
        // at least 1334 x 0.75 = 1000.5 > 1000, 1333 x 0.75 = 999.75
        assert_eq!(
            [1334, 1333].map(|tokens| is_rejected(&call("x", tokens))),
            [true, false]
        );
    }

    #[test]
    fn other_scripts_have_no_bounds() {
        // 6000 bytes are estimated as 2000 tokens, but may be 500
        assert!(!is_rejected(&call(&"\u{434}".repeat(3000), 2000)));
    }
}
