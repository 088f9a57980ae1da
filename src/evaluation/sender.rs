//! How events get from the answers of a run to its sink.

use std::sync::{Mutex, PoisonError};

use tokio::sync::{mpsc, oneshot};

use super::event::{CallRecord, RunEvent};

/// Where the records of calls go.
pub(super) enum Records {
    /// Kept until the answer is known to be complete (planning).
    Kept(Mutex<Vec<CallRecord>>),
    /// Sent at once.
    Sent(EventSender),
}

impl Records {
    pub(super) async fn push(&self, record: CallRecord) {
        match self {
            Self::Kept(records) => records.lock().unwrap_or_else(PoisonError::into_inner).push(record),
            Self::Sent(sender) => sender.send(RunEvent::Call(Box::new(record))).await,
        }
    }
}

/// Sends events to the sink of a run.
#[derive(Clone)]
pub(super) struct EventSender(pub(super) mpsc::Sender<Envelope>);

/// An event on its way to the sink, and who waits until it has been taken.
pub(super) struct Envelope {
    pub(super) event: RunEvent,
    pub(super) taken: oneshot::Sender<()>,
}

impl EventSender {
    /// Resolves when the sink has taken the event: without a cache the record is the only place where a paid reply is
    /// kept, so a call counts as done only then.
    pub(super) async fn send(&self, event: RunEvent) {
        let (taken, waiting) = oneshot::channel();
        // A closed channel means that the run is over; a sink that failed drops its end, and the run is being stopped.
        if self.0.send(Envelope { event, taken }).await.is_ok() {
            let _ = waiting.await;
        }
    }
}
