//! Bytes of a page to text: content encodings of HTTP, and the many charsets of the web.

use std::io::{self, Read};

use encoding_rs::{Encoding, UTF_8};
use flate2::bufread::GzDecoder;
use flate2::{Decompress, FlushDecompress, Status};
use ruzstd::decoding::StreamingDecoder;

/// The longest page that is looked at, in bytes after unpacking. The longest pages that people cite are PDFs and data
/// listings of some 50 MB; a body beyond this is a download or an attack.
pub(super) const PAGE_BYTES: usize = 64 << 20;

/// Where HTML names its charset (the standard looks at 1,024 bytes).
const META_BYTES: usize = 1024;

/// What is unpacked at a time, in bytes.
const BUFFER_BYTES: usize = 32 << 10;

/// How a member of a gzip stream begins.
const GZIP: &[u8] = &[0x1f, 0x8b];

/// How a frame of a zstd stream begins.
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// From this length on, in bytes, what has no control characters is not packed: one packed byte in nine is one.
const PROVEN_BYTES: usize = 200;

/// The bytes behind a reader; `None` if they are more than [`PAGE_BYTES`].
///
/// # Errors
/// When they cannot be read.
pub(super) fn read_page(reader: impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    reader.take(PAGE_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() <= PAGE_BYTES).then_some(bytes))
}

/// A body behind its transfer or content encodings.
#[derive(Debug, PartialEq)]
pub(super) struct Unpacked {
    /// Its bytes; `None` if they are more than [`PAGE_BYTES`].
    pub(super) bytes: Option<Vec<u8>>,
    /// Whether it ended before its encoding does: the bytes are its beginning.
    pub(super) is_cut: bool,
    /// Whether a named encoding was not there: archives keep the header of a body that their crawler had already unpacked.
    pub(super) was_unpacked: bool,
}

/// The body of a reply that was sent in these content encodings.
pub(super) fn unpacked(bytes: Vec<u8>, encoding: &str) -> Unpacked {
    unpacked_up_to(PAGE_BYTES, bytes, encoding)
}

fn unpacked_up_to(limit: usize, bytes: Vec<u8>, encoding: &str) -> Unpacked {
    let mut body = Unpacked {
        bytes: None,
        is_cut: false,
        was_unpacked: false,
    };
    let mut bytes = bytes;
    // The last one was applied last.
    for name in encoding.rsplit(',') {
        let mut out = Vec::new();
        let end = match name.trim().to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => gunzip(limit, &bytes, &mut out),
            "deflate" => inflate(limit, &bytes, &mut out),
            "br" => unbrotli(limit, &bytes, &mut out),
            "zstd" => unzstd(limit, &bytes, &mut out),
            _ => continue,
        };
        match end {
            StreamEnd::TooLong => return body,
            StreamEnd::Whole => bytes = out,
            StreamEnd::Broken if bytes.is_empty() || is_readable(&bytes) => {
                body.was_unpacked = true
            }
            StreamEnd::Broken => {
                body.is_cut = true;
                bytes = out;
            }
        }
    }
    body.bytes = Some(bytes);
    body
}

/// How a packed stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamEnd {
    /// With the mark of its end.
    Whole,
    /// Before it, or with an error.
    Broken,
    /// Beyond the limit.
    TooLong,
}

/// Reads up to the limit; what comes before an error is kept.
fn read_into(limit: usize, reader: impl Read, out: &mut Vec<u8>) -> StreamEnd {
    let room = (limit - out.len()) as u64;
    match reader.take(room + 1).read_to_end(out) {
        _ if out.len() > limit => StreamEnd::TooLong,
        Ok(_) => StreamEnd::Whole,
        Err(_) => StreamEnd::Broken,
    }
}

/// The members of a gzip stream; what follows them is padding.
fn gunzip(limit: usize, bytes: &[u8], out: &mut Vec<u8>) -> StreamEnd {
    let mut rest = bytes;
    loop {
        let mut decoder = GzDecoder::new(rest);
        let end = read_into(limit, &mut decoder, out);
        rest = decoder.into_inner();
        if end != StreamEnd::Whole || !rest.starts_with(GZIP) {
            return end;
        }
    }
}

/// The frames of a zstd stream.
fn unzstd(limit: usize, bytes: &[u8], out: &mut Vec<u8>) -> StreamEnd {
    let mut rest = bytes;
    loop {
        let Ok(decoder) = StreamingDecoder::new(&mut rest) else {
            return StreamEnd::Broken;
        };
        let end = read_into(limit, decoder, out);
        if end != StreamEnd::Whole || !rest.starts_with(ZSTD) {
            return end;
        }
    }
}

fn unbrotli(limit: usize, bytes: &[u8], out: &mut Vec<u8>) -> StreamEnd {
    let decoder = brotli_decompressor::Decompressor::new(bytes, BUFFER_BYTES);
    read_into(limit, decoder, out)
}

