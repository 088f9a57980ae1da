//! Slots for concurrent answers: each answer keeps its prefix warm, and idle slots go to answers in progress.
//!
//! Every answer holds one slot while it is scored and makes its calls through it one after the other, so that a
//! server's prefix cache serves all of them. Once all answers have started, they also take idle slots. (Mixing one
//! prefix over 4 slots of llama.cpp cost 2.8 times the prompt tokens.)

use tokio::sync::{Mutex, Semaphore, SemaphorePermit, watch};

/// The slots of a run.
#[derive(Debug)]
pub(super) struct Lanes {
    slots: Semaphore,
    unstarted: watch::Sender<usize>,
}

impl Lanes {
    /// `slots` concurrent calls (>= 1) for that many answers.
    pub(super) fn new(slots: usize, answers: usize) -> Self {
        Self {
            slots: Semaphore::new(slots.max(1)),
            unstarted: watch::Sender::new(answers),
        }
    }

    /// The slot of an answer itself, which counts as started from then on.
    pub(super) async fn begin(&self) -> Option<SemaphorePermit<'_>> {
        let slot = self.slots.acquire().await.ok();
        // Woken only by the last start; waking every waiter at each start is quadratic in the
        // calls.
        self.unstarted.send_if_modified(|answers| {
            *answers = answers.saturating_sub(1);
            *answers == 0
        });
        slot
    }

    /// Waits for an idle slot once every answer has started.
    async fn idle(&self) -> Option<SemaphorePermit<'_>> {
        self.unstarted
            .subscribe()
            .wait_for(|answers| *answers == 0)
            .await
            .ok()?;
        self.slots.acquire().await.ok()
    }

    /// Calls `ask` once it has the slot of the answer itself, which `slot` guards, or an idle one.
    pub(super) async fn in_slot<T>(&self, slot: &Mutex<()>, ask: impl Future<Output = T>) -> T {
        let _slots = tokio::select! {
            // The answer's slot first: an idle slot has no warm prefix of this answer.
            biased;
            slot = slot.lock() => (Some(slot), None),
            idle = self.idle() => (None, idle),
        };
        ask.await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_answer_gets_an_idle_slot_once_all_have_started() {
        let lanes = Lanes::new(3, 2);
        let (slot, ask) = (Mutex::new(()), || std::future::ready(()));
        let _first = lanes.begin().await;
        let busy = slot.lock().await;
        let widened = tokio::time::timeout(
            std::time::Duration::from_millis(20),
            lanes.in_slot(&slot, ask()),
        );
        assert!(widened.await.is_err(), "an answer waits for the free slots");
        let _second = lanes.begin().await;
        lanes.in_slot(&slot, ask()).await;
        let _third = lanes.begin().await;
        let widened = tokio::time::timeout(
            std::time::Duration::from_millis(20),
            lanes.in_slot(&slot, ask()),
        );
        assert!(widened.await.is_err(), "no slot is free");
        drop(busy);
        lanes.in_slot(&slot, ask()).await;
    }
}
