//! Limits requests and tokens per minute, and concurrent calls.
//!
//! Calls pass a FIFO gate one by one. The call at the gate waits for a free slot, for its tokens and its request, and
//! for the end of any pause that the server asked for, and is then sent; the others wait in line and are not woken.
//!
//! One call at the gate, and not all of them woken for each freed slot: with thousands of waiting calls, the wake-ups
//! would cost more than the calls.
//!
//! - One `Retry-After` stops the gate for every waiting call.
//! - An overloaded server gets fewer concurrent calls, and more again as it answers (additive increase, multiplicative
//!   decrease).

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Mutex;
use std::time::Duration;

use governor::RateLimiter;
use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use tokio::sync::{Mutex as FifoMutex, Notify, Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep, sleep_until};

use crate::meters::{Activity, CallInFlight};
use crate::options::LimitOptions;
use crate::{AskError, AskFuture, Judge, JudgeRequest, Outcome, Rendered, fatal, locked};

/// A longer pause ends the run instead: it can be resumed. (A daily quota asks for hours, in which a run would seem to hang.)
const LONGEST_PAUSE: Duration = Duration::from_secs(15 * 60);
/// The first pause after a 429 or 529 without a duration; it doubles while they continue.
const FIRST_OWN_PAUSE: Duration = Duration::from_secs(1);
/// The longest of them: the usual quotas are per minute.
const LONGEST_OWN_PAUSE: Duration = Duration::from_secs(60);
/// After an overload, each window of replies gives this part of the configured concurrency back.
const STEPS_BACK: usize = 16;
/// Slack below a quota: servers measure a minute by their clock, and calls differ in latency.
const SLACK: f64 = 1.005;

/// Keeps the calls to `inner` within their limits.
#[derive(Debug)]
pub struct RateLimited<J> {
    inner: J,
    tokens: Option<Quota>,
    requests: Option<Quota>,
    /// Slots of the server, if it reports them: calls for a list, which take long, wait here and not at the server,
    /// where their time runs.
    slots: Option<Semaphore>,
    /// Held by the call whose turn it is.
    gate: FifoMutex<()>,
    state: Mutex<GateState>,
    /// A call ended, or more may be in flight.
    freed: Notify,
}

