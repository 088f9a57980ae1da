//! Replies of Firecrawl: `{data: {markdown, html, metadata: {sourceURL, url, statusCode, error}}}`; without `data` in its
//! libraries, with a list of them for a crawl.

use super::{Fields, RecordForm};
use crate::page::{PageBody, SavedPage};
use crate::sink::{Sink, SourcePlace};
use scholareval_core::error::Result;

pub(super) static FIRECRAWL: RecordForm = RecordForm {
    fits: |fields| {
        fields.has("metadata")
            || fields
                .object("data")
                .is_some_and(|data| data.has("metadata"))
    },
    read,
};

fn read(fields: &Fields<'_>, place: &SourcePlace, sink: &mut Sink<'_>) -> Result<()> {
    let within = fields.object("data").filter(|data| data.has("metadata"));
    let fields = within.as_ref().unwrap_or(fields);
    let Some(metadata) = fields.object("metadata") else {
        return sink.broken(place.fault("a page without metadata, which has its address"));
    };
    let Some(url) = metadata
        .first_text(&["sourceURL", "url"])
        .or_else(|| fields.text("url"))
    else {
        return sink.broken(place.fault("metadata without sourceURL"));
    };
    let body = if let Some(text) = fields.first_text(&["markdown"]) {
        PageBody::Text(text)
    } else if let Some(html) = fields.first_text(&["html", "rawHtml"]) {
        PageBody::Html(html)
    } else if let Some(error) = metadata.error("error") {
        PageBody::Failed(error)
    } else {
        PageBody::Nothing
    };
    let mut page = SavedPage::new(url, body);
    page.final_url = metadata.first_text(&["url"]);
    page.title = metadata.text("title");
    page.set_status(metadata.status(&["statusCode"]), "");
    sink.page(page, place)
}
