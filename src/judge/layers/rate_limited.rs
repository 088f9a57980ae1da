//! Requests and tokens per minute, and how many at once.
//!
//! Calls pass a FIFO gate one by one. Whoever holds it waits for a free slot, for a pause that the server asked for, for
//! its tokens and for its request, and is then sent; the others wait in line and are not woken. The slot comes first,
//! because a quota that is bought and then waits for a slot would be sent in a burst later.
//!
//! - One `Retry-After` stops the gate, so that every waiting call feels it. After a pause calls leave in a slow start.
//! - An overloaded server gets fewer calls at once, and more again as it answers (additive increase, multiplicative
//!   decrease).
//! - Where no quota is given, the one that the server's headers tell is kept
//!   ([`crate::judge::server_limits`]).

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Mutex as FifoMutex;
use tokio::time::{Instant, sleep, sleep_until};

use super::adaptive::{Slot, Slots};
use super::bucket::Bucket;
use super::pause::Pause;
use crate::error::Error;
use crate::judge::meters::Meters;
use crate::judge::server_limits::{Dimension, ServerLimits};
use crate::judge::{AskError, AskFuture, Judge, JudgeRequest, Outcome};

/// How much may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Calls in flight at once, at least 1; fewer while the server is overloaded.
    pub concurrency: usize,
    /// Requests per minute; `None` for no limit.
    pub requests_per_minute: Option<NonZeroU32>,
    /// Tokens per minute, prompt and reply together; `None` for no limit.
    pub tokens_per_minute: Option<NonZeroU32>,
    /// A server that asks for a longer pause ends the run instead: it can be resumed.
    pub longest_pause: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            concurrency: 32,
            requests_per_minute: None,
            tokens_per_minute: None,
            longest_pause: Duration::from_secs(15 * 60),
        }
    }
}

/// Holds the calls to `inner` within [`Limits`] and the server's own wishes.
#[derive(Debug)]
pub struct RateLimited<J> {
    inner: J,
    limits: Limits,
    gate: FifoMutex<()>,
    slots: Slots,
    requests: Quota,
    tokens: Quota,
    server: Option<Arc<ServerLimits>>,
    pause: Mutex<Pause>,
    flying: AtomicUsize,
    meters: Arc<Meters>,
}

impl<J> RateLimited<J> {
    /// `inner` within `limits`; requests and throttled responses are counted in `meters`.
    pub fn new(inner: J, limits: Limits, meters: Arc<Meters>) -> Self {
        Self {
            inner,
            limits: Limits { concurrency: limits.concurrency.max(1), ..limits },
            gate: FifoMutex::new(()),
            slots: Slots::new(limits.concurrency),
            requests: Quota::new(limits.requests_per_minute, Dimension::Requests),
            tokens: Quota::new(limits.tokens_per_minute, Dimension::Tokens),
            server: None,
            pause: Mutex::default(),
            flying: AtomicUsize::new(0),
            meters,
        }
    }

    /// Keeps to what the server says of its limits wherever [`Limits`] says nothing; `server` is what the judge inside
    /// has heard ([`crate::judge::chat::Chat::server_limits`]).
    #[must_use]
    pub fn learning_from(self, server: Arc<ServerLimits>) -> Self {
        Self { server: Some(server), ..self }
    }

    /// How many calls may be in flight at this moment: what was given, or less for a server that is overloaded.
    pub fn concurrency(&self) -> usize {
        self.slots.limit()
    }

    /// Waits for its turn; gives the slot and the time of leaving.
    async fn turn(&self, tokens: u64) -> (Slot<'_>, Instant) {
        let _gate = self.gate.lock().await;
        let slot = self.slots.take().await;
        if let Some(bucket) = self.tokens.bucket() {
            bucket.take(tokens).await;
        }
        if let Some(bucket) = self.requests.bucket() {
            bucket.take(1).await;
        }
        // Last: a pause may have come while the quotas were waited for, and may grow while it is waited for.
        loop {
            while let Some(until) = self.with_pause(|pause| pause.pending()) {
                sleep_until(until).await;
            }
            let Some(gap) = self.with_pause(Pause::next_gap) else { break };
            sleep(gap).await;
            if self.with_pause(|pause| pause.pending()).is_none() {
                break;
            }
        }
        (slot, Instant::now())
    }

