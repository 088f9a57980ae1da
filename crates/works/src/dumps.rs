//! Files of works: which files there are, and the form of each.
//!
//! A form is known by the first record of a file, not by its name. A file that is none of them stops the command, since a
//! source that is silently left out makes works look as if they did not exist.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Map, Value};

use super::forms::{DumpForm, FORMS, form_of_record};
use super::items::{ListReader, RECORD_BYTES, RawRecord, RecordLayout};
use super::references::{is_csl_record, is_library_name};
use scholareval_core::error::{Error, InputFault, Result};
use scholareval_core::files::sqlite::WORKS_INDEX;
use scholareval_core::files::streams::{self, read_line, unpacked};
use scholareval_core::files::{files_below, no_such};

/// Endings of the files that are read of a directory. Dumps have manifests, licenses and scripts beside their records.
const ENDINGS: [&str; 7] = ["gz", "json", "jsonl", "ndjson", "bib", "ris", "nbib"];

/// What is looked at of a file to learn how its records stand in it.
const HEAD_BYTES: u64 = 64 << 10;

/// The form of a file of works.
#[derive(Clone, Copy)]
pub(super) enum WorksForm {
    /// Records in JSON.
    Records(&'static DumpForm, RecordLayout),
    /// BibTeX, CSL-JSON or RIS.
    Library,
    /// An index that `sources index` made.
    Index,
    /// An empty file.
    Empty,
}

/// A file of works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WorksFile {
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
}

/// The files of a source: itself, or those of a directory, in the order of their names.
///
/// # Errors
/// When it does not exist or cannot be read, or a directory without such files.
pub(super) fn files_of(source: &Path) -> Result<Vec<WorksFile>> {
    let meta = match fs::metadata(source) {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(no_such(source).into()),
        Err(error) => return Err(Error::io(source, "read")(error)),
    };
    let mut files = Vec::new();
    if meta.is_dir() {
        for path in files_below(source, true)? {
            let meta = fs::metadata(&path).map_err(Error::io(&path, "read"))?;
            let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
            if meta.is_file() && ENDINGS.iter().any(|known| ending == *known) {
                let bytes = meta.len();
                files.push(WorksFile { path, bytes });
            }
        }
        if files.is_empty() {
            let what = "the directory has no files of works";
            return Err(InputFault::new(source, what).refuse(forms_hint()));
        }
    } else {
        files.push(WorksFile {
            path: source.to_path_buf(),
            bytes: meta.len(),
        });
    }
    Ok(files)
}

/// The form of a file.
///
/// # Errors
/// When it cannot be read, or has none of the forms.
pub(super) fn form_of(path: &Path) -> Result<WorksForm> {
    known_form(path)?.ok_or_else(|| {
        let fault = InputFault::new(path, "not a file of works that can be read");
        fault.refuse(forms_hint())
    })
}

/// Whether a source is a file or directory of works: the form of its first file that is not empty.
///
/// # Errors
/// When it cannot be read.
pub fn is_works(source: &Path) -> Result<bool> {
    let is_dir = source.is_dir();
    let files = match files_of(source) {
        Ok(files) => files,
        Err(_) if is_dir => return Ok(false),
        Err(error) => return Err(error),
    };
    for file in files {
        match known_form(&file.path)? {
            Some(WorksForm::Empty) => {}
            form => return Ok(form.is_some()),
        }
    }
    Ok(false)
}

