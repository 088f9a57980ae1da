//! Finds prompts that are longer than the model's context before they are sent.

use crate::domain::{UnscoredKind, UnscoredReason};
use crate::judge::capacity::{Capacity, Fits, TokenCounter};
use crate::judge::{AskError, AskFuture, Judge, JudgeRequest, Outcome, Rendered};

/// A judge whose prompts must fit.
///
/// A call that cannot fit becomes [`Outcome::Unscored`] with the numbers: some servers would refuse it, others cut it
/// in silence. Since estimates err, a call is held back only where even three quarters of its estimated tokens are too
/// many; where it is not certain, the server's own tokenizer decides, if it has one, and else the server itself.
///
/// It stands inside the cache (what is paid needs no room) and outside retries and limits (nothing is sent).
pub struct ContextLimited<J> {
    inner: J,
    capacity: Capacity,
    counter: Option<TokenCounter>,
}

impl<J> ContextLimited<J> {
    /// Puts the limits of `capacity` before `inner`; `counter` counts where the estimate does not decide.
    pub fn new(inner: J, capacity: Capacity, counter: Option<TokenCounter>) -> Self {
        Self { inner, capacity, counter }
    }

    /// Why this call cannot be sent; `None` if it can.
    async fn too_long(&self, call: &Rendered) -> Option<UnscoredReason> {
        let room = self.capacity.prompt_room(call.max_tokens)?;
        let prompt = match self.capacity.fits(call) {
            Fits::Surely => return None,
            Fits::Never => format!("about {} tokens", call.prompt_tokens),
            Fits::Perhaps => {
                let tokens = self.counter.as_ref()?.count(&call.body).await?;
                if tokens <= room {
                    return None;
                }
                format!("{tokens} tokens")
            }
        };
        let context = self.capacity.context_tokens.unwrap_or_default();
        let reply = match call.max_tokens.filter(|_| self.capacity.counts_reply) {
            Some(limit) => format!(" and its reply up to {limit}"),
            None => String::new(),
        };
        let what = format!("the prompt has {prompt}{reply}, the model's context holds {context}; it was not sent");
        Some(UnscoredReason::new(UnscoredKind::ContextOverflow, what))
    }

    async fn checked(&self, request: &JudgeRequest, rendered: &Rendered) -> Result<Outcome, AskError>
    where
        J: Judge,
    {
        match self.too_long(rendered).await {
            Some(reason) => Ok(Outcome::Unscored(reason)),
            None => self.inner.ask(request).await,
        }
    }
}

impl<J: Judge> Judge for ContextLimited<J> {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        match &request.rendered {
            Some(rendered) if self.capacity.context_tokens.is_some() => Box::pin(self.checked(request, rendered)),
            _ => self.inner.ask(request),
        }
    }

    fn asking(&self) -> Option<usize> {
        self.inner.asking()
    }
}
