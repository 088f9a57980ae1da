//! Reading whole files and zip archives, and writing files so that a reader finds all of a file or none of it.
//!
//! Whatever is written goes to a temporary file in the same directory, is synced, and renamed into
//! its place.

pub mod broken_tally;
pub mod sqlite;
pub mod streams;
#[cfg(any(test, feature = "testing"))]
pub mod test_support;

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use flate2::bufread::DeflateDecoder;
use rawzip::{CompressionMethod, ZipArchive, ZipSliceEntry};
use ruzstd::decoding::StreamingDecoder;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::domain::Fingerprint;
use crate::error::{Error, InputFault, Result};
use crate::text::names::suggest;
use crate::text::nesting::check_nesting;

/// The longest member of a zip archive that is unpacked, in bytes; for a longer one is damage or an attack.
const MEMBER_BYTES: u64 = 512 << 20;

/// How many times the size of an archive its members may have together, beyond [`SMALL_ARCHIVE`]. Logs of agents
/// repeat themselves and shrink to a hundredth; an archive made to fill the memory shrinks a thousandfold and more.
pub const UNPACKED_TIMES: u64 = 200;

/// What the members of any archive may have together, in bytes.
pub const SMALL_ARCHIVE: u64 = 8 << 20;

/// The longest file of settings, prompts or prices, in bytes: a path that leads elsewhere must not fill the memory.
const SMALL_FILE: u64 = 16 << 20;

/// Name of the file in a directory that holds its lock.
const LOCK_FILE: &str = ".lock";

/// Locks a directory against other processes of this program until the file is dropped; `instead` says what else the
/// user can do.
///
/// # Errors
/// [`Error::Input`] while another process holds the lock, or if the lock file is a symbolic link, which would be
/// followed; [`Error::Io`] where files cannot be locked.
pub fn lock_directory(dir: &Path, instead: &str) -> Result<File> {
    let path = dir.join(LOCK_FILE);
    if path.is_symlink() {
        let what = "is a symbolic link, which the lock of a directory must not be";
        return Err(InputFault::new(&path, what).refuse("remove it"));
    }
    // The file stays behind: removing it would let a third process lock a new one while a second
    // waits for the old.
    let lock = File::create(&path).map_err(Error::io(&path, "create"))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => {
            let what = "another scholareval is writing into this directory";
            let hint = format!("wait for it{instead}");
            Err(InputFault::new(dir, what).refuse(hint))
        }
        Err(TryLockError::Error(error)) => Err(Error::io(&path, "lock")(error)),
    }
}

/// Writes a file beside its place and moves it there.
///
/// # Errors
/// When the file cannot be written, and any error of `write`.
pub fn write_whole<T>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<T>,
) -> Result<T> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let partial = path.with_file_name(format!(".{name}.partial"));
    // What a killed process left, or a link that somebody put there. A new file follows no link.
    let _ = fs::remove_file(&partial);
    let mut out =
        BufWriter::new(File::create_new(&partial).map_err(Error::io(&partial, "create"))?);
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
        let written = out
            .write_all(bytes)
            .and_then(|()| out.flush())
            .and_then(|()| out.get_ref().sync_all());
        written.map_err(Error::io(path, "write"))
    })
}

/// Parses the TOML of the file `path`; `hint` says what to do about a fault.
///
/// # Errors
/// What is wrong and on which line.
pub fn parse_toml<T: DeserializeOwned>(
    source: &str,
    path: &Path,
    hint: &str,
) -> Result<T, InputFault> {
    check_nesting(source, path)?;
    toml::from_str(source).map_err(|error| {
        let mut fault = InputFault::new(path, error.message().replace('\n', " ")).hint(hint);
        fault.line = error
            .span()
            .map(|span| 1 + source[..span.start.min(source.len())].matches('\n').count());
        fault
    })
}

/// [`write_bytes`] for a value as indented JSON.
///
/// # Errors
/// When the file cannot be written.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    write_bytes(path, &json_bytes(path, value)?)
}

/// The value as indented JSON, for the file `path`.
///
/// # Errors
/// When it cannot be JSON.
pub fn json_bytes(path: &Path, value: &impl Serialize) -> Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(value).map_err(|error| {
        Error::Internal(format!("cannot write {} as JSON: {error}", path.display()))
    })?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// The bytes of a file without a UTF-8 byte order mark, and the hash of all its bytes (a pipe can only be read once).
