//! An index of works: one SQLite file, for repeated use.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::error::{Error, Result};

/// The beginning of every SQLite file.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// `PRAGMA application_id` of an index of works: the letters `SchW`.
const APPLICATION_ID: i32 = 0x5363_6857;

/// Where SQLite has the application id.
const APPLICATION_ID_AT: usize = 68;

/// Whether a file is an index of works, of any version.
///
/// # Errors
/// When it cannot be read.
pub(super) fn is_works_index(path: &Path) -> Result<bool> {
    let mut head = Vec::new();
    let file = File::open(path).map_err(Error::io(path, "read"))?;
    let read: io::Result<usize> = file.take(100).read_to_end(&mut head);
    read.map_err(Error::io(path, "read"))?;
    let id = head.get(APPLICATION_ID_AT..APPLICATION_ID_AT + 4);
    Ok(head.starts_with(MAGIC) && id == Some(&APPLICATION_ID.to_be_bytes()))
}
