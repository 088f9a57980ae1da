//! Who listens to a run: the record, `items.csv` and the progress display.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

use crate::cli::progress::Progress;
use crate::domain::{EndpointUse, ScoredAnswer};
use crate::error::{Error, Result};
use crate::evaluation::record::{RunDir, RunRecord, RunStatus};
use crate::evaluation::{EventSink, RunEvent};
use crate::report::ItemsCsv;

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
    items: ItemsCsv,
    items_path: PathBuf,
    items_file: BufWriter<File>,
    /// Every answer that has its score, in the order it came: what a run that fails has scored until then.
    pub(in crate::cli) scored: Vec<Arc<ScoredAnswer>>,
    /// `None` before the run asks, and where nothing is shown.
    pub(in crate::cli) progress: Option<Progress>,
}

impl Sinks {
    /// Opens `items.csv` beside the record.
    ///
    /// # Errors
    /// When it cannot be created.
    pub(in crate::cli) fn open(record: RunRecord, run: &str) -> Result<Self> {
        let items = ItemsCsv::new(run);
        let items_path = record.dir().path().join("items.csv");
        let file = File::create(&items_path).map_err(Error::io(&items_path, "create"))?;
        let mut items_file = BufWriter::new(file);
        items_file.write_all(items.header()).map_err(Error::io(&items_path, "append to"))?;
        Ok(Self { record, run: run.to_owned(), items, items_path, items_file, scored: Vec::new(), progress: None })
    }

    /// Ends the record; `scored` stands in the order of the input.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(in crate::cli) fn finish(&mut self, status: RunStatus, scored: &[Arc<ScoredAnswer>]) -> Result<()> {
        self.items_file.flush().map_err(Error::io(&self.items_path, "append to"))?;
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
    let items = ItemsCsv::new(run);
    dir.write_with("items.csv", |out| {
        out.write_all(items.header())?;
        scored.iter().try_for_each(|answer| out.write_all(&items.rows(answer)))
    })
}

impl EventSink for Sinks {
    fn on_event(&mut self, event: &RunEvent) -> Result<()> {
        self.record.on_event(event)?;
        if let RunEvent::Scored(scored) = event {
            self.scored.push(Arc::clone(scored));
            let rows = self.items.rows(scored);
            self.items_file.write_all(&rows).map_err(Error::io(&self.items_path, "append to"))?;
        }
        match &mut self.progress {
            Some(progress) => progress.on_event(event),
            None => Ok(()),
        }
    }
}
