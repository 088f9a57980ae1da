//! Where the forms of sources put what they find: pages become text and a state, broken parts are counted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::decode::decoded;
use super::page::{PageBody, SavedPage, kind_of, moment_text};
use super::state::{Decision, PageSigns, state_of};
use super::store::StoreWriter;
use super::text::{PageText, TEXT_BYTES, html_text, spaced};
use scholareval_core::domain::PageState;
use scholareval_core::error::{InputFault, Result};
use scholareval_core::files::broken_tally::{BrokenTally, KEPT_FAULTS};
use scholareval_core::text::addresses::{page_key, work_key};

/// The longest title that is kept, in bytes.
const TITLE_BYTES: usize = 500;

/// What the indexing of sources did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexReport {
    /// Snapshots added.
    pub added: u64,
    /// Snapshots that the store had.
    pub known: u64,
    /// All snapshots of the sources by their state, those that the store had included.
    pub states: BTreeMap<PageState, u64>,
    /// Redirects of archives.
    pub redirects: u64,
    /// Parts without the text of a page: images, styles, empty addresses, snippets of a search.
    pub other: u64,
    /// Broken parts that were left out.
    pub broken: u64,
    /// The first of them.
    pub faults: Vec<InputFault>,
}

impl IndexReport {
    fn count(&mut self, is_added: bool, state: PageState) {
        if is_added {
            self.added += 1;
        } else {
            self.known += 1;
        }
        *self.states.entry(state).or_default() += 1;
    }
}

/// The place of a page in a source, for messages and the store.
#[derive(Debug, Clone)]
pub(super) struct SourcePlace {
    pub(super) path: PathBuf,
    /// The line, from 1; 0 where there are none.
    pub(super) line: usize,
}

impl SourcePlace {
    pub(super) fn new(path: &Path) -> Self {
        Self {
            path: path.to_path_buf(),
            line: 0,
        }
    }

    pub(super) fn at_line(path: &Path, line: usize) -> Self {
        Self {
            line,
            ..Self::new(path)
        }
    }

    pub(super) fn fault(&self, what: impl Into<String>) -> InputFault {
        InputFault::new(&self.path, what).at_line(self.line)
    }
}

/// Takes what the forms find.
pub(super) struct Sink<'a> {
    writer: &'a StoreWriter,
    report: IndexReport,
    /// Pages and other parts of the current source.
    tally: BrokenTally,
}

impl<'a> Sink<'a> {
    pub(super) fn new(writer: &'a StoreWriter) -> Self {
        Self {
            writer,
            report: IndexReport::default(),
            tally: BrokenTally::default(),
        }
    }

    /// Takes a page.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(super) fn page(&mut self, mut page: SavedPage, place: &SourcePlace) -> Result<()> {
        self.tally.parts += 1;
        let Some(key) = page_key(&page.url) else {
            self.report.other += 1;
            return Ok(());
        };
        let final_key = page
            .final_url
            .as_deref()
            .and_then(page_key)
            .filter(|other| *other != key);
        let body = std::mem::take(&mut page.body);
        let raw_hash = raw_hash(&body);
        let content = Content::of(body, page.mime.as_deref());
        let title = match &page.title {
            Some(title) => spaced(title),
            None => content.page.title.clone(),
        };
        let (state, reason) = decide(&page, &content, &title);
        // The text of a wall is kept, too: it shows whether the rule was right.
        let has_text = state != PageState::TooLong && !content.page.text.is_empty();
        let text = has_text.then_some(&content.page.text);
        let text_hash = text.map(|text| self.writer.add_text(text)).transpose()?;
        let address = page.final_url.as_deref().unwrap_or(&page.url);
        let added = self.writer.insert(
            "pages",
            &[
                ("key", &key),
                ("final_key", &final_key),
                ("work", &work_key(&page.url).or_else(|| work_key(address))),
                ("url", &page.url),
                ("final_url", &page.final_url),
                ("retrieved_at", &page.retrieved_at.map(moment_text)),
                ("status", &page.status),
                ("mime", &page.mime),
                ("kind", &kind_of(address, content.is_pdf).name()),
                ("state", &state.name()),
                ("reason", &reason),
                ("title", &&title[..title.floor_char_boundary(TITLE_BYTES)]),
                ("raw_hash", &raw_hash),
                ("text_hash", &text_hash),
                ("digest", &page.digest),
                ("source", &place.path.display().to_string()),
            ],
        )?;
        self.report.count(added, state);
        Ok(())
    }

    /// Takes a page that an archive only refers to: what came was the same as the page with this digest.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(super) fn same_page(
        &mut self,
        page: &SavedPage,
        digest: &str,
        place: &SourcePlace,
    ) -> Result<()> {
        self.tally.parts += 1;
        let Some(key) = page_key(&page.url) else {
            self.report.other += 1;
            return Ok(());
        };
        self.writer.insert(
            "temp.revisits",
            &[
                ("digest", &digest),
                ("key", &key),
                ("work", &work_key(&page.url)),
                ("url", &page.url),
                ("retrieved_at", &page.retrieved_at.map(moment_text)),
                ("kind", &kind_of(&page.url, false).name()),
                ("source", &place.path.display().to_string()),
            ],
        )?;
        Ok(())
    }

    /// Takes a redirect from the address of a page to another one.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(super) fn redirect(&mut self, page: &SavedPage, target: &str) -> Result<()> {
        self.tally.parts += 1;
        if let (Some(key), Some(target)) = (page_key(&page.url), page_key(target))
            && key != target
        {
            let retrieved_at = page.retrieved_at.map(moment_text).unwrap_or_default();
            self.writer.insert(
                "redirects",
                &[
                    ("key", &key),
                    ("target", &target),
                    ("retrieved_at", &retrieved_at),
                ],
            )?;
            self.report.redirects += 1;
        }
        Ok(())
    }

    /// Counts a part that is not the text of a page.
    pub(super) fn other(&mut self) {
        self.tally.parts += 1;
        self.report.other += 1;
    }

    /// Takes a part that cannot be read.
    ///
    /// # Errors
    /// When the source consists of them.
    pub(super) fn broken(&mut self, fault: InputFault) -> Result<()> {
        let path = fault.path.clone();
        self.tally.add(fault, &path)
    }

    /// Ends a source.
    ///
    /// # Errors
    /// When more than 1% of it is broken: then it is hardly what its form says.
    pub(super) fn end_source(&mut self, path: &Path) -> Result<()> {
        let tally = std::mem::take(&mut self.tally);
        tally.check(path)?;
        self.report.broken += tally.broken;
        self.report.faults.extend(tally.faults);
        self.report.faults.truncate(KEPT_FAULTS);
        Ok(())
    }

    /// Ends the last source: now every page is there that a revisit may refer to.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(super) fn finish(mut self) -> Result<IndexReport> {
        self.writer.add_revisited(|revisited| match revisited {
            Some((state, is_added)) => self.report.count(is_added, state),
            None => self.report.other += 1,
        })?;
        Ok(self.report)
    }
}

