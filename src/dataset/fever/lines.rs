//! Lines of a file, a few megabytes at a time, mapped in parallel and folded in order. While one part is mapped the next
//! is read.

use std::fs::File;
use std::io::{BufRead, Read};
use std::ops::Range;
use std::path::Path;

use rayon::prelude::*;

use crate::dataset::text_file::no_such;
use crate::error::{Error, Result};

/// How much is read at once.
const CHUNK_BYTES: usize = 2 << 20;

/// How many lines are one task.
const BLOCK_LINES: usize = 256;

/// A line that is not blank.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    /// 1-based, as editors count.
    pub(super) number: usize,
    /// 0-based among the lines that are not blank.
    pub(super) index: usize,
    pub(super) bytes: &'a [u8],
}

/// Maps blocks of lines in parallel and folds what that gives in file order, until `fold` gives an error.
pub(super) fn map_blocks<T: Send>(
    path: &Path,
    map: impl Fn(&[Line<'_>]) -> T + Sync,
    mut fold: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let mut reader = Reader::open(path)?;
    let (mut now, mut next) = (Chunk::default(), Chunk::default());
    reader.read(&mut now).map_err(Error::io(path, "read"))?;
    loop {
        let is_last = reader.is_end;
        let (mapped, read) =
            if is_last { (now.map(&map), Ok(())) } else { rayon::join(|| now.map(&map), || reader.read(&mut next)) };
        mapped.into_iter().try_for_each(&mut fold)?;
        if is_last {
            return Ok(());
        }
        read.map_err(Error::io(path, "read"))?;
        std::mem::swap(&mut now, &mut next);
    }
}

/// Some whole lines.
#[derive(Default)]
struct Chunk {
    buffer: Vec<u8>,
    lines: Vec<LineAt>,
}

/// A line that is not blank, and where it stands in the buffer.
struct LineAt {
    number: usize,
    index: usize,
    range: Range<usize>,
}

impl Chunk {
    fn map<T: Send>(&self, map: &(impl Fn(&[Line<'_>]) -> T + Sync)) -> Vec<T> {
        let line = |at: &LineAt| Line {
            number: at.number,
            index: at.index,
            bytes: self.buffer.get(at.range.clone()).unwrap_or_default().trim_ascii(),
        };
        let block = |lines: &[LineAt]| map(&lines.iter().map(line).collect::<Vec<_>>());
        self.lines.par_chunks(BLOCK_LINES).map(block).collect()
    }
}

/// A file and how far it has been read.
struct Reader {
    file: File,
    /// What follows the last whole line.
    rest: Vec<u8>,
    /// Lines so far.
    number: usize,
    /// Lines so far that are not blank.
    index: usize,
    is_end: bool,
}

impl Reader {
    fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => no_such(path).into(),
            _ => Error::io(path, "read")(error),
        })?;
        Ok(Self { file, rest: Vec::new(), number: 0, index: 0, is_end: false })
    }

    /// Reads a chunk's worth of lines, or one that is longer, or what is left.
    fn read(&mut self, chunk: &mut Chunk) -> std::io::Result<()> {
        let buffer = &mut chunk.buffer;
        buffer.clear();
        buffer.append(&mut self.rest);
        let whole = loop {
            let read = (&mut self.file).take(CHUNK_BYTES as u64).read_to_end(buffer)?;
            if self.number == 0 && buffer.starts_with(b"\xef\xbb\xbf") {
                buffer.drain(..3);
            }
            self.is_end = read < CHUNK_BYTES;
            match buffer.iter().rposition(|byte| *byte == b'\n') {
                _ if self.is_end => break buffer.len(),
                Some(last) => break last + 1,
                None => {} // one long line: read on
            }
        };
        self.rest.extend_from_slice(&buffer[whole..]);
        buffer.truncate(whole);
        self.split(chunk)
    }

    fn split(&mut self, chunk: &mut Chunk) -> std::io::Result<()> {
        chunk.lines.clear();
        let mut rest = chunk.buffer.as_slice();
        while !rest.is_empty() {
            let start = chunk.buffer.len() - rest.len();
            // Several times as fast as looking at each byte; on a slice it cannot fail.
            let range = start..start + rest.skip_until(b'\n')?;
            self.number += 1;
            if !chunk.buffer[range.clone()].trim_ascii().is_empty() {
                chunk.lines.push(LineAt { number: self.number, index: self.index, range });
                self.index += 1;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_in_order_with_their_numbers_across_chunks() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        // 9 MB: a line that is longer than a chunk, blank lines, no newline at the end.
        let long = "x".repeat(5 << 20);
        let mut text = format!("\u{feff}0\n\n{long}\r\n");
        (3..400_000).for_each(|number| text.push_str(&format!("{number:08}\n")));
        text.push_str("end");
        std::fs::write(&path, &text).unwrap();
        let mut seen = Vec::new();
        let map = |lines: &[Line<'_>]| {
            lines.iter().map(|line| (line.number, line.index, line.bytes.len())).collect::<Vec<_>>()
        };
        map_blocks(&path, map, |block| {
            seen.extend(block);
            Ok(())
        })
        .unwrap();
        assert_eq!(seen[..3], [(1, 0, 1), (3, 1, 5 << 20), (4, 2, 8)]);
        assert_eq!(seen.last(), Some(&(400_001, 399_999, 3)));
        assert!(seen.iter().enumerate().all(|(at, (_, index, _))| at == *index));
    }
}
