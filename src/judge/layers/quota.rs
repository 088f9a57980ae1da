//! An evenly spread quota per minute.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use governor::RateLimiter;
use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use tokio::time::{Instant, sleep};

/// Slack below the quota: servers measure a minute by their own clock, and calls differ in latency.
const SLACK: f64 = 1.005;

/// A quota per minute: at most one second's worth at once, and never more than the quota within any minute.
///
/// A burst of `b` and a steady rate of `r` let `b - 1 + r` through within 60 s, so a quota of `q` gives the rate
/// `q - (b - 1)`, and a little less ([`SLACK`]). Of 60 a minute that is one every 1.005 s, of 6000 (bursts of 100) 97.9% of
/// the quota.
#[derive(Debug, Clone)]
pub(super) struct Quota {
    per_minute: NonZeroU32,
    burst: NonZeroU32,
    limiter: Arc<RateLimiter<NotKeyed, InMemoryState, TokioClock, NoOpMiddleware<Duration>>>,
}

impl Quota {
    pub(super) fn new(per_minute: NonZeroU32) -> Self {
        let burst = NonZeroU32::new(per_minute.get() / 60).unwrap_or(NonZeroU32::MIN);
        // The burst is at most a sixtieth of the quota, so the rate is positive.
        let rate = per_minute.get() - (burst.get() - 1);
        let period = Duration::from_secs_f64(60.0 * SLACK / f64::from(rate));
        // `None` means a period of zero, which no `u32` per minute gives.
        let steady = governor::Quota::with_period(period).unwrap_or(governor::Quota::per_minute(per_minute));
        let clock = TokioClock { start: Instant::now() };
        let limiter = Arc::new(RateLimiter::direct_with_clock(steady.allow_burst(burst), clock));
        Self { per_minute, burst, limiter }
    }

    pub(super) fn per_minute(&self) -> NonZeroU32 {
        self.per_minute
    }

    /// Takes `cost`, waiting if needed; in parts, because governor rejects more than the burst.
    pub(super) async fn take(&self, cost: u64) {
        let mut left = cost;
        while left > 0 {
            let part =
                u32::try_from(left).ok().and_then(NonZeroU32::new).map_or(self.burst, |left| left.min(self.burst));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn no_minute_holds_more_than_the_quota() {
        for quota in [1, 7, 60, 100, 600] {
            let pace = Quota::new(NonZeroU32::new(quota).unwrap());
            let start = Instant::now();
            let mut left = Vec::new();
            for _ in 0..2 * quota + 1 {
                pace.take(1).await;
                left.push(start.elapsed());
            }
            // The call `quota` positions later is sent more than a minute later.
            let closest = left.windows(quota as usize + 1).map(|window| window[quota as usize] - window[0]).min();
            assert!(closest.unwrap() > Duration::from_secs(60), "{quota}: {closest:?}");
            // and two quotas take no more than 5% above two minutes
            assert!(left.last().unwrap().as_secs_f64() < 126.0, "{quota}: {:?}", left.last());
        }
    }
}