/// The state of a page with this content.
fn decide(page: &SavedPage, content: &Content, title: &str) -> Decision {
    let (state, reason) = state_of(&PageSigns {
        url: &page.url,
        final_url: page.final_url.as_deref(),
        status: page.status,
        failure: content.failure.as_deref(),
        is_too_long: content.page.is_too_long,
        is_pdf: content.is_pdf,
        not_text: content.not_text.as_deref(),
        title,
        text: &content.page.text,
        noscript: &content.page.noscript,
    });
    // A wall, an error or a page that is too long is that, cut or not.
    let may_be_cut = matches!(state, PageState::Ok | PageState::Teaser | PageState::Empty);
    match (page.cut, &page.cut_by) {
        (Some(why), _) if may_be_cut => (PageState::Cut, why.to_owned()),
        (None, Some(why)) if state == PageState::Ok => (PageState::Teaser, why.clone()),
        _ => (state, reason),
    }
}

fn raw_hash(body: &PageBody) -> Option<[u8; 32]> {
    let bytes = match body {
        PageBody::Bytes(bytes) => bytes.as_slice(),
        PageBody::Html(text) | PageBody::Text(text) => text.as_bytes(),
        PageBody::Nothing | PageBody::Failed(_) | PageBody::TooLong => return None,
    };
    Some(*blake3::hash(bytes).as_bytes())
}

/// What a body says.
#[derive(Default)]
struct Content {
    page: PageText,
    failure: Option<String>,
    is_pdf: bool,
    /// The type of what is not text.
    not_text: Option<String>,
}

impl Content {
    fn of(body: PageBody, mime: Option<&str>) -> Self {
        let mut content = Self::default();
        match body {
            PageBody::Nothing => {}
            PageBody::Failed(message) => content.failure = Some(message),
            PageBody::TooLong => content.page.is_too_long = true,
            PageBody::Html(html) => content.page = html_text(&html),
            PageBody::Text(text) => {
                content.is_pdf = mime.is_some_and(|mime| mime.contains("pdf"));
                content.page = plain_text(text);
            }
            PageBody::Bytes(bytes) => match MediaType::of(&bytes, mime) {
                MediaType::Html => content.page = html_text(&decoded(bytes, mime, true)),
                MediaType::Text => content.page = plain_text(decoded(bytes, mime, false)),
                MediaType::Pdf => content.is_pdf = true,
                MediaType::Other => {
                    let mime = mime.unwrap_or("application/octet-stream");
                    content.not_text = Some(mime.chars().take(80).collect());
                }
            },
        }
        content
    }
}

fn plain_text(text: String) -> PageText {
    let text = text.trim();
    let is_too_long = text.len() > TEXT_BYTES;
    PageText {
        text: if is_too_long {
            String::new()
        } else {
            text.to_owned()
        },
        is_too_long,
        ..PageText::default()
    }
}

/// What bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MediaType {
    Html,
    Text,
    Pdf,
    Other,
}

impl MediaType {
    /// By their first bytes where these are clear, else by the type that the server gave.
    fn of(bytes: &[u8], mime: Option<&str>) -> Self {
        let head = &bytes[..bytes.len().min(1024)];
        let mime = mime.unwrap_or_default().to_ascii_lowercase();
        let begins = String::from_utf8_lossy(head)
            .trim_start()
            .to_ascii_lowercase();
        let is_markup = ["<!doctype html", "<html", "<head", "<body", "<!--"]
            .iter()
            .any(|tag| begins.starts_with(tag));
        let is_text = mime.starts_with("text/")
            || mime.contains("json")
            || mime.contains("xml")
            || mime.is_empty() && !head.contains(&0);
        if head.starts_with(b"%PDF-") || mime.contains("/pdf") {
            Self::Pdf
        } else if mime.contains("html") || is_markup {
            Self::Html
        } else if is_text {
            Self::Text
        } else {
            Self::Other
        }
    }
}