///
/// # Errors
/// A missing file, with similar names; [`Error::Io`] if it cannot be read.
pub fn read_bytes(path: &Path) -> Result<(Vec<u8>, Fingerprint)> {
    without_mark(fs::read(path), path)
}

/// The bytes of a file that were read, without a byte order mark, and their hash.
fn without_mark(read: io::Result<Vec<u8>>, path: &Path) -> Result<(Vec<u8>, Fingerprint)> {
    let mut bytes = read.map_err(|error| {
        if error.kind() == io::ErrorKind::NotFound {
            no_such(path).into()
        } else {
            Error::io(path, "read")(error)
        }
    })?;
    let blake3 = blake3::hash(&bytes).into();
    // Windows editors write it, and JSON parsers reject it.
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    Ok((bytes, blake3))
}

/// [`read_bytes`] as text.
///
/// # Errors
/// As [`read_bytes`]; the first byte that is not UTF-8.
pub fn read_text(path: &Path) -> Result<(String, Fingerprint)> {
    let (bytes, blake3) = read_bytes(path)?;
    Ok((utf8(bytes, path)?, blake3))
}

/// [`read_text`] for a file of settings, prompts or prices.
///
/// # Errors
/// As [`read_text`]; a file longer than 16 MiB, or one that never ends.
pub fn read_small_text(path: &Path) -> Result<(String, Fingerprint)> {
    let (bytes, blake3) = without_mark(read_up_to(path, SMALL_FILE + 1), path)?;
    if bytes.len() as u64 > SMALL_FILE {
        let what = format!("longer than {} MiB", SMALL_FILE >> 20);
        return Err(InputFault::new(path, what)
            .refuse("check the path: files of settings and prompts are short"));
    }
    Ok((utf8(bytes, path)?, blake3))
}

