//! One saved page: HTML of a browser, SingleFile or wget, a PDF with its text next to it, or a text.
//!
//! Its address is in the path of a mirror (`example.org/news/1.html`), in the comment of the tool that saved it, in the page
//! itself, or it is the number of an arXiv paper. A file without an address is of no use.

use std::fs::File;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};

use super::{SourceForm, extension};
use crate::decode::{decoded, read_page};
use crate::page::{PageBody, SavedPage, moment};
use crate::sink::{Sink, SourcePlace};
use crate::text::{PageText, html_text};
use scholareval_core::error::{Error, Result};
use scholareval_core::text::addresses::page_key;
use scholareval_core::text::identifiers::is_arxiv_id;

pub(super) static SAVED_FILE: SourceForm = SourceForm {
    name: "a saved page (.html, .pdf with its .txt, .txt, .md)",
    fits: |candidate| is_page_name(candidate.path) || is_html(candidate.head.text()),
    read: |path, sink| read_file(path, None, sink),
};

/// Where a page says where it is from, in bytes.
const HEAD_BYTES: usize = 256 << 10;

/// Whether a file has the name of a page.
pub(super) fn is_page_name(path: &Path) -> bool {
    matches!(
        extension(path).as_str(),
        "html" | "htm" | "xhtml" | "shtml" | "pdf" | "txt" | "md"
    )
}

/// Whether a text begins as HTML.
pub(super) fn is_html(head: &[u8]) -> bool {
    let begins = String::from_utf8_lossy(&head[..head.len().min(200)]).to_ascii_lowercase();
    begins.starts_with("<!doctype html") || begins.starts_with("<html") || begins.contains("<head>")
}

/// Reads a file; `address` is that of its place in a mirror.
pub(super) fn read_file(path: &Path, address: Option<String>, sink: &mut Sink<'_>) -> Result<()> {
    let place = SourcePlace::new(path);
    let is_pdf = extension(path) == "pdf";
    let text_of_pdf = is_pdf.then(|| text_next_to(path)).flatten();
    let from = text_of_pdf.as_deref().unwrap_or(path);
    let file = File::open(from).map_err(Error::io(from, "read"))?;
    let bytes = read_page(file).map_err(Error::io(from, "read"))?;
    let metadata = FoundFile::in_page(bytes.as_deref(), is_pdf);
    if let Some(date) = &metadata.unread_date {
        let what = format!(
            "the date of its saving, {}, cannot be read",
            date.escape_debug()
        );
        return sink.broken(place.fault(what));
    }
    let Some(url) = address_of(path, address, &metadata) else {
        let fault = place.fault("a saved page without an address");
        return sink.broken(fault.hint(
            "save it with SingleFile or wget -r, or index JSONL of {\"url\": .., \"text\": ..}",
        ));
    };
    let body = match (bytes, text_of_pdf) {
        (None, _) => PageBody::TooLong,
        (Some(bytes), Some(_)) => PageBody::Text(decoded(bytes, None, false)),
        (Some(bytes), None) => PageBody::Bytes(bytes),
    };
    let mut page = SavedPage::new(url, body);
    page.retrieved_at = metadata.retrieved_at;
    page.mime = mime_of(path);
    sink.page(page, &place)
}

/// The text of a PDF next to it: `page.txt` or `page.pdf.txt`, as `pdftotext` and scripts around it write.
fn text_next_to(pdf: &Path) -> Option<PathBuf> {
    let appended = format!("{}.txt", pdf.file_name()?.to_string_lossy());
    [pdf.with_extension("txt"), pdf.with_file_name(appended)]
        .into_iter()
        .find(|path| path.is_file())
}

/// Whether a text is that of a PDF next to it.
pub(super) fn is_text_of_pdf(path: &Path) -> bool {
    if extension(path) != "txt" {
        return false;
    }
    let stem = path.with_extension("");
    (extension(&stem) == "pdf" && stem.is_file()) || path.with_extension("pdf").is_file()
}

/// The type by the name, without the charset: the bytes show it.
fn mime_of(path: &Path) -> Option<String> {
    let mime = match extension(path).as_str() {
        "pdf" => "application/pdf",
        "txt" => "text/plain",
        "md" => "text/markdown",
        "html" | "htm" | "xhtml" | "shtml" => "text/html",
        _ => return None,
    };
    Some(mime.to_owned())
}

/// What a page says about its saving.
#[derive(Debug, Default, PartialEq)]
struct FoundFile {
    /// The address that the tool wrote.
    saved_from: Option<String>,
    /// The address that the page gives for itself.
    canonical: Option<String>,
    retrieved_at: Option<DateTime<Utc>>,
    /// When it was saved, in another form than tools write it.
    unread_date: Option<String>,
}

impl FoundFile {
    fn in_page(bytes: Option<&[u8]>, is_pdf: bool) -> Self {
        let Some(bytes) = bytes.filter(|_| !is_pdf) else {
            return Self::default();
        };
        let head = &bytes[..bytes.len().min(HEAD_BYTES)];
        if is_html(bytes.trim_ascii_start()) || bytes.trim_ascii_start().starts_with(b"<") {
            return Self::in_html(html_text(&decoded(head.to_vec(), None, true)));
        }
        Self::in_text(&decoded(head.to_vec(), None, false))
    }

