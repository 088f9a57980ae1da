//! Who may ask when: answers keep their prefix warm, and idle places go to answers already begun.
//!
//! Every answer holds one place for as long as it is being judged and asks through it one call after the other, so
//! that a server's prefix cache serves all of them. When fewer answers are still to be begun than places are free,
//! answers take further places. (Mixing one prefix over 4 slots of llama.cpp cost 2.8 times the prompt tokens.)

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The places of a run.
#[derive(Debug)]
pub(super) struct Lanes {
    places: Arc<Semaphore>,
    unstarted: AtomicUsize,
}

/// A place; given back when dropped.
pub(super) type Place = OwnedSemaphorePermit;

impl Lanes {
    /// `places` calls at once (>= 1) for that many answers.
    pub(super) fn new(places: usize, answers: usize) -> Self {
        Self { places: Arc::new(Semaphore::new(places.max(1))), unstarted: AtomicUsize::new(answers) }
    }

    /// The first place of an answer; the answer counts as begun from then on.
    pub(super) async fn begin(&self) -> Option<Place> {
        let place = Arc::clone(&self.places).acquire_owned().await.ok();
        self.unstarted.fetch_sub(1, Ordering::AcqRel);
        place
    }

    /// A further place for an answer that has begun, if fewer answers are unstarted than places are free.
    pub(super) fn widen(&self) -> Option<Place> {
        if self.unstarted.load(Ordering::Acquire) >= self.places.available_permits() {
            return None;
        }
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// Waits for a further place once every answer has begun; never resolves before that.
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
        assert!(lanes.widen().is_some(), "nobody waits and a place is free");
        drop((second, third));
    }
}
