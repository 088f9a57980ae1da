//! Passes events from the answers of a run to its sink.

use tokio::sync::{mpsc, oneshot};

use crate::record::RunEvent;

/// Sends events to the sink of a run.
#[derive(Clone)]
pub(super) struct EventSender(pub(super) mpsc::Sender<Envelope>);

/// An event for the sink, and the sender to notify once the sink has taken it.
pub(super) type Envelope = (RunEvent, oneshot::Sender<()>);

impl EventSender {
    /// Resolves when the sink has taken the event. Without a cache the record is the only copy of a reply, so a call
    /// counts as done only then.
    pub(super) async fn send(&self, event: RunEvent) {
        // An unbounded queue would let calls run ahead of the disk and lose their replies in a
        // crash.
        let (taken, waiting) = oneshot::channel();
        // A closed channel means that the run is over: a sink that fails drops its end.
        if self.0.send((event, taken)).await.is_ok() {
            let _ = waiting.await;
        }
    }
}