/// The form of a file; `None` if it has none of the forms.
fn known_form(path: &Path) -> Result<Option<WorksForm>> {
    if WORKS_INDEX.is_form_of(path)? {
        return Ok(Some(WorksForm::Index));
    }
    let mut reader = streams::open(path)?;
    let mut head = Vec::new();
    let mut line = Vec::new();
    // A file that is damaged behind its head is reported where it is read.
    let read = read_first_line(&mut *reader, &mut line, &mut head);
    if head.trim_ascii().is_empty() {
        read.map_err(Error::io(path, "read"))?;
        return Ok(Some(WorksForm::Empty));
    }
    if let Some(first) = object(&line)
        && !has_items(&first)
        && let Some(form) = form_of_record(&first)
    {
        return Ok(Some(WorksForm::Records(form, RecordLayout::Lines)));
    }
    for layout in [RecordLayout::Items, RecordLayout::Array] {
        if !may_have(layout, &head) {
            continue;
        }
        let Some(first) = first_of_list(path, layout)? else {
            continue;
        };
        if let Some(form) = form_of_record(&first) {
            return Ok(Some(WorksForm::Records(form, layout)));
        }
        if is_csl_record(&first) {
            return Ok(Some(WorksForm::Library));
        }
    }
    Ok(is_library_name(path).then_some(WorksForm::Library))
}

/// Reads the first line that is not empty, and keeps the beginning of the file.
fn read_first_line(
    reader: &mut dyn BufRead,
    line: &mut Vec<u8>,
    head: &mut Vec<u8>,
) -> io::Result<()> {
    loop {
        let (read, is_too_long) = read_line(reader, line, RECORD_BYTES)?;
        let kept = line.len().min(HEAD_BYTES as usize);
        head.extend_from_slice(&line[..kept]);
        if read == 0 || is_too_long || !line.trim_ascii().is_empty() {
            if is_too_long {
                line.clear();
            }
            break;
        }
    }
    reader.take(HEAD_BYTES).read_to_end(head)?;
    Ok(())
}

fn object(line: &[u8]) -> Option<Map<String, Value>> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    serde_json::from_slice(line).ok()
}

fn has_items(object: &Map<String, Value>) -> bool {
    let is_list = |value: Option<&Value>| value.is_some_and(Value::is_array);
    let message = object.get("message");
    is_list(object.get("items")) || is_list(message.and_then(|message| message.get("items")))
}

fn may_have(layout: RecordLayout, head: &[u8]) -> bool {
    match layout {
        RecordLayout::Lines => false,
        RecordLayout::Items => memchr::memmem::find(head, b"\"items\"").is_some(),
        RecordLayout::Array => head.trim_ascii_start().starts_with(b"["),
    }
}

/// The first record of a list.
fn first_of_list(path: &Path, layout: RecordLayout) -> Result<Option<Map<String, Value>>> {
    let mut reader = streams::open(path)?;
    let read = ListReader::new(&mut *reader, layout).and_then(|mut list| {
        let first = match list.next()? {
            Some(RawRecord::Bytes(bytes)) => object(bytes),
            _ => None,
        };
        Ok(first)
    });
    read.map_err(Error::io(path, "read"))
}

/// What the forms are, for a user with a file of another one.
pub(super) fn forms_hint() -> String {
    let name = |form: &&DumpForm| format!("{} ({})", form.name, form.layout);
    let mut names: Vec<String> = FORMS.iter().map(name).collect();
    names.push("a library in BibTeX, CSL-JSON or RIS".to_owned());
    names.push("an index of works that `scholareval sources index` made".to_owned());
    format!(
        "the forms are: {}; gzip or not, also directories of these",
        names.join("; ")
    )
}

/// Opens a file, unpacked if it is gzip; counts the bytes of the file that are read.
///
/// # Errors
/// When it does not exist or cannot be read.
pub(super) fn open<'a>(path: &Path, counter: &'a AtomicU64) -> Result<Box<dyn BufRead + 'a>> {
    let file = File::open(path).map_err(Error::io(path, "read"))?;
    unpacked(CountedFile { file, counter }).map_err(Error::io(path, "read"))
}

/// Opens a part of a file that is not packed.
///
/// # Errors
/// When it cannot be read.
pub(super) fn open_plain(file: File, counter: &AtomicU64) -> BufReader<CountedFile<'_>> {
    BufReader::with_capacity(1 << 18, CountedFile { file, counter })
}

/// A file whose bytes are counted while they are read.
pub(super) struct CountedFile<'a> {
    file: File,
    counter: &'a AtomicU64,
}

impl Read for CountedFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.counter.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}