fn read_up_to(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The bytes of a file as text.
///
/// # Errors
/// The first byte that is not UTF-8.
pub fn utf8(bytes: Vec<u8>, path: &Path) -> Result<String, InputFault> {
    String::from_utf8(bytes)
        .map_err(|error| not_utf8(error.as_bytes(), error.utf8_error().valid_up_to(), path, 1))
}

/// Whether a file with these bytes is meant to be a zip archive.
pub fn is_zip(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04")
}

/// Gives `each` the texts of the members of a zip archive whose names are `wanted`, one at a time, each with
/// `archive/member` as its path.
///
/// # Errors
/// A damaged or incomplete archive; one whose members are far larger than itself; a member that is damaged, longer than
/// 512 MiB, packed in another way than with deflate or zstd, or not UTF-8; any error of `each`.
pub fn for_each_member(
    bytes: &[u8],
    path: &Path,
    wanted: impl Fn(&str) -> bool,
    mut each: impl FnMut(&Path, &str) -> Result<(), InputFault>,
) -> Result<(), InputFault> {
    let damaged = |error| {
        InputFault::new(
            path,
            format!("a damaged or incomplete zip archive: {error}"),
        )
    };
    let zip = ZipArchive::from_slice(bytes).map_err(damaged)?;
    // Each member is then read to its stated size at most.
    let mut stated: u64 = 0;
    for entry in zip.entries() {
        let entry = entry.map_err(damaged)?;
        // Only what is read: logs have large members that nobody asks for.
        if wanted(&String::from_utf8_lossy(entry.file_path().as_ref())) {
            stated = stated.saturating_add(entry.uncompressed_size_hint());
        }
    }
    let size = bytes.len() as u64;
    let limit = SMALL_ARCHIVE.saturating_add(size.saturating_mul(UNPACKED_TIMES));
    if stated > limit {
        let what = format!(
            "an archive of {size} bytes that unpacks to {stated}, above the limit of {limit}"
        );
        return Err(InputFault::new(path, what).hint("check where the file is from"));
    }
    for entry in zip.entries() {
        let entry = entry.map_err(damaged)?;
        let name = String::from_utf8_lossy(entry.file_path().as_ref()).into_owned();
        if wanted(&name) {
            let (path, packed) = (
                path.join(&name),
                zip.get_entry(entry.wayfinder()).map_err(damaged)?,
            );
            let text = unpacked(
                &packed,
                entry.compression_method(),
                entry.uncompressed_size_hint(),
            );
            each(
                &path,
                &text.map_err(|error| {
                    InputFault::new(&path, format!("cannot be unpacked: {error}"))
                })?,
            )?;
        }
    }
    Ok(())
}

/// The text of a member that unpacks to this many bytes.
fn unpacked(
    packed: &ZipSliceEntry<'_>,
    method: CompressionMethod,
    bytes: u64,
) -> Result<String, Box<dyn std::error::Error>> {
    let reader: Box<dyn Read> = match method {
        _ if bytes > MEMBER_BYTES => {
            return Err(format!("{bytes} bytes, the limit is {MEMBER_BYTES}").into());
        }
        CompressionMethod::STORE => Box::new(packed.data()),
        CompressionMethod::DEFLATE => Box::new(DeflateDecoder::new(packed.data())),
        CompressionMethod::ZSTD => Box::new(StreamingDecoder::new(packed.data())?),
        other => return Err(format!("packed with {other}, not with deflate or zstd").into()),
    };
    let mut text = String::new();
    // It may be longer than the archive says.
    packed
        .verifying_reader(reader.take(bytes + 1))
        .read_to_string(&mut text)?;
    Ok(text)
}

/// A fault for a path that does not exist.
pub fn no_such(path: &Path) -> InputFault {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let Ok(entries) = fs::read_dir(parent) else {
        let hint = format!("the directory {} does not exist either", parent.display());
        return InputFault::new(path, "no such file or directory").hint(hint);
    };
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    // The first of equally near names is suggested: the same one on every file system.
    names.sort();
    let wanted = path.file_name().unwrap_or_default().to_string_lossy();
    // Only suggest files with the same extension.
    let meant = names
        .iter()
        .map(String::as_str)
        .filter(|name| !name.starts_with('.') && ending(name) == ending(&wanted));
    let hint = suggest(&wanted, meant);
    InputFault::new(path, "no such file or directory").hint(hint)
}

/// The extension of a name in lower case.
fn ending(name: &str) -> Option<OsString> {
    let extension = Path::new(name).extension()?;
    Some(extension.to_ascii_lowercase())
}

pub fn not_utf8(bytes: &[u8], valid_up_to: usize, path: &Path, first_line: usize) -> InputFault {
    let before = &bytes[..valid_up_to];
    let line_start = before
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    InputFault::new(
        path,
        format!(
            "invalid UTF-8 at byte {} of the line",
            before.len() - line_start + 1
        ),
    )
    .at_line(first_line + newlines(before))
    .hint("save the file as UTF-8")
}

pub fn newlines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

/// The files below a directory that are not hidden, in the order of their paths. With `has_links` also links, which may lead to
/// a file; those to directories are not followed, since they may be a loop.
///
/// # Errors
/// When a directory cannot be read.
pub fn files_below(directory: &Path, has_links: bool) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut open = vec![directory.to_path_buf()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).map_err(Error::io(&directory, "read"))? {
            let entry = entry.map_err(Error::io(&directory, "read"))?;
            let kind = entry.file_type().map_err(Error::io(&directory, "read"))?;
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            if kind.is_dir() {
                open.push(entry.path());
            } else if kind.is_file() || has_links && kind.is_symlink() {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    Ok(files)
}

/// True if both paths lead to one file that exists.
pub fn is_same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// True for a name that stays in its directory on every platform: letters, digits, `.`, `_` and `-`, no dot first.
pub fn is_plain_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('.')
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
}

#[cfg(test)]
mod tests {
    use super::test_support::zipped;
    use super::*;

    #[test]
    fn text_that_is_not_utf8_is_a_fault_with_line_and_byte() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        fs::write(&path, b"ab\nc\xffd").unwrap();
        let fault = read_text(&path).unwrap_err().to_string();
        assert!(
            fault.ends_with("f:2: invalid UTF-8 at byte 2 of the line; save the file as UTF-8"),
            "{fault}"
        );
        fs::write(&path, b"\xff\xfe{\0}\0").unwrap();
        let fault = read_text(&path).unwrap_err().to_string();
        assert!(
            fault.ends_with("f:1: invalid UTF-8 at byte 1 of the line; save the file as UTF-8"),
            "{fault}"
        );
    }

    #[test]
    fn a_missing_file_suggests_its_neighbors() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("answers.jsonl"), "\u{feff}x").unwrap();
        assert_eq!(
            read_bytes(&dir.path().join("answers.jsonl")).unwrap().0,
            b"x"
        );
        let error = read_bytes(&dir.path().join("anwsers.jsonl"))
            .unwrap_err()
            .to_string();
        assert!(
            error.ends_with("no such file or directory; did you mean answers.jsonl?"),
            "{error}"
        );
        fs::write(dir.path().join("page.html"), "").unwrap();
        let error = read_bytes(&dir.path().join("claude.jsonl"))
            .unwrap_err()
            .to_string();
        assert!(
            error.ends_with("no such file or directory; known: answers.jsonl"),
            "{error}"
        );
        let error = read_bytes(&dir.path().join("no/such"))
            .unwrap_err()
            .to_string();
        assert!(error.contains("does not exist either"), "{error}");
    }

    #[test]
    fn members_of_an_archive_are_read_however_they_are_packed_and_damage_is_named() {
        let text = "one line of text\n".repeat(100);
        let (text, longer) = (text.as_str(), format!("{text}and more"));
        let bytes = zipped(&[
            ("stored", CompressionMethod::STORE, text, text),
            ("a/deflated", CompressionMethod::DEFLATE, text, text),
            ("zstd", CompressionMethod::ZSTD, text, text),
            ("bzip2", CompressionMethod::BZIP2, text, text),
            ("bomb", CompressionMethod::DEFLATE, &longer, text),
            (
                "changed",
                CompressionMethod::STORE,
                text,
                &text.replace("one", "two"),
            ),
        ]);
        assert!(is_zip(&bytes));
        let read = |name: &str| {
            let mut texts = Vec::new();
            let each = |_: &Path, text: &str| {
                texts.push(text.to_owned());
                Ok(())
            };
            for_each_member(&bytes, Path::new("x.eval"), |member| member == name, each)
                .map(|()| texts)
        };
        for name in ["stored", "a/deflated", "zstd"] {
            assert_eq!(read(name).unwrap(), [text], "{name}");
        }
        assert!(read("none").unwrap().is_empty());
        for name in ["bzip2", "bomb", "changed"] {
            let error = read(name).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("x.eval/{name}: cannot be unpacked: ")),
                "{error}"
            );
        }
        let cut = for_each_member(
            &bytes[..bytes.len() - 40],
            Path::new("x.eval"),
            |_| true,
            |_, _| Ok(()),
        );
        let error = cut.unwrap_err().to_string();
        assert!(
            error.starts_with("x.eval: a damaged or incomplete zip archive: "),
            "{error}"
        );
    }

    #[test]
    fn an_archive_far_larger_than_itself_is_refused_before_it_is_unpacked() {
        let text = " ".repeat(9 << 20);
        let bytes = zipped(&[("bomb", CompressionMethod::ZSTD, &text, &text)]);
        assert!(bytes.len() < 4_000, "{}", bytes.len());
        let unpack = |wanted: &str| {
            let all = |_: &Path, _: &str| Ok(());
            for_each_member(&bytes, Path::new("x.eval"), |name| name == wanted, all)
        };
        let error = unpack("bomb").unwrap_err().to_string();
        let what = format!(
            "x.eval: an archive of {} bytes that unpacks to 9437184, above the limit of ",
            bytes.len()
        );
        assert!(error.starts_with(&what), "{error}");
        // What is not read may be large.
        unpack("none").unwrap();
    }

    #[test]
    fn a_file_of_settings_has_a_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("scholareval.toml");
        fs::write(&path, vec![b'#'; 16 << 20]).unwrap();
        assert!(read_small_text(&path).is_ok());
        fs::write(&path, vec![b'#'; (16 << 20) + 1]).unwrap();
        let error = read_small_text(&path).unwrap_err().to_string();
        assert!(
            error.contains("longer than 16 MiB; check the path"),
            "{error}"
        );
    }
}
