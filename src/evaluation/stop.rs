//! Stopping a run: by a signal, or because the judge cannot be used any more.

use std::sync::Arc;

use tokio::sync::watch;

/// Tells a run to stop; cheap to clone.
#[derive(Debug, Clone)]
pub struct StopHandle(Arc<watch::Sender<Option<String>>>);

/// What a run looks at before it asks anything new.
#[derive(Debug, Clone)]
pub struct StopSignal(watch::Receiver<Option<String>>);

impl StopHandle {
    /// A handle that has not been used yet.
    pub fn new() -> Self {
        Self(Arc::new(watch::channel(None).0))
    }

    /// A signal that this handle sets.
    pub fn signal(&self) -> StopSignal {
        StopSignal(self.0.subscribe())
    }

    /// Stops the run, for this reason; the first reason stays.
    pub fn stop(&self, reason: &str) {
        self.0.send_if_modified(|current| {
            let first = current.is_none();
            if first {
                *current = Some(reason.to_owned());
            }
            first
        });
    }
}

impl Default for StopHandle {
    fn default() -> Self {
        Self::new()
    }
}

impl StopSignal {
    /// The reason, once the run is to stop.
    pub fn reason(&self) -> Option<String> {
        self.0.borrow().clone()
    }

    /// True once the run is to stop.
    pub fn is_set(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// Resolves with the reason when the run is to stop; never if its handle is gone.
    pub async fn wait(&mut self) -> String {
        loop {
            if let Some(reason) = self.reason() {
                return reason;
            }
            if self.0.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_reason_stays() {
        let handle = StopHandle::new();
        let mut signal = handle.signal();
        assert!(!signal.is_set());
        handle.stop("SIGTERM");
        handle.stop("SIGINT");
        assert_eq!(signal.wait().await, "SIGTERM");
    }
}
