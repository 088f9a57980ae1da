//! Length and hash of the files of a run.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::domain::Fingerprint;
use crate::error::{Error, Result};

/// Length and hash of a file, recorded in the manifest of a finished run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStamp {
    /// Length in bytes.
    pub bytes: u64,
    /// blake3 hash of its bytes.
    pub blake3: Fingerprint,
}

impl FileStamp {
    /// The stamp of the file, whose bytes are on the disk afterwards if it is to be synced; `None` if it does not exist.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(super) fn of(path: &Path, is_synced: bool) -> Result<Option<Self>> {
        let Some(file) = open(path)? else {
            return Ok(None);
        };
        // Windows syncs only files that are open for writing.
        if is_synced && cfg!(unix) {
            // Before it is hashed: a power cut must not lose bytes whose hash the manifest has.
            file.sync_all().map_err(Error::io(path, "write"))?;
        }
        let mut hasher = blake3::Hasher::new();
        hasher
            .update_reader(file)
            .map_err(Error::io(path, "read"))?;
        Ok(Some(Self::read(&hasher)))
    }

    /// The stamp of the bytes that the hasher has read.
    pub(super) fn read(hasher: &blake3::Hasher) -> Self {
        Self {
            bytes: hasher.count(),
            blake3: hasher.finalize().into(),
        }
    }

    /// How a file with the stamp `current` differs from one with this stamp; empty if it does not.
    pub(super) fn difference(&self, current: &Self) -> String {
        match (self == current, self.bytes == current.bytes) {
            (true, _) => String::new(),
            (_, false) => format!("{} bytes, not {}", current.bytes, self.bytes),
            _ => format!(
                "other bytes (BLAKE3 {}, not {})",
                current.blake3.short(8),
                self.blake3.short(8)
            ),
        }
    }
}

/// The file; `None` if it does not exist.
pub(super) fn open(path: &Path) -> Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io(path, "read")(error)),
    }
}
