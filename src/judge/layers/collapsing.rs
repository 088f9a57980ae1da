//! Identical calls in flight become one.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use futures::future::{BoxFuture, Shared, WeakShared};

use crate::domain::Fingerprint;
use crate::error::Error;
use crate::judge::{AskError, AskFuture, Judge, JudgeRequest, Outcome};

/// A judge that is asked one thing once at a time.
///
/// Calls with one fingerprint that overlap share one call of the judge inside:
///
/// - The shared call is driven by whoever waits for it. A caller that is dropped changes nothing for the others, and
///   the judge's work is dropped only with the last caller: there is no leader, nothing to take over, no deadlock.
/// - All get the same outcome. The first to receive a reply gets it as it came; the others get a copy with
///   `cached: true`, so that its tokens, which they keep, count once like those of any cached reply.
/// - All learn of an error. Asking again is for the layer inside (retrying) or for the caller: the next call with that
///   fingerprint starts afresh.
///
/// Requests that are not rendered have no fingerprint and pass straight through.
pub struct Collapsing<J> {
    inner: Arc<J>,
    flights: Arc<Flights>,
}

type Answer = Arc<Landed>;
type Flight = Shared<BoxFuture<'static, Answer>>;

/// The calls in the air, each with a number, so that a late one cannot strike out its successor.
#[derive(Default)]
struct Flights {
    by_key: Mutex<HashMap<Fingerprint, (u64, WeakShared<BoxFuture<'static, Answer>>)>>,
    next: AtomicU64,
}

impl Flights {
    fn lock(&self) -> MutexGuard<'_, HashMap<Fingerprint, (u64, WeakShared<BoxFuture<'static, Answer>>)>> {
        // Nothing panics while holding it.
        self.by_key.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A finished call.
struct Landed {
    result: Result<Outcome, AskError>,
    /// True once a caller has received it.
    received: AtomicBool,
}

/// Strikes a call off the list when it has landed or was dropped.
struct Strike {
    flights: Arc<Flights>,
    key: Fingerprint,
    number: u64,
}

impl Drop for Strike {
    fn drop(&mut self) {
        let mut flights = self.flights.lock();
        if flights.get(&self.key).is_some_and(|(number, _)| *number == self.number) {
            flights.remove(&self.key);
        }
    }
}

impl<J> Collapsing<J> {
    /// Collapses the calls to `inner`.
    pub fn new(inner: J) -> Self {
        Self { inner: Arc::new(inner), flights: Arc::default() }
    }

    /// How many different calls are in flight.
    pub fn in_flight(&self) -> usize {
        self.flights.lock().len()
    }
}

impl<J: Judge + 'static> Collapsing<J> {
    /// The call of that fingerprint that is in flight, or a new one.
    fn board(&self, request: &JudgeRequest, key: Fingerprint) -> Flight {
        let mut flights = self.flights.lock();
        if let Some(flight) = flights.get(&key).and_then(|(_, flight)| flight.upgrade()) {
            return flight;
        }
        let number = self.flights.next.fetch_add(1, Ordering::Relaxed);
        let strike = Strike { flights: Arc::clone(&self.flights), key, number };
        let inner = Arc::clone(&self.inner);
        let request = request.clone();
        let flight = async move {
            let result = inner.ask(&request).await;
            // Struck off before anybody learns of the result: who comes later asks afresh.
            drop(strike);
            Arc::new(Landed { result, received: AtomicBool::new(false) })
        }
        .boxed()
        .shared();
        if let Some(weak) = flight.downgrade() {
            flights.insert(key, (number, weak));
        }
        flight
    }
}

impl<J: Judge + 'static> Judge for Collapsing<J> {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        let Some(rendered) = &request.rendered else { return self.inner.ask(request) };
        Box::pin(async move {
            let flight = self.board(request, rendered.fingerprint);
            let landed = flight.await;
            let first = !landed.received.swap(true, Ordering::Relaxed);
            match &landed.result {
                Ok(Outcome::Reply(reply)) => {
                    let mut reply = reply.clone();
                    reply.cached |= !first;
                    Ok(Outcome::Reply(reply))
                }
                Ok(other) => Ok(other.clone()),
                Err(error) => Err(copy(error)),
            }
        })
    }
}

/// The same error once more; an I/O error keeps its kind and words.
fn copy(error: &AskError) -> AskError {
    match error {
        AskError::Transient { message, status, retry_after } => {
            AskError::Transient { message: message.clone(), status: *status, retry_after: *retry_after }
        }
        AskError::Refused { message, status, kind } => {
            AskError::Refused { message: message.clone(), status: *status, kind: *kind }
        }
        AskError::Fatal(error) => AskError::Fatal(match error {
            Error::Input(faults) => Error::Input(faults.clone()),
            Error::Settings(what) => Error::Settings(what.clone()),
            Error::Usage(what) => Error::Usage(what.clone()),
            Error::JudgeUnavailable(what) => Error::JudgeUnavailable(what.clone()),
            Error::Cache { path, what } => Error::Cache { path: path.clone(), what: what.clone() },
            Error::Io { path, action, source } => {
                Error::Io { path: path.clone(), action, source: std::io::Error::new(source.kind(), source.to_string()) }
            }
            Error::Stopped(what) => Error::Stopped(what.clone()),
            Error::Internal(what) => Error::Internal(what.clone()),
        }),
    }
}

impl<J: fmt::Debug> fmt::Debug for Collapsing<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collapsing").field("inner", &self.inner).field("in_flight", &self.in_flight()).finish()
    }
}
