//! Bytes of a page to text: content encodings of HTTP, and the many charsets of the web.

use std::io::{self, Read};

use encoding_rs::{Encoding, UTF_8};
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use ruzstd::decoding::StreamingDecoder;

/// The longest page that is looked at, in bytes after unpacking. The longest pages that people cite are PDFs and data
/// listings of some 50 MB; a body beyond this is a download or an attack.
pub(super) const PAGE_BYTES: usize = 64 << 20;

/// Where HTML names its charset (the standard looks at 1,024 bytes).
const META_BYTES: usize = 1024;

/// The bytes behind a reader; `None` if they are more than [`PAGE_BYTES`].
///
/// # Errors
/// When they cannot be read.
pub(super) fn read_page(reader: impl Read) -> io::Result<Option<Vec<u8>>> {
    read_up_to(PAGE_BYTES, reader)
}

fn read_up_to(limit: usize, reader: impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    reader.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() <= limit).then_some(bytes))
}

/// The body of a reply that was sent in this content encoding; `None` if it unpacks to more than [`PAGE_BYTES`].
///
/// Archives keep the header of a body that their crawler had already unpacked, so that a body that is not packed stays.
pub(super) fn unpacked(bytes: Vec<u8>, encoding: &str) -> Option<Vec<u8>> {
    unpacked_up_to(PAGE_BYTES, bytes, encoding)
}

fn unpacked_up_to(limit: usize, mut bytes: Vec<u8>, encoding: &str) -> Option<Vec<u8>> {
    // The last one was applied last.
    for name in encoding.rsplit(',') {
        let packed = bytes.as_slice();
        let unpacked = match name.trim().to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => read_up_to(limit, MultiGzDecoder::new(packed)),
            "deflate" => inflate(limit, packed),
            "br" => read_up_to(limit, brotli_decompressor::Decompressor::new(packed, 4096)),
            "zstd" => match StreamingDecoder::new(packed) {
                Ok(decoder) => read_up_to(limit, decoder),
                Err(_) => continue,
            },
            _ => continue,
        };
        match unpacked {
            Ok(Some(unpacked)) => bytes = unpacked,
            Ok(None) => return None,
            Err(_) => {}
        }
    }
    Some(bytes)
}

/// `deflate` means zlib, but some servers send the bare stream.
fn inflate(limit: usize, bytes: &[u8]) -> io::Result<Option<Vec<u8>>> {
    read_up_to(limit, ZlibDecoder::new(bytes))
        .or_else(|_| read_up_to(limit, DeflateDecoder::new(bytes)))
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

    #[test]
    fn bodies_are_unpacked_and_those_that_are_not_packed_stay() {
        let text = b"a page of words".to_vec();
        assert_eq!(unpacked(gzip(&text), "gzip").unwrap(), text);
        assert_eq!(unpacked(gzip(&gzip(&text)), "gzip, gzip").unwrap(), text);
        assert_eq!(unpacked(text.clone(), "gzip").unwrap(), text);
        assert_eq!(unpacked(text.clone(), "identity").unwrap(), text);
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        zlib.write_all(&text).unwrap();
        assert_eq!(unpacked(zlib.finish().unwrap(), "deflate").unwrap(), text);
        // Brotli stores a short text: an empty window, one block of 15 bytes, the last empty one.
        let mut brotli = vec![0x0b, 0x07, 0x80];
        brotli.extend(&text);
        brotli.push(0x03);
        assert_eq!(unpacked(brotli, "br").unwrap(), text);
    }

    #[test]
    fn a_bomb_is_too_long_and_not_unpacked_further() {
        let limit = 1 << 20;
        let bomb = gzip(&gzip(&vec![0; limit + 1]));
        assert!(bomb.len() < 1_000, "{}", bomb.len());
        assert_eq!(unpacked_up_to(limit, bomb, "gzip, gzip"), None);
        let whole = unpacked_up_to(limit, gzip(&vec![0; limit]), "gzip");
        assert_eq!(whole.map(|page| page.len()), Some(limit));
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
