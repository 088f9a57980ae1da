//! Limits requests and tokens per minute, and concurrent calls.
//!
//! Calls pass a FIFO gate one by one. The call at the gate waits for a free slot, for its tokens and its request, and
//! for the end of any pause that the server asked for, and is then sent; the others wait in line and are not woken.
//!
//! - One `Retry-After` stops the gate for every waiting call.
//! - An overloaded server gets fewer concurrent calls, and more again as it answers (additive increase, multiplicative
//!   decrease).

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use governor::RateLimiter;
use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use tokio::sync::{Mutex as FifoMutex, Notify};
use tokio::time::{Instant, sleep, sleep_until};

use crate::error::Error;
use crate::judge::meters::{Activity, Meters};
use crate::judge::options::LimitOptions;
use crate::judge::{AskError, AskFuture, Judge, JudgeRequest, Outcome, locked};

/// A longer pause ends the run instead: it can be resumed.
const LONGEST_PAUSE: Duration = Duration::from_secs(15 * 60);
/// The first pause after a 429 or 529 without a duration; doubles while they continue.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest of those pauses.
const LONGEST_OWN_PAUSE: Duration = Duration::from_secs(60);
/// The factor of the window after an overload.
const CUT: f64 = 0.6;
/// Minimum time between two cuts. (Calls sent before the last cut never cause another.)
const DEBOUNCE: Duration = Duration::from_secs(1);
/// The window grows by this fraction of the configured number.
const STEPS: usize = 16;
/// Slack below a quota: servers measure a minute by their own clock, and calls differ in latency.
const SLACK: f64 = 1.005;

/// Keeps the calls to `inner` within their limits.
#[derive(Debug)]
pub struct RateLimited<J> {
    inner: J,
    meters: Arc<Meters>,
    gate: FifoMutex<()>,
    state: Mutex<State>,
    /// A call ended, or more may be in flight.
    freed: Notify,
}

#[derive(Debug)]
struct State {
    window: Window,
    /// When each call in flight was sent, by its number.
    in_flight: BTreeMap<u64, Instant>,
    /// Of tokens and of requests.
    quotas: [Option<Quota>; 2],
    pause: Pause,
}

impl<J> RateLimited<J> {
    /// `inner` within `limits`; requests and throttled responses are counted in `meters`.
    pub fn new(inner: J, limits: &LimitOptions, meters: Arc<Meters>) -> Self {
        let tokens = limits.tpm.map(|tpm| NonZeroU32::try_from(tpm).unwrap_or(NonZeroU32::MAX));
        let state = State {
            window: Window::new(limits.concurrency.get()),
            in_flight: BTreeMap::new(),
            quotas: [tokens, limits.rpm].map(|per_minute| per_minute.map(Quota::new)),
            pause: Pause::default(),
        };
        Self { inner, meters, gate: FifoMutex::new(()), state: Mutex::new(state), freed: Notify::new() }
    }

    /// The current limit of concurrent calls: the configured one, or less for an overloaded server.
    pub fn concurrency(&self) -> usize {
        self.with(|state| state.window.limit)
    }

