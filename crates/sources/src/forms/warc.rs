//! WARC: what crawlers and browsers' recorders write (`response`, `resource`, `revisit`), and the texts that Common Crawl
//! makes of it (WET, `conversion`). Gzip or not.
//!
//! Records are read one after the other; of each the body is held up to the limit of a page. A record that is not one is
//! skipped up to the next.

use std::io::{self, BufRead, Read};
use std::path::Path;

use super::SourceForm;
use crate::decode::{PAGE_BYTES, unpacked};
use crate::page::{PageBody, SavedPage, moment};
use crate::sink::{Sink, SourcePlace};
use scholareval_core::error::{Error, Result};
use scholareval_core::files::streams::{ReadLine, next_line, open};

pub(super) static WARC: SourceForm = SourceForm {
    name: "WARC or WET (.warc, .warc.gz)",
    fits: |candidate| candidate.head.text().starts_with(b"WARC/"),
    read: |path, sink| read_warc(&mut open(path)?, path, sink),
};

/// The longest line of the header of a record, in bytes: addresses have some thousand.
const HEADER_LINE: usize = 64 << 10;

/// Lines in the header of a record or a reply at most.
const HEADER_LINES: usize = 256;

/// The longest HTTP header, in bytes.
const HTTP_HEADER: usize = 512 << 10;

/// What packing adds to a body at most, in bytes: a short one may become longer.
const PACKING_BYTES: u64 = 64;

/// The header of a record.
#[derive(Debug, Default)]
struct RecordHeader {
    kind: String,
    url: String,
    date: String,
    mime: String,
    digest: String,
    /// Whether the crawler left the end of the block out.
    is_truncated: bool,
    length: u64,
}

/// Reads records to the end.
///
/// # Errors
/// When the file cannot be read, or its pages cannot be written.
pub(super) fn read_warc(reader: &mut dyn BufRead, path: &Path, sink: &mut Sink<'_>) -> Result<()> {
    let mut records = 0;
    let mut is_lost = false;
    loop {
        let line = next_line(reader, HEADER_LINE).map_err(Error::io(path, "read"))?;
        let line = match line {
            ReadLine::End => return Ok(()),
            ReadLine::TooLong => Vec::new(),
            ReadLine::Bytes(line) => line,
        };
        if line.trim_ascii().is_empty() {
            continue;
        }
        let place = SourcePlace::new(path);
        if !line.starts_with(b"WARC/") {
            // Once for each gap: what follows a record of a wrong length is thousands of lines of a page.
            if !is_lost {
                let what = format!("no record where one is expected, after record {records}");
                sink.broken(place.fault(what))?;
            }
            is_lost = true;
            continue;
        }
        is_lost = false;
        records += 1;
        let header = match read_header(reader).map_err(Error::io(path, "read"))? {
            Some(header) => header,
            None => {
                sink.broken(place.fault(format!("record {records} has no readable header")))?;
                continue;
            }
        };
        let mut block = reader.take(header.length);
        let read = read_block(&header, &mut block);
        // The rest of a long block, and all of one that is not a page.
        let rest = io::copy(&mut block, &mut io::sink());
        let is_whole = block.limit() == 0;
        let read = read.and_then(|read| rest.map(|_| read));
        let block = read.map_err(Error::io(path, "read"))?;
        if !is_whole {
            let what = format!("the file ends within record {records}");
            sink.broken(place.fault(what).hint("copy it again"))?;
            return Ok(());
        }
        take_record(header, block, &place, sink)?;
    }
}

/// The header of a record behind its first line; `None` if it has no length.
fn read_header(reader: &mut dyn BufRead) -> io::Result<Option<RecordHeader>> {
    let mut header = RecordHeader::default();
    let mut has_length = false;
    for _ in 0..HEADER_LINES {
        let line = match next_line(reader, HEADER_LINE)? {
            ReadLine::Bytes(line) => line,
            ReadLine::TooLong => continue,
            ReadLine::End => break,
        };
        let line = String::from_utf8_lossy(line.trim_ascii()).into_owned();
        if line.is_empty() {
            break;
        }
        let Some((name, value)) = line.split_once(':') else {
            continue;
        };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "warc-type" => header.kind = value.to_ascii_lowercase(),
            // Old versions of wget put the address into angle brackets.
            "warc-target-uri" => header.url = value.trim_matches(['<', '>']).to_owned(),
            "warc-date" => header.date = value.to_owned(),
            "content-type" => header.mime = value.to_owned(),
            "warc-payload-digest" => header.digest = value.to_owned(),
            "warc-truncated" => header.is_truncated = !value.is_empty(),
            "content-length" => {
                header.length = value.parse().unwrap_or_default();
                has_length = value.parse::<u64>().is_ok();
            }
            _ => {}
        }
    }
    Ok(has_length.then_some(header))
}