/// The limit of concurrent calls is between 1 and `given`: an overload halves it, and each window of replies adds a
/// sixteenth of the given number (additive increase, multiplicative decrease; Chiu and Jain 1989).
#[derive(Debug, Default)]
struct GateState {
    /// The configured limit.
    given: usize,
    /// The current one.
    limit: usize,
    /// Replies since the limit changed.
    replies: usize,
    /// The calls in flight by their numbers, in the order of sending.
    in_flight: BTreeMap<u64, CallInFlight>,
    /// The last overload. Calls sent before report the same one.
    overload: Option<Instant>,
    /// The last pause without a duration of the server's, since the last reply.
    own_pause: Duration,
    /// Until when no call is sent, and why.
    pause: Option<(Instant, &'static str)>,
    /// Until when the call at the gate waits for a quota, and for which.
    quota: Option<(Instant, &'static str)>,
}

impl<J> RateLimited<J> {
    /// `inner` within `limits`.
    pub fn new(inner: J, limits: &LimitOptions) -> Self {
        let given = limits.concurrency.get();
        let state = GateState {
            given,
            limit: given,
            ..GateState::default()
        };
        // More tokens a minute than 32 bits hold are as good as no limit.
        let tpm = limits
            .tpm
            .map(|tpm| NonZeroU32::try_from(tpm).unwrap_or(NonZeroU32::MAX));
        Self {
            inner,
            tokens: tpm.map(Quota::new),
            requests: limits.rpm.map(Quota::new),
            slots: None,
            gate: FifoMutex::new(()),
            state: Mutex::new(state),
            freed: Notify::new(),
        }
    }

    /// With at most so many calls for a list in flight.
    #[must_use]
    pub fn with_slots(mut self, slots: Option<usize>) -> Self {
        self.slots = slots.map(|slots| Semaphore::new(slots.min(Semaphore::MAX_PERMITS)));
        self
    }

    /// The current limit of concurrent calls: the configured one, or less for an overloaded server.
    pub fn concurrency(&self) -> usize {
        self.with(|state| state.limit)
    }

    /// The calls that are with `inner` right now (those that wait for their turn do not count), and what the others wait
    /// for.
    pub fn activity(&self) -> Activity {
        self.with(|state| Activity {
            in_flight: state.in_flight.len(),
            oldest: state.in_flight.values().next().cloned(),
            pause: state
                .pause
                .max(state.quota)
                .filter(|(until, _)| *until > Instant::now()),
            servers: 1,
            down: 0,
        })
    }

    fn with<T>(&self, act: impl FnOnce(&mut GateState) -> T) -> T {
        act(&mut locked(&self.state))
    }

    /// Waits until it is the turn of this request, which counts so many tokens.
    async fn turn(&self, request: &JudgeRequest, tokens: u64) -> Flight<'_, J> {
        // Before the gate: a list must not hold up the short calls behind it.
        let slots = self.slots.as_ref();
        let slot = match slots.filter(|_| request.call.question.info().is_list()) {
            // Fails if the semaphore is closed, which it never is.
            Some(slots) => slots.acquire().await.ok(),
            None => None,
        };
        let _gate = self.gate.lock().await;
        // First, because a permit that then waits for a slot would be used in a burst later.
        while self.with(|state| state.in_flight.len() >= state.limit) {
            self.freed.notified().await;
        }
        // Tokens before requests: they take longest to come, and a request permit must not grow old
        // while waiting for them.
        self.take(self.tokens.as_ref(), tokens, "waiting for --tpm")
            .await;
        self.take(self.requests.as_ref(), 1, "waiting for --rpm")
            .await;
        // Last: a pause may start while waiting for the quotas, and be extended while waiting for its end.
        while let Some((until, _)) = self.with(|state| state.current_pause()) {
            sleep_until(until).await;
        }
        let call = CallInFlight::sent_now(request);
        let sent = call.sent;
        let number = self.with(|state| state.enter(call));
        Flight {
            judge: self,
            number,
            sent,
            _slot: slot,
        }
    }

    /// Waits until the quota, if there is one, has given so much; `why` is shown meanwhile.
    async fn take(&self, quota: Option<&Quota>, cost: u64, why: &'static str) {
        let Some(quota) = quota else {
            return;
        };
        let mut left = cost;
        while let Some(wait) = quota.take(&mut left) {
            self.with(|state| state.quota = Some((Instant::now() + wait, why)));
            sleep(wait).await;
        }
    }

    /// Adapts to the outcome of a call sent at `sent`.
    fn settle(
        &self,
        sent: Instant,
        result: Result<Outcome, AskError>,
    ) -> Result<Outcome, AskError> {
        match &result {
            Ok(_) | Err(AskError::Refused { .. } | AskError::Unsupported { .. }) => {
                // One waiting call is enough to wake: it stands at the gate, all others behind it.
                if self.with(|state| state.answered(sent, result.is_ok())) {
                    self.freed.notify_one();
                }
            }
            Err(AskError::Transient {
                message,
                retry_after: Some(wait),
                ..
            }) if *wait > LONGEST_PAUSE => {
                let seconds = wait.as_secs();
                let most = LONGEST_PAUSE.as_secs();
                return Err(fatal(format!(
                    "the judge asks to wait {seconds} s ({message}), longer than the {most} s a run waits; \
                     run the same command again later, it continues where it stopped"
                )));
            }
            Err(AskError::Transient {
                status,
                retry_after,
                ..
            }) => {
                self.with(|state| state.failed(sent, *status, *retry_after));
            }
            Err(AskError::Fatal(_)) => {}
        }
        result
    }
}

impl GateState {
    /// Counts a call in flight and gives it a number, by which it leaves.
    fn enter(&mut self, call: CallInFlight) -> u64 {
        let last = self.in_flight.last_key_value();
        let number = last.map_or(0, |(last, _)| last + 1);
        self.in_flight.insert(number, call);
        number
    }

    /// The pause that the server asked for, if it is not over.
    fn current_pause(&self) -> Option<(Instant, &'static str)> {
        self.pause.filter(|(until, _)| *until > Instant::now())
    }

    /// Whether the outcome of a call sent at that time says something new about the server's load. The calls that were in
    /// flight together fail together: counted one by one, a single overload would halve the limit down to 1.
    fn is_news(&self, sent: Instant) -> bool {
        self.overload.is_none_or(|overload| sent >= overload)
    }

    /// A call sent at `sent` was answered; true if more calls may be in flight now.
    fn answered(&mut self, sent: Instant, is_reply: bool) -> bool {
        if is_reply {
            self.own_pause = Duration::ZERO;
        }
        // A reply to a call from before the overload says nothing about the load of now.
        if self.limit >= self.given || !self.is_news(sent) {
            return false;
        }
        self.replies += 1;
        let grows = self.replies >= self.limit;
        if grows {
            self.replies = 0;
            self.limit = (self.limit + self.given.div_ceil(STEPS_BACK)).min(self.given);
        }
        grows
    }