    /// The calls that are with `inner` right now (those that wait for their turn do not count), and any pause.
    pub fn activity(&self) -> Activity {
        self.with(|state| Activity {
            in_flight: state.in_flight.len(),
            oldest: state.in_flight.values().next().copied(),
            pause: state.pause.pending().map(|until| (until, state.pause.reason)),
            servers: 1,
            down: 0,
        })
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut locked(&self.state))
    }

    /// Waits for its turn.
    async fn turn(&self, tokens: u64) -> Flight<'_, J> {
        let _gate = self.gate.lock().await;
        // First, because a permit that then waits for a slot would be used in a burst later.
        while self.with(|state| state.in_flight.len() >= state.window.limit) {
            self.freed.notified().await;
        }
        for (index, cost) in [tokens, 1].into_iter().enumerate() {
            if let Some(quota) = self.with(|state| state.quotas[index].clone()) {
                quota.take(cost).await;
            }
        }
        // Last: a pause may start while waiting for the quotas, and be extended while waiting for its end.
        while let Some(until) = self.with(|state| state.pause.pending()) {
            sleep_until(until).await;
        }
        let sent = Instant::now();
        let number = self.with(|state| {
            let number = state.in_flight.last_key_value().map_or(0, |(last, _)| last + 1);
            state.in_flight.insert(number, sent);
            number
        });
        Flight { judge: self, number, sent }
    }

    /// Adapts to the outcome of a call sent at `sent`.
    fn settle(&self, sent: Instant, result: Result<Outcome, AskError>) -> Result<Outcome, AskError> {
        let Err(AskError::Transient { message, status, retry_after }) = result else {
            let is_answer = !matches!(result, Err(AskError::Fatal(_)));
            if is_answer && self.with(|state| state.window.answered(sent)) {
                self.freed.notify_one();
            }
            if result.is_ok() {
                // It answers again: the default pause begins anew.
                self.with(|state| state.pause.own = None);
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
        let reason = if status == Some(429) { "rate limited" } else { "the server is overloaded" };
        self.with(|state| state.pause.reason = reason);
        match retry_after {
            Some(wait) if wait > LONGEST_PAUSE => {
                let (asked, most) = (wait.as_secs(), LONGEST_PAUSE.as_secs());
                return Err(AskError::Fatal(Error::JudgeUnavailable(format!(
                    "the judge asks to wait {asked} s ({message}), longer than the {most} s a run waits; \
                     run the same command again later, it continues where it stopped"
                ))));
            }
            Some(wait) => self.with(|state| state.pause.extend(wait)),
            None if matches!(status, Some(429 | 529)) => self.with(|state| state.pause.extend_own(sent)),
            None => {}
        }
        Err(AskError::Transient { message, status, retry_after })
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
}

/// A call in flight; its end is counted however it ends.
struct Flight<'a, J> {
    judge: &'a RateLimited<J>,
    number: u64,
    sent: Instant,
}

impl<J> Drop for Flight<'_, J> {
    fn drop(&mut self) {
        self.judge.with(|state| state.in_flight.remove(&self.number));
        self.judge.freed.notify_one();
    }
}

/// The limit of concurrent calls: between 1 and `given`. Additive increase, multiplicative decrease (Chiu and Jain 1989,
/// as in TCP): an overload cuts it by 40%, and each window of replies adds a sixteenth of the given number.
#[derive(Debug)]
struct Window {
    given: usize,
    limit: usize,
    /// Time of the last cut.
    cut: Option<Instant>,
    /// Replies since the last change, of calls sent after the last cut.
    replies: usize,
}

impl Window {
    fn new(given: usize) -> Self {
        let given = given.max(1);
        Self { given, limit: given, cut: None, replies: 0 }
    }

    /// A call sent at `sent` met an overloaded server; true if the window was cut.
    ///
    /// All calls that were in flight together report the same overload: those sent before the last cut say nothing
    /// about the smaller window, and there is at most one cut per second.
    fn overloaded(&mut self, sent: Instant) -> bool {
        let now = Instant::now();
        if self.cut.is_some_and(|cut| sent < cut || now < cut + DEBOUNCE) {
            return false;
        }
        self.cut = Some(now);
        self.replies = 0;
        // Truncated, so that it shrinks down to 1.
        self.limit = ((self.limit as f64 * CUT) as usize).max(1);
        true
    }

    /// A call sent at `sent` was answered; true if the window grew.
    fn answered(&mut self, sent: Instant) -> bool {
        if self.limit >= self.given || self.cut.is_some_and(|cut| sent < cut) {
            return false;
        }
        self.replies += 1;
        if self.replies < self.limit {
            return false;
        }
        self.replies = 0;
        self.limit = (self.limit + self.given.div_ceil(STEPS)).min(self.given);
        true
    }
}

