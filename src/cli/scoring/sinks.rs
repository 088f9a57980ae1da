//! Who listens to a run: the record, `items.csv` and the progress display.

use std::sync::Arc;

use crate::cli::progress::Progress;
use crate::domain::{EndpointUse, ScoredAnswer};
use crate::error::Result;
use crate::evaluation::record::{RunDir, RunRecord, RunStatus};
use crate::evaluation::{EventSink, RunEvent};
use crate::report::render_items_csv;

/// Listens to nothing: a dry run leaves no trace.
pub(in crate::cli) struct Nobody;

impl EventSink for Nobody {
    fn on_event(&mut self, _event: &RunEvent) -> Result<()> {
        Ok(())
    }
}

/// The record, the items and the progress display of one run.
pub(in crate::cli) struct Sinks {
    record: RunRecord,
    run: String,
    /// Every answer that has its score, in the order it came: what a run that fails has scored until then.
    pub(in crate::cli) scored: Vec<Arc<ScoredAnswer>>,
    /// `None` before the run asks, and where nothing is shown.
    pub(in crate::cli) progress: Option<Progress>,
}

impl Sinks {
    /// The sinks of the run of that name.
    pub(in crate::cli) fn new(record: RunRecord, run: &str) -> Self {
        Self { record, run: run.to_owned(), scored: Vec::new(), progress: None }
    }

    /// Ends the record; `scored` stands in the order of the input.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(in crate::cli) fn finish(&mut self, status: RunStatus, scored: &[Arc<ScoredAnswer>]) -> Result<()> {
        write_items(self.record.dir(), &self.run, scored)?;
        self.record.finish(status, scored)
    }

    /// Keeps what the endpoints did in the record.
    pub(in crate::cli) fn note_endpoints(&mut self, endpoints: Vec<EndpointUse>) {
        self.record.note_endpoints(endpoints);
    }

    /// The record's directory.
    pub(in crate::cli) fn record(&self) -> &RunRecord {
        &self.record
    }
}

/// Writes `items.csv` whole, answers in the order given.
///
/// # Errors
/// When the file cannot be written.
pub(in crate::cli) fn write_items(dir: &RunDir, run: &str, scored: &[Arc<ScoredAnswer>]) -> Result<()> {
    dir.write_file("items.csv", &render_items_csv(run, scored.iter().map(AsRef::as_ref))?)
}

impl EventSink for Sinks {
    fn on_event(&mut self, event: &RunEvent) -> Result<()> {
        self.record.on_event(event)?;
        if let RunEvent::Scored(scored) = event {
            self.scored.push(Arc::clone(scored));
        }
        match &mut self.progress {
            Some(progress) => progress.on_event(event),
            None => Ok(()),
        }
    }
}