    /// SingleFile writes `url: ..` and `saved date: ..`, browsers `saved from url=(0021)https://example.org/a`.
    fn in_html(page: PageText) -> Self {
        let mut metadata = Self {
            canonical: page.canonical,
            ..Self::default()
        };
        for line in page.comment.lines().map(str::trim) {
            if let Some(url) = line.strip_prefix("url:") {
                metadata.saved_from = Some(url.trim().to_owned());
            }
            if let Some((_, url)) = line.split_once("saved from url=(") {
                metadata.saved_from = url.split_once(')').map(|(_, url)| url.trim().to_owned());
            }
            if let Some(date) = line.strip_prefix("saved date:") {
                metadata.retrieved_at = date_of_script(date);
                if metadata.retrieved_at.is_none() && !date.trim().is_empty() {
                    metadata.unread_date = Some(date.trim().chars().take(80).collect());
                }
            }
        }
        metadata
    }

    /// The reader of Jina writes `URL Source: ..` above its Markdown.
    fn in_text(text: &str) -> Self {
        let lines = text.lines().take(10);
        let url = lines
            .filter_map(|line| line.strip_prefix("URL Source:"))
            .next();
        Self {
            saved_from: url.map(|url| url.trim().to_owned()),
            ..Self::default()
        }
    }
}

/// A date as JavaScript writes it: `Thu Oct 01 2026 14:00:00 GMT+0200 (Central European Summer Time)`.
fn date_of_script(text: &str) -> Option<DateTime<Utc>> {
    let text = text.split('(').next().unwrap_or_default().trim();
    let date = DateTime::parse_from_str(text, "%a %b %d %Y %H:%M:%S GMT%z");
    date.map(|date| date.to_utc()).ok().or_else(|| moment(text))
}

/// The address of a saved page.
fn address_of(path: &Path, mirrored: Option<String>, metadata: &FoundFile) -> Option<String> {
    let canonical = metadata
        .canonical
        .as_deref()
        .filter(|url| page_key(url).is_some());
    if let Some(mirrored) = mirrored {
        // wget -E appends `.html` to the names of pages without an extension; the page may say its real address.
        let real = mirrored.strip_suffix(".html").and_then(page_key);
        let is_same = real.is_some() && canonical.and_then(page_key) == real;
        return Some(match canonical {
            Some(canonical) if is_same => canonical.to_owned(),
            _ => mirrored,
        });
    }
    let saved_from = metadata
        .saved_from
        .as_deref()
        .filter(|url| page_key(url).is_some());
    if let Some(url) = saved_from.or(canonical) {
        return Some(url.to_owned());
    }
    let name = path.file_stem()?.to_str()?;
    let id = name.rsplit_once('v').map_or(name, |(id, _)| id);
    is_arxiv_id(id).then(|| format!("https://arxiv.org/pdf/{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata_of(html: &str) -> FoundFile {
        FoundFile::in_page(Some(html.as_bytes()), false)
    }

    fn address(path: &str, mirrored: Option<&str>, metadata: &FoundFile) -> String {
        address_of(Path::new(path), mirrored.map(str::to_owned), metadata).unwrap_or_default()
    }

    #[test]
    fn tools_write_the_address_into_the_page() {
        let single_file = "<!DOCTYPE html> <html><!--\n Page saved with SingleFile \n url: https://example.org/a \n \
                           saved date: Thu Oct 01 2026 14:00:00 GMT+0200 (Central European Summer Time)\n--><p>text";
        let page = metadata_of(single_file);
        assert_eq!(address("x.html", None, &page), "https://example.org/a");
        assert_eq!(page.retrieved_at, moment("2026-10-01T12:00:00Z"));
        let browser = metadata_of(
            "<!DOCTYPE html>\n<!-- saved from url=(0021)https://example.org/b -->\n<html>",
        );
        assert_eq!(address("x.html", None, &browser), "https://example.org/b");
        let jina = metadata_of(
            "Title: A page\n\nURL Source: https://example.org/c\n\nMarkdown Content:\ntext",
        );
        assert_eq!(address("x.md", None, &jina), "https://example.org/c");
        let with_canonical =
            metadata_of("<html><head><link rel=\"canonical\" href=\"https://example.org/d\">");
        assert_eq!(
            address("x.html", None, &with_canonical),
            "https://example.org/d"
        );
        assert_eq!(
            address("2101.00001v2.pdf", None, &FoundFile::default()),
            "https://arxiv.org/pdf/2101.00001v2"
        );
        assert_eq!(address("paper.pdf", None, &FoundFile::default()), "");
    }

    #[test]
    fn the_place_in_a_mirror_is_the_address_unless_wget_appended_to_it() {
        let with_canonical =
            metadata_of("<html><head><link rel=canonical href=https://example.org/news>");
        assert_eq!(
            address("x", Some("https://example.org/news.html"), &with_canonical),
            "https://example.org/news"
        );
        assert_eq!(
            address("x", Some("https://example.org/other.html"), &with_canonical),
            "https://example.org/other.html"
        );
    }
}
