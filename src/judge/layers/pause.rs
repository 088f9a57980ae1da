//! The pause that all waiting calls share, and how they come back from it.

use std::time::Duration;

use tokio::time::Instant;

/// The first pause after a 429 or 529 that does not say how long; doubles while they go on.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest of those pauses.
const LONGEST_OWN_PAUSE: Duration = Duration::from_secs(60);
/// After a pause one call leaves within this time, then two, then four, ..
const LONGEST_STEP: Duration = Duration::from_millis(250);
/// The grain of tokio's timer: closer together calls cannot be held.
const SHORTEST_GAP: Duration = Duration::from_millis(1);

/// The pause that all waiting calls share.
#[derive(Debug, Default)]
pub(super) struct Pause {
    until: Option<Instant>,
    /// Our own pause where the server does not say how long, and when it was last lengthened.
    own: Option<(Duration, Instant)>,
    ramp: Option<Ramp>,
}

/// A slow start: the rate of calls doubles with each step, so that a server that is still busy says so to a few.
#[derive(Debug, Clone, Copy)]
struct Ramp {
    step: Duration,
    /// How many calls have left since the pause.
    sent: u32,
}

impl Pause {
    /// Nobody leaves within `wait` from now.
    pub(super) fn extend(&mut self, wait: Duration) {
        let until = Instant::now() + wait;
        self.until = Some(self.until.map_or(until, |before| before.max(until)));
        self.ramp = Some(Ramp { step: (wait / 4).min(LONGEST_STEP), sent: 0 });
    }

    /// Doubles our own pause, once for all the calls that were in flight together: a call that had left before the
    /// last doubling says nothing about the longer pause.
    pub(super) fn extend_own(&mut self, sent: Instant) {
        let wait = match self.own {
            None => FIRST_PAUSE,
            Some((_, lengthened)) if sent < lengthened => return,
            Some((before, _)) => (before * 2).min(LONGEST_OWN_PAUSE),
        };
        self.own = Some((wait, Instant::now()));
        self.extend(wait);
    }

    /// The server answers again: the next pause of our own is short.
    pub(super) fn end_own(&mut self) {
        self.own = None;
    }

    /// Until when nobody may leave; `None` if calls may.
    pub(super) fn pending(&self) -> Option<Instant> {
        self.until.filter(|until| *until > Instant::now())
    }

    /// How long the next call of a slow start waits; `None` outside of one. Of calls 1, 2, 3, .. the gaps are one step, a
    /// half and a half, four quarters, .., until the timer cannot hold them apart.
    pub(super) fn next_gap(&mut self) -> Option<Duration> {
        let ramp = self.ramp.as_mut()?;
        ramp.sent += 1;
        let gap = ramp.step / (1 << ramp.sent.ilog2().min(31));
        if gap < SHORTEST_GAP {
            self.ramp = None;
            return None;
        }
        Some(gap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn after_a_pause_the_rate_doubles_each_step() {
        let mut pause = Pause::default();
        assert_eq!(pause.next_gap(), None, "without a pause there is no slow start");
        pause.extend(Duration::from_secs(60));
        let gaps: Vec<f64> = std::iter::from_fn(|| pause.next_gap()).map(|gap| gap.as_secs_f64() * 1000.0).collect();
        assert_eq!(gaps[..7], [250.0, 125.0, 125.0, 62.5, 62.5, 62.5, 62.5]);
        // 250 ms / 128 = 1.95 ms is the last that can be held: 1 + 2 + .. + 128 = 255 calls in 8 steps of 250 ms
        assert_eq!(gaps.len(), 255);
        assert!((gaps.iter().sum::<f64>() - 2000.0).abs() < 1e-6);
    }

    #[tokio::test(start_paused = true)]
    async fn a_short_pause_has_a_short_slow_start() {
        let mut pause = Pause::default();
        pause.extend(Duration::from_millis(8));
        let gaps: Vec<u128> = std::iter::from_fn(|| pause.next_gap()).map(|gap| gap.as_micros()).collect();
        assert_eq!(gaps, [2000, 1000, 1000]);
    }
}
