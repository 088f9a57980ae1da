//! Rejects prompts that are longer than the model's context before they are sent.

use crate::domain::{UnscoredKind, UnscoredReason};
use crate::judge::capacity::Capacity;
use crate::judge::token_counter::TokenCounter;
use crate::judge::{AskFuture, Judge, JudgeRequest, Outcome, Rendered};

/// Lower bound of an English text's tokens, as a share of the estimate. (95% of answers are within 12%, see
/// [`crate::judge::tokens`].)
const LEAST_SHARE: f64 = 0.75;
/// The upper bound.
const MOST_SHARE: f64 = 1.4;
/// Bytes of UTF-8 outside ASCII that are estimated as one token; some tokenizers need far fewer, so there is no bound
/// for such text.
const FOREIGN_BYTES_PER_TOKEN: u64 = 3;

/// A judge with a context limit.
///
/// A call that cannot fit becomes [`Outcome::Unscored`] with the numbers: some servers would reject it, others cut it
/// silently. Since estimates err, a call is held back only if even three quarters of its estimated tokens are too many;
/// otherwise the server's own tokenizer decides, if there is one, else the server itself.
///
/// It is inside the cache (cached replies need no room) and outside retries and limits (nothing is sent).
pub struct ContextLimited<J> {
    inner: J,
    capacity: Option<Capacity>,
    counter: Option<TokenCounter>,
}

impl<J> ContextLimited<J> {
    /// Puts the limits of `capacity`, if any are known, before `inner`; `counter` decides if the estimate cannot.
    pub fn new(inner: J, capacity: Option<Capacity>, counter: Option<TokenCounter>) -> Self {
        Self { inner, capacity, counter }
    }

    /// Why this call cannot be sent; `None` if it can.
    async fn too_long(&self, capacity: Capacity, call: &Rendered) -> Option<UnscoredReason> {
        let room = capacity.prompt_room(call.max_tokens);
        let prompt = match fits(room, call) {
            Some(true) => return None,
            Some(false) => format!("about {} tokens", call.prompt_tokens),
            None => {
                let tokens = self.counter.as_ref()?.count(&call.body).await.filter(|tokens| *tokens > room)?;
                format!("{tokens} tokens")
            }
        };
        let reply = capacity.counted_reply(call.max_tokens);
        let reply = reply.map_or_else(String::new, |limit| format!(" and its reply up to {limit}"));
        let context = capacity.context_tokens;
        let what = format!("the prompt has {prompt}{reply}, the model's context holds {context}; it was not sent");
        Some(UnscoredReason::new(UnscoredKind::ContextOverflow, what))
    }
}

/// Whether the prompt of `call` fits into `room` tokens; `None` where a count, or the server, has to decide.
fn fits(room: u64, call: &Rendered) -> Option<bool> {
    if call.prompt_tokens as f64 * MOST_SHARE <= room as f64 {
        return Some(true);
    }
    let foreign = call.body.iter().filter(|byte| !byte.is_ascii()).count() as u64 / FOREIGN_BYTES_PER_TOKEN;
    let least = call.prompt_tokens.saturating_sub(foreign) as f64 * LEAST_SHARE;
    (least > room as f64).then_some(false)
}

impl<J: Judge> Judge for ContextLimited<J> {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        let (Some(rendered), Some(capacity)) = (&request.rendered, self.capacity) else {
            return self.inner.ask(request);
        };
        Box::pin(async move {
            match self.too_long(capacity, rendered).await {
                Some(reason) => Ok(Outcome::Unscored(reason)),
                None => self.inner.ask(request).await,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::domain::Fingerprint;

    fn call(text: &str, prompt_tokens: u64) -> Rendered {
        let (body, fingerprint) = (Bytes::copy_from_slice(text.as_bytes()), Fingerprint::from([0; 32]));
        Rendered { body, fingerprint, prompt_tokens, max_tokens: Some(100), note: None }
    }

    #[test]
    fn only_certain_overflows_are_rejected() {
        // at least 1334 x 0.75 = 1000.5 > 1000, 1333 x 0.75 = 999.75; at most 714 x 1.4 = 999.6, 715 x 1.4 = 1001
        let found = [1334, 1333, 715, 714].map(|tokens| fits(1000, &call("x", tokens)));
        assert_eq!(found, [Some(false), None, None, Some(true)]);
    }

    #[test]
    fn other_scripts_have_no_bounds() {
        // 6000 bytes are estimated as 2000 tokens, but may be 500
        assert_eq!(fits(1000, &call(&"\u{434}".repeat(3000), 2000)), None);
    }
}
