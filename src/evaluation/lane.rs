//! Slots for concurrent answers: each answer keeps its prefix warm, and idle slots go to answers in progress.
//!
//! Every answer holds one slot while it is scored and makes its calls through it one after the other, so that a
//! server's prefix cache serves all of them. When fewer answers remain to be started than slots are free, answers take
//! more slots. (Mixing one prefix over 4 slots of llama.cpp cost 2.8 times the prompt tokens.)

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The slots of a run.
#[derive(Debug)]
pub(super) struct Lanes {
    places: Arc<Semaphore>,
    unstarted: AtomicUsize,
}

/// A slot; released when dropped.
pub(super) type Place = OwnedSemaphorePermit;

impl Lanes {
    /// `places` concurrent calls (>= 1) for that many answers.
    pub(super) fn new(places: usize, answers: usize) -> Self {
        Self { places: Arc::new(Semaphore::new(places.max(1))), unstarted: AtomicUsize::new(answers) }
    }

    /// The first slot of an answer, which counts as started from then on.
    pub(super) async fn begin(&self) -> Option<Place> {
        let place = Arc::clone(&self.places).acquire_owned().await.ok();
        self.unstarted.fetch_sub(1, Ordering::AcqRel);
        place
    }

    /// Another slot for a started answer, if fewer answers are unstarted than slots are free.
    pub(super) fn widen(&self) -> Option<Place> {
        if self.unstarted.load(Ordering::Acquire) >= self.places.available_permits() {
            return None;
        }
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// Waits for another slot once every answer has started; never resolves before that.
    pub(super) async fn widen_at_the_end(&self) -> Option<Place> {
        if self.unstarted.load(Ordering::Acquire) > 0 {
            std::future::pending::<()>().await;
        }
        Arc::clone(&self.places).acquire_owned().await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_answer_widens_only_when_fewer_answers_wait_than_places_are_free() {
        let lanes = Lanes::new(3, 3);
        let first = lanes.begin().await;
        assert!(lanes.widen().is_none(), "two answers wait for the two free places");
        let second = lanes.begin().await;
        assert!(lanes.widen().is_none(), "one answer waits for the one free place");
        let third = lanes.begin().await;
        assert!(lanes.widen().is_none(), "no place is free");
        drop(first);
        assert!(lanes.widen().is_some(), "no answer waits and a slot is free");
        drop((second, third));
    }
}