/// The block of a record that may be a page; `None` if it is too long.
fn read_block(header: &RecordHeader, block: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let is_page = matches!(
        header.kind.as_str(),
        "response" | "resource" | "conversion" | "revisit"
    );
    if !is_page || !is_web(&header.url) {
        return Ok(Some(Vec::new()));
    }
    let limit = PAGE_BYTES + HTTP_HEADER;
    let mut bytes = Vec::new();
    block.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() <= limit).then_some(bytes))
}

fn is_web(url: &str) -> bool {
    url.starts_with("http://") || url.starts_with("https://")
}

fn take_record(
    header: RecordHeader,
    block: Option<Vec<u8>>,
    place: &SourcePlace,
    sink: &mut Sink<'_>,
) -> Result<()> {
    if !is_web(&header.url) {
        return Ok(());
    }
    let mut page = SavedPage::new(header.url, PageBody::Nothing);
    page.retrieved_at = moment(&header.date);
    if page.retrieved_at.is_none() && !header.date.is_empty() {
        let what = format!("WARC-Date {} is not a date", header.date.escape_debug());
        return sink.broken(place.fault(what));
    }
    // Of a revisit it says that the block holds the header of the reply only.
    if header.is_truncated && header.kind != "revisit" {
        page.cut = Some("the crawler left the end out (WARC-Truncated)");
    }
    match header.kind.as_str() {
        "revisit" => {
            let reply = block.as_deref().and_then(Reply::parse);
            match reply.and_then(|reply| reply.target(&page.url)) {
                Some(target) => sink.redirect(&page, &target),
                None => sink.same_page(&page, &header.digest, place),
            }
        }
        "response" if header.mime.starts_with("application/http") => {
            page.digest = Some(header.digest).filter(|digest| !digest.is_empty());
            take_response(page, block, place, sink)
        }
        "response" | "resource" | "conversion" => {
            page.mime = Some(header.mime).filter(|mime| !mime.is_empty());
            page.digest = Some(header.digest).filter(|digest| !digest.is_empty());
            page.body = block.map_or(PageBody::TooLong, PageBody::Bytes);
            take_page(page, place, sink)
        }
        _ => Ok(()),
    }
}

/// Takes a reply of HTTP.
fn take_response(
    mut page: SavedPage,
    block: Option<Vec<u8>>,
    place: &SourcePlace,
    sink: &mut Sink<'_>,
) -> Result<()> {
    let Some(mut body) = block else {
        page.body = PageBody::TooLong;
        return sink.page(page, place);
    };
    let Some(reply) = Reply::parse(&body) else {
        let what = format!("the reply of {} is not HTTP", page.url.escape_debug());
        return sink.broken(place.fault(what));
    };
    if (300..400).contains(&reply.status) {
        return match reply.target(&page.url) {
            Some(target) => sink.redirect(&page, &target),
            None => {
                sink.other();
                Ok(())
            }
        };
    }
    page.set_status(Some(reply.status), &reply.range);
    page.mime = Some(reply.mime.clone()).filter(|mime| !mime.is_empty());
    // In place: a body may have the size of the limit.
    body.drain(..reply.body);
    page.body = body_of(&reply, body, &mut page.cut);
    take_page(page, place, sink)
}

/// The body of a reply behind its encodings; notes what shows that it was cut.
fn body_of(reply: &Reply, body: Vec<u8>, cut: &mut Option<&'static str>) -> PageBody {
    let sent = body.len() as u64;
    let mut body = body;
    if reply.is_chunked
        && let Some((joined, is_whole)) = without_chunks(&body)
    {
        body = joined;
        if !is_whole {
            cut.get_or_insert("the last chunk of the reply is missing");
        }
    }
    let unpacked = unpacked(body, &reply.encoding);
    if unpacked.is_cut {
        cut.get_or_insert("the packed reply does not unpack to its end");
    }
    // The length is that of the packed body, which is hardly ever the longer one.
    let slack = if unpacked.was_unpacked {
        PACKING_BYTES
    } else {
        0
    };
    let is_short = reply
        .length
        .is_some_and(|length| sent.saturating_add(slack) < length);
    if is_short && !reply.is_chunked {
        cut.get_or_insert("the reply is shorter than its Content-Length");
    }
    unpacked.bytes.map_or(PageBody::TooLong, PageBody::Bytes)
}

/// Parts of the types of what a browser shows as a page.
const PAGE_TYPES: &str = "html pdf text/plain text/markdown text/xml application/xml";