/// `deflate` means zlib, but some servers send the bare stream.
fn inflate(limit: usize, bytes: &[u8], out: &mut Vec<u8>) -> StreamEnd {
    let end = inflate_as(limit, true, bytes, out);
    if end != StreamEnd::Broken {
        return end;
    }
    let mut bare = Vec::new();
    let bare_end = inflate_as(limit, false, bytes, &mut bare);
    // What a cut stream holds is longer than what another form finds in it by chance.
    if bare_end == StreamEnd::Broken && bare.len() < out.len() {
        return end;
    }
    *out = bare;
    bare_end
}

/// Not by a reader: those of flate2 do not tell the end of a stream from the end of the bytes.
fn inflate_as(limit: usize, is_zlib: bool, bytes: &[u8], out: &mut Vec<u8>) -> StreamEnd {
    let mut stream = Decompress::new(is_zlib);
    loop {
        out.reserve(BUFFER_BYTES);
        let (read, written) = (stream.total_in(), stream.total_out());
        let rest = bytes.get(read as usize..).unwrap_or_default();
        let status = stream.decompress_vec(rest, out, FlushDecompress::None);
        let is_stuck = stream.total_in() == read && stream.total_out() == written;
        match status {
            _ if out.len() > limit => return StreamEnd::TooLong,
            Ok(Status::StreamEnd) => return StreamEnd::Whole,
            Ok(_) if !is_stuck => {}
            Ok(_) | Err(_) => return StreamEnd::Broken,
        }
    }
}

/// Whether these bytes are a page and not packed: text has no control characters, and packed bytes soon have some.
fn is_readable(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(META_BYTES)];
    if head.starts_with(b"%PDF-") || Encoding::for_bom(head).is_some() {
        return true;
    }
    let is_control = |byte: &u8| matches!(byte, 0..=8 | 14..=26 | 28..=31 | 127);
    let is_utf8 = match std::str::from_utf8(head) {
        Ok(_) => true,
        // Its last character is not whole.
        Err(error) => error.error_len().is_none(),
    };
    !head.iter().any(is_control) && (is_utf8 || head.len() >= PROVEN_BYTES)
}

/// The text of these bytes, by their byte order mark, the charset that server or page name, or a guess. What is not in
/// that charset becomes U+FFFD.
pub(super) fn decoded(mut bytes: Vec<u8>, mime: Option<&str>, is_html: bool) -> String {
    if let Some((encoding, mark)) = Encoding::for_bom(&bytes) {
        let (text, _) = encoding.decode_without_bom_handling(&bytes[mark..]);
        return text.into_owned();
    }
    let mut named = mime.and_then(charset_of_mime);
    if named.is_none() && is_html {
        named = charset_of_meta(&bytes);
    }
    // Text in another charset is hardly ever valid UTF-8, but servers name a wrong one often. ISO-2022-JP is ASCII.
    if named.is_none_or(Encoding::is_ascii_compatible) {
        bytes = match String::from_utf8(bytes) {
            Ok(text) => return text,
            Err(error) => error.into_bytes(),
        };
    }
    let encoding = match named {
        Some(encoding) if encoding != UTF_8 => encoding,
        _ => guessed(&bytes),
    };
    let (text, _) = encoding.decode_without_bom_handling(&bytes);
    text.into_owned()
}

/// The charset that browsers would guess.
fn guessed(bytes: &[u8]) -> &'static Encoding {
    let mut detector = chardetng::EncodingDetector::new(chardetng::Iso2022JpDetection::Deny);
    detector.feed(&bytes[..bytes.len().min(META_BYTES * 64)], true);
    detector.guess(None, chardetng::Utf8Detection::Allow)
}

fn charset_of_mime(mime: &str) -> Option<&'static Encoding> {
    let mime = mime.to_ascii_lowercase();
    let (_, rest) = mime.split_once("charset=")?;
    let name = rest.split(';').next()?.trim().trim_matches(['"', '\'']);
    Encoding::for_label(name.as_bytes())
}

