//! Stops a run: on a signal, at a limit, or when the judge cannot be used any more.

use std::sync::Arc;

use tokio::sync::watch;

/// Stops a run; cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct StopHandle(Arc<watch::Sender<Option<String>>>);

impl StopHandle {
    /// A handle of a run that is not stopped.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops the run for this reason; the first reason is kept.
    pub fn stop(&self, reason: &str) {
        self.0.send_if_modified(|current| {
            // The first reason is the cause: a second Ctrl-C or a failing call behind it explains
            // nothing.
            let is_first = current.is_none();
            current.get_or_insert_with(|| reason.to_owned());
            is_first
        });
    }

    /// The reason, once the run is stopping.
    pub fn reason(&self) -> Option<String> {
        self.0.borrow().clone()
    }

    /// True once the run is stopping.
    pub fn is_set(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// Resolves with the reason when the run is stopped.
    pub async fn stopped(&self) -> String {
        let mut receiver = self.0.subscribe();
        match receiver.wait_for(Option::is_some).await {
            Ok(reason) => reason.clone().unwrap_or_default(),
            // Unreachable: this handle keeps the channel open.
            Err(_) => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_reason_stays() {
        let handle = StopHandle::new();
        assert!(!handle.is_set());
        handle.stop("SIGTERM");
        handle.stop("SIGINT");
        assert_eq!(handle.stopped().await, "SIGTERM");
    }
}