    /// Takes notice of how a call that left at `sent` ended.
    fn heed(&self, sent: Instant, result: Result<Outcome, AskError>) -> Result<Outcome, AskError> {
        self.hear();
        let Err(AskError::Transient { message, status, retry_after }) = result else {
            if !matches!(result, Err(AskError::Fatal(_))) {
                self.slots.answered(sent);
            }
            if result.is_ok() {
                self.with_pause(Pause::end_own);
            }
            return result;
        };
        if matches!(status, Some(429 | 503 | 529)) {
            Meters::add_one(&self.meters.throttled);
        }
        // 408 and 504 are time-outs: what was asked is likely still being worked on.
        if matches!(status, Some(408 | 429 | 503 | 504 | 529)) {
            self.slots.overloaded(sent);
        }
        match retry_after {
            Some(wait) if wait > self.limits.longest_pause => {
                let (asked, most) = (wait.as_secs(), self.limits.longest_pause.as_secs());
                return Err(AskError::Fatal(Error::JudgeUnavailable(format!(
                    "the judge asks to wait {asked} s ({message}), longer than the {most} s a run waits; \
                     give the same command again later, it goes on where it stopped"
                ))));
            }
            Some(wait) => self.with_pause(|pause| pause.extend(wait)),
            None if matches!(status, Some(429 | 529)) => self.with_pause(|pause| pause.extend_own(sent)),
            None => {}
        }
        Err(AskError::Transient { message, status, retry_after })
    }

    /// Takes over what the server's headers said last.
    fn hear(&self) {
        let Some(server) = &self.server else { return };
        for quota in [&self.requests, &self.tokens] {
            if !quota.is_given {
                quota.learn(server.per_minute(quota.dimension));
                if let Some(wait) = server.take_exhausted(quota.dimension) {
                    self.with_pause(|pause| pause.extend(wait));
                }
            }
        }
    }

    fn with_pause<T>(&self, act: impl FnOnce(&mut Pause) -> T) -> T {
        act(&mut self.pause.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<J: Judge> Judge for RateLimited<J> {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        Box::pin(async move {
            let (_slot, sent) = self.turn(cost(request)).await;
            Meters::add_one(&self.meters.requests);
            let _flying = Flying::new(&self.flying);
            let result = self.inner.ask(request).await;
            self.heed(sent, result)
        })
    }

    fn asking(&self) -> Option<usize> {
        Some(self.flying.load(Ordering::Acquire))
    }
}

/// Counts one call for as long as it is with the judge, however it ends.
struct Flying<'a>(&'a AtomicUsize);

impl<'a> Flying<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        Self(count)
    }
}

impl Drop for Flying<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Tokens a call will take at most, as providers count them: the prompt and the reply limit. A call without a limit
/// restates the answer, so its reply is taken to be as long as its prompt.
fn cost(request: &JudgeRequest) -> u64 {
    let rendered = request.rendered.as_ref();
    rendered.map_or(0, |rendered| rendered.prompt_tokens + rendered.max_tokens.unwrap_or(rendered.prompt_tokens))
}

/// A quota of requests or of tokens: given for good, or learned and changing.
#[derive(Debug)]
struct Quota {
    dimension: Dimension,
    is_given: bool,
    /// The quota per minute, and what hands it out.
    now: Mutex<Option<(NonZeroU32, Arc<Bucket>)>>,
}

impl Quota {
    fn new(given: Option<NonZeroU32>, dimension: Dimension) -> Self {
        let now = given.map(|quota| (quota, Arc::new(Bucket::per_minute(quota))));
        Self { dimension, is_given: given.is_some(), now: Mutex::new(now) }
    }

    fn bucket(&self) -> Option<Arc<Bucket>> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|(_, bucket)| Arc::clone(bucket))
    }

    /// Another quota than before starts anew; the same goes on.
    fn learn(&self, quota: Option<NonZeroU32>) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        if now.as_ref().map(|(quota, _)| *quota) != quota {
            tracing::debug!(?quota, dimension = ?self.dimension, "the judge's own quota per minute");
            *now = quota.map(|quota| (quota, Arc::new(Bucket::per_minute(quota))));
        }
    }
}

#[cfg(test)]
#[path = "rate_limited_tests.rs"]
mod tests;