fn charset_of_meta(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(META_BYTES)]).to_ascii_lowercase();
    let (_, rest) = head.split_once("charset=")?;
    let rest = rest.trim_start_matches(['"', '\'', ' ']);
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':')))?;
    let encoding = Encoding::for_label(&rest.as_bytes()[..end])?;
    // A page whose head can be read as bytes is not in UTF-16, whatever it says.
    encoding.is_ascii_compatible().then_some(encoding)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zlib(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// Brotli that stores a short text: an empty window, one block of 15 bytes, the last empty one.
    fn brotli(text: &[u8; 15]) -> Vec<u8> {
        [&[0x0b, 0x07, 0x80], text.as_slice(), &[0x03]].concat()
    }

    /// Zstd that stores a text below 64 bytes: a frame of one raw block.
    fn zstd(text: &[u8]) -> Vec<u8> {
        let length = u8::try_from(text.len()).unwrap();
        let block = (u32::from(length) << 3 | 1).to_le_bytes();
        [ZSTD, &[0x20, length], &block[..3], text].concat()
    }

    fn whole(bytes: &[u8]) -> Unpacked {
        Unpacked {
            bytes: Some(bytes.to_vec()),
            is_cut: false,
            was_unpacked: false,
        }
    }

    #[test]
    fn bodies_are_unpacked_and_those_that_are_not_packed_stay() {
        let text = b"a page of words";
        let bare = &zlib(text)[2..];
        for (packed, encoding) in [
            (gzip(text), "gzip"),
            (gzip(&gzip(text)), "gzip, GZIP"),
            ([gzip(b"a page "), gzip(b"of words")].concat(), "x-gzip"),
            ([gzip(text), vec![0; 9]].concat(), "gzip"),
            (zlib(text), "deflate"),
            (bare.to_vec(), "deflate"),
            (brotli(text), "br"),
            (zstd(text), "zstd"),
            ([zstd(b"a page "), zstd(b"of words")].concat(), "zstd"),
            (text.to_vec(), "identity"),
        ] {
            assert_eq!(unpacked(packed, encoding), whole(text), "{encoding}");
        }
        for encoding in ["gzip", "deflate", "br", "zstd"] {
            let body = unpacked(text.to_vec(), encoding);
            assert!(body.was_unpacked && !body.is_cut, "{encoding}");
            assert_eq!(body.bytes.unwrap(), text, "{encoding}");
        }
    }

    #[test]
    fn a_stream_that_does_not_come_to_its_end_is_cut() {
        let text = "The ice of the sea grows in winter and shrinks in summer. ".repeat(40);
        for (packed, encoding) in [
            (gzip(text.as_bytes()), "gzip"),
            ([gzip(b"first "), gzip(text.as_bytes())].concat(), "gzip"),
            (zlib(text.as_bytes()), "deflate"),
            (zlib(text.as_bytes())[2..].to_vec(), "deflate"),
            (brotli(b"a page of words"), "br"),
            (zstd(b"a page of words"), "zstd"),
        ] {
            // The last four bytes of zlib are a checksum, which the bare stream does not have to have.
            let shortest = if encoding == "deflate" { 6 } else { 1 };
            for left in [packed.len() - shortest, packed.len() / 2] {
                let body = unpacked(packed[..left].to_vec(), encoding);
                assert!(
                    body.is_cut && !body.was_unpacked,
                    "{encoding} {left}: {body:?}"
                );
            }
        }
        // The length of the text at the end of gzip does not fit.
        let mut wrong = gzip(text.as_bytes());
        *wrong.last_mut().unwrap() ^= 1;
        let body = unpacked(wrong, "gzip");
        assert!(body.is_cut);
        assert_eq!(body.bytes.unwrap(), text.as_bytes());
    }

    #[test]
    fn a_bomb_is_too_long_and_not_unpacked_further() {
        let limit = 1 << 20;
        let bomb = gzip(&gzip(&vec![0; limit + 1]));
        assert!(bomb.len() < 1_000, "{}", bomb.len());
        assert_eq!(unpacked_up_to(limit, bomb, "gzip, gzip").bytes, None);
        let members = gzip(&vec![0; limit / 4]).repeat(5);
        assert_eq!(unpacked_up_to(limit, members, "gzip").bytes, None);
        let bomb = zlib(&vec![0; limit + 1]);
        assert_eq!(unpacked_up_to(limit, bomb, "deflate").bytes, None);
        for packed in [gzip(&vec![0; limit]), gzip(&vec![0; limit / 4]).repeat(4)] {
            let body = unpacked_up_to(limit, packed, "gzip");
            assert_eq!(body.bytes.map(|page| page.len()), Some(limit));
        }
    }

    #[test]
    fn charsets_are_named_or_guessed() {
        let latin = b"caf\xe9 cr\xe8me \xe0 la fran\xe7aise, d\xe9j\xe0 vu";
        let expected = "café crème à la française, déjà vu";
        assert_eq!(
            decoded(latin.to_vec(), Some("text/html; charset=ISO-8859-1"), true),
            expected
        );
        assert_eq!(decoded(latin.to_vec(), None, false), expected);
        // A wrong name does not spoil UTF-8.
        assert_eq!(
            decoded(
                expected.as_bytes().to_vec(),
                Some("text/html; charset=latin1"),
                true
            ),
            expected
        );
        let page = b"<meta charset=\"windows-1251\"><p>\xcf\xf0\xe8\xe2\xe5\xf2";
        assert!(decoded(page.to_vec(), Some("text/html"), true).ends_with("Привет"));
        let utf16: Vec<u8> = [0xfeff_u16, 0x61, 0xe9]
            .iter()
            .flat_map(|unit| unit.to_le_bytes())
            .collect();
        assert_eq!(decoded(utf16, None, false), "aé");
        let shift_jis = b"\x93\xfa\x96{\x8c\xea";
        assert_eq!(
            decoded(
                shift_jis.to_vec(),
                Some("text/plain; charset=Shift_JIS"),
                false
            ),
            "日本語"
        );
    }
}
