//! Reaction to an overloaded server: fewer concurrent calls, and pauses shared by all waiting calls.
//!
//! Additive increase, multiplicative decrease (Chiu and Jain 1989, as in TCP): an overload cuts the concurrent calls by
//! 40%, and each window of replies adds a sixteenth of the configured number.

use std::time::Duration;

use tokio::time::Instant;

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

/// The limit of concurrent calls: between 1 and `given`.
#[derive(Debug)]
pub(super) struct Window {
    given: usize,
    limit: usize,
    /// Time of the last cut.
    cut: Option<Instant>,
    /// Replies since the last change, of calls sent after the last cut.
    replies: usize,
}

impl Window {
    pub(super) fn new(given: usize) -> Self {
        let given = given.max(1);
        Self { given, limit: given, cut: None, replies: 0 }
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// A call sent at `sent` met an overloaded server; true if the window was cut.
    ///
    /// All calls that were in flight together report the same overload: those sent before the last cut say nothing
    /// about the smaller window, and there is at most one cut per second.
    pub(super) fn overloaded(&mut self, sent: Instant) -> bool {
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
    pub(super) fn answered(&mut self, sent: Instant) -> bool {
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
pub(super) struct Pause {
    until: Option<Instant>,
    /// The default pause if the server gives no duration, and when it was last doubled.
    own: Option<(Duration, Instant)>,
}

impl Pause {
    /// Holds all calls for `wait` from now.
    pub(super) fn extend(&mut self, wait: Duration) {
        self.until = self.until.max(Some(Instant::now() + wait));
    }

    /// Doubles the default pause, once for all calls that were in flight together: one sent before the last doubling is
    /// no sign that the longer pause was too short.
    pub(super) fn extend_own(&mut self, sent: Instant) {
        let wait = match self.own {
            None => FIRST_PAUSE,
            Some((_, lengthened)) if sent < lengthened => return,
            Some((before, _)) => (before * 2).min(LONGEST_OWN_PAUSE),
        };
        self.own = Some((wait, Instant::now()));
        self.extend(wait);
    }

    /// The server answers again: resets the default pause.
    pub(super) fn end_own(&mut self) {
        self.own = None;
    }

    /// The end of the pause; `None` if calls may be sent.
    pub(super) fn pending(&self) -> Option<Instant> {
        self.until.filter(|until| *until > Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    async fn seconds(seconds: u64) {
        advance(Duration::from_secs(seconds)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn an_overload_cuts_the_window_once_for_all_calls_in_flight() {
        let mut window = Window::new(100);
        let sent = Instant::now();
        seconds(5).await;
        let cuts = (0..100).filter(|_| window.overloaded(sent)).count();
        assert_eq!((cuts, window.limit()), (1, 60));
        seconds(5).await;
        assert!(!window.overloaded(sent), "it had left before the cut");
        assert!(window.overloaded(Instant::now()));
        assert_eq!(window.limit(), 36);
    }

    #[tokio::test(start_paused = true)]
    async fn cuts_are_a_second_apart_and_end_at_one_call() {
        let mut window = Window::new(8);
        let mut limits = Vec::new();
        for _ in 0..6 {
            assert!(window.overloaded(Instant::now()));
            advance(Duration::from_millis(900)).await;
            assert!(!window.overloaded(Instant::now()), "too soon");
            advance(Duration::from_millis(100)).await;
            limits.push(window.limit());
        }
        // 8 x 0.6 = 4.8, 4 x 0.6 = 2.4, 2 x 0.6 = 1.2, and never 0
        assert_eq!(limits, [4, 2, 1, 1, 1, 1]);
    }

    #[tokio::test(start_paused = true)]
    async fn the_window_grows_by_a_step_for_each_window_of_replies_up_to_the_given_number() {
        let mut window = Window::new(32);
        let early = Instant::now();
        seconds(1).await;
        window.overloaded(Instant::now());
        assert_eq!(window.limit(), 19);
        assert!((0..100).all(|_| !window.answered(early)), "replies to calls from before the cut say nothing");
        let sent = Instant::now();
        let mut grown_after = Vec::new();
        for reply in 1..=500 {
            if window.answered(sent) {
                grown_after.push((reply, window.limit()));
            }
        }
        // 32 / 16 = 2 more after 19 replies, then after 21 more, 23, ..
        assert_eq!(grown_after[..3], [(19, 21), (40, 23), (63, 25)]);
        assert_eq!(grown_after.last().unwrap().1, 32);
    }
}
