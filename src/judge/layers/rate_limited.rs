//! Requests and tokens per minute, and how many at once.
//!
//! Calls pass a FIFO gate one by one. Whoever holds it waits for a free slot, for a pause that the server asked for, for
//! its tokens and for its request, and is then sent; the others wait in line. The slot comes first, because a quota that
//! is bought and then waits for a slot would be sent in a burst later.
//!
//! One `Retry-After` stops the gate, so that every waiting call feels it. After a pause the first calls, as many as may
//! run at once, leave a little apart from each other: the server is not met by all of them in one moment.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use tokio::sync::{Mutex as FifoMutex, Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep, sleep_until};

use crate::error::Error;
use crate::judge::meters::Meters;
use crate::judge::{AskError, AskFuture, Judge, JudgeRequest, Outcome};

/// The first pause after a 429 or 529 that does not say how long; doubles while they go on.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest of those pauses.
const LONGEST_OWN_PAUSE: Duration = Duration::from_secs(60);
/// At most so far apart are the calls that leave first after a pause.
const LARGEST_SPACING: Duration = Duration::from_millis(250);

/// How much may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Calls in flight at once, at least 1.
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
    slots: Semaphore,
    requests: Option<Bucket>,
    tokens: Option<Bucket>,
    pause: Mutex<Pause>,
    flying: AtomicUsize,
    meters: Arc<Meters>,
}

