//! Opening the files of a source: gzip or not, with limits on lines, and on what unpacks to far more than itself.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use rawzip::{RECOMMENDED_BUFFER_SIZE, ZipArchive};

use crate::error::{Error, InputFault, Result};
use crate::files::{SMALL_ARCHIVE, UNPACKED_TIMES, no_such};

/// What is looked at of a file to learn its form, in bytes.
const HEAD_BYTES: u64 = 4096;

/// The beginning of a file, unpacked if it is gzip.
pub struct Head {
    /// At most 4,096 bytes.
    pub bytes: Vec<u8>,
}

impl Head {
    /// Reads the beginning of a file.
    ///
    /// # Errors
    /// When the file does not exist or cannot be read.
    pub fn of(path: &Path) -> Result<Self> {
        let mut bytes = Vec::new();
        // A gzip file that is damaged behind its head is reported where it is read.
        let read = open(path)?.take(HEAD_BYTES).read_to_end(&mut bytes);
        if bytes.is_empty() {
            read.map_err(Error::io(path, "read"))?;
        }
        Ok(Self { bytes })
    }

    /// The text behind a byte order mark and white space.
    pub fn text(&self) -> &[u8] {
        let bytes = self
            .bytes
            .strip_prefix(b"\xef\xbb\xbf")
            .unwrap_or(&self.bytes);
        bytes.trim_ascii_start()
    }
}

/// Opens a file, unpacked if it is gzip.
///
/// # Errors
/// When the file does not exist or cannot be read.
pub fn open(path: &Path) -> Result<Box<dyn BufRead>> {
    match File::open(path) {
        Ok(file) => unpacked(file).map_err(Error::io(path, "read")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(no_such(path).into()),
        Err(error) => Err(Error::io(path, "read")(error)),
    }
}

/// A stream, unpacked if it is gzip.
///
/// # Errors
/// When its beginning cannot be read.
pub fn unpacked<'a>(stream: impl Read + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    let mut counted = BufReader::with_capacity(1 << 16, Counted { stream, bytes: 0 });
    if !counted.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
        return Ok(Box::new(counted));
    }
    let guarded = Guarded {
        decoder: MultiGzDecoder::new(counted),
        bytes: 0,
    };
    Ok(Box::new(BufReader::with_capacity(1 << 16, guarded)))
}

struct Counted<R> {
    stream: R,
    bytes: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer)?;
        self.bytes += read as u64;
        Ok(read)
    }
}

/// Unpacks, up to a multiple of what was read: a bomb would keep the program busy for days.
struct Guarded<R> {
    decoder: MultiGzDecoder<BufReader<Counted<R>>>,
    bytes: u64,
}

impl<R: Read> Read for Guarded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.decoder.read(buffer)?;
        self.bytes += read as u64;
        let packed = self.decoder.get_ref().get_ref().bytes;
        if self.bytes > SMALL_ARCHIVE.saturating_add(packed.saturating_mul(UNPACKED_TIMES)) {
            let what = format!("unpacks to more than {UNPACKED_TIMES} times its size");
            return Err(io::Error::other(what));
        }
        Ok(read)
    }
}

/// A line of a file.
#[derive(Debug, PartialEq)]
pub enum ReadLine {
    /// Its bytes, without the line feed.
    Bytes(Vec<u8>),
    /// A line beyond the limit, which is skipped.
    TooLong,
    /// The end of the file.
    End,
}

/// The next line, if it has at most this many bytes.
///
/// # Errors
/// When the file cannot be read.
pub fn next_line(reader: &mut dyn BufRead, limit: usize) -> io::Result<ReadLine> {
    let mut line = Vec::new();
    Ok(match read_line(reader, &mut line, limit)? {
        (0, _) => ReadLine::End,
        (_, true) => ReadLine::TooLong,
        (_, false) => ReadLine::Bytes(line),
    })
}

/// Reads the next line into a buffer; gives the bytes that were read, 0 at the end, and whether the line was too long to be
/// kept.
///
/// # Errors
/// When the file cannot be read.
pub fn read_line(
    reader: &mut dyn BufRead,
    line: &mut Vec<u8>,
    limit: usize,
) -> io::Result<(u64, bool)> {
    line.clear();
    let mut read = 0;
    let mut is_too_long = false;
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok((read, is_too_long));
        }
        let feed = memchr::memchr(b'\n', buffer);
        let part = &buffer[..feed.unwrap_or(buffer.len())];
        if line.len() + part.len() > limit {
            is_too_long = true;
        } else if !is_too_long {
            line.extend_from_slice(part);
        }
        let used = part.len() + usize::from(feed.is_some());
        reader.consume(used);
        read += used as u64;
        if feed.is_some() {
            return Ok((read, is_too_long));
        }
    }
}

/// The names of the members of a zip archive; none for another file.
///
/// # Errors
/// When the file cannot be read.
pub fn member_names(path: &Path) -> Result<Vec<String>> {
    let file = File::open(path).map_err(Error::io(path, "read"))?;
    let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
    let Ok(archive) = ZipArchive::from_file(file, &mut buffer) else {
        return Ok(Vec::new());
    };
    let mut names = Vec::new();
    let mut entries = archive.entries(&mut buffer);
    while let Some(entry) = entries
        .next_entry()
        .map_err(|error| damaged(path, &error))?
    {
        names.push(String::from_utf8_lossy(entry.file_path().as_ref()).into_owned());
    }
    Ok(names)
}

/// The fault of a zip archive that cannot be read.
pub fn damaged(path: &Path, error: &rawzip::Error) -> InputFault {
    let what = format!("a damaged or incomplete zip archive: {error}");
    InputFault::new(path, what)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn lines_are_read_whole_and_long_ones_skipped() {
        let text = b"one\n\nthree is long\nfour";
        let mut reader = BufReader::with_capacity(4, text.as_slice());
        let mut lines = Vec::new();
        loop {
            match next_line(&mut reader, 6).unwrap() {
                ReadLine::End => break,
                line => lines.push(line),
            }
        }
        let bytes = |text: &str| ReadLine::Bytes(text.as_bytes().to_vec());
        assert_eq!(
            lines,
            [bytes("one"), bytes(""), ReadLine::TooLong, bytes("four")]
        );
    }

    #[test]
    fn a_bomb_ends_with_an_error_and_members_of_gzip_are_one_stream() {
        let gzip = |bytes: &[u8]| {
            let mut encoder =
                flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        };
        let two = [gzip(b"one "), gzip(b"two")].concat();
        let mut text = String::new();
        unpacked(two.as_slice())
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text, "one two");
        let bomb = gzip(&vec![0; 12 << 20]);
        let read = io::copy(&mut unpacked(bomb.as_slice()).unwrap(), &mut io::sink());
        assert!(
            read.unwrap_err()
                .to_string()
                .contains("more than 200 times its size")
        );
    }
}
