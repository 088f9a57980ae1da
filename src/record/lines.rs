//! Reads the JSONL files of a run line by line, and checks them against the manifest of a finished run.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::manifest::Manifest;
use super::stamp::{FileStamp, open};
use crate::error::{Error, InputFault, Result};

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
    /// The bytes of the line read last.
    pub(super) line: Vec<u8>,
    number: usize,
    /// Total bytes of the complete lines read so far.
    pub(super) end: u64,
    /// What the file must be at its end, and a hash of what was read.
    expected: Option<(ExpectedFile, blake3::Hasher)>,
    /// Whether lines that cannot be parsed are skipped.
    is_lenient: bool,
    /// Number of lines skipped.
    pub(super) skipped: usize,
}

/// A file of a finished run.
#[derive(Debug)]
struct ExpectedFile {
    stamp: FileStamp,
    /// Number of its lines, if the manifest has it.
    lines: Option<usize>,
    /// The command that repairs it.
    remedy: String,
}

impl LineReader {
    /// Opens a file of the run in `dir`; `None` if the run has none. If the run is finished, reading to the end checks
    /// that the file is as the run left it.
    ///
    /// # Errors
    /// When it cannot be opened, or is missing in a finished run.
    pub(super) fn of_run(dir: &Path, name: &str, manifest: &Manifest) -> Result<Option<Self>> {
        let expected = manifest.files.get(name).map(|stamp| ExpectedFile {
            stamp: *stamp,
            lines: (name == "scores.jsonl").then_some(manifest.scores),
            remedy: manifest.remedy(dir, name),
        });
        let path = dir.join(name);
        match (Self::to_resume(&path)?, expected) {
            (None, Some(ExpectedFile { remedy, .. })) => Err(InputFault::new(
                path,
                "is missing, and was there when the run ended",
            )
            .refuse(remedy)),
            (reader, expected) => {
                let expected = expected.map(|expected| (expected, blake3::Hasher::new()));
                Ok(reader.map(|reader| Self {
                    expected,
                    is_lenient: false,
                    ..reader
                }))
            }
        }
    }

    /// Opens the file of a run to continue it; `None` if it does not exist. Lines that cannot be parsed, which a power
    /// cut can leave, are skipped.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub(super) fn to_resume(path: &Path) -> Result<Option<Self>> {
        let Some(file) = open(path)? else {
            return Ok(None);
        };
        let (path, reader, line) = (
            path.to_path_buf(),
            BufReader::with_capacity(1 << 16, file),
            Vec::new(),
        );
        Ok(Some(Self {
            path,
            reader,
            line,
            number: 0,
            end: 0,
            expected: None,
            is_lenient: true,
            skipped: 0,
        }))
    }

    /// The next line, parsed, with its position; `None` at the end.
    ///
    /// # Errors
    /// When the file cannot be read, or the line is not a `T` (the error names file and line); at the end, when the file
    /// is not as the finished run left it.
    pub(super) fn read<T: DeserializeOwned>(&mut self) -> Result<Option<(Position, T)>> {
        loop {
            self.line.clear();
            let length = self
                .reader
                .read_until(b'\n', &mut self.line)
                .map_err(Error::io(&self.path, "read"))?;
            // Hashed while it is read: checking first would read a file of gigabytes twice.
            if let Some((_, hasher)) = &mut self.expected {
                hasher.update(&self.line);
            }
            // A writer ends each line before it counts as written, so that what follows the last
            // line feed is torn.
            if self.line.last() != Some(&b'\n') {
                return self.check_end().map(|()| None);
            }
            self.number += 1;
            let position = Position {
                offset: self.end,
                length,
            };
            self.end += length as u64;
            match serde_json::from_slice(&self.line) {
                Ok(parsed) => return Ok(Some((position, parsed))),
                Err(_) if self.is_lenient => self.skipped += 1,
                Err(error) => {
                    return Err(self
                        .fault(format!("no line of a run record: {error}"))
                        .into());
                }
            }
        }
    }

    /// Checks that the file, which was read to its end, is as the finished run left it.
    fn check_end(&self) -> Result<()> {
        let Some((expected, hasher)) = &self.expected else {
            return Ok(());
        };
        let mut difference = expected.stamp.difference(&FileStamp::read(hasher));
        if difference.is_empty() {
            return Ok(());
        }
        if let Some(lines) = expected.lines.filter(|lines| *lines != self.number) {
            difference = format!("{} scores, not {lines} ({difference})", self.number);
        }
        let fault = InputFault::new(
            &self.path,
            format!("is not as the run left it: {difference}"),
        );
        Err(fault.refuse(&expected.remedy))
    }

    /// A fault in the line read last.
    pub(super) fn fault(&self, what: String) -> InputFault {
        let remedy = self
            .expected
            .as_ref()
            .map_or("", |(expected, _)| &expected.remedy);
        InputFault::new(&self.path, what)
            .at_line(self.number)
            .hint(remedy)
    }
}

/// Checks that `calls.jsonl` of a run to resume was not changed after the run ended. A shorter one has lost lines, which
/// are asked for again; the replies of any other one cannot be relied on.
///
/// # Errors
/// When it was changed, or cannot be read.
pub(super) fn check_calls(dir: &Path, before: &Manifest) -> Result<()> {
    let path = dir.join("calls.jsonl");
    let (Some(stamp), Some(current)) =
        (before.files.get("calls.jsonl"), FileStamp::of(&path, true)?)
    else {
        return Ok(());
    };
    let difference = stamp.difference(&current);
    // Lost lines are asked for again; changed ones could put numbers into a paper that nobody
    // measured.
    if difference.is_empty() || current.bytes < stamp.bytes {
        return Ok(());
    }
    let hint = "add --overwrite to begin a new record; replies in the cache are not paid again";
    Err(InputFault::new(
        path,
        format!("was changed after the run ended: {difference}"),
    )
    .refuse(hint))
}