impl<J> RateLimited<J> {
    /// `inner` within `limits`; requests and throttled responses are counted in `meters`.
    pub fn new(inner: J, limits: Limits, meters: Arc<Meters>) -> Self {
        let concurrency = limits.concurrency.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            inner,
            limits: Limits { concurrency, ..limits },
            gate: FifoMutex::new(()),
            slots: Semaphore::new(concurrency),
            requests: limits.requests_per_minute.map(Bucket::per_minute),
            tokens: limits.tokens_per_minute.map(Bucket::per_minute),
            pause: Mutex::default(),
            flying: AtomicUsize::new(0),
            meters,
        }
    }

    /// Waits for its turn; gives the slot and the time of leaving, or `None` if no slot will ever be free.
    async fn turn(&self, tokens: u64) -> Option<(SemaphorePermit<'_>, Instant)> {
        let _gate = self.gate.lock().await;
        let slot = self.slots.acquire().await.ok()?;
        if let Some(bucket) = &self.tokens {
            bucket.take(tokens).await;
        }
        if let Some(bucket) = &self.requests {
            bucket.take(1).await;
        }
        // Last: a pause may have come while the quotas were waited for, and may grow while it is waited for.
        while let Some(until) = self.with_pause(|pause| pause.until.filter(|until| *until > Instant::now())) {
            sleep_until(until).await;
        }
        if let Some(spacing) = self.with_pause(Pause::next_spacing) {
            sleep(spacing).await;
        }
        Some((slot, Instant::now()))
    }

    /// Takes notice of how a call that left at `sent` ended.
    fn heed(&self, sent: Instant, result: Result<Outcome, AskError>) -> Result<Outcome, AskError> {
        let Err(AskError::Transient { message, status, retry_after }) = result else {
            if result.is_ok() {
                self.with_pause(|pause| pause.own = None);
            }
            return result;
        };
        if matches!(status, Some(429 | 503 | 529)) {
            Meters::add_one(&self.meters.throttled);
        }
        match retry_after {
            Some(wait) if wait > self.limits.longest_pause => {
                let (asked, most) = (wait.as_secs(), self.limits.longest_pause.as_secs());
                return Err(AskError::Fatal(Error::JudgeUnavailable(format!(
                    "the judge asks to wait {asked} s ({message}), longer than the {most} s a run waits; \
                     give the same command again later, it goes on where it stopped"
                ))));
            }
            Some(wait) => self.with_pause(|pause| pause.extend(wait, self.limits.concurrency)),
            None if matches!(status, Some(429 | 529)) => {
                self.with_pause(|pause| pause.extend_own(sent, self.limits.concurrency));
            }
            None => {}
        }
        Err(AskError::Transient { message, status, retry_after })
    }

    fn with_pause<T>(&self, act: impl FnOnce(&mut Pause) -> T) -> T {
        act(&mut self.pause.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<J: Judge> Judge for RateLimited<J> {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        Box::pin(async move {
            let Some((_slot, sent)) = self.turn(cost(request)).await else {
                return Err(AskError::Fatal(Error::Internal("the judge's slots are closed".into())));
            };
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

/// The pause that all waiting calls share.
#[derive(Debug, Default)]
struct Pause {
    until: Option<Instant>,
    /// Our own pause where the server does not say how long, and when it was last lengthened.
    own: Option<(Duration, Instant)>,
    /// How far apart the next calls leave, and how many of them.
    spacing: Option<(Duration, usize)>,
}

impl Pause {
    fn extend(&mut self, wait: Duration, concurrency: usize) {
        let until = Instant::now() + wait;
        self.until = Some(self.until.map_or(until, |before| before.max(until)));
        let slots = u32::try_from(concurrency).unwrap_or(u32::MAX);
        self.spacing = Some(((wait / slots).min(LARGEST_SPACING), concurrency));
    }

    /// Doubles our own pause, once for all the calls that were in flight together: a call that had left before the
    /// last doubling says nothing about the longer pause.
    fn extend_own(&mut self, sent: Instant, concurrency: usize) {
        let wait = match self.own {
            None => FIRST_PAUSE,
            Some((_, lengthened)) if sent < lengthened => return,
            Some((before, _)) => (before * 2).min(LONGEST_OWN_PAUSE),
        };
        self.own = Some((wait, Instant::now()));
        self.extend(wait, concurrency);
    }

    fn next_spacing(&mut self) -> Option<Duration> {
        let (spacing, left) = self.spacing?;
        self.spacing = left.checked_sub(1).filter(|left| *left > 0).map(|left| (spacing, left));
        Some(spacing)
    }
}

/// A quota per minute that is handed out evenly: at most one second's worth at once.
#[derive(Debug)]
struct Bucket {
    limiter: RateLimiter<NotKeyed, InMemoryState, TokioClock, NoOpMiddleware<Duration>>,
    burst: NonZeroU32,
}

impl Bucket {
    fn per_minute(quota: NonZeroU32) -> Self {
        let burst = NonZeroU32::new(quota.get() / 60).unwrap_or(NonZeroU32::MIN);
        let quota = Quota::per_minute(quota).allow_burst(burst);
        Self { limiter: RateLimiter::direct_with_clock(quota, TokioClock { start: Instant::now() }), burst }
    }

    /// Takes `cost`, waiting where needed; in parts, because governor refuses more than the burst.
    async fn take(&self, cost: u64) {
        let mut left = cost;
        while left > 0 {
            let part = u32::try_from(left)
                .map_or(self.burst, |left| NonZeroU32::new(left).map_or(self.burst, |left| left.min(self.burst)));
            // The outer error is a part above the burst, which was just made impossible.
            if let Ok(Err(not_until)) = self.limiter.check_n(part) {
                // Tokio's timer has a grain of a millisecond: never less, so that the loop cannot spin.
                let wait = not_until.wait_time_from(self.limiter.clock().now());
                sleep(wait.max(Duration::from_millis(1))).await;
                continue;
            }
            left -= u64::from(part.get());
        }
    }
}

/// Tokio's clock for governor: a paused test clock is felt by both.
#[derive(Debug, Clone)]
struct TokioClock {
    start: Instant,
}

impl Clock for TokioClock {
    type Instant = Duration;

    fn now(&self) -> Duration {
        self.start.elapsed()
    }
}

#[cfg(test)]
#[path = "rate_limited_tests.rs"]
mod tests;
