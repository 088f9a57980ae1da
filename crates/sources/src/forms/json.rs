//! JSON: a value a line, a list, or one document. What a value is, its record form says.

use std::io::Read as _;
use std::path::Path;

use serde_json::value::RawValue;

use super::{FormCandidate, SourceForm, extension};
use crate::decode::PAGE_BYTES;
use crate::records;
use crate::sink::{Sink, SourcePlace};
use scholareval_core::error::{Error, InputFault, Result};
use scholareval_core::files::streams::{ReadLine, next_line, open};

pub(super) static JSON: SourceForm = SourceForm {
    name: "JSON or JSONL of {url, text}, FACT, Jina, Firecrawl, Tavily or Inspect",
    fits,
    read,
};

/// The longest line: a page with its escapes.
const LINE_BYTES: usize = 2 * PAGE_BYTES;

/// The longest document, which is in memory as a whole.
const DOCUMENT_BYTES: u64 = 512 << 20;

/// Lines of a file that are looked at to learn whether each is a value. More than one, since the first may be the broken
/// one.
const TRIED_LINES: usize = 20;

fn fits(candidate: &FormCandidate<'_>) -> bool {
    let begins = matches!(candidate.head.text().first(), Some(b'{' | b'['));
    begins
        || matches!(
            extension(candidate.path).as_str(),
            "json" | "jsonl" | "ndjson"
        )
}

fn read(path: &Path, sink: &mut Sink<'_>) -> Result<()> {
    if is_lines(path)? {
        read_lines(path, sink)
    } else {
        read_document(path, sink)
    }
}

/// Whether each line is a value.
fn is_lines(path: &Path) -> Result<bool> {
    let mut reader = open(path)?;
    let mut is_first = true;
    for _ in 0..TRIED_LINES {
        let line = match next_line(&mut reader, LINE_BYTES).map_err(Error::io(path, "read"))? {
            ReadLine::Bytes(line) => line,
            ReadLine::TooLong => continue,
            ReadLine::End => break,
        };
        let line = without_mark(&line);
        if is_first && line.trim_ascii().starts_with(b"[") {
            return Ok(false);
        }
        is_first &= line.trim_ascii().is_empty();
        // Not indented: an element of a list in a document may be a value on a line, too.
        if line.starts_with(b"{") && serde_json::from_slice::<&RawValue>(line).is_ok() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn read_lines(path: &Path, sink: &mut Sink<'_>) -> Result<()> {
    let mut reader = open(path)?;
    let mut number = 0;
    loop {
        number += 1;
        let place = SourcePlace::at_line(path, number);
        match next_line(&mut reader, LINE_BYTES).map_err(Error::io(path, "read"))? {
            ReadLine::End => return Ok(()),
            ReadLine::TooLong => {
                let what = format!("a line of more than {} MiB", LINE_BYTES >> 20);
                sink.broken(place.fault(what))?;
            }
            ReadLine::Bytes(line) => {
                let text = String::from_utf8_lossy(without_mark(&line));
                if !text.trim().is_empty() {
                    records::read(&text, &place, sink)?;
                }
            }
        }
    }
}

fn read_document(path: &Path, sink: &mut Sink<'_>) -> Result<()> {
    let mut bytes = Vec::new();
    let read = open(path)?.take(DOCUMENT_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(Error::io(path, "read"))?;
    if bytes.len() as u64 > DOCUMENT_BYTES {
        let what = format!("one JSON value of more than {} MiB", DOCUMENT_BYTES >> 20);
        let fault = InputFault::new(path, what);
        return Err(fault.refuse("write its elements one per line (JSONL)"));
    }
    let text = String::from_utf8_lossy(without_mark(&bytes));
    if !text.trim_start().starts_with('[') {
        return records::read(&text, &SourcePlace::new(path), sink);
    }
    let values: Vec<&RawValue> = serde_json::from_str(&text).map_err(|error| {
        let fault = InputFault::new(
            path,
            format!("invalid JSON at column {}: {error}", error.column()),
        );
        fault.at_line(error.line())
    })?;
    for value in values {
        records::read(value.get(), &SourcePlace::new(path), sink)?;
    }
    Ok(())
}

fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}
