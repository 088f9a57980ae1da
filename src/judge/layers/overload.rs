//! How calls react to an overloaded server: fewer at once, and pauses that all waiting calls share.
//!
//! Additive increase, multiplicative decrease (Chiu and Jain 1989, as TCP has it): an overloaded server loses 40% of its
//! calls at once, and gets a sixteenth of the given number back after each window of replies.

use std::time::Duration;

use tokio::time::Instant;

/// The first pause after a 429 or 529 that does not say how long; doubles while they continue.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest of those pauses.
const LONGEST_OWN_PAUSE: Duration = Duration::from_secs(60);
/// What is left of the window after an overload.
const CUT: f64 = 0.6;
/// No two cuts are closer together. (Nor does a call count that had left before the last one.)
const DEBOUNCE: Duration = Duration::from_secs(1);
/// The window grows by this part of the given number at a time.
const STEPS: usize = 16;

/// The calls that may be in flight at once: between 1 and `given`.
#[derive(Debug)]
pub(super) struct Window {
    given: usize,
    limit: usize,
    /// When the window was cut last.
    cut: Option<Instant>,
    /// Replies since the last change, of calls that had left after the last cut.
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

    /// A call that left at `sent` met an overloaded server; true if the window was cut.
    ///
    /// All calls that were in flight together report the same overload: those that had left before the last cut say
    /// nothing about the smaller window, and in one second there is one cut at most.
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

    /// A call that left at `sent` was answered; true if the window grew.
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

/// The pause that all waiting calls share.
#[derive(Debug, Default)]
pub(super) struct Pause {
    until: Option<Instant>,
    /// Our own pause where the server does not say how long, and when it was last lengthened.
    own: Option<(Duration, Instant)>,
}

impl Pause {
    /// No call leaves within `wait` from now.
    pub(super) fn extend(&mut self, wait: Duration) {
        self.until = self.until.max(Some(Instant::now() + wait));
    }

    /// Doubles our own pause, once for all the calls that were in flight together: a call that had left before the
    /// last doubling is no sign that the longer pause was too short.
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

    /// Until when no call may leave; `None` if calls may.
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
