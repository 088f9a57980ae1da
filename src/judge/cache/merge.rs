//! Several caches into one: `scholareval cache merge A B .. --into C`.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::exchange::{TakenOver, store};
use super::file;
use super::mounts::resolve;
use super::record::{self, Entry, StoredRow};
use super::servers;
use crate::error::{Error, Result};

/// What one source gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceReport {
    /// The source, as it was named.
    pub path: PathBuf,
    /// Its entries: new, known, and in conflict with what was there (which stays).
    pub entries: TakenOver,
    /// Entries left out because they are damaged.
    pub damaged: u64,
    /// Why the source could not be read to its end, where it could not; what came before it was taken over.
    pub broken_off: Option<String>,
}

/// What [`merge`] did, source by source in the order they were named.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MergeReport {
    /// One report per source.
    pub sources: Vec<SourceReport>,
}

impl MergeReport {
    /// Entries that were new, of all sources.
    pub fn added(&self) -> u64 {
        self.sources.iter().map(|source| source.entries.added).sum()
    }

    /// Entries that were there with another reply, of all sources.
    pub fn conflicts(&self) -> u64 {
        self.sources.iter().map(|source| source.entries.conflicts).sum()
    }
}

/// Takes the entries of `sources` over into the cache `into`, which is made if it is missing. Of two replies with one
/// key the first stays. Sources are opened for reading only and may lie on a network file system; all are checked
/// before the first entry is stored. Damaged entries are left out and counted.
///
/// # Errors
/// [`Error::Usage`] where a source is the target; [`Error::Cache`] for a source that is missing, damaged or something
/// else, and for a target that cannot be used.
pub fn merge(sources: &[PathBuf], into: &Path) -> Result<MergeReport> {
    let target = resolve(into).map_err(Error::io(into, "read"))?;
    let mut opened = Vec::with_capacity(sources.len());
    for source in sources {
        if resolve(source).map_err(Error::io(source, "read"))? == target {
            let what = format!("{} is a source and the target; name another file with --into", source.display());
            return Err(Error::Usage(what));
        }
        opened.push((source, file::open_source(source)?));
    }
    if opened.is_empty() {
        return Err(Error::Usage("no cache to merge is named; name at least one".to_owned()));
    }
    let mut connection = file::open_or_create(into)?;
    let mut report = MergeReport::default();
    for (path, source) in opened {
        report.sources.push(take_over(path, &source, into, &mut connection)?);
        let failed = |error: rusqlite::Error| file::explain(into, "take over what servers said", &error);
        servers::take_over(&source, &connection).map_err(failed)?;
    }
    Ok(report)
}

fn take_over(path: &Path, source: &Connection, into: &Path, target: &mut Connection) -> Result<SourceReport> {
    let mut report =
        SourceReport { path: path.to_path_buf(), entries: TakenOver::default(), damaged: 0, broken_off: None };
    let mut last = i64::MIN;
    loop {
        let page = match record::page_after(source, path, last) {
            Ok(page) => page,
            Err(error) => {
                report.broken_off = Some(error.to_string());
                return Ok(report);
            }
        };
        let Some((end, _)) = page.last() else { return Ok(report) };
        last = *end;
        let mut whole: Vec<Entry> = Vec::with_capacity(page.len());
        for (_, row) in page {
            match row {
                StoredRow::Damaged => report.damaged += 1,
                StoredRow::Whole(entry) => whole.push(*entry),
            }
        }
        store(target, into, &whole, &mut report.entries)?;
    }
}