    /// A call sent at `sent` failed for now.
    fn failed(&mut self, sent: Instant, status: Option<u16>, retry_after: Option<Duration>) {
        let now = Instant::now();
        let is_news = self.is_news(sent);
        let is_throttled = matches!(status, Some(429 | 529));
        // 408 and 504 are time-outs: the server is probably still working on the call.
        if is_news && (is_throttled || matches!(status, Some(408 | 503 | 504))) {
            self.overload = Some(now);
            self.replies = 0;
            self.limit = (self.limit / 2).max(1);
            tracing::debug!(
                limit = self.limit,
                "the judge is overloaded: fewer calls at once"
            );
        }
        let wait = match retry_after {
            // The duration that the server gives holds for every status; it knows best.
            Some(wait) => wait,
            None if is_news && is_throttled => {
                self.own_pause = (self.own_pause * 2).clamp(FIRST_OWN_PAUSE, LONGEST_OWN_PAUSE);
                self.own_pause
            }
            None => return,
        };
        let reason = if status == Some(429) {
            "rate limited"
        } else {
            "the server is overloaded"
        };
        // The longest of several: calls in flight together report one overload with different
        // remainders.
        self.pause = self.pause.max(Some((now + wait, reason)));
    }
}

impl<J: Judge> Judge for RateLimited<J> {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        Box::pin(async move {
            // Estimated only where a quota counts them.
            let counted = self.tokens.as_ref().and(request.rendered.as_ref());
            let tokens = counted.map_or(0, most_tokens);
            let flight = self.turn(request, tokens).await;
            let result = self.inner.ask(request).await;
            self.settle(flight.sent, result)
        })
    }
}

/// The most tokens that a call can use, as providers count them against a quota: the prompt and the longest reply.
fn most_tokens(call: &Rendered) -> u64 {
    call.body.prompt_tokens + call.longest_reply()
}

/// A call in flight; its end is counted however it ends.
struct Flight<'a, J> {
    judge: &'a RateLimited<J>,
    number: u64,
    sent: Instant,
    _slot: Option<SemaphorePermit<'a>>,
}

impl<J> Drop for Flight<'_, J> {
    fn drop(&mut self) {
        self.judge
            .with(|state| state.in_flight.remove(&self.number));
        self.judge.freed.notify_one();
    }
}

/// A quota per minute: at most one second's worth at once, and never more than the quota within any minute.
///
/// A burst of `b` and a steady rate of `r` let `b - 1 + r` through within 60 s, so a quota of `q` gives the rate
/// `q - (b - 1)`, and a little less ([`SLACK`]). Of 60 a minute that is one every 1.005 s, of 6000 (bursts of 100) 97.9%
/// of the quota.
#[derive(Debug)]
struct Quota {
    burst: NonZeroU32,
    limiter: RateLimiter<NotKeyed, InMemoryState, TokioClock, NoOpMiddleware<Duration>>,
}

impl Quota {
    fn new(per_minute: NonZeroU32) -> Self {
        let burst = NonZeroU32::new(per_minute.get() / 60).unwrap_or(NonZeroU32::MIN);
        // The burst is at most a sixtieth of the quota, so the rate is positive.
        let rate = per_minute.get() - (burst.get() - 1);
        let period = Duration::from_secs_f64(60.0 * SLACK / f64::from(rate));
        // `None` means a period of zero, which no `u32` per minute gives.
        let steady =
            governor::Quota::with_period(period).unwrap_or(governor::Quota::per_minute(per_minute));
        let clock = TokioClock {
            start: Instant::now(),
        };
        Self {
            burst,
            limiter: RateLimiter::direct_with_clock(steady.allow_burst(burst), clock),
        }
    }

    /// Takes what it can of `left`, in parts, because governor rejects more than the burst. The wait for the next part;
    /// `None` if nothing is left.
    fn take(&self, left: &mut u64) -> Option<Duration> {
        while *left > 0 {
            let part = u32::try_from(*left).ok().and_then(NonZeroU32::new);
            let part = part.map_or(self.burst, |left| left.min(self.burst));
            // The outer error is for a part above the burst, which cannot happen here.
            if let Ok(Err(not_until)) = self.limiter.check_n(part) {
                // Tokio's timer has a resolution of a millisecond: never less, so that the loop cannot spin.
                return Some(
                    not_until
                        .wait_time_from(self.limiter.clock().now())
                        .max(Duration::from_millis(1)),
                );
            }
            *left -= u64::from(part.get());
        }
        None
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

#[cfg(test)]
#[path = "rate_limited_tests.rs"]
mod tests;
