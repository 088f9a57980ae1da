//! A page a value: `{url, text}` with other names of the text, and the failures of scrapers, `{url, error}`.

use super::{Fields, RecordForm};
use crate::page::{PageBody, SavedPage};
use crate::sink::{Sink, SourcePlace};
use scholareval_core::error::Result;

pub(super) static PLAIN: RecordForm = RecordForm {
    fits: |fields| fields.has("url"),
    read,
};

/// The text of a page, the best first. `content` next to `raw_content` is a snippet of a search, not the page.
const TEXTS: [&str; 5] = ["text", "raw_content", "markdown", "content", "url_content"];

/// How the scripts of FACT and its forks begin the text of a page that they could not fetch.
const FAILED: &str = "scrape failed";

fn read(fields: &Fields<'_>, place: &SourcePlace, sink: &mut Sink<'_>) -> Result<()> {
    let is_snippet =
        fields.has("raw_content") && !fields.is_set("raw_content") && !fields.is_set("text");
    if is_snippet && !fields.is_set("error") {
        sink.other();
        return Ok(());
    }
    let Some(body) = body(fields) else {
        let fault = place.fault("a page without text");
        return sink.broken(fault.hint("its text is expected as text, content, markdown, html or raw_content, a failure as error"));
    };
    let mut page = SavedPage::new(fields.text("url").unwrap_or_default(), body);
    page.title = fields.text("title");
    page.set_status(fields.status(&["status", "status_code"]), "");
    page.final_url = fields.text("final_url");
    page.retrieved_at = match fields.moment("retrieved_at") {
        Ok(moment) => moment,
        Err(what) => return sink.broken(place.fault(what)),
    };
    sink.page(page, place)
}

fn body(fields: &Fields<'_>) -> Option<PageBody> {
    if let Some(text) = fields.first_text(&TEXTS) {
        return Some(text_or_failure(text));
    }
    if let Some(html) = fields.first_text(&["html"]) {
        return Some(PageBody::Html(html));
    }
    if let Some(error) = fields.error("error") {
        return Some(PageBody::Failed(error));
    }
    let is_empty = TEXTS.iter().chain(&["html"]).any(|name| fields.has(name));
    is_empty.then_some(PageBody::Nothing)
}

/// The text of a page, or the message of a failed fetch in its place.
pub(super) fn text_or_failure(text: String) -> PageBody {
    match text.trim_start().strip_prefix(FAILED) {
        Some(message) => PageBody::Failed(message.trim_start_matches([':', ' ']).to_owned()),
        None => PageBody::Text(text),
    }
}
