//! `scraped.jsonl` and `validated.jsonl` of DeepResearch Bench's FACT (214741e): for each report the pages that it cites, by
//! their address. `url_content` is title, description and content with empty lines between them.

use super::plain::text_or_failure;
use super::{Fields, RecordForm};
use crate::page::{PageBody, SavedPage};
use crate::sink::{Sink, SourcePlace};
use crate::state::fact_title;
use scholareval_core::error::Result;

pub(super) static FACT: RecordForm = RecordForm {
    fits: |fields| fields.has("citations_deduped"),
    read,
};

fn read(fields: &Fields<'_>, place: &SourcePlace, sink: &mut Sink<'_>) -> Result<()> {
    let Some(pages) = fields.object("citations_deduped") else {
        // A report without citations.
        sink.other();
        return Ok(());
    };
    for (url, page) in &pages.0 {
        let content = Fields::parse(page.get())
            .ok()
            .and_then(|page| page.text("url_content"));
        // Null before the pages are fetched.
        let Some(content) = content else {
            sink.other();
            continue;
        };
        let body = text_or_failure(content);
        let title = match &body {
            PageBody::Text(text) => fact_title(text),
            _ => None,
        };
        let title = title.map(str::to_owned);
        let mut page = SavedPage::new(url, body);
        page.title = title;
        sink.page(page, place)?;
    }
    Ok(())
}
