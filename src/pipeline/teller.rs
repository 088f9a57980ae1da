//! How an answer's events come to the sink, or are kept until it is known to be complete.

use std::sync::{Mutex, PoisonError};

use tokio::sync::{mpsc, oneshot};

use super::event::{CallRecord, RunEvent};

/// Where the records of calls go.
pub(super) enum Records {
    /// Kept until the answer is known to be complete (planning).
    Kept(Mutex<Vec<CallRecord>>),
    /// Told at once.
    Told(Teller),
}

/// Where a run tells its events.
#[derive(Clone)]
pub(super) struct Teller {
    pub(super) events: mpsc::Sender<Told>,
    /// True if a call counts as done only when the sink has taken it: without a cache the record is the only place
    /// where a paid reply is kept.
    pub(super) acknowledged: bool,
}

/// An event on its way to the sink, and who waits until it has been taken.
pub(super) struct Told {
    pub(super) event: RunEvent,
    pub(super) taken: Option<oneshot::Sender<()>>,
}

impl Teller {
    /// A closed channel means that the run is over; there is nobody left to tell.
    pub(super) async fn tell(&self, event: RunEvent) {
        let (taken, waiting) = if self.acknowledged { Some(oneshot::channel()).unzip() } else { (None, None) };
        let sent = self.events.send(Told { event, taken }).await;
        if let (Ok(()), Some(waiting)) = (sent, waiting) {
            // A sink that failed drops its end: the run is being stopped.
            let _ = waiting.await;
        }
    }
}

impl Records {
    pub(super) async fn tell(&self, record: CallRecord) {
        match self {
            Self::Kept(records) => records.lock().unwrap_or_else(PoisonError::into_inner).push(record),
            Self::Told(teller) => teller.tell(RunEvent::Call(Box::new(record))).await,
        }
    }
}
