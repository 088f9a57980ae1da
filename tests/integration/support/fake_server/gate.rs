//! Calls that get no reply before the test says so: it decides how far a run comes, and no clock does.

use std::ops::Range;
use std::sync::Arc;

use tokio::sync::watch;

/// Holds back the replies to some chat requests, by their number (0-based, in order of arrival). They count as asked.
#[derive(Debug, Clone)]
pub struct Gate(Arc<watch::Sender<Range<usize>>>);

impl Gate {
    /// A gate that holds back these.
    pub fn holding(numbers: Range<usize>) -> Self {
        Self(Arc::new(watch::channel(numbers).0))
    }

    /// A gate that lets so many pass.
    pub fn after(count: usize) -> Self {
        Self::holding(count..usize::MAX)
    }

    /// Holds back these from now on; the others are answered.
    pub fn hold(&self, numbers: Range<usize>) {
        self.0.send_replace(numbers);
    }

    /// Lets all pass.
    pub fn open(&self) {
        self.hold(0..0);
    }

    /// Waits until `number` is not held back.
    pub(super) async fn pass(&self, number: usize) {
        let mut held = self.0.subscribe();
        // The sender is here: there is no error.
        let _ = held.wait_for(|held| !held.contains(&number)).await;
    }
}
