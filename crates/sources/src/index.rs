//! `sources index`: reads sources into a store.

use std::path::{Path, PathBuf};

use super::forms;
use super::sink::{IndexReport, Sink};
use super::store::StoreWriter;
use scholareval_core::error::{InputFault, Result};
use scholareval_core::files::sqlite::SqliteForm;

/// Reads every source and adds its pages to the store at `out`, which is made if there is none. All of them are added, or
/// nothing: a source that cannot be read leaves the store unchanged.
///
/// # Errors
/// A source of unknown form, one that is broken by more than 1%, one without a page; a file at `out` that is not a store
/// of this version, or cannot be written.
pub fn index(sources: &[PathBuf], out: &Path) -> Result<IndexReport> {
    let is_new = !out.exists();
    let indexed = index_into(sources, out);
    if is_new && indexed.is_err() {
        SqliteForm::remove_unwritten(out);
    }
    indexed
}

fn index_into(sources: &[PathBuf], out: &Path) -> Result<IndexReport> {
    // Before a store is made: most mistakes are mistyped names.
    for source in sources {
        forms::form_of(source)?;
    }
    let writer = StoreWriter::begin(out)?;
    let mut sink = Sink::new(&writer);
    for source in sources {
        forms::read(source, &mut sink)?;
        sink.end_source(source)?;
    }
    let report = sink.finish()?;
    if report.added + report.known == 0
        && let Some(first) = sources.first()
    {
        let fault = InputFault::new(first, "the sources hold no page");
        return Err(fault.refuse("check that they are what a scraper or a crawler saved"));
    }
    writer.commit()?;
    Ok(report)
}
