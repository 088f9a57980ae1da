//! Reads the JSONL files of a run line by line.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::domain::Fingerprint;
use crate::error::{Error, InputFault, Result};

/// Length and hash of a file, recorded in the manifest of a finished run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStamp {
    /// Length in bytes.
    pub bytes: u64,
    /// blake3 hash of its bytes.
    pub blake3: Fingerprint,
}

impl FileStamp {
    /// The stamp of the file; `None` if it does not exist.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(super) fn of(path: &Path) -> Result<Option<Self>> {
        let Some(file) = open(path)? else { return Ok(None) };
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(file).map_err(Error::io(path, "read"))?;
        Ok(Some(Self { bytes: hasher.count(), blake3: hasher.finalize().into() }))
    }
}

/// The file; `None` if it does not exist.
fn open(path: &Path) -> Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io(path, "read")(error)),
    }
}

/// Position of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    /// Bytes before the line.
    pub(super) offset: u64,
    /// Its length in bytes, including the line feed.
    pub(super) length: usize,
}

/// Reads the complete lines of a JSONL file, one in memory at a time. A last line without a line feed is incomplete,
/// since the run was killed while writing it, and is skipped.
#[derive(Debug)]
pub(super) struct LineReader {
    path: PathBuf,
    reader: BufReader<File>,
    line: Vec<u8>,
    number: usize,
    end: u64,
}

impl LineReader {
    /// Opens the file; `None` if it does not exist.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub(super) fn open(path: &Path) -> Result<Option<Self>> {
        let Some(file) = open(path)? else { return Ok(None) };
        let reader = BufReader::with_capacity(1 << 16, file);
        Ok(Some(Self { path: path.to_path_buf(), reader, line: Vec::new(), number: 0, end: 0 }))
    }

    /// The next line, parsed, with its position; `None` at the end.
    ///
    /// # Errors
    /// When the file cannot be read, or the line is not a `T` (the error names file and line).
    pub(super) fn read<T: DeserializeOwned>(&mut self) -> Result<Option<(Position, T)>> {
        self.line.clear();
        let length = self.reader.read_until(b'\n', &mut self.line).map_err(Error::io(&self.path, "read"))?;
        if self.line.last() != Some(&b'\n') {
            return Ok(None);
        }
        self.number += 1;
        let parsed = serde_json::from_slice(&self.line)
            .map_err(|error| self.fault(format!("no line of a run record: {error}")))?;
        let position = Position { offset: self.end, length };
        self.end += length as u64;
        Ok(Some((position, parsed)))
    }

    /// The bytes of the line read last.
    pub(super) fn line(&self) -> &[u8] {
        &self.line
    }

    /// Total bytes of the complete lines read so far.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// A fault in the line read last.
    pub(super) fn fault(&self, what: String) -> InputFault {
        InputFault::new(&self.path, what).at_line(self.number)
    }
}
