//! How an answer's events come to the sink, or are kept until it is known to be complete.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

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

/// After an event nobody is woken for the next ones for so long: to be woken for each costs more than to take it.
const GATHER: Duration = Duration::from_millis(1);

/// Where the events arrive.
pub(super) struct Intake {
    told: mpsc::Receiver<Told>,
    /// True if calls wait until their events are taken.
    at_once: bool,
    not_before: Option<Instant>,
}

impl Intake {
    /// Where events are told, so many of which may wait, and where they arrive.
    pub(super) fn open(room: usize, at_once: bool) -> (mpsc::Sender<Told>, Self) {
        let (events, told) = mpsc::channel(room);
        (events, Self { told, at_once, not_before: None })
    }

    /// The next event, not right behind the last one; `None` when nobody is left to tell any. A future that is dropped has
    /// taken nothing.
    pub(super) async fn next(&mut self) -> Option<Told> {
        if let Some(time) = self.not_before {
            sleep_until(time).await;
        }
        let told = self.told.recv().await;
        self.not_before = (!self.at_once).then(|| Instant::now() + GATHER);
        told
    }

    /// The next event, however soon.
    pub(super) async fn next_at_once(&mut self) -> Option<Told> {
        self.told.recv().await
    }

    /// An event that has arrived.
    pub(super) fn waiting(&mut self) -> Option<Told> {
        self.told.try_recv().ok()
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
