//! The records of a file, one after the other: lines, or the elements of a list that may be longer than the memory.

use std::io::{self, BufRead};

/// The longest record, in bytes: works with thousands of authors have some megabytes.
pub(super) const RECORD_BYTES: usize = 16 << 20;

/// How records stand in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordLayout {
    /// One a line.
    Lines,
    /// Elements of the list `items` of an object.
    Items,
    /// Elements of a list.
    Array,
}

/// A part of a file.
#[derive(Debug, PartialEq)]
pub(super) enum RawRecord<'a> {
    Bytes(&'a [u8]),
    /// Longer than [`RECORD_BYTES`], and skipped.
    TooLong,
    /// The file ends within it.
    Cut,
}

/// The objects of a list, split without reading their JSON: only strings and braces matter.
pub(super) struct ListReader<'a> {
    reader: &'a mut dyn BufRead,
    record: Vec<u8>,
    is_too_long: bool,
    nesting: Nesting,
}

impl<'a> ListReader<'a> {
    /// Goes to the beginning of the list.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(super) fn new(reader: &'a mut dyn BufRead, layout: RecordLayout) -> io::Result<Self> {
        if layout == RecordLayout::Items {
            skip_behind(reader, b"\"items\"")?;
        }
        skip_behind(reader, b"[")?;
        Ok(Self {
            reader,
            record: Vec::new(),
            is_too_long: false,
            nesting: Nesting::default(),
        })
    }

    /// The next object; `None` at the end of the list.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(super) fn next(&mut self) -> io::Result<Option<RawRecord<'_>>> {
        self.record.clear();
        self.is_too_long = false;
        loop {
            let buffer = self.reader.fill_buf()?;
            if buffer.is_empty() {
                let is_cut = std::mem::take(&mut self.nesting).depth > 0;
                return Ok(is_cut.then_some(RawRecord::Cut));
            }
            let length = buffer.len();
            let mut at = 0;
            if self.nesting.depth == 0 {
                let Some(next) = memchr::memchr2(b'{', b']', buffer) else {
                    self.reader.consume(length);
                    continue;
                };
                if buffer[next] == b']' {
                    return Ok(None);
                }
                at = next;
            }
            let start = at;
            let mut is_whole = false;
            while at < length {
                at = self.nesting.follow(buffer, at);
                if self.nesting.depth == 0 {
                    is_whole = true;
                    break;
                }
            }
            let part = &buffer[start..at];
            if self.record.len() + part.len() > RECORD_BYTES {
                self.is_too_long = true;
                self.record.clear();
            } else if !self.is_too_long {
                self.record.extend_from_slice(part);
            }
            self.reader.consume(at);
            if is_whole {
                return Ok(Some(if self.is_too_long {
                    RawRecord::TooLong
                } else {
                    RawRecord::Bytes(&self.record)
                }));
            }
        }
    }
}

/// Where in the JSON of an object the reader is.
#[derive(Default)]
struct Nesting {
    depth: usize,
    is_in_string: bool,
    is_escaped: bool,
}

impl Nesting {
    /// Goes on to the next byte that matters; gives where to continue.
    fn follow(&mut self, buffer: &[u8], at: usize) -> usize {
        if std::mem::take(&mut self.is_escaped) {
            return at + 1;
        }
        let rest = &buffer[at..];
        let next = if self.is_in_string {
            memchr::memchr2(b'"', b'\\', rest)
        } else {
            memchr::memchr3(b'"', b'{', b'}', rest)
        };
        let Some(next) = next else {
            return buffer.len();
        };
        match rest[next] {
            b'"' => self.is_in_string = !self.is_in_string,
            b'\\' => self.is_escaped = true,
            b'{' => self.depth += 1,
            _ => self.depth = self.depth.saturating_sub(1),
        }
        at + next + 1
    }
}

/// Reads up to and with the first of these bytes, or to the end.
fn skip_behind(reader: &mut dyn BufRead, sought: &[u8]) -> io::Result<()> {
    // The end of a buffer may hold the first bytes of what is sought.
    let mut tail: Vec<u8> = Vec::new();
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let before = tail.len();
        tail.extend_from_slice(buffer);
        let length = buffer.len();
        if let Some(at) = memchr::memmem::find(&tail, sought) {
            reader.consume((at + sought.len()).saturating_sub(before));
            return Ok(());
        }
        reader.consume(length);
        let keep = tail.len().min(sought.len() - 1);
        tail.drain(..tail.len() - keep);
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;
    use scholareval_core::files::streams::read_line;

    fn split(text: &str, layout: RecordLayout, buffer: usize) -> Vec<String> {
        let mut reader = BufReader::with_capacity(buffer, text.as_bytes());
        let mut list = ListReader::new(&mut reader, layout).unwrap();
        let mut records = Vec::new();
        while let Some(record) = list.next().unwrap() {
            records.push(match record {
                RawRecord::Bytes(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
                other => format!("{other:?}"),
            });
        }
        records
    }

    #[test]
    fn lists_are_split_whatever_stands_in_their_strings() {
        let text = r#" {"message": {"total":2,"items" : [ {"a":"}\"]{"}, {"b":{"c":[1]}}
            ]}}"#;
        for buffer in [1, 2, 7, 1000] {
            assert_eq!(
                split(text, RecordLayout::Items, buffer),
                [r#"{"a":"}\"]{"}"#, r#"{"b":{"c":[1]}}"#]
            );
        }
        assert_eq!(split("[{}, {\"a\":", RecordLayout::Array, 3), ["{}", "Cut"]);
        assert_eq!(split("{}", RecordLayout::Items, 3), [""; 0]);
    }

    #[test]
    fn long_lines_are_skipped() {
        let mut reader = BufReader::with_capacity(4, b"ab\nlonger than six\n\nc".as_slice());
        let mut line = Vec::new();
        assert_eq!(read_line(&mut reader, &mut line, 6).unwrap(), (3, false));
        assert_eq!(read_line(&mut reader, &mut line, 6).unwrap(), (16, true));
        assert_eq!(read_line(&mut reader, &mut line, 6).unwrap(), (1, false));
        assert_eq!(read_line(&mut reader, &mut line, 6).unwrap(), (1, false));
        assert_eq!(line, b"c");
        assert_eq!(read_line(&mut reader, &mut line, 6).unwrap(), (0, false));
    }
}
