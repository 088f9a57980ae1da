//! A quota per minute, handed out evenly.

use std::num::NonZeroU32;
use std::time::Duration;

use tokio::time::Instant;

/// Handed out so much slower than the quota allows: servers measure a minute by their own clock, and calls do not
/// all travel equally long.
const SLACK: f64 = 1.005;

/// A quota per minute: at most one second's worth at once, and never more than the quota within any minute (the generic
/// cell rate algorithm; ITU-T I.371).
///
/// A burst of `b` and a steady rate of `r` let `b - 1 + r` through within 60 s, so a quota of `q` gives the rate
/// `q - (b - 1)`, and a little less ([`SLACK`]). Of 60 a minute that is one every 1.005 s, of 6000 (bursts of 100) 97.9% of
/// the quota.
#[derive(Debug)]
pub(super) struct Quota {
    per_minute: NonZeroU32,
    period: Duration,
    burst: Duration,
    /// When everything that was handed out would be used up at the steady rate.
    used_until: Instant,
}

impl Quota {
    pub(super) fn new(per_minute: NonZeroU32) -> Self {
        let burst = (per_minute.get() / 60).max(1);
        let period = Duration::from_secs_f64(60.0 * SLACK / f64::from(per_minute.get() - (burst - 1)));
        Self { per_minute, period, burst: period * burst, used_until: Instant::now() }
    }

    pub(super) fn per_minute(&self) -> NonZeroU32 {
        self.per_minute
    }

    /// Hands out `cost`, to be used at the time that is given back.
    pub(super) fn reserve(&mut self, cost: u64) -> Instant {
        let now = Instant::now();
        self.used_until = self.used_until.max(now) + self.period.mul_f64(cost as f64);
        self.used_until.checked_sub(self.burst).map_or(now, |at| at.max(now))
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep_until;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn no_minute_holds_more_than_the_quota() {
        for quota in [1, 7, 60, 100, 600] {
            let mut pace = Quota::new(NonZeroU32::new(quota).unwrap());
            let start = Instant::now();
            let mut left = Vec::new();
            for _ in 0..2 * quota + 1 {
                sleep_until(pace.reserve(1)).await;
                left.push(start.elapsed());
            }
            // The call that comes `quota` places later leaves more than a minute later.
            let closest = left.windows(quota as usize + 1).map(|window| window[quota as usize] - window[0]).min();
            assert!(closest.unwrap() > Duration::from_secs(60), "{quota}: {closest:?}");
            // and two quotas take no more than 5% above two minutes
            assert!(left.last().unwrap().as_secs_f64() < 126.0, "{quota}: {:?}", left.last());
        }
    }
}
