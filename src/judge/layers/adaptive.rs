//! How many calls at once: as many as the server bears, and never more than were given.
//!
//! Additive increase, multiplicative decrease (Chiu and Jain 1989, as TCP has it): an overloaded server loses 40% of its
//! calls at once, and gets a sixteenth of the given number back after each window of replies.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

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
    /// All calls that were in flight together tell of the same overload: those that had left before the last cut say
    /// nothing of the smaller window, and in one second there is one cut at most.
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

/// Places for calls in flight, as many as the [`Window`] allows. For one waiter at a time: whoever holds the gate.
#[derive(Debug)]
pub(super) struct Slots {
    state: Mutex<State>,
    freed: Notify,
}

#[derive(Debug)]
struct State {
    window: Window,
    taken: usize,
}

impl Slots {
    pub(super) fn new(given: usize) -> Self {
        Self { state: Mutex::new(State { window: Window::new(given), taken: 0 }), freed: Notify::new() }
    }

    /// Waits for a free place.
    pub(super) async fn take(&self) -> Slot<'_> {
        loop {
            let slot = self.with(|state| {
                let is_free = state.taken < state.window.limit();
                state.taken += usize::from(is_free);
                is_free.then(|| Slot { slots: self })
            });
            match slot {
                Some(slot) => return slot,
                // A place that is given back between the look and the wait leaves a permit here: nothing is missed.
                None => self.freed.notified().await,
            }
        }
    }

    /// How many calls may be in flight now.
    pub(super) fn limit(&self) -> usize {
        self.with(|state| state.window.limit())
    }

    /// See [`Window::overloaded`].
    pub(super) fn overloaded(&self, sent: Instant) {
        if self.with(|state| state.window.overloaded(sent)) {
            tracing::debug!(limit = self.limit(), "the judge is overloaded: fewer calls at once");
        }
    }

    /// See [`Window::answered`].
    pub(super) fn answered(&self, sent: Instant) {
        if self.with(|state| state.window.answered(sent)) {
            self.freed.notify_one();
        }
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// One call's place; free again when dropped.
#[derive(Debug)]
pub(super) struct Slot<'a> {
    slots: &'a Slots,
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.slots.with(|state| state.taken -= 1);
        self.slots.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{advance, timeout};

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

    #[tokio::test(start_paused = true)]
    async fn a_smaller_window_holds_calls_back_until_enough_have_ended() {
        let slots = Slots::new(4);
        let mut taken = Vec::new();
        for _ in 0..4 {
            taken.push(slots.take().await);
        }
        slots.overloaded(Instant::now());
        assert_eq!(slots.limit(), 2);
        for still_there in [3, 2] {
            taken.pop();
            assert_eq!(taken.len(), still_there);
            assert!(timeout(Duration::from_millis(1), slots.take()).await.is_err(), "{still_there} are in flight");
        }
        taken.pop();
        assert!(timeout(Duration::from_millis(1), slots.take()).await.is_ok());
    }
}
