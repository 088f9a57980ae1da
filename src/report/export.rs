//! What the forms of `export` have in common: each writes a run into a directory as another program reads it.

use std::path::Path;

use crate::error::Result;
use crate::record::RecordedRun;

/// A form in which a run is written for another program.
pub trait RunExport {
    /// Writes the run into a directory that exists. Files of the same name are replaced.
    ///
    /// # Errors
    /// When a file cannot be written, and for options that do not fit the run.
    fn write(&self, run: &RecordedRun, out: &Path) -> Result<WrittenExport>;
}

/// What an export has written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenExport {
    /// Its files or rows with their number, such as `2 logs`.
    pub contents: String,
    /// What a reader of the files must know.
    pub note: Option<String>,
}

impl WrittenExport {
    /// Without a note.
    pub fn new(contents: impl Into<String>) -> Self {
        Self {
            contents: contents.into(),
            note: None,
        }
    }
}