/// Takes what a browser shows as a page; an archive also has its images, styles and data.
fn take_page(page: SavedPage, place: &SourcePlace, sink: &mut Sink<'_>) -> Result<()> {
    let mime = page
        .mime
        .as_deref()
        .unwrap_or_default()
        .to_ascii_lowercase();
    let is_page = mime.is_empty() || PAGE_TYPES.split(' ').any(|kind| mime.contains(kind));
    if is_page {
        sink.page(page, place)
    } else {
        sink.other();
        Ok(())
    }
}

/// What the header of an HTTP reply says.
#[derive(Debug, Default)]
struct Reply {
    status: u16,
    mime: String,
    encoding: String,
    location: String,
    range: String,
    length: Option<u64>,
    is_chunked: bool,
    /// Where the body begins.
    body: usize,
}

impl Reply {
    fn parse(block: &[u8]) -> Option<Self> {
        let mut headers = [httparse::EMPTY_HEADER; HEADER_LINES];
        let mut response = httparse::Response::new(&mut headers);
        let config = lenient();
        let httparse::Status::Complete(body) = config.parse_response(&mut response, block).ok()?
        else {
            return None;
        };
        let mut reply = Self {
            status: response.code?,
            body,
            ..Self::default()
        };
        for header in response.headers.iter() {
            let value = String::from_utf8_lossy(header.value).trim().to_owned();
            match header.name.to_ascii_lowercase().as_str() {
                "content-type" => reply.mime = value,
                "content-encoding" => reply.encoding = value,
                "location" => reply.location = value,
                "content-range" => reply.range = value,
                "content-length" => reply.length = value.parse().ok(),
                "transfer-encoding" => {
                    reply.is_chunked = value.to_ascii_lowercase().contains("chunked")
                }
                _ => {}
            }
        }
        Some(reply)
    }

    /// Where a redirect from this address leads.
    fn target(&self, url: &str) -> Option<String> {
        if !(300..400).contains(&self.status) || self.location.is_empty() {
            return None;
        }
        let target = url::Url::parse(url).ok()?.join(&self.location).ok()?;
        Some(target.into())
    }
}

/// Servers send, and archives keep, headers that the standard does not allow.
fn lenient() -> httparse::ParserConfig {
    let mut config = httparse::ParserConfig::default();
    config
        .allow_spaces_after_header_name_in_responses(true)
        .allow_obsolete_multiline_headers_in_responses(true)
        .ignore_invalid_headers_in_responses(true);
    config
}

/// What the chunks of a reply hold, and whether the last one is there; `None` if it is not in chunks: some archives keep the
/// header of a body that they joined.
fn without_chunks(body: &[u8]) -> Option<(Vec<u8>, bool)> {
    let mut joined = Vec::new();
    let mut rest = body;
    let mut is_first = true;
    loop {
        let (start, length) = match httparse::parse_chunk_size(rest) {
            Ok(httparse::Status::Complete(size)) => size,
            _ if is_first => return None,
            _ => return Some((joined, false)),
        };
        if length == 0 {
            return Some((joined, true));
        }
        is_first = false;
        let data = &rest[start..];
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        joined.extend_from_slice(&data[..data.len().min(length)]);
        let behind = data.get(length..).unwrap_or_default();
        match behind.strip_prefix(b"\r\n") {
            Some(next) => rest = next,
            None => return Some((joined, false)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_joined_up_to_where_they_break_and_a_body_without_them_is_not_damaged() {
        let joined = |body: &[u8]| {
            without_chunks(body)
                .map(|(joined, is_whole)| (String::from_utf8(joined).unwrap(), is_whole))
        };
        let whole = Some(("abcde".to_owned(), true));
        assert_eq!(joined(b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n"), whole);
        assert_eq!(joined(b"5\r\nabcde\r\n0\r\n"), whole);
        for cut in [
            "3\r\nabc\r\n",
            "3\r\nabc",
            "5\r\nabc",
            "3\r\nabcX\r\n0\r\n\r\n",
            "3\r\nabc\r\nno size\r\n",
            "3\r\nabc\r\n2",
            "ffffffffffffffff\r\nabc",
        ] {
            assert_eq!(
                joined(cut.as_bytes()),
                Some(("abc".to_owned(), false)),
                "{cut}"
            );
        }
        assert_eq!(joined(b"<html>"), None);
        assert_eq!(joined(b""), None);
    }

    #[test]
    fn headers_of_careless_servers_are_read() {
        let reply = Reply::parse(
            b"HTTP/1.1 200 OK\r\nContent-Type : text/html; charset=latin1\r\nbad header line\r\nX: \xff\r\nTransfer-Encoding: Chunked\r\n\r\nbody",
        )
        .unwrap();
        assert_eq!(reply.mime, "text/html; charset=latin1");
        assert!(reply.is_chunked && reply.status == 200);
        assert!(Reply::parse(b"<html>no reply").is_none());
    }
}
