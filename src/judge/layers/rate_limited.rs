//! Limits requests and tokens per minute, and concurrent calls.
//!
//! Calls pass a FIFO gate one by one. The call at the gate waits for a free slot, for its tokens and its request, and
//! for the end of any pause that the server asked for, and is then sent; the others wait in line and are not woken.
//!
//! - One `Retry-After` stops the gate for every waiting call.
//! - An overloaded server gets fewer concurrent calls, and more again as it answers (additive increase, multiplicative
//!   decrease).
//! - Without a configured quota, the one in the server's headers applies ([`crate::judge::server_limits`]).

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Mutex as FifoMutex, Notify};
use tokio::time::{Instant, sleep_until};

use super::overload::{Pause, Window};
use super::quota::Quota;
use crate::error::Error;
use crate::judge::meters::Meters;
use crate::judge::server_limits::{Dimension, ServerLimits};
use crate::judge::{AskError, AskFuture, Judge, JudgeRequest, Outcome};

/// A longer pause ends the run instead: it can be resumed.
const LONGEST_PAUSE: Duration = Duration::from_secs(15 * 60);

/// Limits of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Calls in flight at once, at least 1; fewer while the server is overloaded.
    pub concurrency: usize,
    /// Requests per minute; `None` for no limit.
    pub requests_per_minute: Option<NonZeroU32>,
    /// Tokens per minute, prompt and reply together; `None` for no limit.
    pub tokens_per_minute: Option<NonZeroU32>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { concurrency: 32, requests_per_minute: None, tokens_per_minute: None }
    }
}

/// Keeps the calls to `inner` within [`Limits`] and the limits of the server.
#[derive(Debug)]
pub struct RateLimited<J> {
    inner: J,
    limits: Limits,
    server: Option<Arc<ServerLimits>>,
    meters: Arc<Meters>,
    gate: FifoMutex<()>,
    state: Mutex<State>,
    /// A call ended, or more may be in flight.
    freed: Notify,
}

#[derive(Debug)]
struct State {
    window: Window,
    in_flight: usize,
    /// By [`Dimension`].
    quotas: [Option<Quota>; 2],
    pause: Pause,
}

impl<J> RateLimited<J> {
    /// `inner` within `limits`; requests and throttled responses are counted in `meters`.
    pub fn new(inner: J, limits: Limits, meters: Arc<Meters>) -> Self {
        let state = State {
            window: Window::new(limits.concurrency),
            in_flight: 0,
            quotas: [limits.requests_per_minute, limits.tokens_per_minute].map(|limit| limit.map(Quota::new)),
            pause: Pause::default(),
        };
        let (gate, state, freed) = (FifoMutex::new(()), Mutex::new(state), Notify::new());
        Self { inner, limits, server: None, meters, gate, state, freed }
    }

    /// Applies the limits in the server's headers where [`Limits`] has none; `server` is filled by the inner judge
    /// ([`crate::judge::chat::Chat::server_limits`]).
    #[must_use]
    pub fn learning_from(self, server: Arc<ServerLimits>) -> Self {
        Self { server: Some(server), ..self }
    }

    /// The current limit of concurrent calls: the configured one, or less for an overloaded server.
    pub fn concurrency(&self) -> usize {
        self.with(|state| state.window.limit())
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits for its turn.
    async fn turn(&self, tokens: u64) -> Flight<'_, J> {
        let _gate = self.gate.lock().await;
        // First, because a permit that then waits for a slot would be used in a burst later.
        while self.with(|state| state.in_flight >= state.window.limit()) {
            self.freed.notified().await;
        }
        for (dimension, cost) in [(Dimension::Tokens, tokens), (Dimension::Requests, 1)] {
            if let Some(quota) = self.with(|state| state.quotas[dimension as usize].clone()) {
                quota.take(cost).await;
            }
        }
        // Last: a pause may start while waiting for the quotas, and be extended while waiting for its end.
        while let Some(until) = self.with(|state| state.pause.pending()) {
            sleep_until(until).await;
        }
        self.with(|state| state.in_flight += 1);
        Flight { judge: self, sent: Instant::now() }
    }

    /// Adapts to the outcome of a call sent at `sent`.
    fn settle(&self, sent: Instant, result: Result<Outcome, AskError>) -> Result<Outcome, AskError> {
        self.learn();
        let Err(AskError::Transient { message, status, retry_after }) = result else {
            let is_answer = !matches!(result, Err(AskError::Fatal(_)));
            if is_answer && self.with(|state| state.window.answered(sent)) {
                self.freed.notify_one();
            }
            if result.is_ok() {
                self.with(|state| state.pause.end_own());
            }
            return result;
        };
        if matches!(status, Some(429 | 503 | 529)) {
            Meters::add_one(&self.meters.throttled);
        }
        // 408 and 504 are time-outs: the server is probably still working on the call.
        let is_overload = matches!(status, Some(408 | 429 | 503 | 504 | 529));
        if is_overload && self.with(|state| state.window.overloaded(sent)) {
            tracing::debug!(limit = self.concurrency(), "the judge is overloaded: fewer calls at once");
        }
        match retry_after {
            Some(wait) if wait > LONGEST_PAUSE => {
                let (asked, most) = (wait.as_secs(), LONGEST_PAUSE.as_secs());
                return Err(AskError::Fatal(Error::JudgeUnavailable(format!(
                    "the judge asks to wait {asked} s ({message}), longer than the {most} s a run waits; \
                     give the same command again later, it continues where it stopped"
                ))));
            }
            Some(wait) => self.with(|state| state.pause.extend(wait)),
            None if matches!(status, Some(429 | 529)) => self.with(|state| state.pause.extend_own(sent)),
            None => {}
        }
        Err(AskError::Transient { message, status, retry_after })
    }

    /// Adopts the last limits in the server's headers, if none are configured.
    fn learn(&self) {
        let Some(server) = &self.server else { return };
        let given = [self.limits.requests_per_minute, self.limits.tokens_per_minute];
        for dimension in [Dimension::Requests, Dimension::Tokens] {
            if given[dimension as usize].is_some() {
                continue;
            }
            let stated = server.per_minute(dimension);
            self.with(|state| {
                let quota = &mut state.quotas[dimension as usize];
                if quota.as_ref().map(Quota::per_minute) != stated {
                    tracing::debug!(?stated, ?dimension, "the judge's own quota per minute");
                    *quota = stated.map(Quota::new);
                }
            });
        }
    }
}

impl<J: Judge> Judge for RateLimited<J> {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        Box::pin(async move {
            let flight = self.turn(cost(request)).await;
            Meters::add_one(&self.meters.requests);
            let result = self.inner.ask(request).await;
            self.settle(flight.sent, result)
        })
    }

    fn asking(&self) -> Option<usize> {
        Some(self.with(|state| state.in_flight))
    }
}

/// A call in flight; its end is counted however it ends.
struct Flight<'a, J> {
    judge: &'a RateLimited<J>,
    sent: Instant,
}

impl<J> Drop for Flight<'_, J> {
    fn drop(&mut self) {
        self.judge.with(|state| state.in_flight -= 1);
        self.judge.freed.notify_one();
    }
}

/// Maximum tokens of a call, as providers count them: the prompt and the reply limit. A call without one restates the
/// answer, so its reply counts as long as its prompt.
fn cost(request: &JudgeRequest) -> u64 {
    let rendered = request.rendered.as_ref();
    rendered.map_or(0, |rendered| rendered.prompt_tokens + rendered.max_tokens.unwrap_or(rendered.prompt_tokens))
}

#[cfg(test)]
#[path = "rate_limited_tests.rs"]
mod tests;