/// A pause shared by all waiting calls.
#[derive(Debug, Default)]
struct Pause {
    until: Option<Instant>,
    /// The default pause if the server gives no duration, and when it was last doubled.
    own: Option<(Duration, Instant)>,
    reason: &'static str,
}

impl Pause {
    /// Holds all calls for `wait` from now.
    fn extend(&mut self, wait: Duration) {
        self.until = self.until.max(Some(Instant::now() + wait));
    }

    /// Doubles the default pause, once for all calls that were in flight together: one sent before the last doubling is
    /// no sign that the longer pause was too short.
    fn extend_own(&mut self, sent: Instant) {
        let wait = match self.own {
            None => FIRST_PAUSE,
            Some((_, lengthened)) if sent < lengthened => return,
            Some((before, _)) => (before * 2).min(LONGEST_OWN_PAUSE),
        };
        self.own = Some((wait, Instant::now()));
        self.extend(wait);
    }

    /// The end of the pause; `None` if calls may be sent.
    fn pending(&self) -> Option<Instant> {
        self.until.filter(|until| *until > Instant::now())
    }
}

/// A quota per minute: at most one second's worth at once, and never more than the quota within any minute.
///
/// A burst of `b` and a steady rate of `r` let `b - 1 + r` through within 60 s, so a quota of `q` gives the rate
/// `q - (b - 1)`, and a little less ([`SLACK`]). Of 60 a minute that is one every 1.005 s, of 6000 (bursts of 100) 97.9%
/// of the quota.
#[derive(Debug, Clone)]
struct Quota {
    burst: NonZeroU32,
    limiter: Arc<RateLimiter<NotKeyed, InMemoryState, TokioClock, NoOpMiddleware<Duration>>>,
}

impl Quota {
    fn new(per_minute: NonZeroU32) -> Self {
        let burst = NonZeroU32::new(per_minute.get() / 60).unwrap_or(NonZeroU32::MIN);
        // The burst is at most a sixtieth of the quota, so the rate is positive.
        let rate = per_minute.get() - (burst.get() - 1);
        let period = Duration::from_secs_f64(60.0 * SLACK / f64::from(rate));
        // `None` means a period of zero, which no `u32` per minute gives.
        let steady = governor::Quota::with_period(period).unwrap_or(governor::Quota::per_minute(per_minute));
        let clock = TokioClock { start: Instant::now() };
        Self { burst, limiter: Arc::new(RateLimiter::direct_with_clock(steady.allow_burst(burst), clock)) }
    }

    /// Takes `cost`, waiting if needed; in parts, because governor rejects more than the burst.
    async fn take(&self, cost: u64) {
        let mut left = cost;
        while left > 0 {
            let part = u32::try_from(left).ok().and_then(NonZeroU32::new);
            let part = part.map_or(self.burst, |left| left.min(self.burst));
            // The outer error is for a part above the burst, which cannot happen here.
            if let Ok(Err(not_until)) = self.limiter.check_n(part) {
                // Tokio's timer has a resolution of a millisecond: never less, so that the loop cannot spin.
                let wait = not_until.wait_time_from(self.limiter.clock().now());
                sleep(wait.max(Duration::from_millis(1))).await;
                continue;
            }
            left -= u64::from(part.get());
        }
    }
}

/// Tokio's clock for governor, so that a test's paused clock holds for both.
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

/// Maximum tokens of a call, as providers count them: the prompt and the reply limit. A call without one restates the
/// answer, so its reply counts as long as its prompt.
fn cost(request: &JudgeRequest) -> u64 {
    let rendered = request.rendered.as_ref();
    rendered.map_or(0, |call| call.body.prompt_tokens + call.max_tokens.unwrap_or(call.body.prompt_tokens))
}

#[cfg(test)]
#[path = "rate_limited_tests.rs"]
mod tests;
