//! Lines of a file, a few megabytes at a time, mapped in parallel and folded in order.

use std::fs::File;
use std::io::{BufRead, Read};
use std::path::Path;

use rayon::prelude::*;

use crate::dataset::text_file::no_such;
use crate::error::{Error, Result};

/// How much is read at once.
const CHUNK_BYTES: usize = 4 << 20;

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
    let mut file = File::open(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => no_such(path).into(),
        _ => Error::io(path, "read")(error),
    })?;
    let mut buffer = Vec::new();
    let (mut number, mut index) = (0, 0);
    loop {
        let is_end = fill(&mut file, &mut buffer).map_err(Error::io(path, "read"))?;
        if number == 0 && buffer.starts_with(b"\xef\xbb\xbf") {
            buffer.drain(..3);
        }
        let whole = match (is_end, buffer.iter().rposition(|byte| *byte == b'\n')) {
            (true, _) => buffer.len(),
            (false, Some(last)) => last + 1,
            (false, None) => continue, // one long line: read on
        };
        let mut lines = Vec::new();
        let mut rest = &buffer[..whole];
        while !rest.is_empty() {
            let line = rest;
            // Several times as fast as looking at each byte; on a slice it cannot fail.
            let length = rest.skip_until(b'\n').map_err(Error::io(path, "read"))?;
            let bytes = &line[..length];
            number += 1;
            let bytes = bytes.trim_ascii();
            if !bytes.is_empty() {
                lines.push(Line { number, index, bytes });
                index += 1;
            }
        }
        let mapped: Vec<T> = lines.par_chunks(BLOCK_LINES).map(&map).collect();
        mapped.into_iter().try_for_each(&mut fold)?;
        if is_end {
            return Ok(());
        }
        buffer.drain(..whole);
    }
}

/// Reads up to a chunk more; true at the end of the file.
fn fill(file: &mut File, buffer: &mut Vec<u8>) -> std::io::Result<bool> {
    let read = file.take(CHUNK_BYTES as u64).read_to_end(buffer)?;
    Ok(read < CHUNK_BYTES)
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
