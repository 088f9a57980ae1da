//! Text files, and writing files so that a reader finds all of a file or none of it.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use serde::Serialize;

use crate::error::{Error, InputFault, Result};

/// Writes a file beside its place and moves it there.
///
/// # Errors
/// When the file cannot be written, and any error of `write`.
pub fn write_whole<T>(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> Result<T>) -> Result<T> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let partial = path.with_file_name(format!(".{name}.partial"));
    // What a killed process left, or a link that somebody put there. A new file follows no link.
    let _ = fs::remove_file(&partial);
    let mut out = BufWriter::new(File::create_new(&partial).map_err(Error::io(&partial, "create"))?);
    let written = write(&mut out).and_then(|value| {
        out.flush().map_err(Error::io(&partial, "write"))?;
        fs::rename(&partial, path).map_err(Error::io(path, "create"))?;
        Ok(value)
    });
    if written.is_err() {
        // The temporary file is of no use; report the first error even if removing it fails.
        let _ = fs::remove_file(&partial);
    }
    written
}

/// [`write_whole`] for these bytes, which are on the disk before the file is in its place.
///
/// # Errors
/// When the file cannot be written.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<()> {
    write_whole(path, |out| {
        let written = out.write_all(bytes).and_then(|()| out.flush()).and_then(|()| out.get_ref().sync_all());
        written.map_err(Error::io(path, "write"))
    })
}

/// [`write_bytes`] for a value as indented JSON.
///
/// # Errors
/// When the file cannot be written.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let mut bytes = serde_json::to_vec_pretty(value)
        .map_err(|error| Error::Internal(format!("cannot write {} as JSON: {error}", path.display())))?;
    bytes.push(b'\n');
    write_bytes(path, &bytes)
}

/// The text of a file, byte for byte.
///
/// # Errors
/// When the file cannot be read or is not UTF-8.
pub fn read_text(path: &Path) -> Result<String> {
    let bytes = fs::read(path).map_err(Error::io(path, "read"))?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes()[..valid].iter().filter(|byte| **byte == b'\n').count();
        InputFault::new(path, "is not UTF-8").at_line(line).hint("save it as UTF-8").into()
    })
}

/// True if both paths lead to one file that exists.
pub fn is_same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// True for a name that stays in its directory on every platform: letters, digits, `.`, `_` and `-`, no dot first.
pub fn is_plain_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    !name.is_empty() && !name.starts_with('.') && name.chars().all(is_plain)
}
